"""SQLite: one writer thread a process runs all that waits in one transaction; processes take
turns by a lock file.

A commit costs one fdatasync, however many actions it holds, so whoever waits while one commit
runs shares the next one. Each action runs once, under a savepoint of its own: what it raises
takes back its own writes and nothing else.
"""

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shopwindow.interface.table import Result, Tables
from shopwindow.problems import Failure, Refusal
from shopwindow.service import journal
from shopwindow.service.database.database import (
    DATABASE_SECONDS,
    OUTCOME_UNKNOWN,
    Load,
    Meter,
    Unmetered,
    unavailable,
)
from shopwindow.service.database.migrate import migrate, reached
from shopwindow.service.database.sqlite_file import Locks, SQLiteSession, make, refuse_network
from shopwindow.service.database.tables import TablesByName

BATCH_ACTIONS = 256
"""Actions of one transaction at most: as many as a worker may have threads, so nobody waits for
a second turn.
"""

LOOK_SECONDS = 1.0
"""How often a thread that waits for the writer looks whether the writer is there at all."""

UNKNOWN_AFTER = 3
"""How many times its patience a write waits once it has begun, whatever the disk does: with 10
s it is answered before nginx gives up (proxy_read_timeout, 60 s) and says less.
"""

BUSY_MILLISECONDS = 5000
"""A backstop: whoever writes beside the service (the sqlite3 shell) knows nothing of turns."""

OWN_FAULTS = {1, 18, 19, 20, 21, 25}
"""SQLITE_ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE: one action's. Others (FULL, IOERR
…) end all of them.
"""


class _Waiting:
    """An action that waits for the writer thread, and what became of it: ``done`` is released
    once that is clear.
    """

    __slots__ = ("done", "error", "result", "since", "work")

    def __init__(self, work: Callable[[Tables], Any]) -> None:
        self.work = work
        self.since = time.monotonic()
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()


