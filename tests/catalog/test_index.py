"""catalog.sqlite: what its verbs answer, that its bytes follow from the content, and who may read it at one time."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from harness.catalogs import (
    TREE,
    URL,
    Catalog,
    Document,
    Facet,
    Page,
    ProductQuery,
    Reviews,
    category,
    index,
    product,
    review,
)

SITE = {
    "catalog": {
        "image_url": "https://images.example.com/is",
        "product_url": "https://www.example.com/p/{id}",
        "brand_url": "https://www.example.com/b/{name}",
    }
}
UPC = "012345678905"
PRODUCTS = [
    product(
        30,
        "Shirt",
        brand="Larkspur",
        categories=[4, 5],
        price={"regular": 60, "sale": 45.5},
        colors=[{"id": 1, "name": "Dusk", "normal": "BLUE"}, {"id": 2, "name": "Rust", "normal": "RED"}],
        sizes=[{"id": 1, "name": "Small", "normal": "S"}],
        upcs=[{"upc": UPC, "sku": 7, "color": 1}, {"upc": "00000000000017", "sku": 8, "active": False}],
        bestSeller=2,
        updated="2013-06-21T12:00:00Z",
        featured=True,
    ),
    product(20, "Scarf", brand="Vane & Co", categories=[2], price={"regular": {"low": 20, "high": 30}}, bestSeller=1),
    product(10, "Shirt and Scarf", brand="Larkspur", categories=[4], members=[30, 20], updated="2013-06-01T00:00:00Z"),
    product(40, "Old Shirt", active=False, categories=[4], featured=True, upcs=[{"upc": "00000000000024", "sku": 99}]),
]
CATALOG: dict[str, Any] = {
    "settings": SITE["catalog"],
    "categories": [category(1, categories=[category(2, "Clothes", categories=[category(4, "Shirts")])]), TREE[4]],
    "brands": [{"name": "Larkspur", "id": 77, "url": f"{URL}larkspur"}],
    "inventory": [{"upc": UPC, "site": 0, "stores": {"212": 2, "7": 9, "9": 0}}],
    "reviews": [review(1, 30, 5, "2013-01-01"), review(2, 30, 4, "2013-03-01"), review(3, 20, 1), review(4, 30, 4)],
    "recommendations": [{"product": 20, "products": [40, 30, 20, 99]}],
}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return index(tmp_path, *PRODUCTS, **CATALOG)


def test_what_can_be_picked_up_is_in_stock_sold_and_handed_out(tmp_path: Path) -> None:
    def sold(id: int, stock: int, *, upc: dict[str, Any] | None = None, **more: Any) -> Document:
        digits = f"{id:011}"
        check = -(sum(map(int, digits[::2])) * 3 + sum(map(int, digits[1::2]))) % 10
        number = f"{digits}{check}"
        inventory.append({"upc": number, "stores": {"7": stock, "8": 0, "9": 5}})
        return product(id, upcs=[{"upc": number, "sku": id, **(upc or {})}], **more)

    inventory: list[Document] = []
    products = [
        sold(1, 9),
        sold(2, 1),
        sold(3, 0),
        sold(4, 9, upc={"active": False}),
        sold(5, 9, storeEligible=False),
        sold(6, 9, active=False),
        sold(7, 9, storeEligible=True, upc={"active": True}),
        product(8),
    ]
    found = index(tmp_path, *products, inventory=inventory)

    def picked_up(*locations: int) -> list[int]:
        return sorted(found.browse(1, ProductQuery(pick_up=locations)).ids)

    assert (picked_up(7), picked_up(8), picked_up(9), picked_up(10), picked_up()) == (
        [1, 2, 7],
        [],
        [1, 2, 3, 7],
        [],
        [],
    )
    assert (picked_up(7, 8), picked_up(7, 9)) == ([1, 2, 7], [1, 2, 3, 7])
    assert len(found.browse(1, ProductQuery()).ids) == 7


def test_products_have_what_is_worked_out(catalog: Catalog) -> None:
    shirt = PRODUCTS[0]
    first, second = shirt["upcs"]
    worked_out = {"reviewCount": 3, "available": False, "onsale": True, "priceLow": 45.5, "priceHigh": 45.5}
    assert catalog.product(30) == shirt | worked_out | {
        "rating": 4.3,
        "brandId": 77,
        "upcs": [first | {"available": False}, second | {"available": False}],
    }
    scarf = {"reviewCount": 1, "rating": 1.0, "available": True, "onsale": False, "priceLow": 20.0, "priceHigh": 30.0}
    assert catalog.products([20, 5, 20]) == {20: PRODUCTS[1] | scarf}
    assert catalog.product(2**60) is None


def test_what_is_sold_no_more_cannot_be_sent(catalog: Catalog) -> None:
    product, upc = catalog.product_of_sku(99) or ({}, {})
    assert (product["available"], upc["available"]) == (False, False)


def test_upcs_and_skus_lead_to_products(catalog: Catalog) -> None:
    assert catalog.product_of_upc([UPC, "12345678905", "17", "x", "", "1" * 40]) == {
        UPC: 30,
        "12345678905": 30,
        "17": 30,
    }
    found = catalog.product_of_sku(8)
    assert found
    assert (found[0]["id"], found[1]["upc"]) == (30, "00000000000017")
    assert (catalog.product_of_sku(9), catalog.product_of_sku(2**70)) == (None, None)


def test_the_index_of_products(catalog: Catalog) -> None:
    assert catalog.product_ids() == (3, [10, 20, 30])
    assert catalog.product_ids(offset=1, limit=1) == (3, [20])
    assert catalog.product_ids("2013-06-21T12:00:00.000Z") == (2, [20, 30])
    assert catalog.product_ids("2013-06-21T12:00:00.001Z") == (1, [20])
    assert catalog.featured() == [30]


def test_numbers_that_no_row_can_hold_are_not_there(catalog: Catalog) -> None:
    large = 10**30
    assert catalog.products([large, 30, -large]).keys() == {30}
    assert (catalog.products([large]), catalog.families([large])) == ({}, {})
    assert (catalog.recommended(large, 5), catalog.brands([large], large)) == ([], [])
    assert catalog.reviews(large, 1, 5).total == 0


def test_families(catalog: Catalog) -> None:
    assert catalog.families([10, 20, 30, 40]) == {10: ([30, 20], []), 20: ([], [10]), 30: ([], [10])}


def test_categories(catalog: Catalog) -> None:
    clothes = {"id": 2, "name": "Clothes", "url": f"{URL}c/2", "parent": 1, "depth": 2, "children": [4]}
    assert catalog.category(2) == clothes
    assert catalog.category(9) is None
    assert catalog.category(10**30) is None


def test_browse(catalog: Catalog) -> None:
    facets = (
        Facet("BRAND", "Brand", (("Larkspur", 2), ("Vane & Co", 1))),
        Facet("COLOR", "Color", (("BLUE", 1), ("RED", 1))),
        Facet("SIZE", "Size", (("S", 1),)),
        Facet("PRICE", "Price", (), ((0, 49.99, 3),)),
    )
    assert catalog.browse(1, ProductQuery()) == Page(3, (20, 30, 10), facets)
    assert catalog.browse(1, ProductQuery(filters={"COLOR": ("blue",)}, facets=False)) == Page(1, (30,))
    assert catalog.browse(5, ProductQuery(facets=False)) == Page(1, (30,))
    assert catalog.browse(6, ProductQuery()) == Page(0)
    assert catalog.browse(1, ProductQuery(filters={"NOTHING": ("x",)}, facets=False)) == Page(0)


def test_an_attribute_of_a_facets_name_is_no_second_facet(tmp_path: Path) -> None:
    attributes = {"Price": ["Low"], "Brand": ["Mine"], "Color": ["Red"], "Size": ["L"], "Fit": ["Slim"]}
    found = index(tmp_path, *(product(id, attributes=attributes) for id in (1, 2))).browse(1, ProductQuery())
    assert [facet.name for facet in found.facets if facet.values or facet.ranges] == ["BRAND", "PRICE", "FIT"]


def test_brands(catalog: Catalog) -> None:
    larkspur, vane = ("Larkspur", f"{URL}larkspur"), ("Vane & Co", f"{URL}b/Vane%20%26%20Co")
    assert catalog.brands([1]) == [larkspur, vane]
    assert catalog.brands([4, 9]) == [larkspur]
    assert catalog.brands([1], 5) == [larkspur]


def test_reviews_are_the_newest_first(catalog: Catalog) -> None:
    def ids(page: int, number: int) -> list[str]:
        return [each["id"] for each in catalog.reviews(30, page, number).reviews]

    assert (ids(1, 2), ids(2, 2), ids(3, 2)) == (["r4", "r2"], ["r1"], [])
    assert catalog.reviews(20, 1, 10) == Reviews(1.0, 1, (1, 0, 0, 0, 0), (review(3, 20, 1),))
    assert catalog.reviews(10, 1, 10) == Reviews(0.0, 0, (0, 0, 0, 0, 0), ())


def test_recommended_are_those_given_then_those_alike(catalog: Catalog) -> None:
    assert catalog.recommended(20, 10) == [30]  # what is not active, itself and what does not exist are left out
    assert catalog.recommended(30, 10) == [10]
    assert catalog.recommended(30, 0) == []


def test_availability(catalog: Catalog) -> None:
    assert catalog.availability([UPC, "8"], [7, 9, 212, 300]) == {(UPC, 7): "AVAILABLE", (UPC, 212): "LIMITED"}


def test_an_empty_catalog(tmp_path: Path) -> None:
    empty = index(tmp_path, categories=[])
    assert (empty.roots(), empty.product_ids(), empty.product(1)) == ([], (0, []), None)
    assert (empty.search("shirt", ProductQuery()), empty.browse(1, ProductQuery())) == (Page(0), Page(0))


def test_threads_read_at_one_time(catalog: Catalog) -> None:
    found: list[Any] = []

    def read() -> None:
        found.extend(catalog.browse(1, ProductQuery()).ids for _ in range(50))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), set(found)) == (200, {(20, 30, 10)})


def test_processes_forked_from_one_that_has_read_read_on(catalog: Catalog) -> None:
    before = catalog.search("shirt", ProductQuery())
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            right = catalog.search("shirt", ProductQuery()) == before and catalog.product(30) is not None
            os._exit(0 if right else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert catalog.search("shirt", ProductQuery()) == before


def test_it_is_never_written_to(catalog: Catalog, tmp_path: Path) -> None:
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    catalog.search("shirt", ProductQuery())
    assert (catalog.product(30) is not None, path.read_bytes() == before) == (True, True)
    assert len(os.listdir(tmp_path)) == 1  # no journal, no locks
