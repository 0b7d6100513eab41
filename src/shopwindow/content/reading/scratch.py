"""A temporary folder below TMPDIR, with an error message that names a full disk.

TMPDIR may lie on another file system than the releases. The system's error often names
no file. An operator who then looked at the disk of the releases would find room there,
so the message here names TMPDIR.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shopwindow.problems import Failure, exhausted

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a full disk, and of a user who has used up a quota."""

SCRATCH_PREFIX = "shopwindow-"
"""How names of such folders begin."""

ADVICE = "nothing was done. Make room there, or set TMPDIR to another folder"


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield an empty folder below TMPDIR, which is removed when the block ends.

    Raises Failure where TMPDIR cannot be written to, or has no room for what the block
    writes into the folder.
    """
    parent = _parent()
    with (
        _named(parent, parent),  # a folder takes room, too
        tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX, dir=parent) as name,
        _named(parent, name),  # this one first: removing the folder makes room again
    ):
        yield Path(name)


def _parent() -> str:
    """Return TMPDIR, or the system's folder where it is not set.

    Raises Failure where nothing can be written to it. Python would silently go on to
    /tmp, to /var/tmp and at last to the current folder.
    """
    wanted = os.environ.get("TMPDIR")
    try:
        usable = tempfile.gettempdir()
    except FileNotFoundError:
        usable = ""
    if usable and (not wanted or os.path.abspath(wanted) == usable):
        return usable
    folder = wanted or "/tmp"  # nosec B108 # it is named, nothing is written to it
    reason = exhausted(folder) if os.path.isdir(folder) else "there is no such folder"
    reason = reason or "nothing can be written to it"
    raise Failure(f"TMPDIR, {folder}: {reason}; {ADVICE}")


@contextmanager
def _named(parent: str, folder: str) -> Iterator[None]:
    """Name TMPDIR, which is ``parent``, where ``folder`` in it has no room."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM or not _lies_in(error, folder):
            raise
        reason = exhausted(parent) or "it has no room for this user"
        raise Failure(f"TMPDIR, {parent}: {reason}; {ADVICE}") from error


def _lies_in(error: OSError, folder: str) -> bool:
    """Return whether an error of a full disk is about this folder.

    It is where the error names a file in it, or where it names no file and the folder
    has no room.
    """
    if error.filename is not None:
        return Path(str(error.filename)).is_relative_to(folder)
    return exhausted(folder) is not None
