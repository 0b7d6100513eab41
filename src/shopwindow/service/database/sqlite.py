"""SQLite: an Engine in a file, whose processes take turns by a lock file.

SQLite lets one connection write at a time, too, but who waits for it sleeps and tries
again, and may wait long beside others. A commit costs one fdatasync, however many
actions it holds.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.service.database.engine import Transaction
from shopwindow.service.database.sqlite_file import (
    Locks,
    SQLiteSession,
    lost,
    make,
    refuse_network,
)

BUSY_MILLISECONDS = 5000
"""How long SQLite itself waits for a lock. Processes of this program take turns, but
other programs, such as the sqlite3 shell, know nothing of these turns.
"""

PRAGMAS = (
    f"busy_timeout = {BUSY_MILLISECONDS}",
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "secure_delete = ON",
)


class SQLite:
    """An Engine in a file, which is created with its folders where it is missing.

    Raises Failure on a network file system.
    """

    def __init__(self, path: Path) -> None:
        refuse_network(path)
        self._path = path
        self._locks: Locks | None = None
        self._opening = threading.Lock()
        self._readers: deque[sqlite3.Connection] = deque()
        self._writer: sqlite3.Connection | None = None

    def __str__(self) -> str:
        return str(self._path)

    @contextmanager
    def turn(self, until: float) -> Iterator[Transaction]:
        try:
            # Who has the turn connects: SQLite does not wait for a lock (busy_timeout)
            # when it changes a new file to a write-ahead log. A first reader that does
            # so beside a writer is Lost, and tried again.
            with _lost(), self._opened().turn(until):
                self._writer = self._writer or self._connect()
                self._writer.execute("BEGIN IMMEDIATE")
                yield SQLiteSession(self._writer)
                self._writer.execute("COMMIT")
        except BaseException:
            self._close_writer()
            raise

    @contextmanager
    def reading(self, until: float) -> Iterator[Transaction]:
        with _lost():
            self._opened()
            connection = self._reader()
            connection.execute("BEGIN")
        try:
            yield SQLiteSession(connection)
        finally:
            if connection.in_transaction:  # an error of the disk has ended it
                connection.execute("ROLLBACK")
            self._readers.append(connection)

    def _reader(self) -> sqlite3.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            return self._connect("query_only = ON")

    def now(self) -> datetime:
        return datetime.now(UTC)  # all processes that use the file are on this host

    def close(self) -> None:
        while self._readers:
            self._readers.pop().close()
        self._close_writer()
        if self._locks is not None:
            self._locks.close()
            self._locks = None

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _opened(self) -> Locks:
        """Return the locks of the file, which is open from now on."""
        with self._opening:
            if self._locks is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._locks = Locks(self._path)
            return self._locks

    def _connect(self, *more: str) -> sqlite3.Connection:
        """Return a new connection, with ``more`` pragmas."""
        with suppress(OSError):  # it is there, or SQLite reports it
            make(self._path)
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in (*PRAGMAS, *more):
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


@contextmanager
def _lost() -> Iterator[None]:
    """Raise Lost where a transaction does not begin or end."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise lost(error) from error
