"""Which value of which document stands at a place of an answer.

Views are pure functions of plain values, and do not say what they took from where. So an
answer whose value is at fault is computed once more, from documents whose values know
their origins: each object, list, text and number is of a subclass that has its document
and its pointer. Whatever a view hands on unchanged can be recognized in the answer.

Three things cannot be: `true`, `false` and null, which have no subclasses, and what a
view computes. For those the values around them tell: an object that is handed on as a
whole, else the object of which most values beside them were taken.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from shopwindow.content.documents.documents import Document, Documents
from shopwindow.content.reading.yaml import Json, at
from shopwindow.problems import Pointer


class ValueOrigin(NamedTuple):
    """A place of a document, as views see it: without what the file says otherwise."""

    document: Document
    pointer: Pointer


class _OfDocument:
    """What a value with an origin has beside its own type."""

    origin: ValueOrigin


_TRACED: dict[type, Any] = {
    base: type(f"_Traced_{base.__name__}", (_OfDocument, base), {})
    for base in (dict, list, str, int, float)
}
"""Subclasses with origins, by the very type: bool, a subclass of int, has none."""


def with_origins(documents: Documents, wanted: Callable[[Document], bool]) -> Documents:
    """Return the same documents, whose values know where they stand.

    ``wanted``: those of which it returns False stay as they are. Streamed documents are
    in no Documents; indexes answer from their own files.
    """
    by_kind = {
        kind: [_with_origins(each) if wanted(each) else each for each in of_kind]
        for kind, of_kind in documents.by_kind.items()
    }
    return Documents(_with_origins(documents.site), by_kind, documents.feeds)


def _with_origins(document: Document) -> Document:
    def copied(value: Json, pointer: Pointer) -> Any:
        if isinstance(value, dict):
            value = {key: copied(part, (*pointer, key)) for key, part in value.items()}
        elif isinstance(value, list):
            value = [copied(part, (*pointer, at)) for at, part in enumerate(value)]
        elif type(value) not in _TRACED:
            return value
        copy = _TRACED[type(value)](value)
        copy.origin = ValueOrigin(document, pointer)
        return copy

    return document._replace(value=copied(document.value, ()))


def origins_of(answer: Any, pointer: Pointer) -> Iterator[ValueOrigin]:
    """Yield where the value at a place of an answer may come from, the surest first.

    ``answer`` was computed from documents `with_origins`. The first origins are those of
    the value and of what it stands in, from the inside out; then come those that the
    values beside them tell. There need not be a value at ``pointer``: then an origin is
    that of as much of the way to it as the answer has.
    """
    parts = [answer]
    for step in pointer:
        try:
            parts.append(at(parts[-1], (step,)))
        except (KeyError, IndexError):
            break
    inside_out = list(enumerate(parts))[::-1]
    for depth, part in inside_out:
        if isinstance(part, _OfDocument):
            document, above = part.origin
            yield ValueOrigin(document, (*above, *pointer[depth : len(parts) - 1]))
    for depth, part in inside_out:
        yield from _around(part, pointer[depth : depth + 1])


def _around(value: Any, step: Pointer) -> Iterator[ValueOrigin]:
    """Yield the origin of an object that a view has put together, by what it holds.

    It is the place of a document from which most of its values were taken. Where the
    document has the same name there, as ``step``, it is that name's place.
    """
    parts: Iterable[Any] = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        parts = value.values()
    origins = [part.origin for part in parts if isinstance(part, _OfDocument)]
    around = [(id(origin.document), origin.pointer[:-1]) for origin in origins]
    for most, _ in Counter(around).most_common(1):
        document, pointer = origins[around.index(most)].document, most[1]
        try:
            at(document.value, (*pointer, *step))
        except (KeyError, IndexError):
            yield ValueOrigin(document, pointer)
        else:
            yield ValueOrigin(document, (*pointer, *step))
