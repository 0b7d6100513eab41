"""The catalog of a release, read from one SQLite file: `catalog.protocol.Catalog`
implemented.

The file never changes, so it is opened immutable and without locks. SQLite maps as much
of it as it can, and the rest lies in the system's page cache; all processes share both.
Each thread has a connection of its own, and a forked process opens new ones.

Products are addressed by rank within the file (`ranks`): the order of these numbers is
that of best sellers, active products first. A list of products is an array of ranks, and what lists
are filtered, ordered and counted by are columns: arrays indexed by rank. They are read
into memory when a request first needs them. Ids, which everyone else knows, stand in
the column `id`.
"""

import os
import sqlite3
import threading
from array import array
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import orjson

from shopwindow.catalog.index import facets as counting
from shopwindow.catalog.index import searching as search
from shopwindow.catalog.index.facets import NO_BAND, Combinations, keep
from shopwindow.catalog.index.indexing import INDEX_FORMAT
from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.parts_read import (
    PartsRead,
    listed_digest,
    part_digest,
)
from shopwindow.catalog.index.ranks import INACTIVE
from shopwindow.catalog.index.rows import average
from shopwindow.catalog.index.searching import SearchedPhrase
from shopwindow.catalog.index.words import stem
from shopwindow.catalog.protocol import (
    CATEGORY_FILTER,
    PRICE,
    Facet,
    Page,
    ProductQuery,
    Range,
    Reviews,
)
from shopwindow.content.yaml import Json
from shopwindow.interface.index import HandedOut
from shopwindow.retail.articles import Status

MAPPED_BYTES = 1 << 40
"""Bytes of the file that may be mapped: all of it. SQLite has a lower limit, usually 2
GiB.
"""

CACHE_SIZE = -16384
"""Pages that a connection caches of what is not mapped; negative for KiB, so 16 MiB:
the upper levels of every tree.
"""

INTEGER_END = 1 << 63
"""SQLite's integers are less than this, and not less than its negative."""

MAX_PLACEHOLDERS = 900
"""Ids in one statement. SQLite took at most 999 placeholders before its release 3.32.
"""

STORES_CACHED = 16
"""Stores of which the products that can be picked up are cached. Shoppers of a region
name the same few; a store with 100,000 products takes some 6 MB.
"""

FEW = 20
"""If less than one in so many of a list is needed, picking the best beats sorting all
of it.
"""

Ranking = Callable[[Sequence[int], int], Sequence[int]]
"""(ranks, most) → the first ``most`` of the ranks in another order."""

STOCK_STATUS: tuple[Status, Status, Status, Status] = (
    "UNAVAILABLE",
    "LIMITED",
    "AVAILABLE",
    "AVAILABLE",
)


def open_index(path: Path) -> "OpenedCatalog":
    """Return the catalog in a file.

    Raises ValueError if it has another format, sqlite3.Error if it is no catalog.
    """
    index = OpenedCatalog(path)
    if index.meta["format"] != INDEX_FORMAT:
        raise ValueError(f"its format is {index.meta['format']}, not {INDEX_FORMAT}")
    return index


