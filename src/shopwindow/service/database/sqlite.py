"""SQLite: one writer thread a process runs all actions that wait, in one transaction.

How this works. A request puts its action into a queue and waits. The writer thread
waits for its process's turn (a lock file, `sqlite_file.Locks`), takes what is in the
queue by then, and commits all of it at once. A commit costs one fdatasync, however many
actions it holds, so the requests that arrive during one commit share the next one. Each
action runs once, under a savepoint of its own. If it raises an exception, only its own
writes are taken back.

A request that waits checks every second whether there is still a writer thread. When
its patience is over, it is refused. While its action is still in the queue, the client
learns that it was not stored. Once the writer has begun with it, as on a disk that
hangs, the client learns that the outcome is unknown.

Reads do not use the queue: each takes an open connection of its own, or opens one.
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
from shopwindow.service.database.sqlite_file import (
    Locks,
    SQLiteSession,
    make,
    refuse_network,
)
from shopwindow.service.database.tables import TablesByName

BATCH_ACTIONS = 256
"""The most actions of one transaction: as many as a worker may have threads, so that no
request waits for a second turn.
"""

WRITER_CHECK_SECONDS = 1.0
"""How often a request that waits looks whether there is a writer thread at all."""

UNKNOWN_AFTER = 2
"""How many times its patience a write that has begun may take before it is answered as
unknown. With a patience of 10 s that is before nginx gives up
(edge.rules.SERVICE_TIMEOUT_SECONDS, 30 s), whose answer would say less.
"""

BUSY_MILLISECONDS = 5000
"""How long SQLite itself waits for a lock. Processes of this program take turns, but
other programs, such as the sqlite3 shell, know nothing of these turns.
"""

ERRORS_OF_ONE_ACTION = {1, 18, 19, 20, 21, 25}
"""SQLite's result codes ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE and RANGE
(sqlite.org/rescode) concern one action. Any other, such as FULL or IOERR, ends the
whole transaction.
"""


class _Waiting:
    """An action that waits for the writer thread.

    ``done``: a lock that is released once ``result`` or ``error`` is final. ``since``:
    when the action was put into the queue (time.monotonic).
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
    """A Database in a file, which is created with its folders where it is missing.

    ``patience``: seconds that a write waits for its turn. Raises Failure on a network
    file system, and while the database is being restored.
    """

    def __init__(
        self,
        path: Path,
        tables: TablesByName,
        meter: Meter | None = None,
        patience: float = DATABASE_SECONDS,
    ) -> None:
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
        """Set what a process has of its own. `_wake` guards the queue and the batch."""
        self._queue: deque[_Waiting] = deque()
        self._wake = threading.Condition()
        self._batch: list[_Waiting] = []
        self._closing = False
        self._readers: deque[sqlite3.Connection] = deque()
        self._thread: threading.Thread | None = None

    def _after_fork(self) -> None:
        """Begin again in a child process.

        A child has none of the threads, and must neither use nor close its parent's
        connections (sqlite.org/faq). The actions that wait are the parent's, and the
        parent does them.
        """
        if not self._closed:
            _PARENTS_READERS.append(self._readers)
            self._locks = self._locks.reopened()
            self._begin()

    # -- the protocol Database ---------------------------------------------------------

    def write(
        self, work: Callable[[Tables], Result], *, repeatable: bool = False
    ) -> Result:
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
            connection = self._reader()
            connection.execute("BEGIN")
            try:
                return work(Tables(SQLiteSession(connection), self.tables))
            finally:
                connection.execute("ROLLBACK")
                self._readers.append(connection)
        except sqlite3.Error as error:
            has_written = _code(error) == sqlite3.SQLITE_READONLY
            if has_written or _is_of_one_action(error):
                raise  # the fault of ``work``
            raise self._unavailable(error, "read") from error

    def _reader(self) -> sqlite3.Connection:
        """Return a connection for one read; the read puts it into ``_readers``."""
        try:
            return self._readers.pop()
        except IndexError:
            return self._connect("PRAGMA query_only = ON")

    def migrate(self) -> list[str]:
        try:
            # The turn comes before connecting: SQLite does not wait for a lock
            # (busy_timeout) when it changes a new file to a write-ahead log.
            with self._locks.turn(), closing(self._connect()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                steps = migrate(SQLiteSession(connection), self.tables)
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise Failure(f"{self._path}: {error}") from None
        return steps

    def now(self) -> datetime:
        return datetime.now(UTC)  # all processes that use the file are on this host

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

    # -- the threads of requests -------------------------------------------------------

    def _ensure_writer(self) -> None:
        """Start the writer thread where there is none; called with ``_wake`` held.

        A writer thread ends by itself only through a bug of this program. Whether the
        actions of its batch are stored is unknown then, and their clients learn that.
        The new thread goes on with the queue. Raises Refusal where no thread can be
        started.
        """
        if self._thread is not None:
            if self._thread.is_alive():
                return
            self._abandon_batch()
        thread = threading.Thread(
            target=self._serve, name="database-writer", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            # the system gives no thread (RLIMIT_NPROC, a cgroup's pids.max)
            raise self._unavailable(error, "written to") from error
        self._thread = thread

    def _abandon_batch(self) -> None:
        """Answer the batch of a writer thread that has ended as unknown."""
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
        """Return once an action has its result or its error.

        Raises Refusal where that takes too long: after the patience while the action is
        in the queue, after UNKNOWN_AFTER times that once the writer has taken it.
        """
        pause = min(WRITER_CHECK_SECONDS, self._patience)
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
                    self._queue.remove(waiting)  # so it is certain not to be stored
            if is_queued:
                self._meter.failed(1)
                raise self._unavailable(
                    TimeoutError("no turn to write in time"), "written to"
                )
            if waited >= UNKNOWN_AFTER * self._patience:
                self._meter.failed(1)
                journal.error(
                    "write_unknown",
                    f"{self._path}: a transaction has not ended after {waited:.0f} s",
                )
                raise unavailable(OUTCOME_UNKNOWN)

    # -- the writer thread -------------------------------------------------------------

    def _serve(self) -> None:
        """Commit what waits, batch by batch, until the database is closed.

        After a failure the next batch gets a new connection.
        """
        connection: sqlite3.Connection | None = None
        while self._has_work():
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

    def _has_work(self) -> bool:
        """Wait for an action, and return True; False once closed with an empty queue."""
        with self._wake:
            while not self._queue and not self._closing:
                self._wake.wait()
            return bool(self._queue)

    def _take(self) -> None:
        """Move what waits by now from the queue to the batch.

        It comes after the turn has begun: the queue grew while other processes wrote.
        """
        with self._wake:
            number = min(len(self._queue), BATCH_ACTIONS)
            self._batch = [self._queue.popleft() for _ in range(number)]

    def _answer(self) -> None:
        """Wake the threads whose actions are in the batch."""
        with self._wake:
            batch, self._batch = self._batch, []
        for waiting in batch:
            waiting.done.release()

    def _commit(self, connection: sqlite3.Connection, batch: list[_Waiting]) -> None:
        """Run all actions in one transaction.

        An exception of one takes back only its own writes, and becomes its ``error``.
        Raises what concerns the whole transaction.
        """
        if not batch:
            return
        tables = Tables(SQLiteSession(connection), self.tables)
        connection.execute("BEGIN IMMEDIATE")
        for waiting in batch:
            connection.execute("SAVEPOINT action")
            try:
                waiting.result = waiting.work(tables)
            except BaseException as error:
                if isinstance(error, sqlite3.Error) and not _is_of_one_action(error):
                    raise  # a full disk or a damaged file: nothing is stored
                waiting.error = error
                connection.execute("ROLLBACK TO action")
            connection.execute("RELEASE action")
        connection.execute("COMMIT")

    def _fail(self, batch: list[_Waiting], error: BaseException) -> None:
        """Refuse every action of a transaction that was not committed.

        That includes those whose own statements had succeeded.
        """
        if not isinstance(error, sqlite3.Error | OSError):
            journal.failure(error)
        self._meter.failed(len(batch))
        refusal = self._unavailable(error, "written to")
        for waiting in batch:
            waiting.error = refusal

    def _connect(self, *more: str) -> sqlite3.Connection:
        """Return a new connection, for which the statements ``more`` have run."""
        make(self._path)
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False
        )
        pragmas = (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "secure_delete = ON",
        )
        try:
            for pragma in (f"busy_timeout = {BUSY_MILLISECONDS}", *pragmas):
                connection.execute(f"PRAGMA {pragma}")
            for statement in more:
                connection.execute(statement)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _unavailable(self, error: BaseException, what: str) -> Exception:
        """Log an error, and return the refusal. ``what``: cannot be done, as `read`."""
        journal.error("database_unavailable", f"{self._path} cannot be {what}: {error}")
        return unavailable(f"the database cannot be {what} now")


_PARENTS_READERS: list[deque[sqlite3.Connection]] = []
"""Connections of a parent process. They are referred to here so that Python never
closes them, which would release the parent's locks.
"""


def _is_of_one_action(error: sqlite3.Error) -> bool:
    """Return whether an error concerns one action, and its transaction goes on."""
    code = _code(error)
    return code is None or code & 0xFF in ERRORS_OF_ONE_ACTION


def _code(error: sqlite3.Error) -> int | None:
    """Return SQLite's result code; None where Python raised before it called SQLite."""
    return getattr(error, "sqlite_errorcode", None)
