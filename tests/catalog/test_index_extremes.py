"""Catalogs at their extremes, each index upon the one before: empty ones, and what only the last product has.

The check refuses empty lists of members and UPCs. An index with them is right all the same.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.catalogs import Document, category, product, review
from harness.indexes import meaning
from shopwindow.catalog.index.indexing import INDEX_FORMAT, MAX_FACET_VALUES, write
from shopwindow.catalog.index.sources import Sources
from shopwindow.catalog.index.staging import stage
from shopwindow.catalog.index.updating import change

Catalog = dict[str, Any]
TREE = [category(1), category(2, "Lights"), category(3, "Lamps", parent=2)]
LARKSPUR = {"name": "Larkspur", "id": 1, "url": "https://l.example.com"}
TALL = [product(id, f"Tall Thing {id}") for id in range(1, 30)]
ENTRY = {"upc": "000000000055", "sku": 5}
OTHER_ENTRY = {"upc": "000000000062", "sku": 6}


def of(*products: Document, **more: Any) -> Catalog:
    return {"products": products, **more}


def hidden(id: int, **more: Any) -> Document:
    return product(id, active=False, **more)


def in_stock(*entries: Document) -> list[Document]:
    return [{"upc": entry["upc"], "site": 0, "stores": {"3": 9}} for entry in entries]


CHAINS: dict[str, list[Catalog]] = {
    "begins empty, becomes empty, is filled": [of(), of(*TALL[:2]), of(TALL[0]), of(), of(*TALL[3:9])],
    "an empty one gets brands": [of(), of(brands=[LARKSPUR]), of(TALL[0], brands=[LARKSPUR | {"id": 2}])],
    "loses and gets all its categories": [of(TALL[0]), of(categories=[]), of(TALL[0])],
    "nobody sees any product": [of(hidden(1)), of(product(1)), of(hidden(1)), of(hidden(1), product(2))],
    "a brand that only inactive products have": [
        of(product(1), hidden(2, brand="Zinnia")),
        of(product(1), hidden(2, brand="Zinnia"), brands=[LARKSPUR | {"name": "Zinnia"}]),
        of(product(1), hidden(2, brand="Zinnia"), brands=[LARKSPUR | {"name": "Zinnia", "id": 9}]),
        of(product(1), hidden(2, brand="Zinnia")),
        of(product(1), product(2, brand="Zinnia")),
    ],
    "members are an empty list": [
        of(product(1), product(2)),
        of(product(1, members=[]), product(2)),
        of(product(1, members=[2]), product(2)),
        of(product(1, members=[]), product(2)),
        of(product(1), product(2)),
    ],
    "UPCs are an empty list": [of(product(1, upcs=[ENTRY])), of(product(1, upcs=[])), of(product(1))],
    "a UPC goes to another product, and its own is removed": [
        of(product(1, upcs=[ENTRY]), product(2), inventory=in_stock(ENTRY)),
        of(product(2, upcs=[ENTRY]), inventory=in_stock(ENTRY)),
        of(product(1, upcs=[ENTRY]), inventory=in_stock(ENTRY)),
        of(product(1, upcs=[ENTRY | {"sku": 9}]), inventory=in_stock(ENTRY)),
    ],
    "UPCs go round, to a smaller id and to a greater one": [
        of(product(1, upcs=[ENTRY]), product(2, upcs=[OTHER_ENTRY]), inventory=in_stock(ENTRY, OTHER_ENTRY)),
        of(product(1, upcs=[OTHER_ENTRY]), product(2, upcs=[ENTRY]), inventory=in_stock(ENTRY, OTHER_ENTRY)),
        of(product(1), product(2, upcs=[OTHER_ENTRY, ENTRY]), inventory=in_stock(ENTRY, OTHER_ENTRY)),
        of(product(1, upcs=[ENTRY]), product(3, upcs=[OTHER_ENTRY]), inventory=in_stock(ENTRY)),
    ],
    "a sku goes from one UPC of a product to another": [
        of(product(1, upcs=[ENTRY, OTHER_ENTRY])),
        of(product(1, upcs=[ENTRY | {"sku": 6}, OTHER_ENTRY | {"sku": 5}])),
        of(product(1, upcs=[OTHER_ENTRY | {"sku": 6}])),
        of(product(1, upcs=[ENTRY | {"sku": 6}])),
    ],
    "a product is sold no longer when its category is removed": [
        of(product(1, categories=[3]), product(2)),
        of(hidden(1, categories=[1]), product(2), categories=TREE[:1]),
        of(product(1, categories=[3]), product(2)),
    ],
    "the last ranks are free": [
        of(*TALL),
        of(*TALL[:9]),
        of(*TALL[:9], product(50)),
        of(*TALL[:9], product(49), product(50), product(51)),
        of(*TALL[1:9], product(20, bestSeller=3), product(52)),
    ],
    "products make room that have other ratings and another brand": [
        of(*TALL),
        of(*TALL, product(100, bestSeller=2), brands=[LARKSPUR], reviews=[review(n, n, 4) for n in range(1, 12)]),
        of(*TALL, product(101, bestSeller=1), reviews=[review(n, n, 3) for n in range(3, 20)]),
    ],
}
"""Catalogs of which each follows upon another, by what happens to them."""


@pytest.mark.parametrize("what", CHAINS)
def test_each_index_upon_the_one_before_is_that_of_a_build_from_nothing(tmp_path: Path, what: str) -> None:
    previous = tmp_path / "0"
    first, *later = (Sources(**{"categories": TREE, **catalog}) for catalog in CHAINS[what])
    write(previous, first, 1)
    for number, sources in enumerate(later, 1):
        folder = tmp_path / f"folder {number}"
        folder.mkdir()
        anew = write(folder / "anew", sources, 1)
        digest = change(
            folder / "again",
            folder,
            sources,
            previous,
            MAX_FACET_VALUES,
            partial(stage, folder, jobs=1),
        )
        assert f"{INDEX_FORMAT}:{digest}" == anew
        assert meaning(folder / "again") == meaning(folder / "anew")
        previous = folder / "again"
