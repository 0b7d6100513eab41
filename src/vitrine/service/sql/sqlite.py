"""SQLite: one writer thread a process takes what waits into one transaction; processes take turns by a lock file."""

import os
import sqlite3
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from vitrine.problems import Failure
from vitrine.service.sql.adding import Added, Adding, tried
from vitrine.service.sql.database import PATIENCE_SECONDS, Meter, Result, Unmetered, unavailable
from vitrine.service.sql.migrate import migrate, reached
from vitrine.service.sql.session import Row
from vitrine.service.sql.shop import Shop
from vitrine.service.sql.sqlite_file import Locks, make, refuse_network

TOGETHER = 256
"""Actions that one transaction takes at most."""

LINGER, MOST_LINGER_SECONDS = 0.3, 0.01
"""How long the writer waits for more where little waits: some of what a transaction takes. Who is alone never does."""

BUSY_MILLISECONDS = 5000
"""A backstop: whoever writes beside the service (the sqlite3 shell) knows nothing of turns."""

OWN_FAULTS = {1, 18, 19, 20, 21, 25}
"""SQLITE_ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE: one action's. Others (FULL, IOERR …) end all of them."""


class _Session:
    """The port Session on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, *values: Any) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()


class _PutOff:
    """Rows that are added for many actions by one statement a table.

    Each call of SQLite gives Python's lock away, and gets it back after whoever else wants it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows: dict[Adding, list[tuple[Any, ...]]] = {}
        self._tables: dict[str, Adding] = {}

    def put_off(self, rows: Iterable[Added]) -> None:
        for adding, values in rows:
            if self._tables.setdefault(adding.table, adding) is not adding:
                self.add()  # another statement on this table, which has to come first
                self._tables[adding.table] = adding
            self._rows.setdefault(adding, []).append(values)

    def add(self) -> None:
        """Raises _OneByOne where that fails: whose fault it is shows when each action does its own."""
        rows, self._rows = self._rows, {}
        self._tables.clear()
        for adding, values in rows.items():
            try:
                self._connection.execute(_many(adding, len(values)), list(chain.from_iterable(values)))
            except (sqlite3.Error, ValueError, OverflowError) as error:  # a lone surrogate; an integer of over 64 bits
                if isinstance(error, sqlite3.Error) and not _own_fault(error):
                    raise
                raise _OneByOne from error


class _OneByOne(Exception):
    """What was put off cannot be done together."""


@cache
def _many(adding: Adding, number: int) -> str:
    """A statement that adds so many rows."""
    row = f"({', '.join('?' * (adding.columns.count(',') + 1))})"
    return f"INSERT INTO {adding.table} ({adding.columns}) VALUES {', '.join([row] * number)}{adding.tail}"


class _Waiting:
    """An action that waits for the writer, and what became of it. ``added``: all that it does, where it only adds rows.

    ``next``: who is woken by the thread that waits for this one. If the writer woke them all, they would stand in each
    other's way for Python's lock.
    """

    __slots__ = ("added", "done", "error", "is_gone", "next", "result", "work")

    def __init__(self, work: Callable[[Shop], Any]) -> None:
        self.work = work
        self.result: Any
        self.result, self.added = tried(work)
        self.error: BaseException | None = None
        self.next: _Waiting | None = None
        self.is_gone = False
        self.done = threading.Lock()
        self.done.acquire()


