"""Writing catalog.sqlite: streams of documents become one file.

Memory is bounded, whatever the number of products, and the same content gives the same
rows.

How a catalog is written. Each stream is read once, into files beside the catalog
(`_read`). Products then get their static rank: active ones first, best sellers before
others, then by id (`_rank`). From there on every table is written in the order of its
key, so that its pages are filled one after the other, and the products that a list
shows first lie side by side. An Executor has others compute the rows of `CHUNK`
products each (`product_work`), and this process writes them in order (`_take`). Rows
whose key is not the rank wait in a file and are sorted there (`_sorted_tables`). The
words come last, because they are counted over all products (`_words`).

If there is a previous catalog and no product moves, a copy of it gets other rows
(`updating`). Else rows of products that did not change are copied from it, and its
dictionary is kept. The rows mean the same as without it.
"""

import os
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from heapq import nsmallest
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from shopwindow.catalog.index import wording
from shopwindow.catalog.index.covered import BUCKETS, write_buckets
from shopwindow.catalog.index.facets import FacetColumns, count
from shopwindow.catalog.index.file import create, reading
from shopwindow.catalog.index.packing import (
    LONGEST_SAMPLE,
    SAMPLES,
    Packing,
    place_in_sample,
    trained,
)
from shopwindow.catalog.index.previous import PreviousCatalog, usable
from shopwindow.catalog.index.product_work import (
    FACTS_FILE,
    PRODUCTS_FILE,
    Chunk,
    ProductWork,
)
from shopwindow.catalog.index.rows import (
    ProductRows,
    Referred,
    Runs,
    categories,
    category_document,
    roots,
)
from shopwindow.catalog.index.sources import (
    RANK_ORDERS,
    RATINGS,
    REVIEWS_IN_ORDER,
    Sources,
    StockReader,
    as_meta,
    attributes_of,
    chosen_facets,
    opinion,
    sort_column,
    stored_synonyms,
    write_reviews,
)
from shopwindow.catalog.index.updating import change
from shopwindow.catalog.index.wording import Worded
from shopwindow.content.executor import Executor, Processes
from shopwindow.content.processes import Progress
from shopwindow.content.scratch import scratch

INDEX_FORMAT = 5
"""The format of catalog.sqlite; a reader refuses any other."""

CHUNK = 500
"""Products whose rows a worker computes at a time.

Each chunk is one transfer between processes, and a worker holds the rows of one in
memory. The catalog's bytes do not depend on this number, and larger or smaller ones
work as well.
"""

CHUNKS_WORDED = 4
"""Chunks whose words a worker counts together.

The more products, the more words they share, and the fewer counts are written. The
catalog's bytes do not depend on this number, and larger or smaller ones work as well.
"""

