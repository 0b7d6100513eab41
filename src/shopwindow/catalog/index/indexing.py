"""Writing catalog.sqlite: streams of documents become one file.

Memory is bounded, whatever the number of products, and the same content gives the same
rows.

How a catalog is written. The feeds are read into files (`staging`). Products then get
their static rank: active ones first, best sellers before others, then by id (`_rank`).
From there on every table is written in the order of its key, so that its pages are
filled one after the other, and the products that a list shows first lie side by side.
Other processes read the feeds, compute the rows of `CHUNK` products each
(`product_work`), and count facets; this one writes them in order (`_take`). Rows whose
key is not the rank wait in a file and are sorted there (`_sorted_tables`). The words come last,
because they are counted over all products (`_words`).

If there is a previous catalog, a copy of it gets other rows where that is less work
(`updating`). The rows mean the same.
"""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from shopwindow.catalog.index import wording
from shopwindow.catalog.index.covered import BUCKETS, write_buckets
from shopwindow.catalog.index.facets import FacetColumns
from shopwindow.catalog.index.file import INDEX_FORMAT, create, reading
from shopwindow.catalog.index.packing import Packing, trained
from shopwindow.catalog.index.product_work import Chunk, ProductWork
from shopwindow.catalog.index.ranks import INACTIVE, rank_at
from shopwindow.catalog.index.rows import (
    ProductRows,
    Referred,
    categories,
    category_document,
    roots,
)
from shopwindow.catalog.index.sources import (
    RANK_ORDERS,
    RATINGS,
    REVIEWS_IN_ORDER,
    Sources,
    as_meta,
    chosen_facets,
    sort_column,
    stored_synonyms,
    write_reviews,
)
from shopwindow.catalog.index.staging import FACTS_FILE, stage
from shopwindow.catalog.index.updating import change
from shopwindow.content.reading.processes import Progress, shared

CHUNK = 500
"""Products whose rows a worker computes at a time.

Each chunk is one transfer between processes, and a worker holds the rows of one in
memory. The catalog's bytes do not depend on this number, and larger or smaller ones
work as well.
"""

