"""What stores have: the stock of UPCs, and the products that a store can hand out.

The column `stores` of a UPC has two bits a store, four stores a byte. The place of a
store in it is that of its location number in `meta`'s `locations`.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import orjson

from shopwindow.catalog.stored.opened_file import OpenedFile
from shopwindow.retail.articles import Status

STOCK_STATUS: tuple[Status, Status, Status, Status] = (
    "UNAVAILABLE",
    "LIMITED",
    "AVAILABLE",
    "AVAILABLE",
)
"""What the two bits of a UPC and a store say."""


class StoreStock:
    """The stock of all stores in one catalog."""

    def __init__(self, file: OpenedFile) -> None:
        self._file = file

    def availability(
        self, upcs: Sequence[str], locations: Sequence[int]
    ) -> Mapping[tuple[str, int], Status]:
        """Return what stores have, by (UPC, location); see `protocol.Catalog`."""
        numbers = upc_numbers(upcs)
        rows = self._file.many(
            "SELECT upc, stores FROM upc JOIN stock USING (upc) WHERE upc IN (?)",
            list(numbers.values()),
        )
        stock_by_upc = dict(rows)
        bits_by_location = {
            location: _bits(self._places[location])
            for location in locations
            if location in self._places
        }
        statuses: dict[tuple[str, int], Status] = {}
        for upc, number in numbers.items():
            stock = stock_by_upc.get(number) or b""
            for location, (byte, shift) in bits_by_location.items():
                if byte >= len(stock):
                    continue
                status = stock[byte] >> shift & 3
                if status:
                    statuses[upc, location] = STOCK_STATUS[status]
        return statuses

    def picked_up_at(self, location: int) -> list[int]:
        """Return the ids of the products of which a store, by its location number, has a
        UPC to be picked up. It reads the stock of every UPC.
        """
        place = self._places.get(location)
        if place is None:
            return []
        byte, shift = _bits(place)
        in_stock = [bytes([stock]) for stock in range(256) if stock >> shift & 3]
        marks = ",".join("?" * len(in_stock))
        rows = self._file.rows(
            "SELECT DISTINCT product FROM stock JOIN upc USING (upc)"
            f" WHERE substr(stores, ?, 1) IN ({marks}) AND handed_out",
            (byte + 1, *in_stock),
        )
        return [product for (product,) in rows]

    @cached_property
    def _places(self) -> dict[int, int]:
        """The place of each location number in the stock of a UPC."""
        locations = orjson.loads(self._file.meta["locations"])
        return {location: place for place, location in enumerate(locations)}


def _bits(place: int) -> tuple[int, int]:
    """Return the byte of a UPC's stock where a store has its two bits, and how far these
    are shifted.
    """
    return place >> 2, (place & 3) * 2


def upc_numbers(upcs: Sequence[str]) -> dict[str, int]:
    """Return the UPCs that can be in the catalog, with the number under which it has
    them.
    """
    return {
        upc: int(upc)
        for upc in upcs
        if upc.isascii() and upc.isdigit() and len(upc) <= 14
    }
