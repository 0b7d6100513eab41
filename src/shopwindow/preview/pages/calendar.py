"""All that goes live, ends, starts and expires: a month, and a list."""

import calendar as months
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from shopwindow.content.documents.schedule import first_instant
from shopwindow.content.lookup.calendar import Calendar, Happening, calendar
from shopwindow.preview.visit import Page, Visit

LISTED_A_DAY = 3
"""Titles of a day that the month shows; the list below has all that happens."""

FIRST_YEAR, LAST_YEAR = 1900, 2900
"""Years that the month may be in: those around it exist, too."""


@dataclass(frozen=True)
class MonthDay:
    """A day of the month's table: ``count`` things happen, to documents with so many
    titles, of which some are shown.
    """

    date: date
    inside: bool
    is_today: bool
    shown: tuple[str, ...]
    titles: int
    count: int


def page(visit: Visit) -> Page:
    """Return the calendar of a month. Parameter: ``month`` as 2026-11; default: the
    chosen instant's.
    """
    documents = visit.snapshot.documents
    if documents is None:
        return Page("calendar.html", "Calendar", {"listed": None})
    first = _month(visit.query.get("month", ""), visit.moment.astimezone(visit.zone))
    following = _next(first)
    start, end = (first_instant(day, visit.zone) for day in (first, following))
    listed = calendar(documents, visit.snapshot.interface.kinds, start, end)
    values: dict[str, Any] = {
        "listed": listed,
        "weeks": _weeks(visit, listed, first),
        "by_day": _by_day(visit, listed.happenings),
        "month": f"{first:%B %Y}",
        "previous": f"{first - timedelta(days=1):%Y-%m}",
        "next": f"{following:%Y-%m}",
    }
    return Page("calendar.html", f"Calendar, {first:%B %Y}", values)


def _month(text: str, now: datetime) -> date:
    """Return the first day of the month that a text names, else of the month that it is
    now.
    """
    try:
        first = date.fromisoformat(f"{text}-01")
    except ValueError:
        return now.date().replace(day=1)
    return first if FIRST_YEAR <= first.year <= LAST_YEAR else now.date().replace(day=1)


def _next(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def _by_day(visit: Visit, happenings: Any) -> dict[date, list[Happening]]:
    days: dict[date, list[Happening]] = defaultdict(list)
    for happening in happenings:
        days[happening.moment.astimezone(visit.zone).date()].append(happening)
    return dict(days)


def _weeks(visit: Visit, listed: Calendar, first: date) -> list[list[MonthDay]]:
    """Return the weeks of a month, each from Sunday to Saturday, as calendars in the US
    have.
    """
    by_day = _by_day(visit, listed.happenings)
    today = visit.moment.astimezone(visit.zone).date()
    weeks = months.Calendar(months.SUNDAY).monthdatescalendar(first.year, first.month)

    def month_day(day: date) -> MonthDay:
        happenings = by_day.get(day, [])
        titles = tuple(dict.fromkeys(each.title for each in happenings))
        shown = titles[:LISTED_A_DAY]
        is_inside, is_today = day.month == first.month, day == today
        return MonthDay(day, is_inside, is_today, shown, len(titles), len(happenings))

    return [list(map(month_day, week)) for week in weeks]