class OpenedCatalog:
    """One catalog, open for reading. Its public methods are those of
    `protocol.Catalog`.
    """

    def __init__(self, path: Path) -> None:
        self._uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        self._local = threading.local()
        self._inherited: list[sqlite3.Connection] = []
        self.meta: dict[str, Any] = dict(self.rows("SELECT name, value FROM meta"))
        self.active: int = self.meta["active"]

    @property
    def database(self) -> sqlite3.Connection:
        """This thread's connection.

        A connection of a parent process is neither used nor closed: SQLite allows
        neither across a fork. It stays referenced here, so that nothing closes it.
        """
        local = self._local
        if getattr(local, "process", None) != os.getpid():
            if getattr(local, "connection", None):
                self._inherited.append(local.connection)
            local.connection = sqlite3.connect(
                self._uri, uri=True, isolation_level=None
            )
            local.connection.execute(f"PRAGMA mmap_size={MAPPED_BYTES}")
            local.connection.execute(f"PRAGMA cache_size={CACHE_SIZE}")
            local.process = os.getpid()
        connection: sqlite3.Connection = local.connection
        return connection

    @property
    def _packing(self) -> Packing:
        """This thread's, because no two threads may use one."""
        packing: Packing | None = getattr(self._local, "packing", None)
        if packing is None:
            packing = self._local.packing = Packing(self.meta["dictionary"])
        return packing

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a statement; none for a number that no row can hold."""
        try:
            return self.database.execute(statement, values).fetchall()
        except OverflowError:
            return []

    def _one(self, statement: str, *values: Any) -> Any:
        """Return the first column of the first row, or None."""
        rows = self.rows(statement, values)
        return rows[0][0] if rows else None

    def _many(self, statement: str, values: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement with `IN ({})`, for any number of values."""
        if len(values) == 1:
            return self.rows(statement.replace("IN ({})", "= ?"), values)
        values = [value for value in values if -INTEGER_END <= value < INTEGER_END]
        rows = []
        for start in range(0, len(values), MAX_PLACEHOLDERS):
            batch = values[start : start + MAX_PLACEHOLDERS]
            rows += self.rows(statement.format(",".join("?" * len(batch))), batch)
        return rows

    # -- products --

    def product(self, id: int) -> Json | None:
        return self.products((id,)).get(id)

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        rows = self._many(
            "SELECT id, data FROM number JOIN document USING (rank) WHERE id IN ({})",
            ids,
        )
        load = self._packing.load
        return {id: load(data) for id, data in rows}

    def documents(self) -> Iterator[Json]:
        """Yield the active products in the order of their ranks, one at a time."""
        statement = "SELECT data FROM document WHERE rank < ? ORDER BY rank"
        load = self._packing.load
        for (data,) in self.database.execute(statement, (INACTIVE,)):
            yield load(data)

    def product_of_upc(self, upcs: Sequence[str]) -> Mapping[str, int]:
        numbers = _upc_numbers(upcs)
        rows = self._many(
            "SELECT upc, product FROM upc WHERE upc IN ({})", list(numbers.values())
        )
        products = dict(rows)
        return {
            upc: products[number]
            for upc, number in numbers.items()
            if number in products
        }

    def product_of_sku(self, sku: int) -> tuple[Json, Json] | None:
        id = self._one("SELECT product FROM sku WHERE sku = ?", sku)
        product = None if id is None else self.product(id)
        if product is None:
            return None
        return product, next(entry for entry in product["upcs"] if entry["sku"] == sku)

    def product_ids(
        self,
        since: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        categories: Sequence[int] | None = None,
    ) -> tuple[int, list[int]]:
        if categories is not None:
            column = self.column("id")
            inside = {column[rank] for rank in self._ranks_of_all(categories)}
            if since is not None:
                _, updated = self.product_ids(since)
                inside.intersection_update(updated)
            ids = sorted(inside)
            end = None if limit is None else offset + limit
            return len(ids), ids[offset:end]
        where, values = "rank < ?", [INACTIVE]
        if since is not None:
            where += " AND (updated IS NULL OR updated >= ?)"
            values.append(round(datetime.fromisoformat(since).timestamp() * 1000))
            total = self._one(f"SELECT count(*) FROM number WHERE {where}", *values)
        else:
            total = self.active
        statement = f"SELECT id FROM number WHERE {where} ORDER BY id LIMIT ? OFFSET ?"
        page = self.rows(statement, (*values, -1 if limit is None else limit, offset))
        return total, [id for (id,) in page]

    def featured(self) -> Sequence[int]:
        ids: list[int] = orjson.loads(self.meta["featured"])
        return ids

    def families(
        self, ids: Sequence[int]
    ) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        if self._in_families.isdisjoint(ids):
            return {}
        rows = self._many(
            "SELECT id, members, collections FROM family WHERE id IN ({})", ids
        )
        return {
            id: (orjson.loads(members), orjson.loads(collections))
            for id, members, collections in rows
        }

    def digests(
        self, kind: Literal["category", "product"]
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (id, digest) in order of id.

        Digests of two catalogs differ if the document does. The digest of a category is
        its document.
        """
        yield from self.database.execute(DIGEST_QUERIES[kind])

    def following(self, report: Callable[[str], None]) -> PartsRead:
        """Return a catalog that reports which of its parts it returns."""
        return PartsRead(self, report)

    def part_digest(self, part: str) -> str:
        """Return a digest of a part that `following` reported."""
        name, _, id = part.partition(" ")
        if name == "listed":
            return self._listed_digest(int(id))
        return part_digest(self.rows, part)

    def _listed_digest(self, category: int) -> str:
        rows = self.rows(
            "SELECT products, facets FROM category WHERE id = ?", (category,)
        )
        products, facets = rows[0] if rows else (b"", b"")
        ids = self.column("id")
        return listed_digest((ids[rank] for rank in array("I", products)), facets)

    # -- categories and lists --

    def category(self, id: int) -> Json | None:
        data = self._one("SELECT document FROM category WHERE id = ?", id)
        return None if data is None else orjson.loads(data)

    def roots(self) -> Sequence[int]:
        ids: list[int] = orjson.loads(self.meta["roots"])
        return ids

    def browse(self, category: int, query: ProductQuery) -> Page:
        rows = self.rows(
            "SELECT products, facets FROM category WHERE id = ?", (category,)
        )
        if not rows:
            return Page(0)
        products, counted_facets = rows[0]
        ranks = array("I", products)
        if query.filters or query.price or query.pick_up is not None:
            return self.page(ranks, query)
        facets = _facets(orjson.loads(counted_facets)) if query.facets else ()
        return Page(len(ranks), self.ids(ranks, query), facets)

    def search(self, phrase: str, query: ProductQuery) -> Page:
        searched = self.searched(phrase)
        page = self.page(searched.ranks, query, partial(searched.ordered, self))
        return replace(page, corrected=searched.corrected)

    def searched(self, phrase: str) -> SearchedPhrase:
        """Return what a phrase finds, and why, before any filter."""
        unpriced, limit = search.priced(phrase)
        found = search.find(self, unpriced)
        ranks = found.ranks
        direct = self._direct(phrase)
        if direct:
            ranks = [direct, *(rank for rank in ranks if rank != direct)]
        if limit:
            ranks = self.narrowed(ranks, ProductQuery(price=(limit,)))
        price = phrase[len(unpriced) :]
        corrected = found.corrected + price if found.corrected else None
        return SearchedPhrase(ranks, found, limit, direct, corrected)

    def _direct(self, phrase: str) -> int | None:
        """Return the rank of the active product whose id, UPC or sku the phrase is, or
        None.
        """
        number = phrase.strip()
        if not (number.isascii() and number.isdigit() and len(number) <= 16):
            return None
        statements = (
            "SELECT rank FROM number WHERE id = ?",
            "SELECT rank FROM upc JOIN number ON id = product WHERE upc = ?",
            "SELECT rank FROM sku JOIN number ON id = product WHERE sku = ?",
        )
        ranks = (self._one(statement, int(number)) for statement in statements)
        return next(
            (rank for rank in ranks if rank is not None and rank < INACTIVE), None
        )

    def page(
        self, ranks: Sequence[int], query: ProductQuery, order: Ranking | None = None
    ) -> Page:
        """Return a page of some products, narrowed by the query's filters.

        ``order`` puts the narrowed products into their own order, if the query has
        none; None: they are in it. It need not look beyond the page.
        """
        ranks = self._bounded(ranks, query)
        narrowed = self.narrowed(ranks, query)
        facets = self._counted(ranks, narrowed, query) if query.facets else ()
        total = len(narrowed)
        if order and query.products and not query.sort:
            narrowed = order(narrowed, query.page * query.perpage)
        return Page(total, self.ids(narrowed, query), facets)

    def filtered(self, ranks: Sequence[int], query: ProductQuery) -> Sequence[int]:
        """Return the products that pass all filters of a query."""
        return self.narrowed(self._bounded(ranks, query), query)

    def ranks(self, ids: Sequence[int]) -> Mapping[int, int]:
        """Return the ranks of products by id."""
        return dict(self._many("SELECT id, rank FROM number WHERE id IN ({})", ids))

    def standing_at(self, rank: int) -> int:
        """Return where the active product of a rank stands among all, from 1."""
        return rank - self._bands.count(NO_BAND, 1, rank)

    def _bounded(self, ranks: Sequence[int], query: ProductQuery) -> Sequence[int]:
        """Return the products that pass those filters of a query that are no facets: its
        categories, and where it can be picked up.
        """
        values = query.filters.get(CATEGORY_FILTER)
        if values and CATEGORY_FILTER not in self.facet_names():
            inside = self._ranks_of_all(self._categories(values))
            ranks = [rank for rank in ranks if rank in inside]
        if query.pick_up is not None:
            at_stores: set[int] = set()
            for location in query.pick_up:
                at_stores |= self._ranks_picked_up_at(location)
            ranks = [rank for rank in ranks if rank in at_stores]
        return ranks

    def narrowed(
        self, ranks: Sequence[int], query: ProductQuery, except_for: str | None = None
    ) -> Sequence[int]:
        """Return the products that pass all filters of a query, or all but that of one
        facet.
        """
        for name, values in query.filters.items():
            facet = self.facet(name)
            is_category = name == CATEGORY_FILTER and facet is None  # see `_bounded`
            if name != except_for and not is_category:
                ranks = keep(ranks, facet.column, facet.having(values)) if facet else ()
        if query.price and except_for != PRICE:
            prices = self.prices
            ranks = [rank for rank in ranks if _within(prices[rank], query.price)]
        return ranks

    def _counted(
        self, ranks: Sequence[int], narrowed: Sequence[int], query: ProductQuery
    ) -> tuple[Facet, ...]:
        """Return the facets of a result, each counted without its own filter."""
        without_own = {
            name: self.narrowed(ranks, query, name) for name in query.filters
        }
        if query.price:
            without_own[PRICE] = self.narrowed(ranks, query, PRICE)
        return _facets(counting.count(self.facets, self._bands, narrowed, without_own))

    def ids(self, ranks: Sequence[int], query: ProductQuery) -> tuple[int, ...]:
        """Return the ids of the page that a query wants of some products, in its order."""
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
        """Return some products in the order of one of SORTS, the first ``most`` at
        least.

        The column of a sort has the place of each product in that order.
        """
        places = self.column(sort)
        if most * FEW < len(ranks):
            return nsmallest(most, ranks, key=places.__getitem__)
        return sorted(ranks, key=places.__getitem__)

    def brands(
        self, categories: Sequence[int], reference: int | None = None
    ) -> Sequence[tuple[str, str]]:
        ranks = self._ranks_of_all(categories)
        if reference is not None:
            ranks.intersection_update(self._ranks(reference))
        names = [name for name, _ in self._brand.count(ranks)]

        own_urls: dict[str, str] = dict(self.rows("SELECT name, url FROM brand"))
        template = self.meta["brand_url"]
        urls = {}
        for name in names:
            url = own_urls.get(name)
            if not url and template:
                url = template.replace("{name}", quote(name, safe=""))
            urls[name] = url
        return sorted((name, url) for name, url in urls.items() if url)

    def _ranks(self, category: int) -> Sequence[int]:
        """Return the active products of a category and its descendants, in order."""
        products = self._one("SELECT products FROM category WHERE id = ?", category)
        return array("I", products or b"")

    def _ranks_of_all(self, categories: Iterable[int]) -> set[int]:
        """Return the active products of some categories and their descendants."""
        ranks: set[int] = set()
        for category in categories:
            ranks.update(self._ranks(category))
        return ranks

    def _categories(self, values: Iterable[str]) -> Iterator[int]:
        """Yield the ids of the categories whose ids or names the values are, whatever
        their case.
        """
        for value in values:
            if value.isascii() and value.isdigit():
                yield int(value)
            yield from self._category_ids_by_name.get(value.casefold(), ())

    @cached_property
    def _category_ids_by_name(self) -> Mapping[str, Sequence[int]]:
        ids: dict[str, list[int]] = {}
        for id, document in self.rows("SELECT id, document FROM category"):
            name = orjson.loads(document)["name"].casefold()
            ids.setdefault(name, []).append(id)
        return ids

    # -- beside a product --

    def reviews(self, product: int, page: int, number: int) -> Reviews:
        rows = self.rows(
            "SELECT first, one, two, three, four, five FROM rating WHERE product = ?",
            (product,),
        )
        if not rows:
            return Reviews(0.0, 0, (0, 0, 0, 0, 0), ())
        first, one, two, three, four, five = rows[0]  # reviews are numbered by product
        counts = one, two, three, four, five
        total = sum(counts)
        start = first + (page - 1) * number
        end = min(start + number, first + total)
        shown: list[tuple[Any, ...]] = []
        if start < end:
            statement = "SELECT document FROM review WHERE number >= ? AND number < ? ORDER BY number"
            shown = self.rows(statement, (start, end))
        reviews = tuple([orjson.loads(data) for (data,) in shown])
        return Reviews(average(counts), total, counts, reviews)

    def recommended(self, product: int, number: int) -> Sequence[int]:
        statement = "SELECT products FROM recommendation WHERE product = ?"
        chosen = orjson.loads(self._one(statement, product) or b"[]")  # by editors
        ranks = self.ranks(chosen) if chosen else {}
        recommended = [
            id
            for id in dict.fromkeys(chosen)
            if id != product and ranks.get(id, INACTIVE) < INACTIVE
        ]

        document = self.product(product)
        if len(recommended) < number and document and "brand" in document:
            home_category = document["categories"][0]
            ids = self.column("id")
            of_brand = self._brand.having((document["brand"],))
            alike = (
                ids[rank]
                for rank in self._ranks(home_category)
                if self._brand.column[rank] in of_brand
            )
            others = (id for id in alike if id != product and id not in ranks)
            recommended += islice(others, number - len(recommended))
        return recommended[:number]

    def availability(
        self, upcs: Sequence[str], locations: Sequence[int]
    ) -> Mapping[tuple[str, int], Status]:
        numbers = _upc_numbers(upcs)
        rows = self._many(
            "SELECT upc, stores FROM upc WHERE upc IN ({})", list(numbers.values())
        )
        stock_by_upc = dict(rows)
        places = [
            (location, self._places[location])
            for location in locations
            if location in self._places
        ]
        statuses: dict[tuple[str, int], Status] = {}
        for upc, number in numbers.items():
            stock = (
                stock_by_upc.get(number) or b""
            )  # two bits a place, four places a byte
            for location, place in places:
                byte, shift = place >> 2, (place & 3) * 2
                if byte >= len(stock):
                    continue
                status = stock[byte] >> shift & 3
                if status:
                    statuses[upc, location] = STOCK_STATUS[status]
        return statuses

    def upcs_in_stores(self, upcs: Sequence[str]) -> set[str]:
        """Return those of some UPCs that a store has."""
        numbers = _upc_numbers(upcs)
        rows = self._many(
            "SELECT upc FROM upc WHERE length(stores) > 0 AND upc IN ({})",
            list(numbers.values()),
        )
        having = {number for (number,) in rows}
        return {upc for upc, number in numbers.items() if number in having}

    @property
    def stores_with_stock(self) -> int:
        """How many stores have a UPC."""
        return len(self._places)

    @cached_property
    def _ranks_picked_up_at(self) -> Callable[[int], frozenset[int]]:
        """Returns the active products of which a store has a UPC to be picked up.

        Finding them reads the stock of every UPC, so those of the stores that were asked
        for last are cached.
        """
        return lru_cache(maxsize=STORES_CACHED)(self._read_ranks_picked_up_at)

    def _read_ranks_picked_up_at(self, location: int) -> frozenset[int]:
        place = self._places.get(location)
        if place is None:
            return frozenset()
        byte, shift = place >> 2, (place & 3) * 2  # see `availability`
        in_stock = [bytes([stock]) for stock in range(256) if stock >> shift & 3]
        marks = ",".join("?" * len(in_stock))
        rows = self.rows(
            "SELECT rank FROM upc JOIN number ON number.id = upc.product"
            f" WHERE substr(stores, ?, 1) IN ({marks}) AND handed_out AND rank < ?",
            (byte + 1, *in_stock, INACTIVE),
        )
        return frozenset(rank for (rank,) in rows)

    # -- what stays in memory, once a request needs it --

    def column(self, name: str) -> "array[int]":
        """Return a column: one value for each rank."""
        column = self._columns.get(name)
        if column is None:
            data = self._one("SELECT data FROM col WHERE name = ?", name)
            column = self._columns[name] = array("Q" if name == "id" else "I", data)
        return column

    @cached_property
    def _columns(self) -> dict[str, "array[int]"]:
        return {}

    @property
    def prices(self) -> "array[int]":
        """What products cost now, in cents, by rank."""
        return self.column("price")

    @cached_property
    def _bands(self) -> bytes:
        """The range of prices that each product is in, by rank; see `facets.ranges`."""
        data: bytes = self._one("SELECT data FROM col WHERE name = 'band'")
        return data

    @cached_property
    def facets(self) -> list[Combinations]:
        rows = self.rows(
            "SELECT name, displayname, vals, starts, codes FROM facet ORDER BY number"
        )
        return [
            Combinations.decoded(row, self.column(f"facet {row[0]}")) for row in rows
        ]

    def facet_names(self) -> Collection[str]:
        return self._facet_names

    @cached_property
    def _facet_names(self) -> frozenset[str]:
        return frozenset(name for (name,) in self.rows("SELECT name FROM facet"))

    def facet(self, name: str) -> Combinations | None:
        return next((facet for facet in self.facets if facet.name == name), None)

    @property
    def _brand(self) -> Combinations:
        return self.facets[0]

    @cached_property
    def synonyms(self) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
        """The stems of a word, or of a name of several words → those of each of its
        synonyms.
        """
        synonyms: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for group in orjson.loads(self.meta["synonyms"]):
            names = [tuple(map(stem, text.split())) for text in group]
            for name in names:
                synonyms.setdefault(name, []).extend(
                    other for other in names if other != name
                )
        return synonyms

    @cached_property
    def _in_families(self) -> frozenset[int]:
        """The products that are collections or members of one.

        Most products are neither, and this set answers for them without a statement.
        """
        return frozenset(id for (id,) in self.rows("SELECT id FROM family"))

    @cached_property
    def _places(self) -> dict[int, int]:
        """The place of each location number in the stock of a UPC."""
        locations = orjson.loads(self.meta["locations"])
        return {location: place for place, location in enumerate(locations)}


DIGEST_QUERIES = {
    "category": "SELECT id, document FROM category ORDER BY id",
    "product": "SELECT id, digest FROM number ORDER BY id",
}


def _upc_numbers(upcs: Sequence[str]) -> dict[str, int]:
    """Return the UPCs that can be in the catalog, with the number under which it has
    them.
    """
    return {
        upc: int(upc)
        for upc in upcs
        if upc.isascii() and upc.isdigit() and len(upc) <= 14
    }


def _facets(counted: Sequence[Any]) -> tuple[Facet, ...]:
    """Return facets from what `facets.count` returned, or from that in JSON."""
    return tuple(
        Facet(name, displayname, tuple(map(tuple, values)), tuple(map(tuple, ranges)))
        for name, displayname, values, ranges in counted
    )


def _within(cents: int, ranges: Sequence[Range]) -> bool:
    """Whether a price in cents is in one of some ranges in dollars."""
    return any(
        (low is None or cents >= round(low * 100))
        and (high is None or cents <= round(high * 100))
        for low, high in ranges
    )


class RecordedCatalog(OpenedCatalog):
    """A catalog that reports which products and categories it returns.

    A build uses it, to record which documents each response was computed from.
    """

    def __init__(self, path: Path, handed_out: HandedOut) -> None:
        super().__init__(path)
        self._handed_out = handed_out

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        products = super().products(ids)
        for id in products:
            self._handed_out("product", str(id))
        return products

    def category(self, id: int) -> Json | None:
        category = super().category(id)
        if category is not None:
            self._handed_out("category", str(id))
        return category
