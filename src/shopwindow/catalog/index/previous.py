"""The previous release's catalog, as far as the next one's may be made from it: its file is the
cache of its rows.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import orjson

from shopwindow.catalog.index.file import reading, written_here
from shopwindow.catalog.index.rows import PreviousProduct, categories


def usable(path: Path, format: int) -> bool:
    """Whether a file is a catalog of this format that this SQLite wrote.

    What is in it is believed: whoever asks has compared its digest.
    """
    try:
        with closing(reading(path)) as database:
            found = database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        return bool(found == (format,)) and written_here(path)
    except (OSError, sqlite3.Error):
        return False


class PreviousCatalog:
    """What is asked of it. ``categories``: its own, by id; ``active``: how many products, by
    rank, are.

    Each process opens it for itself; a connection of the process that it was forked from is
    left as it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connections: dict[int, sqlite3.Connection] = {}
        with closing(reading(path)) as database:
            rows = database.execute("SELECT document FROM category ORDER BY id")
            self.categories = categories(orjson.loads(data) for (data,) in rows)
            (self.active,) = database.execute(
                "SELECT value FROM meta WHERE name = 'active'"
            ).fetchone()

    @property
    def _database(self) -> sqlite3.Connection:
        own = os.getpid()
        if own not in self._connections:
            self._connections[own] = reading(self.path)
        return self._connections[own]

    def product(self, id: int) -> PreviousProduct | None:
        asked = "SELECT rank, digest, data FROM number JOIN document USING (rank) WHERE id = ?"
        row = self._database.execute(asked, (id,)).fetchone()
        return PreviousProduct(*row) if row else None

    def words(self, first: int, count: int) -> Iterator[tuple[str, str]]:
        """Of products by rank, what `short` and `described` have of them."""
        asked = "SELECT short.text, described.stems FROM short JOIN described USING (rank) WHERE rank BETWEEN ? AND ?"
        return self._database.execute(asked, (first, first + count - 1))
