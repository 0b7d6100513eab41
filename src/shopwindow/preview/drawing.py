"""Any document as rows for a page: each value with the file and line that says it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import orjson

from shopwindow.content.check.places import Files, layers_stating, stated_at
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.schedule import BEGINNING, END, Window
from shopwindow.content.kinds import Kind, values_at
from shopwindow.content.reading.yaml import Json, at
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import Pointer, ordinal

MAX_ROWS = 400
"""Values of one document that a page lists; who needs more reads the file."""


class StatedAt(NamedTuple):
    """The file and line that say a value; line 0 where only the file is sure."""

    path: str
    line: int


def places(document: Document, pointer: Pointer, files: Files) -> list[StatedAt]:
    """Return where a document's value is stated: the place that counts, then those that
    it hides.
    """
    stated = stated_at(document, pointer)
    found = []
    for layer in layers_stating(document, stated):
        place = files.place(layer, stated)
        found.append(StatedAt(layer.path, place.line if place else 0))
    return found


@dataclass(frozen=True)
class ValueRow:
    """One value of a document. ``title`` is what people call it; empty where its schema
    does not say. ``depth`` says how far it is nested; a value that holds others has no
    text. ``places`` say where it was written, and after that which places of bases it
    hides. ``link`` leads to the document that it names.
    """

    name: str
    title: str
    depth: int
    text: str | None
    places: list[StatedAt]
    link: tuple[str, str] | None
    differs: bool


def rows(
    document: Document,
    kind: Kind,
    files: Files,
    released: Json | None,
    schemas: Schemas,
) -> list[ValueRow]:
    """Return a row for each value of a document, in the order in which it is written.

    ``released`` is the same document in what the content is compared with, mostly the
    current release; a value that differs from it is marked. None: there is none.
    """
    linked = {
        pointer: (reference.kind, text_of(value))
        for reference in kind.references
        for pointer, value in values_at(document.value, reference.pointer)
    }
    shape = schemas.shape(kind.schema)

    def row(pointer: Pointer, value: Json) -> ValueRow:
        last = pointer[-1]
        place = shape.at(pointer) if isinstance(last, str) else None
        holds_others = isinstance(value, dict | list)
        is_compared = released is not None and not holds_others
        return ValueRow(
            name=ordinal(last) if isinstance(last, int) else last,
            title=str(place.keyword("title") or "") if place else "",
            depth=len(pointer) - 1,
            text=None if holds_others and value else text_of(value),
            places=places(document, pointer, files),
            link=linked.get(pointer),
            differs=is_compared and value != _at(released, pointer),
        )

    values = islice(_walk(document.value, ()), MAX_ROWS)
    return [row(pointer, value) for pointer, value in values]


def _walk(value: Json, pointer: Pointer) -> Iterator[tuple[Pointer, Json]]:
    items: Iterable[tuple[str | int, Json]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for step, part in items:
        yield (*pointer, step), part
        yield from _walk(part, (*pointer, step))


@dataclass(frozen=True)
class Sourced:
    """A value as a page of a family shows it, with the ``place`` that sets it.

    ``is_own``: the document's own file says it, and no base says the same. ``base``:
    what the base says instead, as it is written there; empty where it says nothing.
    ``before``: another value that is in what the content is compared with, empty where
    that has none; None: it has the same.
    """

    text: str
    place: StatedAt
    is_own: bool
    base: str
    before: str | None


def sourced(
    document: Document, pointer: Pointer, files: Files, released: Json | None
) -> Sourced | None:
    """Return the value at ``pointer``; None where the document has none there.

    ``released`` is the same document in what the content is compared with, or None.
    """
    value = _at(document.value, pointer)
    if value is None:
        return None
    stating = list(layers_stating(document, pointer))
    layer = stating[0] if stating else None
    is_own, base = False, ""
    if layer is not None and layer is document.own and len(document.layers) > 1:
        of_base = at(stating[1].value, pointer) if len(stating) > 1 else None
        is_own = at(layer.value, pointer) != of_base
        base = _listed(of_base) if is_own and of_base is not None else ""
    before = _at(released, pointer) if released is not None else value
    earlier = None
    if value != before:
        earlier = "" if before is None else _listed(before)
    place = places(document, pointer, files)[0]
    return Sourced(_listed(value), place, is_own, base, earlier)


def _at(value: Json, pointer: Pointer) -> Json:
    """Return the value at ``pointer``; None where there is none: content has no null."""
    try:
        return at(value, pointer)
    except (KeyError, IndexError):
        return None


def _listed(value: Json) -> str:
    """Return a value as `text_of` does, a list of texts without quotes and brackets."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or "none"
    return text_of(value)


def text_of(value: Json) -> str:
    """Return a value as a page shows it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


# -- when it is live -------------------------------------------------------------------


@dataclass(frozen=True)
class Stay:
    """When a document is live, as of an instant. ``state`` is live, to come or ended."""

    window: Window
    state: str

    @property
    def opens(self) -> datetime | None:
        return None if self.window.start == BEGINNING else self.window.start

    @property
    def closes(self) -> datetime | None:
        return None if self.window.end == END else self.window.end


def state_of(window: Window, moment: datetime) -> str:
    """Return what a window is at an instant: live, to come or ended."""
    if moment in window:
        return "live"
    return "to come" if moment < window.start else "ended"
