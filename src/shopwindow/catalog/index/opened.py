"""The catalog of a release: the verbs of catalog.protocol.Catalog, from one read-only SQLite
file.

The file never changes, so it is opened immutable and without locks; as much of it as SQLite can
map is mapped, the rest lies in the system's page cache: all processes share both. Each thread
has a connection of its own, and a forked process makes new ones.
"""

import os
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import orjson

from shopwindow.catalog.index import facets as counting
from shopwindow.catalog.index import searching as search
from shopwindow.catalog.index.facets import Combinations, keep
from shopwindow.catalog.index.indexing import INDEX_FORMAT
from shopwindow.catalog.index.rows import Render, average
from shopwindow.catalog.index.words import stem
from shopwindow.catalog.parts import PART_VIEWS, surroundings
from shopwindow.catalog.protocol import PRICE, Facet, Page, Part, ProductQuery, Range, Reviews
from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.index import HandedOut
from shopwindow.retail.articles import Status

MAPPED = 1 << 40
"""Bytes of the file that may be mapped: all of it. SQLite keeps to its own limit, usually 2
GiB.
"""

CACHED = -16384
"""KiB of pages beyond those that a connection keeps: the upper levels of every tree."""

TOO_LARGE = 1 << 63
"""What SQLite's integers end before."""

MARKS = 900
"""How many ids one statement asks for."""

Ranking = Callable[[Sequence[int], int], Sequence[int]]

STATUS: tuple[Status, Status, Status, Status] = (
    "UNAVAILABLE",
    "LIMITED",
    "AVAILABLE",
    "AVAILABLE",
)


def open_index(path: Path) -> "OpenedCatalog":
    """The catalog in a file. Raises ValueError where it is of another format, sqlite3.Error
    where it is none.
    """
    index = OpenedCatalog(path)
    if index.meta["format"] != INDEX_FORMAT:
        raise ValueError(
            f"{path}: format {index.meta['format']}, not {INDEX_FORMAT}; build the release again"
        )
    return index


def renderer(content: Content) -> Render:
    """What makes the parts of products' answers that the index stores."""
    around = surroundings(content)
    return lambda product: {
        name: orjson.dumps(make(product, around)) for name, make in PART_VIEWS.items()
    }


