"""Looking at content that nobody has built: answers, and why they are what they are;
dates, and first contracts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from shopwindow.content.check.places import Files
from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Document, boundaries, live
from shopwindow.content.kinds import SITE
from shopwindow.content.lookup.calendar import Calendar
from shopwindow.content.lookup.calendar import calendar as calendar_of
from shopwindow.content.lookup.shelf import Held, pointer_in
from shopwindow.content.lookup.why import Explanation, explanation
from shopwindow.content.reading.yaml import Json, at
from shopwindow.did_you_mean import suggestion
from shopwindow.interface.answering.answer import Response, refused
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.library.opening import OpenedContent, live_at
from shopwindow.problems import Misuse, Refusal
from shopwindow.release.documents_read import Named
from shopwindow.release.indexes import on_demand
from shopwindow.release.show import AnswerOrigins, answer_origins, below_base_url
from shopwindow.release.show import show as show_unbuilt
from shopwindow.starter.recording import Recording, write_contract

CALENDAR_DAYS = 90
"""Days that a calendar covers unless another end is named: a season of a department
store.
"""


MOST_INSTANTS = 100
"""Coming boundaries at which a contract is recorded, and the last one that there is: a
season of a department store, and a few seconds.
"""


def show(
    content: OpenedContent,
    request: str,
    *,
    at: str | None = None,
    app: str | None = None,
    form: str = "json",
) -> Response:
    """Return the response to a request, answered from a content folder instead of a
    release.

    ``request`` is a path and query below the base URL, or the whole URL. ``at`` is what
    `live_at` reads. ``app`` names the application that asks, by default the first;
    ``form`` the format: json or xml. A Refusal becomes the response that a client would get.

    Raises Misuse, also for an operation that only the running service answers.
    """
    formats = {format.name: format for format in RESPONSE_FORMATS}
    if form not in formats:
        raise Misuse("form", f"{form!r}: the formats are {', '.join(formats)}")
    interface, documents = content.interface, content.documents
    published = live_at(interface, documents, at)
    names = interface.application_names(published)
    if app is not None:
        require_application(app, names, "app")
    application = app or next(iter(names), None)
    with on_demand(interface, documents, published) as asking:
        return show_unbuilt(
            asking, content.shelf.schemas, request, application, formats[form]
        )[0]


def record_contract(
    content: OpenedContent,
    app: str,
    version: str,
    requests: Sequence[str],
    *,
    at: str | None = None,
) -> Path:
    """Write a first contract of an application's version; return the file.

    ``at`` is as for `show`, and so is each of the ``requests``. Every value of their
    answers becomes a field. Raises Misuse for an application, a version or a request
    that cannot be meant, and Failure where the file is there.
    """
    interface, documents = content.interface, content.documents
    moment = schedule.moment_of(at, documents.zone)
    later = [each for each in boundaries(documents, interface.kinds) if each > moment]
    moments = (moment, *later[:MOST_INSTANTS], *later[-1:])
    published = [
        live(documents, each, interface.kinds, interface.clocks) for each in moments
    ]
    if interface.applications is not None:
        require_application(app, interface.application_names(published[0]))
    below = [below_base_url(each, interface, documents.site.value) for each in requests]
    with on_demand(interface, documents, published[0]) as asking:
        indexes = asking.opened(None)
        recording = Recording(
            interface,
            content.shelf.schemas,
            [each.with_indexes(indexes) for each in published],
            app,
            version,
        )
        return write_contract(content.shelf.folder, recording, below)


def calendar(
    content: OpenedContent,
    *,
    start: str | None = None,
    end: str | None = None,
) -> Calendar:
    """Return what goes live, ends, starts and expires in a content folder.

    ``start`` and ``end`` are instants, as `live_at` reads them; by default now, and
    CALENDAR_DAYS after the start. Raises Misuse where the end is not after the start.
    """
    documents = content.documents
    first = schedule.moment_of(start, documents.zone, "from")
    last = first + timedelta(days=CALENDAR_DAYS)
    if end is not None:
        last = schedule.moment_of(end, documents.zone, "to")
    if last <= first:
        raise Misuse("to", f"{end}: must be after {start or 'now'}")
    return calendar_of(documents, content.interface.kinds, first, last)


def require_application(name: str, names: Sequence[str], parameter: str = "") -> None:
    """Raise Misuse of a parameter where there is no such application; it lists those
    that there are.
    """
    if name not in names:
        listed, meant = ", ".join(names), suggestion(name, names)
        raise Misuse(parameter, f"{name!r}: the applications are {listed}{meant}")


# -- why an answer is what it is -------------------------------------------------------


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
    try:
        with on_demand(interface, documents, published) as asking:
            origins = answer_origins(asking, request, application)
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
