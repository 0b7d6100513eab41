"""Pick-up in store: what stores near a place have of products or UPCs.

Both operations choose UPCs, then stores, and return a list of each (`_answer`). Every
UPC names the status at every store, in the order of the list of stores (interface 4.9,
W2.11).
"""

from collections.abc import Iterable, Mapping, Sequence

from shopwindow.catalog.operations.answers import PICK_UP, nothing, of
from shopwindow.catalog.operations.parameters import IdsSelected, IdsWithMask, ZipCode
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Count, Number, Text
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    AnyOf,
    Call,
    FromContent,
    Operation,
    Parameter,
    Together,
)
from shopwindow.retail import storefront
from shopwindow.retail.articles import Status, products_of_upcs, upcs
from shopwindow.retail.places import distance as geo
from shopwindow.retail.places.search import place_of, point_of
from shopwindow.retail.storefront import attributes, hours

MAX_DISTANCE, MAX_STORES = 200.0, 15
"""Miles from the place, and stores of one response: the defaults, and the most
(interface 8).
"""

Near = tuple[float, Json]
"""A store after its distance in miles."""

Sold = tuple[Json, Json]
"""A product, and one of its UPCs."""

# -- which UPCs ------------------------------------------------------------------------


def by_product(content: Content, call: Call) -> Json:
    """Return the availability of every UPC of some products.

    Raises Refusal if none of the products exists.
    """
    selection: IdsWithMask = call["productId"]
    products = of(content).products(selection.ids)
    if not products:
        raise nothing("productId", "no product has such an id")
    sold = [
        (products[id], upc)
        for id in sorted(products)
        for upc in products[id].get("upcs", ())
    ]
    return _answer(content, call, sold, selection)


def by_upc(content: Content, call: Call) -> Json:
    """Return the availability of some UPCs, by the number of the bar code or the bags'
    upcId.

    Raises Refusal if none of them exists.
    """
    selection: IdsWithMask = call["upcId"]
    numbers = selection.ids
    owners = products_of_upcs(content, numbers, or_skus=True)
    products = of(content).products(sorted(set(owners.values())))
    texts = upcs(numbers)
    sold: list[Sold] = []
    for number, id in owners.items():
        entries = [(products[id], upc) for upc in products[id].get("upcs", ())]
        of_bar_code = [pair for pair in entries if texts.get(pair[1]["upc"]) == number]
        sold += of_bar_code or [pair for pair in entries if pair[1]["sku"] == number]
    if not sold:
        raise nothing("upcId", "no UPC has a number that was asked for")
    return _answer(content, call, sold, selection)


SELECTABLE_STOCK = ("upcs", "stores")
"""The words that a selector may have outermost."""

STORE_DATA = "storedata"
"""The word within `upcs` that stands for what the stores have of a UPC."""


def _answer(
    content: Content, call: Call, sold: Sequence[Sold], selection: IdsWithMask
) -> Json:
    """Return `{upcs, stores}`, or one of them: UPCs by number, stores nearest first in
    both lists.

    A selector names what is wanted, `(upcs)` or `(stores)`. Of names within them only
    `storedata` has a meaning: without it, `(upcs(upcdetails))` has the numbers of UPCs and
    not what the stores have of them.
    """
    wanted = dict(selection.mask or ((word, None) for word in SELECTABLE_STOCK))
    near = _stores(content, call)
    by_number = {int(upc["upc"]): (product, upc) for product, upc in sold}
    ordered = [by_number[number] for number in sorted(by_number)]
    statuses = of(content).availability(
        [upc["upc"] for _, upc in ordered],
        [store["locationNumber"] for _, store in near],
    )
    rendered = {}
    if ordered and "upcs" in wanted:
        mask = wanted["upcs"]
        with_stores = mask is None or STORE_DATA in dict(mask)
        shown_at = near if with_stores else ()
        rendered["upcs"] = [
            _upc(product, upc, shown_at, statuses) for product, upc in ordered
        ]
    if near and "stores" in wanted:
        days = content.derived_whole(storefront.days)
        rendered["stores"] = [
            _store(store, round(distance, 2), days) for distance, store in near
        ]
    return rendered


def _upc(
    product: Json,
    upc: Json,
    near: Iterable[Near],
    statuses: Mapping[tuple[str, int], Status],
) -> Json:
    at_stores = [_availability(product, upc, store, statuses) for _, store in near]
    number = int(upc["upc"])
    return {
        "upcNumber": number,
        **({"upcAvailability": at_stores} if at_stores else {}),
    }


