"""catalog.sqlite is written: streams of documents → one file, in bounded memory, the same bytes
for the same content.

Every stream is read once, into files beside the one being written. Products are numbered by a
static rank (active ones first; best sellers, then by id); from then on everything is made and
written in the order of its key, so that no table is ever in disorder, and what a list shows
first lies side by side.
"""

import os
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from shopwindow.catalog.index import wording
from shopwindow.catalog.index.facets import BASIC, FacetColumns, count
from shopwindow.catalog.index.file import create, reading
from shopwindow.catalog.index.previous import PreviousCatalog, usable
from shopwindow.catalog.index.rows import (
    IndexRow,
    Made,
    Referred,
    Render,
    Runs,
    categories,
    make_product,
    words_of,
)
from shopwindow.catalog.index.wording import Worded
from shopwindow.catalog.index.words import indexed
from shopwindow.catalog.protocol import PRICE
from shopwindow.content.processes import Progress, processors, shared
from shopwindow.content.yaml import Json

INDEX_FORMAT = 2
"""Of catalog.sqlite; a reader refuses another."""

CHUNK = 500
"""Products that a process makes at a time."""
CHUNKS_WORDED = 4
"""So many times more products are worded at a time: the more there are, the more words they
have in common.
"""

MAX_FACETS = 8
"""Attributes that are facets: the ones that most products carry."""
CARRIED_BY = 50
"""An attribute is a facet if one product in so many carries it, and two do,"""
MAX_FACET_VALUES = 1000
"""and if it has no more values than this."""

