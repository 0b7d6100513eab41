"""SQLite: an Engine in a file, whose processes take turns by a lock file.

SQLite lets one connection write at a time, too, but who waits for it sleeps and tries
again, and may wait long beside others. A commit costs one fdatasync, however many
actions it holds.
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from shopwindow.interface.declaring.table import Result, Session
from shopwindow.service.database.engine import Lost
from shopwindow.service.database.sqlite_file import (
    Locks,
    SQLiteSession,
    make,
    refuse_network,
)

BUSY_MILLISECONDS = 5000
"""How long SQLite itself waits for a lock. Processes of this program take turns, but
other programs, such as the sqlite3 shell, know nothing of these turns.
"""

ERRORS_OF_ONE_ACTION = {1, 18, 19, 20, 21, 25}
"""SQLite's result codes ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE and RANGE
(sqlite.org/rescode) concern one action. Any other, such as FULL or IOERR, ends the
whole transaction.
"""

BUSY = {5, 6}
"""Result codes BUSY and LOCKED: another program has the database."""

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

    def __str__(self) -> str:
        return str(self._path)

    def begin(self) -> None:
        """Begin in a new process.

        A child must neither use nor close its parent's connections (sqlite.org/faq),
        and shares its locks. SQLite itself counts locks by process and knows of no
        fork: a parent that goes on with open connections endangers the child's writes.
        So whoever forks does it before the database is used, or after `close`.
        """
        if self._locks is not None:
            _INHERITED.extend((self._readers, self._writer))
            self._locks.close()
        self._opening = threading.Lock()
        self._locks = None
        self._readers: deque[sqlite3.Connection] = deque()
        self._writer: sqlite3.Connection | None = None

    @contextmanager
    def turn(self, until: float) -> Iterator[Session]:
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

    def act(self, session: Session, work: Callable[[], Result]) -> Result:
        session = cast(SQLiteSession, session)  # of this engine's turn
        try:
            session.run("SAVEPOINT action")
            result = work()
            session.run("RELEASE action")
        except BaseException as error:
            if error is session.failed and not _is_of_one_action(session.failed):
                raise Lost(error, passes=False) from error
            session.run("ROLLBACK TO action")
            session.run("RELEASE action")
            raise
        return result

    @contextmanager
    def reading(self, until: float) -> Iterator[Session]:
        with _lost():
            self._opened()
            connection = self._reader()
            connection.execute("BEGIN")
        session = SQLiteSession(connection)
        try:
            yield session
        except sqlite3.Error as error:
            if error is not session.failed:
                raise
            with _lost(sqlite3.SQLITE_READONLY):
                raise
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


_INHERITED: list[object] = []
"""Connections of a parent process. They are referred to here so that Python never
closes them, which would release the parent's locks.
"""


@contextmanager
def _lost(*bugs: int) -> Iterator[None]:
    """Raise Lost for whatever ends a transaction, or lets none begin.

    ``bugs`` are result codes that say that the program is wrong.
    """
    try:
        yield
    except sqlite3.Error as error:
        if _is_of_one_action(error) or _code(error) in bugs:
            raise
        raise Lost(error, passes=_code(error) in BUSY) from error
    except OSError as error:
        raise Lost(error, passes=isinstance(error, TimeoutError)) from error


def _is_of_one_action(error: sqlite3.Error) -> bool:
    """Return whether an error concerns one action, and its transaction goes on."""
    code = _code(error)
    return code is None or code in ERRORS_OF_ONE_ACTION


def _code(error: sqlite3.Error) -> int | None:
    """Return SQLite's result code; None where Python raised before it called SQLite."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
