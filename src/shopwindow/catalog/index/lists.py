"""Lists of products: of a category or a search, filtered, ordered, counted and cut into
pages.

Products are addressed by rank within the file (`ranks`): the order of these numbers is
that of best sellers, active products first. A list of products is a sequence of ranks.
What it is filtered, ordered and counted by are columns: arrays indexed by rank, which
are read into memory when a request first needs them. Ids, which everyone else knows,
stand in the column `id`.

The steps of a page, in their order: `_bounded` applies the filters that are no facets,
`narrowed` the others; then facets are counted, each without its own filter, which is
why the first step stands apart; then the products are ordered, as far as the page
reaches, and their ids are looked up.
"""

from array import array
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import cached_property
from heapq import nsmallest
from typing import Any

import orjson

from shopwindow.catalog.index.facets import NO_BAND, Combinations, count, keep
from shopwindow.catalog.index.opened_file import OpenedFile
from shopwindow.catalog.index.packing import DamagedRow
from shopwindow.catalog.index.store_stock import StoreStock
from shopwindow.catalog.protocol import (
    CATEGORY_FILTER,
    PRICE,
    Facet,
    Page,
    ProductQuery,
    Range,
)

FEW = 20
"""If less than one in so many of a list is needed, picking the best beats sorting all
of it.
"""

Ranking = Callable[[Sequence[int], int], Sequence[int]]
"""(ranks, most) → the first ``most`` of the ranks in another order."""


class ProductLists:
    """The lists of one catalog's products, and the columns that they are made by."""

    def __init__(self, file: OpenedFile, stock: StoreStock) -> None:
        self._file, self._stock = file, stock

    # -- of categories --

    def of_category(self, category: int) -> Sequence[int]:
        """Return the active products of a category and its descendants, in order."""
        statement = "SELECT products FROM category WHERE id = ?"
        return array("I", self._file.one(statement, category) or b"")

    def of_categories(self, categories: Iterable[int]) -> set[int]:
        """Return the active products of some categories and their descendants."""
        ranks: set[int] = set()
        for category in categories:
            ranks.update(self.of_category(category))
        return ranks

    def stored(self, category: int) -> tuple[Sequence[int], bytes] | None:
        """Return what a category lists without a filter: its products and, in JSON, its
        facets; None where there is no such category.
        """
        statement = "SELECT products, facets FROM category WHERE id = ?"
        rows = self._file.rows(statement, (category,))
        if not rows:
            return None
        products, facets = rows[0]
        return array("I", products), facets

    def browse(self, category: int, query: ProductQuery) -> Page:
        """Return a page of a category's products; see `protocol.Catalog`."""
        stored = self.stored(category)
        if stored is None:
            return Page(0)
        ranks, counted_facets = stored
        if query.filters or query.price or query.pick_up is not None:
            return self.page(ranks, query)
        facets = _facets(orjson.loads(counted_facets)) if query.facets else ()
        return Page(len(ranks), self._ids(ranks, query), facets)

    # -- of any products --

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
        return Page(total, self._ids(narrowed, query), facets)

    def filtered(self, ranks: Sequence[int], query: ProductQuery) -> Sequence[int]:
        """Return the products that pass all filters of a query."""
        return self.narrowed(self._bounded(ranks, query), query)

    def _bounded(self, ranks: Sequence[int], query: ProductQuery) -> Sequence[int]:
        """Return the products that pass those filters of a query that are no facets: its
        categories, and where it can be picked up.
        """
        values = query.filters.get(CATEGORY_FILTER)
        if values and CATEGORY_FILTER not in self.facet_names:
            inside = self.of_categories(self._categories(values))
            ranks = [rank for rank in ranks if rank in inside]
        if query.pick_up is not None:
            at_stores: set[int] = set()
            for location in query.pick_up:
                at_stores |= self._stock.picked_up_at(location)
            ranks = [rank for rank in ranks if rank in at_stores]
        return ranks

    def narrowed(
        self, ranks: Sequence[int], query: ProductQuery, except_for: str | None = None
    ) -> Sequence[int]:
        """Return the products that pass the filters by facet and by price, or all of
        these but that of one facet.
        """
        for name, values in query.filters.items():
            facet = self._facet(name)
            is_category = name == CATEGORY_FILTER and facet is None  # see `_bounded`
            if name != except_for and not is_category:
                ranks = keep(ranks, facet.column, facet.having(values)) if facet else ()
        if query.price and except_for != PRICE:
            prices = self.column("price")
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
        return _facets(count(self.facets, self._bands, narrowed, without_own))

    def _ids(self, ranks: Sequence[int], query: ProductQuery) -> tuple[int, ...]:
        """Return the ids of the page that a query wants of some products, in its order."""
        if not query.products:
            return ()
        start = (query.page - 1) * query.perpage
        if query.sort not in (None, "bestseller_ascending"):
            ranks = self._sorted(ranks, str(query.sort), start + query.perpage)
        elif query.sort:
            ranks = sorted(ranks)
        ids = self.column("id")
        return tuple([ids[rank] for rank in ranks[start : start + query.perpage]])

    def _sorted(self, ranks: Sequence[int], sort: str, most: int) -> list[int]:
        """Return some products in the order of one of SORTS, the first ``most`` at
        least.

        The column of a sort has the place of each product in that order.
        """
        places = self.column(sort)
        if most * FEW < len(ranks):
            return nsmallest(most, ranks, key=places.__getitem__)
        return sorted(ranks, key=places.__getitem__)

    def standing_at(self, rank: int) -> int:
        """Return where the active product of a rank stands among all, from 1."""
        return rank - self._bands.count(NO_BAND, 1, rank)

    # -- what stays in memory, once a request needs it --

    def column(self, name: str) -> "array[int]":
        """Return a column: one value for each rank."""
        column = self._columns.get(name)
        if column is None:
            data = self._stored_column(name)
            column = self._columns[name] = array("Q" if name == "id" else "I", data)
        return column

    def _stored_column(self, name: str) -> bytes:
        """Return a column as it is stored. Raises DamagedRow where it is lost."""
        data: bytes | None = self._file.one("SELECT data FROM col WHERE name = ?", name)
        if data is None:
            raise DamagedRow(f"the column {name} is missing")
        return data

    @cached_property
    def _columns(self) -> dict[str, "array[int]"]:
        return {}

    @cached_property
    def _bands(self) -> bytes:
        """The range of prices that each product is in, by rank; see `facets.ranges`."""
        return self._stored_column("band")

    @cached_property
    def facets(self) -> list[Combinations]:
        """All facets but PRICE, in their order."""
        rows = self._file.rows(
            "SELECT name, displayname, vals, starts, codes FROM facet ORDER BY number"
        )
        return [
            Combinations.decoded(row, self.column(f"facet {row[0]}")) for row in rows
        ]

    @cached_property
    def facet_names(self) -> Collection[str]:
        """The names of all facets but PRICE."""
        return frozenset(name for (name,) in self._file.rows("SELECT name FROM facet"))

    @property
    def brand(self) -> Combinations:
        """The facet BRAND, which every catalog has and which comes first."""
        return self.facets[0]

    def _facet(self, name: str) -> Combinations | None:
        return next((facet for facet in self.facets if facet.name == name), None)

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
        for id, document in self._file.rows("SELECT id, document FROM category"):
            name = orjson.loads(document)["name"].casefold()
            ids.setdefault(name, []).append(id)
        return ids


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
