"""What editors write about a store of the retailer (interface 4.11, W3)."""

from collections.abc import Iterator, Mapping

from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import EACH, Grouping, Kind, Rule
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.window_rules import unknown_zone
from shopwindow.problems import Level, Pointer
from shopwindow.retail.places.states import lies_in
from shopwindow.retail.storefront import STORE_NUMBERS, WEEKDAYS


def time_zone(case: Case, store: Document) -> Iterator[Finding]:
    """The store's time zone exists."""
    name = case.at(store, ("timeZone",))
    if name is not None and case.sound(store, ("timeZone",)):
        finding = unknown_zone(("timeZone",), name)
        if finding:
            yield finding


def opening_hours(case: Case, store: Document) -> Iterator[Finding]:
    """Every day closes after it opens, and no date has two exceptions."""
    for day, hours in case.entries(store, ("hours",)):
        yield from _in_order(("hours", day), hours)

    dates: set[str] = set()
    for index, _ in enumerate(case.at(store, ("exceptions",)) or ()):
        exception = dict(case.entries(store, ("exceptions", index)))
        yield from _in_order(("exceptions", index), exception)
        date = exception.get("date")
        if date is None:
            continue
        if date in dates:
            found = f"the day {date} a second time"
            yield Finding(
                "unique", ("exceptions", index, "date"), found, "each day once"
            )
        dates.add(date)


def _in_order(pointer: Pointer, hours: Mapping[str, str]) -> Iterator[Finding]:
    """Times are HH:MM, so text compares as time does."""
    if {"open", "close"} <= hours.keys() and hours["open"] >= hours["close"]:
        found = f"close {hours['close']} is not after open {hours['open']}"
        yield Finding(
            "time.order", (*pointer, "close"), found, "a later time of the same day"
        )


def outside_their_states(case: Case) -> RuleFindings:
    """Warn of a store whose coordinates lie outside its state.

    A search by distance would not find it. Most often the sign of the longitude is
    missing: all states but parts of Alaska and Guam lie west of Greenwich.
    """
    for store in case.having(STORE.name, ("location",), ("address",)):
        state, location = store.value["address"]["state"], store.value["location"]
        latitude, longitude = location["latitude"], location["longitude"]
        if lies_in(state, latitude, longitude):
            continue
        is_mirrored = lies_in(state, latitude, -longitude)
        yield (
            store,
            Finding(
                "store.state",
                ("location", "longitude") if is_mirrored else ("location",),
                f"the place {latitude}, {longitude} lies outside {state}",
                "the coordinates of the store, in degrees north and east; or the state in which it is",
                nearest=str(-longitude) if is_mirrored else "",
            ),
        )


STORE_GROUPS = Grouping(
    "store_groups",
    (
        ("state", ("address", "state")),
        ("city", ("address", "city")),
        ("divisionId", ("divisionId",)),
        ("timeZone", ("timeZone",)),
        ("features", ("features", EACH)),
        *((number, (number,)) for number in STORE_NUMBERS),
    ),
)
"""Groups of stores in site.yaml: by where stores are and what they offer, or by their
numbers.
"""

STORE = Kind(
    name="store",
    folder="stores",
    schema="store.json",
    ids=STORE_NUMBERS,
    title=("name",),
    zone="timeZone",
    clocks=(
        *(("hours", day, end) for day in WEEKDAYS for end in ("open", "close")),
        *(("exceptions", EACH, end) for end in ("open", "close")),
    ),
    groups=STORE_GROUPS,
    rules=(
        Rule(("time.zone",), time_zone),
        Rule(("time.order", "unique"), opening_hours),
    ),
)

RULES = (Rule(("store.state",), outside_their_states, Level.WARNING),)
