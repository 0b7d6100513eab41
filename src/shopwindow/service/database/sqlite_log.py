"""SQLite's write-ahead log, emptied of the rows that were removed."""

import sqlite3
from contextlib import closing
from pathlib import Path

from shopwindow.service.database.sqlite import BUSY_MILLISECONDS


def empty(path: Path) -> bool:
    """Write the log of a database into its file, and cut the log off.

    The log holds pages as they were before rows were removed from them, so a person's
    rows are gone from the disk only now.

    Returns whether that could be done; a reader that takes long prevents it.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        ((is_busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return not is_busy
