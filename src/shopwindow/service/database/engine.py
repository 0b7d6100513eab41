"""The port of a database engine: four methods, by which SQLite and PostgreSQL differ.

`Database` (database.database) does the rest alike for both: who leads, what is tried
again, and who is refused.
"""

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from shopwindow.interface.declaring.table import Session
from shopwindow.problems import SERVICE, Fault, Refusal

DATABASE_SECONDS = 10.0
"""How long a request waits for its turn, and how long who leads tries. Both together end
before nginx gives up (edge.rules.SERVICE_TIMEOUT_SECONDS), so the client gets this
program's own response.
"""

RETRY_AFTER = (("Retry-After", "1"),)
"""The header of a response while a database cannot be used (RFC 9110 §10.2.3). One
second: a busy disk or a restarted server is soon back, and a refusal costs next to
nothing.
"""


def unavailable(reason: str) -> Refusal:
    """Return the refusal of a request that the client may repeat soon: no database can
    be used now.
    """
    return Refusal("unavailable", Fault(SERVICE, reason), headers=RETRY_AFTER)


class Lost(Exception):
    """A transaction that has failed as a whole, and is certain to be rolled back. The
    text says why.

    ``passes``: another try may succeed within seconds.
    """

    def __init__(self, error: object, *, passes: bool) -> None:
        one_line = " ".join(str(error).split())
        super().__init__(one_line or type(error).__name__)
        self.passes = passes


class OutcomeUnknown(Lost):
    """The exception to that: a COMMIT was sent and not answered, so the transaction may
    have been committed.
    """


class Transaction(Session, Protocol):
    """An open transaction. `run` raises Lost for an error that ends all of it, and the
    engine's own error for one that ends the action which runs the statement.

    ``failed``: the engine's error of the last statement that failed. An action may have
    hidden it.
    """

    failed: Exception | None


class Engine(Protocol):
    """What is different from engine to engine. ``until`` is the instant
    (time.monotonic) at which nobody waits any more.

    Connections are opened when they are first used, and again after a failure. `turn`
    and `reading` may raise Lost.
    """

    def turn(self, until: float) -> AbstractContextManager[Transaction]:
        """Wait for the right to write, which one process has at a time, and yield a
        transaction, which is committed at the end.

        Raises OutcomeUnknown.
        """

    def reading(self, until: float) -> AbstractContextManager[Session]:
        """Yield a transaction that only reads, from one state of the database."""

    def now(self) -> datetime:
        """Return the time by the clock that all processes share which use the database."""

    def close(self) -> None:
        """Close all connections."""
