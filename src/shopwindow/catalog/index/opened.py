"""The catalog of a release, opened: `catalog.protocol.Catalog` implemented.

`OpenedCatalog` answers from three modules. `opened_file` reads rows of the SQLite file,
`lists` turns products into pages, and `store_stock` says what stores have. What is read
by the id of a document stands here, and so does a search: `searching` knows what a
phrase finds, and this module adds its price limit and the product whose number it is.
"""

from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import orjson

from shopwindow.catalog.index.file import INDEX_FORMAT
from shopwindow.catalog.index.lists import ProductLists
from shopwindow.catalog.index.opened_file import OpenedFile
from shopwindow.catalog.index.parts_read import (
    PartsRead,
    listed_digest,
    part_digest,
)
from shopwindow.catalog.index.ranks import INACTIVE
from shopwindow.catalog.index.rows import average
from shopwindow.catalog.index.searching import Searched, best_first, find
from shopwindow.catalog.index.store_stock import StoreStock, upc_numbers
from shopwindow.catalog.index.words import stem
from shopwindow.catalog.protocol import Page, ProductQuery, Reviews
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.index import HandedOut
from shopwindow.retail.articles import Status

SPELLABLE_WORDS = 100_000
"""Spelling is corrected to so many words, the most frequent ones. A misspelled one is
compared with all of them, which takes some 5 ms.
"""


def open_index(path: Path) -> "OpenedCatalog":
    """Return the catalog in a file.

    Raises ValueError if it has another format, sqlite3.Error if it is no catalog.
    """
    index = OpenedCatalog(path)
    if index.file.meta["format"] != INDEX_FORMAT:
        raise ValueError(
            f"its format is {index.file.meta['format']}, not {INDEX_FORMAT}"
        )
    return index


