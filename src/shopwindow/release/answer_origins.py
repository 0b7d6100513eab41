"""From a value of an answer to the place of a document that it was taken from.

Views are pure functions of plain values, and do not say what they took from where. But
what a view hands on unchanged is the very object that the document holds, so it is
recognized by its Python id, while the documents are alive. It is recorded which documents
the view reads, so among ten thousand only the ten that matter are looked through.

Some values have no id of their own, such as `true`, null, small numbers and texts of one
letter, and some a view computes. For those the values around them tell: an object that
is handed on as a whole, else the object of which most values beside them were taken.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from shopwindow.content.documents.documents import Document
from shopwindow.content.reading.yaml import Json, at, walked
from shopwindow.interface.answering.answer import selected, value_of
from shopwindow.interface.answering.contracts import as_request
from shopwindow.interface.declaring.operation import Call, FromContent
from shopwindow.interface.formats import JSON, Format
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Misuse, Pointer
from shopwindow.release.documents_read import SITE_DOCUMENT, DocumentsRead, Named
from shopwindow.release.order import Asking


class ValueOrigin(NamedTuple):
    """A place of a document, as views see it: without what the file says otherwise."""

    document: Document
    pointer: Pointer


class AnswerOrigins:
    """The answer to a call as a JSON value, and what it was made from.

    ``read``: the documents that the view read. ``sources``: site.yaml, and those of
    ``read`` that are in no index, by their names; some may share one.
    """

    def __init__(
        self,
        call: Call,
        answer: Json,
        read: frozenset[Named],
        sources: Sequence[tuple[Named, Document]],
    ) -> None:
        self.call, self.answer, self.read = call, answer, read
        self.sources = sources

    @cached_property
    def _by_id(self) -> Mapping[int, ValueOrigin]:
        """The places of all values of the sources, by Python's id."""
        by_id: dict[int, ValueOrigin] = {}
        for _, document in self.sources:
            for pointer, value in walked(document.value):
                if not _has_one_object(value):
                    by_id.setdefault(id(value), ValueOrigin(document, pointer))
        return by_id

    def stated(self, value: Json) -> ValueOrigin | None:
        """Return where a value of the answer stands that the view has handed on."""
        return self._by_id.get(id(value))

    def origin(self, pointer: Pointer) -> ValueOrigin | None:
        """Return where the value at a place of the answer was taken from; None where
        the view computed it.

        `true` has no origin. It was taken where what stands beside it was taken, if the
        same stands there under the same name.
        """
        value = at(self.answer, pointer)
        for origin in self.origins(pointer):
            stated = at(origin.document.value, origin.pointer)
            if type(stated) is type(value) and stated == value:
                return origin
        return None

    def origins(self, pointer: Pointer) -> Iterator[ValueOrigin]:
        """Yield where the value at a place may come from, the surest first.

        There need not be a value at ``pointer``: then an origin is that of as much of
        the way to it as the answer has.
        """
        parts = [self.answer]
        for step in pointer:
            try:
                parts.append(at(parts[-1], (step,)))
            except (KeyError, IndexError):
                break
        for depth in reversed(range(len(parts))):
            origin = self.stated(parts[depth])
            if origin is None:
                yield from self._around(parts[depth], pointer[depth : depth + 1])
            else:
                below = pointer[depth : len(parts) - 1]
                yield ValueOrigin(origin.document, (*origin.pointer, *below))

    def _around(self, value: Json, step: Pointer) -> Iterator[ValueOrigin]:
        """Yield the origin of an object that a view has put together, by what it holds.

        It is the place of a document from which most of its values were taken. Where
        the document has the same name there, as ``step``, it is that name's place.
        """
        parts = map(self.stated, value.values() if isinstance(value, dict) else ())
        origins = [origin for origin in parts if origin]
        around = [(id(origin.document), origin.pointer[:-1]) for origin in origins]
        for most, _ in Counter(around).most_common(1):
            document, pointer = origins[around.index(most)].document, most[1]
            try:
                at(document.value, (*pointer, *step))
            except (KeyError, IndexError):
                yield ValueOrigin(document, pointer)
            else:
                yield ValueOrigin(document, (*pointer, *step))


def _has_one_object(value: Json) -> bool:
    """Return whether Python has one object for all values like this one."""
    if isinstance(value, str):
        return len(value) < 2
    return value is None or (isinstance(value, int) and -6 < value < 257)


def answer_origins(
    asking: Asking, request: str, application: str | None, format: Format = JSON
) -> AnswerOrigins:
    """Return the answer to a request, with the origins of its values.

    ``request`` is a path and query below base_url. Raises Refusal, and Misuse for an
    operation that only the running service answers.
    """
    interface, documents = asking.interface, asking.documents
    parsed = as_request(request, format)
    operation, _ = interface.routes.route(parsed)
    if not isinstance(operation.source, FromContent):
        what = f"{operation.path} is answered by the running service only"
        raise Misuse("", f"{what} (`shopwindow serve`)")
    reads = DocumentsRead(asking.content)
    recorded = reads.recorded(asking.opened(reads.note))
    call = bind(parsed, application, interface, content=recorded)
    answer = selected(call, value_of(call, recorded))
    read = frozenset(reads.take())
    sources = [(SITE_DOCUMENT, documents.site)]
    sources += [
        (named, document)
        for kind in interface.kinds
        for document in documents.of(kind.name)
        if (named := (kind.name, str(kind.named(document.value)))) in read
    ]
    return AnswerOrigins(call, answer, read, sources)
