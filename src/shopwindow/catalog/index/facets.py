"""Facets of products: columns by rank, counted over any result.

How counting stays fast. A column does not hold values but a number for each combination
of values that some product has, since few combinations stand for many products. A
result is counted by combination first, and then each combination's values. If a result
holds more than half of all products, the products that it lacks are counted instead,
and subtracted (`counted`).
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, compress, islice, pairwise
from operator import gt
from typing import Any

import orjson

from shopwindow.catalog.protocol import PRICE

BASIC = {"BRAND": "Brand", "COLOR": "Color", "SIZE": "Size"}
"""The facets that every catalog has, with the names that are shown."""

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

NO_BAND = 255
"""What stands in the place of a range for a rank that no product has."""

MAX_CENTS = 2**32 - 1
"""The highest price that the column of prices holds; a higher one is sorted as this."""


class Combinations:
    """One facet. Every product has a combination of its values.

    Attributes:
        name: in upper case, as filters name it.
        displayname: as shoppers read it.
        values: every value that some product has; a code is an index of this list.
        starts, codes: the values of combination c are ``codes[starts[c]:starts[c + 1]]``.
            Combination 0 is empty.
        column: the combination of each product, by rank; 0 for a rank that none has.
    """

    def __init__(self, name: str, displayname: str) -> None:
        self.name, self.displayname = name, displayname
        self.values: list[str] = []
        self.starts, self.codes = array("I", (0, 0)), array("I")
        self.column = array("I")
        self._code_of: dict[str, int] = {}
        self._combination_of: dict[tuple[str, ...], int] = {(): 0}

    def add(self, values: tuple[str, ...]) -> None:
        """Add the product of the next rank, by its values."""
        self.column.append(self.number(values))

    def number(self, values: tuple[str, ...]) -> int:
        """Return the number of a combination, which is a new one if no product has it."""
        number = self._combination_of.get(values)
        if number is None:
            number = self._combination_of[values] = len(self.starts) - 1
            self.codes.extend([self._code(value) for value in values])
            self.starts.append(len(self.codes))
        return number

    def _code(self, value: str) -> int:
        code = self._code_of.get(value)
        if code is None:
            code = self._code_of[value] = len(self.values)
            self.values.append(value)
        return code

    def encoded(self) -> tuple[str, str, bytes, bytes, bytes]:
        """Return the facet as a row of the table `facet`; the column is stored apart."""
        return (
            self.name,
            self.displayname,
            orjson.dumps(self.values),
            self.starts.tobytes(),
            self.codes.tobytes(),
        )

    @classmethod
    def decoded(cls, row: Sequence[Any], column: "array[int]") -> "Combinations":
        """Return a facet from the row that `encoded` returned, and its column."""
        name, displayname, values, starts, codes = row
        facet = cls(name, displayname)
        facet.values, facet.column = orjson.loads(values), column
        facet.starts, facet.codes = array("I", starts), array("I", codes)
        return facet

    def reopen(self) -> None:
        """Make a decoded facet ready for further combinations."""
        self._code_of = {value: code for code, value in enumerate(self.values)}
        self._combination_of = {
            values: number for number, values in enumerate(self.combinations())
        }

    def combinations(self) -> Iterator[tuple[str, ...]]:
        """Yield the values of each combination."""
        for start, end in pairwise(self.starts):
            yield tuple(self.values[code] for code in self.codes[start:end])

    def having(self, values: Iterable[str]) -> set[int]:
        """Return the combinations that have one of some values, whatever their case."""
        return set().union(
            *(self._inverted.get(value.casefold(), ()) for value in values)
        )

    @cached_property
    def _inverted(self) -> dict[str, list[int]]:
        """The combinations that have a value, by the value in lower case."""
        names = [value.casefold() for value in self.values]
        inverted: dict[str, list[int]] = {name: [] for name in names}
        starts, codes = self.starts, self.codes
        for number in range(len(starts) - 1):
            for code in codes[starts[number] : starts[number + 1]]:
                inverted[names[code]].append(number)
        return inverted

    def count(
        self, ranks: Iterable[int], *, absent: bool = False
    ) -> list[tuple[str, int]]:
        """Return (value, how many of some products have it), the most frequent first.

        Equally frequent values are in order of their text. With ``absent``, all
        products but these are counted.
        """
        totals = self._totals(ranks)
        if absent:
            totals = self._totals_of_all - totals
        return sorted(
            ((self.values[code], count) for code, count in totals.items()),
            key=lambda pair: (-pair[1], pair[0]),
        )

    @cached_property
    def _totals_of_all(self) -> Counter[int]:
        return self._totals(range(1, len(self.column)))

    def _totals(self, ranks: Iterable[int]) -> Counter[int]:
        """Return how many of some products have each code."""
        totals: Counter[int] = Counter()
        starts, codes = self.starts, self.codes
        for number, count in Counter(map(self.column.__getitem__, ranks)).items():
            for code in codes[starts[number] : starts[number + 1]]:
                totals[code] += count
        return totals


class FacetColumns:
    """The columns of a catalog that is being written, filled in the order of the ranks."""

    def __init__(self, attributes: Sequence[str]) -> None:
        names = [*BASIC.items(), *((name, displayed(name)) for name in attributes)]
        self.facets = [Combinations(*pair) for pair in names]
        self.ids, self.price, self.bands = array("Q"), array("I"), bytearray()
        self._leave_free()  # rank 0

    def add(
        self, rank: int, id: int, cents: int, values: Sequence[tuple[str, ...]]
    ) -> None:
        """Add a product: its price, and its values of each facet. Ranks that are left
        out before it are free.
        """
        while len(self.ids) < rank:
            self._leave_free()
        self.ids.append(id)
        self.price.append(min(cents, MAX_CENTS))
        self.bands.append(bisect_right(PRICE_STEPS, cents))
        for facet, facet_values in zip(self.facets, values, strict=True):
            facet.add(facet_values)

    def _leave_free(self) -> None:
        self.ids.append(0)
        self.price.append(0)
        self.bands.append(NO_BAND)
        for facet in self.facets:
            facet.add(())

    def drop(self, most: int) -> None:
        """Drop the attributes that have more than ``most`` values."""
        self.facets = [
            facet
            for facet in self.facets
            if facet.name in BASIC or len(facet.values) <= most
        ]

    def counts(self, parts: Sequence[Sequence["array[int]"]]) -> Iterator[list[bytes]]:
        """Yield the facets of categories in JSON, by the ranks of their products.

        Several processes share this work, each some ``parts`` of the categories.
        """
        for part in parts:
            yield [
                orjson.dumps(count(self.facets, self.bands, ranks)) for ranks in part
            ]

    def encoded(self) -> Iterator[tuple[str, bytes]]:
        """Yield (name, bytes) of each column."""
        yield "id", self.ids.tobytes()
        yield "price", self.price.tobytes()
        yield "band", bytes(self.bands)
        for facet in self.facets:
            yield f"facet {facet.name}", facet.column.tobytes()


def displayed(name: str) -> str:
    """SLEEVE_LENGTH → Sleeve Length."""
    return name.replace("_", " ").title() if name.isupper() else name.replace("_", " ")


def ranges(
    bands: bytes | bytearray, ranks: Iterable[int], *, absent: bool = False
) -> list[tuple[float, float | None, int]]:
    """Return (low, high, how many of some products cost that) for ranges that are not
    empty.

    ``bands`` has the index of each product's range, by rank. With ``absent``, all
    products but these are counted.
    """
    counts = Counter(map(bands.__getitem__, ranks))
    if absent:
        counts = (
            Counter({band: bands.count(band, 1) for band in range(len(RANGES))})
            - counts
        )
    return [
        (low, high, counts[band])
        for band, (low, high) in enumerate(RANGES)
        if counts[band]
    ]


def counted(ranks: Sequence[int], last: int) -> tuple[Sequence[int], bool]:
    """Return (ranks to count, False), or (the ranks that they lack, True) where those
    are fewer. ``last`` is the last rank.

    Only ranks in order can be complemented; those of a search by number are not.
    """
    if 2 * len(ranks) <= last:
        return ranks, False
    is_ordered = not any(map(gt, ranks, islice(ranks, 1, None)))
    if not is_ordered:
        return ranks, False
    gaps = [
        range(before + 1, after)
        for before, after in pairwise((0, *ranks, last + 1))
        if after - before > 1
    ]
    return list(chain.from_iterable(gaps)), True


def count(
    facets: Sequence[Combinations],
    bands: bytes | bytearray,
    ranks: Sequence[int],
    own: Mapping[str, Sequence[int]] | None = None,
) -> list[Any]:
    """Return (name, displayname, values, ranges) of each facet of a result that has
    any.

    Args:
        facets: all of the catalog, with the `BASIC` ones first.
        bands: as `ranges` takes them.
        ranks: the result.
        own: by facet, the ranks that it counts instead.
    """
    last = len(bands) - 1
    of_result = counted(ranks, last)
    of_facet = {name: counted(other, last) for name, other in (own or {}).items()}
    rows: list[Any] = []
    for facet in facets:
        to_count, absent = of_facet.get(facet.name, of_result)
        rows.append(
            (facet.name, facet.displayname, facet.count(to_count, absent=absent), [])
        )
    to_count, absent = of_facet.get(PRICE, of_result)
    rows.insert(
        len(BASIC), (PRICE, "Price", [], ranges(bands, to_count, absent=absent))
    )
    return [row for row in rows if row[2] or row[3]]


def keep(ranks: Sequence[int], column: Sequence[int], wanted: set[int]) -> list[int]:
    """Return the ranks whose entry in a column is wanted."""
    if not ranks:
        return []
    return list(
        compress(ranks, map(wanted.__contains__, map(column.__getitem__, ranks)))
    )
