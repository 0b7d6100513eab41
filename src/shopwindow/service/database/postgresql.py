"""PostgreSQL: an Engine on a server, whose hosts and processes take turns by an advisory
lock.

Who writes has the lock until its transaction ends, so transactions that write never
conflict, and READ COMMITTED shows each what the one before it has stored.

No outage makes a request wait without end. There are three sorts:

- A server refuses or drops connections. Then all of them are closed, and the next try
  opens another one.
- A server stands still, while its kernel keeps TCP alive. Then WatchedConnection
  notices that no bytes arrive.
- A standby takes no writes. Then its connection is closed, since the next one may lead
  to the new primary.

A pipeline (libpq's manual, 34.5) sends statements that return nothing along with the
next one that does. So most actions take one round trip, and others wait less for the
turn: with 1 ms between the hosts, 2,500 writes a second in place of 85. An error is
raised later than its statement then, perhaps in another action. So after any error the
next transaction has no pipeline, and neither has the first one of a process, which may
find no tables.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from functools import cache
from typing import Any, cast

import psycopg
from psycopg.pq import TransactionStatus

from shopwindow.interface.declaring.table import Result, Row, Session
from shopwindow.service.database.engine import Lost, OutcomeUnknown, unavailable
from shopwindow.service.database.postgresql_connection import (
    LIBPQ,
    ServerClock,
    WatchedConnection,
)

MAX_READERS = 15
"""Connections of one process for reads, beside the one that writes. So half of a
worker's threads may read at a time. PostgreSQL admits 100 in all by default
(max_connections), which six workers share.
"""

MAX_AGE_SECONDS = 3600.0
"""A connection that is older is replaced: the server's clock is asked again, and a
server that has been added takes its part.
"""

TURN_LOCK = 0x76697472
"""The number of the advisory lock (pg_advisory_xact_lock) of who writes. Older programs
migrate under the same.
"""

BEGIN_WRITING = f"""
BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = %d;
SELECT pg_advisory_xact_lock({TURN_LOCK})
"""

BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

READ_ONLY = "25006"
"""The SQLSTATE of a server, or a transaction, that takes no writes."""

TIMEOUTS = ("55P03", "57014")
"""The SQLSTATEs of who waited too long for a lock, and of a statement that took too
long.
"""

OF_ALL = (READ_ONLY, "08", "40", "53", "57P", "58", "XX")
"""How SQLSTATEs begin that end the whole transaction (the manual, appendix A): errors of
the connection, of concurrency, of resources, of the system, and a shutdown.
"""


class PostgreSQL:
    """An Engine on a server.

    ``url`` is its address (`address.server_address`).
    """

    def __init__(self, url: str, clock: ServerClock | None = None) -> None:
        self._url = url
        self._clock = clock or ServerClock()
        self._writer: WatchedConnection | None = None
        self._readers: deque[WatchedConnection] = deque()

    def __str__(self) -> str:
        return "the database"

    def begin(self) -> None:
        """Begin in a new process, which must not use its parent's connections."""
        _INHERITED.extend((self._writer, *self._readers))
        self._writer = None
        self._readers = deque()
        self._free = threading.BoundedSemaphore(MAX_READERS)
        self._is_pipelined = False  # the next transaction that writes

    @contextmanager
    def turn(self, until: float) -> Iterator[Session]:
        milliseconds = int(1000 * max(0.0, until - time.monotonic())) + 1
        is_pipelined, self._is_pipelined = self._is_pipelined, False
        try:
            with self._lost(passes=True):
                connection = self._writer = self._recent(self._writer)
                connection.execute(
                    (BEGIN_WRITING % milliseconds).encode(), prepare=False
                )
            pipeline = connection.pipeline() if is_pipelined else nullcontext()
            with self._lost(passes=is_pipelined), pipeline:
                yield ServerSession(connection, is_pipelined=is_pipelined)
            if connection.closed:  # while an action ran: nothing has been committed
                raise Lost("the connection was lost", passes=True)
            with self._lost(), committing():
                end = connection.execute(b"COMMIT", prepare=False)
            if end.statusmessage != "COMMIT":  # it has found an error that was hidden
                raise Lost("the server rolled the transaction back", passes=True)
            self._is_pipelined = True
        except BaseException:
            self._close_writer()
            raise

    def act(self, session: Session, work: Callable[[], Result]) -> Result:
        session = cast(ServerSession, session)  # of this engine's turn
        try:
            session.save()
            result = work()
            session.check()
            return result
        except psycopg.Error as error:
            if not _is_of_one_action(error):
                raise self._error(error) from error
            if session.is_pipelined:
                raise Lost(one_line(error), passes=True) from error
            session.take_back()
            if error.sqlstate in TIMEOUTS:
                raise unavailable("the database takes too long") from error
            raise
        except BaseException:
            session.take_back()
            raise

    @contextmanager
    def reading(self, until: float) -> Iterator[Session]:
        if not self._free.acquire(timeout=max(0.0, until - time.monotonic())):
            raise Lost("no connection becomes free", passes=True)
        try:
            with self._lost(READ_ONLY):
                connection = self._recent(self._reader())
                connection.execute(BEGIN_READING, prepare=False)
                try:
                    yield ServerSession(connection)
                finally:
                    if not connection.closed:
                        connection.execute(b"ROLLBACK", prepare=False)
                        self._readers.append(connection)
        finally:
            self._free.release()

    def _reader(self) -> WatchedConnection | None:
        with suppress(IndexError):
            return self._readers.pop()
        return None

    def now(self) -> datetime:
        return self._clock.now()

    def close(self) -> None:
        self._close_readers()
        self._close_writer()

    # -- connections -------------------------------------------------------------------

    def _recent(self, connection: WatchedConnection | None) -> WatchedConnection:
        """Return a connection, or a new one where there is none or it is too old."""
        if connection is not None:
            if time.monotonic() - connection.opened < MAX_AGE_SECONDS:
                return connection
            connection.close()
        new = WatchedConnection.connect(
            self._url, **LIBPQ, autocommit=True, prepare_threshold=0
        )
        new.configure(self._clock)
        return new

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _close_readers(self) -> None:
        while connection := self._reader():
            connection.close()

    @contextmanager
    def _lost(self, *bugs: str, passes: bool = False) -> Iterator[None]:
        """Raise Lost for whatever ends a transaction, or lets none begin.

        ``bugs`` are SQLSTATEs that say that the program is wrong. ``passes``: a timeout,
        or an error of one action, may not come again when that is tried again.
        """
        try:
            yield
        except psycopg.Error as error:
            if not _is_of_one_action(error) and error.sqlstate not in bugs:
                self._close_readers()
                raise self._error(error) from error
            if passes or error.sqlstate in TIMEOUTS:
                raise Lost(one_line(error), passes=passes) from error
            raise

    def _error(self, error: psycopg.Error) -> Lost:
        passes = error.sqlstate != READ_ONLY
        return Lost(one_line(error), passes=passes)