def _availability(
    product: Json, upc: Json, store: Json, statuses: Mapping[tuple[str, int], Status]
) -> Json:
    """Return what a store has of a UPC, and whether it can be picked up there.

    A UPC that is not eligible for pick-up is unavailable for it, whatever the store
    has.
    """
    in_store = statuses.get((upc["upc"], store["locationNumber"]), "UNAVAILABLE")
    active = (
        product.get("active", True)
        and upc.get("active", True)
        and product.get("storeEligible", True)
    )
    eligible = active and PICK_UP in store.get("features", ())
    return {
        "locationNumber": store["locationNumber"],
        "bopsEligibilityStatus": "ELIGIBLE" if eligible else "INELIGIBLE",
        "bopsAvailabilityStatus": in_store if eligible else "UNAVAILABLE",
        "storeAvailabilityStatus": in_store,
    }


# -- which stores ----------------------------------------------------------------------


def _stores(content: Content, call: Call) -> list[Near]:
    """Return the nearest stores. The one that `locationNumber` names comes first,
    however far.

    Raises Refusal for a store or place that does not exist.
    """
    first = _store_by_number(content, call["locationNumber"])
    point = place_of(
        content,
        call,
        (("zipCode",), ("city", "state")),
        "another, or latitude and longitude",
    )
    if point is None and first is not None:
        point = point_of(first)
    if point is None:  # cannot be: the operation's rules require a selector
        return []
    near = storefront.near(content, *point, call["distance"])
    if first is not None:
        others = [(distance, store) for distance, store in near if store is not first]
        near = [(geo.miles(*point, *point_of(first)), first), *others]
    return near[: call["numberOfStores"]]


def _store_by_number(content: Content, number: int | None) -> Json | None:
    if number is None:
        return None
    store = content.document("store", "locationNumber", number)
    if store is None:
        raise nothing("locationNumber", f"no store has the number {number}")
    return store


def _store(store: Json, distance: float, days: Iterable[tuple[str, str]]) -> Json:
    address = store["address"]
    return {
        "locationNumber": store["locationNumber"],
        "name": store["name"],
        "address": {
            name: address[name] for name in ("line1", "city", "state", "zipCode")
        },
        "phone": store["phoneNumber"],
        "distance": distance,
        "units": "mi",
        "location": store["location"],
        "storeworkinghours": hours(store, days, "storeoperationdate"),
        "attributes": [
            {"attributeName": name, "attributeValue": value}
            for name, values in attributes(store).items()
            for value in values
        ],
    }


# -- operations ------------------------------------------------------------------------


_WHERE = (
    Parameter(
        "locationNumber",
        Count(),
        "A store, which comes first; without a place also where to look.",
        example="10118",
    ),
    Parameter(
        "latitude",
        Number(-90, 90),
        "Degrees north; with longitude, before all other places.",
        example="40.7536",
    ),
    Parameter(
        "longitude",
        Number(-180, 180),
        "Degrees east; with latitude.",
        example="-73.9889",
    ),
    Parameter(
        "zipCode", ZipCode(), "Zip code; before city and state.", example="10018"
    ),
    Parameter("city", Text(), "City; with state.", example="New York"),
    Parameter(
        "state",
        Text(),
        "State, by its name or its two letters; with city.",
        example="NY",
    ),
    Parameter(
        "distance",
        Number(1, MAX_DISTANCE),
        "Miles from the place.",
        default=MAX_DISTANCE,
    ),
    Parameter(
        "numberOfStores",
        Count(MAX_STORES),
        "At most so many stores.",
        default=MAX_STORES,
    ),
    CALLBACK,
)
_STOCK_SELECTOR = "comma-separated; then perhaps in parentheses what to tell: (stores), (upcs), or both."
_RULES = (
    AnyOf(("locationNumber", "latitude", "longitude", "zipCode", "city", "state")),
    Together(("latitude", "longitude")),
    Together(("city", "state")),
)

OPERATIONS = (
    Operation(
        "bops_by_product",
        "v4/catalog/bops/product/{productId}",
        FromContent(by_product),
        "bops",
        "What stores near a place have of some products.",
        (
            Parameter(
                "productId",
                IdsSelected(SELECTABLE_STOCK),
                f"Product ids, {_STOCK_SELECTOR}",
                example="520100",
            ),
            *_WHERE,
        ),
        _RULES,
    ),
    Operation(
        "bops_by_upc",
        "v4/catalog/bops/upc/{upcId}",
        FromContent(by_upc),
        "bops",
        "What stores near a place have of some UPCs.",
        (
            Parameter(
                "upcId",
                IdsSelected(SELECTABLE_STOCK),
                f"UPC numbers or upcIds, {_STOCK_SELECTOR}",
                example="474396002526",
            ),
            *_WHERE,
        ),
        _RULES,
    ),
)
