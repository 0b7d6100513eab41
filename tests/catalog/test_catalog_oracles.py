"""Recommendations, pick-up, pages and details of the catalog against brute force over the documents."""

from math import acos, cos, radians, sin
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.catalogs import SETTINGS, indexed
from harness.content import app, as_content, examples, site, store
from harness.program import Content
from interface.test_oracles import asked

Json = Any
MONDAY = "2026-11-23"
SLOW = settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))


def content(stores: list[Json] | None = None) -> Content:
    found = sorted(stores or [], key=lambda each: each["locationNumber"])
    given = {"monday": MONDAY, "site": site(catalog=SETTINGS), "apps": [app("phone")]}
    return as_content({**given, "stores": found, "events": [], "promotions": []})


def cataloged(live: Content, folder: str, **documents: Json) -> Content:
    """The same with a catalog of some documents alone."""
    kinds: dict[str, Json] = dict.fromkeys(
        ("categories", "brands", "products", "inventory", "reviews", "recommendations"), ()
    )
    return live.with_indexes({"catalog": indexed(live, Path(folder), **kinds | documents)})


# -- recommendations and pages -----------------------------------------------------------------------------------

CATEGORIES = [
    {"id": 1, "name": "A", "url": "https://a", "categories": [{"id": 2, "name": "B", "url": "https://b"}]},
    {"id": 3, "name": "C", "url": "https://c"},
]
BELOW = {1: {1, 2}, 2: {2}, 3: {3}}


@st.composite
def products(draw: st.DrawFn) -> list[Json]:
    """Some products of few categories and brands; some best sellers, some not active."""
    found = []
    for id in range(1, draw(st.integers(1, 14)) + 1):
        product = {
            "id": id,
            "name": f"P{id}",
            "description": "-",
            "typeName": "T",
            "brand": draw(st.sampled_from(["X", "Y"])),
            "categories": draw(st.permutations([1, 2, 3]))[: draw(st.integers(1, 2))],
            "images": {"primary": "p.jpg"},
            "price": {"regular": draw(st.integers(0, 200))},
            "active": draw(st.sampled_from([True, True, True, False])),
        }
        if draw(st.booleans()):
            product["bestSeller"] = draw(st.integers(1, 5))
        found.append(product)
    return found


def listed(found: list[Json], category: int) -> list[Json]:
    """The active products of a category and what is below it: the best sellers first, then by id."""
    inside = [each for each in found if each["active"] and BELOW[category] & set(each["categories"])]
    return sorted(inside, key=lambda each: (each.get("bestSeller", 99), each["id"]))


@SLOW
@given(products(), st.data())
def test_recommended_are_the_given_ones_then_those_of_category_and_brand(
    found: list[Json], data: st.DataObject
) -> None:
    ids = [each["id"] for each in found]
    chosen = data.draw(st.lists(st.sampled_from(ids), unique=True))
    asked_of = data.draw(st.sampled_from(found))
    most = data.draw(st.integers(1, 12))
    with TemporaryDirectory() as folder:
        given = [{"product": asked_of["id"], "products": chosen}] if chosen else []
        live = cataloged(content(), folder, categories=CATEGORIES, products=found, recommendations=given)
        path = f"v4/recommendations/product/{asked_of['id']}"
        told = asked(live, path, maxprods=str(most)).get("recommendedproducts", [])
    active = {each["id"] for each in found if each["active"]}
    alike = [each["id"] for each in listed(found, asked_of["categories"][0]) if each["brand"] == asked_of["brand"]]
    expected = [id for id in dict.fromkeys([*chosen, *alike]) if id in active and id != asked_of["id"]]
    assert [each["productid"] for each in told] == expected[:most]


