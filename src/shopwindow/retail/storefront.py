"""What several families show of a store: its numbers, events, hours, attributes and
distance.

This module stands below the families because each of them needs a part of it. Stores
say whether they have events, events name their stores, and the pick-up of products
lists the stores near a place (interface W2.11, W3). All functions are pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from shopwindow.content.documents.documents import Content
from shopwindow.content.documents.schedule import Clock, first_instant
from shopwindow.content.reading.yaml import Json
from shopwindow.retail.places.distance import Grid

STORE_NUMBERS = ("storeId", "storeNumber", "locationNumber")
"""The three numbers of a store. A client may use any of them (interface 4.4, 4.11)."""

DAYS_SHOWN = 21
"""Days of opening hours, from the Monday of the build's week on (interface W3)."""

WEEKDAYS = (
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
)


# -- the week of the opening hours -----------------------------------------------------


def _monday(zone: ZoneInfo, moment: datetime) -> date:
    today = moment.astimezone(zone).date()
    return today - timedelta(days=today.weekday())


def _week(zone: ZoneInfo, moment: datetime) -> str:
    return _monday(zone, moment).isoformat()


def _next_week(zone: ZoneInfo, moment: datetime) -> datetime:
    return first_instant(_monday(zone, moment) + timedelta(days=7), zone)


WEEK = Clock("week", _week, _next_week, title="opening hours from")
"""The Monday from which opening hours are shown. The next Monday is a boundary, like
the end of a publish window: content that was built before it must be built again.
"""


def days(content: Content) -> Sequence[tuple[str, str]]:
    """Return the days whose opening hours are shown, as (YYYY-MM-DD, name of the
    weekday).

    Views read it as a derived table, so that it is computed once a release.
    """
    monday = date.fromisoformat(content.clock(WEEK.name))
    shown = (monday + timedelta(days=number) for number in range(DAYS_SHOWN))
    return [(day.isoformat(), WEEKDAYS[day.weekday()]) for day in shown]


def hours(store: Json, days: Iterable[tuple[str, str]], key: str) -> list[Json]:
    """Return an entry for each day, with opening hours unless the store is closed on
    that day.

    An exception for a date replaces the hours of its weekday (interface W3).

    Args:
        store: the store's document.
        days: as `days` returns them.
        key: the property that holds the date; operations differ in its name.
    """
    exceptions = {
        exception["date"]: exception for exception in store.get("exceptions", ())
    }
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
    """Return a store's attributes as editors wrote them, and its time zone if they left
    it out.
    """
    written: dict[str, list[str]] = dict(store.get("attributes", ()))
    written.setdefault("TIMEZONE", [store["timeZone"]])
    return written


# -- which events are at which store ---------------------------------------------------


def events_by_store(content: Content) -> Mapping[int, Sequence[Json]]:
    """Return the live events by location number of their live stores, each list by
    start and id.
    """
    location_of = {
        number: {
            store[number]: store["locationNumber"]
            for store in content.documents("store")
        }
        for number in STORE_NUMBERS
    }
    events = sorted(
        content.documents("event"), key=lambda event: (event["start"], event["id"])
    )

    by_location: dict[int, list[Json]] = {}
    for event in events:
        locations = {  # a set, since an event may name one store by two of its numbers
            location_of[number].get(value)
            for number, values in event["stores"].items()
            for value in values
        }
        for location in locations:
            if location is not None:  # None: the store is not live
                by_location.setdefault(location, []).append(event)
    return by_location


# -- which stores are near -------------------------------------------------------------


def grid_of_stores(content: Content) -> Grid:
    """Return all live stores by where they are. `near` searches it."""
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
    """Return the live stores near a point, each as (miles, store).

    The nearest comes first; equal distances are ordered by location number.

    Args:
        latitude: of the point, in degrees north.
        longitude: of the point, in degrees east.
        radius: in miles. Distances have two decimals.
    """
    return content.derived_whole(grid_of_stores).near(latitude, longitude, radius)
