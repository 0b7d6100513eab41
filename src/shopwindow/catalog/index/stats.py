"""What a catalog consists of, and what it lacks: `catalog stats`.

Counts come from SQL where a table has them. What only documents say is counted in one
pass over them, one at a time, so that a million products take no more memory than a
thousand.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.content.processes import Progress
from shopwindow.content.yaml import Json

EXAMPLE_IDS = 5
"""Products, categories or UPCs that are named for what they lack: enough to look at, and
they fit on a line.
"""

UPCS_A_LOOK = 500
"""UPCs whose stock is looked up together; SQLite took at most 999 placeholders before
its release 3.32.
"""


@dataclass(frozen=True)
class TableSize:
    """A table of the file with its index, and the bytes of its pages."""

    name: str
    bytes: int


@dataclass(frozen=True)
class FacetStats:
    """A facet: how many values it has, and how many active products have one of them.

    ``coverage``: their part of all active products.
    """

    name: str
    values: int
    products: int
    coverage: float


@dataclass(frozen=True)
class Lacking:
    """What lacks something: how many there are, and the first of them.

    Products and their UPCs stand in the order of best sellers, categories in that of
    their ids. ``examples`` are at most `EXAMPLE_IDS` ids or UPCs.
    """

    count: int
    examples: tuple[int | str, ...]


@dataclass(frozen=True)
class StockStats:
    """What there is of the UPCs that are sold.

    Attributes:
        upcs: active ones of active products.
        nowhere: of these, those that cannot be sent, and that no store has.
        sold_out: active products with UPCs of which all are nowhere.
        stores: stores that have something.
    """

    upcs: int
    nowhere: Lacking
    sold_out: Lacking
    stores: int


@dataclass(frozen=True)
class WordStats:
    """What products are found by: words, their stems, the synonyms of editors, and the
    forms that lead from misspelled words to them.
    """

    words: int
    stems: int
    synonyms: int
    forms: int


@dataclass(frozen=True)
class CatalogStats:
    """What a catalog consists of.

    Attributes:
        active: products that are sold.
        inactive: those that have a page only.
        categories: all of them.
        empty_categories: those without an active product, in them or below.
        brands: those with a document of their own.
        reviews: all of them.
        bytes: of the file.
        dictionary: bytes of the dictionary that compresses documents; 0: there is none.
        tables: the largest first; None: this SQLite does not count pages.
        facets: all but PRICE, in their order.
        lacking: active products that lack something, by its name.
        stock: of UPCs.
        words: of the search.
    """

    active: int
    inactive: int
    categories: int
    empty_categories: Lacking
    brands: int
    reviews: int
    bytes: int
    dictionary: int
    tables: tuple[TableSize, ...] | None
    facets: tuple[FacetStats, ...]
    lacking: dict[str, Lacking]
    stock: StockStats
    words: WordStats


def stats_of(catalog: OpenedCatalog, progress: Progress | None = None) -> CatalogStats:
    """Return what a catalog consists of.

    ``progress`` is called with (products read, all active products).
    """
    numbers = {name: _number(catalog, query) for name, query in _NUMBER_QUERIES.items()}
    (pages,), (page_size,) = (
        catalog.file.rows(f"PRAGMA {name}")[0] for name in ("page_count", "page_size")
    )
    documents = _DocumentCounts(catalog)
    for done, document in enumerate(catalog.documents(), 1):
        documents.count(document)
        if progress:
            progress(done, catalog.active)
    documents.look_up()
    return CatalogStats(
        active=catalog.active,
        inactive=numbers["products"] - catalog.active,
        categories=numbers["categories"],
        empty_categories=_empty_categories(catalog),
        brands=numbers["brands"],
        reviews=numbers["reviews"],
        bytes=pages * page_size,
        dictionary=len(catalog.file.meta["dictionary"]),
        tables=_tables(catalog),
        facets=tuple(_facets_of(catalog)),
        lacking={name: one.lacking() for name, one in documents.lacking.items()},
        stock=StockStats(
            documents.upcs,
            documents.nowhere.lacking(),
            documents.sold_out.lacking(),
            catalog.stock.stores,
        ),
        words=WordStats(
            numbers["words"],
            numbers["stems"],
            len(catalog.synonyms),
            numbers["forms"],
        ),
    )


_NUMBER_QUERIES = {
    "products": "SELECT count(*) FROM number",
    "categories": "SELECT count(*) FROM category",
    "brands": "SELECT count(*) FROM brand",
    "reviews": "SELECT count(*) FROM review",
    "words": "SELECT count(*) FROM word",
    "stems": "SELECT count(*) FROM stem",
    "forms": "SELECT count(*) FROM form",
}


def _number(catalog: OpenedCatalog, query: str) -> int:
    ((count,),) = catalog.file.rows(query)
    return int(count)


def _empty_categories(catalog: OpenedCatalog) -> Lacking:
    """Return the categories without an active product, in them or below."""
    counted = _Counted()
    query = (
        "SELECT id FROM category WHERE coalesce(length(products), 0) = 0 ORDER BY id"
    )
    for (id,) in catalog.file.rows(query):
        counted.add(id)
    return counted.lacking()


def _tables(catalog: OpenedCatalog) -> tuple[TableSize, ...] | None:
    """Return the size of each table; None where SQLite was built without `dbstat`.

    FTS5 stores the text index in several tables, which count as one. SQLite's own tables
    have names that begin with sqlite_, and those of their kind are left out.
    """
    query = (
        "SELECT CASE WHEN name LIKE 'text_%' THEN 'text' ELSE name END AS part, sum(pgsize)"
        " FROM dbstat WHERE aggregate = TRUE AND name NOT LIKE 'sqlite_%'"
        " GROUP BY part ORDER BY 2 DESC, 1"
    )
    try:
        rows = catalog.file.rows(query)
    except sqlite3.OperationalError:
        return None
    return tuple(TableSize(name, size) for name, size in rows)


def _facets_of(catalog: OpenedCatalog) -> Iterator[FacetStats]:
    for facet in catalog.lists.facets:
        # The combination 0 has no value, and free ranks have it, too.
        having = len(facet.column) - facet.column.count(0)
        coverage = having / catalog.active if catalog.active else 0.0
        yield FacetStats(facet.name, len(facet.values), having, round(coverage, 4))


class _Counted:
    """What lacks something: all are counted, and the first are named."""

    def __init__(self) -> None:
        self._count = 0
        self._examples: list[int | str] = []

    def add(self, id: int | str) -> None:
        self._count += 1
        if len(self._examples) < EXAMPLE_IDS:
            self._examples.append(id)

    def lacking(self) -> Lacking:
        return Lacking(self._count, tuple(self._examples))


class _DocumentCounts:
    """What is counted in the documents of active products."""

    def __init__(self, catalog: OpenedCatalog) -> None:
        self._catalog = catalog
        self._categories = {
            id for (id,) in catalog.file.rows("SELECT id FROM category")
        }
        self.lacking = {name: _Counted() for name in ("image", "price", "category")}
        self.upcs = 0
        self.nowhere, self.sold_out = _Counted(), _Counted()
        # Of each product that waits: its id, its UPCs that cannot be sent, and whether
        # these are all that it has.
        self._waiting: list[tuple[int, Sequence[str], bool]] = []
        self._waiting_upcs = 0

    def count(self, product: Json) -> None:
        """Count a product. Its UPCs that cannot be sent wait for `look_up`."""
        id = product["id"]
        if not product.get("images", {}).get("primary"):
            self.lacking["image"].add(id)
        if product["priceHigh"] <= 0:
            self.lacking["price"].add(id)
        if self._categories.isdisjoint(product.get("categories", ())):
            self.lacking["category"].add(id)
        sold = [one for one in product.get("upcs", ()) if one.get("active", True)]
        unsendable = [one["upc"] for one in sold if not one["available"]]
        self.upcs += len(sold)
        if unsendable:
            is_all = len(unsendable) == len(sold)
            self._waiting.append((id, unsendable, is_all))
            self._waiting_upcs += len(unsendable)
        if self._waiting_upcs >= UPCS_A_LOOK:
            self.look_up()

    def look_up(self) -> None:
        """Count the UPCs that cannot be sent, and that no store has either.

        Many are looked up together, and all that are left at the end.
        """
        numbers = [upc for _, upcs, _ in self._waiting for upc in upcs]
        in_stores = self._catalog.stock.upcs_in_stores(numbers)
        for id, upcs, is_all in self._waiting:
            nowhere = [upc for upc in upcs if upc not in in_stores]
            for upc in nowhere:
                self.nowhere.add(upc)
            if is_all and len(nowhere) == len(upcs):
                self.sold_out.add(id)
        self._waiting, self._waiting_upcs = [], 0
