"""A transaction on PostgreSQL: how it begins, what it runs, and whether it was committed."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from psycopg import IsolationLevel

from shopwindow.interface.table import Row
from shopwindow.service.database.postgresql_connection import WatchedConnection


class OutcomeUnknown(Exception):
    """The connection broke during a COMMIT: the transaction may have been committed."""


@cache
def _translated(sql: str) -> bytes:
    """Return a table's statement in PostgreSQL's form, with psycopg's placeholders.

    No statement of a table holds `?` or `%` for anything else (interface.table.Step).
    WITHOUT ROWID says how SQLite stores the rows; PostgreSQL has no such clause.
    """
    return sql.replace("?", "%s").removesuffix(" WITHOUT ROWID").encode()


@cache
def _gives_rows(sql: str) -> bool:
    """Return whether a statement returns rows."""
    return sql.startswith("SELECT") or "RETURNING" in sql


class ServerSession:
    """An open transaction on one connection (interface.table.Session).

    Within a pipeline, a statement that returns no rows is sent along with the next one,
    and its error is raised then.
    """

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def run(self, sql: str, *values: Any) -> list[Row]:
        cursor = self._connection.execute(_translated(sql), values)
        return cursor.fetchall() if _gives_rows(sql) else []


def begin(connection: WatchedConnection, level: IsolationLevel, *, reads: bool) -> None:
    """Set how the next statement begins a transaction."""
    if connection.autocommit:
        connection.autocommit = False
    # None: the server's default, since the server may be a standby.
    read_only = True if reads else None
    if connection.read_only is not read_only or connection.isolation_level is not level:
        connection.read_only = read_only
        connection.isolation_level = level


@contextmanager
def committing() -> Iterator[None]:
    """Raise OutcomeUnknown for a COMMIT that failed and may have been carried out."""
    try:
        yield
    except psycopg.Error as error:
        if _rolled_back(error):
            raise
        raise OutcomeUnknown(one_line(error)) from error


def _rolled_back(error: psycopg.Error) -> bool:
    """Return whether an error proves that the transaction was rolled back.

    Its SQLSTATE decides (the manual, appendix A). Errors of the connection (08), of the
    system (58) and internal ones (XX) prove nothing. Neither does a shutdown of the
    server (57P), which it may report after it has committed.
    """
    state = error.sqlstate
    return state is not None and not state.startswith(("08", "57P", "58", "XX"))


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
