"""Columns of whole numbers that are too long for a set, held on disk.

They answer which numbers occur twice in a column, and which are missing from another.
Several write their shares side by side (`ColumnWriter`), each into a file of its own
for each column; one process compares them afterwards (`NumberColumns`).

A number takes eight bytes on disk, and as many in memory while its column is compared:
40 MB for five million UPCs.
"""

from __future__ import annotations  # array[int]

import io
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

SHARDS = 251
"""Parts into which a column is dealt by its numbers, each small enough for a set.

It is a prime, so that numbers with a common step are dealt evenly. Others work as well.
"""

_BUFFERED = 64 * 1024
"""Numbers of a column that are held in memory before they are written, or read at a
time. Larger or smaller numbers work as well.
"""

_NUMBER_BYTES = 8
"""Bytes of a number on disk: a signed integer of 64 bits."""


@dataclass(frozen=True)
class ColumnShare:
    """The numbers of some blocks, as one ColumnWriter wrote them.

    ``name`` is that of its files. ``counts`` has the number of each block, in order,
    and how many numbers the block has in each column.
    """

    name: str
    counts: list[tuple[int, dict[str, int]]]


class ColumnWriter:
    """Writes one share of the columns below ``folder``.

    ``name`` tells its files from those of other shares. The numbers come block by
    block: `close_block` ends one.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._columns: dict[str, array[int]] = defaultdict(lambda: array("q"))
        self._counts: Counter[str] = Counter()
        self._block_counts: list[tuple[int, dict[str, int]]] = []

    def extend(self, column: str, values: array[int]) -> None:
        """Append numbers of the present block to a column."""
        self._columns[column].extend(values)
        self._counts[column] += len(values)
        if len(self._columns[column]) >= _BUFFERED:
            self._flush(column)

    def close_block(self, block: int) -> None:
        """End a block, whose number is ``block``."""
        self._block_counts.append((block, dict(self._counts)))
        self._counts.clear()

    def close(self) -> ColumnShare:
        """Write what is still in memory, and return what was written in all."""
        for column in self._columns:
            self._flush(column)
        return ColumnShare(self._name, self._block_counts)

    def _flush(self, column: str) -> None:
        with open(self._folder / f"{column}.{self._name}", "ab") as file:
            self._columns[column].tofile(file)
        del self._columns[column][:]


class NumberColumns:
    """The columns below ``folder``: all ``shares`` together."""

    def __init__(self, folder: Path, shares: Sequence[ColumnShare]) -> None:
        self._folder, self._shares = folder, shares

    def values(self, column: str) -> Iterator[array[int]]:
        """Yield the numbers of a column, many at a time."""
        for share in self._shares:
            with _opened(self._path(column, share)) as file:
                while data := file.read(_NUMBER_BYTES * _BUFFERED):
                    yield _numbers_in(data)

    def twice(self, column: str, limit: int) -> set[int]:
        """Return the numbers that occur more than once, or about ``limit`` of them."""
        repeated: set[int] = set()
        for shard in self._dealt([column]):
            if len(repeated) >= limit:
                break
            if len(set(shard)) < len(shard):
                counts = Counter(shard)
                repeated |= {value for value, count in counts.items() if count > 1}
        return repeated

    def missing(self, columns: Iterable[str], among: str, limit: int) -> set[int]:
        """Return the numbers of some columns that the column ``among`` lacks, or about
        ``limit`` of them.
        """
        absent: set[int] = set()
        shards = zip(self._dealt(columns), self._dealt([among]), strict=True)
        for shard, present in shards:
            if len(absent) >= limit:
                break
            if shard:
                absent |= set(shard).difference(present)
        return absent

    def absent(self, wanted: Iterable[int], column: str) -> set[int]:
        """Return those of a few numbers that a column lacks."""
        left = set(wanted)
        for values in self.values(column) if left else ():
            left.difference_update(values)
        return left

    def where(self, column: str, bad: set[int]) -> Mapping[int, Counter[int]]:
        """Return how often each of the numbers ``bad`` is in a block, by block."""
        counts_of_bad: dict[int, Counter[int]] = {}
        if not bad:
            return counts_of_bad
        for share in self._shares:
            with _opened(self._path(column, share)) as file:
                for block, counts in share.counts:
                    data = file.read(_NUMBER_BYTES * counts.get(column, 0))
                    in_block = Counter(
                        value for value in _numbers_in(data) if value in bad
                    )
                    if in_block:
                        counts_of_bad[block] = in_block
        return counts_of_bad

    def _dealt(self, columns: Iterable[str]) -> list[array[int]]:
        """Return the numbers of some columns in SHARDS; equal ones are in the same."""
        shards = [array("q") for _ in range(SHARDS)]
        for column in columns:
            for values in self.values(column):
                for value in values:
                    shards[value % SHARDS].append(value)
        return shards

    def _path(self, column: str, share: ColumnShare) -> Path:
        return self._folder / f"{column}.{share.name}"


def _numbers_in(data: bytes) -> array[int]:
    numbers = array("q")
    numbers.frombytes(data)
    return numbers


def _opened(path: Path) -> BinaryIO:
    """Open a column's file; it is empty if the share has no number of the column."""
    return open(path, "rb") if path.exists() else io.BytesIO()
