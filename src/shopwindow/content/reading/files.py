"""One file of the content folder is read as text, or replaced."""

import errno
import os
import stat
from pathlib import Path
from tempfile import mkstemp

from shopwindow.content.reading import yaml
from shopwindow.content.reading.listing import UNREADABLE, Source
from shopwindow.content.reading.yaml import Malformed
from shopwindow.problems import Place

MAX_FILE = 32 * 1024 * 1024
"""Bytes of a YAML file, whose values and places are held in memory while it is read.
Larger sets of documents are feeds, which are read line by line.
"""

MAX_LINE = 1024 * 1024
"""Bytes of a line of a feed, which is one document."""

MAX_EMPTY_LINES = 100_000
"""Empty lines of a feed, which take as long as others to be read, and compress to
nothing: a megabyte may hold a thousand million of them.
"""

READ_MORE = 16 * 1024
"""Bytes of one more read, for a file that has grown since the folder was listed."""

_START = Place(1, 1, 1, 1)


def read_text(folder: Path, source: Source) -> str:
    """Return the text of a YAML file.

    Raises Malformed where it is too large, or cannot be read.
    """
    if source.size > MAX_FILE:
        found = f"the file holds {source.size:,} bytes"
        allowed = f"at most {MAX_FILE:,}; larger sets as a .jsonl feed"
        raise Malformed("tree.size", found, allowed, _START)
    if source.unsaved is not None:
        return yaml.decode(source.unsaved)
    try:
        return yaml.decode(_bytes(f"{folder}/{source.path}", source.size))
    except OSError as error:
        found = f"cannot be read: {error.strerror}"
        raise Malformed(UNREADABLE, found, "a readable file", _START) from None


def _bytes(path: str, size: int) -> bytes:
    """Return the bytes of a file, by system calls alone.

    A stream would double the time for small files. ``size``: the file's bytes when the
    folder was listed. One byte more is requested, which shows whether it has grown.
    """
    # A pipe has nothing to read without O_NONBLOCK, and is waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = os.read(descriptor, size + 1)
        while (
            len(data) > size
            and len(data) <= MAX_FILE
            and (more := os.read(descriptor, READ_MORE))
        ):
            data += more
        return data
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Put a file with these bytes and this mode in a file's place.

    Its bytes are on disk before the one rename, so that nobody ever reads half of it,
    also after a power cut. Raises OSError; then the file is as it was.
    """
    descriptor, name = mkstemp(".draft", f".{path.name}.", path.parent)
    draft = Path(name)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
