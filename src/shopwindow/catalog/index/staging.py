"""Reading the feeds of a catalog into files that the rest of a build works from.

How the feeds are staged. Processes share the parts of the feeds (`_FeedReading`). Each
writes two files of its own: the products of its parts, as JSON one after the other, and
a database of all else. The process that writes the index then copies these databases
into one, the facts (`_merged`). The files of products stay as they are, and are read as
if they were one (`ProductFiles`).

What comes out does not depend on who has read which part. The facts are sorted before
they are used. The place of a store in the stock of a UPC follows from the numbers of all
stores that have something. So the stock is read twice, the first time for these numbers
(`_LocationReading`).
"""

import os
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from heapq import nsmallest
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import orjson

from shopwindow.catalog.index.file import attached, create
from shopwindow.catalog.index.packing import LONGEST_SAMPLE, SAMPLES, place_in_sample
from shopwindow.catalog.index.rows import is_active
from shopwindow.catalog.index.sources import (
    Sources,
    StockReader,
    attributes_of,
    locations_of,
    opinion,
    recommended,
)
from shopwindow.content.check.records import Records
from shopwindow.content.reading.processes import shared
from shopwindow.content.reading.yaml import Json

FACTS_FILE = "facts"
"""The database of what the feeds say, but for the products themselves."""

FACTS = """
CREATE TABLE product (id INTEGER, active INTEGER, best INTEGER, start INTEGER, size INTEGER);
CREATE TABLE stock (part INTEGER, upc INTEGER, online INTEGER, stores BLOB);
CREATE TABLE opinion (product INTEGER, date TEXT, id TEXT, rating INTEGER, document BLOB);
CREATE TABLE recommendation (part INTEGER, product INTEGER, products BLOB);
CREATE TABLE stocked (upc INTEGER PRIMARY KEY, online INTEGER, stores BLOB);
CREATE TABLE rating (product INTEGER PRIMARY KEY, one INTEGER, two INTEGER, three INTEGER, four INTEGER, five INTEGER);
"""
"""The first four tables have a row for each document. `part` is the number of the part
that a row comes from, where the first of several rows counts. `stocked` and `rating`
follow from these.
"""

INSERTS = {
    "product": "INSERT INTO product VALUES (?, ?, ?, ?, ?)",
    "inventory": "INSERT INTO stock VALUES ({part}, ?, ?, ?)",
    "review": "INSERT INTO opinion VALUES (?, ?, ?, ?, ?)",
    "recommendation": "INSERT INTO recommendation VALUES ({part}, ?, ?)",
}
"""How rows are added for documents of each kind."""

WRITTEN_AT_ONCE = 1 << 20
"""Bytes of products that are written at a time."""


class ProductFiles(NamedTuple):
    """All products in JSON: several files, read as if one followed the other.

    ``firsts``: where each of them begins.
    """

    paths: Sequence[Path]
    firsts: Sequence[int]

    def read(self, starts: Sequence[int], sizes: Sequence[int]) -> list[bytes]:
        """Return some products, by where each starts and how many bytes it has.

        A file is open only while it is read, for there may be more of them than one
        process may open. None is mapped: its pages would count as the build's memory.
        """

        def file_of(place: int) -> int:
            return bisect_right(self.firsts, starts[place]) - 1

        products = [b""] * len(starts)
        places = sorted(range(len(starts)), key=starts.__getitem__)
        for number, places_in_file in groupby(places, file_of):
            first = self.firsts[number]
            with open(self.paths[number], "rb", buffering=0) as file:
                for place in places_in_file:
                    start, size = starts[place] - first, sizes[place]
                    products[place] = os.pread(file.fileno(), size, start)
        return products


@dataclass(frozen=True)
class StagedFeeds:
    """What was read of the feeds.

    Attributes:
        products: all of them.
        facts: the database, in a transaction.
        attributes: how many products have each attribute, in upper case.
        locations: the stores, in the order of their places in the stock of a UPC.
    """

    products: ProductFiles
    facts: sqlite3.Connection
    attributes: Counter[str]
    locations: Sequence[int]

    def samples(self) -> list[bytes]:
        """Return the products that a dictionary is trained on, in JSON."""
        products = self.facts.execute(
            "SELECT id, start, size FROM product WHERE size <= ?", (LONGEST_SAMPLE,)
        )
        chosen = nsmallest(SAMPLES, products, key=lambda row: place_in_sample(row[0]))
        starts, sizes = [row[1] for row in chosen], [row[2] for row in chosen]
        return self.products.read(starts, sizes)


def stage(folder: Path, sources: Sources, jobs: int | None) -> StagedFeeds:
    """Read all feeds into files of a folder.

    ``jobs``: how many processes share the work; None: one a processor.

    Of two documents about the stock of a UPC, or about what is recommended with a
    product, the first counts.
    """
    inventory = _feed(sources.inventory)
    feeds = {
        "product": _feed(sources.products),
        "inventory": inventory,
        "review": _feed(sources.reviews),
        "recommendation": _feed(sources.recommendations),
    }
    reading = _LocationReading(inventory)
    with shared(reading, inventory.blocks(), jobs) as results:
        locations = sorted(set().union(*results))

    blocks = [(kind, block) for kind, feed in feeds.items() for block in feed.blocks()]
    parts = [_FeedPart(number, *block) for number, block in enumerate(blocks)]
    work = _FeedReading(folder, feeds, StockReader(sources.site, locations))
    with shared(work, parts, jobs) as results_of_parts:
        shares = [share for share in results_of_parts if share]
    return _merged(folder, shares, locations)


