"""Numbers of many records, which must agree with each other, collected on disk.

They answer which numbers occur twice in a column, which are missing from another, and in
which blocks of the feeds.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.index.file import writing

TABLES = """
CREATE TABLE said (name TEXT, number INTEGER, block INTEGER);
CREATE TABLE member (collection INTEGER, member INTEGER);
"""

INDEX = "CREATE INDEX IF NOT EXISTS said_by_number ON said (name, number, block)"
"""It is made once all numbers are there."""


class NumbersByBlock:
    """The numbers, in a file below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._file = writing(folder / "numbers", TABLES)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(self, block: int, numbers: Mapping[str, "array[int]"]) -> None:
        """Add the numbers of a block, by column."""
        for name, values in numbers.items():
            self._file.executemany(
                "INSERT INTO said VALUES (?, ?, ?)",
                ((name, value, block) for value in values),
            )
        memberships = zip(
            numbers.get(rules.COLLECTION, ()),
            numbers.get(rules.MEMBER, ()),
            strict=True,
        )
        self._file.executemany("INSERT INTO member VALUES (?, ?)", memberships)

    def twice(self, name: str, limit: int) -> set[int]:
        """Return the numbers that occur more than once in a column, or ``limit``."""
        query = (
            "SELECT number FROM said WHERE name = ? GROUP BY number"
            " HAVING count(*) > 1 LIMIT ?"
        )
        return self._numbers(query, name, limit)

    def missing(self, name: str, among: str, limit: int) -> set[int]:
        """Return the numbers of a column that another lacks, or ``limit`` of them."""
        query = (
            "SELECT DISTINCT number FROM said WHERE name = ? AND number NOT IN"
            " (SELECT number FROM said WHERE name = ?) LIMIT ?"
        )
        return self._numbers(query, name, among, limit)

    def absent(self, wanted: Iterable[int], name: str) -> set[int]:
        """Return those of a few numbers that a column lacks."""
        query = "SELECT number FROM said WHERE name = ? AND number = ? LIMIT 1"
        return {one for one in wanted if not self._numbers(query, name, one)}

    def inner_memberships(self) -> Iterator[tuple[int, int]]:
        """Yield collections with those of their members that are collections as well."""
        return self._rows(
            "SELECT collection, member FROM member"
            " WHERE member IN (SELECT collection FROM member)"
        )

    def where(self, name: str, bad: set[int]) -> Mapping[int, Counter[int]]:
        """Return how often each of the numbers ``bad`` is in a block, by block."""
        counts: dict[int, Counter[int]] = {}
        query = (
            "SELECT block, count(*) FROM said WHERE name = ? AND number = ?"
            " GROUP BY block"
        )
        for number in bad:
            for block, count in self._rows(query, name, number):
                counts.setdefault(block, Counter())[number] = count
        return dict(sorted(counts.items()))

    def _numbers(self, query: str, *values: Any) -> set[int]:
        return {number for (number,) in self._rows(query, *values)}

    def _rows(self, query: str, *values: Any) -> Iterator[Any]:
        self._file.execute(INDEX)
        return self._file.execute(query, values)
