"""The search for stores: by number, or near a place (interface 4.11, W3).

How this works. Both operations select stores, filter them by features, and render them
(`_answer`). Up to the rendering a store is a pair of its distance and its document,
because distances are known only to a search near a place. With `upcNumber` or
`productId` each store also says what it has of those articles.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Count, Ids, Number, Radius, Text, Words
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    FIELDS,
    Call,
    FromContent,
    Operation,
    Parameter,
    Together,
)
from shopwindow.retail.articles import (
    CATALOG_INDEX,
    Status,
    articles_of,
    products_of_upcs,
    upcs,
)
from shopwindow.retail.places.search import place_of
from shopwindow.retail.storefront import attributes, days, events_by_store, hours, near

MAX_RADIUS = 200.0
"""Miles: the largest radius of a search, and the one that counts without a radius
(interface 4.11).
"""

STORE_FEATURES = (
    "BOPS",
    "BRIDAL",
    "HAS_EVENTS",
    "MATTRESS",
    "FURNITURE_GALLERY",
    "VISITOR_CENTER",
    "PERSONAL_SHOPPER",
    "RESTAURANT",
)
"""What a client may filter by (interface 4.11). Editors do not write HAS_EVENTS: it
follows from the live events.
"""

StoreAway = tuple[float | None, Json]
"""A store's distance in miles, None where the search names no place, and the store."""


def stores_by_location(content: Content, call: Call) -> Json:
    """Return the stores with the path's location numbers, in the order of the path.

    A number without a store is left out.
    """
    stores_away = (
        (None, store)
        for number in call["locationNumber"]
        if (store := content.document("store", "locationNumber", number))
    )
    return _answer(content, call, _with_features(content, stores_away, call["feature"]))


def stores(content: Content, call: Call) -> Json:
    """Return all stores by location number, or those near a place, the nearest first.

    Store numbers and features filter these; the limit counts what is left.
    """
    place = place_of(
        content,
        call,
        (("searchAddress",),),
        "a zip code, a city and its state, or a full address",
    )
    if place is None:
        stores_away: Iterable[StoreAway] = (
            (None, store) for store in content.documents("store")
        )
    else:
        stores_away = near(content, *place, call["radius"])

    numbers = call["storeNumber"]
    if numbers is not None:
        stores_away = [
            (distance, store)
            for distance, store in stores_away
            if store["storeNumber"] in numbers
        ]
    matching = _with_features(content, stores_away, call["feature"])
    return _answer(content, call, islice(matching, call["_limit"]))


# -- features --------------------------------------------------------------------------


def _with_features(
    content: Content, stores_away: Iterable[StoreAway], wanted: tuple[str, ...] | None
) -> Iterable[StoreAway]:
    """Return the stores with all wanted features; all stores where none is wanted."""
    if not wanted:
        return stores_away
    return (
        (distance, store)
        for distance, store in stores_away
        if set(wanted) <= set(_features(content, store))
    )


def _features(content: Content, store: Json) -> list[str]:
    """Return a store's features as editors wrote them, and HAS_EVENTS if it has live
    events.
    """
    has_events = store["locationNumber"] in content.derived(events_by_store)
    return [*store.get("features", ()), *(["HAS_EVENTS"] if has_events else ())]


# -- the response ----------------------------------------------------------------------


def _answer(content: Content, call: Call, stores_away: Iterable[StoreAway]) -> Json:
    """Return the value of the response (interface W3).

    It is `{stores: {store: […]}}`, or `{stores: {}}` without any store.
    """
    listed = list(stores_away)
    if not listed:
        return {"stores": {}}
    rendered = [_store(content, store, distance) for distance, store in listed]
    if upcs_shown := _upcs_shown(content, call):
        locations = [store["locationNumber"] for store in rendered]
        stock = articles_of(content).availability(upcs_shown, locations)
        for store in rendered:
            inventory = _inventory(store["locationNumber"], upcs_shown, stock)
            store["inventories"] = {"inventory": inventory}
    return {"stores": {"store": rendered}}


def _upcs_shown(content: Content, call: Call) -> list[str]:
    """Return the UPCs whose availability the client wants, in the order of numbers.

    It is the UPC that the call names, or else all UPCs of the product that it names.
    What the catalog does not have is left out; without a catalog there are none.
    """
    number, product_id = call["upcNumber"], call["productId"]
    if content.index(CATALOG_INDEX) is None or (number is None and product_id is None):
        return []
    texts = None
    if number is not None:
        product_id = products_of_upcs(content, (number,)).get(number)
        texts = upcs((number,))
    product = None if product_id is None else articles_of(content).product(product_id)
    if product is None:
        return []
    of_product = [entry["upc"] for entry in product.get("upcs", ())]
    return sorted((upc for upc in of_product if texts is None or upc in texts), key=int)


def _inventory(
    location: int, upcs_shown: Sequence[str], stock: Mapping[tuple[str, int], Status]
) -> list[Json]:
    """Return what a location has: an entry for each UPC, in their order.

    A location about which the catalog says nothing counts as UNAVAILABLE.
    """
    return [
        {
            "storeInventory": {
                "upcNumber": int(upc),
                "storeAvailability": stock.get((upc, location), "UNAVAILABLE"),
            }
        }
        for upc in upcs_shown
    ]


def _store(content: Content, store: Json, distance: float | None) -> Json:
    """Return a store as the response shows it, without its inventory."""
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
                {"name": name, "values": values}
                for name, values in attributes(store).items()
            ]
        },
        "schedule": {"workingHours": hours(store, content.derived_whole(days), "date")},
    }


# -- operations ------------------------------------------------------------------------

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
                "locationNumber",
                Ids(),
                "Location numbers, comma-separated.",
                example="10118",
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
                "storeNumber",
                Ids(),
                "Store numbers (MST), comma-separated.",
                example="4001",
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
                alternative=True,
            ),
            Parameter(
                "longitude",
                Number(-180, 180),
                "Degrees east; with latitude.",
                example="-73.9889",
                alternative=True,
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