class OpenedCatalog:
    """One catalog, open for reading: a `protocol.Catalog`, and what a search reads of
    it (`clauses.IndexReader`).

    Attributes:
        file: the rows, for what counts or compares whole catalogs.
        lists: of products, for what explains why one stands where it does.
        stock: of stores, for what counts a catalog.
    """

    def __init__(self, path: Path) -> None:
        self.file = OpenedFile(path)
        self.stock = StoreStock(self.file)
        self.lists = ProductLists(self.file, self.stock)
        self.active = self.file.active

    # -- products by id ----------------------------------------------------------------

    def product(self, id: int) -> Json | None:
        return self.products((id,)).get(id)

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        rows = self.file.many(
            "SELECT id, data FROM number JOIN document USING (rank) WHERE id IN ({})",
            ids,
        )
        load = self.file.packing.load
        return {id: load(data) for id, data in rows}

    def documents(self) -> Iterator[Json]:
        """Yield the active products in the order of their ranks, one at a time."""
        statement = "SELECT data FROM document WHERE rank < ? ORDER BY rank"
        load = self.file.packing.load
        for (data,) in self.file.database.execute(statement, (INACTIVE,)):
            yield load(data)

    def ranks(self, ids: Sequence[int]) -> Mapping[int, int]:
        """Return the ranks of products by id."""
        return dict(self.file.many("SELECT id, rank FROM number WHERE id IN ({})", ids))

    def product_of_upc(self, upcs: Sequence[str]) -> Mapping[str, int]:
        numbers = upc_numbers(upcs)
        rows = self.file.many(
            "SELECT upc, product FROM upc WHERE upc IN ({})", list(numbers.values())
        )
        products = dict(rows)
        return {
            upc: products[number]
            for upc, number in numbers.items()
            if number in products
        }

    def product_of_sku(self, sku: int) -> tuple[Json, Json] | None:
        id = self.file.one("SELECT product FROM sku WHERE sku = ?", sku)
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
            column = self.lists.column("id")
            inside = {column[rank] for rank in self.lists.of_categories(categories)}
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
            total = self.file.one(f"SELECT count(*) FROM number WHERE {where}", *values)
        else:
            total = self.active
        statement = f"SELECT id FROM number WHERE {where} ORDER BY id LIMIT ? OFFSET ?"
        page = (*values, -1 if limit is None else limit, offset)
        return total, [id for (id,) in self.file.rows(statement, page)]

    def featured(self) -> Sequence[int]:
        ids: list[int] = orjson.loads(self.file.meta["featured"])
        return ids

    def families(
        self, ids: Sequence[int]
    ) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        if self._in_families.isdisjoint(ids):
            return {}
        rows = self.file.many(
            "SELECT id, members, collections FROM family WHERE id IN ({})", ids
        )
        return {
            id: (orjson.loads(members), orjson.loads(collections))
            for id, members, collections in rows
        }

    @cached_property
    def _in_families(self) -> frozenset[int]:
        """The products that are collections or members of one.

        Most products are neither, and this set answers for them without a statement.
        """
        return frozenset(id for (id,) in self.file.rows("SELECT id FROM family"))

    # -- categories and lists ----------------------------------------------------------

    def category(self, id: int) -> Json | None:
        data = self.file.one("SELECT document FROM category WHERE id = ?", id)
        return None if data is None else orjson.loads(data)

    def roots(self) -> Sequence[int]:
        ids: list[int] = orjson.loads(self.file.meta["roots"])
        return ids

    def facet_names(self) -> Collection[str]:
        return self.lists.facet_names

    def browse(self, category: int, query: ProductQuery) -> Page:
        return self.lists.browse(category, query)

    def brands(
        self, categories: Sequence[int], reference: int | None = None
    ) -> Sequence[tuple[str, str]]:
        ranks = self.lists.of_categories(categories)
        if reference is not None:
            ranks.intersection_update(self.lists.of_category(reference))
        names = [name for name, _ in self.lists.brand.count(ranks)]

        own_urls: dict[str, str] = dict(self.file.rows("SELECT name, url FROM brand"))
        template = self.file.meta["brand_url"]
        urls = {}
        for name in names:
            url = own_urls.get(name)
            if not url and template:
                url = template.replace("{name}", quote(name, safe=""))
            urls[name] = url
        return sorted((name, url) for name, url in urls.items() if url)

    # -- a search ----------------------------------------------------------------------

    def search(self, phrase: str, query: ProductQuery) -> Page:
        searched, ranks = self.searched(phrase)
        page = self.lists.page(ranks, query, partial(best_first, self, searched))
        return replace(page, corrected=searched.corrected)

    def searched(self, phrase: str) -> tuple[Searched, Sequence[int]]:
        """Return what a phrase finds and why, and the ranks that its price limit leaves
        before any filter: first that of the product whose number the phrase is.
        """
        searched = find(self, phrase)
        ranks, direct = searched.ranks, searched.direct
        if direct is not None:
            ranks = [direct, *(rank for rank in ranks if rank != direct)]
        if searched.limit:
            ranks = self.lists.narrowed(ranks, ProductQuery(price=(searched.limit,)))
        return searched, ranks

    def direct(self, phrase: str) -> int | None:
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
        ranks = (self.file.one(statement, int(number)) for statement in statements)
        return next(
            (rank for rank in ranks if rank is not None and rank < INACTIVE), None
        )

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a statement; none for a number that no row can hold."""
        return self.file.rows(statement, values)

    @cached_property
    def synonyms(self) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
        """The stems of a word, or of a name of several words → those of each of its
        synonyms.
        """
        synonyms: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for group in orjson.loads(self.file.meta["synonyms"]):
            names = [tuple(map(stem, text.split())) for text in group]
            for name in names:
                synonyms.setdefault(name, []).extend(
                    other for other in names if other != name
                )
        return synonyms

    @cached_property
    def spellable(self) -> Mapping[str, str]:
        """The words that spelling is corrected to, the most frequent first, with their
        stems; of words with one stem only the first.
        """
        statement = (
            "SELECT word, stem FROM word WHERE length(word) BETWEEN 3 AND 30"
            " ORDER BY products DESC, word LIMIT ?"
        )
        by_stem: dict[str, str] = {}
        for word, word_stem in self.rows(statement, (SPELLABLE_WORDS,)):
            if word.isascii() and word.isalpha():
                by_stem.setdefault(word_stem, word)
        return {word: word_stem for word_stem, word in by_stem.items()}

    # -- beside a product --------------------------------------------------------------

    def reviews(self, product: int, page: int, number: int) -> Reviews:
        rows = self.file.rows(
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
            shown = self.file.rows(statement, (start, end))
        reviews = tuple([orjson.loads(data) for (data,) in shown])
        return Reviews(average(counts), total, counts, reviews)

    def recommended(self, product: int, number: int) -> Sequence[int]:
        statement = "SELECT products FROM recommendation WHERE product = ?"
        chosen = orjson.loads(self.file.one(statement, product) or b"[]")  # by editors
        ranks = self.ranks(chosen) if chosen else {}
        recommended = [
            id
            for id in dict.fromkeys(chosen)
            if id != product and ranks.get(id, INACTIVE) < INACTIVE
        ]

        document = self.product(product)
        if len(recommended) < number and document and "brand" in document:
            home_category = document["categories"][0]
            ids, brand = self.lists.column("id"), self.lists.brand
            of_brand = brand.having((document["brand"],))
            alike = (
                ids[rank]
                for rank in self.lists.of_category(home_category)
                if brand.column[rank] in of_brand
            )
            others = (id for id in alike if id != product and id not in ranks)
            recommended += islice(others, number - len(recommended))
        return recommended[:number]

    def availability(
        self, upcs: Sequence[str], locations: Sequence[int]
    ) -> Mapping[tuple[str, int], Status]:
        return self.stock.availability(upcs, locations)

    # -- for a build: what was read, and what differs ----------------------------------

    def following(self, report: Callable[[str], None]) -> PartsRead:
        """Return a catalog that reports which of its parts it returns."""
        return PartsRead(self, report)

    def part_digest(self, part: str) -> str:
        """Return a digest of a part that `following` reported."""
        name, _, id = part.partition(" ")
        if name == "listed":
            return self._listed_digest(int(id))
        return part_digest(self.file.rows, part)

    def _listed_digest(self, category: int) -> str:
        ranks, facets = self.lists.stored(category) or ((), b"")
        ids = self.lists.column("id")
        return listed_digest((ids[rank] for rank in ranks), facets)

    def digests(
        self, kind: Literal["category", "product"]
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (id, digest) in order of id.

        Digests of two catalogs differ if the document does. The digest of a category is
        its document.
        """
        yield from self.file.database.execute(DIGEST_QUERIES[kind])


DIGEST_QUERIES = {
    "category": "SELECT id, document FROM category ORDER BY id",
    "product": "SELECT id, digest FROM number ORDER BY id",
}


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
