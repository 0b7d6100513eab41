"""Looking at content that nobody has built: answers, dates, and the pages of rules."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import boundaries, live
from shopwindow.content.lookup.calendar import Calendar
from shopwindow.content.lookup.calendar import calendar as calendar_of
from shopwindow.did_you_mean import suggestion
from shopwindow.interface.answering.answer import Response
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.library.opening import OpenedContent, live_at
from shopwindow.problems import Misuse
from shopwindow.release.indexes import on_demand
from shopwindow.release.show import below_base_url
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