CATEGORIES_COUNTED = 64
"""Categories whose facets a worker counts at a time. Most have few products, and to hand
one over may take longer than to count it. Larger or smaller numbers work as well.
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
) -> str:
    """Write a catalog. Return its format, a colon and the digest of its rows.

    Args:
        path: of the file, which must not exist.
        sources: the documents.
        jobs: worker processes; None: one for each processor.
        progress: is called with (products done, all products).
        previous: the intact catalog before, of this format, whose rows may be changed.
    """
    path = path.absolute()  # SQLite opens it by a URI, which has no relative paths
    with TemporaryDirectory(prefix=".catalog-", dir=path.parent) as name:
        folder = Path(name)
        if previous:
            stock_folder = folder / "stock"
            stock_folder.mkdir()
            read = partial(stage, stock_folder, jobs=jobs)
            digest = change(path, folder, sources, previous, MAX_FACET_VALUES, read)
            if digest:
                return f"{INDEX_FORMAT}:{digest}"
        return _IndexWriter(path, folder, sources, jobs, progress).write()


class _IndexWriter:
    """One catalog being written. ``folder`` takes files that are read again."""

    def __init__(
        self,
        path: Path,
        folder: Path,
        sources: Sources,
        jobs: int | None,
        progress: Progress | None,
    ) -> None:
        self.path, self.folder, self.sources = path, folder, sources
        self.jobs, self.progress = jobs, progress
        self.shop = Referred(
            categories(sources.categories),
            {brand["name"]: brand for brand in sources.brands},
        )
        self.featured: list[int] = []

    def write(self) -> str:
        staged = stage(self.folder, self.sources, self.jobs)
        facts, self.attributes = staged.facts, staged.attributes
        self.staged_products = staged.products
        script = SCHEMA + BUCKETS + wording.TABLES + wording.TEXT_INDEX
        self.out = create(self.path, script)
        self._rank(facts)
        self._reviews(facts)
        self.later = create(self.folder / "later", LATER_TABLES)
        packing = Packing(trained(staged.samples()))
        self.shop = replace(self.shop, packing=packing)
        facts.execute("COMMIT")
        facts.close()
        columns = self._products()
        self._sorted_tables()
        self._lists(columns)
        self._words()
        return self._finish(staged.locations)

    # -- what was read of the feeds --

    def _rank(self, facts: sqlite3.Connection) -> None:
        """Give products their ranks and choose the facets.

        ``ranks``, ``starts`` and ``sizes`` have an entry for each product, in their
        order: its rank, and where it stands in the file. The first ``active`` are active.
        """
        self.ranks, self.starts, self.sizes = array("Q"), array("Q"), array("I")
        order = "SELECT start, size FROM product ORDER BY active DESC, best IS NULL, best, id"
        for start, size in facts.execute(order):
            self.starts.append(start)
            self.sizes.append(size)
        (self.active,) = facts.execute(
            "SELECT count(*) FROM product WHERE active"
        ).fetchone()
        self.total = len(self.starts)
        inactive = self.total - self.active
        self.ranks.extend(map(rank_at, range(1, self.active + 1)))
        self.ranks.extend(range(INACTIVE, INACTIVE + inactive))
        facets = chosen_facets(self.attributes, self.total)
        self.shop = replace(self.shop, facets=facets)

    def _reviews(self, facts: sqlite3.Connection) -> None:
        """Write reviews, ratings and recommendations."""
        facts.execute(f"INSERT INTO rating {RATINGS}")
        ratings = facts.execute("SELECT * FROM rating ORDER BY product")
        write_reviews(self.out, facts.execute(REVIEWS_IN_ORDER), ratings)
        facts.execute("DROP TABLE opinion")
        order = (
            "SELECT product, products FROM recommendation ORDER BY product, part, rowid"
        )
        self.out.executemany(
            "INSERT OR IGNORE INTO recommendation VALUES (?, ?)", facts.execute(order)
        )

    # -- the products, by rank --

    def _products(self) -> FacetColumns:
        """Write the rows of all products. Return the columns of the active ones."""
        columns = FacetColumns(self.shop.facets)
        self.postings: dict[int, array[int]] = {
            id: array("I") for id in self.shop.categories
        }
        chunks, done = self._chunks(self.total), 0
        with shared(self._work().rows, chunks, self.jobs) as results:
            for chunk, rows in zip(chunks, results, strict=True):
                self._take(rows, columns)
                done += len(chunk.ranks)
                if self.progress:
                    self.progress(done, self.total)
        return columns

    def _work(self) -> ProductWork:
        return ProductWork(self.folder, self.staged_products, self.shop)

    def _chunks(self, products: int) -> list[Chunk]:
        """Return the first products in chunks."""
        parts = (
            slice(start, min(start + CHUNK, products))
            for start in range(0, products, CHUNK)
        )
        return [
            Chunk(self.ranks[part], self.starts[part], self.sizes[part])
            for part in parts
        ]

    def _take(self, chunk: ProductRows, columns: FacetColumns) -> None:
        """Write the rows of a chunk."""
        for table, rows in chunk.rows.items():
            marks = ", ".join("?" * len(rows[0]))
            is_sorted_first = table.startswith("later.")
            out = self.later if is_sorted_first else self.out
            name = table.removeprefix("later.")
            out.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        listed = ((rank, *one.row) for rank, one in chunk.listed)
        self.out.executemany("INSERT INTO listed VALUES (?, ?, ?, ?, ?, ?, ?)", listed)
        self.featured += chunk.featured
        for rank, one in chunk.listed:
            id, *_ = one.row
            columns.add(rank, id, one.cents, one.values)
            for category in one.categories:
                self.postings[category].append(rank)

    # -- tables whose order is not that of ranks --

    def _sorted_tables(self) -> None:
        """Write the tables by id, UPC, sku and name."""
        later = self.later
        self.out.executemany(
            "INSERT INTO number VALUES (?, ?, ?, ?, ?)",
            later.execute("SELECT * FROM number ORDER BY id"),
        )
        facts = reading(self.folder / FACTS_FILE)
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

    def _lists(self, columns: FacetColumns) -> None:
        """Write the columns by rank, and the products and facets of each category.

        The column of a sort has the place of each product in that order.
        """
        for name in RANK_ORDERS:
            column = sort_column(self.out, name, len(columns.ids))
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, column))
        columns.drop(MAX_FACET_VALUES)
        for name, data in columns.encoded():
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, data))
        for number, facet in enumerate(columns.facets):
            self.out.execute(
                "INSERT INTO facet VALUES (?, ?, ?, ?, ?, ?)",
                (number, *facet.encoded()),
            )

        in_order = sorted(self.shop.categories.items())
        postings = [self.postings[id] for id, _ in in_order]
        parts = [
            postings[start : start + CATEGORIES_COUNTED]
            for start in range(0, len(postings), CATEGORIES_COUNTED)
        ]
        with shared(columns.counts, parts, self.jobs) as counts:
            facets_in_order = chain.from_iterable(counts)
            rows = (
                (id, category_document(category), ranks.tobytes(), facets)
                for (id, category), ranks, facets in zip(
                    in_order, postings, facets_in_order, strict=True
                )
            )
            self.out.executemany("INSERT INTO category VALUES (?, ?, ?, ?)", rows)

    def _words(self) -> None:
        """Write what active products are found by."""
        chunks = self._chunks(self.active)
        with shared(self._work().words, chunks, self.jobs) as worded:
            wording.make(self.out, self.folder, worded)

    def _finish(self, locations: Sequence[int]) -> str:
        """Write what stands once in a catalog, and close it. Return format and digest."""
        meta = {
            "dictionary": self.shop.packing.dictionary,
            "format": INDEX_FORMAT,
            "active": self.active,
            "featured": orjson.dumps(sorted(self.featured)),
            "roots": orjson.dumps(roots(self.shop.categories)),
            "locations": orjson.dumps(locations),
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
