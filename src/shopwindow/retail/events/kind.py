"""What editors write about a store event (interface 2.4, 2.5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.schedule import BEGINNING, END, local_time, zone
from shopwindow.content.kinds import EACH, Kind, Reference, Rule, Selection
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.problems import Level
from shopwindow.retail.storefront import STORE_NUMBERS, WEEKDAYS


def times(case: Case, event: Document) -> Iterator[Finding]:
    """The start and the finish exist, and the finish comes after the start.

    Both are `YYYY-MM-DD HH:MM`, so text compares as time does.
    """
    sound = [name for name in ("start", "finish") if case.sound(event, (name,))]
    exist = True
    for name in sound:
        text = event.value[name]
        try:
            datetime.fromisoformat(text)
        except ValueError:
            exist = False
            yield Finding(
                "time.exists",
                (name,),
                f"{text!r} does not exist in the calendar",
                "a day that exists",
            )
    if len(sound) < 2 or not exist:
        return

    start, finish = event.value["start"], event.value["finish"]
    if start >= finish:
        yield Finding(
            "time.order",
            ("finish",),
            f"finish {finish} is not after start {start}",
            "a later time",
        )


BEGINS, ENDS = "starts", "ends"
"""The labels of an event's dates."""


def dates(event: Mapping[str, Any], zone: ZoneInfo) -> Iterator[tuple[str, datetime]]:
    """Yield when an event begins and ends, as (label, instant), for the calendar."""
    yield BEGINS, local_time(event["start"], zone)
    yield ENDS, local_time(event["finish"], zone)


def at_their_stores(case: Case) -> RuleFindings:
    """Warn of an event that goes live when it is over at all its stores, and of one on
    days on which all of them are closed.
    """
    open_days: dict[tuple[str, int], _OpenDays] = {}
    for store in case.having("store"):
        days_of_store = _OpenDays.of(case, store)
        for number in STORE_NUMBERS:
            if case.sound(store, (number,)):
                open_days[number, store.value[number]] = days_of_store

    for event in case.having(EVENT.name, ("stores",), ("start",), ("finish",)):
        numbers = event.value["stores"]
        if not isinstance(numbers, dict) or "group" in numbers:
            continue  # a group that is not resolved is a problem already
        try:
            present = [
                open_days[number, value]
                for number, values in numbers.items()
                for value in values
            ]
        except KeyError:
            continue  # and so is a reference that leads nowhere
        if "publish" in event.value:
            yield from _too_late(case, event, [one.store for one in present])
        start, finish = event.value["start"], event.value["finish"]
        days = _days(start[:10], finish[:10], finish.endswith("00:00"))
        if days and not any(one.any_of(days) for one in present):
            yield event, _closed(days)


def _too_late(case: Case, event: Document, stores: Iterable[Document]) -> RuleFindings:
    window = case.window(event)
    if window is None or window.start == BEGINNING:
        return
    finish = _finish(event.value["finish"], stores)
    if finish is not None and finish <= window.start:
        since = event.value["publish"]["from"]
        found = (
            f"the event is live from {since} on, and ends on {event.value['finish']}"
        )
        allowed = "a time before the event's finish"
        yield event, Finding("event.late", ("publish", "from"), found, allowed)


def _finish(finish: str, stores: Iterable[Document]) -> datetime | None:
    """Return when an event is over at the last of its stores; None where nobody can say."""
    try:
        zones = {zone(str(store.value.get("timeZone"))) for store in stores}
        return max((local_time(finish, where) for where in zones), default=None)
    except ValueError:  # a problem already: the zone or the time does not exist
        return None


def _closed(days: Sequence[date]) -> Finding:
    """The hours of a day do not matter: breakfasts before the doors open, and evenings
    behind closed ones, are events, too.
    """
    first, last = days[0], days[-1]
    weekday = WEEKDAYS[first.weekday()].capitalize()
    when = f"on {weekday}, {first}" if first == last else f"from {first} to {last}"
    return Finding(
        "event.closed",
        ("start",),
        f"no store of the event is open {when}",
        "a day on which one is, by its hours and exceptions",
    )


@lru_cache(maxsize=1000)  # the events of a season share their days
def _days(start: str, finish: str, ends_at_midnight: bool) -> Sequence[date]:
    """Return the days of an event; none where they do not exist, or are more than a
    week: some store is open then.
    """
    try:
        first, last = date.fromisoformat(start), date.fromisoformat(finish)
    except ValueError:
        return ()
    length = (last - first).days + (not ends_at_midnight)
    if not 0 < length <= len(WEEKDAYS):
        return ()
    return tuple(first + timedelta(days=day) for day in range(length))


@dataclass(frozen=True)
class _OpenDays:
    """On which days ``store`` is open: by weekday, and by date where there is an
    exception. ``window`` is the first and the last day on which the store is live, in
    UTC: before and after, it is closed.
    """

    store: Document
    weekdays: frozenset[int]
    exceptions: Mapping[str, bool]
    window: tuple[date, date]

    @staticmethod
    def of(case: Case, store: Document) -> "_OpenDays":
        """Return the open days of a store; all days where its hours cannot be read."""
        parts = (("hours",), ("exceptions",), ("publish",), ("timeZone",))
        window = case.window(store)
        if window is None or not all(case.sound(store, part) for part in parts):
            return _OpenDays(store, frozenset(range(7)), {}, (date.min, date.max))
        open_on = [WEEKDAYS.index(name) for name in store.value["hours"]]
        exceptions = {
            exception["date"]: "open" in exception
            for exception in store.value.get("exceptions", ())
        }
        first = window.start.date() if window.start != BEGINNING else date.min
        last = window.end.date() if window.end != END else date.max
        return _OpenDays(store, frozenset(open_on), exceptions, (first, last))

    def any_of(self, days: Sequence[date]) -> bool:
        """Return whether the store is open on one of some days."""
        first, last = self.window
        for day in days:
            by_weekday = day.weekday() in self.weekdays
            is_open = self.exceptions.get(day.isoformat(), by_weekday)
            if is_open and first <= day <= last:
                return True
        return False


EVENT = Kind(
    name="event",
    folder="events",
    schema="event.json",
    ids=("id",),
    title=("name",),
    references=tuple(
        Reference(("stores", number, EACH), "store", number) for number in STORE_NUMBERS
    ),
    dates=dates,
    clocks=(("start",), ("finish",)),
    selections=(Selection(("stores",), "store"),),
    rules=(Rule(("time.exists", "time.order"), times),),
)

RULES = (Rule(("event.closed", "event.late"), at_their_stores, Level.WARNING),)
"""What is probably a mistake in an event, by the stores that it names."""