class SQLite:
    """The port Database on a file, made with its folders where it is missing. Raises Failure."""

    def __init__(
        self,
        path: Path,
        tables: TablesByName,
        meter: Meter | None = None,
        patience: float = DATABASE_SECONDS,
    ) -> None:
        """``patience``: seconds that a write waits for its turn; three times that once it has
        begun.
        """
        self.tables = tables
        self._path = path
        self._patience = patience
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
        self._batch: list[_Waiting] = []
        self._closing = False
        self._readers: deque[sqlite3.Connection] = deque()
        self._thread: threading.Thread | None = None

    def _after_fork(self) -> None:
        """A child has none of the threads, and must neither use nor close its parent's
        connections (sqlite.org/faq).

        What waits in the parent is the parent's to do.
        """
        if not self._closed:
            _PARENTS_READERS.append(self._readers)
            self._locks = self._locks.reopened()
            self._begin()

    # -- the port ------------------------------------------------------------------------------

    def write(self, work: Callable[[Tables], Result], *, repeatable: bool = False) -> Result:
        waiting = _Waiting(work)
        with self._wake:
            if self._closing:
                raise unavailable("the service is stopping")
            self._ensure_writer()
            self._queue.append(waiting)
            self._wake.notify()
        self._wait_for(waiting)
        if waiting.error is not None:
            raise waiting.error
        result: Result = waiting.result
        return result

    def read(self, work: Callable[[Tables], Result]) -> Result:
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
                return work(Tables(SQLiteSession(connection), self.tables))
            finally:
                connection.execute("ROLLBACK")
                self._readers.append(connection)
        except sqlite3.Error as error:
            if (
                _own_fault(error)
                or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY
            ):
                raise
            raise self._unavailable(error, "read") from error

    def migrate(self) -> list[str]:
        try:
            with (
                self._locks.turn(),
                closing(self._connect()) as connection,
            ):  # who makes a file's WAL waits for nobody
                connection.execute("BEGIN IMMEDIATE")
                done = migrate(SQLiteSession(connection), self.tables)
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise Failure(f"{self._path}: {error}") from None
        return done

    def now(self) -> datetime:
        return datetime.now(UTC)  # all who use the file are on this host

    def fault(self) -> str:
        try:
            connection = self._connect("PRAGMA query_only = ON")
            try:
                reached(SQLiteSession(connection))
            finally:
                connection.close()
        except sqlite3.Error as error:
            return f"{self._path}: {error}"
        return ""

    def load(self) -> Load:
        with self._wake:
            waiting = [*self._batch, *self._queue]
        oldest = time.monotonic() - waiting[0].since if waiting else 0.0
        return Load(len(waiting), oldest)

    def close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify()
            thread = self._thread
        if thread is not None:
            thread.join(UNKNOWN_AFTER * self._patience)
        while self._readers:
            self._readers.pop().close()
        if not self._closed:
            self._closed = True
            self._locks.close()

    # -- who waits for the writer --------------------------------------------------------------

    def _ensure_writer(self) -> None:
        """Start the writer thread where there is none; called with ``_wake`` held. Raises
        Refusal.

        A writer thread ends only by a fault of this program. What it had taken may have been
        kept or not, and its clients are told so; what waits goes to the new thread.
        """
        if self._thread is not None:
            if self._thread.is_alive():
                return
            self._abandon_batch()
        thread = threading.Thread(target=self._serve, name="database-writer", daemon=True)
        try:
            thread.start()
        except (
            RuntimeError
        ) as error:  # the system has no thread to give (RLIMIT_NPROC, a cgroup's pids.max)
            raise self._unavailable(error, "written to") from error
        self._thread = thread

    def _abandon_batch(self) -> None:
        journal.error(
            "writer_ended",
            f"{self._path}: the writer thread ended by itself; another one is started",
        )
        self._meter.restarted()
        batch, self._batch = self._batch, []
        for waiting in batch:
            waiting.error = unavailable(OUTCOME_UNKNOWN)
            waiting.done.release()

    def _wait_for(self, waiting: _Waiting) -> None:
        """Return once it is clear what became of an action. Raises Refusal where that takes too
        long.
        """
        pause = min(LOOK_SECONDS, self._patience)
        while not waiting.done.acquire(timeout=pause):
            waited = time.monotonic() - waiting.since
            with self._wake:
                is_queued = waiting in self._queue
                try:
                    self._ensure_writer()
                except Refusal:
                    if is_queued:
                        self._queue.remove(waiting)
                        raise
                if waited < self._patience:
                    continue
                if is_queued:
                    self._queue.remove(waiting)
            if is_queued:
                self._meter.failed(1)
                raise self._unavailable(TimeoutError("no turn to write in time"), "written to")
            if waited >= UNKNOWN_AFTER * self._patience:
                self._meter.failed(1)
                journal.error(
                    "write_unknown",
                    f"{self._path}: a transaction has not ended after {waited:.0f} s",
                )
                raise unavailable(OUTCOME_UNKNOWN)

    # -- the writer thread ---------------------------------------------------------------------

    def _serve(self) -> None:
        """Do what waits until the database is closed; after a failure with a new connection."""
        connection: sqlite3.Connection | None = None
        while self._await():
            started = time.perf_counter()
            try:
                connection = connection or self._connect()
                with self._locks.turn():
                    self._take()
                    started = time.perf_counter()
                    self._commit(connection, self._batch)
            except BaseException as error:
                if connection is not None:
                    with suppress(sqlite3.Error):
                        connection.close()
                    connection = None
                if not self._batch:
                    self._take()
                self._fail(self._batch, error)
            else:
                self._meter.wrote(len(self._batch), time.perf_counter() - started)
            self._answer()
        if connection is not None:
            connection.close()

    def _await(self) -> bool:
        """Whether an action waits, once one does; False when the database is closed and none
        waits any more.
        """
        with self._wake:
            while not self._queue and not self._closing:
                self._wake.wait()
            return bool(self._queue)

    def _take(self) -> None:
        """Take what waits by now: more than when the turn was asked for, where other processes
        had theirs.
        """
        with self._wake:
            number = min(len(self._queue), BATCH_ACTIONS)
            self._batch = [self._queue.popleft() for _ in range(number)]

    def _answer(self) -> None:
        """Wake the threads whose actions are done."""
        with self._wake:
            batch, self._batch = self._batch, []
        for waiting in batch:
            waiting.done.release()

    def _commit(self, connection: sqlite3.Connection, batch: list[_Waiting]) -> None:
        """Run all actions in one transaction. What one raises takes back its own writes alone."""
        if not batch:
            return
        tables = Tables(SQLiteSession(connection), self.tables)
        connection.execute("BEGIN IMMEDIATE")
        for waiting in batch:
            connection.execute("SAVEPOINT action")
            try:
                waiting.result = waiting.work(tables)
            except BaseException as error:
                if isinstance(error, sqlite3.Error) and not _own_fault(error):
                    raise  # a full disk, a damaged file: nothing of this transaction is kept
                waiting.error = error
                connection.execute("ROLLBACK TO action")
            connection.execute("RELEASE action")
        connection.execute("COMMIT")

    def _fail(self, batch: list[_Waiting], error: BaseException) -> None:
        """Refuse every action of a transaction of which nothing was kept, whatever became of it
        by itself.
        """
        if not isinstance(error, sqlite3.Error | OSError):
            journal.failure(error)
        self._meter.failed(len(batch))
        refusal = self._unavailable(error, "written to")
        for waiting in batch:
            waiting.error = refusal

    def _connect(self, *more: str) -> sqlite3.Connection:
        make(self._path)
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        pragmas = (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "secure_delete = ON",
        )
        for pragma in (f"busy_timeout = {BUSY_MILLISECONDS}", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
        for statement in more:
            connection.execute(statement)
        return connection

    def _unavailable(self, error: BaseException, what: str) -> Exception:
        journal.error("database_unavailable", f"{self._path} cannot be {what}: {error}")
        return unavailable(f"the database cannot be {what} now")


_PARENTS_READERS: list[deque[sqlite3.Connection]] = []
"""Connections of a parent process, kept from being closed: that would drop the parent's locks.
"""


def _own_fault(error: sqlite3.Error) -> bool:
    """Whether an error concerns one action alone, and its transaction goes on."""
    code = getattr(
        error, "sqlite_errorcode", None
    )  # None: found by Python, before SQLite was asked
    return code is None or code & 0xFF in OWN_FAULTS
