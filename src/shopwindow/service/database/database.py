"""A database by its URL, and what every engine does."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from shopwindow.interface.table import Result, Table, Tables
from shopwindow.problems import Failure, Fault, Refusal
from shopwindow.service.database.address import server_address, sqlite_path
from shopwindow.service.database.migrate import HOW_TO_MIGRATE, missing, reached
from shopwindow.service.database.tables import TablesByName, declared

RETRY_AFTER = (("Retry-After", "1"),)
DATABASE_SECONDS = 10.0
"""How long a request waits for a database that does not answer, before it is told to come
again.
"""

MAX_CONNECTIONS = 16
"""Connections of one process to a server, at most, unless something else is said."""


OUTCOME_UNKNOWN = "it is not known whether this was kept"
"""What a client is told whose transaction may have been committed or not."""


@dataclass(frozen=True)
class Load:
    """How busy a process's way to its database is.

    ``waiting``: actions that wait for the writer thread or for a connection, or are being
    written; ``oldest``: seconds that the first of them has waited; ``used`` and ``idle``:
    connections to a database server.
    """

    waiting: int = 0
    oldest: float = 0.0
    used: int = 0
    idle: int = 0


class Meter(Protocol):
    """What is reported of each transaction. Its methods never raise: a fault of a metric must
    cost no write.
    """

    def wrote(self, actions: int, seconds: float) -> None:
        """A transaction of so many actions was kept."""
        ...

    def failed(self, actions: int) -> None:
        """So many actions were not kept because the database could not keep them."""
        ...

    def restarted(self) -> None:
        """A writer thread had ended, and another one was started."""
        ...


@dataclass(frozen=True)
class Unmetered:
    """Nobody wants to know."""

    def wrote(self, actions: int, seconds: float) -> None:
        pass

    def failed(self, actions: int) -> None:
        pass

    def restarted(self) -> None:
        pass


class Database(Protocol):
    """The database of a service process. Its threads share it; after a fork the child has
    connections of its own.
    """

    @property
    def tables(self) -> TablesByName:
        """The tables that it was opened for, the engine's own among them, by their names."""
        ...

    def write(self, work: Callable[[Tables], Result], *, repeatable: bool = False) -> Result:
        """What ``work`` returns, once all that it wrote is durable. What it raises rolls back
        what it wrote.

        ``work`` may be called again where its transaction is known to be rolled back.
        ``repeatable``: it may also be called again after it may have been kept, because it
        finds out by itself. Raises Refusal ``unavailable`` where the database cannot keep it
        now.
        """
        ...

    def read(self, work: Callable[[Tables], Result]) -> Result:
        """What ``work`` returns, from one consistent state. Raises Refusal ``unavailable``."""
        ...

    def migrate(self) -> list[str]:
        """Bring the database to the form of its tables, all steps or none; the steps taken.
        Raises Failure.
        """
        ...

    def now(self) -> datetime:
        """The time by the database's clock, which all hosts share; by this host's, while the
        database is away.
        """
        ...

    def fault(self) -> str:
        """Why it cannot be used now, in words; empty where it can."""
        ...

    def load(self) -> Load:
        """How much waits in this process now."""
        ...

    def close(self) -> None:
        """Finish what waits, and let go. What is asked afterwards is refused."""
        ...


def lacking(database: Database) -> str:
    """What a database lacks for this program, in words. Raises Refusal ``unavailable``.

    A newer one lacks nothing: what an older program uses is never taken away.
    """
    try:
        steps = database.read(lambda tables: reached(tables.session))
    except Refusal:
        raise
    except (
        Exception
    ) as error:  # not even the table of steps; each engine says so with an exception of its own
        return f"{database.fault() or error}; {HOW_TO_MIGRATE}"
    behind = missing(steps, database.tables)
    return f"in the database {', '.join(behind)}; {HOW_TO_MIGRATE}" if behind else ""


def open_database(
    url: str,
    tables: Iterable[Table[Any]],
    meter: Meter | None = None,
    connections: int = MAX_CONNECTIONS,
) -> Database:
    """Return the database that a URL names: `sqlite:///path` or `postgresql://…`.

    Args:
        tables: what actions write there (Interface.tables). The engine's own tables are added.
        connections: to a server, at most.

    Raises:
        Failure: the address is none, or the database cannot be had.
    """
    named = declared(tables)
    if path := sqlite_path(url):
        from shopwindow.service.database.sqlite import SQLite

        return SQLite(path, named, meter or Unmetered())
    try:
        from shopwindow.service.database.postgresql import PostgreSQL
    except ModuleNotFoundError as error:
        install = "install shopwindow with the extra postgresql, as the README says"
        raise Failure(
            f"{error.name} is not installed, and PostgreSQL needs it: {install}"
        ) from None
    return PostgreSQL(server_address(url), named, meter or Unmetered(), connections)


def unavailable(reason: str) -> Refusal:
    """The database cannot be had now; the client may try again."""
    return Refusal("unavailable", (Fault("", reason),), RETRY_AFTER)
