"""Facets of products: columns by rank, counted over any result. Pure."""

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
PRICE_STEPS = (5000, 10000, 25000, 50000)
"""Cents at which the second and the later ranges begin."""


class Combinations:
    """One facet: every product has a combination of values; few combinations stand for many
    products.

    ``column``: rank → combination; a combination's values are ``codes[starts[c]:starts[c +
    1]]``, indexes of ``values``. Combination 0 is empty.
    """

    def __init__(self, name: str, displayname: str) -> None:
        self.name, self.displayname = name, displayname
        self.values: list[str] = []
        self.starts, self.codes = array("I", (0, 0)), array("I")
        self.column = array("I")
        self._value: dict[str, int] = {}
        self._known: dict[tuple[str, ...], int] = {(): 0}

    def add(self, values: tuple[str, ...]) -> None:
        """The next rank's values."""
        number = self._known.get(values)
        if number is None:
            number = self._known[values] = len(self.starts) - 1
            self.codes.extend([self._code(value) for value in values])
            self.starts.append(len(self.codes))
        self.column.append(number)

    def _code(self, value: str) -> int:
        code = self._value.get(value)
        if code is None:
            code = self._value[value] = len(self.values)
            self.values.append(value)
        return code

    def encoded(self) -> tuple[str, str, bytes, bytes, bytes]:
        return (
            self.name,
            self.displayname,
            orjson.dumps(self.values),
            self.starts.tobytes(),
            self.codes.tobytes(),
        )

    @classmethod
    def decoded(cls, row: Sequence[Any], column: "array[int]") -> "Combinations":
        """From what `encoded` gave."""
        name, displayname, values, starts, codes = row
        facet = cls(name, displayname)
        facet.values, facet.column = orjson.loads(values), column
        facet.starts, facet.codes = array("I", starts), array("I", codes)
        return facet

    def having(self, values: Iterable[str]) -> set[int]:
        """The combinations with one of some values; case does not matter."""
        return set().union(*(self._inverted.get(value.casefold(), ()) for value in values))

    @cached_property
    def _inverted(self) -> dict[str, list[int]]:
        """Value without case → the combinations that have it."""
        names = [value.casefold() for value in self.values]
        found: dict[str, list[int]] = {name: [] for name in names}
        starts, codes = self.starts, self.codes
        for number in range(len(starts) - 1):
            for code in codes[starts[number] : starts[number + 1]]:
                found[names[code]].append(number)
        return found

    def count(self, ranks: Iterable[int], *, absent: bool = False) -> list[tuple[str, int]]:
        """How many of some products have each value: the most frequent first, then by name.

        ``absent``: of all products but these.
        """
        totals, values = self._totals(ranks), self.values
        if absent:
            totals = self._whole - totals
        return sorted(
            ((values[code], found) for code, found in totals.items()),
            key=lambda pair: (-pair[1], pair[0]),
        )

    @cached_property
    def _whole(self) -> Counter[int]:
        return self._totals(range(1, len(self.column)))

    def _totals(self, ranks: Iterable[int]) -> Counter[int]:
        totals: Counter[int] = Counter()
        starts, codes = self.starts, self.codes
        for number, found in Counter(map(self.column.__getitem__, ranks)).items():
            for code in codes[starts[number] : starts[number + 1]]:
                totals[code] += found
        return totals


class FacetColumns:
    """The columns being filled, in the order of the ranks."""

    def __init__(self, active: int, attributes: Sequence[str]) -> None:
        names = [*BASIC.items(), *((name, displayed(name)) for name in attributes)]
        self.facets = [Combinations(*pair) for pair in names]
        self.ids, self.price, self.bands = array("Q", (0,)), array("I", (0,)), bytearray(1)
        for facet in self.facets:
            facet.add(())  # of rank 0, which is nobody's

    def add(self, id: int, low: int, values: Sequence[tuple[str, ...]]) -> None:
        self.ids.append(id)
        self.price.append(min(low, 2**32 - 1))
        self.bands.append(bisect_right(PRICE_STEPS, low))
        for facet, found in zip(self.facets, values, strict=True):
            facet.add(found)

    def drop(self, most: int) -> None:
        """Attributes with more values than ``most`` are no facets."""
        self.facets = [
            facet for facet in self.facets if facet.name in BASIC or len(facet.values) <= most
        ]

    def encoded(self) -> Iterator[tuple[str, bytes]]:
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
    """How many of some products cost what: the ranges that some do. ``bands``: rank → index of
    `RANGES`.

    ``absent``: of all products but these.
    """
    counts = Counter(map(bands.__getitem__, ranks))
    if absent:
        counts = Counter({band: bands.count(band, 1) for band in range(len(RANGES))}) - counts
    return [
        (low, high, counts[band]) for band, (low, high) in enumerate(RANGES) if counts[band]
    ]


def counted(ranks: Sequence[int], active: int) -> tuple[Sequence[int], bool]:
    """What is looked at to count a result: itself, or the products that it lacks where they are
    fewer, and True.
    """
    if 2 * len(ranks) <= active or any(map(gt, ranks, islice(ranks, 1, None))):
        return ranks, False
    lacking = [
        range(before + 1, after)
        for before, after in pairwise((0, *ranks, active + 1))
        if after - before > 1
    ]
    return list(chain.from_iterable(lacking)), True


def count(
    facets: Sequence[Combinations],
    bands: bytes | bytearray,
    ranks: Sequence[int],
    own: Mapping[str, Sequence[int]] | None = None,
) -> list[Any]:
    """All facets of a result: name, name shown, values, ranges. ``own``: the ranks that one of
    them counts instead.
    """
    active = len(bands) - 1
    usual, special = (
        counted(ranks, active),
        {name: counted(each, active) for name, each in (own or {}).items()},
    )
    found: list[Any] = []
    for facet in facets:
        looked_at, absent = special.get(facet.name, usual)
        found.append((facet.name, facet.displayname, facet.count(looked_at, absent=absent), []))
    looked_at, absent = special.get(PRICE, usual)
    found.insert(len(BASIC), (PRICE, "Price", [], ranges(bands, looked_at, absent=absent)))
    return [facet for facet in found if facet[2] or facet[3]]


def keep(ranks: Sequence[int], column: Sequence[int], wanted: set[int]) -> list[int]:
    """The ranks whose entry of a column is wanted."""
    if not ranks:
        return []
    return list(compress(ranks, map(wanted.__contains__, map(column.__getitem__, ranks))))
