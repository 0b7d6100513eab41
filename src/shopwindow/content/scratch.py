"""A folder for what a command needs for a while, below TMPDIR; a full one is called by
its name.

It may lie on another file system than the releases. An error of the system often names
no file, and whoever looked at the releases' disk then would find room there.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shopwindow.problems import Failure, exhausted

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
ADVICE = "nothing was done. Make room there, or set TMPDIR to another folder"


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder, removed at the end. Raises Failure where it has no room for what
    is written into it.
    """
    parent = _parent()
    try:
        with tempfile.TemporaryDirectory(prefix="shopwindow-", dir=parent) as name:
            try:
                yield Path(name)
            except (
                OSError
            ) as error:  # before the folder is removed, and there is room again
                if error.errno in NO_ROOM and _lies_in(error, name):
                    raise _failure(parent, error) from error
                raise
    except OSError as error:
        if error.errno in NO_ROOM and _lies_in(error, parent):
            raise _failure(parent, error) from error
        raise


def _parent() -> str:
    """TMPDIR, or the system's folder where it is not set. Raises Failure where nothing
    can be written to it.

    Python passes on to /tmp, /var/tmp and at last to the current folder, without a
    word.
    """
    wanted = os.environ.get("TMPDIR")
    try:
        usable = tempfile.gettempdir()
    except FileNotFoundError:
        usable = ""
    if usable and (not wanted or os.path.abspath(wanted) == usable):
        return usable
    folder = wanted or "/tmp"  # nosec B108 # it is named, nothing is written to it
    what = exhausted(folder) if os.path.isdir(folder) else "there is no such folder"
    raise Failure(
        f"TMPDIR, {folder}: {what or 'nothing can be written to it'}; {ADVICE}"
    )


def _lies_in(error: OSError, folder: str) -> bool:
    """Whether a lack of room is this folder's: the error names a file in it, or no
    file, and the folder has no room.
    """
    if error.filename is not None:
        return Path(str(error.filename)).is_relative_to(folder)
    return exhausted(folder) is not None


def _failure(parent: str, error: OSError) -> Failure:
    what = exhausted(parent) or "it has no room for this user"
    return Failure(f"TMPDIR, {parent}: {what}; {ADVICE}")
