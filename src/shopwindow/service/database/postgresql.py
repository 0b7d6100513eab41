"""PostgreSQL: a pool of connections; a transaction is repeated where the database asks for
that, and it is safe.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache, partial
from typing import Any

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
from shopwindow.service.database.tables import TablesByName

RACES = 20
"""How often one transaction may find a row that another made meanwhile."""

TOGETHER_ATTEMPTS = 3
"""So often a transaction is tried beside others; then those that failed so often take turns, so
that each succeeds.
"""

IMPATIENCE_SECONDS = 0.5
"""How long a request waits while the database has been out of reach: threads that wait cannot
answer reads.
"""

SERVER_SILENCE_SECONDS = DATABASE_SECONDS + 1.0
"""After which a server that says nothing is given up. One that runs has said by then that a
statement took too long.
"""

RECONNECT_SECONDS = 2.0
"""After which the pool gives a connection up; the next request makes it try again, with no
growing pause.
"""

MIGRATION_LOCK = 0x76697472
"""Of `pg_advisory_xact_lock`: one program migrates at a time."""

_LIBPQ: dict[str, Any] = {
    "application_name": "shopwindow",
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}

_CONFIGURE = """
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')
UNION ALL SELECT set_config('statement_timeout', '10s', false) WHERE current_setting('statement_timeout') = '0'
"""
"""An answer promises that it was kept, whatever the server's default is; and no request waits
for ever for a lock.
"""


_STATEMENT_TIMEOUT = "SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'"
"""Milliseconds that a statement may take, which an operator may have set longer than ours."""


class WatchedConnection(psycopg.Connection[Row]):
    """A connection that is closed when its server falls silent.

    A server that is stopped, or hangs, keeps no statement_timeout, and its kernel keeps TCP
    alive.
    """

    patience = SERVER_SILENCE_SECONDS
    fell_silent = False

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **named: Any) -> Any:
        """All that is said to the server and heard from it goes through here."""
        return super().wait(self._heard(gen), *arguments, **named)

    def _heard(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """What ``gen`` does. Whoever waits for the socket looks in every tenth of a second,
        with nothing ready.
        """
        try:
            wanted = next(gen)
            until = time.monotonic() + self.patience
            while True:
                ready = yield wanted
                if ready:
                    until = time.monotonic() + self.patience
                elif time.monotonic() >= until:
                    self.fell_silent = True
                    gen.close()
                    self.close()
                    raise psycopg.OperationalError(
                        f"the server has said nothing for {self.patience:g} s"
                    )
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value

    def knock(self, patience: float) -> None:
        """Raises OperationalError where the server says nothing for so long."""
        usual, self.patience = self.patience, patience
        self.autocommit = True
        self.execute("")
        self.patience = usual


Pool = ConnectionPool[WatchedConnection]


class _Unknown(Exception):
    """The connection broke while a transaction was being committed: it may have been kept."""


_READ_ONLY = (ReadOnlySqlTransaction, FeatureNotSupported)
"""A server that takes no writes: because it is told so; because it is a standby, which does
nothing SERIALIZABLE.
"""


@cache
def _spelt(sql: str) -> bytes:
    """A statement with psycopg's placeholders; none of ours holds `?` or `%` for anything else.

    A table WITHOUT ROWID is SQLite's: its rows lie in its primary key. Here they never do.
    """
    return sql.replace("?", "%s").removesuffix(" WITHOUT ROWID").encode()


@cache
def _gives_rows(sql: str) -> bool:
    """Whether a statement has rows to wait for."""
    return sql.startswith("SELECT") or "RETURNING" in sql


class _ServerSession:
    """The port Session on one connection.

    Within a pipeline, a statement without rows is sent on with the next one, and what is wrong
    with it is raised then.
    """

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def run(self, sql: str, *values: Any) -> list[Row]:
        cursor = self._connection.execute(_spelt(sql), values)
        return cursor.fetchall() if _gives_rows(sql) else []

    def has_table(self, name: str) -> bool:
        return self.run("SELECT to_regclass(?)", name) != [(None,)]


class PostgreSQL:
    """The port Database on a server."""

    def __init__(
        self,
        url: str,
        tables: TablesByName,
        meter: Meter | None = None,
        connections: int = MAX_CONNECTIONS,
        clock: ServerClock | None = None,
    ) -> None:
        """``tables`` by their names; ``connections``: of this process, at most."""
        self.tables = tables
        self._url = url
        self._clock = clock or ServerClock()
        self._meter = meter or Unmetered()
        self._connections = connections
        self._closing = False
        self._begin()
        os.register_at_fork(after_in_child=self._after_fork)

    def _begin(self) -> None:
        self._opening = threading.Lock()
        self._opened: Pool | None = None
        self._away_until = 0.0
        self._waiting: dict[object, float] = {}  # since when each thread waits for a connection

    def _after_fork(self) -> None:
        """A child has none of the pool's threads, and must not use its parent's connections."""
        if self._opened is not None:
            _PARENTS_POOLS.append(self._opened)
        self._begin()

    # -- the port ------------------------------------------------------------------------------

    def write(self, work: Callable[[Tables], Result], *, repeatable: bool = False) -> Result:
        started = time.perf_counter()
        try:
            result = self._done(partial(self._act, work), repeatable=repeatable)
        except _Given as given:
            self._meter.failed(1)
            raise given.refusal from given.__cause__
        self._meter.wrote(1, time.perf_counter() - started)
        return result

    def read(self, work: Callable[[Tables], Result]) -> Result:
        try:
            return self._done(partial(self._look, work), repeatable=True)
        except _Given as given:
            raise given.refusal from given.__cause__

    def migrate(self) -> list[str]:
        try:
            with psycopg.connect(self._url, **_LIBPQ) as connection:
                self._set_clock(connection)
                session = _ServerSession(connection)
                session.run("SELECT pg_advisory_xact_lock(?)", MIGRATION_LOCK)
                return migrate(session, self.tables)
        except psycopg.Error as error:
            raise Failure(
                f"the database cannot be brought to this program's form: {self._words(error)}"
            ) from None

    def now(self) -> datetime:
        if not self._clock.is_set:
            with suppress(Refusal):  # the server is away: that has been said
                self.read(lambda tables: None)
        return self._clock.now()

    def _set_clock(self, connection: psycopg.Connection[Row]) -> None:
        asked = time.monotonic()
        ((told,),) = connection.execute("SELECT clock_timestamp()").fetchall()
        self._clock.set(told, asked)

    def fault(self) -> str:
        try:
            with WatchedConnection.connect(self._url, **_LIBPQ) as connection:
                reached(_ServerSession(connection))
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

    # -- transactions --------------------------------------------------------------------------

    def _done(
        self, transact: Callable[[WatchedConnection, bool], Result], *, repeatable: bool
    ) -> Result:
        """Try until it is done, or there is no time left. Raises _Given, and what ``transact``
        raises.

        ``transact`` is told whether it has failed so often that it is to take turns.
        """
        now = time.monotonic()
        is_away = now < self._away_until
        deadline = now + (IMPATIENCE_SECONDS if is_away else DATABASE_SECONDS)
        attempt = 0
        while True:
            attempt += 1
            try:
                with self._connection(deadline) as connection:
                    if is_away:
                        connection.knock(IMPATIENCE_SECONDS)
                        is_away, deadline = False, now + DATABASE_SECONDS
                    result = transact(connection, attempt > TOGETHER_ATTEMPTS)
            except (SerializationFailure, DeadlockDetected) as error:
                last: Exception = error  # it is known to be rolled back
            except UniqueViolation as error:  # the server may find the second of two equal rows before it sees the race
                if attempt == RACES:
                    raise  # it is no race
                last = error
            except _Unknown as error:
                last = error
                if not repeatable:
                    raise _Given(self._told(error, OUTCOME_UNKNOWN)) from error
            except PoolClosed as error:
                raise _Given(unavailable("the service is stopping")) from error
            except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
                last = error  # nothing was committed: COMMIT had not been sent
            else:
                self._away_until = 0.0
                return result
            if time.monotonic() >= deadline:
                if isinstance(last, PoolTimeout):
                    self._away_until = time.monotonic() + DATABASE_SECONDS
                raise _Given(self._told(last, "the database cannot be reached now")) from last

    def _look(
        self, work: Callable[[Tables], Result], connection: WatchedConnection, in_turn: bool
    ) -> Result:
        _begin(connection, IsolationLevel.REPEATABLE_READ, reads=True)
        return work(Tables(_ServerSession(connection), self.tables))

    def _act(
        self, work: Callable[[Tables], Result], connection: WatchedConnection, in_turn: bool
    ) -> Result:
        """Run an action in a transaction.

        A pipeline (libpq 34.5) sends BEGIN and what needs no answer on its way together: an
        opt-in takes two ways to the server instead of four. It ends before COMMIT is sent: what
        fails until then is known not to be kept.
        """
        _begin(connection, IsolationLevel.SERIALIZABLE, reads=False)
        with connection.pipeline():
            if in_turn:  # before the snapshot is taken, which is by the first query
                connection.execute(f"LOCK TABLE {STEPS_TABLE} IN SHARE ROW EXCLUSIVE MODE")
            result = work(Tables(_ServerSession(connection), self.tables))
        with _committing():
            connection.commit()
        return result

    @contextmanager
    def _connection(self, deadline: float) -> Iterator[WatchedConnection]:
        pool = self._pool()
        place = object()
        self._waiting[place] = time.monotonic()
        try:
            connection = pool.getconn(max(0.01, min(1.0, deadline - time.monotonic())))
        finally:
            del self._waiting[place]
        try:
            yield connection
        except _READ_ONLY as error:
            if connection.read_only and not connection.autocommit:
                raise  # it is the fault of who only looks
            connection.close()  # the next one may lead to a server that takes writes
            raise _Given(self._told(error, "the database cannot be written to now")) from error
        finally:
            if connection.fell_silent:
                self._away_until = time.monotonic() + DATABASE_SECONDS
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                with suppress(psycopg.Error):
                    connection.rollback()  # of what was not committed
            pool.putconn(connection)

    def _pool(self) -> Pool:
        """The pool, opened by the first who needs it: in the process that uses it."""
        pool = self._opened
        if pool is None:
            with self._opening:
                if self._closing:
                    raise PoolClosed
                if self._opened is None:
                    self._opened = self._made()
                pool = self._opened
        return pool

    def _made(self) -> Pool:
        logging.getLogger("psycopg.pool").addFilter(hide_users)
        return ConnectionPool(
            self._url,
            connection_class=WatchedConnection,
            kwargs={**_LIBPQ, "prepare_threshold": 0},
            min_size=1,
            max_size=self._connections,
            configure=self._configure,
            reconnect_timeout=RECONNECT_SECONDS,
            open=True,
        )

    def _configure(self, connection: WatchedConnection) -> None:
        connection.execute(_CONFIGURE)
        ((allowed,),) = connection.execute(_STATEMENT_TIMEOUT).fetchall()
        connection.patience = max(SERVER_SILENCE_SECONDS, allowed / 1000 + 1)
        self._set_clock(connection)
        connection.commit()

    def _words(self, error: Exception) -> str:
        """What an error says, in one line that shows neither user nor password."""
        return without_secrets(_line(error), self._url)

    def _told(self, error: Exception, reason: str) -> Exception:
        journal.error("database_unavailable", f"the database: {self._words(error)}")
        return unavailable(reason)


class _Given(Exception):
    """A transaction was given up, with the Refusal that says so."""

    def __init__(self, refusal: Exception) -> None:
        self.refusal = refusal


_PARENTS_POOLS: list[Pool] = []
"""Pools of a parent process, kept from being closed: that would end the parent's sessions."""


def _begin(connection: WatchedConnection, level: IsolationLevel, *, reads: bool) -> None:
    """What the transaction shall be that the next statement begins."""
    if connection.autocommit:
        connection.autocommit = False
    read_only = True if reads else None  # None: as the server has it, which may be a standby
    if connection.read_only is not read_only or connection.isolation_level is not level:
        connection.read_only = read_only
        connection.isolation_level = level


@contextmanager
def _committing() -> Iterator[None]:
    """While the server commits. Raises _Unknown where it may have done so."""
    try:
        yield
    except psycopg.Error as error:
        if _rolled_back(error):
            raise
        raise _Unknown(_line(error)) from error


def _rolled_back(error: psycopg.Error) -> bool:
    """Whether the server said that a transaction failed. That it ends itself (57P0x) it may say
    after a COMMIT.
    """
    state = error.sqlstate
    return state is not None and not state.startswith(("08", "57P", "58", "XX"))


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
