"""A database by its URL, and what every engine does."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from vitrine.problems import Failure, Fault, Refusal
from vitrine.service.sql.migrate import HOW_TO_MIGRATE, steps
from vitrine.service.sql.shop import Shop

Result = TypeVar("Result")
RETRY_AFTER = (("Retry-After", "1"),)
PATIENCE_SECONDS = 10.0
"""How long a request waits for a database that does not answer, before it is told to come again."""

CONNECTIONS = 16
"""Connections of one process to a server, at most, unless something else is said."""


class Meter(Protocol):
    """What is told of each transaction."""

    def wrote(self, actions: int, seconds: float) -> None:
        """A transaction of so many actions was kept."""
        ...

    def failed(self, actions: int) -> None:
        """So many actions were not kept because the database could not keep them."""
        ...


@dataclass(frozen=True)
class Unmetered:
    """Nobody wants to know."""

    def wrote(self, actions: int, seconds: float) -> None:
        pass

    def failed(self, actions: int) -> None:
        pass


class Database(Protocol):
    """The store of a service process. Its threads share it; after a fork the child has connections of its own."""

    def write(self, work: Callable[[Shop], Result], *, repeatable: bool = False) -> Result:
        """What ``work`` returns, once all that it wrote is durable. What it raises rolls back what it wrote.

        ``work`` may be called again where its transaction is known to be rolled back, and once before it has one:
        what it asks for is then not run, and where it only adds rows that is all that is needed (sql.adding).
        ``repeatable``: it may also be called again after it may have been kept, because it finds out by itself. Raises
        Refusal ``unavailable`` where the database cannot keep it now.
        """
        ...

    def read(self, work: Callable[[Shop], Result]) -> Result:
        """What ``work`` returns, from one consistent state. Raises Refusal ``unavailable``."""
        ...

    def migrate(self) -> list[str]:
        """Bring the database to this program's form; the steps taken. Raises Failure."""
        ...

    def fault(self) -> str:
        """Why it cannot be used now, in words; empty where it can."""
        ...

    def close(self) -> None:
        """Finish what waits, and let go. What is asked afterwards is refused."""
        ...


def lacking(database: Database) -> str:
    """What a database lacks for this program, in words. Raises Refusal ``unavailable``.

    A newer one lacks nothing: what an older program uses is never taken away.
    """
    needed = steps()[-1][0]
    try:
        number = database.read(lambda shop: shop.reached())
    except Refusal:
        raise
    except Exception as error:  # not even the table of steps; each engine says so with an exception of its own
        return f"{database.fault() or error}; {HOW_TO_MIGRATE}"
    return "" if number >= needed else f"the store is at step {number}, this program needs {needed}; {HOW_TO_MIGRATE}"


def open_database(url: str, meter: Meter | None = None, connections: int = CONNECTIONS) -> Database:
    """The database that a URL names: `sqlite:///path` or `postgresql://…`. Raises Failure.

    ``connections``: to a server, at most.
    """
    if path := sqlite_path(url):
        from vitrine.service.sql.sqlite import SQLite

        return SQLite(path, meter or Unmetered())
    try:
        from vitrine.service.sql.postgresql import PostgreSQL
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed; PostgreSQL needs `pip install 'vitrine[postgresql]'`"
        raise Failure(message) from None
    return PostgreSQL(url, meter or Unmetered(), connections)


def sqlite_path(url: str) -> Path | None:
    """The file that a URL names; None where it names a server. Raises Failure for what is neither.

    A link is followed: by whatever name a store is known, there is one place for its locks.
    """
    parts = urlsplit(url)
    if parts.scheme in ("postgresql", "postgres"):
        if not url[len(parts.scheme) :].startswith("://"):  # the rest may hold a password
            raise Failure(f"--database {parts.scheme}:…: must be {parts.scheme}://…")
        return None
    if parts.scheme == "sqlite" and ("?" in url or "#" in url):
        raise Failure(f"--database {url}: has no parts after ? or #; in the name of a file they are %3F and %23")
    if parts.scheme == "sqlite" and not parts.netloc and parts.path.strip("/"):
        return Path(os.path.realpath(unquote(parts.path.removeprefix("/"))))
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # it may hold a password
    raise Failure(
        f"--database {shown}: must be sqlite:///PATH (sqlite:////PATH for one from the root) or postgresql://…"
    )


def unavailable(reason: str) -> Refusal:
    """The store cannot be had now; the client may try again."""
    return Refusal("unavailable", (Fault("", reason),), RETRY_AFTER)
