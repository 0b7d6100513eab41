"""SQLite files: how the catalog's build writes them, and how one is opened that nobody changes
any more.
"""

import sqlite3
from pathlib import Path

PAGE_SIZE = 16384

_VERSION = slice(96, 100)
"""Where a file says which SQLite wrote it last (SQLite's file format, 1.3)."""


def create(path: Path, script: str, old: Path | None = None) -> sqlite3.Connection:
    """A new database, in a transaction, without what would save it from a crash; it knows the
    file ``old`` as `old`.
    """
    connection = sqlite3.connect(path.absolute().as_uri(), uri=True, isolation_level=None)
    for pragma in (
        f"page_size={PAGE_SIZE}",
        "journal_mode=OFF",
        "synchronous=OFF",
        "locking_mode=EXCLUSIVE",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA cache_size=-65536")
    connection.executescript(script)
    if old:
        connection.execute("ATTACH ? AS old", (_unchanging(old),))
    connection.execute("BEGIN")
    return connection


def reading(path: Path) -> sqlite3.Connection:
    """A file that nobody changes, without locks."""
    return sqlite3.connect(_unchanging(path), uri=True)


def _unchanging(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro&immutable=1"


def written_here(path: Path) -> bool:
    """Whether this version of SQLite wrote a file: another may lay out the same rows otherwise.
    Raises OSError.
    """
    with open(path, "rb") as file:
        written_by = int.from_bytes(file.read(100)[_VERSION], "big")
    major, minor, patch = sqlite3.sqlite_version_info
    return written_by == major * 1_000_000 + minor * 1000 + patch