_INHERITED: list[object] = []
"""Connections of a parent process. They are referred to here so that Python never
closes them, which would end the parent's sessions.
"""


class ServerSession:
    """An open transaction on one connection (interface.declaring.table.Session)."""

    def __init__(
        self, connection: psycopg.Connection[Row], *, is_pipelined: bool = False
    ) -> None:
        self.is_pipelined = is_pipelined
        self._execute = connection.execute
        self._server = connection.pgconn
        self._is_saved = False

    def run(self, sql: str, *values: Any) -> list[Row]:
        cursor = self._execute(_translated(sql), values)
        return cursor.fetchall() if _gives_rows(sql) else []

    def save(self) -> None:
        """Begin an action: its savepoint takes the place of the last one's."""
        if self._is_saved:
            self._execute(b"RELEASE action")
        self._execute(b"SAVEPOINT action")
        self._is_saved = True

    def check(self) -> None:
        """Raise an error that the action has hidden: it would be the next one's. In a
        pipeline the server has the last word, at COMMIT.
        """
        if self._server.transaction_status == TransactionStatus.INERROR:
            raise psycopg.errors.InFailedSqlTransaction("an action hid an error")

    def take_back(self) -> None:
        """Take back what the action has written."""
        self._execute(b"ROLLBACK TO action")


@cache
def _gives_rows(sql: str) -> bool:
    """Return whether a statement returns rows."""
    words = sql.upper().split()
    return words[0] in ("SELECT", "WITH") or "RETURNING" in words


@cache
def _translated(sql: str) -> bytes:
    """Return a table's statement in PostgreSQL's form, with psycopg's placeholders.

    No statement of a table holds `?` or `%` for anything else (interface.declaring.table.Table).
    WITHOUT ROWID says how SQLite stores the rows; PostgreSQL has no such clause.
    """
    return sql.replace("?", "%s").removesuffix(" WITHOUT ROWID").encode()


@contextmanager
def committing() -> Iterator[None]:
    """Raise OutcomeUnknown for a COMMIT that failed and may have been carried out.

    The error's SQLSTATE decides. Errors of the connection (08), of the system (58) and
    internal ones (XX) prove nothing. Neither does a shutdown of the server (57P), which
    it may report after it has committed.
    """
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate
        if state and not state.startswith(("08", "57P", "58", "XX")):
            raise
        raise OutcomeUnknown(one_line(error)) from error


def _is_of_one_action(error: psycopg.Error) -> bool:
    """Return whether an error concerns one action, and its transaction goes on.

    psycopg's own, such as for a value that has no form in SQL, have no SQLSTATE.
    """
    if error.sqlstate is None:
        return not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return not error.sqlstate.startswith(OF_ALL)


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