class SQLite:
    """The port Database on a file, made with its folders where it is missing. Raises Failure."""

    def __init__(self, path: Path, meter: Meter | None = None) -> None:
        self._path = path
        self._meter = meter or Unmetered()
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_network(path)
        self._locks = Locks(path)
        self._closed = False
        self._begin()
        os.register_at_fork(after_in_child=self._after_fork)

    def _begin(self) -> None:
        self._queue: deque[_Waiting] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._readers: deque[sqlite3.Connection] = deque()
        self._thread: threading.Thread | None = None

    def _after_fork(self) -> None:
        """A child has none of the threads, and must neither use nor close its parent's connections (sqlite.org/faq).

        What waits in the parent is the parent's to do.
        """
        if not self._closed:
            _ABANDONED.append(self._readers)
            self._locks = self._locks.reopened()
            self._begin()

    # -- the port --------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Shop], Result], *, repeatable: bool = False) -> Result:
        waiting = _Waiting(work)
        with self._wake:
            if self._closing:
                raise unavailable("the service is stopping")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
                self._thread.start()
            self._queue.append(waiting)
            self._wake.notify()
        try:
            if not waiting.done.acquire(timeout=PATIENCE_SECONDS):
                self._give_up(waiting)
        finally:
            self._wake_next(waiting)
        if waiting.error is not None:
            raise waiting.error
        result: Result = waiting.result
        return result

    def read(self, work: Callable[[Shop], Result]) -> Result:
        if self._closing:
            raise unavailable("the service is stopping")
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = None
        try:
            connection = connection or self._connect("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            try:
                return work(Shop(_Session(connection)))
            finally:
                connection.execute("ROLLBACK")
                self._readers.append(connection)
        except sqlite3.Error as error:
            if _own_fault(error) or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY:
                raise
            raise self._unavailable(error, "read") from error

    def migrate(self) -> list[str]:
        try:
            with self._locks.turn(), closing(self._connect()) as connection:  # who makes a file's WAL waits for nobody
                connection.execute("BEGIN IMMEDIATE")
                done = migrate(_Session(connection))
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise Failure(f"{self._path}: {error}") from None
        return done

    def fault(self) -> str:
        try:
            connection = self._connect("PRAGMA query_only = ON")
            try:
                reached(_Session(connection))
            finally:
                connection.close()
        except sqlite3.Error as error:
            return f"{self._path}: {error}"
        return ""

    def close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()
        while self._readers:
            self._readers.pop().close()
        if not self._closed:
            self._closed = True
            self._locks.close()

    # -- the writer ------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Do what waits until the store is closed, whatever goes wrong; after a failure with a new connection."""
        connection: sqlite3.Connection | None = None
        seconds, usual = 0.0, 0  # of the last transaction; actions that lately went into one
        while self._await():
            batch: list[_Waiting] = []
            if len(self._queue) < usual * 3 // 4:  # most clients have just been answered, and are about to ask again
                time.sleep(min(seconds * LINGER, MOST_LINGER_SECONDS))
            try:
                connection = connection or self._connect()
                with self._locks.turn():
                    batch = self._take()
                    if batch:
                        started = time.perf_counter()
                        self._commit(connection, batch)
                        seconds, usual = time.perf_counter() - started, max(len(batch), usual - 1)
                        self._meter.wrote(len(batch), seconds)
            except BaseException as error:
                if connection is not None:
                    with suppress(sqlite3.Error):
                        connection.close()
                    connection = None
                batch = batch or self._take()
                self._fail(batch, error)
            self._wake_first(batch)
        if connection is not None:
            connection.close()

    def _await(self) -> bool:
        """Whether something waits, once something does; False when the store is closed and nothing waits any more."""
        with self._wake:
            while not self._queue and not self._closing:
                self._wake.wait()
            return bool(self._queue)

    def _take(self) -> list[_Waiting]:
        """What waits by now: more than when the turn was asked for, where other processes had theirs."""
        with self._wake:
            return [self._queue.popleft() for _ in range(min(len(self._queue), TOGETHER))]

    def _give_up(self, waiting: _Waiting) -> None:
        """An action that waited too long is taken out; one that has begun is waited for."""
        with self._wake:
            begun = waiting not in self._queue
            if not begun:
                self._queue.remove(waiting)
        if begun:
            waiting.done.acquire()
            return
        self._meter.failed(1)
        raise self._unavailable(TimeoutError("no turn to write in time"), "written to")

    def _wake_first(self, batch: list[_Waiting]) -> None:
        with self._wake:
            left = [waiting for waiting in batch if not waiting.is_gone]
            for waiting, following in pairwise(left):
                waiting.next = following
        if left:
            left[0].done.release()

    def _wake_next(self, waiting: _Waiting) -> None:
        """Wake whoever comes after one that no longer waits, were it that its thread was interrupted."""
        with self._wake:
            waiting.is_gone = True
        if waiting.next is not None:
            waiting.next.done.release()

    def _commit(self, connection: sqlite3.Connection, batch: list[_Waiting]) -> None:
        """All actions in one transaction: what one raises takes back its own writes alone."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._act(connection, batch, one_by_one=False)
        except _OneByOne:
            connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
            self._act(connection, batch, one_by_one=True)
        connection.execute("COMMIT")

    def _act(self, connection: sqlite3.Connection, batch: list[_Waiting], *, one_by_one: bool) -> None:
        off, shop = _PutOff(connection), Shop(_Session(connection))
        for waiting in batch:
            if waiting.added is not None and not one_by_one:
                off.put_off(waiting.added)
                continue
            off.add()
            connection.execute("SAVEPOINT action")
            waiting.error = None
            try:
                waiting.result = waiting.work(shop)
            except BaseException as error:
                if isinstance(error, sqlite3.Error) and not _own_fault(error):
                    raise  # a full disk, a damaged file: nothing of this transaction is kept
                waiting.error = error
                connection.execute("ROLLBACK TO action")
            connection.execute("RELEASE action")
        off.add()

    def _fail(self, batch: list[_Waiting], error: BaseException) -> None:
        """Nothing of a transaction was kept: every action of it is told so, whatever became of it by itself."""
        if not isinstance(error, sqlite3.Error | OSError):
            traceback.print_exception(error, file=sys.stderr)
        self._meter.failed(len(batch))
        refusal = self._unavailable(error, "written to")
        for waiting in batch:
            waiting.error = refusal

    def _connect(self, *more: str) -> sqlite3.Connection:
        make(self._path)
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        pragmas = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON")
        for pragma in (f"busy_timeout = {BUSY_MILLISECONDS}", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
        for statement in more:
            connection.execute(statement)
        return connection

    def _unavailable(self, error: BaseException, what: str) -> Exception:
        print(f"vitrine: {self._path} cannot be {what}: {error}", file=sys.stderr, flush=True)
        return unavailable(f"the store cannot be {what} now")


_ABANDONED: list[deque[sqlite3.Connection]] = []
"""Connections of a parent process, kept from being closed: that would drop the parent's locks."""


def _own_fault(error: sqlite3.Error) -> bool:
    """Whether an error concerns one action alone, and its transaction goes on."""
    code = getattr(error, "sqlite_errorcode", None)  # None: found by Python, before SQLite was asked
    return code is None or code & 0xFF in OWN_FAULTS
