"""catalog.sqlite is written: streams of documents → one file, in bounded memory, the same bytes for the same content.

Every stream is read once, into files beside the one being written. Products are numbered by a static rank (active
ones first; best sellers, then by id); from then on everything is made and written in the order of its key, so that no
table is ever in disorder, and what a list shows first lies side by side.
"""

import os
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from vitrine.content.processes import Progress, ordered, processors
from vitrine.content.yaml import Json
from vitrine.release.facets import BASIC, PRICE, Columns, count
from vitrine.release.product_rows import Made, Render, Row, Shop, categories, make_product
from vitrine.release.words import forms, indexed, stem

FORMAT = 1
"""Of catalog.sqlite; a reader refuses another."""

PAGE_SIZE = 16384
CHUNK = 500
"""Products that a process makes at a time."""

MAX_FACETS = 8
"""Attributes that are facets: the ones that most products carry."""
CARRIED_BY = 50
"""An attribute is a facet if one product in so many carries it, and two do,"""
MAX_VALUES = 1000
"""and if it has no more values than this."""

SPELT = 100_000
"""How many words, the most frequent ones, spelling is corrected to."""

LIMITED_QUANTITY = 3

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE number (id INTEGER PRIMARY KEY, rank INTEGER, updated INTEGER, digest BLOB);
CREATE TABLE document (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE part_element (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE part_rest3 (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE part_detail4 (rank INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE short (rank INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE upc (upc INTEGER PRIMARY KEY, product INTEGER, sku INTEGER, online INTEGER, stores BLOB);
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
CREATE TABLE word (word TEXT PRIMARY KEY, stem TEXT, products INTEGER) WITHOUT ROWID;
CREATE TABLE stem (stem TEXT PRIMARY KEY, products INTEGER) WITHOUT ROWID;
CREATE TABLE form (form TEXT, word TEXT, PRIMARY KEY (form, word)) WITHOUT ROWID;
CREATE VIRTUAL TABLE text USING fts5
  (name, brand, kind, attributes, description, content='', columnsize=0, detail=column, tokenize='ascii');
"""

FACTS = """
CREATE TABLE product (number INTEGER PRIMARY KEY, id INTEGER, active INTEGER, best INTEGER, start INTEGER,
                      size INTEGER);
CREATE TABLE stock (upc INTEGER, online INTEGER, stores BLOB);
CREATE TABLE opinion (product INTEGER, date TEXT, id TEXT, rating INTEGER, document BLOB);
CREATE TABLE recommendation (product INTEGER, products BLOB);
CREATE TABLE rating (product INTEGER PRIMARY KEY, one INTEGER, two INTEGER, three INTEGER, four INTEGER, five INTEGER);
"""

LATER = """
CREATE TABLE number (id INTEGER, rank INTEGER, updated INTEGER, digest BLOB);
CREATE TABLE upc (upc INTEGER, product INTEGER, sku INTEGER, online INTEGER);
CREATE TABLE listed (rank INTEGER PRIMARY KEY, id INTEGER, low INTEGER, rating INTEGER, name TEXT, days INTEGER,
                     best INTEGER);
CREATE TABLE member (collection INTEGER, member INTEGER, place INTEGER);
CREATE TABLE word (word TEXT, stem TEXT, products INTEGER);
CREATE TABLE stem (stem TEXT, products INTEGER);
"""

ORDERS = {
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
"""How each of the port's SORTS orders what is listed; bestseller_ascending is the rank itself."""


@dataclass(frozen=True)
class Sources:
    """What a catalog is made of; the iterables are read once each. ``categories`` as trees or with `parent`."""

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
) -> str:
    """Write the catalog; the digest of its rows is returned, with `FORMAT` before it. ``path`` must not exist."""
    path = path.absolute()  # a URI names nothing else
    with TemporaryDirectory(prefix=".catalog-", dir=path.parent) as folder:
        writer = _Writer(path, Path(folder), sources, render or (lambda product: {}), jobs or processors(), progress)
        return writer.write()


def _connect(path: Path, script: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in (f"page_size={PAGE_SIZE}", "journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA cache_size=-65536")
    connection.executescript(script)
    connection.execute("BEGIN")
    return connection


class _Writer:
    """One catalog being written."""

    def __init__(
        self, path: Path, folder: Path, sources: Sources, render: Render, jobs: int, progress: Progress | None
    ) -> None:
        self.path, self.folder, self.sources = path, folder, sources
        self.jobs, self.progress = jobs, progress
        settings = sources.site.get("catalog") or {}
        self.limit: int = settings.get("limited_quantity", LIMITED_QUANTITY)
        self.brand_url: str | None = settings.get("brand_url")
        self.shop = Shop(categories(sources.categories), {each["name"]: each for each in sources.brands}, (), render)
        self.locations: dict[int, int] = {}
        self.attributes: Counter[str] = Counter()
        self.featured: list[int] = []
        self.digest = sha256()

    def write(self) -> str:
        facts = self._read()
        self.out = _connect(self.path, SCHEMA)
        total, active = self._rank(facts)
        self._reviews(facts)
        facts.execute("COMMIT")
        facts.close()
        self.later = _connect(self.folder / "later", LATER)
        columns = self._products(total, active)
        self._sorted_tables()
        self._lists(columns, active)
        self._vocabulary()
        return self._finish(active)

    # -- the streams, once each --

    def _read(self) -> sqlite3.Connection:
        facts = _connect(self.folder / "facts", FACTS)
        self._read_products(facts)
        facts.executemany("INSERT INTO stock VALUES (?, ?, ?)", map(self._stock, self.sources.inventory))
        facts.execute("CREATE TABLE stocked (upc INTEGER PRIMARY KEY, online INTEGER, stores BLOB)")
        facts.execute("INSERT OR IGNORE INTO stocked SELECT upc, online, stores FROM stock ORDER BY upc, rowid")
        facts.execute("DROP TABLE stock")
        facts.executemany("INSERT INTO opinion VALUES (?, ?, ?, ?, ?)", map(_opinion, self.sources.reviews))
        given = ((each["product"], orjson.dumps(each["products"])) for each in self.sources.recommendations)
        facts.executemany("INSERT INTO recommendation VALUES (?, ?)", given)
        return facts

    def _read_products(self, facts: sqlite3.Connection) -> None:
        with open(self.folder / "products", "wb", buffering=1 << 20) as file:

            def staged() -> Iterator[tuple[Any, ...]]:
                start = 0
                for product in self.sources.products:
                    data = orjson.dumps(product)
                    file.write(data)
                    self.attributes.update({name.upper() for name in product.get("attributes", ())})
                    yield product["id"], product.get("active", True), product.get("bestSeller"), start, len(data)
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
        facets = [name for name in names if self.attributes[name] >= carried and name not in (*BASIC, PRICE)]
        self.shop = replace(self.shop, facets=facets[:MAX_FACETS])
        return total, active

    def _reviews(self, facts: sqlite3.Connection) -> None:
        """Each product's reviews side by side, the newest first; where they begin, and how many have how many stars."""
        order = "SELECT document FROM opinion ORDER BY product, date DESC, id"
        self._copy("INSERT INTO review VALUES (NULL, ?)", facts.execute(order))
        stars = ", ".join(f"sum(rating = {number})" for number in range(1, 6))
        facts.execute(f"INSERT INTO rating SELECT product, {stars} FROM opinion GROUP BY product ORDER BY product")
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

    def _products(self, total: int, active: int) -> Columns:
        columns = Columns(active, self.shop.facets)
        runs = [range(start, min(start + CHUNK, total + 1)) for start in range(1, total + 1, CHUNK)]
        self.postings: dict[int, array[int]] = {id: array("I") for id in self.shop.categories}
        with open(self.folder / "products", "rb") as self.products:
            for run, made in zip(runs, ordered(self._make, runs, self.jobs), strict=True):
                self._take(made, columns)
                if self.progress:
                    self.progress(run[-1], total)
        return columns

    def _make(self, ranks: Sequence[int]) -> Made:
        """Runs in a process of its own."""
        facts = sqlite3.connect(f"{(self.folder / 'facts').as_uri()}?mode=ro&immutable=1", uri=True)
        made = Made()

        def known(statement: str, number: int) -> Row | None:
            row: Row | None = facts.execute(statement, (number,)).fetchone()
            return row

        for rank in ranks:
            # not mapped: its pages would count as memory of the build
            product = orjson.loads(os.pread(self.products.fileno(), self.sizes[rank], self.starts[rank]))
            make_product(self.shop, known, rank, product, made)
        facts.close()
        return made

    def _take(self, made: Made, columns: Columns) -> None:
        for table, rows in made.rows.items():
            marks = ", ".join("?" * len(rows[0]))
            if table.startswith("later."):
                self.later.executemany(f"INSERT INTO {table[6:]} VALUES ({marks})", rows)
                continue
            names = "(rowid, name, brand, kind, attributes, description)" if table == "text" else ""
            self.out.executemany(f"INSERT INTO {table} {names} VALUES ({marks})", rows)
        self.featured += made.featured
        for rank, id, above, values in made.listed:
            columns.add(id, *values)
            for category in above:
                self.postings[category].append(rank)
        self.later.executemany("INSERT INTO stem VALUES (?, ?)", made.stems.items())
        words = ((word, stem(word), products) for word, products in made.words.items())
        self.later.executemany("INSERT INTO word VALUES (?, ?, ?)", words)

    # -- what has another order --

    def _sorted_tables(self) -> None:
        later = self.later
        self._copy("INSERT INTO number VALUES (?, ?, ?, ?)", later.execute("SELECT * FROM number ORDER BY id"))
        facts = sqlite3.connect(f"{(self.folder / 'facts').as_uri()}?mode=ro&immutable=1", uri=True)
        stores = facts.execute("SELECT upc, stores FROM stocked ORDER BY upc")
        rows = later.execute("SELECT * FROM upc ORDER BY upc")
        self._copy("INSERT OR IGNORE INTO upc VALUES (?, ?, ?, ?, ?)", _joined(rows, stores))
        order = "SELECT sku, product, upc FROM upc ORDER BY sku"
        self.out.executemany("INSERT OR IGNORE INTO sku VALUES (?, ?, ?)", later.execute(order))
        facts.close()
        merged = ((brand["name"], brand["id"], brand["url"]) for _, brand in sorted(self.shop.brands.items()))
        self._copy("INSERT INTO brand VALUES (?, ?, ?)", merged)
        self._copy("INSERT INTO family VALUES (?, ?, ?)", _families(later))

    def _lists(self, columns: Columns, active: int) -> None:
        """Columns by rank, the orders of lists, and each category's products and facets."""
        for name, order in ORDERS.items():
            places = array("I", bytes(4 * (active + 1)))
            for place, (rank,) in enumerate(self.later.execute(f"SELECT rank FROM listed ORDER BY {order}")):
                places[rank] = place
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, places.tobytes()))
        columns.drop(MAX_VALUES)
        for name, data in columns.encoded():
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, data))
        for number, facet in enumerate(columns.facets):
            self.out.execute("INSERT INTO facet VALUES (?, ?, ?, ?, ?, ?)", (number, *facet.encoded()))
        for id, category in sorted(self.shop.categories.items()):
            facets = count(columns.facets, columns.bands, self.postings[id])
            above: Json = {"parent": category.parent, "depth": len(category.line), "children": category.children}
            document = orjson.dumps(category.document | above)
            row = (id, document, self.postings[id].tobytes(), orjson.dumps(facets))
            self.out.execute("INSERT INTO category VALUES (?, ?, ?, ?)", row)
            self.digest.update(document)

    def _vocabulary(self) -> None:
        later, out = self.later, self.out
        rows = later.execute("SELECT stem, sum(products) FROM stem GROUP BY stem ORDER BY stem")
        out.executemany("INSERT INTO stem VALUES (?, ?)", rows)
        rows = later.execute("SELECT word, stem, sum(products) FROM word GROUP BY word ORDER BY word")
        out.executemany("INSERT INTO word VALUES (?, ?, ?)", rows)
        frequent = "SELECT word FROM word WHERE length(word) BETWEEN 3 AND 30 ORDER BY products DESC, word LIMIT ?"
        later.execute("CREATE TABLE form (form TEXT, word TEXT)")
        spelt = (word for (word,) in out.execute(frequent, (SPELT,)) if word.isalpha() and word.isascii())
        later.executemany("INSERT INTO form VALUES (?, ?)", ((form, word) for word in spelt for form in forms(word, 2)))
        rows = later.execute("SELECT form, word FROM form ORDER BY form, word")
        out.executemany("INSERT INTO form VALUES (?, ?)", rows)

    def _finish(self, active: int) -> str:
        synonyms = [[" ".join(indexed(text)) for text in group] for group in self.sources.synonyms]
        roots = [id for id, category in self.shop.categories.items() if category.parent is None]
        meta = {
            "format": FORMAT,
            "active": active,
            "featured": orjson.dumps(sorted(self.featured)),
            "roots": orjson.dumps(roots),
            "locations": orjson.dumps(list(self.locations)),
            "synonyms": orjson.dumps(synonyms),
            "brand_url": self.brand_url,
        }
        self._copy("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
        self.out.execute("INSERT INTO text(text) VALUES ('optimize')")
        self.out.execute("COMMIT")
        self.out.close()
        self.later.close()
        return f"{FORMAT}:{self.digest.hexdigest()}"


def _opinion(review: Json) -> tuple[Any, ...]:
    return review["product"], review["date"], review["id"], review["rating"], orjson.dumps(review)


def _joined(rows: Iterable[tuple[Any, ...]], stores: Iterator[tuple[int, bytes]]) -> Iterator[tuple[Any, ...]]:
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
