"""SQLite's write-ahead log: what it holds of rows that were removed."""

import sqlite3
from contextlib import closing
from pathlib import Path

from shopwindow.service.database.sqlite import BUSY_MILLISECONDS


def empty(path: Path) -> bool:
    """Bring the log into the file and cut it off: it holds pages as they were before rows were
    removed from them.

    Whether that could be done; a reader that takes long is in the way.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        ((is_busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return not is_busy
