"""The port of a database: what every engine does, and how one is opened by its address.

`Database` is the protocol that SQLite, PostgreSQL and the stand-in for one that is out
of reach implement. The rest of the service knows this module and no engine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shopwindow.interface.table import Result, Tables
from shopwindow.problems import SERVICE, Fault, Refusal
from shopwindow.service.database.migrate import HOW_TO_MIGRATE, missing, reached
from shopwindow.service.database.tables import TablesByName

RETRY_AFTER = (("Retry-After", "1"),)
"""The header of a response while a database cannot be used (RFC 9110 §10.2.3). One
second: a busy disk or a restarted server is soon back, and a refusal costs next to
nothing.
"""

DATABASE_SECONDS = 10.0
"""How long a request waits for a database that does not answer, before it is refused.
nginx waits longer (edge.rules.SERVICE_TIMEOUT_SECONDS), so the client gets this
program's own response.
"""

MAX_CONNECTIONS = 16
"""Connections of one process to a server. Half of a worker's threads may so read at a
time, while one writes for all who wait. PostgreSQL admits 100 in all by default
(max_connections), which six workers share.
"""

OUTCOME_UNKNOWN = "it is not known whether this was kept"
"""The reason in a response where the transaction may have been committed or not."""


@dataclass(frozen=True)
class Load:
    """How much a process waits for its database.

    ``waiting`` counts the actions that wait for the writer thread or for a connection,
    or are being written; ``oldest`` is for how many seconds the first of them has
    waited. ``used`` and ``idle`` count connections to a database server.
    """

    waiting: int = 0
    oldest: float = 0.0
    used: int = 0
    idle: int = 0


class Meter(Protocol):
    """What is notified of each transaction.

    Its methods never raise: a broken metric must not make a write fail.
    """

    def wrote(self, actions: int, seconds: float) -> None:
        """Count a committed transaction of so many actions."""
        ...

    def failed(self, actions: int) -> None:
        """Count actions that are not stored, because the database could not store them."""
        ...

    def restarted(self) -> None:
        """Count a writer thread that had ended, and was replaced."""
        ...


@dataclass(frozen=True)
class Unmetered:
    """The Meter that counts nothing."""

    def wrote(self, actions: int, seconds: float) -> None:
        pass

    def failed(self, actions: int) -> None:
        pass

    def restarted(self) -> None:
        pass


class Database(Protocol):
    """The database of a process, shared by its threads.

    After a fork, the child has connections of its own.
    """

    @property
    def tables(self) -> TablesByName:
        """The tables that it was opened for, the engine's own among them."""
        ...

    def write(
        self, work: Callable[[Tables], Result], *, repeatable: bool = False
    ) -> Result:
        """Run ``work`` in a transaction, and return what it returns once its writes are
        durable.

        What ``work`` raises rolls its writes back, and is raised here. ``work`` is
        called again where its transaction is certain to be rolled back. With
        ``repeatable`` it is also called again where its transaction may have been
        committed: such work does no harm the second time.

        Raises Refusal ``unavailable`` where the database cannot store anything now.
        """
        ...

    def read(self, work: Callable[[Tables], Result]) -> Result:
        """Return what ``work`` returns, from one consistent state of the database.

        Raises Refusal ``unavailable``.
        """
        ...

    def migrate(self) -> list[str]:
        """Bring the database to the form of its tables: all steps or none. Return those
        taken.

        Raises Failure.
        """
        ...

    def now(self) -> datetime:
        """Return the time by the database's clock, which all hosts share.

        It is this host's time while the database is out of reach.
        """
        ...

    def fault(self) -> str:
        """Return why the database cannot be used now, in words; empty where it can."""
        ...

    def load(self) -> Load:
        """Return how much waits in this process now."""
        ...

    def close(self) -> None:
        """Finish what waits, and close all connections. Later requests are refused."""
        ...


def lacking(database: Database) -> str:
    """Return what a database lacks for this program, in words; empty where it lacks
    nothing.

    A newer database lacks nothing, for steps never take away what an older program
    uses.

    Raises Refusal ``unavailable``.
    """
    try:
        steps = database.read(lambda tables: reached(tables.session))
    except Refusal:
        raise
    except Exception as error:
        # not even the table of steps is there, which each engine reports with its own
        # exception
        return f"{database.fault() or error}; {HOW_TO_MIGRATE}"
    behind = missing(steps, database.tables)
    return f"in the database {', '.join(behind)}; {HOW_TO_MIGRATE}" if behind else ""


def unavailable(reason: str) -> Refusal:
    """Return the refusal of a request that the client may repeat soon: no database can
    be used now.
    """
    return Refusal("unavailable", (Fault(SERVICE, reason),), RETRY_AFTER)
