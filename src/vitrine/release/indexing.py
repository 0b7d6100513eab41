"""catalog.sqlite is written: streams of documents → one file, in bounded memory, the same bytes for the same content.

Every stream is read once, into files beside the one being written. Products are numbered by a static rank (active
ones first; best sellers, then by id); from then on everything is made and written in the order of its key, so that no
table is ever in disorder, and what a list shows first lies side by side.
"""

import os
import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import orjson

from vitrine.content.processes import Progress, ordered, processors
from vitrine.content.yaml import Json
from vitrine.interface.ports import Part
from vitrine.release.facets import BASIC, Columns, count
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

Render = Callable[[Json], Mapping[Part, bytes]]
"""A product's document, with its computed members → parts of its answers, in JSON."""

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


class _Category(NamedTuple):
    """``line``: itself and the categories above it; ``text``: their names."""

    document: Json
    parent: int | None
    children: list[int]
    line: tuple[int, ...]
    text: str


class _Made(NamedTuple):
    """What one process made of a run of products, by table."""

    featured: list[int]
    rows: dict[str, list[tuple[Any, ...]]]
    listed: list[tuple[Any, ...]]
    words: Counter[str]
    stems: Counter[str]


class _Writer:
    """One catalog being written."""

    def __init__(
        self, path: Path, folder: Path, sources: Sources, render: Render, jobs: int, progress: Progress | None
    ) -> None:
        self.path, self.folder, self.sources, self.render = path, folder, sources, render
        self.jobs, self.progress = jobs, progress
        settings = sources.site.get("catalog") or {}
        self.limit: int = settings.get("limited_quantity", LIMITED_QUANTITY)
        self.brand_url: str | None = settings.get("brand_url")
        self.brands = {brand["name"]: brand for brand in sources.brands}
        self.locations: dict[int, int] = {}
        self.categories: dict[int, _Category] = {}
        self.attributes: Counter[str] = Counter()
        self.facets: list[str] = []
        self.featured: list[int] = []
        self.digest = sha256()

    def write(self) -> str:
        self.categories = _categories(self.sources.categories)
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
        self.facets = [name for name in names if self.attributes[name] >= carried and name not in BASIC][:MAX_FACETS]
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
        columns = Columns(active, self.facets)
        runs = [range(start, min(start + CHUNK, total + 1)) for start in range(1, total + 1, CHUNK)]
        self.postings: dict[int, array[int]] = {id: array("I") for id in self.categories}
        with open(self.folder / "products", "rb") as self.products:
            for made in ordered(self._make, runs, self.jobs):
                self._take(made, columns)
                if self.progress:
                    self.progress(columns.filled, total)
        return columns

    def _make(self, ranks: Sequence[int]) -> _Made:
        """Runs in a process of its own."""
        facts = sqlite3.connect(f"{(self.folder / 'facts').as_uri()}?mode=ro&immutable=1", uri=True)
        made = _Made([], {}, [], Counter(), Counter())
        for rank in ranks:
            # not mapped: its pages would count as memory of the build
            product = orjson.loads(os.pread(self.products.fileno(), self.sizes[rank], self.starts[rank]))
            _make_product(self, facts, rank, product, made)
        facts.close()
        return made

    def _take(self, made: _Made, columns: Columns) -> None:
        for table, rows in made.rows.items():
            marks = ", ".join("?" * len(rows[0]))
            if table.startswith("later."):
                self.later.executemany(f"INSERT INTO {table[6:]} VALUES ({marks})", rows)
                continue
            names = "(rowid, name, brand, kind, attributes, description)" if table == "text" else ""
            self.out.executemany(f"INSERT INTO {table} {names} VALUES ({marks})", rows)
        self.featured += made.featured
        for rank, id, categories, values in made.listed:
            columns.add(rank, id, *values)
            for category in categories:
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
        merged = ((brand["name"], brand["id"], brand["url"]) for _, brand in sorted(self.brands.items()))
        self._copy("INSERT INTO brand VALUES (?, ?, ?)", merged)
        self._copy("INSERT INTO family VALUES (?, ?, ?)", _families(later))

    def _lists(self, columns: Columns, active: int) -> None:
        """Columns by rank, the orders of lists, and each category's products and facets."""
        for name, order in ORDERS.items():
            places = array("I", bytes(4 * (active + 1)))
            for place, (rank,) in enumerate(self.later.execute(f"SELECT rank FROM listed ORDER BY {order}")):
                places[rank] = place
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, places.tobytes()))
        for name, data in columns.encoded():
            self.out.execute("INSERT INTO col VALUES (?, ?)", (name, data))
        columns.drop(MAX_VALUES)
        for number, facet in enumerate(columns.facets):
            self.out.execute("INSERT INTO facet VALUES (?, ?, ?, ?, ?, ?)", (number, *facet.encoded()))
        for id, category in sorted(self.categories.items()):
            facets = count(columns.facets, columns.price, self.postings[id])
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
        roots = [id for id, category in self.categories.items() if category.parent is None]
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