class OpenedCatalog:
    """The port Catalog. Ranks are the products' numbers within the file, ids those that
    everyone knows.
    """

    def __init__(self, path: Path) -> None:
        self._uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        self._local = threading.local()
        self._inherited: list[sqlite3.Connection] = []
        self.meta: dict[str, Any] = dict(self.rows("SELECT name, value FROM meta"))
        self.active: int = self.meta["active"]

    @property
    def database(self) -> sqlite3.Connection:
        """This thread's connection."""
        local = self._local
        if getattr(local, "process", None) != os.getpid():
            if getattr(local, "connection", None):
                self._inherited.append(local.connection)  # the parent's: left as it is
            local.connection = sqlite3.connect(self._uri, uri=True, isolation_level=None)
            local.connection.execute(f"PRAGMA mmap_size={MAPPED}")
            local.connection.execute(f"PRAGMA cache_size={CACHED}")
            local.process = os.getpid()
        connection: sqlite3.Connection = local.connection
        return connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement; none for a number that no row can hold."""
        try:
            return self.database.execute(statement, values).fetchall()
        except OverflowError:
            return []

    def _one(self, statement: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.rows(statement, values)
        return row[0][0] if row else None

    def _many(self, statement: str, values: Sequence[int]) -> list[tuple[Any, ...]]:
        """Rows of a statement with `IN ({})`, for any number of values."""
        if len(values) == 1:
            return self.rows(statement.replace("IN ({})", "= ?"), values)
        values = [value for value in values if -TOO_LARGE <= value < TOO_LARGE]
        runs = [values[start : start + MARKS] for start in range(0, len(values), MARKS)]
        return [
            row
            for run in runs
            for row in self.rows(statement.format(",".join("?" * len(run))), run)
        ]

    # -- products --

    def product(self, id: int) -> Json | None:
        return self.products((id,)).get(id)

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        return {id: orjson.loads(data) for id, data in self._parts(ids, "document")}

    def rendered(self, ids: Sequence[int], part: Part) -> Mapping[int, Json]:
        if len(ids) == 1:
            rows = self.rows(PART_OF_ONE[part], ids)
            return {ids[0]: orjson.loads(rows[0][0])} if rows else {}
        return {id: orjson.loads(data) for id, data in self._parts(ids, f"part_{part}")}

    def _parts(self, ids: Sequence[int], table: str) -> list[tuple[Any, ...]]:
        return self._many(
            f"SELECT id, data FROM number JOIN {table} USING (rank) WHERE id IN ({{}})", ids
        )

    def product_of_upc(self, upcs: Sequence[str]) -> Mapping[str, int]:
        numbers = {
            upc: int(upc) for upc in upcs if upc.isascii() and upc.isdigit() and len(upc) <= 14
        }
        found = dict(
            self._many("SELECT upc, product FROM upc WHERE upc IN ({})", list(numbers.values()))
        )
        return {upc: found[number] for upc, number in numbers.items() if number in found}

    def product_of_sku(self, sku: int) -> tuple[Json, Json] | None:
        id = self._one("SELECT product FROM sku WHERE sku = ?", sku)
        product = None if id is None else self.product(id)
        if product is None:
            return None
        return product, next(entry for entry in product["upcs"] if entry["sku"] == sku)

    def product_ids(
        self, since: str | None = None, offset: int = 0, limit: int | None = None
    ) -> tuple[int, list[int]]:
        where, values = "rank <= ?", [self.active]
        if since is not None:
            where += " AND (updated IS NULL OR updated >= ?)"
            values.append(round(datetime.fromisoformat(since).timestamp() * 1000))
        total = (
            self.active
            if since is None
            else self._one(f"SELECT count(*) FROM number WHERE {where}", *values)
        )
        statement = f"SELECT id FROM number WHERE {where} ORDER BY id LIMIT ? OFFSET ?"
        return total, [
            id
            for (id,) in self.rows(statement, (*values, -1 if limit is None else limit, offset))
        ]

    def featured(self) -> Sequence[int]:
        found: list[int] = orjson.loads(self.meta["featured"])
        return found

    def families(self, ids: Sequence[int]) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        if self._kin.isdisjoint(ids):
            return {}
        rows = self._many("SELECT id, members, collections FROM family WHERE id IN ({})", ids)
        return {
            id: (orjson.loads(members), orjson.loads(collections))
            for id, members, collections in rows
        }

    def digests(self, kind: Literal["category", "product"]) -> Iterator[tuple[int, bytes]]:
        """Ids in order, each with bytes that differ exactly where a document or what is
        rendered of it differs.
        """
        yield from self.database.execute(DIGEST_QUERIES[kind])

    # -- categories and lists --

    def category(self, id: int) -> Json | None:
        data = self._one("SELECT document FROM category WHERE id = ?", id)
        return None if data is None else orjson.loads(data)

    def roots(self) -> Sequence[int]:
        found: list[int] = orjson.loads(self.meta["roots"])
        return found

    def browse(self, category: int, query: ProductQuery) -> Page:
        row = self.rows("SELECT products, facets FROM category WHERE id = ?", (category,))
        if not row:
            return Page(0)
        ranks = array("I", row[0][0])
        if query.filters or query.price:
            return self.page(ranks, query)
        facets = _facets(orjson.loads(row[0][1])) if query.facets else ()
        return Page(len(ranks), self.ids(ranks, query), facets)

    def search(self, phrase: str, query: ProductQuery) -> Page:
        direct = self._direct(phrase)
        sought, limit = search.priced(phrase)
        found = search.find(self, sought)
        ranks = (
            [direct, *(rank for rank in found.ranks if rank != direct)]
            if direct
            else found.ranks
        )
        if limit:
            ranks = self.narrowed(ranks, ProductQuery(price=(limit,)))

        def order(narrowed: Sequence[int], most: int) -> Sequence[int]:
            if direct and narrowed and narrowed[0] == direct:
                return [direct, *search.ordered(self, found, narrowed[1:], most - 1)]
            return search.ordered(self, found, narrowed, most)

        page = self.page(ranks, query, order)
        return (
            replace(page, corrected=found.corrected + phrase[len(sought) :])
            if found.corrected
            else page
        )

    def _direct(self, phrase: str) -> int | None:
        """The rank of the product whose id, UPC or sku a phrase is."""
        number = phrase.strip()
        if not (number.isascii() and number.isdigit() and len(number) <= 16):
            return None
        statements = (
            "SELECT rank FROM number WHERE id = ?",
            "SELECT rank FROM upc JOIN number ON id = product WHERE upc = ?",
            "SELECT rank FROM sku JOIN number ON id = product WHERE sku = ?",
        )
        found = (self._one(statement, int(number)) for statement in statements)
        return next((rank for rank in found if rank is not None and rank <= self.active), None)

    def page(
        self, ranks: Sequence[int], query: ProductQuery, order: Ranking | None = None
    ) -> Page:
        """A page of some products, in their order or another, narrowed by the query's
        filters.

        ``order``: puts the first so many of the narrowed products into their own order.
        """
        narrowed = self.narrowed(ranks, query)
        facets = self._counted(ranks, narrowed, query) if query.facets else ()
        total = len(narrowed)
        if order and query.products and not query.sort:
            narrowed = order(narrowed, query.page * query.perpage)
        return Page(total, self.ids(narrowed, query), facets)

    def narrowed(
        self, ranks: Sequence[int], query: ProductQuery, but: str | None = None
    ) -> Sequence[int]:
        """The products that pass all filters, or all but one of them."""
        for name, values in query.filters.items():
            if name != but:
                facet = self.facet(name)
                ranks = keep(ranks, facet.column, facet.having(values)) if facet else ()
        if query.price and but != PRICE:
            prices = self.prices
            ranks = [rank for rank in ranks if _within(prices[rank], query.price)]
        return ranks

    def _counted(
        self, ranks: Sequence[int], narrowed: Sequence[int], query: ProductQuery
    ) -> tuple[Facet, ...]:
        """Each facet of a result, without its own filter."""
        own = {name: self.narrowed(ranks, query, name) for name in query.filters}
        if query.price:
            own[PRICE] = self.narrowed(ranks, query, PRICE)
        return _facets(counting.count(self.facets, self._bands, narrowed, own))

    def ids(self, ranks: Sequence[int], query: ProductQuery) -> tuple[int, ...]:
        """The ids of the page that is asked for."""
        if not query.products:
            return ()
        start = (query.page - 1) * query.perpage
        if query.sort not in (None, "bestseller_ascending"):
            ranks = self.sorted(ranks, str(query.sort), start + query.perpage)
        elif query.sort:
            ranks = sorted(ranks)
        ids = self.column("id")
        return tuple([ids[rank] for rank in ranks[start : start + query.perpage]])

    def sorted(self, ranks: Sequence[int], sort: str, most: int) -> list[int]:
        """The first ``most`` of some products in the order of one of the port's SORTS."""
        from heapq import nsmallest

        places = self.column(sort)
        if most * 20 < len(ranks):
            return nsmallest(most, ranks, key=places.__getitem__)
        return sorted(ranks, key=places.__getitem__)

    def brands(
        self, categories: Sequence[int], reference: int | None = None
    ) -> Sequence[tuple[str, str]]:
        found: set[int] = set()
        for category in categories:
            found.update(self._ranks(category))
        if reference is not None:
            found.intersection_update(self._ranks(reference))
        names = [name for name, _ in self._brand.count(found)]
        given: dict[str, str] = dict(self.rows("SELECT name, url FROM brand"))
        template = self.meta["brand_url"]
        urls = {
            name: given.get(name)
            or (template.replace("{name}", quote(name, safe="")) if template else None)
            for name in names
        }
        return sorted((name, url) for name, url in urls.items() if url)

    def _ranks(self, category: int) -> Sequence[int]:
        return array(
            "I", self._one("SELECT products FROM category WHERE id = ?", category) or b""
        )

    # -- beside a product --

    def reviews(self, product: int, page: int, number: int) -> Reviews:
        row = self.rows(
            "SELECT first, one, two, three, four, five FROM rating WHERE product = ?",
            (product,),
        )
        if not row:
            return Reviews(0.0, 0, (0, 0, 0, 0, 0), ())
        first, *counts = row[0]
        start, total = first + (page - 1) * number, sum(counts)
        end = min(start + number, first + total)
        statement = (
            "SELECT document FROM review WHERE number >= ? AND number < ? ORDER BY number"
        )
        found = (
            tuple([orjson.loads(data) for (data,) in self.rows(statement, (start, end))])
            if start < end
            else ()
        )
        return Reviews(
            average(counts),
            total,
            (counts[0], counts[1], counts[2], counts[3], counts[4]),
            found,
        )

    def recommended(self, product: int, number: int) -> Sequence[int]:
        given = orjson.loads(
            self._one("SELECT products FROM recommendation WHERE product = ?", product) or b"[]"
        )
        ranks = (
            dict(self._many("SELECT id, rank FROM number WHERE id IN ({})", given))
            if given
            else {}
        )
        found = [
            id
            for id in dict.fromkeys(given)
            if id != product and ranks.get(id, self.active + 1) <= self.active
        ]
        document = self.product(product)
        if len(found) < number and document and "brand" in document:
            ids, brand, column = (
                self.column("id"),
                self._brand.having((document["brand"],)),
                self._brand.column,
            )
            alike = (
                ids[rank]
                for rank in self._ranks(document["categories"][0])
                if column[rank] in brand
            )
            others = (id for id in alike if id != product and id not in ranks)
            found += islice(others, number - len(found))
        return found[:number]

    def availability(
        self, upcs: Sequence[str], locations: Sequence[int]
    ) -> Mapping[tuple[str, int], Status]:
        numbers = {
            upc: int(upc) for upc in upcs if upc.isascii() and upc.isdigit() and len(upc) <= 14
        }
        rows = dict(
            self._many("SELECT upc, stores FROM upc WHERE upc IN ({})", list(numbers.values()))
        )
        places = [
            (location, self._places[location])
            for location in locations
            if location in self._places
        ]
        found: dict[tuple[str, int], Status] = {}
        for upc, number in numbers.items():
            stores = rows.get(number) or b""
            for location, place in places:
                if place >> 2 < len(stores) and (
                    status := stores[place >> 2] >> (place & 3) * 2 & 3
                ):
                    found[upc, location] = STATUS[status]
        return found

    # -- what is kept in memory, once it is asked for --

    def column(self, name: str) -> "array[int]":
        """A column by rank."""
        found = self._columns.get(name)
        if found is None:
            data = self._one("SELECT data FROM col WHERE name = ?", name)
            found = self._columns[name] = array("Q" if name == "id" else "I", data)
        return found

    @cached_property
    def _columns(self) -> dict[str, "array[int]"]:
        return {}

    @property
    def prices(self) -> "array[int]":
        """Cents, by rank."""
        return self.column("price")

    @cached_property
    def _bands(self) -> bytes:
        """Which range of prices each product's is in, by rank."""
        data: bytes = self._one("SELECT data FROM col WHERE name = 'band'")
        return data

    @cached_property
    def facets(self) -> list[Combinations]:
        rows = self.rows(
            "SELECT name, displayname, vals, starts, codes FROM facet ORDER BY number"
        )
        return [Combinations.decoded(row, self.column(f"facet {row[0]}")) for row in rows]

    def facet(self, name: str) -> Combinations | None:
        return next((facet for facet in self.facets if facet.name == name), None)

    @property
    def _brand(self) -> Combinations:
        return self.facets[0]

    @cached_property
    def synonyms(self) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
        """The stems of a word, or of several that are one name → those of what means the same."""
        found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for group in orjson.loads(self.meta["synonyms"]):
            stems = [tuple(map(stem, text.split())) for text in group]
            for own in stems:
                found.setdefault(own, []).extend(other for other in stems if other != own)
        return found

    @cached_property
    def _kin(self) -> frozenset[int]:
        """The products that are collections or stand in one: most are neither, and need no
        statement to say so.
        """
        return frozenset(id for (id,) in self.rows("SELECT id FROM family"))

    @cached_property
    def _places(self) -> dict[int, int]:
        return {
            location: place
            for place, location in enumerate(orjson.loads(self.meta["locations"]))
        }


