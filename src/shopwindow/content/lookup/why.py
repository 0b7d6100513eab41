"""Why a value is what it is: which file sets it, what that hides, and what it means."""

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from shopwindow.content.check.places import Files, layers_stating, stated_at
from shopwindow.content.documents import expressions
from shopwindow.content.documents.documents import Layer
from shopwindow.content.kinds import SITE, Kind
from shopwindow.content.lookup.history import Commit, last_commit
from shopwindow.content.lookup.shelf import Held, Shelf, pointer_in, with_id
from shopwindow.content.reading.listing import COMPRESSED
from shopwindow.content.reading.yaml import Json, at, part
from shopwindow.problems import Misuse, Pointer, place_words, pointer_text


@dataclass(frozen=True)
class Statement:
    """What one file says about a value.

    ``path`` is below the content folder. ``line`` and ``column`` count from 1.
    ``expression`` is what is written there, where ``value`` is what it stands for: a
    text with expressions, a group, a zone that is that of a store; else empty.
    ``commit`` is the one that last changed these lines; None where git has no answer.
    """

    path: str
    line: int
    column: int
    value: Json
    expression: str
    commit: Commit | None


@dataclass(frozen=True)
class Explanation:
    """Why one value of a document is what it is.

    ``statements``: the one that counts first, then those that it hides; an object is
    merged from all of them. ``about`` is the schema's description. ``place`` says in
    words what ``pointer`` says to programs.
    """

    kind: str
    id: str
    pointer: str
    place: str
    value: Json
    statements: tuple[Statement, ...]
    about: str

    @property
    def is_merged(self) -> bool:
        """Whether several files have a share in the value."""
        return isinstance(self.value, dict) and len(self.statements) > 1


def explanations(shelf: Shelf, kind: Kind, id: str, pointer: str) -> list[Explanation]:
    """Explain a value of every document that has an id.

    There are several only where documents share one in turn, by their publish windows.
    A document that has no such value is left out, unless none has it. Raises Misuse for
    an id or a pointer that does not exist.
    """
    files = shelf.files
    explained: list[Explanation] = []
    refused: Misuse | None = None
    for held in with_id(shelf, kind, id):
        try:
            steps = pointer_in(held, files, pointer)
        except Misuse as misuse:
            refused = misuse
            continue
        explained.append(explanation(shelf, kind, id, held, steps))
    if refused and not explained:
        raise refused
    return explained


def explanation(
    shelf: Shelf, kind: Kind, id: str, held: Held, pointer: Pointer
) -> Explanation:
    """Explain the value at a place of a document, which has one there."""
    return Explanation(
        kind.name,
        "" if kind is SITE else id,
        pointer_text(pointer),
        place_words(pointer),
        at(held.value, pointer),
        tuple(_statements(held, pointer, shelf.files)),
        shelf.schemas.about(kind.schema, pointer),
    )


def _statements(held: Held, pointer: Pointer, files: Files) -> Iterator[Statement]:
    """Yield what the layers of a document say at a place."""
    whole = stated_at(held.document, (*held.within, *pointer))
    meant = at(held.document.value, whole)
    for layer in layers_stating(held.document, whole):
        value = at(layer.value, whole)
        file = (files.folder / layer.path).resolve()
        if held.line:
            is_packed = layer.path.endswith(COMPRESSED)  # git has other lines then
            commit = None if is_packed else last_commit(file, held.line, held.line)
            yield Statement(layer.path, held.line, 1, value, "", commit)
            continue
        first, last, column = _lines(layer, whole, files)
        commit = last_commit(file, first, last)
        written = _expression(layer, whole, files)
        # Of a value that was left out, the nearest that was written is the document.
        if (
            (whole or not pointer)
            and not written
            and len(held.document.layers) == 1
            and value != meant
        ):
            written = value if isinstance(value, str) else orjson.dumps(value).decode()
        yield Statement(layer.path, first, column, value, written, commit)


def _lines(layer: Layer, pointer: Pointer, files: Files) -> tuple[int, int, int]:
    """Return the first and the last line of a value and its key, and the column at
    which they begin.
    """
    spot = files.spot(layer, pointer)
    if spot is None:
        return 1, 1, 1
    value = spot.value
    ends_above = value.end_column == 1 and value.end_line > value.line
    first = spot.key or value
    return first.line, value.end_line - ends_above, first.column


def _expression(layer: Layer, pointer: Pointer, files: Files) -> str:
    """Return the text as the file has it, where expressions stand in it."""
    file = files.text(layer.path)
    if file.stop:  # changed since the check
        return ""
    text = part(file.value, layer.in_file(pointer))
    return text if expressions.begins_in(text) else ""