def _categories(documents: Iterable[Json]) -> dict[int, _Category]:
    """All categories by id, in their order, from trees and from lists with `parent`."""
    documents_by_id: dict[int, Json] = {}
    parents: dict[int, int | None] = {}

    def enter(document: Json, parent: int | None) -> None:
        documents_by_id[document["id"]] = document
        parents[document["id"]] = document.get("parent", parent)
        for child in document.get("categories", ()):
            enter(child, document["id"])

    for document in documents:
        enter(document, None)
    children: dict[int, list[int]] = {id: [] for id in documents_by_id}
    for id, above in parents.items():
        if above is not None:
            children[above].append(id)
    found: dict[int, _Category] = {}
    for id, document in documents_by_id.items():
        line = [id]
        while (above := parents[line[-1]]) is not None and above not in line:
            line.append(above)
        kept = {key: value for key, value in document.items() if key not in ("categories", "parent")}
        text = " ".join(documents_by_id[one]["name"] for one in line)
        found[id] = _Category(kept, parents[id], children[id], tuple(line), text)
    return found


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


# -- one product ---------------------------------------------------------------------------------------------------


def _make_product(writer: _Writer, facts: sqlite3.Connection, rank: int, product: Json, made: _Made) -> None:
    _complete(writer, facts, product)
    id, active = product["id"], product.get("active", True)
    document = orjson.dumps(product)
    digest = sha256(document)

    def row(table: str, *values: Any) -> None:
        made.rows.setdefault(table, []).append(values)

    row("document", rank, document)
    for part, data in writer.render(product).items():
        row(f"part_{part}", rank, data)
        digest.update(data)
    row("later.number", id, rank, _seconds(product.get("updated")), digest.digest()[:16])
    for entry in product.get("upcs", ()):
        row("later.upc", int(entry["upc"]), id, entry["sku"], entry["available"])
    for place, member in enumerate(product.get("members", ())):
        row("later.member", id, member, place)
    if not active:
        return
    if product.get("featured"):
        made.featured.append(id)
    low = round(product["priceLow"] * 100)
    best, days, rating = product.get("bestSeller"), product.get("startDays"), product.get("rating")
    stars = None if rating is None else round(rating * 10)
    row("later.listed", rank, id, low, stars, product["name"].casefold(), days, best)
    lines = (writer.categories[category].line for category in product["categories"] if category in writer.categories)
    colors = sorted({color["normal"] for color in product.get("colors", ())})
    sizes = sorted({size["normal"] for size in product.get("sizes", ())})
    brand = [product["brand"]] if "brand" in product else []
    carried: dict[str, set[str]] = {}
    for name, values in product.get("attributes", {}).items():
        carried.setdefault(name.upper(), set()).update(values)
    attributes = [sorted(carried.get(name, ())) for name in writer.facets]
    listed = (low, [brand, colors, sizes, *attributes])
    made.listed.append((rank, id, sorted(set(chain.from_iterable(lines))), listed))
    _index(writer, rank, product, made)


def _complete(writer: _Writer, facts: sqlite3.Connection, product: Json) -> None:
    """The computed members of the port."""
    price = product["price"]
    now = price.get("sale", price["regular"])
    low, high = (now["low"], now["high"]) if isinstance(now, dict) else (now, now)
    counts = facts.execute("SELECT one, two, three, four, five FROM rating WHERE product = ?", (product["id"],))
    stars = counts.fetchone() or (0, 0, 0, 0, 0)
    reviews = sum(stars)
    available = "upcs" not in product
    for entry in product.get("upcs", ()):
        stock = facts.execute("SELECT online FROM stocked WHERE upc = ?", (int(entry["upc"]),)).fetchone()
        entry["available"] = entry.get("active", True) and (stock is None or stock[0] is None or stock[0] > 0)
        available = available or entry["available"]
    product |= {"reviewCount": reviews, "available": available, "onsale": "sale" in price}
    product |= {"priceLow": float(low), "priceHigh": float(high)}
    if reviews:
        product["rating"] = average(stars)
    brand = writer.brands.get(product.get("brand"))
    if brand:
        product["brandId"] = brand["id"]


def average(stars: Sequence[int]) -> float:
    """Of the ratings, given how many have 1, 2, … stars: one decimal, halves upwards."""
    total = sum(stars)
    tenths = sum(number * found for number, found in enumerate(stars, 1)) * 10
    return (2 * tenths + total) // (2 * total) / 10 if total else 0.0


def _index(writer: _Writer, rank: int, product: Json, made: _Made) -> None:
    found = [indexed(text) for text in _texts(writer, product)]
    every = set(chain.from_iterable(found))
    made.words.update(every)
    made.stems.update(set(map(stem, every)))
    made.rows.setdefault("text", []).append((rank, *(" ".join(map(stem, words)) for words in found)))
    made.rows.setdefault("short", []).append((rank, "\n".join(" ".join(words) for words in found[:4])))


def _texts(writer: _Writer, product: Json) -> tuple[str, str, str, str, str]:
    """Name, brand, kind, attributes and description of a product."""
    categories = (writer.categories[id].text for id in product["categories"] if id in writer.categories)
    kind = " ".join((product.get("typeName", ""), *categories))
    values = list(chain.from_iterable(product.get("attributes", {}).values()))
    for color in product.get("colors", ()):
        values += (color["name"], color["normal"])
    values += (size["name"] for size in product.get("sizes", ()))
    description = " ".join((product.get("description", ""), *product.get("bullets", ())))
    return product["name"], product.get("brand", ""), kind, " ".join(dict.fromkeys(values)), description


def _seconds(instant: str | None) -> int | None:
    """An instant as milliseconds since 1970."""
    if instant is None:
        return None
    moment = datetime.fromisoformat(instant)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
