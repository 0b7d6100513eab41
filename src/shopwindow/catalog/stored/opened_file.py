"""The open file of a catalog: connections, statements and packed documents.

The file never changes, so it is opened immutable and without locks. SQLite maps as much
of it as it can, and the rest lies in the system's page cache; all processes share both.
Each thread has a connection of its own, and a forked process opens new ones.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shopwindow.catalog.feeds.packing import Packing

MAPPED_BYTES = 1 << 40
"""Bytes of the file that may be mapped: all of it. SQLite has a lower limit, usually 2
GiB.
"""

CACHE_SIZE = -16384
"""Pages that a connection caches of what is not mapped; negative for KiB, so 16 MiB:
the upper levels of every tree.
"""


class OpenedFile:
    """The file of one catalog, open for reading by any number of threads.

    Attributes:
        uri: the file, as SQLite opens it.
        meta: the values of the table `meta`, by name.
        active: how many products are active.
    """

    def __init__(self, path: Path) -> None:
        """Open the file ``path``.

        Raises sqlite3.Error if it is no catalog, KeyError if it lacks `active`.
        """
        self.uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        self._local = threading.local()
        self._inherited: list[sqlite3.Connection] = []
        self.meta: dict[str, Any] = dict(self.rows("SELECT name, value FROM meta"))
        self.active: int = self.meta["active"]

    @property
    def database(self) -> sqlite3.Connection:
        """This thread's connection.

        A connection of a parent process is neither used nor closed: SQLite allows
        neither across a fork. It stays referenced here, so that nothing closes it.
        """
        local = self._local
        if getattr(local, "process", None) != os.getpid():
            if getattr(local, "connection", None):
                self._inherited.append(local.connection)
            local.connection = sqlite3.connect(self.uri, uri=True, isolation_level=None)
            local.connection.execute(f"PRAGMA mmap_size={MAPPED_BYTES}")
            local.connection.execute(f"PRAGMA cache_size={CACHE_SIZE}")
            local.process = os.getpid()
        connection: sqlite3.Connection = local.connection
        return connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a statement; none for a number that no row can hold."""
        try:
            return self.database.execute(statement, values).fetchall()
        except OverflowError:
            return []

    def one(self, statement: str, *values: Any) -> Any:
        """Return the first column of the first row, or None."""
        rows = self.rows(statement, values)
        return rows[0][0] if rows else None

    def many(self, statement: str, values: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement with `IN (?)`, for any number of values.

        One value alone is looked up in a third of the time, and most are alone.
        """
        if len(values) == 1:
            return self.rows(statement.replace("IN (?)", "= ?"), values)
        any_of = "IN (SELECT value FROM json_each(?))"
        return self.rows(statement.replace("IN (?)", any_of), (json.dumps(values),))

    @property
    def packing(self) -> Packing:
        """How products' documents are packed. This thread's, because no two threads may
        use one.
        """
        packing: Packing | None = getattr(self._local, "packing", None)
        if packing is None:
            packing = self._local.packing = Packing(self.meta["dictionary"])
        return packing
