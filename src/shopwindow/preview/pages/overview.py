"""The first page: what is wrong, what is worth a look, what changes next, and what is
not published yet; then all kinds of documents.
"""

from datetime import timedelta
from itertools import groupby
from typing import Any

from shopwindow.content.lookup.calendar import upcoming
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
    end = visit.moment + timedelta(days=DAYS_AHEAD)
    to_come = upcoming(visit.documents, visit.interface.kinds, visit.moment, end)
    values: dict[str, Any] = {
        "problems": checked.problems[:MAX_SHOWN],
        "count": len(checked.problems) + checked.more,
        "warnings": warned.warnings[:MAX_SHOWN],
        "warned": len(warned.warnings) + warned.more_warnings,
        "placeholders": checked.placeholders[:MAX_SHOWN],
        "to_fill_in": len(checked.placeholders),
        "next": groupby(to_come[:MAX_SHOWN], key=lambda happening: happening.moment),
        "upcoming": len(to_come),
        "since": compare.compared(visit, visit.workspace.against, MAX_SHOWN),
        "most": MAX_SHOWN,
    }
    return Page("overview.html", "Overview", values)
