"""From a value of an answer to the place of a document that it was taken from.

A request is answered twice. The first time it is recorded which documents the view
reads. The second time those documents have values that know where they stand
(`value_origins`). So among ten thousand documents only the ten that matter are copied.
"""

from dataclasses import dataclass

from shopwindow.content.documents.documents import (
    Document,
    live,
)
from shopwindow.content.reading.yaml import Json, at
from shopwindow.interface.contracts import as_request
from shopwindow.problems import Pointer
from shopwindow.release.breaches import answer_of
from shopwindow.release.documents_read import DocumentsRead, Named
from shopwindow.release.order import Asking
from shopwindow.release.show import require_from_content
from shopwindow.release.value_origins import ValueOrigin, origins_of, with_origins


@dataclass(frozen=True)
class AnswerOrigins:
    """A JSON answer, and what it was made from.

    ``read``: the documents that the view read. ``traced``: the same answer, of which
    those values that the view handed on unchanged have an ``origin``.
    """

    answer: Json
    read: frozenset[Named]
    traced: Json

    def origin(self, pointer: Pointer) -> ValueOrigin | None:
        """Return where the value at a place of the answer was taken from; None where
        the view computed it.

        `true` has no origin. It was taken where what stands beside it was taken, if the
        same stands there under the same name.
        """
        value = at(self.answer, pointer)
        for origin in origins_of(self.traced, pointer):
            stated = at(origin.document.value, origin.pointer)
            if type(stated) is type(value) and stated == value:
                return origin
        return None


def answer_origins(
    asking: Asking, request: str, application: str | None
) -> AnswerOrigins:
    """Return the answer to a request, with the origins of its values.

    ``request`` is a path and query below base_url. Raises Refusal, and Misuse for an
    operation that only the running service answers.
    """
    interface = asking.interface
    operation, _ = interface.routes.route(as_request(request))
    require_from_content(operation)
    reads = DocumentsRead(asking.content)
    recorded = reads.recorded(asking.opened(reads.note))
    answer = answer_of(interface, request, application, recorded)
    read = frozenset(reads.take())

    def was_read(document: Document) -> bool:
        named = interface.kind[document.kind].named(document.value)
        return (document.kind, str(named)) in read

    copies = with_origins(asking.documents, was_read)
    content = live(copies, asking.moment, interface.kinds, interface.clocks)
    try:
        traced = answer_of(
            interface, request, application, content.with_indexes(asking.opened(None))
        )
    except Exception:
        # The plain values were answered. A view that minds their subclasses is no fault
        # of the content; then no value has an origin.
        traced = None
    return AnswerOrigins(answer, read, traced)
