"""The files that feeds are read into mean the same, whoever has read which part of them."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.catalogs import Document, category, product, review
from shopwindow.catalog.index.indexing import write
from shopwindow.catalog.index.sources import Sources
from shopwindow.catalog.index.staging import ProductFiles, StagedFeeds, stage
from shopwindow.catalog.kinds import INVENTORY, PRODUCT, RECOMMENDATION, REVIEW
from shopwindow.content.check.records import Records
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.listing import Source

SIZE = 60
PRODUCTS = [
    product(
        id, f"Thing {id % 7}", attributes={"Fit": ["Slim"]} if id % 3 else {}, upcs=[{"upc": f"{id:012}", "sku": id}]
    )
    for id in range(1, SIZE)
]
STOCK = [{"upc": f"{id:012}", "site": id % 4, "stores": {str(900 - id % 50): id % 9}} for id in range(1, SIZE)]
REVIEWS = [review(number, 1 + number % 9, 1 + number % 5) for number in range(SIZE)]
RECOMMENDED = [{"product": id, "products": [id % 5 + 1, id % 3 + 1]} for id in range(10, SIZE)]


def feed(folder: Path, kind: Kind, documents: Sequence[Document], files: int) -> Records:
    """Documents in so many feeds, one after the other."""
    sources = []
    length = -(-len(documents) // files)
    for number in range(files):
        name = f"{kind.name}-{files}-{number}.jsonl"
        some = documents[number * length : (number + 1) * length]
        size = (folder / name).write_bytes(b"".join(orjson.dumps(document) + b"\n" for document in some))
        sources.append(Source(name, kind, size, changed=0, inode=number))
    return Records(folder, sources, {})


def feeds(folder: Path, files: int, **other: Sequence[Document]) -> Sources:
    """The catalog in so many feeds of each kind."""
    return Sources(
        categories=[category(1)],
        products=feed(folder, PRODUCT, PRODUCTS, files),
        inventory=feed(folder, INVENTORY, other.get("inventory", STOCK), files),
        reviews=feed(folder, REVIEW, REVIEWS, files),
        recommendations=feed(folder, RECOMMENDATION, other.get("recommendations", RECOMMENDED), files),
    )


def staged(folder: Path, sources: Sources, jobs: int) -> StagedFeeds:
    folder.mkdir()
    return stage(folder, sources, jobs)


def test_an_index_is_the_same_however_its_feeds_are_divided_and_how_many_read_them(tmp_path: Path) -> None:
    plain = Sources(
        categories=[category(1)], products=PRODUCTS, inventory=STOCK, reviews=REVIEWS, recommendations=RECOMMENDED
    )
    write(tmp_path / "plain", plain, 1)
    expected = (tmp_path / "plain").read_bytes()
    for jobs in (1, 2, 3):
        for files in (1, 4, 7):
            path = tmp_path / f"{jobs}-{files}"
            write(path, feeds(tmp_path, files), jobs)
            assert path.read_bytes() == expected


def test_of_two_documents_about_the_same_the_first_counts_wherever_it_is_read(tmp_path: Path) -> None:
    again = [document | {"site": 77} for document in STOCK]
    others = [document | {"products": [1]} for document in RECOMMENDED]
    sources = feeds(tmp_path, 5, inventory=STOCK + again, recommendations=RECOMMENDED + others)
    rows = []
    for jobs in (1, 2, 3):
        write(tmp_path / f"{jobs}", sources, jobs)
        with closing(sqlite3.connect(tmp_path / f"{jobs}")) as database:
            stock = dict(database.execute("SELECT upc, online FROM upc"))
            of_product = dict(database.execute("SELECT product, products FROM recommendation"))
        rows.append((stock, {id: orjson.loads(products) for id, products in of_product.items()}))
    expected = {document["product"]: document["products"] for document in RECOMMENDED}
    assert rows == 3 * [({id: id % 4 for id in range(1, SIZE)}, expected)]


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_product_and_attribute_is_staged_once(tmp_path: Path, jobs: int) -> None:
    read = staged(tmp_path / "staged", feeds(tmp_path, 4), jobs)
    places = list(read.facts.execute("SELECT start, size FROM product ORDER BY id"))
    texts = read.products.read([start for start, _ in places], [size for _, size in places])
    assert list(map(orjson.loads, texts)) == PRODUCTS
    assert read.attributes == Counter({"FIT": sum(id % 3 > 0 for id in range(1, SIZE))})
    assert read.locations == sorted({900 - id % 50 for id in range(1, SIZE) if id % 9})


def test_what_each_has_written_is_deleted_once_it_is_merged(tmp_path: Path) -> None:
    read = staged(tmp_path / "staged", feeds(tmp_path, 4), 2)
    names = {path.name for path in (tmp_path / "staged").iterdir()}
    assert names == {"facts", *(path.name for path in read.products.paths)}


def test_products_come_in_the_order_of_the_places_from_whichever_file(tmp_path: Path) -> None:
    parts: list[Any] = [b"", b"onetwo", b"", b"three"]
    paths = [tmp_path / f"{number}" for number in range(4)]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    files = ProductFiles(paths, [0, 0, 6, 6])
    assert files.read([6, 0, 3], [5, 3, 3]) == [b"three", b"one", b"two"]
    assert files.read([], []) == []


def test_a_catalog_without_feeds_is_staged(tmp_path: Path) -> None:
    nothing = Records(tmp_path, (), {})
    sources = Sources(products=nothing, inventory=nothing, reviews=nothing, recommendations=nothing)
    read = staged(tmp_path / "staged", sources, 2)
    assert (read.attributes, read.locations, read.samples()) == (Counter(), [], [])