# -- the feeds in parts ----------------------------------------------------------------


class _Feed(Protocol):
    """Documents of a kind, in parts that several can read; `Records` are such."""

    def blocks(self) -> Sequence[Any]: ...

    def read(self, block: Any) -> Iterable[Json]: ...


@dataclass(frozen=True)
class _OnePart:
    """Documents that stand in no file: one part has all of them."""

    documents: Iterable[Json]

    def blocks(self) -> Sequence[None]:
        return [None]

    def read(self, block: None) -> Iterable[Json]:
        return self.documents


def _feed(documents: Iterable[Json]) -> _Feed:
    return documents if isinstance(documents, Records) else _OnePart(documents)


class _FeedPart(NamedTuple):
    """A part of the documents of a kind. ``number``: its place among all parts."""

    number: int
    kind: str
    block: Any


class _StagedShare(NamedTuple):
    """What is written of some parts.

    ``name``: of its files. ``size``: the bytes of its products. ``attributes``: how many
    of these have each.
    """

    name: str
    size: int
    attributes: Counter[str]


# -- reading parts ---------------------------------------------------------------------


@dataclass(frozen=True)
class _LocationReading:
    """Reads parts of the stock for the stores that have something."""

    inventory: _Feed

    def __call__(self, blocks: Sequence[Any]) -> Iterator[set[int]]:
        for block in blocks:
            yield locations_of(self.inventory.read(block))


@dataclass(frozen=True)
class _FeedReading:
    """Writes the rows and products of parts into files.

    Of parts that are read together, only the last has a result, for all of them.
    """

    folder: Path
    feeds: Mapping[str, _Feed]
    stock: StockReader

    def __call__(self, parts: Sequence[_FeedPart]) -> Iterator[_StagedShare | None]:
        if not parts:
            return
        name = str(parts[0].number)  # no other process has this part
        with (
            closing(create(_facts_path(self.folder, name), FACTS)) as facts,
            open(_products_path(self.folder, name), "xb", WRITTEN_AT_ONCE) as file,
        ):
            products = _ProductWriter(file)
            row_of: Mapping[str, Callable[[Json], tuple[Any, ...]]] = {
                "product": products.row,
                "inventory": self.stock.row,
                "review": opinion,
                "recommendation": recommended,
            }
            for part in parts:
                if part is not parts[0]:
                    yield None
                insert = INSERTS[part.kind].format(part=part.number)
                documents = self.feeds[part.kind].read(part.block)
                facts.executemany(insert, map(row_of[part.kind], documents))
            facts.execute("COMMIT")
        yield _StagedShare(name, products.size, products.attributes)


class _ProductWriter:
    """Writes products to a file.

    ``size``: bytes that were written. ``attributes``: how many products have each.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.size = file, 0
        self.attributes: Counter[str] = Counter()

    def row(self, product: Json) -> tuple[Any, ...]:
        """Write a product. Return its row."""
        data = orjson.dumps(product)
        self.file.write(data)
        self.attributes.update(attributes_of(product))
        start, self.size = self.size, self.size + len(data)
        best = product.get("bestSeller")
        return product["id"], is_active(product), best, start, len(data)


def _facts_path(folder: Path, name: str) -> Path:
    return folder / f"{FACTS_FILE}-{name}"


def _products_path(folder: Path, name: str) -> Path:
    return folder / f"products-{name}"


# -- merging what was written ----------------------------------------------------------


def _merged(
    folder: Path, shares: Sequence[_StagedShare], locations: Sequence[int]
) -> StagedFeeds:
    """Copy the rows of all shares into the facts, and delete the files that had them."""
    facts = create(folder / FACTS_FILE, FACTS)
    facts.execute("COMMIT")  # within a transaction no file is detached
    attributes: Counter[str] = Counter()
    paths: list[Path] = []
    firsts: list[int] = []
    first = 0
    for share in shares:
        facts_path = _facts_path(folder, share.name)
        with attached(facts, facts_path, "share"):
            facts.execute(
                "INSERT INTO product SELECT id, active, best, start + ?, size"
                " FROM share.product",
                (first,),
            )
            for table in ("stock", "opinion", "recommendation"):
                facts.execute(f"INSERT INTO {table} SELECT * FROM share.{table}")
        facts_path.unlink()
        attributes.update(share.attributes)
        paths.append(_products_path(folder, share.name))
        firsts.append(first)
        first += share.size

    facts.execute("BEGIN")
    facts.execute(
        "INSERT OR IGNORE INTO stocked"
        " SELECT upc, online, stores FROM stock ORDER BY upc, part, rowid"
    )
    facts.execute("DROP TABLE stock")
    return StagedFeeds(ProductFiles(paths, firsts), facts, attributes, locations)
