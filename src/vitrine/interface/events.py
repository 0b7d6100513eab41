"""Store events, in both versions, from one source (interface 2.4, 2.5, 4.4, 4.5)."""

from collections.abc import Callable, Iterable

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface.call import Call
from vitrine.interface.kinds import Day, Ids, TextualDay
from vitrine.interface.operation import (
    CALLBACK,
    FIELDS,
    AnyOf,
    Arguments,
    FromContent,
    Operation,
    Ordered,
    Parameter,
)

Version = Callable[[Json, Json], Json]
"""An event and its store, as one version of the interface shows them."""

BY_APPOINTMENT = "By Appointment"


def events_v1(content: Content, call: Call) -> Json:
    """Version 1: `{events: {event: […]}}`."""
    return {"events": {"event": _found(content, call, _version_1)}}


def events_v2(content: Content, call: Call) -> Json:
    """Version 2: `{storeEvents: […], success}`."""
    return {"storeEvents": _found(content, call, _version_2), "success": True}


def _found(content: Content, call: Call, version: Version) -> Json:
    """Events by start, id and location number. Several selectors intersect.

    Of a range of days, both ends included, an event counts that overlaps it; days are compared as they are written.
    """
    if len(call.arguments) == 1 and len(call.arguments[0][1]) == 1:  # what apps ask: one part in place of ten
        ((name, (value,)),) = call.arguments
        store = content.store(name, value)
        return content.part(_all, version, store) if store else []
    (name, values), *others = [given for given in call.arguments if given[0] in STORE_NUMBERS]
    stores = [store for value in values if (store := content.store(name, value))]
    for name, values in others:
        stores = [store for store in stores if store[name] in values]
    arguments = dict(call.arguments)
    first = arguments.get("startDate") or arguments.get("eventFrom")  # each version has its own names
    last = arguments.get("finishDate") or arguments.get("eventTo")
    pairs = [
        (event, store)
        for store in stores
        for event in content.events(store["locationNumber"])
        if (first is None or event["finish"][:10] >= first) and (last is None or event["start"][:10] <= last)
    ]
    if len(stores) > 1:
        pairs.sort(key=lambda pair: (pair[0]["start"], pair[0]["id"], pair[1]["locationNumber"]))
    return [content.part(_one, version, *pair) for pair in pairs]


def _all(content: Content, version: Version, store: Json) -> Json:
    return [version(event, store) for event in content.events(store["locationNumber"])]


def _one(content: Content, version: Version, event: Json, store: Json) -> Json:
    return version(event, store)


def _version_1(event: Json, store: Json) -> Json:
    return {
        "id": event["id"],
        "name": event["name"],
        "locationNumber": store["locationNumber"],
        "attributes": {"attribute": [{"name": name} for name in _attributes(event)]},
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
        "attributes": [{"name": name, "values": values} for name, values in _attributes(event).items()],
    }


def _attributes(event: Json) -> dict[str, list[str]]:
    """The attributes as written, then those that come from the event's own fields unless they were written."""
    attributes: dict[str, list[str]] = dict(event.get("attributes", ()))
    start = attributes.get("START_TIME") or [_clock(event["start"])]
    attributes.setdefault("SHORT_DESC", [event["shortDesc"]])
    attributes.setdefault("START_TIME", start)
    if start != [BY_APPOINTMENT]:  # then the finish says nothing that a customer should read
        attributes.setdefault("END_TIME", [_clock(event["finish"])])
    return attributes


def _date_time(text: str) -> str:
    """`2026-12-05 17:00` → `12/05/2026 05:00 PM` (interface 2.5)."""
    hour = int(text[11:13])
    return f"{text[5:7]}/{text[8:10]}/{text[:4]} {hour % 12 or 12:02}{text[13:16]} {'PM' if hour >= 12 else 'AM'}"


def _clock(text: str) -> str:
    """`2026-12-05 17:00` → `5PM`, `… 17:30` → `5:30PM`."""
    hour, minute = int(text[11:13]), text[14:16]
    return f"{hour % 12 or 12}{'' if minute == '00' else ':' + minute}{'PM' if hour >= 12 else 'AM'}"


STORE_NUMBERS = ("storeId", "storeNumber", "locationNumber")
_STORE_ID = Parameter("storeId", Ids(), "Store identifiers, comma-separated.")
_STORE_NUMBER = Parameter("storeNumber", Ids(), "Store numbers (MST), comma-separated.")
_LOCATION_NUMBER = Parameter("locationNumber", Ids(), "Store location numbers, comma-separated.")


def _of_each_store(view: Callable[[Content, Call], Json], *numbers: str) -> FromContent:
    """Every store, asked for by each of its numbers."""

    def entries(content: Content) -> Iterable[Arguments]:
        return ({number: (store[number],)} for store in content.stores() for number in numbers)

    return FromContent(view, entries, spellings=len(numbers))


OPERATIONS = (
    Operation(
        "events_v1",
        "store/v1/events",
        _of_each_store(events_v1, "storeId", "storeNumber", "locationNumber"),
        "events_v1",
        "In-store events of one or more stores.",
        (
            _STORE_ID,
            _STORE_NUMBER,
            _LOCATION_NUMBER,
            Parameter("startDate", Day(), "First day of the range, as YYYY-MM-DD."),
            Parameter("finishDate", Day(), "Last day of the range, as YYYY-MM-DD."),
            FIELDS,
            CALLBACK,
        ),
        (AnyOf(("storeId", "storeNumber", "locationNumber")), Ordered("startDate", "finishDate")),
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
            Parameter("eventFrom", TextualDay(), "First day of the range, such as Jun 21, 2013."),
            Parameter("eventTo", TextualDay(), "Last day of the range, such as Jun 21, 2013."),
            CALLBACK,
        ),
        (AnyOf(("storeId", "storeNumber")), Ordered("eventFrom", "eventTo")),
    ),
)
