"""The first page: what is wrong, what is worth a look, what changes next, and what is
not published yet; then all kinds of documents.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import groupby
from typing import Any

from shopwindow.content.documents.schedule import END
from shopwindow.content.kinds import Kind
from shopwindow.content.lookup.calendar import Happening, upcoming
from shopwindow.preview.pages import compare
from shopwindow.preview.pages.problems import checked_at
from shopwindow.preview.visit import DAYS_AHEAD, Page, Visit

MAX_SHOWN = 5
"""Entries under each question: all four fit a screen, and each leads to a whole page."""


def page(visit: Visit) -> Page:
    """Return the first page. It answers for the chosen instant, but for problems, which
    do not depend on one.
    """
    checked = visit.snapshot.checked
    warned = checked_at(visit)
    to_come = _upcoming(visit)
    since = compare.since_baseline(visit, MAX_SHOWN)
    values: dict[str, Any] = {
        "problems": checked.problems[:MAX_SHOWN],
        "count": len(checked.problems) + checked.more,
        "warnings": warned.warnings[:MAX_SHOWN],
        "warned": len(warned.warnings) + warned.more_warnings,
        "placeholders": checked.placeholders[:MAX_SHOWN],
        "to_fill_in": len(checked.placeholders),
        "next": groupby(to_come[:MAX_SHOWN], key=lambda happening: happening.moment),
        "upcoming": len(to_come),
        "since": since,
        "kinds": list(_counted(visit)),
        "most": MAX_SHOWN,
    }
    return Page("overview.html", "Overview", values)


def _upcoming(visit: Visit) -> list[Happening]:
    """Return what goes live and off within the days that the bar's slider covers."""
    documents, start = visit.documents, visit.moment
    try:
        end = start + timedelta(days=DAYS_AHEAD)
    except OverflowError:  # the chosen instant is among the last that there are
        end = END
    return upcoming(documents, visit.interface.kinds, start, end)


def _counted(visit: Visit) -> Iterator[tuple[Kind, int, int]]:
    """Yield each kind, with how many documents there are and are live."""
    documents, content = visit.documents, visit.content
    for kind in visit.interface.kinds:
        if not kind.streamed:
            count = len(documents.of(kind.name))
            yield kind, count, len(content.documents(kind.name))
