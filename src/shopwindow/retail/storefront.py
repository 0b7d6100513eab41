"""What several families answer about a store: its numbers, events, hours, attributes and
distance. Pure.

It stands below the families, because stores show whether there are events, events name their
stores, and the pick-up of products shows the stores that are near (wire-shapes 2 and 3).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from shopwindow.content.documents import Content
from shopwindow.content.schedule import Clock, first_instant
from shopwindow.content.yaml import Json
from shopwindow.retail.places.distance import Grid

STORE_NUMBERS = ("storeId", "storeNumber", "locationNumber")
"""The numbers of a store, each of which may name it (interface 4.4, 4.11)."""

DAYS_SHOWN = 21
"""Days of opening hours, from the Monday of the build's week (wire-shapes 3)."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


# -- the week of the opening hours -------------------------------------------------------------


def _monday(zone: ZoneInfo, moment: datetime) -> date:
    today = moment.astimezone(zone).date()
    return today - timedelta(days=today.weekday())


def _week(zone: ZoneInfo, moment: datetime) -> str:
    return _monday(zone, moment).isoformat()


def _next_week(zone: ZoneInfo, moment: datetime) -> datetime:
    return first_instant(_monday(zone, moment) + timedelta(days=7), zone)


WEEK = Clock("week", _week, _next_week, title="opening hours from", formerly="monday")
"""The Monday from which opening hours are shown; the next Monday is a boundary, like a publish
window's end.
"""


def days(content: Content) -> Sequence[tuple[str, str]]:
    """Return the days whose opening hours are shown, as (YYYY-MM-DD, name of the weekday)."""
    monday = date.fromisoformat(content.clock(WEEK.name))
    shown = (monday + timedelta(days=number) for number in range(DAYS_SHOWN))
    return [(day.isoformat(), WEEKDAYS[day.weekday()]) for day in shown]


def hours(store: Json, days: Iterable[tuple[str, str]], key: str) -> list[Json]:
    """Return each day, under ``key``, with the store's opening hours; a day on which it is
    closed has none.
    """
    exceptions = {exception["date"]: exception for exception in store.get("exceptions", ())}
    schedule = []
    for day, weekday in days:
        open_hours = exceptions.get(day) or store["hours"].get(weekday, {})
        entry = {key: day}
        if "open" in open_hours:
            entry |= {
                "storeopenhour": open_hours["open"],
                "storeclosehour": open_hours["close"],
            }
        schedule.append(entry)
    return schedule


def attributes(store: Json) -> Mapping[str, list[str]]:
    """Return a store's attributes as editors wrote them, with its time zone last unless they
    wrote one.
    """
    written: dict[str, list[str]] = dict(store.get("attributes", ()))
    written.setdefault("TIMEZONE", [store["timeZone"]])
    return written


# -- which events are at which store -----------------------------------------------------------


def events_by_store(content: Content) -> Mapping[int, Sequence[Json]]:
    """Return the live events by the location numbers of their live stores, ordered by start and
    id.
    """
    location_of = {
        number: {store[number]: store["locationNumber"] for store in content.documents("store")}
        for number in STORE_NUMBERS
    }
    table: dict[int, list[Json]] = {}
    for event in sorted(
        content.documents("event"), key=lambda event: (event["start"], event["id"])
    ):
        locations = {  # a set, since an event may name one store by two of its numbers
            location_of[number].get(value)
            for number, values in event["stores"].items()
            for value in values
        }
        for location in locations:
            if location is not None:
                table.setdefault(location, []).append(event)
    return table


# -- which stores are near ---------------------------------------------------------------------


def grid_of_stores(content: Content) -> Grid:
    """Return all live stores by where they are."""
    return Grid(
        (
            store["location"]["latitude"],
            store["location"]["longitude"],
            store["locationNumber"],
            store,
        )
        for store in content.documents("store")
    )


def near(
    content: Content, latitude: float, longitude: float, radius: float
) -> list[tuple[float, Json]]:
    """Return the live stores within ``radius`` miles of a point in degrees, each after its
    distance in miles.

    The nearest comes first, equals by location number; distances have two decimals.
    """
    return content.derived_whole(grid_of_stores).near(latitude, longitude, radius)
