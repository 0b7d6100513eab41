"""Facts about `catalog stats`: every count is that of the documents."""

import json
import shutil
import tracemalloc
from pathlib import Path

import pytest

from plain_catalog import category, index, product, review
from releases import shopwindow
from shopwindow import library
from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.stats import (
    FacetStats,
    Lacking,
    StockStats,
    stats_of,
)
from shopwindow.cli.catalog_stats import stats_lines
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


def test_counts_are_those_of_the_documents(catalog: OpenedCatalog) -> None:
    stats = stats_of(catalog)
    assert (stats.active, stats.inactive, stats.brands, stats.reviews) == (4, 1, 1, 2)
    assert (stats.categories, stats.empty_categories) == (3, Lacking(2, (2, 3)))
    assert stats.lacking == {
        "image": Lacking(1, (2,)),
        "price": Lacking(1, (2,)),
        "category": Lacking(2, (3, 4)),
    }
    # ONE is at a store, TWO and THREE are nowhere, FOUR is not sold
    assert stats.stock == StockStats(3, Lacking(2, (TWO, THREE)), Lacking(1, (2,)), 1)
    assert stats.facets == (
        FacetStats("BRAND", 1, 4, 1.0),
        FacetStats("COLOR", 1, 1, 0.25),
        FacetStats("SIZE", 0, 0, 0.0),
    )
    assert (stats.words.synonyms, stats.dictionary) == (2, 0)
    assert stats.words.words == len(catalog.rows("SELECT word FROM word"))


def test_the_sizes_of_tables_are_parts_of_the_file(catalog: OpenedCatalog) -> None:
    stats = stats_of(catalog)
    (file,) = catalog.rows("PRAGMA database_list")
    assert stats.bytes == Path(file[2]).stat().st_size
    if stats.tables is None:
        pytest.skip("this SQLite has no dbstat")
    sizes = [table.bytes for table in stats.tables]
    assert sizes == sorted(sizes, reverse=True)
    assert 0.9 * stats.bytes <= sum(sizes) <= stats.bytes
    assert {"document", "text", "form"} <= {table.name for table in stats.tables}


def test_at_most_a_few_products_are_named_and_progress_ends_with_all(tmp_path: Path) -> None:
    catalog = index(tmp_path, *(product(id, images={}) for id in range(1, 9)))
    done: list[tuple[int, int]] = []
    stats = stats_of(catalog, lambda *counts: done.append(counts))
    assert stats.lacking["image"] == Lacking(8, (1, 2, 3, 4, 5))
    assert done[-1] == (8, 8)


def test_many_products_without_stock_are_looked_up_together(tmp_path: Path) -> None:
    products = [product(id, upcs=[upc(f"{id:012}", id)]) for id in range(1, 1203)]
    stock = [{"upc": f"{id:012}", "site": 0, **({"stores": {"7": 1}} if id % 2 else {})} for id in range(1, 1203)]
    stats = stats_of(index(tmp_path, *products, inventory=stock))
    nowhere = Lacking(601, tuple(f"{id:012}" for id in (2, 4, 6, 8, 10)))
    assert stats.stock == StockStats(1202, nowhere, Lacking(601, (2, 4, 6, 8, 10)), 1)


def test_an_empty_catalog_has_counts_of_zero(tmp_path: Path) -> None:
    stats = stats_of(index(tmp_path))
    assert (stats.active, stats.inactive, stats.stock.upcs, stats.lacking["image"]) == (0, 0, 0, Lacking(0, ()))
    assert [facet.coverage for facet in stats.facets] == [0.0, 0.0, 0.0]


def test_memory_does_not_grow_with_the_products(tmp_path: Path) -> None:
    text = "A long description of a thing. " * 200

    def peak(count: int) -> int:
        catalog = index(tmp_path, *(product(id, description=text) for id in range(1, count + 1)))
        stats_of(catalog)
        tracemalloc.start()
        stats_of(catalog)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(1600) < 2 * peak(200)


def test_the_command_prints_lines_and_json(sample_out: Path) -> None:
    catalog = library.released_content(INTERFACE, sample_out).index("catalog")
    stats = stats_of(catalog)
    text = shopwindow("catalog", "stats", "--out", sample_out)
    assert (text.status, text.err) == (0, "")
    assert text.out.splitlines()[0] == f"products    {stats.active:,} active, {stats.inactive:,} inactive"
    written = json.loads(shopwindow("catalog", "stats", "--out", sample_out, "--format", "json").out)
    assert (written["active"], written["words"]["words"]) == (stats.active, stats.words.words)
    assert [facet["name"] for facet in written["facets"]] == [facet.name for facet in stats.facets]


def test_the_command_names_what_products_lack(catalog: OpenedCatalog) -> None:
    lines = [" ".join(line.split()) for line in stats_lines(stats_of(catalog))]
    assert lines[:9] == [
        "products 4 active, 1 inactive",
        "1 product without an image: 2",
        "1 product without a price: 2",
        "2 products without a category: 3, 4",
        "categories 3, 2 without a product: 2, 3",
        "brands 1, reviews 2",
        "stock 3 UPCs that are sold, at 1 store",
        f"2 UPCs that cannot be sent and that no store has: {TWO}, {THREE}",
        "1 product of which nothing is left: 2",
    ]


def test_of_more_than_five_the_first_are_named(tmp_path: Path) -> None:
    catalog = index(tmp_path, categories=[category(id) for id in range(9, 0, -1)])
    assert stats_of(catalog).empty_categories == Lacking(9, (1, 2, 3, 4, 5))
    lines = [" ".join(line.split()) for line in stats_lines(stats_of(catalog))]
    assert "categories 9, 9 without a product: 1, 2, 3, 4, 5, …" in lines
    assert "0 products without an image" in lines


def test_without_a_release_the_command_says_so(tmp_path: Path) -> None:
    ran = shopwindow("catalog", "stats", "--out", tmp_path / "dist")
    assert (ran.status, ran.out) == (4, "")
    assert "dist" in ran.err


@pytest.mark.parametrize("command", [["stats"], ["explain", "black coat"]], ids=["stats", "explain"])
def test_a_damaged_catalog_is_a_sentence(sample_out: Path, tmp_path: Path, command: list[str]) -> None:
    out = shutil.copytree(sample_out, tmp_path / "dist", symlinks=True)
    file = (out / "current" / "catalog.sqlite").resolve()
    data = bytearray(file.read_bytes())
    half = len(data) // 2
    data[half // 2 : half + half // 2] = b"\xff" * half
    file.unlink()
    file.write_bytes(data)
    ran = shopwindow("catalog", *command, "--out", out)
    assert (ran.status, ran.out) == (4, "")
    assert "`shopwindow build --no-cache` writes every file again" in ran.err
