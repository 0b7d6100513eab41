"""SQLite: one writer thread a process takes what waits into one transaction; processes take turns by a lock file."""

import fcntl
import os
import sqlite3
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vitrine.problems import Failure
from vitrine.service.sql.database import Result, unavailable
from vitrine.service.sql.migrate import migrate
from vitrine.service.sql.session import Row
from vitrine.service.sql.shop import Shop

TOGETHER = 256
"""Actions that one transaction takes at most."""


class _Session:
    """The port Session on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, *values: Any) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()


class _Waiting:
    """An action that waits for the writer, and what became of it."""

    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Callable[[Shop], Any]) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()


class SQLite:
    """The port Database on a file, made with its folders where it is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._queue: deque[_Waiting] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._readers = threading.local()
        self._thread: threading.Thread | None = None

    # -- the port --------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Shop], Result]) -> Result:
        waiting = _Waiting(work)
        with self._wake:
            if self._closing:
                raise unavailable("the service is stopping")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
                self._thread.start()
            self._queue.append(waiting)
            self._wake.notify()
        waiting.done.acquire()
        if waiting.error is not None:
            raise waiting.error
        result: Result = waiting.result
        return result

    def read(self, work: Callable[[Shop], Result]) -> Result:
        connection = getattr(self._readers, "connection", None)
        try:
            if connection is None:
                connection = self._readers.connection = self._connect()
            connection.execute("BEGIN")
            try:
                return work(Shop(_Session(connection)))
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise self._unavailable(error) from error

    def migrate(self) -> list[str]:
        try:
            connection = self._connect()
            with self._turn():
                connection.execute("BEGIN IMMEDIATE")
                done = migrate(_Session(connection))
                connection.execute("COMMIT")
            connection.close()
        except sqlite3.Error as error:
            raise Failure(f"{self._path}: {error}") from None
        return done

    def close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()

    # -- the writer ------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while batch := self._take():
            try:
                connection = connection or self._connect()
                with self._turn():
                    self._commit(connection, batch)
            except BaseException as error:
                if not isinstance(error, sqlite3.Error):
                    traceback.print_exception(error, file=sys.stderr)
                for waiting in batch:
                    waiting.error = self._unavailable(error)
                if connection is not None:
                    connection.close()
                    connection = None
            for waiting in batch:
                waiting.done.release()
        if connection is not None:
            connection.close()

    def _take(self) -> list[_Waiting]:
        """What waits, once something does; nothing when the store is closed."""
        with self._wake:
            while not self._queue and not self._closing:
                self._wake.wait()
            return [self._queue.popleft() for _ in range(min(len(self._queue), TOGETHER))]

    def _commit(self, connection: sqlite3.Connection, batch: list[_Waiting]) -> None:
        """Each action in a savepoint of one transaction: what one raises rolls back its own writes alone."""
        connection.execute("BEGIN IMMEDIATE")
        session = _Session(connection)
        for waiting in batch:
            connection.execute("SAVEPOINT action")
            try:
                waiting.result = waiting.work(Shop(session))
            except sqlite3.OperationalError:
                raise  # a full disk, a damaged file: nothing of this transaction is kept
            except BaseException as error:
                waiting.error = error
                connection.execute("ROLLBACK TO action")
            connection.execute("RELEASE action")
        connection.execute("COMMIT")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The right to write, held by one process at a time."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=5)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 5000"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _unavailable(self, error: BaseException) -> Exception:
        print(f"vitrine: {self._path}: {error}", file=sys.stderr, flush=True)
        return unavailable("the store cannot be written to now")
