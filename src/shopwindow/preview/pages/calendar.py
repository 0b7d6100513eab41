"""All that goes live, ends, starts and expires: a month, and a list."""

import calendar as months
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from shopwindow.content.documents.schedule import first_instant
from shopwindow.content.lookup.calendar import Happening, calendar
from shopwindow.preview.pages.documents import has_words
from shopwindow.preview.pages.offers import (
    OFFER_STATES,
    store_numbers,
    takes_place_at,
)
from shopwindow.preview.visit import Page, Visit

LISTED_A_DAY = 3
"""Titles of a day that the month shows; the list below has all that happens."""

FILTERS = ("q", "kind", "state", "store")
"""Parameters of the query that narrow the calendar."""

FIRST_YEAR, LAST_YEAR = 1900, 2900
"""Years that the month may be in: those around it exist, too."""


@dataclass(frozen=True)
class MonthDay:
    """A day of the month's table: ``count`` things happen, to documents with these
    titles, of which some are ``shown``.
    """

    date: date
    inside: bool
    is_today: bool
    titles: tuple[str, ...]
    count: int

    @property
    def shown(self) -> tuple[str, ...]:
        return self.titles[:LISTED_A_DAY]


def page(visit: Visit) -> Page:
    """Return the calendar of a month. Parameters: ``month`` as 2026-11, by default the
    chosen instant's; ``on``, the day whose list is shown; and what narrows it: ``kind``,
    ``state``, any of a ``store``'s numbers, and words, ``q``.
    """
    today = visit.now.astimezone(visit.zone).date()
    first = _month(visit.query.get("month", ""), visit.day, today)
    following = next_month(first)
    start, end = (first_instant(day, visit.zone) for day in (first, following))
    kinds = visit.interface.kinds
    listed = calendar(visit.documents, kinds, start, end, looks_beyond=False)
    happenings = list(filter(_wanted(visit), listed.happenings))
    by_day = _by_day(visit, happenings)
    chosen = _chosen(visit, by_day)
    values: dict[str, Any] = {
        "listed": listed,
        "weeks": _weeks(visit, by_day, first),
        # a file is asked for no other day
        "by_day": by_day if visit.is_static else {chosen: by_day.get(chosen, [])},
        "count": len(happenings),
        "kinds": sorted({each.kind for each in listed.happenings}),
        "states": OFFER_STATES,
        "filters": {name: visit.query.get(name, "") for name in FILTERS},
        "month": f"{first:%B %Y}",
        "previous": f"{first - timedelta(days=1):%Y-%m}",
        "next": f"{following:%Y-%m}",
    }
    return Page("calendar.html", f"Calendar, {first:%B %Y}", values)


def _wanted(visit: Visit) -> Callable[[Happening], bool]:
    """Return whether the filters of the page admit something that happens."""
    words = visit.words
    kind, state, store = (visit.query.get(name, "") for name in FILTERS[1:])
    numbers = store_numbers(visit, store)
    by_id = visit.snapshot.by_id

    def wanted(happening: Happening) -> bool:
        title = f"{happening.title} {happening.id}"
        if kind not in ("", happening.kind) or not has_words(words, title):
            return False
        if not (state or store):
            return True
        document = by_id.get((happening.kind, happening.id))
        if document is None:
            return False
        is_there = takes_place_at(document.value, numbers)
        return is_there and state in ("", visit.stay(document.value).state)

    return wanted


def _chosen(visit: Visit, by_day: Mapping[date, Any]) -> date:
    """Return the day whose list is shown: the one that the query names, else the chosen
    instant's, else the first on which something happens.
    """
    try:
        return date.fromisoformat(visit.query.get("on", ""))
    except ValueError:
        return visit.day if visit.day in by_day else min(by_day, default=visit.day)


def _month(text: str, chosen: date, today: date) -> date:
    """Return the first day of the month that a text names, else of the chosen day's; of
    today's where that lies too far away.
    """
    try:
        first = date.fromisoformat(f"{text}-01")
    except ValueError:
        first = chosen
    within = first if FIRST_YEAR <= first.year <= LAST_YEAR else today
    return within.replace(day=1)


def next_month(first: date) -> date:
    """Return the first day of the month after the one with this first day."""
    return (first + timedelta(days=31)).replace(day=1)


def _by_day(
    visit: Visit, happenings: Iterable[Happening]
) -> dict[date, list[Happening]]:
    days: dict[date, list[Happening]] = defaultdict(list)
    for happening in happenings:
        days[happening.moment.astimezone(visit.zone).date()].append(happening)
    return days


def _weeks(
    visit: Visit, by_day: Mapping[date, list[Happening]], first: date
) -> list[list[MonthDay]]:
    """Return the weeks of a month, each from Sunday to Saturday, as calendars in the US
    have.
    """
    weeks = months.Calendar(months.SUNDAY).monthdatescalendar(first.year, first.month)

    def month_day(day: date) -> MonthDay:
        happenings = by_day.get(day, [])
        titles = tuple(dict.fromkeys(each.title for each in happenings))
        is_inside, is_today = day.month == first.month, day == visit.day
        return MonthDay(day, is_inside, is_today, titles, len(happenings))

    return [list(map(month_day, week)) for week in weeks]
