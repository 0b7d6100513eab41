"""The previous release's catalog, from which the next one copies the rows that did not
change.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import get_ident

import orjson

from shopwindow.catalog.index.file import reading, written_here
from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.rows import PreviousProduct, categories


def usable(path: Path, format: int) -> bool:
    """Whether a file is a catalog of this format that this SQLite wrote.

    Its rows are trusted: the caller has compared the digest of the file.
    """
    try:
        with closing(reading(path)) as database:
            row = database.execute(
                "SELECT value FROM meta WHERE name = 'format'"
            ).fetchone()
        return bool(row == (format,)) and written_here(path)
    except (OSError, sqlite3.Error):
        return False


class PreviousCatalog:
    """A catalog to copy from.

    ``categories`` are its own, by id. The first ``active`` of its products, by rank,
    are active. ``packing`` unpacks its documents. Each thread of each process opens the
    file for itself: SQLite does not allow a connection to be used after a fork, or in
    another thread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connections: dict[tuple[int, int], sqlite3.Connection] = {}
        with closing(reading(path)) as database:
            rows = database.execute("SELECT document FROM category ORDER BY id")
            self.categories = categories(orjson.loads(data) for (data,) in rows)
            meta = dict(database.execute("SELECT name, value FROM meta"))
        self.active: int = meta["active"]
        self.packing = Packing(meta["dictionary"])

    def __reduce__(self) -> tuple[type["PreviousCatalog"], tuple[Path]]:
        """Open the file again where this is unpickled."""
        return PreviousCatalog, (self.path,)

    @property
    def _database(self) -> sqlite3.Connection:
        own = os.getpid(), get_ident()
        if own not in self._connections:
            self._connections[own] = reading(self.path)
        return self._connections[own]

    def product(self, id: int) -> PreviousProduct | None:
        """Return a product, or None."""
        statement = "SELECT rank, digest, data FROM number JOIN document USING (rank) WHERE id = ?"
        row = self._database.execute(statement, (id,)).fetchone()
        if row is None:
            return None
        rank, digest, stored = row
        return PreviousProduct(rank, digest, self.packing.unpack(stored))

    def words(self, first: int, count: int) -> Iterator[tuple[str, str]]:
        """Yield the texts of `short` and `described` of so many products, from a rank
        on.
        """
        statement = (
            "SELECT short.text, described.stems FROM short JOIN described USING (rank)"
            " WHERE rank BETWEEN ? AND ?"
        )
        return self._database.execute(statement, (first, first + count - 1))