DIGEST_QUERIES = {
    "category": "SELECT id, document FROM category ORDER BY id",
    "product": "SELECT id, digest FROM number ORDER BY id",
}
PART_OF_ONE = {
    part: f"SELECT data FROM number JOIN part_{part} USING (rank) WHERE id = ?"
    for part in PART_VIEWS
}


def _facets(found: Sequence[Any]) -> tuple[Facet, ...]:
    return tuple(
        Facet(name, displayname, tuple(map(tuple, values)), tuple(map(tuple, ranges)))
        for name, displayname, values, ranges in found
    )


def _within(cents: int, ranges: Sequence[Range]) -> bool:
    return any(
        (low is None or cents >= round(low * 100))
        and (high is None or cents <= round(high * 100))
        for low, high in ranges
    )


class RecordedCatalog(OpenedCatalog):
    """A catalog that reports which products and categories its verbs return."""

    def __init__(self, path: Path, handed_out: HandedOut) -> None:
        super().__init__(path)
        self._handed_out = handed_out

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        products = super().products(ids)
        for id in products:
            self._handed_out("product", str(id))
        return products

    def rendered(self, ids: Sequence[int], part: Part) -> Mapping[int, Json]:
        parts = super().rendered(ids, part)
        for id in parts:
            self._handed_out("product", str(id))
        return parts

    def category(self, id: int) -> Json | None:
        category = super().category(id)
        if category is not None:
            self._handed_out("category", str(id))
        return category
