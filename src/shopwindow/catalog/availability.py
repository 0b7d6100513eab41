"""Pick-up in store: what stores near a place have of products or UPCs (interface 4.9, wire
shapes §2).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from shopwindow.catalog.answers import nothing, of
from shopwindow.catalog.parameters import ZipCode
from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Count, Ids, Number, Text
from shopwindow.interface.operation import (
    CALLBACK,
    AnyOf,
    FromContent,
    Operation,
    Parameter,
    Together,
)
from shopwindow.problems import Fault, Refusal
from shopwindow.retail import storefront
from shopwindow.retail.articles import Status, products_of_upcs, upcs
from shopwindow.retail.places import distance as geo
from shopwindow.retail.places import search as places
from shopwindow.retail.places.distance import Point
from shopwindow.retail.storefront import attributes, hours

MAX_DISTANCE, MAX_STORES = 200.0, 15
PICK_UP = "BOPS"
"""The feature of a store where online orders are picked up."""

Near = tuple[float, Json]
"""A store after its distance in miles."""

Sold = tuple[Json, Json]
"""A product, and one of its UPCs."""

# -- which UPCs --------------------------------------------------------------------------------


def by_product(content: Content, call: Call) -> Json:
    """Of every UPC of some products. Raises Refusal where no product is known."""
    found = of(content).products(call["productId"])
    if not found:
        raise nothing("no product has such an id", "productId")
    return _answer(
        content,
        call,
        [(found[id], upc) for id in sorted(found) for upc in found[id].get("upcs", ())],
    )


def by_upc(content: Content, call: Call) -> Json:
    """Of some UPCs, by the number of the bar code or the bags' upcId. Raises Refusal where none
    is known.
    """
    numbers: Sequence[int] = call["upcId"]
    owners = products_of_upcs(content, numbers, or_skus=True)
    products = of(content).products(sorted(set(owners.values())))
    texts = upcs(numbers)
    sold: list[Sold] = []
    for number, id in owners.items():
        entries = [(products[id], upc) for upc in products[id].get("upcs", ())]
        named = [pair for pair in entries if texts.get(pair[1]["upc"]) == number]
        sold += named or [pair for pair in entries if pair[1]["sku"] == number]
    if not sold:
        raise nothing("no UPC has a number that was asked for", "upcId")
    return _answer(content, call, sold)


def _answer(content: Content, call: Call, sold: Sequence[Sold]) -> Json:
    """`{upcs, stores}`: UPCs by number, stores nearest first, alike in both lists."""
    near = _stores(content, call)
    by_number = {int(upc["upc"]): (product, upc) for product, upc in sold}
    ordered = [by_number[number] for number in sorted(by_number)]
    has = of(content).availability(
        [upc["upc"] for _, upc in ordered], [store["locationNumber"] for _, store in near]
    )
    told = {}
    if ordered:
        told["upcs"] = [_upc(each, near, has) for each in ordered]
    if near:
        days = content.derived_whole(storefront.days)
        told["stores"] = [_store(store, round(distance, 2), days) for distance, store in near]
    return told


def _upc(sold: Sold, near: Iterable[Near], has: Mapping[tuple[str, int], Status]) -> Json:
    product, upc = sold
    told = [_availability(product, upc, store, has) for _, store in near]
    return {"upcNumber": int(upc["upc"]), **({"upcAvailability": told} if told else {})}


def _availability(
    product: Json, upc: Json, store: Json, has: Mapping[tuple[str, int], Status]
) -> Json:
    """What cannot be picked up there is not available for pick-up, whatever the store has of
    it.
    """
    in_store = has.get((upc["upc"], store["locationNumber"]), "UNAVAILABLE")
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


# -- which stores ------------------------------------------------------------------------------


def _stores(content: Content, call: Call) -> list[Near]:
    """The nearest stores; the one that `locationNumber` names comes first, however far it is.
    Raises Refusal.
    """
    first = _named(content, call["locationNumber"])
    point = _place(content, call)
    if point is None and first is not None:
        point = places.point_of(first)
    if point is None:  # one selector is required: the rules have seen to that
        return []
    near = storefront.near(content, *point, call["distance"])
    if first is not None:
        others = [each for each in near if each[1] is not first]
        near = [(geo.miles(*point, *places.point_of(first)), first), *others]
    return near[: call["numberOfStores"]]


def _named(content: Content, number: int | None) -> Json | None:
    if number is None:
        return None
    store = content.document("store", "locationNumber", number)
    if store is None:
        raise nothing(f"no store has the number {number}", "locationNumber")
    return store


def _place(content: Content, call: Call) -> Point | None:
    """The place that is meant: of several the first that is given. Raises Refusal where nobody
    knows it.
    """
    given = dict(call.arguments)
    for names, find in _SELECTORS:
        if names[0] in given:
            point = find(content, *(given[name] for name in names))
            if point is None:
                where = ", ".join(str(given[name]) for name in names)
                raise Refusal(
                    "invalid",
                    (Fault(names[0], f"no place is known by {where[:80]!r}; {_HINT}"),),
                )
            return point
    return None


_HINT = "give another, or latitude and longitude"


def _by_text(content: Content, *parts: str) -> Point | None:
    return places.find(", ".join(parts), content)


_SELECTORS: tuple[tuple[tuple[str, ...], Callable[..., Point | None]], ...] = (
    (("latitude", "longitude"), lambda content, latitude, longitude: (latitude, longitude)),
    (("zipCode",), _by_text),
    (("city", "state"), _by_text),
)


def _store(store: Json, distance: float, days: Iterable[tuple[str, str]]) -> Json:
    address = store["address"]
    return {
        "locationNumber": store["locationNumber"],
        "name": store["name"],
        "address": {name: address[name] for name in ("line1", "city", "state", "zipCode")},
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


# -- what they are asked -----------------------------------------------------------------------


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
        "longitude", Number(-180, 180), "Degrees east; with latitude.", example="-73.9889"
    ),
    Parameter("zipCode", ZipCode(), "Zip code; before city and state.", example="10018"),
    Parameter("city", Text(), "City; with state.", example="New York"),
    Parameter(
        "state", Text(), "State, by its name or its two letters; with city.", example="NY"
    ),
    Parameter(
        "distance", Number(1, MAX_DISTANCE), "Miles from the place.", default=MAX_DISTANCE
    ),
    Parameter(
        "numberOfStores", Count(MAX_STORES), "At most so many stores.", default=MAX_STORES
    ),
    CALLBACK,
)
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
            Parameter("productId", Ids(), "Product ids, comma-separated.", example="520100"),
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
                Ids(),
                "UPC numbers or upcIds, comma-separated.",
                example="474396002526",
            ),
            *_WHERE,
        ),
        _RULES,
    ),
)
