"""SQLite files of a catalog's build: how they are written, and how a finished one is
opened.
"""

import fcntl
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INDEX_FORMAT = 6
"""The format of catalog.sqlite; a reader refuses any other."""

PAGE_SIZE = 16384
"""Bytes of a page of the file, where SQLite's own default is 4096.

Documents and columns are long, and a value that does not fit on its page continues on a
chain of others: the larger the pages, the shorter the chains. Any size that SQLite
allows works as well, but another one changes the bytes of every catalog.
"""

CLONE = 0x40049409
"""Linux's FICLONE: the blocks of one file become those of another (ioctl_ficlone(2))."""

COPIED_AT_ONCE = 1 << 20
"""Bytes that are copied at a time where blocks cannot be shared."""

_VERSION = slice(96, 100)
"""Where a file says which SQLite wrote it last (SQLite's file format, 1.3)."""


def create(path: Path, script: str) -> sqlite3.Connection:
    """Create a database, and return a connection that is in a transaction.

    It has no journal and does not sync: a build that crashes starts again.
    """
    connection = sqlite3.connect(
        path.absolute().as_uri(), uri=True, isolation_level=None
    )
    for pragma in (
        f"page_size={PAGE_SIZE}",
        "journal_mode=OFF",
        "synchronous=OFF",
        "locking_mode=EXCLUSIVE",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA cache_size=-65536")
    connection.executescript(script)
    connection.execute("BEGIN")
    return connection


def copied(source: Path, target: Path) -> None:
    """Copy a file. A file system that can shares the bytes of both until one changes."""
    with open(source, "rb") as old, open(target, "xb") as new:
        try:
            fcntl.ioctl(new.fileno(), CLONE, old.fileno())
        except OSError:  # the file system cannot, or the two lie on different ones
            shutil.copyfileobj(old, new, COPIED_AT_ONCE)


def opened_for_changes(path: Path, beside: Path) -> sqlite3.Connection:
    """Open a copy of a finished file, in a transaction. Statements know the new file
    ``beside`` as `compared`.

    Neither has a journal: what crashes, or is given up, is deleted.
    """
    connection = sqlite3.connect(
        path.absolute().as_uri(), uri=True, isolation_level=None
    )
    connection.execute("ATTACH ? AS compared", (beside.absolute().as_uri(),))
    for schema in ("main", "compared"):
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-65536"):
            connection.execute(f"PRAGMA {schema}.{pragma}")
    connection.execute("BEGIN")
    return connection


def reading(path: Path) -> sqlite3.Connection:
    """Open a file that nobody changes any more, without locks."""
    return sqlite3.connect(_unchanging(path), uri=True)


@contextmanager
def attached(connection: sqlite3.Connection, path: Path, name: str) -> Iterator[None]:
    """In a block, let statements read a file that nobody changes any more, by a name.

    The connection is in no transaction when the block ends.
    """
    connection.execute(f"ATTACH ? AS {name}", (_unchanging(path),))
    yield
    connection.execute(f"DETACH {name}")


def _unchanging(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro&immutable=1"


def sqlite_that_wrote(path: Path) -> str:
    """Return the version of SQLite that last wrote a file, such as "3.40.1".

    Raises OSError.
    """
    with open(path, "rb") as file:
        number = int.from_bytes(file.read(100)[_VERSION], "big")
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"
