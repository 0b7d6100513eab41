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
raised later than its statement then, perhaps in another action, and whatever follows it
in the pipeline fails, too. So the whole transaction is tried again on a new connection,
and the first transaction of a connection has no pipeline.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from functools import cache
from typing import Any

import psycopg

from shopwindow.interface.declaring.table import Row
from shopwindow.service.database.engine import Lost, OutcomeUnknown, Transaction
from shopwindow.service.database.postgresql_connection import (
    CONFIGURE,
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

TOO_LONG = "57014"
"""The SQLSTATE of a statement that took too long."""

OF_ALL = (READ_ONLY, "08", "40", "53", "55P03", "57", "58", "XX")
"""How SQLSTATEs begin that end the whole transaction (the manual, appendix A): errors of
the connection, of concurrency, of resources, of the system, a lock for which somebody
waited too long, and statements that were ended.
"""

MAY_BE_COMMITTED = ("08", "57P", "58", "XX")
"""How the SQLSTATEs of a COMMIT begin that failed and may have been carried out. Errors
of the connection, of the system and internal ones prove nothing. Neither does a shutdown
of the server, which it may report after it has committed.
"""


class PostgreSQL:
    """An Engine on a server.

    ``url`` is its address (`address.server_address`).
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._clock = ServerClock()
        self._writer: WatchedConnection | None = None
        self._readers: deque[WatchedConnection] = deque()
        self._free = threading.BoundedSemaphore(MAX_READERS)

    def __str__(self) -> str:
        return "the database"

    @contextmanager
    def turn(self, until: float) -> Iterator[Transaction]:
        milliseconds = int(1000 * max(0.0, until - time.monotonic())) + 1
        former = self._writer
        try:
            with self._lost():
                connection = self._writer = self._recent(former)
                connection.execute(
                    (BEGIN_WRITING % milliseconds).encode(), prepare=False
                )
                has_committed = connection is former
                with connection.pipeline() if has_committed else nullcontext():
                    yield ServerSession(connection)
                try:
                    connection.execute(b"COMMIT", prepare=False)
                except psycopg.Error as error:
                    if not _state(error).startswith(MAY_BE_COMMITTED):
                        raise
                    raise OutcomeUnknown(error, passes=True) from error
        except BaseException:
            self._close_writer()
            raise

    @contextmanager
    def reading(self, until: float) -> Iterator[Transaction]:
        if not self._free.acquire(timeout=max(0.0, until - time.monotonic())):
            raise Lost("no connection becomes free", passes=True)
        try:
            with self._lost():
                connection = self._recent(self._reader())
                connection.execute(BEGIN_READING, prepare=False)
            try:
                yield ServerSession(connection)
            finally:
                if not connection.closed:
                    with self._lost():
                        # COMMIT, for a ROLLBACK has psycopg forget what it has prepared
                        connection.execute(b"COMMIT", prepare=False)
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
        sent = time.monotonic()
        ((*_, server),) = new.execute(CONFIGURE).fetchall()
        self._clock.set(server, sent)
        return new

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _close_readers(self) -> None:
        while connection := self._reader():
            connection.close()

    @contextmanager
    def _lost(self) -> Iterator[None]:
        """Raise Lost where a transaction does not begin or end. Connections of the same
        server that lie idle may be broken, too.
        """
        try:
            yield
        except psycopg.Error as error:
            self._close_readers()
            raise lost(error) from error


class ServerSession:
    """An open transaction on one connection (engine.Transaction)."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self.failed: Exception | None = None
        self._connection = connection

    def run(self, sql: str, *values: Any) -> list[Row]:
        # After a ROLLBACK that it watches, psycopg forgets what it has prepared. The
        # server has it still, and in a pipeline a later statement may name it by then.
        is_watched = not sql.startswith("ROLLBACK")
        self._connection.prepare_threshold = 0 if is_watched else None
        try:
            cursor = self._connection.execute(_translated(sql), values)
            return cursor.fetchall() if _gives_rows(sql) else []
        except psycopg.Error as error:
            self.failed = error
            if _state(error).startswith(OF_ALL):
                raise lost(error) from error
            raise


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


def lost(error: psycopg.Error) -> Lost:
    """Return why a transaction is lost."""
    return Lost(error, passes=error.sqlstate not in (READ_ONLY, TOO_LONG))


def _state(error: psycopg.Error) -> str:
    """Return the SQLSTATE of an error. psycopg's own have none: those about a value that
    has no form in SQL, and those of a connection that is broken, which is 08 here.
    """
    is_of_value = isinstance(error, psycopg.DataError | psycopg.ProgrammingError)
    return error.sqlstate or ("" if is_of_value else "08")