MAX_FACET_VALUES = 1000
"""An attribute with more values is no facet: `facetexpandall` would list all of them.

Brands, colors and sizes are facets however many there are. Larger or smaller numbers
work as well; docs/explain/catalog-index.md names this one.
"""

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE number (id INTEGER PRIMARY KEY, rank INTEGER, updated INTEGER, digest BLOB, fed BLOB);
CREATE TABLE document (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE listed (rank INTEGER PRIMARY KEY, id INTEGER, low INTEGER, rating INTEGER, name TEXT, days INTEGER,
                     best INTEGER);
CREATE TABLE upc (upc INTEGER PRIMARY KEY, product INTEGER, sku INTEGER, handed_out INTEGER, online INTEGER,
                  stores BLOB);
CREATE TABLE sku (sku INTEGER PRIMARY KEY, product INTEGER, upc INTEGER);
CREATE TABLE category (id INTEGER PRIMARY KEY, document BLOB, products BLOB, facets BLOB);
CREATE TABLE brand (name TEXT PRIMARY KEY, id INTEGER, url TEXT) WITHOUT ROWID;
CREATE TABLE facet (number INTEGER PRIMARY KEY, name TEXT, displayname TEXT, vals BLOB, starts BLOB, codes BLOB);
CREATE TABLE col (name TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID;
CREATE TABLE rating (product INTEGER PRIMARY KEY, first INTEGER, one INTEGER, two INTEGER, three INTEGER,
                     four INTEGER, five INTEGER);
CREATE TABLE review (number INTEGER PRIMARY KEY, document BLOB);
CREATE TABLE recommendation (product INTEGER PRIMARY KEY, products BLOB);
CREATE TABLE family (id INTEGER PRIMARY KEY, members BLOB, collections BLOB);
"""

FACTS = """
CREATE TABLE product (number INTEGER PRIMARY KEY, id INTEGER, active INTEGER, best INTEGER, start INTEGER,
                      size INTEGER);
CREATE TABLE stock (upc INTEGER, online INTEGER, stores BLOB);
CREATE TABLE opinion (product INTEGER, date TEXT, id TEXT, rating INTEGER, document BLOB);
CREATE TABLE recommendation (product INTEGER, products BLOB);
CREATE TABLE rating (product INTEGER PRIMARY KEY, one INTEGER, two INTEGER, three INTEGER, four INTEGER, five INTEGER);
"""

LATER_TABLES = """
CREATE TABLE number (id INTEGER, rank INTEGER, updated INTEGER, digest BLOB, fed BLOB);
CREATE TABLE upc (upc INTEGER, product INTEGER, sku INTEGER, handed_out INTEGER);
CREATE TABLE member (collection INTEGER, member INTEGER, place INTEGER);
"""


def write(
    path: Path,
    sources: Sources,
    jobs: int | None = None,
    progress: Progress | None = None,
    previous: Path | None = None,
    executor: Executor | None = None,
) -> str:
    """Write a catalog. Return its format, a colon and the digest of its rows.

    Args:
        path: of the file, which must not exist.
        sources: the documents.
        jobs: worker processes; None: one for each processor.
        progress: is called with (products done, all products).
        previous: a catalog to copy from.
        executor: shares the work; None: the worker processes.
    """
    path = path.absolute()  # SQLite opens it by a URI, which has no relative paths
    is_usable = previous is not None and usable(previous, INDEX_FORMAT)
    chosen = executor or Processes(jobs)
    with (
        TemporaryDirectory(prefix=".catalog-", dir=path.parent) as folder,
        scratch(chosen.folder) if chosen.folder else nullcontext(folder) as seen,
    ):
        old = None
        if previous and is_usable:
            digest = change(path, Path(folder), sources, previous, MAX_FACET_VALUES)
            if digest:
                return f"{INDEX_FORMAT}:{digest}"
            is_elsewhere = chosen.folder is not None
            source = _copied(previous, Path(seen)) if is_elsewhere else previous
            old = PreviousCatalog(source)
        return _IndexWriter(
            path, Path(folder), Path(seen), sources, chosen, progress, old
        ).write()


def _copied(previous: Path, folder: Path) -> Path:
    """Return the path of a previous catalog in a folder that other machines see."""
    path = folder / "previous"
    try:
        os.link(previous, path)
    except OSError:  # another file system, or one without links
        copyfile(previous, path)
    return path


class _IndexWriter:
    """One catalog being written.

    Files that only this process reads are in ``folder``, and those of everybody who
    shares the work in ``seen_folder``.
    """

    def __init__(
        self,
        path: Path,
        folder: Path,
        seen_folder: Path,
        sources: Sources,
        executor: Executor,
        progress: Progress | None,
        previous: PreviousCatalog | None,
    ) -> None:
        self.path, self.folder, self.sources = path, folder, sources
        self.executor, self.seen_folder = executor, seen_folder
        self.progress, self.previous = progress, previous
        self.stock = StockReader(sources.site)
        self.shop = Referred(
            categories(sources.categories),
            {brand["name"]: brand for brand in sources.brands},
        )
        self.attributes: Counter[str] = Counter()
        self.featured: list[int] = []
        self.worded: list[tuple[range, Runs]] = []

    def write(self) -> str:
        facts = self._read()
        old = self.previous.path if self.previous else None
        script = SCHEMA + BUCKETS + wording.TABLES + wording.TEXT_INDEX
        self.out = create(self.path, script, old)
        total, active = self._rank(facts)
        self._reviews(facts)
        self.later = create(self.folder / "later", LATER_TABLES)
        self.shop = replace(self.shop, packing=self._packing(facts))
        facts.execute("COMMIT")
        facts.close()
        columns = self._products(total, active)
        self._sorted_tables()
        self._lists(columns, active)
        self._words(active)
        return self._finish(active)

    # -- the streams, once each --

    def _read(self) -> sqlite3.Connection:
        """Read all streams. Of two documents about the stock of a UPC, the first
        counts.
        """
        facts = create(self.seen_folder / FACTS_FILE, FACTS)
        self._read_products(facts)
        facts.executemany(
            "INSERT INTO stock VALUES (?, ?, ?)",
            map(self.stock.row, self.sources.inventory),
        )
        facts.execute(
            "CREATE TABLE stocked (upc INTEGER PRIMARY KEY, online INTEGER, stores BLOB)"
        )
        facts.execute(
            "INSERT OR IGNORE INTO stocked SELECT upc, online, stores FROM stock ORDER BY upc, rowid"
        )
        facts.execute("DROP TABLE stock")
        facts.executemany(
            "INSERT INTO opinion VALUES (?, ?, ?, ?, ?)",
            map(opinion, self.sources.reviews),
        )
        recommendations = (
            (document["product"], orjson.dumps(document["products"]))
            for document in self.sources.recommendations
        )
        facts.executemany("INSERT INTO recommendation VALUES (?, ?)", recommendations)
        return facts

    def _read_products(self, facts: sqlite3.Connection) -> None:
        """Write products to a file, and where each of them stands to the facts."""
        with open(self.seen_folder / PRODUCTS_FILE, "wb", buffering=1 << 20) as file:

            def staged() -> Iterator[tuple[Any, ...]]:
                start = 0
                for product in self.sources.products:
                    data = orjson.dumps(product)
                    file.write(data)
                    self.attributes.update(attributes_of(product))
                    yield (
                        product["id"],
                        product.get("active", True),
                        product.get("bestSeller"),
                        start,
                        len(data),
                    )
                    start += len(data)

            facts.executemany(
                "INSERT INTO product VALUES (NULL, ?, ?, ?, ?, ?)", staged()
            )

    def _rank(self, facts: sqlite3.Connection) -> tuple[int, int]:
        """Give products their ranks and choose the facets. Return how many there are,
        and active.

        ``starts`` and ``sizes`` say where the product of each rank stands in the file.
        """
        self.starts, self.sizes = array("Q", (0,)), array("I", (0,))
        order = "SELECT start, size FROM product ORDER BY active DESC, best IS NULL, best, id"
        for start, size in facts.execute(order):
            self.starts.append(start)
            self.sizes.append(size)
        (active,) = facts.execute(
            "SELECT count(*) FROM product WHERE active"
        ).fetchone()
        total = len(self.starts) - 1

        self.total = total
        self.shop = replace(self.shop, facets=chosen_facets(self.attributes, total))
        return total, active

    def _reviews(self, facts: sqlite3.Connection) -> None:
        """Write reviews, ratings and recommendations."""
        facts.execute(f"INSERT INTO rating {RATINGS}")
        ratings = facts.execute("SELECT * FROM rating ORDER BY product")
        write_reviews(self.out, facts.execute(REVIEWS_IN_ORDER), ratings)
        facts.execute("DROP TABLE opinion")
        order = "SELECT product, products FROM recommendation ORDER BY product, rowid"
        self.out.executemany(
            "INSERT OR IGNORE INTO recommendation VALUES (?, ?)", facts.execute(order)
        )

    def _packing(self, facts: sqlite3.Connection) -> Packing:
        """Return how documents are packed: with the previous catalog's dictionary, so
        that its rows can be copied, or with one that is trained on these products.
        """
        if self.previous:
            return self.previous.packing
        products = facts.execute(
            "SELECT id, start, size FROM product WHERE size <= ?", (LONGEST_SAMPLE,)
        )
        samples = nsmallest(SAMPLES, products, key=lambda row: place_in_sample(row[0]))
        with open(self.seen_folder / PRODUCTS_FILE, "rb") as opened:
            file = opened.fileno()
            return Packing(
                trained(os.pread(file, size, start) for _, start, size in samples)
            )

    # -- the products, by rank --

    def _products(self, total: int, active: int) -> FacetColumns:
        """Write the rows of all products. Return the columns of the active ones."""
        columns = FacetColumns(active, self.shop.facets)
        chunks = [
            range(start, min(start + CHUNK, total + 1))
            for start in range(1, total + 1, CHUNK)
        ]
        self.postings: dict[int, array[int]] = {
            id: array("I") for id in self.shop.categories
        }
        items = list(map(self._chunk, chunks))
        work = self._work().rows
        with self.executor.shared("rows", work, items) as results:
            for chunk, rows in zip(chunks, results, strict=True):
                self._take(chunk[0], rows, columns)
                if self.progress:
                    self.progress(chunk[-1], total)
        return columns

    def _work(self) -> ProductWork:
        return ProductWork(self.seen_folder, self.shop, self.previous)

    def _chunk(self, ranks: range) -> Chunk:
        """Return the products of these ranks."""
        places = slice(ranks.start, ranks.stop)
        return Chunk(ranks, self.starts[places], self.sizes[places])

    def _take(self, first: int, chunk: ProductRows, columns: FacetColumns) -> None:
        """Write the rows of a chunk, whose first product has the rank ``first``."""
        self._store(first, chunk)
        listed = chunk.rows.get("listed", ())
        self.out.executemany("INSERT INTO listed VALUES (?, ?, ?, ?, ?, ?, ?)", listed)
        for table, rows in chunk.rows.items():
            if table.startswith("later."):
                marks = ", ".join("?" * len(rows[0]))
                name = table.removeprefix("later.")
                self.later.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        self.featured += chunk.featured
        if chunk.worded:
            ranks = range(first, first + sum(count for count, _ in chunk.worded))
            self.worded.append((ranks, chunk.worded))
        for rank, id, in_categories, values in chunk.listed:
            columns.add(id, *values)
            for category in in_categories:
                self.postings[category].append(rank)

    def _store(self, first: int, chunk: ProductRows) -> None:
        """Write a chunk's documents in order; unchanged ones come from the previous
        catalog.
        """
        rows = iter(chunk.rows.get("document", ()))
        for products, was in chunk.stored:
            if was is None:
                self.out.executemany(
                    "INSERT INTO document VALUES (?, ?)", islice(rows, products)
                )
            else:
                copy = "INSERT INTO document SELECT rank + ?, data FROM old.document WHERE rank BETWEEN ? AND ?"
                self.out.execute(copy, (first - was, was, was + products - 1))
            first += products

    # -- tables whose order is not that of ranks --

    def _sorted_tables(self) -> None:
        """Write the tables by id, UPC, sku and name."""
        later = self.later
        self.out.executemany(
            "INSERT INTO number VALUES (?, ?, ?, ?, ?)",
            later.execute("SELECT * FROM number ORDER BY id"),
        )
        facts = reading(self.seen_folder / FACTS_FILE)
        stores = facts.execute("SELECT upc, online, stores FROM stocked ORDER BY upc")
        rows = later.execute("SELECT * FROM upc ORDER BY upc")
        self.out.executemany(
            "INSERT OR IGNORE INTO upc VALUES (?, ?, ?, ?, ?, ?)", _joined(rows, stores)
        )
        order = "SELECT sku, product, upc FROM upc ORDER BY sku"
        self.out.executemany(
            "INSERT OR IGNORE INTO sku VALUES (?, ?, ?)", later.execute(order)
        )
        facts.close()
        brands = (
            (brand["name"], brand["id"], brand["url"])
            for _, brand in sorted(self.shop.brands.items())
        )
        self.out.executemany("INSERT INTO brand VALUES (?, ?, ?)", brands)
        self.out.executemany("INSERT INTO family VALUES (?, ?, ?)", _families(later))

    def _lists(self, columns: FacetColumns, active: int) -> None:
        """Write the columns by rank, and the products and facets of each category.

        The column of a sort has the place of each product in that order.
        """
        for name in RANK_ORDERS:
            column = sort_column(self.out, name, active)
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, column))
        columns.drop(MAX_FACET_VALUES)
        for name, data in columns.encoded():
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, data))
        for number, facet in enumerate(columns.facets):
            self.out.execute(
                "INSERT INTO facet VALUES (?, ?, ?, ?, ?, ?)",
                (number, *facet.encoded()),
            )

        for id, category in sorted(self.shop.categories.items()):
            facets = count(columns.facets, columns.bands, self.postings[id])
            document = category_document(category)
            row = (id, document, self.postings[id].tobytes(), orjson.dumps(facets))
            self.out.execute("INSERT INTO category VALUES (?, ?, ?, ?)", row)

    def _words(self, active: int) -> None:
        """Write what products are found by.

        If all active products have the ranks and words that they had before, it is
        copied. If more than half of them have new words, the previous catalog's are not
        used: subtracting the old ones would take longer than counting again.
        """
        previous = self.previous
        is_same = all(runs == [(len(ranks), ranks[0])] for ranks, runs in self.worded)
        if previous and previous.active == active and is_same:
            batches = self._batches()
            whole = (range(batch[0][0][0], batch[-1][0][-1] + 1) for batch in batches)
            wording.take(self.out, whole)
            return
        new = sum(
            count for _, runs in self.worded for count, was in runs if was is None
        )
        if not previous or new > active / 2:
            self.previous = None
            self.worded = [
                (ranks, Runs([(len(ranks), None)])) for ranks, _ in self.worded
            ]
        wording.make(
            self.out,
            self.folder,
            self._all_worded(active),
            old=self.previous is not None,
        )

    def _all_worded(self, active: int) -> Iterator[Worded]:
        """Yield the words of all products, those that are gone first."""
        if self.previous:
            yield self._gone(self.previous, active)
        batches = [
            [(self._chunk(ranks), runs) for ranks, runs in batch]
            for batch in self._batches()
        ]
        with self.executor.shared("words", self._work().words, batches) as results:
            yield from results

    def _batches(self) -> list[list[tuple[range, Runs]]]:
        """Return the chunks whose words are counted together."""
        return [
            self.worded[start : start + CHUNKS_WORDED]
            for start in range(0, len(self.worded), CHUNKS_WORDED)
        ]

    def _gone(self, previous: PreviousCatalog, active: int) -> Worded:
        """Count off the words of products that are gone, or no longer active."""
        worded, work = Worded(), self._work()
        now = "SELECT id FROM main.number WHERE rank <= ?"
        gone = f"SELECT id FROM old.number WHERE rank <= ? AND id NOT IN ({now})"
        for (id,) in self.out.execute(gone, (previous.active, active)):
            work.forget(previous, id, worded)
        return worded

    def _finish(self, active: int) -> str:
        """Write what stands once in a catalog, and close it. Return format and digest."""
        meta = {
            "dictionary": self.shop.packing.dictionary,
            "format": INDEX_FORMAT,
            "active": active,
            "featured": orjson.dumps(sorted(self.featured)),
            "roots": orjson.dumps(roots(self.shop.categories)),
            "locations": orjson.dumps(list(self.stock.locations)),
            "synonyms": stored_synonyms(self.sources),
            "brand_url": (self.sources.site.get("catalog") or {}).get("brand_url"),
            **as_meta(self.sources, self.attributes, self.total),
        }
        self.out.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
        digest = write_buckets(self.out)
        self.out.execute("COMMIT")
        self.out.close()
        self.later.close()
        return f"{INDEX_FORMAT}:{digest}"


def _joined(
    rows: Iterable[tuple[Any, ...]], stocked: Iterator[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of UPCs with the stock that the site and stores have of them; both
    are in order.
    """
    upc, *stock = next(stocked, NOT_STOCKED)
    for row in rows:
        while upc is not None and upc < row[0]:
            upc, *stock = next(stocked, NOT_STOCKED)
        yield (*row, *(stock if upc == row[0] else NOT_STOCKED[1:]))


NOT_STOCKED = (None, None, None)
"""What stands for a UPC of which no document says the stock."""


def _families(later: sqlite3.Connection) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (id, its members, its collections) for collections and their members, by
    id.

    Members are in the order of the document, collections in order of id.
    """
    rows = later.execute(
        "SELECT collection AS id, 0 AS way, place, member FROM member UNION ALL"
        " SELECT member, 1, collection, collection FROM member ORDER BY id, way, place"
    )
    for id, group in groupby(rows, key=itemgetter(0)):
        members: list[int] = []
        collections: list[int] = []
        for _, is_member, _, other in group:
            (collections if is_member else members).append(other)
        yield id, orjson.dumps(members), orjson.dumps(collections)
