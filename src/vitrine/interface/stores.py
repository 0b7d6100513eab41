"""Store look-up (interface 4.11, wire shapes §3)."""

from collections.abc import Iterable, Iterator
from datetime import date

from vitrine.content.model import WEEKDAYS, Content
from vitrine.content.yaml import Json
from vitrine.interface.call import Call
from vitrine.interface.kinds import Ids
from vitrine.interface.operation import FromContent, Operation, Parameter


def stores_by_location(content: Content, call: Call) -> Json:
    """The stores with the given location numbers."""
    return _answer(content, filter(None, (content.store("locationNumber", value) for value in call["locationNumber"])))


def stores(content: Content, call: Call) -> Json:
    """All stores, by location number."""
    return _answer(content, content.stores())


def _answer(content: Content, found: Iterable[Json]) -> Json:
    """`{stores: {store: […]}}`; none found: without `store` (wire shapes §3)."""
    rendered = [_store(content, store) for store in found]
    return {"stores": {"store": rendered} if rendered else {}}


def _store(content: Content, store: Json) -> Json:
    features = list(store.get("features", ()))
    if content.events(store["locationNumber"]):
        features.append("HAS_EVENTS")
    attributes = dict(store.get("attributes", ()))
    attributes.setdefault("TIMEZONE", [store["timeZone"]])
    return {
        "name": store["name"],
        "locationNumber": store["locationNumber"],
        "storeNumber": store["storeNumber"],
        "storeId": store["storeId"],
        "phoneNumber": store["phoneNumber"],
        "mapUrl": store["mapUrl"],
        "address": store["address"],
        "location": store["location"],
        "features": {"feature": features} if features else {},
        "attributes": {"attribute": [{"name": name, "values": values} for name, values in attributes.items()]},
        "schedule": {"workingHours": list(_hours(store, content.days()))},
    }


def _hours(store: Json, days: Iterable[date]) -> Iterator[Json]:
    """Each day with its opening hours; a day on which the store is closed has none."""
    exceptions = {exception["date"]: exception for exception in store.get("exceptions", ())}
    for day in days:
        name = day.isoformat()
        hours = exceptions.get(name) or store["hours"].get(WEEKDAYS[day.weekday()], {})
        if "open" in hours:
            yield {"date": name, "storeopenhour": hours["open"], "storeclosehour": hours["close"]}
        else:
            yield {"date": name}


OPERATIONS = (
    Operation(
        "stores_by_location",
        "store/v2/stores/{locationNumber}",
        FromContent(
            stores_by_location,
            lambda content: ({"locationNumber": (store["locationNumber"],)} for store in content.stores()),
        ),
        "stores",
        "Stores by location number.",
        (Parameter("locationNumber", Ids(), "Location numbers, comma-separated."),),
    ),
    Operation(
        "stores",
        "store/v2/stores",
        FromContent(stores, lambda content: ({},)),
        "stores",
        "Stores; without a place, all of them.",
    ),
)
