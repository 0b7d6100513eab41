"""PostgreSQL: a pool of connections; a transaction is repeated where the database asks for it."""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from vitrine.problems import Failure
from vitrine.service.sql.database import Result, unavailable
from vitrine.service.sql.migrate import migrate
from vitrine.service.sql.session import Row
from vitrine.service.sql.shop import Shop

ATTEMPTS = 5
PATIENCE_SECONDS = 10.0
MIGRATION_LOCK = 0x76697472
"""Of `pg_advisory_xact_lock`: one program migrates at a time."""


@cache
def _spelt(sql: str) -> str:
    """A statement with psycopg's placeholders; none of ours holds `?` or `%` for anything else."""
    return sql.replace("?", "%s")


class _Session:
    """The port Session on one connection."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def run(self, sql: str, *values: Any) -> list[Row]:
        cursor = self._connection.execute(_spelt(sql), values)
        return cursor.fetchall() if cursor.description else []


class PostgreSQL:
    """The port Database on a server."""

    def __init__(self, url: str, connections: int = 8) -> None:
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            url, min_size=1, max_size=connections, open=True, timeout=PATIENCE_SECONDS
        )

    def write(self, work: Callable[[Shop], Result]) -> Result:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._pool.connection() as connection:
                    return work(Shop(_Session(connection)))
            except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as error:
                if attempt == ATTEMPTS:
                    raise self._unavailable(error) from error
            except (psycopg.OperationalError, PoolTimeout) as error:
                raise self._unavailable(error) from error
        raise AssertionError("not reached")

    def read(self, work: Callable[[Shop], Result]) -> Result:
        return self.write(work)

    def migrate(self) -> list[str]:
        try:
            with self._pool.connection() as connection:
                session = _Session(connection)
                session.run("SELECT pg_advisory_xact_lock(?)", MIGRATION_LOCK)
                return migrate(session)
        except (psycopg.Error, PoolTimeout) as error:
            raise Failure(f"the database cannot be brought to this program's form: {error}") from None

    def close(self) -> None:
        self._pool.close()

    def _unavailable(self, error: Exception) -> Exception:
        print(f"vitrine: the database: {error}", file=sys.stderr, flush=True)
        return unavailable("the store cannot be reached now")
