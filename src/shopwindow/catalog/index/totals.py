"""What is counted over all products of an index, changed product by product.

Columns have an entry for each rank, categories hold their products and count their
facets, and each order of `sources.RANK_ORDERS` has a column of places. `Totals.note`
notes what one product adds and takes away, and `Totals.write` writes what that changes.
"""

import sqlite3
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import orjson

from shopwindow.catalog.index.facets import (
    BASIC,
    MAX_CENTS,
    NO_BAND,
    PRICE_STEPS,
    RANGES,
    Combinations,
)
from shopwindow.catalog.index.rows import IndexRow, Listing
from shopwindow.catalog.index.sources import RANK_ORDERS, sort_column
from shopwindow.catalog.protocol import PRICE

ORDERED_BY = (
    ("price_ascending", "price_descending"),
    ("rating_ascending", "rating_descending"),
    ("name_ascending", "name_descending"),
    ("newness_ascending", "newness_descending"),
)
"""The orders that each column of `listed` decides, from `low` to `days`. The column that
follows, `best`, decides the rank: a product with another value leaves its rank and comes
to a new one, so that all orders are written.
"""

ITEMS = {"id": "Q", "band": "B"}
"""What the items of columns are, as `array` names it, where they are not 32 bits."""

IS_TAKEN = bytes([1] * NO_BAND + [0])
"""Whether a product has a rank, by what the column `band` has there."""


class WriteWhole(Exception):
    """The index has to be written from nothing."""


