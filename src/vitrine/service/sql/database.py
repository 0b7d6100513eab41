"""A database by its URL, and what every engine does."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from vitrine.problems import Failure, Fault, Refusal
from vitrine.service.sql.shop import Shop

Result = TypeVar("Result")
RETRY_AFTER = (("Retry-After", "1"),)


class Database(Protocol):
    """The store of a service process. Its threads share it."""

    def write(self, work: Callable[[Shop], Result]) -> Result:
        """What ``work`` returns, once all that it wrote is durable. What it raises rolls back what it wrote.

        ``work`` may be called again where the transaction has to be repeated. Raises Refusal ``unavailable`` where
        the database cannot keep it.
        """
        ...

    def read(self, work: Callable[[Shop], Result]) -> Result:
        """What ``work`` returns, from one consistent state."""
        ...

    def migrate(self) -> list[str]:
        """Bring the database to this program's form; the steps taken. Raises Failure."""
        ...

    def close(self) -> None:
        """Finish what waits, and let go."""
        ...


def open_database(url: str) -> Database:
    """The database that a URL names: `sqlite:///path` or `postgresql://…`. Raises Failure."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite" and not parts.netloc and parts.path.strip("/"):
        from vitrine.service.sql.sqlite import SQLite

        return SQLite(Path(unquote(parts.path.removeprefix("/"))))
    if parts.scheme in ("postgresql", "postgres"):
        from vitrine.service.sql.postgresql import PostgreSQL

        return PostgreSQL(url)
    raise Failure(f"--database {url}: must be sqlite:///PATH (sqlite:////PATH for one from the root) or postgresql://…")


def unavailable(reason: str) -> Refusal:
    """The store cannot be had now; the client may try again."""
    return Refusal("unavailable", (Fault("", reason),), RETRY_AFTER)
