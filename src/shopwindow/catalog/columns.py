"""Columns of whole numbers too long for a set: which occur twice, which are missing
from another. On disk meanwhile.

A number takes eight bytes on disk, and as many in memory while its column is looked at:
40 MB for five million UPCs.
"""

from __future__ import annotations  # array[int]

import io
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

SHARDS = 251
"""Into so many parts a column is dealt out by its numbers, each small enough for a set.
A prime.
"""

_BUFFERED = 64 * 1024
Segments = list[tuple[int, dict[str, int]]]
"""For each block that a process has read, in order: its number, and how many numbers of
each column it holds.
"""


class ColumnWriter:
    """One process's share of the columns below ``folder``, block by block."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, number
        self._columns: dict[str, array[int]] = defaultdict(lambda: array("q"))
        self._counts: Counter[str] = Counter()
        self.segments: Segments = []

    def extend(self, column: str, values: array[int]) -> None:
        self._columns[column].extend(values)
        self._counts[column] += len(values)
        if len(self._columns[column]) >= _BUFFERED:
            self._flush(column)

    def close_block(self, block: int) -> None:
        self.segments.append((block, dict(self._counts)))
        self._counts.clear()

    def close(self) -> None:
        for column in self._columns:
            self._flush(column)

    def _flush(self, column: str) -> None:
        with open(self._folder / f"{column}.{self._number}", "ab") as file:
            self._columns[column].tofile(file)
        del self._columns[column][:]


class NumberColumns:
    """What several writers wrote below ``folder``; ``segments``: theirs, by number."""

    def __init__(self, folder: Path, segments: list[Segments]) -> None:
        self._folder, self._segments = folder, segments

    def values(self, column: str) -> Iterator[array[int]]:
        """The numbers of a column, a run at a time."""
        for number in range(len(self._segments)):
            yield from self._file(column, number, _BUFFERED)

    def twice(self, column: str, limit: int) -> set[int]:
        """Numbers that occur more than once; at most about ``limit`` of them."""
        found: set[int] = set()
        for part in self._dealt([column]):
            if len(found) < limit and len(set(part)) < len(part):
                found |= {value for value, count in Counter(part).items() if count > 1}
        return found

    def missing(self, columns: Iterable[str], known: str, limit: int) -> set[int]:
        """Numbers of some columns that do not occur in the column ``known``; at most
        about ``limit`` of them.
        """
        found: set[int] = set()
        for part, there in zip(self._dealt(columns), self._dealt([known]), strict=True):
            if part and len(found) < limit:
                found |= set(part).difference(there)
        return found

    def absent(self, wanted: Iterable[int], column: str) -> set[int]:
        """Those of a few numbers that do not occur in a column."""
        left = set(wanted)
        for run in self.values(column) if left else ():
            left.difference_update(run)
        return left

    def where(self, column: str, bad: set[int]) -> Mapping[int, int]:
        """Block → how many of its numbers are among ``bad``."""
        found: dict[int, int] = {}
        if not bad:
            return found
        for number, segments in enumerate(self._segments):
            with _opened(self._path(column, number)) as file:
                for block, counts in segments:
                    run = array("q")
                    run.frombytes(file.read(8 * counts.get(column, 0)))
                    if count := sum(value in bad for value in run):
                        found[block] = count
        return found

    def _dealt(self, columns: Iterable[str]) -> list[array[int]]:
        """The numbers of some columns in PARTS, equal ones in the same."""
        parts = [array("q") for _ in range(SHARDS)]
        for column in columns:
            for run in self.values(column):
                for value in run:
                    parts[value % SHARDS].append(value)
        return parts

    def _file(self, column: str, number: int, count: int) -> Iterator[array[int]]:
        with _opened(self._path(column, number)) as file:
            while data := file.read(8 * count):
                run = array("q")
                run.frombytes(data)
                yield run

    def _path(self, column: str, number: int) -> Path:
        return self._folder / f"{column}.{number}"


def _opened(path: Path) -> BinaryIO:
    """A column's file, or an empty one: a process may have met no such number."""
    return open(path, "rb") if path.exists() else io.BytesIO()
