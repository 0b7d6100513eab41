"""Bags beside a catalog: a real index says what items cost, what they are called and whether they can be sent."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import catalogs
from harness.content import Json
from harness.program import JSON, XML, Database, Schemas, Shopping, release_of_codes, shopping
from shopwindow.problems import Refusal

BAGS = "order/v1/bags"


def product(id: int, name: str, **more: Any) -> Json:
    return catalogs.product(id, name, **more)


PRODUCTS = [
    product(
        30,
        "Shirt",
        brand="Larkspur",
        price={"regular": {"low": 50, "high": 60}, "sale": {"low": 40, "high": 45.5}},
        maxQuantity=5,
        upcs=[
            {"upc": "012345678905", "sku": 7, "price": {"regular": 19.99, "sale": 12.1}},
            {"upc": "00000000000017", "sku": 8},
        ],
    ),
    product(20, "Scarf & Hat", brand="Vane & Co", price={"regular": 0.1}, upcs=[{"upc": "00000000000024", "sku": 9}]),
    product(10, "Lamp", price={"regular": 1099}, upcs=[{"upc": "00000000000031", "sku": 4}]),
]
INVENTORY = [{"upc": "00000000000031", "site": 0, "stores": {}}]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_codes(tmp_path_factory.mktemp("bags"))


def with_catalog(database: Database, out: Path, folder: Path, products: list[Json]) -> Shopping:
    """A shop with an index of these products."""
    shop = shopping(database, out)
    folder.mkdir(exist_ok=True)
    index = catalogs.index(folder, *products, inventory=INVENTORY)
    return replace(shop, content=shop.content.with_indexes({"catalog": index}))


@pytest.fixture
def shop(database: Database, out: Path, tmp_path: Path) -> Shopping:
    return with_catalog(database, out, tmp_path, PRODUCTS)


def items(*each: tuple[int, int]) -> Json:
    return {"item": [{"upcId": upc, "quantity": quantity} for upc, quantity in each]}


def test_items_have_prices_and_the_bag_has_totals_in_cents(shop: Shopping, schemas: Schemas) -> None:
    told = shop.act("POST", BAGS, items((7, 3), (9, 3), (8, 1), (4, 1))).value
    assert told["bag"]["items"] == [
        {
            "sequenceNumber": 1,
            "quantity": 3,
            "upcId": 7,
            "upcNumber": "012345678905",
            "productId": 30,
            "retailPrice": 12.1,
            "originalPrice": 19.99,
            "itemTotal": 36.3,
            "siteAvailablilityFlag": True,
        },
        {
            "sequenceNumber": 2,
            "quantity": 3,
            "upcId": 9,
            "upcNumber": "00000000000024",
            "productId": 20,
            "retailPrice": 0.1,
            "originalPrice": 0.1,
            "itemTotal": 0.3,
            "siteAvailablilityFlag": True,
        },
        {  # of a range the high end
            "sequenceNumber": 3,
            "quantity": 1,
            "upcId": 8,
            "upcNumber": "00000000000017",
            "productId": 30,
            "retailPrice": 45.5,
            "originalPrice": 60.0,
            "itemTotal": 45.5,
            "siteAvailablilityFlag": True,
        },
        {
            "sequenceNumber": 4,
            "quantity": 1,
            "upcId": 4,
            "upcNumber": "00000000000031",
            "productId": 10,
            "retailPrice": 1099.0,
            "originalPrice": 1099.0,
            "itemTotal": 1099.0,
            "siteAvailablilityFlag": False,
            "errors": [{"code": "ITEM_UNAVAILABLE"}],
        },
    ]
    assert told["bag"]["bagSummary"] == {
        "itemCount": 8,
        "merchandiseTotal": 1181.1,
        "grandTotal": 1181.1,
        "totalSaved": 38.17,
    }
    assert schemas.findings("responses/bag.json", told) == []


def test_what_a_product_is_is_told_to_who_asks(shop: Shopping, schemas: Schemas) -> None:
    told = shop.act("POST", f"{BAGS}?bagOptions=INCLUDE_PRODUCTINFO", items((7, 1), (9, 1)))
    assert [each["productInfo"] for each in told.value["bag"]["items"]] == [
        {
            "productDescription": "Shirt",
            "primaryImageName": "30.jpg",
            "brandName": "Larkspur",
            "maxQuantity": 5,
            "onSale": True,
            "productAvailable": True,
        },
        {
            "productDescription": "Scarf & Hat",
            "primaryImageName": "20.jpg",
            "brandName": "Vane & Co",
            "maxQuantity": 99,
            "onSale": False,
            "productAvailable": True,
        },
    ]
    assert schemas.findings("responses/bag.json", told.value) == []
    guid = told.value["bag"]["bagGUID"]
    tags = {
        shop.ask("GET", f"/{BAGS}?bagGuid={guid}{option}", None, {"accept": accept}).headers["etag"]
        for option in ("", "&bagOptions=INCLUDE_PRODUCTINFO")
        for accept in (JSON, XML)
    }
    assert tags == {told.etag}


def refused(shop: Shopping, *asked: Any) -> list[str]:
    with pytest.raises(Refusal) as refusal:
        shop.act(*asked)
    assert refusal.value.code == "invalid"
    return [str(fault) for fault in refusal.value.faults]


def test_an_item_that_the_catalog_does_not_know_is_an_error(shop: Shopping) -> None:
    assert refused(shop, "POST", BAGS, items((7, 1), (5, 1))) == ["item: upcId 5 is not in the catalog"]


def test_a_upc_in_place_of_a_skuid_is_refused_with_the_skuid(shop: Shopping) -> None:
    assert refused(shop, "POST", BAGS, items((12345678905, 1), (17, 1), (7, 1), (5, 1))) == [
        "item: upcId 12345678905 is a UPC; bags take its skuid, 7",
        "item: upcId 17 is a UPC; bags take its skuid, 8",
        "item: upcId 5 is not in the catalog",
    ]


def test_a_product_may_allow_fewer_than_a_bag_does(shop: Shopping) -> None:
    limit = "item: 6 pieces of upcId 7; allowed: at most 5 in a bag"
    assert refused(shop, "POST", BAGS, items((7, 6), (9, 6))) == [limit]


def test_what_a_bag_may_hold_is_told_with_the_product(database: Database, tmp_path: Path) -> None:
    few = with_catalog(
        database, release_of_codes(tmp_path / "few", bags={"max_quantity": 3}), tmp_path / "catalog", PRODUCTS
    )
    told = few.act("POST", f"{BAGS}?bagOptions=INCLUDE_PRODUCTINFO", items((7, 1), (9, 1))).value["bag"]
    assert [each["productInfo"]["maxQuantity"] for each in told["items"]] == [3, 3]


def test_a_product_that_is_sold_no_more_is_not_available(database: Database, out: Path, tmp_path: Path) -> None:
    withdrawn = with_catalog(database, out, tmp_path, [PRODUCTS[1] | {"active": False}])
    told = withdrawn.act("POST", BAGS, items((9, 1))).value["bag"]["items"][0]
    assert (told["siteAvailablilityFlag"], told["errors"]) == (False, [{"code": "ITEM_UNAVAILABLE"}])


def test_a_repeated_post_has_the_prices_of_the_release_that_is_served_then(
    shop: Shopping, database: Database, out: Path, tmp_path: Path
) -> None:
    sent = {"idempotency-key": "a"}
    first = shop.ask("POST", f"/{BAGS}", items((9, 3)), sent)
    dearer = with_catalog(database, out, tmp_path / "later", [PRODUCTS[1] | {"price": {"regular": 0.2}}])
    again = dearer.ask("POST", f"/{BAGS}", items((9, 3)), sent)
    assert (first.status, again.status, first.headers["etag"]) == (200, 200, again.headers["etag"])
    bags = [json.loads(answer.body)["bag"] for answer in (first, again)]
    assert [bag["bagSummary"]["grandTotal"] for bag in bags] == [0.3, 0.6]
    assert bags[0]["bagGUID"] == bags[1]["bagGUID"]


def test_an_item_that_has_left_the_catalog_can_only_be_taken_out(
    shop: Shopping, database: Database, out: Path, tmp_path: Path
) -> None:
    bag = shop.act("POST", BAGS, items((7, 2), (9, 2))).value["bag"]
    later = with_catalog(database, out, tmp_path / "later", PRODUCTS[1:])
    told = later.act("GET", f"{BAGS}?bagGuid={bag['bagGUID']}").value["bag"]
    gone = {"siteAvailablilityFlag": False, "errors": [{"code": "ITEM_UNKNOWN"}]}
    assert told["items"][0] == {"sequenceNumber": 1, "quantity": 2, "upcId": 7, **gone}
    assert told["bagSummary"] == {"itemCount": 4, "merchandiseTotal": 0.2, "grandTotal": 0.2, "totalSaved": 0.0}
    path = f"{BAGS}/{bag['bagGUID']}/items"
    change = {"sequenceNumber": 1, "upcId": 7, "quantity": 1}
    assert refused(later, "PATCH", path, {"item": change}) == ["item: upcId 7 is not in the catalog"]
    told = later.act("PATCH", path, {"item": {**change, "quantity": 0}}).value["bag"]
    assert [each["upcId"] for each in told["items"]] == [9]
