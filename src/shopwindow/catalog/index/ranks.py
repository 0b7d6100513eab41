"""Ranks: the numbers of products in an index.

An active product's rank says where it stands among all: best sellers first, then by id
(`Standing`). Lists, columns and the text index are ordered by it. An index that is
written from nothing leaves some numbers free, so that one product that comes, or sells
better, moves a few others and not all that stand behind it (`Moves`).

Only the order of ranks means anything: two indexes with the same products in the same
order give the same answers, whatever the numbers are. Inactive products stand in no
list, and their ranks have no order.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

INACTIVE = 1 << 32
"""The rank of the first inactive product. Lower ones are those of active products, so
they fit into columns of 32 bits.
"""

BETWEEN_FREE = 8
"""Active products between two free numbers, in an index that is written from nothing.

Every column has an entry for a free number, so these make columns an eighth longer.
With fewer free numbers a product that comes would move more others. Larger or smaller
numbers work as well; docs/explain/catalog-index.md names this one.
"""

MAX_MOVED = 200
"""Products that make room for one, at most. More of them mean that the free numbers
near its place are used up, and an index that is written from nothing has new ones.
Larger or smaller numbers work as well.
"""


class Standing(NamedTuple):
    """What decides where an active product stands; smaller ones come first.

    ``best``: its place among best sellers, 0 if it has none.
    """

    is_no_best_seller: bool
    best: int
    id: int


class NoRoom(Exception):
    """There is no free number near the place of a product."""


def standing(id: int, best: int | None) -> Standing:
    """Return where an active product stands. ``best``: its member `bestSeller`."""
    return Standing(best is None, best or 0, id)


def rank_at(place: int) -> int:
    """Return the rank of the active product at a place, from 1, in a new index."""
    return place + (place - 1) // BETWEEN_FREE


class Moves:
    """Which active products get which ranks, when some leave and others come.

    Args:
        is_taken: for each rank from 0, 1 where a product has it. No product has rank 0.
        stands: returns the standing of the product that has a rank in the previous index.
    """

    def __init__(self, is_taken: bytearray, stands: Callable[[int], Standing]) -> None:
        self._is_taken, self._stands = is_taken, stands
        self._is_taken[0] = 1  # nobody comes to it
        self._new: dict[int, Standing] = {}

    def leave(self, rank: int) -> None:
        """Free the rank of a product; all that leave do so before any comes."""
        self._is_taken[rank] = 0

    def come(self, standing: Standing) -> None:
        """Give a product a rank, between its neighbours. Raises NoRoom."""
        behind = self._first_behind(standing)
        if not self._is_taken[behind - 1]:
            self._take(behind - 1, standing)
            return
        self._make_room(behind)
        self._take(behind, standing)

    def _make_room(self, rank: int) -> None:
        """Move the products from a rank up to the next free one by one. Raises NoRoom."""
        free = self._is_taken.find(0, rank)
        if free < 0:
            free = len(self._is_taken)
        if free - rank > MAX_MOVED:
            raise NoRoom
        for new in range(free, rank, -1):
            self._take(new, self._standing(new - 1))

    def new_ranks(self) -> Iterator[tuple[int, int]]:
        """Yield (id, rank) of the products that have come, or made room."""
        for rank, standing in self._new.items():
            yield standing.id, rank

    def _first_behind(self, standing: Standing) -> int:
        """Return the lowest rank of a product that stands behind a new one, or the rank
        that follows all.

        Products below ``low`` stand before it, and those from ``high`` on behind it.
        """
        low, high = 1, len(self._is_taken)
        while low < high:
            middle = (low + high) // 2
            rank = self._is_taken.find(1, middle, high)
            if rank < 0 or self._standing(rank) > standing:
                high = middle
            else:
                low = rank + 1
        behind = self._is_taken.find(1, high)
        return behind if behind >= 0 else len(self._is_taken)

    def _standing(self, rank: int) -> Standing:
        return self._new.get(rank) or self._stands(rank)

    def _take(self, rank: int, standing: Standing) -> None:
        if rank == len(self._is_taken):
            self._is_taken.append(0)
        self._is_taken[rank] = 1
        self._new[rank] = standing
