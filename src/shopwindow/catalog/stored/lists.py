"""Lists of products: of a category or a search, filtered, ordered, counted and cut into
pages.

A rank is a product's place among the active ones: best sellers first, then by id. A
list of products is an array of ranks in order. What it is filtered, ordered and counted
by are columns (`sums`), which are read when a request first needs them.

The steps of a page, in their order: `_bounded` applies the filters that are no facets,
`narrowed` the others; then facets are counted, each without its own filter, which is
why the first step stands apart; then the products are ordered, and the ids of the page
are looked up.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from shopwindow.catalog.feeds.packing import DamagedRow
from shopwindow.catalog.feeds.rows import BASIC
from shopwindow.catalog.protocol import (
    CATEGORY_FILTER,
    PRICE,
    Facet,
    Page,
    ProductQuery,
)
from shopwindow.catalog.stored.opened_file import OpenedFile
from shopwindow.catalog.stored.store_stock import StoreStock

Flags = npt.NDArray[np.bool_]

Column = npt.NDArray[np.integer[Any]]
"""One number for each rank."""

Ranks = npt.NDArray[np.integer[Any]]
"""Products by their places among the active ones, best sellers first."""

RANGES: tuple[tuple[float, float | None], ...] = (
    (0, 49.99),
    (50, 99.99),
    (100, 249.99),
    (250, 499.99),
    (500, None),
)
"""The ranges of the facet PRICE: lowest and highest price in dollars; None: no limit.
"""

PRICE_STEPS = (5000, 10000, 25000, 50000)
"""Cents at which the second and the later ranges begin."""

MOST_CENTS = 2**62
"""More than anything costs."""

STORES_CACHED = 16
"""Stores of which the products that can be picked up are cached. Shoppers of a region
name the same few; a store with 100,000 products takes a megabyte.
"""

NO_RANKS: Ranks = np.array([], np.int32)

Ranking = Callable[[Ranks, int], Sequence[int]]
"""(ranks, most) → the first ``most`` of the ranks in another order."""


class FacetColumn:
    """One facet: the combination of its values that each product has.

    How counting stays fast: few combinations stand for many products. A result is
    counted by combination first, and then each combination's values.

    Attributes:
        column: the number of each product's combination, by rank.
        displayname: as shoppers read it.
        values: every value that some product has, sorted.
    """

    def __init__(
        self, name: str, combinations: Sequence[Sequence[str]], column: Column
    ) -> None:
        self.name, self.column = name, column
        self.displayname = BASIC.get(name) or name.replace("_", " ").title()
        self.values = sorted({value for one in combinations for value in one})
        code_of = {value: code for code, value in enumerate(self.values)}
        pairs = [
            (number, code_of[value])
            for number, one in enumerate(combinations)
            for value in one
        ]
        self._numbers, self._codes = np.array(pairs, np.int64).reshape(-1, 2).T
        self._combinations = combinations

    def passing(self, values: Iterable[str]) -> Flags:
        """Return, for each combination, whether it has one of some values, whatever
        their case.
        """
        wanted = {value.casefold() for value in values}
        is_wanted = [value.casefold() in wanted for value in self.values]
        passing = np.zeros(len(self._combinations), bool)
        passing[self._numbers[np.array(is_wanted, bool)[self._codes]]] = True
        return passing

    def count(self, ranks: Ranks) -> list[tuple[str, int]]:
        """Return (value, how many of some products have it), the most frequent first,
        then by text.
        """
        size = len(self._combinations)
        by_combination = np.bincount(self.column[ranks], minlength=size)
        of_codes = by_combination[self._numbers]
        by_value = np.bincount(self._codes, of_codes, minlength=len(self.values))
        present = np.flatnonzero(by_value)
        ordered = present[np.argsort(-by_value[present], kind="stable")].tolist()
        return [(self.values[code], int(by_value[code])) for code in ordered]

    def having(self) -> int:
        """Return how many products have a value."""
        has_value = np.array([bool(one) for one in self._combinations], bool)
        return int(has_value[self.column].sum())

    def signs(self) -> npt.NDArray[np.uint64]:
        """Return a number for what each product has of the facet, by rank. It follows
        from the values, and not from how an index numbers them.
        """
        signs = [
            int.from_bytes(
                blake2b(orjson.dumps([self.name, one]), digest_size=8).digest()
            )
            for one in self._combinations
        ]
        return np.array(signs, np.uint64)[self.column]


class ProductLists:
    """The lists of one catalog's products, and the columns that they are made by."""

    def __init__(self, file: OpenedFile, stock: StoreStock) -> None:
        self._file = file
        self._columns: dict[str, Column] = {}

        def picked_up_at(location: int) -> Ranks:
            """Return the products of which a store has a UPC to be picked up."""
            return self.ranks(stock.picked_up_at(location))

        # That reads the stock of every UPC, so the stores named last are cached.
        self._picked_up_at = lru_cache(maxsize=STORES_CACHED)(picked_up_at)

    # -- ranks --

    def ranks(self, ids: Iterable[int]) -> Ranks:
        """Return the ranks of those of some products that are active, in order."""
        by_id, ranks = self._by_id
        wanted = np.array([id for id in ids if abs(id) < MOST_CENTS], np.int64)
        if not len(by_id):
            return NO_RANKS
        places = np.searchsorted(by_id, wanted).clip(max=len(by_id) - 1)
        return np.sort(ranks[places[by_id[places] == wanted]])

    @cached_property
    def _by_id(self) -> tuple[Column, Ranks]:
        """The ids of active products in order, and the rank of each."""
        ranks = np.argsort(self.column("id"))
        return self.column("id")[ranks], ranks

    def ids(self, ranks: Ranks | Sequence[int]) -> list[int]:
        """Return the ids of products."""
        ids: list[int] = self.column("id")[np.asarray(ranks, np.int64)].tolist()
        return ids

    def of_category(self, category: int) -> Ranks:
        """Return the active products of a category and its descendants, in order."""
        statement = "SELECT products FROM category WHERE id = ?"
        return np.frombuffer(self._file.one(statement, category) or b"", np.int32)

    def of_categories(self, categories: Iterable[int]) -> Ranks:
        """Return the active products of some categories and their descendants."""
        return np.unique(np.concatenate([NO_RANKS, *map(self.of_category, categories)]))

    # -- pages --

    def page(
        self, ranks: Ranks, query: ProductQuery, order: Ranking | None = None
    ) -> Page:
        """Return a page of some products, narrowed by the query's filters.

        ``order`` puts the narrowed products into their own order, if the query has
        none; None: they are in it. It need not look beyond the page.
        """
        ranks = self._bounded(ranks, query)
        narrowed = self.narrowed(ranks, query)
        facets = tuple(self._counted(ranks, narrowed, query)) if query.facets else ()
        if not query.products:
            return Page(len(narrowed), (), facets)
        start, end = (query.page - 1) * query.perpage, query.page * query.perpage
        ordered: Ranks | Sequence[int] = narrowed
        if query.sort:
            ordered = self._sorted(narrowed, query.sort)
        elif order:
            ordered = order(narrowed, end)
        return Page(len(narrowed), tuple(self.ids(ordered[start:end])), facets)

    def filtered(self, ranks: Ranks, query: ProductQuery) -> Ranks:
        """Return the products that pass all filters of a query."""
        return self.narrowed(self._bounded(ranks, query), query)

    def _bounded(self, ranks: Ranks, query: ProductQuery) -> Ranks:
        """Return the products that pass those filters of a query that are no facets: its
        categories, and where it can be picked up.
        """
        values = query.filters.get(CATEGORY_FILTER)
        if values and CATEGORY_FILTER not in self.facets:
            inside = self.of_categories(self._categories(values))
            ranks = ranks[np.isin(ranks, inside)]
        if query.pick_up is not None:
            at_stores = [NO_RANKS, *map(self._picked_up_at, query.pick_up)]
            ranks = ranks[np.isin(ranks, np.concatenate(at_stores))]
        return ranks

    def narrowed(
        self, ranks: Ranks, query: ProductQuery, except_for: str | None = None
    ) -> Ranks:
        """Return the products that pass the filters by facet and by price, or all of
        these but that of one facet.
        """
        for name, values in query.filters.items():
            facet = self.facets.get(name)
            is_category = name == CATEGORY_FILTER and facet is None  # see `_bounded`
            if name == except_for or is_category:
                continue
            if facet is None:
                return NO_RANKS
            ranks = ranks[facet.passing(values)[facet.column[ranks]]]
        if query.price and except_for != PRICE:
            cents = self.column("price")[ranks]
            is_within = np.zeros(len(ranks), bool)
            for low, high in query.price:
                least = round((low or 0) * 100)
                most = MOST_CENTS if high is None else round(high * 100)
                is_within |= (cents >= least) & (cents <= most)
            ranks = ranks[is_within]
        return ranks

    def _counted(
        self, ranks: Ranks, narrowed: Ranks, query: ProductQuery
    ) -> Iterator[Facet]:
        """Yield the facets of a result that have values, each counted without its own
        filter.
        """

        def without_own(name: str) -> Ranks:
            has_own = name in query.filters or (name == PRICE and query.price)
            return self.narrowed(ranks, query, name) if has_own else narrowed

        counted = [
            Facet(name, facet.displayname, tuple(facet.count(without_own(name))))
            for name, facet in self.facets.items()
        ]
        bands = np.bincount(self._bands[without_own(PRICE)], minlength=len(RANGES))
        ranges = tuple(
            (low, high, count)
            for (low, high), count in zip(RANGES, bands.tolist(), strict=True)
            if count
        )
        counted.insert(len(BASIC), Facet(PRICE, "Price", (), ranges))
        return (facet for facet in counted if facet.values or facet.ranges)

    def _sorted(self, ranks: Ranks, sort: str) -> Ranks:
        """Return products in the order of one of `protocol.SORTS`: those without the
        value last, equals by id.
        """
        name, direction = sort.split("_")
        values, ids = self.column(name)[ranks], self.column("id")[ranks]
        # The newest products have been in the shop for the fewest days.
        is_falling = (direction == "descending") != (name == "newness")
        is_missing = values < 0
        return ranks[np.lexsort((ids, -values if is_falling else values, is_missing))]

    def signature(self, category: int) -> bytes:
        """Return a digest of what a category lists without a filter: the ids of all its
        products in order, and what its facets count.
        """
        ranks = self.of_category(category)
        digest = blake2b(self.column("id")[ranks].tobytes())
        digest.update(self._signs[ranks].tobytes())
        return digest.digest()

    # -- what stays in memory, once a request needs it --

    def column(self, name: str) -> Column:
        """Return a column: one value for each rank. Raises DamagedRow where it is lost."""
        column = self._columns.get(name)
        if column is None:
            data = self._file.one("SELECT data FROM col WHERE name = ?", name)
            if data is None:
                raise DamagedRow(f"the column {name} is missing")
            size = np.int32 if name.startswith("facet ") else np.int64
            column = self._columns[name] = np.frombuffer(data, size)
        return column

    @cached_property
    def _bands(self) -> Column:
        """The range of prices that each product is in, by rank."""
        return np.searchsorted(PRICE_STEPS, self.column("price"), "right")

    @cached_property
    def _signs(self) -> npt.NDArray[np.uint64]:
        """A number for what facets count of each product, by rank."""
        signs = self._bands.astype(np.uint64)
        for facet in self.facets.values():
            signs = signs * np.uint64(0x9E3779B97F4A7C15) + facet.signs()
        return signs

    @cached_property
    def facets(self) -> Mapping[str, FacetColumn]:
        """All facets but PRICE by name, in their order."""
        rows = self._file.rows("SELECT name, combinations FROM facet ORDER BY number")
        return {
            name: FacetColumn(name, orjson.loads(data), self.column(f"facet {name}"))
            for name, data in rows
        }

    def _categories(self, values: Iterable[str]) -> Iterator[int]:
        """Yield the ids of the categories whose ids or names the values are, whatever
        their case.
        """
        for value in values:
            if value.isascii() and value.isdigit():
                yield int(value)
            yield from self._category_ids_by_name.get(value.casefold(), ())

    @cached_property
    def _category_ids_by_name(self) -> Mapping[str, Collection[int]]:
        ids: dict[str, list[int]] = {}
        for id, document in self._file.rows("SELECT id, document FROM category"):
            name = orjson.loads(document)["name"].casefold()
            ids.setdefault(name, []).append(id)
        return ids
