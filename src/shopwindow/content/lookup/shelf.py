"""Finds a document by what a person types: its kind, one of its ids, a place in it.

Whoever types may mistype, so every function here raises Misuse with a sentence that
names what comes nearest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.check.places import Files, layers_stating
from shopwindow.content.check.records import WantedLine, streamed
from shopwindow.content.documents.documents import Document, Documents
from shopwindow.content.documents.finding import joined
from shopwindow.content.kinds import SITE, Kind
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.yaml import Json, at
from shopwindow.content.schemas.schema import Schemas
from shopwindow.did_you_mean import suggestion
from shopwindow.problems import Misuse, Pointer, cut

MAX_SUGGESTED = 20_000
"""Ids among which one that comes near is looked for: the largest retailer's stores are
fewer, and with each more, the comparison takes longer.
"""

LISTED_KEYS = 20
"""Keys that a message lists: a screen of a terminal holds them."""


@dataclass(frozen=True)
class Shelf:
    """A checked content folder, as commands look into it.

    ``sources``: its files. ``documents``: what the check returned. ``schemas``: those
    that it was checked against.
    """

    folder: Path
    sources: Sequence[Source]
    documents: Documents
    schemas: Schemas

    @property
    def files(self) -> Files:
        """Where values stand in its files."""
        return Files(self.folder, {source.path: source for source in self.sources})

    def of(self, kind: Kind) -> Iterator["Held"]:
        """Yield the documents of a kind, those that stand within others among them."""
        nested = nested_in(self.schemas, kind)
        for held in self.outermost(kind):
            yield from with_nested(held, nested)

    def outermost(
        self, kind: Kind, wanted: WantedLine = lambda line: True
    ) -> Iterator["Held"]:
        """Yield the documents of a kind. ``wanted``: lines of a feed for which it
        returns False are passed over.
        """
        if not kind.streamed:
            site, of_kind = [self.documents.site], self.documents.of(kind.name)
            yield from map(Held, site if kind is SITE else of_kind)
            return
        for source in self.sources:
            if source.kind.name == kind.name:
                names = self.documents.names
                for document, line in streamed(self.folder, source, names, wanted):
                    yield Held(document, line)


@dataclass(frozen=True)
class Held:
    """A document, and where it stands.

    ``line`` is its line in a feed; 0 in a YAML file. ``within`` leads to it where it
    stands within another document of its kind, as a category does.
    """

    document: Document
    line: int = 0
    within: Pointer = ()

    @property
    def value(self) -> Json:
        return at(self.document.value, self.within)


def with_nested(held: Held, nested: Sequence[str]) -> Iterator[Held]:
    """Yield a document, and those of its kind within it. ``nested``: the properties
    that hold them (`nested_in`).
    """
    yield held
    for name in nested if isinstance(held.value, dict) else ():
        below = held.value.get(name)
        for index in range(len(below) if isinstance(below, list) else 0):
            within = (*held.within, name, index)
            yield from with_nested(Held(held.document, held.line, within), nested)


def nested_in(schemas: Schemas, kind: Kind) -> tuple[str, ...]:
    """Return the properties whose items are documents of the same kind."""
    properties = schemas[kind.schema].get("properties", {})
    return tuple(name for name, place in properties.items() if _is_nested(place))


def _is_nested(place: Json) -> bool:
    items = place.get("items") if isinstance(place, dict) else None
    return isinstance(items, dict) and items.get("$ref") == "#"


def with_id(shelf: Shelf, kind: Kind, id: str) -> list[Held]:
    """Return the documents of a kind with an id.

    ``id`` is compared with the kind's identity first, and then with its other ids: a
    store has several numbers. Documents whose publish windows do not overlap may share
    one. The site has no id. Raises Misuse where no document has it.
    """
    if kind is SITE:
        return list(shelf.of(kind))
    ids = kind.ids[::-1]
    if not ids:
        raise Misuse("", f"a {kind.name} has no id by which it could be named")
    having: dict[str, list[Held]] = {name: [] for name in ids}
    there: dict[str, None] = {}
    for held in shelf.of(kind):
        for name in ids:
            text = str(held.value.get(name))
            if text == id:
                having[name].append(held)
            elif len(there) < MAX_SUGGESTED:
                there[text] = None
    for name in ids:
        if having[name]:
            return having[name]
    raise Misuse(
        "",
        f"no {kind.name} has the {joined(ids, 'or')} {cut(id)}{suggestion(id, there)}",
    )


def pointer_in(held: Held, files: Files, text: str) -> Pointer:
    """Return the pointer that a person typed: keys and positions with slashes between
    them, from the document on.

    It may begin with a slash, and writes a slash within a key as ~1 and ~ as ~0 (RFC
    6901). Raises Misuse where the document has nothing there.
    """
    value = held.value
    pointer: Pointer = ()
    steps = text.removeprefix("/").split("/") if text.strip("/") else []
    for raw in steps:
        typed = raw.replace("~1", "/").replace("~0", "~")
        step, names = _step(value, typed)
        if step is None:
            _refuse(held, files, pointer, typed, names)
        else:
            value = value[step]
            pointer = (*pointer, step)
    return pointer


def _step(value: Json, typed: str) -> tuple[Any, list[str]]:
    """Return the key or position that leads on, or None; and those that there are."""
    if isinstance(value, dict):
        return (typed if typed in value else None), list(value)
    positions = list(map(str, range(len(value)))) if isinstance(value, list) else []
    return (int(typed) if typed in positions else None), positions


def _refuse(
    held: Held, files: Files, above: Pointer, typed: str, names: list[str]
) -> None:
    """Raise Misuse for a step that leads nowhere.

    A null of a layer above a base removes what the base has: such a layer is named.
    """
    where = "/".join(map(str, above))
    place = f"{where}/{typed}" if where else typed
    whole = (*held.within, *above, typed)
    for layer in layers_stating(held.document, whole):
        removed = files.place(layer, whole)
        line = f":{removed.line}" if removed else ""
        raise Misuse("", f"{place}: {layer.path}{line} removes it with null")
    if names:
        listed = ", ".join(names[:LISTED_KEYS]) + ", …" * (len(names) > LISTED_KEYS)
        found = f"there is no {cut(typed)!r} in {where or 'it'}"
        there = f"there are {listed}{suggestion(typed, names)}"
        raise Misuse("", f"{cut(place)}: {found}; {there}")
    raise Misuse("", f"{cut(place)}: {where or 'it'} is one value and holds no others")


def value_text(value: Json) -> str:
    """Return a value as a terminal shows it: printable text as it is, anything else as
    JSON.
    """
    if isinstance(value, str) and value.isprintable() and value:
        return value
    option = orjson.OPT_INDENT_2 if isinstance(value, dict | list) else None
    return orjson.dumps(value, option=option).decode()
