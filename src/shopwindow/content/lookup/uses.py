"""What names a document, a name of site.yaml or an attribute: every place.

A document is named by the references that the kinds state (`kinds.Reference`); a name
of site.yaml by expressions; an attribute by being there. Places in YAML files are
listed. Lines of feeds, of which there may be millions, are only counted.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shopwindow.content.check.places import Files, layers_stating, stated_at
from shopwindow.content.documents import expressions, groups
from shopwindow.content.documents.documents import Document
from shopwindow.content.kinds import SITE, Kind, titled, values_at
from shopwindow.content.lookup.shelf import Held, Shelf, with_id
from shopwindow.content.reading.yaml import Json, at, walked
from shopwindow.content.schemas.shape import placed
from shopwindow.did_you_mean import suggestion
from shopwindow.problems import (
    Misuse,
    Pointer,
    cut,
    number_of,
    place_words,
    pointer_text,
)


@dataclass(frozen=True)
class Use:
    """One place in a YAML file. ``kind``, ``id`` and ``title`` are those of the
    document there. ``place`` says in words what ``pointer`` says to programs.
    """

    kind: str
    id: str
    title: str
    path: str
    line: int
    pointer: str
    place: str


@dataclass(frozen=True)
class FeedUses:
    """How many lines of a feed there are."""

    kind: str
    path: str
    lines: int


@dataclass(frozen=True)
class Uses:
    """Every use of what ``name`` says, such as `store 403`."""

    name: str
    places: tuple[Use, ...] = ()
    feeds: tuple[FeedUses, ...] = ()

    @property
    def counts(self) -> str:
        """How many there are: `11 documents and 746 lines of 2 feeds`, or empty text."""
        documents = len({(use.kind, use.id, use.path) for use in self.places})
        lines = sum(feed.lines for feed in self.feeds)
        parts = [number_of(documents, "document")] if documents else []
        if lines:
            parts.append(
                f"{number_of(lines, 'line')} of {number_of(len(self.feeds), 'feed')}"
            )
        return " and ".join(parts)


# -- documents -------------------------------------------------------------------------


def names_of_target(
    kind: Kind, target: Kind, values: Iterable[Mapping[str, Any]]
) -> dict[Pointer, frozenset[str]]:
    """Return by which texts the documents of a kind name some documents of another.

    Returns the pointer of each reference to ``target``, and what may stand there. They
    are texts, since keys of an object are: an inventory names stores by keys.
    """
    return {
        reference.pointer: frozenset(
            str(value.get(reference.compared_with(target))) for value in values
        )
        for reference in kind.references
        if reference.kind == target.name
    }


def naming(value: Json, names: Mapping[Pointer, Collection[str]]) -> Iterator[Pointer]:
    """Yield the places at which a document has one of the ``names_of_target``."""
    for pointer, texts in names.items():
        for place, stated in values_at(value, pointer):
            if str(stated) in texts:
                yield place


def uses_of_document(shelf: Shelf, kinds: Iterable[Kind], kind: Kind, id: str) -> Uses:
    """Return what names the documents of a kind with an id, and the groups in
    site.yaml that they are in. Raises Misuse where there is none.
    """
    values = [held.value for held in with_id(shelf, kind, id)]
    by_kind = {}
    for other in kinds:
        if names := names_of_target(other, kind, values):
            by_kind[other.name] = names
    texts = {
        text for names in by_kind.values() for each in names.values() for text in each
    }
    uses = _uses(
        shelf,
        [other for other in kinds if other.name in by_kind],
        f"{kind.name} {id}",
        texts,
        lambda document: naming(document.value, by_kind[document.kind]),
    )
    return replace(uses, places=(*_in_groups(shelf, kind, values), *uses.places))


def _in_groups(
    shelf: Shelf, kind: Kind, values: Iterable[Mapping[str, Any]]
) -> Iterator[Use]:
    """Yield the groups in site.yaml that documents of a kind are in."""
    if kind.groups is None:
        return
    site = shelf.documents.site
    names = {
        name for value in values for name in groups.containing(kind, site.value, value)
    }
    pointers = ((kind.groups.setting, name) for name in sorted(names))
    yield from _places(Held(site), SITE, pointers, shelf.files)


# -- attributes ------------------------------------------------------------------------


def uses_of_attribute(shelf: Shelf, kinds: Iterable[Kind], name: str) -> Uses:
    """Return every place at which documents have an attribute: a key of an object whose
    keys the schema leaves to the editor. Raises Misuse where there is none.
    """
    kinds = list(kinds)
    shapes = {kind.name: shelf.schemas.shape(kind.schema) for kind in kinds}
    others: set[str] = set()

    def having(document: Document) -> Iterator[Pointer]:
        for pointer, part, shape in placed(shapes[document.kind], document.value):
            if (
                isinstance(part, dict)
                and shape.keyword("additionalProperties") is not False
            ):
                others.update(part)
                if name in part:
                    yield (*pointer, name)

    uses = _uses(shelf, kinds, f"attribute {name}", {name}, having)
    if not (uses.places or uses.feeds):
        close = suggestion(name, others)
        raise Misuse("", f"no document has the attribute {cut(name)!r}{close}")
    return uses


# -- names of site.yaml ----------------------------------------------------------------


def uses_of_setting(shelf: Shelf, name: str) -> Uses:
    """Return every text whose expressions use a name of site.yaml. Raises Misuse where
    site.yaml has no such name.
    """
    names = shelf.documents.names
    if name not in names:
        listed = ", ".join(names)
        raise Misuse(
            "",
            f"site.yaml has no name {cut(name)!r}; the names are {listed}"
            + suggestion(name, names),
        )
    places: list[Use] = []
    files = shelf.files
    for source in shelf.sources:
        if not source.is_feed:
            places += _in_expressions(files, source.path, source.kind, name)
    return Uses(f"setting {name}", tuple(places))


def _in_expressions(files: Files, path: str, kind: Kind, name: str) -> Iterator[Use]:
    file = files.text(path)
    if expressions.EXPRESSION_START not in file.text or name not in file.text:
        return
    if file.stop:  # it was changed since the check
        return
    value, spots = file.value, files.spots(path)
    for pointer, part in walked(value):
        if isinstance(part, str) and name in expressions.names_in(part):
            spot = spots.get(pointer)
            line = (spot.key or spot.value).line if spot else 1
            document, in_document = value, pointer
            if isinstance(value, list):
                document, in_document = at(value, pointer[:1]), pointer[1:]
            yield _use(kind, document, path, line, in_document)


# -- every document --------------------------------------------------------------------


def _uses(
    shelf: Shelf,
    kinds: Iterable[Kind],
    name: str,
    texts: Collection[str],
    places_in: Callable[[Document], Iterator[Pointer]],
) -> Uses:
    """Return the places that ``places_in`` finds in the documents of some kinds.

    ``texts``: a line of a feed without any of them is passed over.
    """
    needles = [text.encode() for text in texts]

    def wanted(line: bytes) -> bool:
        # A text may stand in a line as \u escapes, too.
        return b"\\u" in line or any(needle in line for needle in needles)

    files = shelf.files
    places: list[Use] = []
    lines: Counter[tuple[str, str]] = Counter()
    for kind in kinds:
        for held in shelf.outermost(kind, wanted):
            pointers = list(places_in(held.document))
            if pointers and held.line:
                lines[kind.name, held.document.layers[0].path] += 1
            elif pointers:
                places += _places(held, kind, pointers, files)
    feeds = tuple(FeedUses(*feed, count) for feed, count in lines.items())
    return Uses(name, tuple(places), feeds)


def _places(
    held: Held, kind: Kind, pointers: Iterable[Pointer], files: Files
) -> Iterator[Use]:
    stated = dict.fromkeys(stated_at(held.document, pointer) for pointer in pointers)
    for pointer in stated:
        layer = next(layers_stating(held.document, pointer), held.document.own)
        place = files.place(layer, pointer)
        line = place.line if place else 1
        yield _use(kind, held.value, layer.path, line, pointer)


def _use(kind: Kind, value: Json, path: str, line: int, pointer: Pointer) -> Use:
    id = title = ""
    if kind is not SITE and isinstance(value, dict):
        is_ordered = kind.is_named and not kind.identity
        id = str(kind.named(value)) if is_ordered else kind.id(value)
        title = titled(kind, value) if id else ""
    text, words = pointer_text(pointer), place_words(pointer)
    return Use(kind.name, id, title, path, line, text, words)
