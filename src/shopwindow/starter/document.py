"""A new document of any kind: its id, its file, and what stands in it.

Numbers are counted on: the new id is the highest of its kind and one more, and so is
every other number that no two documents share. Text cannot be counted on, and a number
that names another document is a choice; whoever begins such a document says its id.

A new document is begun while others are still being written, so content with problems
is read as well (`Existing`): a file that cannot be read counts as if it were not there,
and `check` reports it.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shopwindow.content.check.folder import Check
from shopwindow.content.check.memory import Memory
from shopwindow.content.check.records import streamed
from shopwindow.content.check.tree import Parsed
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.layers import merge
from shopwindow.content.kinds import Kind, Reference
from shopwindow.content.lookup.shelf import Held, nested_in, with_nested
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.slips import SKELETON_LINE
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.did_you_mean import suggestion
from shopwindow.interface.declaring.collections import Declared
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Misuse, Pointer
from shopwindow.starter.skeleton import UNSTATED, Places, skeleton
from shopwindow.starter.written import write_new

MOST_BASES = 20
"""Bases that build on each other: enough for any shop, and an end where they form a
ring.
"""

LONGEST_NAME = 60
"""Characters of a document's name in the name of its file: enough to recognize it."""

_NAME_OF_A_FILE = re.compile("[A-Za-z0-9_][A-Za-z0-9._-]*")

USUAL_TITLES = (("name",), ("title",), ("headline",), ("label",))
"""Properties that people call a document by, where its kind does not say which."""

ABOUT = (
    f"{SKELETON_LINE}, and delete this line: until then `check` warns of it.",
    "A line such as `#key: value` may be left out; remove its # to use it.",
)


@dataclass(frozen=True)
class NewDocument:
    """A document that is not written yet: its path below the content folder, and its
    text.
    """

    path: str
    text: str


# -- what is there already --------------------------------------------------------------


@dataclass(frozen=True)
class Existing:
    """The documents of a content folder, by kind.

    ``parsed``: the files whose documents a check has read, by path. Others are read as
    they are written: those of streamed kinds, and those of which something is lost.
    """

    folder: Path
    sources: Sequence[Source]
    schemas: Schemas
    parsed: Mapping[str, Parsed]

    def documents(self, kind: Kind) -> Iterator[Document]:
        """Yield the documents of a kind, without their bases, in the order of the
        files.
        """
        for source in self.sources:
            if source.kind.name != kind.name or source.is_base:
                continue
            if file := self.parsed.get(source.path):
                yield from (Document(kind.name, value, ()) for value in file.documents)
            else:
                yield from (one for one, _ in streamed(self.folder, source, {}))

    def values(self, kind: Kind, name: str) -> Iterator[Json]:
        """Yield the values of a property in the documents of a kind.

        Documents may stand within each other, as categories do: those count as well.
        """
        nested = nested_in(self.schemas, kind)
        for document in self.documents(kind):
            for held in with_nested(Held(document), nested):
                if isinstance(held.value, dict) and name in held.value:
                    yield held.value[name]

    def base_name(self, kind: Kind) -> str:
        """Return the name of the first base file that stands directly in the folder of
        a kind; empty where there is none.
        """
        for source in self.sources:
            folder, _, name = source.path.rpartition("/")
            if source.is_base and folder == source.kind.folder == kind.folder:
                return name
        return ""

    def base(self, kind: Kind, name: str, most: int = MOST_BASES) -> Json:
        """Return what a base file says, merged with the bases that it builds on."""
        file = self.parsed.get(f"{kind.folder}/{name}")
        value: Json = next(iter(file.documents), {}) if file and most else {}
        extended = value.get("extends") if isinstance(value, dict) else None
        if not isinstance(extended, str):
            return value
        return merge(self.base(kind, extended, most - 1), value)


def existing(folder: Path, declared: Declared, memory: Memory) -> Existing:
    """Return what a content folder holds. ``memory`` is that of the folder."""
    check = Check(folder, declared, memory=memory)
    parsed = {file.source.path: file for file in check.files() if not file.lost}
    return Existing(folder, check.sources, declared.schemas, parsed)


# -- a new document ---------------------------------------------------------------------


def kind_named(interface: Interface, name: str, *, has_faults: bool = False) -> Kind:
    """Return the kind of that name. Raises Misuse, which names the kinds.

    ``has_faults``: some collections of the folder are declared with faults, and are not
    among the kinds.
    """
    kinds = interface.kind
    if name not in kinds:
        meant = suggestion(name, kinds)
        more = (
            "; a collection with problems, which `check` reports, is none"
            if has_faults
            else ""
        )
        raise Misuse(
            "", f"{name!r} is no kind; the kinds are {', '.join(kinds)}{meant}{more}"
        )
    return kinds[name]


def id_is_counted(kind: Kind, schemas: Schemas) -> bool:
    """Return whether a new document's id follows from those that exist."""
    if (
        kind.identity is None
        or kind.named_by_file
        or _reference(kind, (kind.identity,))
    ):
        return False
    place = schemas.shape(kind.schema).property(kind.identity)
    return place is not None and place.type == "integer"


