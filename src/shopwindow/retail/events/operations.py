"""Store events, in both versions of the interface, from one source (interface 2.4,
2.5).

Both versions select alike (`_selected`) and differ in the names of parameters and
properties. An event at several stores is listed once for each of them (interface 4.4,
4.5).
"""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Day, Ids, TextualDay
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    FIELDS,
    AnyOf,
    Arguments,
    Call,
    FromContent,
    Operation,
    Ordered,
    Parameter,
)
from shopwindow.retail.storefront import STORE_NUMBERS, events_by_store

BY_APPOINTMENT = "By Appointment"
"""What editors write as an event's START_TIME where there is no time to be there."""


def events_v1(content: Content, call: Call) -> Json:
    """Return version 1: `{events: {event: […]}}`."""
    events = [_version_1(event, store) for event, store in _selected(content, call)]
    return {"events": {"event": events}}


def events_v2(content: Content, call: Call) -> Json:
    """Return version 2: `{storeEvents: […], success}`."""
    events = [_version_2(event, store) for event, store in _selected(content, call)]
    return {"storeEvents": events, "success": True}


def _selected(content: Content, call: Call) -> list[tuple[Json, Json]]:
    """Return (event, store) pairs of a Call, by start, id and location number.

    An event counts if it overlaps the range of days; both ends are included. Days are
    compared as editors wrote them, which is in the zone of the store.
    """
    arguments = dict(call.arguments)
    first = arguments.get("startDate") or arguments.get("eventFrom")  # version 1 or 2
    last = arguments.get("finishDate") or arguments.get("eventTo")
    events = content.derived(events_by_store)
    pairs = [
        (event, store)
        for store in _stores(content, arguments)
        for event in events.get(store["locationNumber"], ())
        if (first is None or event["finish"][:10] >= first)
        and (last is None or event["start"][:10] <= last)
    ]
    return sorted(
        pairs,
        key=lambda pair: (pair[0]["start"], pair[0]["id"], pair[1]["locationNumber"]),
    )


def _stores(content: Content, arguments: Arguments) -> list[Json]:
    """Return the stores that every selector names: several selectors intersect.

    There is at least one, by the rules of both operations.
    """
    selectors = [(name, arguments[name]) for name in STORE_NUMBERS if name in arguments]
    (name, numbers), *others = selectors
    stores = [content.document("store", name, number) for number in numbers]
    return [
        store
        for store in stores
        if store is not None
        and all(store[other] in allowed for other, allowed in others)
    ]


def _version_1(event: Json, store: Json) -> Json:
    return {
        "id": event["id"],
        "name": event["name"],
        "locationNumber": store["locationNumber"],
        "attributes": {"attribute": _attribute_names(tuple(_attributes(event)))},
        "link": event.get("links", []),
    }


def _version_2(event: Json, store: Json) -> Json:
    return {
        "eventId": event["id"],
        "storeId": store["storeId"],
        "storeNumber": store["storeNumber"],
        "name": event["name"],
        "shortDesc": event["shortDesc"],
        "startDate": _date_time(event["start"]),
        "finishDate": _date_time(event["finish"]),
        "attributes": [
            {"name": name, "values": values}
            for name, values in _attributes(event).items()
        ],
    }


def _attributes(event: Json) -> dict[str, list[str]]:
    """Return the attributes as editors wrote them, and after them those they left to
    the event.

    These are SHORT_DESC, START_TIME and END_TIME. An event by appointment has no
    END_TIME: its finish is not a time that a customer should read.
    """
    attributes: dict[str, list[str]] = dict(event.get("attributes", ()))
    attributes.setdefault("SHORT_DESC", [event["shortDesc"]])
    start = attributes.setdefault("START_TIME", [_time_of_day(event["start"][11:])])
    if start != [BY_APPOINTMENT]:
        attributes.setdefault("END_TIME", [_time_of_day(event["finish"][11:])])
    return attributes


@lru_cache(maxsize=256)
def _attribute_names(names: tuple[str, ...]) -> list[Json]:
    """Return names as version 1 writes them. Most events have the same few names."""
    return [{"name": name} for name in names]


def _date_time(text: str) -> str:
    """`2026-12-05 17:00` → `12/05/2026 05:00 PM` (interface 2.5)."""
    year, month, day = text[:4], text[5:7], text[8:10]
    hour, minute, half = _twelve_hours(text[11:])
    return f"{month}/{day}/{year} {hour:02}:{minute} {half}"


def _time_of_day(time: str) -> str:
    """`17:00` → `5PM`, `17:30` → `5:30PM`."""
    hour, minute, half = _twelve_hours(time)
    return f"{hour}{half}" if minute == "00" else f"{hour}:{minute}{half}"


@cache
def _twelve_hours(time: str) -> tuple[int, str, str]:
    """`17:30` → 5, `30`, `PM`; computed once for each minute of a day."""
    hour = int(time[:2])
    return hour % 12 or 12, time[3:5], "PM" if hour >= 12 else "AM"


_STORE_ID = Parameter(
    "storeId", Ids(), "Store identifiers, comma-separated.", example="101"
)
_STORE_NUMBER = Parameter(
    "storeNumber", Ids(), "Store numbers (MST), comma-separated.", example="4001"
)
_LOCATION_NUMBER = Parameter(
    "locationNumber", Ids(), "Store location numbers, comma-separated.", example="10118"
)


def _of_each_store(view: Callable[[Content, Call], Json], *numbers: str) -> FromContent:
    """Pre-render a view for every store, once by each of ``numbers``."""

    def entries(content: Content) -> Iterable[Arguments]:
        return (
            {number: (store[number],)}
            for store in content.documents("store")
            for number in numbers
        )

    return FromContent(view, entries, spellings=len(numbers))


OPERATIONS = (
    Operation(
        "events_v1",
        "store/v1/events",
        _of_each_store(events_v1, *STORE_NUMBERS),
        "events_v1",
        "In-store events of one or more stores.",
        (
            _STORE_ID,
            _STORE_NUMBER,
            _LOCATION_NUMBER,
            Parameter(
                "startDate",
                Day(),
                "First day of the range, as YYYY-MM-DD.",
                example="2026-11-01",
            ),
            Parameter(
                "finishDate",
                Day(),
                "Last day of the range, as YYYY-MM-DD.",
                example="2027-01-31",
            ),
            FIELDS,
            CALLBACK,
        ),
        (
            AnyOf(STORE_NUMBERS),
            Ordered("startDate", "finishDate"),
        ),
        ("events", "event"),
    ),
    Operation(
        "events_v2",
        "v2/store/event",
        _of_each_store(events_v2, "storeId", "storeNumber"),
        "events_v2",
        "In-store events of one or more stores, version 2.",
        (
            _STORE_ID,
            _STORE_NUMBER,
            Parameter(
                "eventFrom",
                TextualDay(),
                "First day of the range, such as Jun 21, 2013.",
                example="Nov 1, 2026",
            ),
            Parameter(
                "eventTo",
                TextualDay(),
                "Last day of the range, such as Jun 21, 2013.",
                example="Jan 31, 2027",
            ),
            CALLBACK,
        ),
        (AnyOf(("storeId", "storeNumber")), Ordered("eventFrom", "eventTo")),
    ),
)
