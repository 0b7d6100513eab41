"""Why a value of an answer is what it is: the document that sets it, or what was read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shopwindow.content.check.places import Files
from shopwindow.content.documents.documents import Document
from shopwindow.content.kinds import SITE
from shopwindow.content.lookup.shelf import Held, pointer_in
from shopwindow.content.lookup.why import Explanation, explanation
from shopwindow.content.reading.yaml import Json, at
from shopwindow.interface.answering.answer import refused
from shopwindow.interface.declaring.interface import Interface
from shopwindow.library.opening import OpenedContent, live_at
from shopwindow.problems import Misuse, Refusal
from shopwindow.release.documents_read import Named
from shopwindow.release.indexes import on_demand
from shopwindow.release.show import AnswerOrigins, answer_origins, below_base_url


@dataclass(frozen=True)
class DocumentRead:
    """A document that an answer read. ``path`` is below the content folder; ``line``
    counts from 1, and is 0 where only the file is sure.
    """

    kind: str
    id: str
    path: str
    line: int


@dataclass(frozen=True)
class AnsweredValue:
    """Why a value of an answer is what it is.

    ``set_by``: the value of a document that the answer hands on. Where the program
    computes the value that is None, and ``read`` are the documents of the answer.
    """

    value: Json
    set_by: Explanation | None
    read: tuple[DocumentRead, ...]


def why_answered(content: OpenedContent, request: str, pointer: str) -> AnsweredValue:
    """Return why a value of the JSON answer to a request is what it is.

    ``request`` is what `show` takes; the first application asks, now. ``pointer`` is
    what `why` takes. Raises Misuse for a request that is refused or that no content
    answers, and for a place that the answer has not.
    """
    interface, shelf, documents = content.interface, content.shelf, content.documents
    published = live_at(interface, documents, None)
    application = next(iter(interface.application_names(published)), None)
    below = below_base_url(request, interface, documents.site.value)
    try:
        with on_demand(interface, documents, published) as asking:
            origins = answer_origins(asking, below, application)
    except Refusal as refusal:
        raise Misuse("", f"{request} {refused(refusal)}") from None
    answer = origins.answer
    try:
        steps = pointer_in(Held(Document("", answer, ())), shelf.files, pointer)
    except Misuse as misuse:
        raise Misuse("", f"the JSON answer to {request}: {misuse}") from None
    value, origin = at(answer, steps), origins.origin(steps)
    if origin is None:
        read = documents_read(interface, origins, origins.read, shelf.files)
        return AnsweredValue(value, None, tuple(read))
    document = origin.document
    kind = interface.kind.get(document.kind, SITE)
    id = str(kind.named(document.value)) if kind.is_named else ""
    set_by = explanation(shelf, kind, id, Held(document), origin.pointer)
    return AnsweredValue(value, set_by, ())


def documents_read(
    interface: Interface, origins: AnswerOrigins, read: Iterable[Named], files: Files
) -> Iterator[DocumentRead]:
    """Yield where documents stand that an answer reads, by kind, and by their identities
    in each.
    """
    by_name = dict(origins.sources)
    for name, id in sorted(read, key=lambda named: (named[0], len(named[1]), named)):
        document = by_name.get((name, id))
        place = (
            (document.own.path, files.line(document))
            if document
            else files.streamed(interface.kind[name], id)
        )
        yield DocumentRead(name, id, *place)