def new_document(
    interface: Interface, there: Existing, kind: Kind, name: str | None
) -> NewDocument:
    """Return a new document of a kind, beside those that are there.

    ``name`` is what people call it, by default "new" and the kind; where ids are not
    counted, it is the id, and has to be there. Raises Misuse where it is missing,
    taken, or no text.
    """
    if name is not None and not name.isprintable():
        raise Misuse("", f"{name!a}: NAME has to be one line of text")
    schemas = there.schemas
    values = _OwnValues(there, interface, kind, name, id_is_counted(kind, schemas))
    places = Places(schemas.shapes(kind.schema))
    base_name = values.base_name
    base = there.base(kind, base_name) if base_name else None
    text = skeleton(places, values.at, base, ABOUT)
    return NewDocument(f"{kind.folder}/{values.file_name}.yaml", text)


def write(content: Path, document: NewDocument) -> Path:
    """Write a new document to its file; return the path. Raises Failure where one is
    there.
    """
    advice = "; name the new document otherwise"
    return write_new(content / document.path, document.text, advice)


class _OwnValues:
    """The values that a new document has of its own, by their places."""

    def __init__(
        self,
        there: Existing,
        interface: Interface,
        kind: Kind,
        name: str | None,
        counted: bool,
    ) -> None:
        self._there, self._interface, self._kind = there, interface, kind
        self._shape = there.schemas.shape(kind.schema)
        self._name = name or f"new {kind.name}"
        self._values: dict[Pointer, Any] = {}
        self.base_name = there.base_name(kind)
        if self.base_name:
            self._values["extends",] = self.base_name
        self._count_on()
        self._use_name(counted=counted)
        if counted or kind.identity is None:
            id = self._values.get((kind.identity,)) if kind.identity else None
            self.file_name = "-".join(
                filter(None, (str(id or ""), slug(self._name, kind)))
            )
        else:
            self.file_name = self._chosen_id(name)

    def at(self, pointer: Pointer) -> Any:
        """Return the value of a place, or UNSTATED.

        A reference names the first document that exists. Where there is none, the
        schema's example stands, and `check` reports that it names nothing.
        """
        if pointer in self._values:
            return self._values[pointer]
        reference = _reference(self._kind, pointer)
        if reference is None:
            return UNSTATED
        kind = self._interface.kind[reference.kind]
        name = reference.property or kind.identity or ""
        value = next(self._there.values(kind, name), UNSTATED)
        self._values[pointer] = value
        return value

    def _count_on(self) -> None:
        """Take the next number for each property whose values are unique."""
        for name in self._kind.ids:
            place = self._shape.property(name)
            if (name,) in self._values or place is None or place.type != "integer":
                continue
            least = place.keyword("minimum") or 1
            taken = self._there.values(self._kind, name)
            numbers = (value for value in taken if type(value) is int)
            self._values[name,] = max(least - 1, max(numbers, default=0)) + 1

    def _use_name(self, *, counted: bool) -> None:
        """Put what people call the document where a text wants it: its title, and texts
        that no two documents share. Where the name is the id, nothing else is called by
        it.
        """
        titles = [self._kind.title] if self._kind.title else USUAL_TITLES
        texts = [pointer for pointer in titles if self._is_text(pointer)][:1]
        texts += [(name,) for name in self._kind.ids if self._is_text((name,))]
        for pointer in texts if counted else ():
            self._values.setdefault(pointer, self._name)

    def _chosen_id(self, text: str | None) -> str:
        """Take the id that was chosen; return the name of the file. Raises Misuse."""
        kind, identity = self._kind, str(self._kind.identity)
        place = self._shape.property(identity)
        about = (
            f" ({place.description.rstrip('.')})" if place and place.description else ""
        )
        if not text:
            raise Misuse("", f"a new {kind.name} needs its {identity}{about} as NAME")
        if kind.named_by_file and not _NAME_OF_A_FILE.fullmatch(text):
            raise Misuse(
                "",
                f"{text!r}: a {kind.name} is named by its file: letters, digits, . _ -",
            )
        value: Json = text
        if place is not None and place.type == "integer":
            if not re.fullmatch("[0-9]{1,15}", text):
                raise Misuse(
                    "", f"{text!r}: the {identity} of a {kind.name} is a number"
                )
            value = int(text)
        if value in self._there.values(kind, identity):
            raise Misuse("", f"the {identity} {text} is taken by another {kind.name}")
        self._values[identity,] = value
        return text if kind.named_by_file else slug(text, kind)

    def _is_text(self, pointer: Pointer) -> bool:
        place = self._shape.at(pointer)
        return (
            place is not None and place.type == "string" and not place.keyword("enum")
        )


def _reference(kind: Kind, pointer: Pointer) -> Reference | None:
    """Return the reference that stands at a place of a kind, if one does."""
    return next((each for each in kind.references if each.pointer == pointer), None)


def slug(text: str, kind: Kind) -> str:
    """Return a text as a part of a file's name: small ASCII letters, digits and
    hyphens.
    """
    letters = (
        unicodedata.normalize("NFKD", text.casefold())
        .encode("ascii", "ignore")
        .decode()
    )
    words = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    return words[:LONGEST_NAME].rstrip("-") or kind.name
