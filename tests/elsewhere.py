"""An Executor as unkind as a cluster may be, without one; and a catalog of several feeds to share."""

import json
import os
import pickle
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shopwindow.content.executor import PartItem, PartResult, Work
from trees import MINIMAL, SITE, write

FEEDS, PRODUCTS_A_FEED = 5, 450
"""So many that the rows of the products, and their words, are computed in five parts."""


@dataclass(frozen=True)
class Elsewhere:
    """Sends each item by itself to somebody who knows nothing else, twice, and takes one result or the other."""

    folder: Path
    stages: list[str] = field(default_factory=list)

    @contextmanager
    def shared(
        self, stage: str, work: Work[PartItem, PartResult], items: Sequence[PartItem]
    ) -> Iterator[Iterator[PartResult]]:
        self.stages.append(stage)
        sent = pickle.dumps(work)

        def results() -> Iterator[Any]:
            for number, item in enumerate(items):
                lost = [pickle.dumps(list(pickle.loads(sent)([pickle.loads(pickle.dumps(item))]))) for _ in range(2)]
                yield from pickle.loads(lost[number % 2])

        yield results()


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
    return write(folder, files)


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


@dataclass(frozen=True)
class Dies:
    """Work that squares numbers, and whose process is killed the first time that it comes to one of them."""

    marker: Path
    at: int

    def __call__(self, numbers: Sequence[int]) -> Iterator[int]:
        for number in numbers:
            if number == self.at and self._is_first():
                os.kill(os.getpid(), signal.SIGKILL)
            yield number * number

    def _is_first(self) -> bool:
        try:
            self.marker.open("xb").close()
        except FileExistsError:
            return False
        return True
