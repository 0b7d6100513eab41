"""Facts about `catalog explain` without a phrase: every count is that of the documents."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from harness.catalogs import OpenedCatalog, category, index, lacks, product, review
from harness.program import shopwindow
from shopwindow import library
from shopwindow.shop import INTERFACE

ONE, TWO, THREE, FOUR = "012345678905", "036000291452", "4006381333931", "96385074"


def upc(number: str, sku: int, **more: bool) -> dict[str, object]:
    return {"upc": number, "sku": sku, **more}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> OpenedCatalog:
    products = [
        product(1, upcs=[upc(ONE, 1), upc(TWO, 2)], colors=[{"id": 1, "name": "Rose", "normal": "RED"}]),
        product(2, images={}, price={"regular": 0}, upcs=[upc(THREE, 3)]),
        product(3, categories=[9], upcs=[upc(FOUR, 4, active=False)]),
        product(4, categories=[9], price={"regular": {"low": 0, "high": 5}}),
        product(5, active=False, images={}, categories=[9], upcs=[upc("73513537", 5)]),
    ]
    return index(
        tmp_path_factory.mktemp("stats"),
        *products,
        categories=[category(1, "All"), category(2, "Empty"), category(3, "Below", parent=1)],
        inventory=[
            {"upc": ONE, "site": 0, "stores": {"7": 2, "8": 0}},
            {"upc": TWO, "site": 0, "stores": {"8": 0}},
            {"upc": THREE, "site": 0},
            {"upc": FOUR, "site": 0},
        ],
        reviews=[review(1, 1, 5), review(2, 1, 4)],
        synonyms=[["lamp", "light"]],
        brands=[{"id": 1, "name": "Larkspur", "url": "https://www.example/larkspur"}],
    )


def lacking(count: int, *first: int | str) -> dict[str, Any]:
    return {"count": count, "first": list(first)}


def test_counts_are_those_of_the_documents(catalog: OpenedCatalog) -> None:
    # ONE is at a store, TWO and THREE are nowhere, FOUR is not sold
    assert lacks(catalog) == {
        "products": 4,
        "lacking": {
            "image": lacking(1, 2),
            "price": lacking(1, 2),
            "category": lacking(2, 3, 4),
            "stock": lacking(1, 2),
        },
        "upcs": 3,
        "nowhere": lacking(2, TWO, THREE),
        "categories": 3,
        "empty": lacking(2, 2, 3),
        "facets": [
            {"name": "BRAND", "values": 1, "products": 4},
            {"name": "COLOR", "values": 1, "products": 1},
            {"name": "SIZE", "values": 0, "products": 0},
        ],
    }


def test_at_most_a_few_products_are_named(tmp_path: Path) -> None:
    catalog = index(tmp_path, *(product(id, images={}) for id in range(1, 9)))
    assert lacks(catalog)["lacking"]["image"] == lacking(8, 1, 2, 3, 4, 5)


def test_many_products_without_stock_are_looked_up_together(tmp_path: Path) -> None:
    products = [product(id, upcs=[upc(f"{id:012}", id)]) for id in range(1, 1203)]
    stock = [{"upc": f"{id:012}", "site": 0, **({"stores": {"7": 1}} if id % 2 else {})} for id in range(1, 1203)]
    counted = lacks(index(tmp_path, *products, inventory=stock))
    assert counted["nowhere"] == lacking(601, *(f"{id:012}" for id in (2, 4, 6, 8, 10)))
    assert (counted["upcs"], counted["lacking"]["stock"]) == (1202, lacking(601, 2, 4, 6, 8, 10))


def test_an_empty_catalog_has_counts_of_zero(tmp_path: Path) -> None:
    counted = lacks(index(tmp_path))
    assert (counted["products"], counted["upcs"], counted["lacking"]["image"]) == (0, 0, lacking(0))


def test_no_documents_are_held_in_memory(tmp_path: Path) -> None:
    text = "A long description of a thing. " * 200

    def peak(count: int) -> int:
        catalog = index(tmp_path, *(product(id, description=text) for id in range(1, count + 1)))
        lacks(catalog)
        tracemalloc.start()
        lacks(catalog)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(1600) - peak(200) < 1400 * 100  # bytes, of products of 6,000


def test_the_command_prints_the_value_as_json(sample_out: Path) -> None:
    catalog = library.released_content(INTERFACE, sample_out).index("catalog")
    ran = shopwindow("catalog", "explain", "--out", sample_out)
    assert (ran.status, ran.err, json.loads(ran.out)) == (0, "", lacks(catalog))


def test_without_a_release_the_command_says_so(tmp_path: Path) -> None:
    ran = shopwindow("catalog", "explain", "--out", tmp_path / "dist")
    assert (ran.status, ran.out) == (4, "")
    assert "dist" in ran.err
