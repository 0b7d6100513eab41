"""Store look-up (interface 4.11, wire shapes §3)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Count, Ids, Number, Radius, Text, Words
from shopwindow.interface.operation import (
    CALLBACK,
    FIELDS,
    FromContent,
    Operation,
    Parameter,
    Together,
)
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.articles import INDEX, articles_of, products_of_upcs, upcs
from shopwindow.retail.places import search as places
from shopwindow.retail.places.distance import Point
from shopwindow.retail.storefront import attributes, days, events_by_store, hours, near

MAX_RADIUS = 200.0
STORE_FEATURES: tuple[str, ...] = (
    "BOPS",
    "BRIDAL",
    "HAS_EVENTS",
    "MATTRESS",
    "FURNITURE_GALLERY",
    "VISITOR_CENTER",
    "PERSONAL_SHOPPER",
)
STORE_FEATURES += ("RESTAURANT",)
StoreAway = tuple[float | None, Json]
"""A store after its distance in miles, where a place was given."""


def stores_by_location(content: Content, call: Call) -> Json:
    """The stores with the given location numbers."""
    numbers = call["locationNumber"]
    found = (
        (None, store)
        for number in numbers
        if (store := content.document("store", "locationNumber", number))
    )
    return _answer(content, call, _with_features(content, found, call["feature"]))


def stores(content: Content, call: Call) -> Json:
    """All stores by location number, or those near a place, nearest first."""
    place = _place(content, call)
    if place is None:
        found: Iterable[StoreAway] = ((None, store) for store in content.documents("store"))
    else:
        found = near(content, *place, call["radius"])
    if (numbers := call["storeNumber"]) is not None:
        found = [
            (distance, store) for distance, store in found if store["storeNumber"] in numbers
        ]
    return _answer(
        content, call, islice(_with_features(content, found, call["feature"]), call["_limit"])
    )


def _place(content: Content, call: Call) -> Point | None:
    """The point that a search is about; coordinates come before a search address. Raises
    Refusal.
    """
    if call["latitude"] is not None:
        return call["latitude"], call["longitude"]
    text = call["searchAddress"]
    if text is None:
        return None
    point = places.find(text, content)
    if point is None:
        allowed = "give a zip code, a city and its state, or a full address"
        raise Refusal(
            "invalid",
            (Fault("searchAddress", f"no place is known by {text[:80]!r}; {allowed}"),),
        )
    return point


def _with_features(
    content: Content, found: Iterable[StoreAway], wanted: tuple[str, ...] | None
) -> Iterable[StoreAway]:
    """The stores that have all of the wanted features."""
    return _having(content, found, wanted) if wanted else found


def _having(
    content: Content, found: Iterable[StoreAway], wanted: tuple[str, ...]
) -> Iterator[StoreAway]:
    for distance, store in found:
        if set(wanted) <= set(_features(content, store)):
            yield distance, store


def _features(content: Content, store: Json) -> list[str]:
    """As written; HAS_EVENTS comes from the events."""
    has_events = store["locationNumber"] in content.derived(events_by_store)
    return [*store.get("features", ()), *(["HAS_EVENTS"] if has_events else ())]


def _answer(content: Content, call: Call, found: Iterable[StoreAway]) -> Json:
    """`{stores: {store: […]}}`; none found: without `store` (wire shapes §3)."""
    wanted, listed = _wanted(content, call), list(found)
    if not listed:
        return {"stores": {}}
    distances, stores = zip(*listed, strict=True)
    if wanted:
        rendered = _with_inventories(content, stores, distances, wanted)
    else:
        rendered = [_store(content, store, distance) for distance, store in listed]
    return {"stores": {"store": rendered}}


def _wanted(content: Content, call: Call) -> list[str]:
    """The UPCs whose availability is asked for: the one that is named, or else all of a
    product; none unknown.
    """
    if content.index(INDEX) is None:
        return []
    number, product = call["upcNumber"], call["productId"]
    if number is None and product is None:
        return []
    if number is not None:
        product = products_of_upcs(content, (number,)).get(number)
    texts = upcs((number,)) if number is not None else None
    document = None if product is None else articles_of(content).product(product)
    found = document.get("upcs", ()) if document else ()
    return sorted(
        (each["upc"] for each in found if texts is None or each["upc"] in texts), key=int
    )


def _with_inventories(
    content: Content,
    stores: Sequence[Json],
    distances: Sequence[float | None],
    wanted: Sequence[str],
) -> list[Json]:
    """Stores with what they have of some UPCs."""
    has = articles_of(content).availability(
        wanted, [store["locationNumber"] for store in stores]
    )
    rendered = []
    for store, distance in zip(stores, distances, strict=True):
        inventory = [
            {
                "storeInventory": {
                    "upcNumber": int(upc),
                    "storeAvailability": has.get((upc, store["locationNumber"]), "UNAVAILABLE"),
                }
            }
            for upc in wanted
        ]
        rendered.append(
            _store(content, store, distance) | {"inventories": {"inventory": inventory}}
        )
    return rendered


def _store(content: Content, store: Json, distance: float | None = None) -> Json:
    features = _features(content, store)
    return {
        "name": store["name"],
        "locationNumber": store["locationNumber"],
        "storeNumber": store["storeNumber"],
        "storeId": store["storeId"],
        "phoneNumber": store["phoneNumber"],
        "mapUrl": store["mapUrl"],
        "address": store["address"],
        "location": store["location"],
        **({} if distance is None else {"distance": distance, "units": "mi"}),
        "features": {"feature": features} if features else {},
        "attributes": {
            "attribute": [
                {"name": name, "values": values} for name, values in attributes(store).items()
            ]
        },
        "schedule": {"workingHours": hours(store, content.derived_whole(days), "date")},
    }


_FEATURE = Parameter(
    "feature",
    Words(STORE_FEATURES),
    "Only stores that have all of these features, comma-separated.",
)
_UPC = Parameter(
    "upcNumber", Count(), "What the stores have of this UPC.", example="474396002526"
)
_PRODUCT_ID = Parameter(
    "productId",
    Count(),
    "What the stores have of this product's UPCs, unless a UPC is named.",
    example="520100",
)

OPERATIONS = (
    Operation(
        "stores_by_location",
        "store/v2/stores/{locationNumber}",
        FromContent(
            stores_by_location,
            lambda content: (
                {"locationNumber": (store["locationNumber"],)}
                for store in content.documents("store")
            ),
        ),
        "stores",
        "Stores by location number.",
        (
            Parameter(
                "locationNumber", Ids(), "Location numbers, comma-separated.", example="10118"
            ),
            _FEATURE,
            FIELDS,
            _UPC,
            _PRODUCT_ID,
            CALLBACK,
        ),
        items=("stores", "store"),
    ),
    Operation(
        "stores",
        "store/v2/stores",
        FromContent(stores, lambda content: ({},)),
        "stores",
        "Stores; without a place, all of them.",
        (
            Parameter(
                "storeNumber", Ids(), "Store numbers (MST), comma-separated.", example="4001"
            ),
            Parameter(
                "searchAddress",
                Text(),
                "City and state, full address, general area or zip code.",
                example="New York, NY",
            ),
            Parameter(
                "latitude",
                Number(-90, 90),
                "Degrees north; with longitude, before searchAddress.",
                example="40.7536",
            ),
            Parameter(
                "longitude",
                Number(-180, 180),
                "Degrees east; with latitude.",
                example="-73.9889",
            ),
            Parameter(
                "radius",
                Radius(MAX_RADIUS),
                "Miles from the place, as M and a number.",
                default=MAX_RADIUS,
                example="M25",
            ),
            _FEATURE,
            Parameter(
                "_limit",
                Count(),
                "At most so many stores; without it, all within the radius.",
                example="5",
            ),
            FIELDS,
            _UPC,
            _PRODUCT_ID,
            CALLBACK,
        ),
        (Together(("latitude", "longitude")),),
        ("stores", "store"),
    ),
)