LIMITED_QUANTITY = 3

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE number (id INTEGER PRIMARY KEY, rank INTEGER, updated INTEGER, digest BLOB);
CREATE TABLE document (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE part_element (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE part_rest3 (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE part_detail4 (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE upc (upc INTEGER PRIMARY KEY, product INTEGER, sku INTEGER, stores BLOB);
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

STORED = ("document", "part_element", "part_rest3", "part_detail4")
"""The tables of what is stored of a product, by rank."""

FACTS = """
CREATE TABLE product (number INTEGER PRIMARY KEY, id INTEGER, active INTEGER, best INTEGER, start INTEGER,
                      size INTEGER);
CREATE TABLE stock (upc INTEGER, online INTEGER, stores BLOB);
CREATE TABLE opinion (product INTEGER, date TEXT, id TEXT, rating INTEGER, document BLOB);
CREATE TABLE recommendation (product INTEGER, products BLOB);
CREATE TABLE rating (product INTEGER PRIMARY KEY, one INTEGER, two INTEGER, three INTEGER, four INTEGER, five INTEGER);
"""

LATER_TABLES = """
CREATE TABLE number (id INTEGER, rank INTEGER, updated INTEGER, digest BLOB);
CREATE TABLE upc (upc INTEGER, product INTEGER, sku INTEGER);
CREATE TABLE listed (rank INTEGER PRIMARY KEY, id INTEGER, low INTEGER, rating INTEGER, name TEXT, days INTEGER,
                     best INTEGER);
CREATE TABLE member (collection INTEGER, member INTEGER, place INTEGER);
"""

RANK_ORDERS = {
    "price_ascending": "low, id",
    "price_descending": "low DESC, id",
    "rating_ascending": "rating IS NULL, rating, id",
    "rating_descending": "rating IS NULL, rating DESC, id",
    "name_ascending": "name, id",
    "name_descending": "name DESC, id",
    "newness_ascending": "days IS NULL, days DESC, id",
    "newness_descending": "days IS NULL, days, id",
    "bestseller_descending": "best IS NULL, best DESC, id",
}
"""How each of the port's SORTS orders what is listed; bestseller_ascending is the rank itself.
"""


@dataclass(frozen=True)
class Sources:
    """What a catalog is made of; the iterables are read once each. ``categories`` as trees or
    with `parent`.
    """

    site: Mapping[str, Json] = field(default_factory=dict)
    categories: Iterable[Json] = ()
    brands: Iterable[Json] = ()
    products: Iterable[Json] = ()
    inventory: Iterable[Json] = ()
    reviews: Iterable[Json] = ()
    recommendations: Iterable[Json] = ()
    synonyms: Sequence[Sequence[str]] = ()


def write(
    path: Path,
    sources: Sources,
    render: Render | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    previous: Path | None = None,
) -> str:
    """Write the catalog; the digest of its rows is returned, with `FORMAT` before it. ``path``
    must not exist.

    ``previous``: a catalog that this program made with the same ``render``. What is in it
    already is taken from there; the bytes are the same as without it.
    """
    path = path.absolute()  # a URI names nothing else
    index = PreviousCatalog(previous) if previous and usable(previous, INDEX_FORMAT) else None
    with TemporaryDirectory(prefix=".catalog-", dir=path.parent) as folder:
        own = render or (lambda product: {})
        return _IndexWriter(
            path, Path(folder), sources, own, jobs or processors(), progress, index
        ).write()


class _IndexWriter:
    """One catalog being written."""

    def __init__(
        self,
        path: Path,
        folder: Path,
        sources: Sources,
        render: Render,
        jobs: int,
        progress: Progress | None,
        previous: PreviousCatalog | None,
    ) -> None:
        self.path, self.folder, self.sources = path, folder, sources
        self.jobs, self.progress, self.previous = jobs, progress, previous
        settings = sources.site.get("catalog") or {}
        self.limit: int = settings.get("limited_quantity", LIMITED_QUANTITY)
        self.brand_url: str | None = settings.get("brand_url")
        self.shop = Referred(
            categories(sources.categories),
            {each["name"]: each for each in sources.brands},
            (),
            render,
        )
        self.locations: dict[int, int] = {}
        self.attributes: Counter[str] = Counter()
        self.featured: list[int] = []
        self.worded: list[tuple[range, Runs]] = []
        self.digest = sha256()

    def write(self) -> str:
        facts = self._read()
        old = self.previous.path if self.previous else None
        self.out = create(self.path, SCHEMA + wording.TABLES + wording.TEXT, old)
        total, active = self._rank(facts)
        self._reviews(facts)
        facts.execute("COMMIT")
        facts.close()
        self.later = create(self.folder / "later", LATER_TABLES)
        with open(self.folder / "products", "rb") as self.products:
            columns = self._products(total, active)
            self._sorted_tables()
            self._lists(columns, active)
            self._words(active)
        return self._finish(active)

    # -- the streams, once each --

    def _read(self) -> sqlite3.Connection:
        facts = create(self.folder / "facts", FACTS)
        self._read_products(facts)
        facts.executemany(
            "INSERT INTO stock VALUES (?, ?, ?)", map(self._stock, self.sources.inventory)
        )
        facts.execute(
            "CREATE TABLE stocked (upc INTEGER PRIMARY KEY, online INTEGER, stores BLOB)"
        )
        facts.execute(
            "INSERT OR IGNORE INTO stocked SELECT upc, online, stores FROM stock ORDER BY upc, rowid"
        )
        facts.execute("DROP TABLE stock")
        facts.executemany(
            "INSERT INTO opinion VALUES (?, ?, ?, ?, ?)", map(_opinion, self.sources.reviews)
        )
        given = (
            (each["product"], orjson.dumps(each["products"]))
            for each in self.sources.recommendations
        )
        facts.executemany("INSERT INTO recommendation VALUES (?, ?)", given)
        return facts

    def _read_products(self, facts: sqlite3.Connection) -> None:
        with open(self.folder / "products", "wb", buffering=1 << 20) as file:

            def staged() -> Iterator[tuple[Any, ...]]:
                start = 0
                for product in self.sources.products:
                    data = orjson.dumps(product)
                    file.write(data)
                    self.attributes.update(
                        {name.upper() for name in product.get("attributes", ())}
                    )
                    yield (
                        product["id"],
                        product.get("active", True),
                        product.get("bestSeller"),
                        start,
                        len(data),
                    )
                    start += len(data)

            facts.executemany("INSERT INTO product VALUES (NULL, ?, ?, ?, ?, ?)", staged())

    def _stock(self, document: Json) -> tuple[int, int | None, bytes | None]:
        """Two bits a store, in the order in which stores are met: 0 nothing, 1 limited, 2 more."""
        stores, places, limit = bytearray(), self.locations, self.limit
        for text, quantity in document.get("stores", {}).items():
            if quantity:
                place = places.setdefault(int(text), len(places))
                if place >> 2 >= len(stores):
                    stores.extend(bytes((place >> 2) + 1 - len(stores)))
                stores[place >> 2] |= (1 if quantity <= limit else 2) << (place & 3) * 2
        return int(document["upc"]), document.get("site"), bytes(stores) or None

    def _rank(self, facts: sqlite3.Connection) -> tuple[int, int]:
        """How many products there are, and how many active ones; `starts` and `sizes` by rank."""
        self.starts, self.sizes = array("Q", (0,)), array("I", (0,))
        order = "SELECT start, size FROM product ORDER BY active DESC, best IS NULL, best, id"
        for start, size in facts.execute(order):
            self.starts.append(start)
            self.sizes.append(size)
        (active,) = facts.execute("SELECT count(*) FROM product WHERE active").fetchone()
        total = len(self.starts) - 1
        carried = max(2, total / CARRIED_BY)
        names = sorted(self.attributes, key=lambda name: (-self.attributes[name], name))
        facets = [
            name
            for name in names
            if self.attributes[name] >= carried and name not in (*BASIC, PRICE)
        ]
        self.shop = replace(self.shop, facets=facets[:MAX_FACETS])
        return total, active

    def _reviews(self, facts: sqlite3.Connection) -> None:
        """Each product's reviews side by side, the newest first; where they begin, and how many
        have how many stars.
        """
        order = "SELECT document FROM opinion ORDER BY product, date DESC, id"
        self._copy("INSERT INTO review VALUES (NULL, ?)", facts.execute(order))
        stars = ", ".join(f"sum(rating = {number})" for number in range(1, 6))
        facts.execute(
            f"INSERT INTO rating SELECT product, {stars} FROM opinion GROUP BY product ORDER BY product"
        )
        facts.execute("DROP TABLE opinion")
        first = 1

        def placed() -> Iterator[tuple[Any, ...]]:
            nonlocal first
            for product, *counts in facts.execute("SELECT * FROM rating ORDER BY product"):
                yield product, first, *counts
                first += sum(counts)

        self._copy("INSERT INTO rating VALUES (?, ?, ?, ?, ?, ?, ?)", placed())
        order = "SELECT product, products FROM recommendation ORDER BY product, rowid"
        self._copy("INSERT OR IGNORE INTO recommendation VALUES (?, ?)", facts.execute(order))

    def _copy(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows are written, and counted in the digest."""
        digest = self.digest

        def noted() -> Iterator[tuple[Any, ...]]:
            for row in rows:
                digest.update(repr(row).encode())
                yield row

        digest.update(statement.encode())
        self.out.executemany(statement, noted())

    # -- the products, by rank --

    def _products(self, total: int, active: int) -> FacetColumns:
        columns = FacetColumns(active, self.shop.facets)
        runs = [
            range(start, min(start + CHUNK, total + 1)) for start in range(1, total + 1, CHUNK)
        ]
        self.postings: dict[int, array[int]] = {id: array("I") for id in self.shop.categories}
        with shared(partial(map, self._make), runs, self.jobs) as results:
            for run, made in zip(runs, results, strict=True):
                self._take(run[0], made, columns)
                if self.progress:
                    self.progress(run[-1], total)
        return columns

    def _make(self, ranks: Sequence[int]) -> Made:
        """Runs in a process of its own."""
        facts = reading(self.folder / "facts")
        made = Made()

        def known(statement: str, number: int) -> IndexRow | None:
            row: IndexRow | None = facts.execute(statement, (number,)).fetchone()
            return row

        for rank in ranks:
            make_product(self.shop, known, rank, self._product(rank), made, self.previous)
        facts.close()
        return made

    def _product(self, rank: int) -> Json:
        # not mapped: its pages would count as memory of the build
        return orjson.loads(
            os.pread(self.products.fileno(), self.sizes[rank], self.starts[rank])
        )

    def _take(self, first: int, made: Made, columns: FacetColumns) -> None:
        """What was made of the products from rank ``first`` on."""
        for table in STORED:
            self._store(table, first, made)
        for table, rows in made.rows.items():
            if table.startswith("later."):
                marks = ", ".join("?" * len(rows[0]))
                self.later.executemany(f"INSERT INTO {table[6:]} VALUES ({marks})", rows)
        self.featured += made.featured
        if made.worded:
            ranks = range(first, first + sum(number for number, _ in made.worded))
            self.worded.append((ranks, made.worded))
        for rank, id, above, values in made.listed:
            columns.add(id, *values)
            for category in above:
                self.postings[category].append(rank)

    def _store(self, table: str, first: int, made: Made) -> None:
        """The rows of a table, in order, from where they are."""
        rows = iter(made.rows.get(table, ()))
        for products, was in made.stored:
            if was is None:
                self.out.executemany(
                    f"INSERT INTO {table} VALUES (?, ?)", islice(rows, products)
                )
            else:
                taken = f"INSERT INTO {table} SELECT rank + ?, data FROM old.{table} WHERE rank BETWEEN ? AND ?"
                self.out.execute(taken, (first - was, was, was + products - 1))
            first += products

    # -- what has another order --

    def _sorted_tables(self) -> None:
        later = self.later
        self._copy(
            "INSERT INTO number VALUES (?, ?, ?, ?)",
            later.execute("SELECT * FROM number ORDER BY id"),
        )
        facts = reading(self.folder / "facts")
        stores = facts.execute("SELECT upc, stores FROM stocked ORDER BY upc")
        rows = later.execute("SELECT * FROM upc ORDER BY upc")
        self._copy("INSERT OR IGNORE INTO upc VALUES (?, ?, ?, ?)", _joined(rows, stores))
        order = "SELECT sku, product, upc FROM upc ORDER BY sku"
        self.out.executemany("INSERT OR IGNORE INTO sku VALUES (?, ?, ?)", later.execute(order))
        facts.close()
        merged = (
            (brand["name"], brand["id"], brand["url"])
            for _, brand in sorted(self.shop.brands.items())
        )
        self._copy("INSERT INTO brand VALUES (?, ?, ?)", merged)
        self._copy("INSERT INTO family VALUES (?, ?, ?)", _families(later))

    def _lists(self, columns: FacetColumns, active: int) -> None:
        """Columns by rank, the orders of lists, and each category's products and facets."""
        for name, order in RANK_ORDERS.items():
            places = array("I", bytes(4 * (active + 1)))
            for place, (rank,) in enumerate(
                self.later.execute(f"SELECT rank FROM listed ORDER BY {order}")
            ):
                places[rank] = place
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, places.tobytes()))
        columns.drop(MAX_FACET_VALUES)
        for name, data in columns.encoded():
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, data))
        for number, facet in enumerate(columns.facets):
            self.out.execute(
                "INSERT INTO facet VALUES (?, ?, ?, ?, ?, ?)", (number, *facet.encoded())
            )
        for id, category in sorted(self.shop.categories.items()):
            facets = count(columns.facets, columns.bands, self.postings[id])
            above: Json = {
                "parent": category.parent,
                "depth": len(category.line),
                "children": category.children,
            }
            document = orjson.dumps(category.document | above)
            row = (id, document, self.postings[id].tobytes(), orjson.dumps(facets))
            self.out.execute("INSERT INTO category VALUES (?, ?, ?, ?)", row)
            self.digest.update(document)

    def _words(self, active: int) -> None:
        """What products are found by; where the order and the words of all are as they were,
        nothing is made.
        """
        previous = self.previous
        same = all(runs == [(len(ranks), ranks[0])] for ranks, runs in self.worded)
        if previous and previous.active == active and same:
            wording.take(
                self.out, (range(run[0][0][0], run[-1][0][-1] + 1) for run in self._together())
            )
            return
        made = sum(number for _, runs in self.worded for number, was in runs if was is None)
        if not previous or made > active / 2:
            self.previous = None
            self.worded = [(ranks, Runs([(len(ranks), None)])) for ranks, _ in self.worded]
        wording.make(
            self.out, self.folder, self._all_worded(active), old=self.previous is not None
        )

    def _all_worded(self, active: int) -> Iterator[Worded]:
        if self.previous:
            yield self._unworded(self.previous, active)
        with shared(partial(map, self._word), self._together(), self.jobs) as results:
            yield from results

    def _together(self) -> list[list[tuple[range, Runs]]]:
        return [
            self.worded[start : start + CHUNKS_WORDED]
            for start in range(0, len(self.worded), CHUNKS_WORDED)
        ]

    def _unworded(self, previous: PreviousCatalog, active: int) -> Worded:
        """The words of products that are gone, or no longer active."""
        worded = Worded()
        now = "SELECT id FROM main.number WHERE rank <= ?"
        gone = f"SELECT id FROM old.number WHERE rank <= ? AND id NOT IN ({now})"
        for (id,) in self.out.execute(gone, (previous.active, active)):
            self._forget(previous, id, worded)
        return worded

    def _forget(self, previous: PreviousCatalog, id: int, worded: Worded) -> None:
        was = previous.product(id)
        if was and was.rank <= previous.active:
            shop = replace(self.shop, categories=previous.categories)
            worded.count(words_of(shop, orjson.loads(was.document)), -1)

    def _word(self, asked: Sequence[tuple[range, Runs]]) -> Worded:
        """Runs in a process of its own."""
        worded = Worded()
        for ranks, runs in asked:
            self._word_run(ranks, runs, worded)
        return worded

    def _word_run(self, ranks: range, runs: Runs, worded: Worded) -> None:
        next_rank = iter(ranks)
        for products, was in runs:
            if was is not None and self.previous:
                for words in self.previous.words(was, products):
                    worded.add(next(next_rank), *words)
                continue
            for rank in islice(next_rank, products):
                product = self._product(rank)
                worded.make(self.shop, rank, product)
                if self.previous:
                    self._forget(self.previous, product["id"], worded)

    def _finish(self, active: int) -> str:
        synonyms = [
            [" ".join(indexed(text)) for text in group] for group in self.sources.synonyms
        ]
        roots = [id for id, category in self.shop.categories.items() if category.parent is None]
        meta = {
            "format": INDEX_FORMAT,
            "active": active,
            "featured": orjson.dumps(sorted(self.featured)),
            "roots": orjson.dumps(roots),
            "locations": orjson.dumps(list(self.locations)),
            "synonyms": orjson.dumps(synonyms),
            "brand_url": self.brand_url,
        }
        self._copy("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
        self.out.execute("COMMIT")
        self.out.close()
        self.later.close()
        return f"{INDEX_FORMAT}:{self.digest.hexdigest()}"


def _opinion(review: Json) -> tuple[Any, ...]:
    return (
        review["product"],
        review["date"],
        review["id"],
        review["rating"],
        orjson.dumps(review),
    )


def _joined(
    rows: Iterable[tuple[Any, ...]], stores: Iterator[tuple[int, bytes]]
) -> Iterator[tuple[Any, ...]]:
    """UPCs and what stores have of them: both in order."""
    upc, stock = next(stores, (None, None))
    for row in rows:
        while upc is not None and upc < row[0]:
            upc, stock = next(stores, (None, None))
        yield (*row, stock if upc == row[0] else None)


def _families(later: sqlite3.Connection) -> Iterator[tuple[int, bytes, bytes]]:
    """Each collection's members as written, and each member's collections by id."""
    rows = later.execute(
        "SELECT collection AS id, 0 AS way, place, member FROM member UNION ALL"
        " SELECT member, 1, collection, collection FROM member ORDER BY id, way, place"
    )
    for id, group in groupby(rows, key=itemgetter(0)):
        found: tuple[list[int], list[int]] = ([], [])
        for _, way, _, other in group:
            found[way].append(other)
        yield id, orjson.dumps(found[0]), orjson.dumps(found[1])
