"""PostgreSQL: a pool of connections, and transactions that may be repeated.

How this works. Actions run SERIALIZABLE, so they may be written as if each were alone.
The server refuses some of those that run beside others, and expects them to be
repeated. A transaction that is certain to be rolled back is repeated until the
request's time is over. One whose COMMIT was sent and not answered may have been
committed. It is repeated only where the caller says that this does no harm, and is
answered as unknown otherwise.

No outage makes a request wait without end. There are three sorts:

- A server refuses or drops connections. Then the pool has none to hand out in time.
- A server stands still, while its kernel keeps TCP alive. Then WatchedConnection
  notices that no bytes arrive.
- A standby takes no writes. Then its connection is closed, since the next one may lead
  to the new primary.

For DATABASE_SECONDS after an outage of the first two sorts, a request waits only
OUTAGE_WAIT_SECONDS before it is refused.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial

import psycopg
from psycopg import IsolationLevel
from psycopg.errors import (
    DeadlockDetected,
    FeatureNotSupported,
    ReadOnlySqlTransaction,
    SerializationFailure,
    UniqueViolation,
)
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from shopwindow.interface.table import Result, Row, Tables
from shopwindow.problems import Failure, Refusal
from shopwindow.service import journal
from shopwindow.service.database.address import hide_users, without_secrets
from shopwindow.service.database.clock import ServerClock
from shopwindow.service.database.database import (
    DATABASE_SECONDS,
    MAX_CONNECTIONS,
    OUTCOME_UNKNOWN,
    Load,
    Meter,
    Unmetered,
    unavailable,
)
from shopwindow.service.database.migrate import STEPS_TABLE, migrate, reached
from shopwindow.service.database.postgresql_connection import LIBPQ, WatchedConnection
from shopwindow.service.database.postgresql_transaction import (
    OutcomeUnknown,
    ServerSession,
    begin,
    committing,
    one_line,
)
from shopwindow.service.database.tables import TablesByName

MAX_RACES = 20
"""How many times one transaction may meet a row that another has inserted meanwhile. A
statement that inserts the same row every time is a bug, and must not be repeated until
the time is over.
"""

CONCURRENT_ATTEMPTS = 3
"""How many times a transaction is tried beside others. After that it takes turns with
others that have failed so many times, so that each of them succeeds.
"""

OUTAGE_WAIT_SECONDS = 0.5
"""How long a request waits where the database was out of reach a moment ago. It is
short, because threads that wait cannot answer reads.
"""

RECONNECT_SECONDS = 2.0
"""How long the pool tries to open a connection. The next request makes it try again at
once, while the pool itself would pause longer after every attempt.
"""

MIGRATION_LOCK = 0x76697472
"""The number of the advisory lock (pg_advisory_xact_lock) with which one program at a
time migrates. Older programs use the same.
"""


Pool = ConnectionPool[WatchedConnection]


_READ_ONLY = (ReadOnlySqlTransaction, FeatureNotSupported)
"""A server that takes no writes: because it is configured so, or because it is a
standby, which supports nothing SERIALIZABLE.
"""


class PostgreSQL:
    """A Database on a server.

    ``url`` is its address (`address.server_address`).
    """

    def __init__(
        self,
        url: str,
        tables: TablesByName,
        meter: Meter | None = None,
        clock: ServerClock | None = None,
    ) -> None:
        self.tables = tables
        self._url = url
        self._clock = clock or ServerClock()
        self._meter = meter or Unmetered()
        self._closing = False
        self._start()
        os.register_at_fork(after_in_child=self._after_fork)

    def _start(self) -> None:
        self._opening = threading.Lock()
        self._opened: Pool | None = None
        # Until then the database counts as out of reach (time.monotonic).
        self._away_until = 0.0
        # Since when every waiting thread has waited for a connection, the oldest first.
        self._waiting: dict[object, float] = {}

    def _after_fork(self) -> None:
        """Begin again in a child process.

        A child has none of the pool's threads, and must not use its parent's
        connections.
        """
        if self._opened is not None:
            _PARENTS_POOLS.append(self._opened)
        self._start()

    # -- the protocol Database ---------------------------------------------------------

    def write(
        self, work: Callable[[Tables], Result], *, repeatable: bool = False
    ) -> Result:
        started = time.perf_counter()
        try:
            result = self._transact(
                partial(self._run_writing, work), repeatable=repeatable
            )
        except _GivenUp as given_up:
            self._meter.failed(1)
            raise given_up.refusal from given_up.__cause__
        self._meter.wrote(1, time.perf_counter() - started)
        return result

    def read(self, work: Callable[[Tables], Result]) -> Result:
        try:
            return self._transact(partial(self._run_reading, work), repeatable=True)
        except _GivenUp as given_up:
            raise given_up.refusal from given_up.__cause__

    def migrate(self) -> list[str]:
        try:
            with psycopg.connect(self._url, **LIBPQ) as connection:
                self._set_clock(connection)
                session = ServerSession(connection)
                session.run("SELECT pg_advisory_xact_lock(?)", MIGRATION_LOCK)
                return migrate(session, self.tables)
        except psycopg.Error as error:
            raise Failure(
                f"the database cannot be migrated: {self._words(error)}"
            ) from None

    def now(self) -> datetime:
        if not self._clock.is_set:
            with suppress(Refusal):  # out of reach, which has been logged
                self.read(lambda tables: None)  # a new connection sets the clock
        return self._clock.now()

    def _set_clock(self, connection: psycopg.Connection[Row]) -> None:
        sent = time.monotonic()
        ((server,),) = connection.execute("SELECT clock_timestamp()").fetchall()
        self._clock.set(server, sent)

    def fault(self) -> str:
        try:
            with WatchedConnection.connect(self._url, **LIBPQ) as connection:
                reached(ServerSession(connection))
        except psycopg.Error as error:
            return f"the database: {self._words(error)}"
        return ""

    def load(self) -> Load:
        pool = self._opened
        if pool is None:
            return Load()
        figures = pool.get_stats()
        size, idle = figures.get("pool_size", 0), figures.get("pool_available", 0)
        waiting = list(self._waiting.values())
        oldest = time.monotonic() - waiting[0] if waiting else 0.0
        return Load(len(waiting), oldest, size - idle, idle)

    def close(self) -> None:
        self._closing = True
        with self._opening:
            if self._opened is not None:
                self._opened.close()

    # -- transactions ------------------------------------------------------------------

    def _transact(
        self, run: Callable[[WatchedConnection, bool], Result], *, repeatable: bool
    ) -> Result:
        """Call ``run`` until it succeeds or the time is over; return its result.

        ``run`` gets a connection, and whether it must take turns with others, because
        it has failed CONCURRENT_ATTEMPTS times. ``repeatable``: the transaction does no
        harm where it is committed twice. Raises _GivenUp, and what ``run`` raises.
        """
        now = time.monotonic()
        is_away = now < self._away_until
        deadline = now + (OUTAGE_WAIT_SECONDS if is_away else DATABASE_SECONDS)
        attempt = 0
        while True:
            attempt += 1
            try:
                with self._connection(deadline) as connection:
                    if is_away:
                        connection.probe(OUTAGE_WAIT_SECONDS)
                        is_away, deadline = False, now + DATABASE_SECONDS
                    result = run(connection, attempt > CONCURRENT_ATTEMPTS)
            except (SerializationFailure, DeadlockDetected) as error:
                last: Exception = error  # it is certain to be rolled back
            except UniqueViolation as error:
                # Where two transactions insert the same row, the server may report the
                # second row before it notices that the transactions conflict.
                if attempt == MAX_RACES:
                    raise
                last = error
            except OutcomeUnknown as error:
                last = error
                if not repeatable:
                    raise _GivenUp(self._refusal(error, OUTCOME_UNKNOWN)) from error
            except PoolClosed as error:
                raise _GivenUp(unavailable("the service is stopping")) from error
            except (
                psycopg.OperationalError,
                psycopg.InterfaceError,
                PoolTimeout,
            ) as error:
                last = error  # nothing was committed: COMMIT had not been sent
            else:
                self._away_until = 0.0
                return result

            if time.monotonic() >= deadline:
                if isinstance(last, PoolTimeout):
                    self._away_until = time.monotonic() + DATABASE_SECONDS
                reason = "the database cannot be reached now"
                raise _GivenUp(self._refusal(last, reason)) from last

    def _run_reading(
        self,
        work: Callable[[Tables], Result],
        connection: WatchedConnection,
        in_turn: bool,
    ) -> Result:
        begin(connection, IsolationLevel.REPEATABLE_READ, reads=True)
        return work(Tables(ServerSession(connection), self.tables))

    def _run_writing(
        self,
        work: Callable[[Tables], Result],
        connection: WatchedConnection,
        in_turn: bool,
    ) -> Result:
        """Run an action in a transaction, and commit it.

        A pipeline (libpq's manual, 34.5) sends BEGIN together with the statements that
        return nothing: an opt-in takes two round trips instead of four. The pipeline
        ends before COMMIT is sent, so that whatever fails until then is certain not to
        be committed.
        """
        begin(connection, IsolationLevel.SERIALIZABLE, reads=False)
        with connection.pipeline():
            if in_turn:  # before the first query, which takes the snapshot
                connection.execute(
                    f"LOCK TABLE {STEPS_TABLE} IN SHARE ROW EXCLUSIVE MODE"
                )
            result = work(Tables(ServerSession(connection), self.tables))
        with committing():
            connection.commit()
        return result

    # -- connections -------------------------------------------------------------------

    @contextmanager
    def _connection(self, deadline: float) -> Iterator[WatchedConnection]:
        """Provide a connection of the pool; it is rolled back before it goes back.

        Raises _GivenUp for a server that takes no writes, and what the pool raises.
        """
        pool = self._pool()
        waiting = object()
        self._waiting[waiting] = time.monotonic()
        try:
            # One second at most: every call of getconn makes a pool that has given up
            # connecting try again.
            seconds = max(0.01, min(1.0, deadline - time.monotonic()))
            connection = pool.getconn(seconds)
        finally:
            del self._waiting[waiting]
        try:
            yield connection
        except _READ_ONLY as error:
            if connection.read_only and not connection.autocommit:
                raise  # a read has tried to write: a bug of this program
            connection.close()  # the next one may lead to a server that takes writes
            reason = "the database cannot be written to now"
            raise _GivenUp(self._refusal(error, reason)) from error
        finally:
            if connection.fell_silent:
                self._away_until = time.monotonic() + DATABASE_SECONDS
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                with suppress(psycopg.Error):
                    connection.rollback()  # of what was not committed
            pool.putconn(connection)

    def _pool(self) -> Pool:
        """Return the pool, which the first request of a process opens."""
        pool = self._opened
        if pool is None:
            with self._opening:
                if self._closing:
                    raise PoolClosed
                if self._opened is None:
                    self._opened = self._open_pool()
                pool = self._opened
        return pool

    def _open_pool(self) -> Pool:
        logging.getLogger("psycopg.pool").addFilter(hide_users)
        return ConnectionPool(
            self._url,
            connection_class=WatchedConnection,
            kwargs={**LIBPQ, "prepare_threshold": 0},
            min_size=1,
            max_size=MAX_CONNECTIONS,
            configure=self._configure,
            reconnect_timeout=RECONNECT_SECONDS,
            open=True,
        )

    def _configure(self, connection: WatchedConnection) -> None:
        """Prepare a new connection of the pool."""
        connection.configure()
        self._set_clock(connection)
        connection.commit()

    def _words(self, error: Exception) -> str:
        """Return an error's text in one line that shows neither user nor password."""
        return without_secrets(one_line(error), self._url)

    def _refusal(self, error: Exception, reason: str) -> Exception:
        """Log an error, and return the refusal that gives clients the reason."""
        journal.error("database_unavailable", f"the database: {self._words(error)}")
        return unavailable(reason)


class _GivenUp(Exception):
    """A transaction was given up, for the reason in its Refusal."""

    def __init__(self, refusal: Exception) -> None:
        self.refusal = refusal


_PARENTS_POOLS: list[Pool] = []
"""Pools of a parent process. They are referred to here so that Python never closes
them, which would end the parent's sessions.
"""