@SLOW
@given(products(), st.integers(1, 5), st.sampled_from([None, "price", "name", "newarrival"]))
def test_paging_visits_each_product_once(found: list[Json], perpage: int, sort: str | None) -> None:
    with TemporaryDirectory() as folder:
        live = cataloged(content(), folder, categories=CATEGORIES, products=found)
        for category in (1, 2, 3):
            seen: list[int] = []
            path = f"v3/catalog/category/{category}/browseproducts"
            for page in range(1, 17):
                value = asked(live, path, currentpage=str(page), resultsperpage=str(perpage), sortby=sort)
                told = value["category"][0]
                assert told["totalproducts"] == len(listed(found, category))
                products = told.get("product", {}).get("product", [])
                assert len(products) == max(0, min(perpage, told["totalproducts"] - len(seen)))
                seen += [each["id"] for each in products]
            expected = [each["id"] for each in listed(found, category)]
            assert (sorted(seen), seen if sort is None else expected) == (sorted(expected), expected)
        ids = [each["id"] for each in asked(live, "v3/catalog/product/index").get("product", [])]
    assert ids == [each["id"] for each in found if each["active"]]


# -- pick-up in store --------------------------------------------------------------------------------------------

UPCS = ["036000291452", "012345678905", "96385074"]


def miles(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The spherical law of cosines, where the program has haversines."""
    (latitude, longitude), (north, east) = (tuple(map(radians, each)) for each in (one, other))
    cosine = sin(latitude) * sin(north) + cos(latitude) * cos(north) * cos(longitude - east)
    return 3958.7613 * acos(max(-1.0, min(1.0, cosine)))


near = st.tuples(st.integers(400, 440), st.integers(-760, -700)).map(lambda each: (each[0] / 10, each[1] / 10))


@SLOW
@given(
    st.lists(near, min_size=1, max_size=20),
    near,
    st.integers(1, 200),
    st.integers(1, 15),
    st.lists(st.dictionaries(st.integers(2000, 2019), st.integers(0, 6)), min_size=3, max_size=3),
    st.none() | st.integers(0, 19),
)
def test_pick_up_finds_the_nearest_stores_and_what_they_have(
    points: list[tuple[float, float]],
    place: tuple[float, float],
    distance: int,
    most: int,
    stock: list[dict[int, int]],
    first: int | None,
) -> None:
    stores = [
        store(number, location={"latitude": north, "longitude": east}, features=["BOPS"] if number % 3 else [])
        for number, (north, east) in enumerate(points)
    ]
    for number, each in enumerate(stores):
        each |= {"storeId": number + 1, "storeNumber": 1000 + number, "locationNumber": 2000 + number}
    upcs = [{"upc": upc, "sku": number} for number, upc in enumerate(UPCS, 1)]
    product = {
        "id": 1,
        "name": "P",
        "description": "-",
        "typeName": "T",
        "brand": "X",
        "categories": [1],
        "images": {"primary": "p.jpg"},
        "price": {"regular": 1},
        "upcs": upcs,
    }
    inventory = [
        {"upc": upc, "stores": {str(location): quantity for location, quantity in has.items()}}
        for upc, has in zip(UPCS, stock, strict=True)
    ]
    named = None if first is None or first >= len(points) else 2000 + first
    with TemporaryDirectory() as folder:
        live = cataloged(content(stores), folder, categories=CATEGORIES, products=[product], inventory=inventory)
        value = asked(
            live,
            "v4/catalog/bops/product/1",
            latitude=str(place[0]),
            longitude=str(place[1]),
            distance=str(distance),
            numberOfStores=str(most),
            locationNumber=None if named is None else str(named),
        )
    away = {2000 + number: miles(place, point) for number, point in enumerate(points)}
    inside = sorted((number for number in away if away[number] <= distance), key=lambda each: (away[each], each))
    if named is not None:
        inside = [named, *(number for number in inside if number != named)]
    told = value.get("stores", [])
    numbers = [each["locationNumber"] for each in told]
    expected_miles = [away[number] for number in inside[:most]]  # of equal distances either may come first
    assert (len(numbers), len(set(numbers))) == (len(expected_miles), len(told))
    assert all(abs(away[number] - owed) < 1e-6 for number, owed in zip(numbers, expected_miles, strict=True))
    assert all(abs(each["distance"] - away[each["locationNumber"]]) < 0.02 for each in told)
    assert named is None or numbers[0] == named
    words = {0: "UNAVAILABLE", 1: "LIMITED", 2: "LIMITED", 3: "LIMITED"}
    expected = {
        int(upc): [(number, words.get(has.get(number, 0), "AVAILABLE")) for number in numbers]
        for upc, has in zip(UPCS, stock, strict=True)
    }
    assert {
        each["upcNumber"]: [
            (there["locationNumber"], there["storeAvailabilityStatus"]) for there in each.get("upcAvailability", [])
        ]
        for each in value["upcs"]
    } == expected
    assert all(
        (there["bopsEligibilityStatus"] == "ELIGIBLE") == bool((there["locationNumber"] - 2000) % 3)
        for each in value["upcs"]
        for there in each.get("upcAvailability", [])
    )


def sold(id: int, *upcs: str, **more: Json) -> Json:
    """A product of some UPCs."""
    return {
        "id": id,
        "name": "P",
        "description": "-",
        "typeName": "T",
        "brand": "X",
        "categories": [1],
        "images": {"primary": "p.jpg"},
        "price": {"regular": 1},
        "upcs": [{"upc": upc, "sku": int(upc) % 1000} for upc in upcs],
        **more,
    }


def shop(number: int, north: float, *features: str) -> Json:
    """A store that is so many degrees north of a place."""
    there = {"latitude": 42 + north, "longitude": -71.0}
    return {**store(number, location=there, features=list(features)), "storeNumber": number, "locationNumber": number}


def test_upcs_are_in_the_order_of_their_numbers_and_stores_nearest_first_then_by_number(tmp_path: Path) -> None:
    stores = [shop(number, north, "BOPS") for number, north in ((2001, 0.5), (2003, 0), (2002, 0), (2004, 0.5))]
    products = [sold(1, *UPCS[:2]), sold(2, *UPCS[2:])]
    live = cataloged(content(stores), str(tmp_path), categories=CATEGORIES, products=products)
    by_number = sorted(map(int, UPCS))
    assert by_number != list(map(int, UPCS))
    expected = (by_number, [[2002, 2003, 2001, 2004]] * 3, [2002, 2003, 2001, 2004])
    for path in ("product/2,1", "product/1,2", f"upc/{','.join(UPCS)}", f"upc/{','.join(reversed(UPCS))}"):
        value = asked(live, f"v4/catalog/bops/{path}", latitude="42", longitude="-71")
        assert (
            [upc["upcNumber"] for upc in value["upcs"]],
            [[there["locationNumber"] for there in upc["upcAvailability"]] for upc in value["upcs"]],
            [near["locationNumber"] for near in value["stores"]],
        ) == expected, path


def test_what_cannot_be_picked_up_is_unavailable_for_it_whatever_the_store_has(tmp_path: Path) -> None:
    stores = [shop(2001, 0, "BOPS"), shop(2002, 0.5)]
    products = [sold(1, UPCS[0]), sold(2, UPCS[1], storeEligible=False)]
    inventory = [{"upc": upc, "stores": {"2001": 9, "2002": 9}} for upc in UPCS[:2]]
    live = cataloged(content(stores), str(tmp_path), categories=CATEGORIES, products=products, inventory=inventory)
    value = asked(live, "v4/catalog/bops/product/1,2", latitude="42", longitude="-71")
    no = ("INELIGIBLE", "UNAVAILABLE", "AVAILABLE")
    told = {
        (upc["upcNumber"], there.pop("locationNumber")): tuple(there.values())
        for upc in value["upcs"]
        for there in upc["upcAvailability"]
    }
    first, second = map(int, UPCS[:2])
    yes = ("ELIGIBLE", "AVAILABLE", "AVAILABLE")
    assert told == {(first, 2001): yes, (first, 2002): no, (second, 2001): no, (second, 2002): no}
