"""How many processes work on the catalog changes neither rows nor problems."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from harness.content import MINIMAL, SITE, edit, write_files
from shopwindow import library
from shopwindow.shop import INTERFACE

MISTAKES = (
    ("products/1.jsonl", '"id": 500,', '"id": 499,'),
    ("products/2.jsonl", '"typeName"', '"typename"'),
    ("reviews/4.jsonl", '"product": 1901,', '"product": 7001,'),
    ("inventory/0.jsonl", '"site": 1', '"site": -1'),
)
"""An id that stands twice, a key that no product has, a product that does not exist, less than nothing in stock."""

AT = "2026-11-20T12:00:00Z"

FEEDS, PRODUCTS_A_FEED = 5, 450
"""So many that the rows of the products, and their words, are computed in five parts."""


def several_feeds(folder: Path) -> Path:
    """A content folder whose catalog has five feeds of products, and reviews and stock of them."""
    settings = "catalog: {image_url: https://i.example, product_url: 'https://www.example/p?ID={id}'}\n"
    categories = [{"id": id, "name": f"Things {id}", "url": "https://www.example/things"} for id in range(1, 9)]
    files = {**MINIMAL, "site.yaml": SITE + settings, "catalog/categories.yaml": json.dumps(categories)}
    for number in range(FEEDS):
        ids = range(1 + number * PRODUCTS_A_FEED, 1 + (number + 1) * PRODUCTS_A_FEED)
        files[f"catalog/products/{number}.jsonl"] = _lines(map(product, ids))
        files[f"catalog/reviews/{number}.jsonl"] = _lines(map(review, ids))
        files[f"catalog/inventory/{number}.jsonl"] = _lines(map(stock, ids))
    return write_files(folder, files)


def product(id: int) -> dict[str, Any]:
    return {
        "id": id,
        "name": f"Thing {id % 17} of {id % 5} kinds",
        "description": f"A thing for the {id % 31} days of {id % 12} months.",
        "typeName": "THING",
        "brand": f"Brand {id % 7}",
        "categories": [1 + id % 8],
        "images": {"primary": f"{id}.jpg"},
        "price": {"regular": 10 + id % 90},
        "upcs": [{"upc": upc(id), "sku": id}],
        "bestSeller": 1 + id % 40,
    }


def upc(number: int) -> str:
    """A UPC-A with its check digit (GS1)."""
    digits = f"{number:011}"
    total = sum(map(int, digits[::2])) * 3 + sum(map(int, digits[1::2]))
    return f"{digits}{-total % 10}"


def review(id: int) -> dict[str, Any]:
    return {"id": f"r{id}", "product": id, "rating": 1 + id % 5, "title": "Thing", "text": "It is one.",
            "date": "2026-10-01", "name": "A", "recommended": True}  # fmt: skip


def stock(id: int) -> dict[str, Any]:
    return {"upc": upc(id), "site": id % 4, "stores": {"100": id % 3}}


def _lines(documents: Any) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return several_feeds(tmp_path / "content")


def built(shop: Path, out: Path, jobs: int) -> tuple[str, bytes]:
    """Build; the release's id, and the bytes of its index."""
    done = library.build(INTERFACE, shop, out, at=AT, jobs=jobs)
    assert done.built is not None, done.checked.problems
    return done.built.id, (out / "current" / "catalog.sqlite").read_bytes()


def test_one_process_and_three_give_the_same_rows_and_release(shop: Path, tmp_path: Path) -> None:
    assert built(shop, tmp_path / "three", 3) == built(shop, tmp_path / "alone", 1)


def test_products_in_one_feed_and_in_five_give_the_same_release(shop: Path, tmp_path: Path) -> None:
    expected, _ = built(shop, tmp_path / "five", 3)
    for folder in ("products", "reviews", "inventory"):
        feeds = sorted((shop / "catalog" / folder).iterdir())
        (shop / "catalog" / f"{folder}.jsonl").write_bytes(b"".join(feed.read_bytes() for feed in feeds))
        for feed in feeds:
            feed.unlink()
        (shop / "catalog" / folder).rmdir()
    id, _ = built(shop, tmp_path / "one", 3)
    assert id == expected


def test_a_changed_build_by_three_gives_what_a_fresh_one_does(shop: Path, tmp_path: Path) -> None:
    built(shop, tmp_path / "out", 3)
    edit(shop, ("catalog/products/1.jsonl", '"id": 800, "name": "Thing', '"id": 800, "name": "Another thing'))
    again, _ = built(shop, tmp_path / "out", 3)
    fresh, _ = built(shop, tmp_path / "fresh", 1)
    assert again == fresh


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_three_processes_find_the_problems_that_one_does(shop: Path, ending: str) -> None:
    for feed, old, new in MISTAKES:
        path = shop / "catalog" / feed
        path.write_text(path.read_text().replace(old, new))
    if ending:
        path = shop / "catalog" / "products" / "2.jsonl"
        path.with_name("2.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()

    alone = library.check(INTERFACE, shop, at=AT, jobs=1)
    shared = library.check(INTERFACE, shop, at=AT, jobs=3)
    assert [problem.rule for problem in alone.problems] != []
    assert shared.problems == alone.problems
    assert (shared.more, shared.at_least) == (alone.more, alone.at_least)
