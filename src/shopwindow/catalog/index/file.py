"""SQLite files of a catalog's build: how they are written, and how a finished one is
opened.
"""

import errno
import fcntl
import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

INDEX_FORMAT = 8
"""The format of catalog.sqlite; a reader refuses any other."""

PAGE_SIZE = 16384
"""Bytes of a page of the file, where SQLite's own default is 4096.

Documents and columns are long, and a value that does not fit on its page continues on a
chain of others: the larger the pages, the shorter the chains. Any size that SQLite
allows works as well, but another one changes the bytes of every catalog.
"""

SETTINGS = f"""
PRAGMA page_size={PAGE_SIZE};
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA locking_mode=EXCLUSIVE;
PRAGMA cache_size=-65536;
"""
"""How a file is written. It has no journal and does not sync: a build that crashes starts
again.
"""

CLONE = 0x40049409
"""Linux's FICLONE: the blocks of one file become those of another (ioctl_ficlone(2))."""

COPIED_AT_ONCE = 1 << 24
"""Bytes that the system copies at a time where blocks cannot be shared; in between, a
signal is noticed.
"""


def writing(path: Path, script: str) -> sqlite3.Connection:
    """Open a database that is new, or a copy of a finished one. Run a script, and return
    the connection in a transaction.
    """
    connection = sqlite3.connect(
        path.absolute().as_uri(), uri=True, isolation_level=None
    )
    connection.executescript(SETTINGS + script + "BEGIN")
    return connection


def copied(source: BinaryIO, target: Path) -> None:
    """Copy an open file. A file system that can shares the bytes of both until one
    changes.
    """
    with open(target, "xb") as new:
        try:
            fcntl.ioctl(new.fileno(), CLONE, source.fileno())
        except OSError:  # the file system cannot, or the two lie on different ones
            position = 0  # not that of the file, which others may read
            numbers = new.fileno(), source.fileno()
            while sent := os.sendfile(*numbers, position, COPIED_AT_ONCE):
                position += sent


def reading(path: Path) -> sqlite3.Connection:
    """Open a file that nobody changes any more, without locks."""
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True)


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Raise OSError, as other files do, where SQLite cannot write one."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(_errno(error), str(error), str(path)) from error


def _errno(error: sqlite3.Error) -> int:
    """Return the system's number for what kept SQLite from writing.

    SQLite says only that the file did not grow, or that a write came to nothing. If the
    process has a limit for the size of files, that limit is taken for the reason.
    """
    code = error.sqlite_errorcode
    is_limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    if is_limited and code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE):
        return errno.EFBIG
    return errno.ENOSPC if code == sqlite3.SQLITE_FULL else errno.EIO
