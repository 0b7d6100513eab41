"""The digest of an index's rows, computed again from a file: what it says, and what it notices."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.catalogs import TREE, URL, category, product, review
from shopwindow.catalog.index.building import CATALOG
from shopwindow.catalog.index.indexing import write
from shopwindow.catalog.index.sources import Sources
from shopwindow.problems import Failure

UPC = "012345678905"
DOCUMENTS: dict[str, Any] = {
    "categories": [category(1, categories=[category(2, "Clothes")]), TREE[4]],
    "brands": [{"name": "Larkspur", "id": 77, "url": f"{URL}larkspur"}],
    "products": [
        product(30, "Shirt", categories=[2], upcs=[{"upc": UPC, "sku": 7}, {"upc": "00000000000017", "sku": 8}]),
        product(20, "Scarf", categories=[2], bestSeller=1),
        product(10, "Shirt and Scarf", categories=[2], members=[30, 20]),
    ],
    "inventory": [{"upc": UPC, "site": 0, "stores": {"212": 2}}, {"upc": UPC, "site": 5}],
    "reviews": [review(1, 30, 5, "2013-01-01"), review(2, 20, 4, "2013-03-01")],
    "recommendations": [{"product": 20, "products": [30]}, {"product": 20, "products": [10]}],
}
"""Two documents about one UPC and one product's recommendations, of which the first counts."""


def built(path: Path, previous: Path | None = None, **documents: Any) -> str:
    """Write an index; return the digest of its rows, as the build says it."""
    return write(path, Sources(**DOCUMENTS | documents), previous=previous).partition(":")[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    built(tmp_path / "index")
    return tmp_path / "index"


def altered(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(statement).rowcount == 1
        database.commit()


def test_a_file_has_the_digest_that_its_build_returned(tmp_path: Path) -> None:
    dearer = [product(30, "Shirt", categories=[2], price={"regular": 61}), *DOCUMENTS["products"][1:]]
    first, again = built(tmp_path / "first"), built(tmp_path / "again", products=dearer)
    upon = built(tmp_path / "upon", tmp_path / "first", products=dearer)
    assert [CATALOG.rows(tmp_path / name) for name in ("first", "again", "upon")] == [first, again, upon]
    assert (first != again, again == upon) == (True, True)


def test_pages_that_lie_elsewhere_make_no_difference(path: Path) -> None:
    before, data = CATALOG.rows(path), path.read_bytes()
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA page_size = 4096")
        database.execute("VACUUM")
    assert (path.read_bytes() == data, CATALOG.rows(path)) == (False, before)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE review SET document = '{}' WHERE number = 1",
        "UPDATE rating SET five = 9 WHERE product = 30",
        "UPDATE recommendation SET products = '[]'",
        "UPDATE number SET updated = 9 WHERE id = 10",
        "DELETE FROM number WHERE id = 10",
        "UPDATE upc SET stores = NULL WHERE sku = 7",
        "UPDATE brand SET url = ''",
        "DELETE FROM family WHERE id = 10",
        "UPDATE category SET document = '{}' WHERE id = 1",
        "UPDATE meta SET value = 2 WHERE name = 'active'",
    ],
)
def test_a_row_that_is_altered_gives_another_digest(path: Path, statement: str) -> None:
    before = CATALOG.rows(path)
    altered(path, statement)
    assert CATALOG.rows(path) != before


def test_a_document_that_is_altered_is_named(path: Path) -> None:
    altered(path, "UPDATE document SET data = '{}' WHERE rank = (SELECT rank FROM number WHERE id = 20)")
    with pytest.raises(Failure, match="product 20 is not what was built"):
        CATALOG.rows(path)


def test_one_document_in_the_place_of_another_is_named(path: Path) -> None:
    other = "SELECT data FROM document JOIN number USING (rank) WHERE id = 10"
    altered(path, f"UPDATE document SET data = ({other}) WHERE rank = (SELECT rank FROM number WHERE id = 20)")
    with pytest.raises(Failure, match="product 20 is not what was built"):
        CATALOG.rows(path)


def test_a_file_that_is_no_catalog_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index").write_bytes(b"not a database")
    with pytest.raises(Failure, match="cannot be read as a catalog"):
        CATALOG.rows(tmp_path / "index")


def test_a_file_without_its_dictionary_is_refused(path: Path) -> None:
    altered(path, "DELETE FROM meta WHERE name = 'dictionary'")
    with pytest.raises(Failure, match="cannot be read as a catalog: it lacks the dictionary"):
        CATALOG.rows(path)