class Totals:
    """What is counted over all products, while these change.

    Args:
        out: the index.
        facets: the attributes that are facets, as the index was written with them.
        max_facet_values: attributes with more values are none.
    """

    def __init__(
        self, out: sqlite3.Connection, facets: Sequence[str], max_facet_values: int
    ) -> None:
        self._out, self._max_facet_values = out, max_facet_values
        self._names = (*BASIC, *facets)
        self._columns: dict[str, array[int]] = {}
        """Columns that have changed, by name."""
        self._facets: dict[str, Combinations] = {}
        """Facets that have changed, by name."""
        self._sorts: set[str] = set()
        """The orders in which some product has another place."""
        self._counts: dict[int, dict[str, Counter[Any]]] = defaultdict(
            lambda: defaultdict(Counter)
        )
        """By category and facet, by how much each value has more products."""
        self._gone: dict[int, set[int]] = defaultdict(set)
        self._come: dict[int, set[int]] = defaultdict(set)
        """By category, the ranks that leave it, and those that come to it after that."""
        self._length_before = self._length = len(self._stored("band"))

    @property
    def taken(self) -> bytearray:
        """For each rank, 1 where a product has it."""
        return bytearray(self._stored("band").translate(IS_TAKEN))

    def of_brands(self, brands: set[str]) -> Iterator[int]:
        """Yield the ids of the active products of some brands."""
        row = self._facet_row("BRAND") or ()  # every index has this facet
        column = array("I", self._stored("facet BRAND"))
        combinations = Combinations.decoded(row, column).combinations()
        wanted = {
            number
            for number, values in enumerate(combinations)
            if not brands.isdisjoint(values)
        }
        for id, number in zip(self._ids, column, strict=True):
            if number in wanted:
                yield id

    def in_category(self, category: int) -> Iterator[int]:
        """Yield the ids of the active products of a category of the previous index."""
        products, _ = self._category(category)
        for rank in array("I", products):
            yield self._ids[rank]

    @cached_property
    def _ids(self) -> Sequence[int]:
        """The id of each active product of the previous index, by rank."""
        return array("Q", self._stored("id"))

    def note(self, rank: int, was: Listing | None, now: Listing | None) -> None:
        """Note how lists show a product, before and now; None: they do not.

        Products that leave a rank do so before others come to it.
        """
        self._length = max(self._length, rank + 1)
        self._list(rank, was, now)
        self._note_orders(was, now)
        self._set_columns(rank, was, now)
        self._note_categories(rank, was, now)

    def _list(self, rank: int, was: Listing | None, now: Listing | None) -> None:
        """Write the row of the table `listed`."""
        if now is None:
            self._out.execute("DELETE FROM listed WHERE rank = ?", (rank,))
        elif was is None or was.row != now.row:
            marks = ", ".join("?" * (1 + len(now.row)))
            self._out.execute(
                f"INSERT OR REPLACE INTO listed VALUES ({marks})", (rank, *now.row)
            )

    def _note_orders(self, was: Listing | None, now: Listing | None) -> None:
        """Note the orders in which a product has another place."""
        if was is None or now is None:
            self._sorts.update(RANK_ORDERS)
            return
        _, *before, _ = was.row
        _, *after, _ = now.row
        for orders, one, other in zip(ORDERED_BY, before, after, strict=True):
            if one != other:
                self._sorts.update(orders)

    def _set_columns(self, rank: int, was: Listing | None, now: Listing | None) -> None:
        if was is None or now is None:
            self._column("id")[rank] = now.row[0] if now else 0
        if was is None or now is None or was.cents != now.cents:
            self._column("price")[rank] = min(now.cents, MAX_CENTS) if now else 0
            self._column("band")[rank] = _band(now) if now else NO_BAND
        nothing: Sequence[tuple[str, ...]] = [()] * len(self._names)
        values_before = was.values if was else nothing
        values_now = now.values if now else nothing
        for name, one, other in zip(
            self._names, values_before, values_now, strict=True
        ):
            if one != other:
                facet = self._facet(name)
                facet.column[rank] = facet.number(other)

    def _note_categories(
        self, rank: int, was: Listing | None, now: Listing | None
    ) -> None:
        """Note the categories that a product leaves and comes to, and count it there."""
        before: set[int] = set(was.categories) if was else set()
        after: set[int] = set(now.categories) if now else set()
        for category in before - after:
            self._gone[category].add(rank)
        for category in after - before:
            self._come[category].add(rank)
        is_counted_alike = (
            was is not None
            and now is not None
            and before == after
            and _band(was) == _band(now)
            and was.values == now.values
        )
        if not is_counted_alike:
            for one, by in ((was, -1), (now, 1)):
                if one is not None:
                    self._count(one, by)

    def _count(self, listing: Listing, by: int) -> None:
        """Count a product once more, or once less, in its categories."""
        band = _band(listing)
        for category in listing.categories:
            counts = self._counts[category]
            counts[PRICE][band] += by
            for name, values in zip(self._names, listing.values, strict=True):
                for value in values:
                    counts[name][value] += by

    # -- what is stored

    def _stored(self, name: str) -> bytes:
        ((data,),) = self._out.execute("SELECT data FROM col WHERE name = ?", (name,))
        column: bytes = data
        return column

    def _column(self, name: str) -> "array[int]":
        """Return a column by rank, as long as all are now, which is written at the end."""
        column = self._columns.get(name)
        if column is None:
            data = self._stored(name)
            column = array(ITEMS.get(name, "I"), data)
            self._columns[name] = column
        filler = NO_BAND if name == "band" else 0
        while len(column) < self._length:
            column.append(filler)
        return column

    def _facet(self, name: str) -> Combinations:
        """Return a facet, whose column is as long as all are now.

        Raises WriteWhole where the attribute is none, because it has too many values.
        """
        if name not in self._facets:
            row = self._facet_row(name)
            if row is None:
                raise WriteWhole
            facet = Combinations.decoded(row, self._column(f"facet {name}"))
            facet.reopen()
            self._facets[name] = facet
        self._column(f"facet {name}")  # is as long as all are by now
        return self._facets[name]

    def _facet_row(self, name: str) -> IndexRow | None:
        statement = (
            "SELECT name, displayname, vals, starts, codes FROM facet WHERE name = ?"
        )
        row: IndexRow | None = self._out.execute(statement, (name,)).fetchone()
        return row

    def _category(self, id: int) -> tuple[bytes, bytes]:
        """Return the products of a category, and its facets in JSON."""
        row: tuple[bytes, bytes] | None = self._out.execute(
            "SELECT products, facets FROM category WHERE id = ?", (id,)
        ).fetchone()
        return row or (b"", b"[]")

    # -- what is written at the end

    def write(self) -> None:
        """Write columns, facets and categories that have changed. Raises WriteWhole."""
        names: list[tuple[str, str]] = self._out.execute(
            "SELECT name, displayname FROM facet ORDER BY number"
        ).fetchall()
        if self._length > self._length_before:
            facet_columns = (f"facet {name}" for name, _ in names)
            for name in ("id", "price", "band", *facet_columns):
                self._column(name)  # is longer from now on, and is written
        for facet in self._facets.values():
            self._write_facet(facet)
        for name, column in self._columns.items():
            self._write_column(name, column.tobytes())
        for name in sorted(self._sorts):
            self._write_column(name, sort_column(self._out, name, self._length))
        for id in sorted(self._counts.keys() | self._gone.keys() | self._come.keys()):
            self._write_category(id, names)

    def _write_column(self, name: str, data: bytes) -> None:
        self._out.execute("UPDATE col SET data = ? WHERE name = ?", (data, name))

    def _write_facet(self, facet: Combinations) -> None:
        used = len(facet.count(range(1, self._length)))
        if facet.name not in BASIC and used > self._max_facet_values:
            raise WriteWhole
        name, _, values, starts, codes = facet.encoded()
        self._out.execute(
            "UPDATE facet SET vals = ?, starts = ?, codes = ? WHERE name = ?",
            (values, starts, codes, name),
        )

    def _write_category(self, id: int, names: Sequence[tuple[str, str]]) -> None:
        """Write the products of a category, and its facets by what has changed."""
        products, facets = self._category(id)
        if id in self._gone or id in self._come:
            ranks = set(array("I", products)) - self._gone[id] | self._come[id]
            products = array("I", sorted(ranks)).tobytes()
        counted = _counted(orjson.loads(facets), self._counts.get(id, {}), names)
        self._out.execute(
            "UPDATE category SET products = ?, facets = ? WHERE id = ?",
            (products, orjson.dumps(counted), id),
        )


def _band(listing: Listing) -> int:
    """Return the number of the range of prices that a product is in."""
    return bisect_right(PRICE_STEPS, listing.cents)


def _counted(
    rows: Sequence[Any],
    changes: Mapping[str, Counter[Any]],
    facets: Sequence[tuple[str, str]],
) -> list[Any]:
    """Return the facets of a category, as `facets.count` returns them.

    Args:
        rows: what that returned for it before.
        changes: by facet, by how much each value has more products.
        facets: (name, displayname) of all but PRICE.
    """
    before = {name: (values, ranges) for name, _, values, ranges in rows}
    every = [*facets]
    every.insert(len(BASIC), (PRICE, "Price"))
    counted: list[Any] = []
    for name, displayname in every:
        values, ranges = before.get(name, ([], []))
        more = changes.get(name, Counter())
        if name == PRICE:
            bands = Counter({RANGES.index((low, high)): n for low, high, n in ranges})
            bands.update(more)
            ranges = [(*RANGES[band], bands[band]) for band in sorted(+bands)]
        else:
            counts = Counter(dict(values))
            counts.update(more)
            values = sorted((+counts).items(), key=lambda pair: (-pair[1], pair[0]))
        if values or ranges:
            counted.append((name, displayname, values, ranges))
    return counted
