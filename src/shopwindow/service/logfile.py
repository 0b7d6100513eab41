"""The mobile log: each request appends lines and syncs them to the disk; files rotate.

How this works. Threads and processes take turns by a lock file, for as long as an
append takes. The sync to the disk comes after the turn, so that others can append
meanwhile and one sync serves several of them.

Each request opens the log for itself. Linux reports a failed write-back once to each
open file. With a shared one, the first of two requests that sync at once would receive
the failure, and the second would promise lines that are lost (fsync(2), errseq_t).

No line is ever half there for long: what a full disk left of an append is cut off at
once, and what a killed writer left is cut off by the next append.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.interface.declaring.operation import LogKeeping
from shopwindow.problems import SERVICE, Fault, Refusal
from shopwindow.release.durable import synchronize
from shopwindow.service import journal, metrics

CURRENT_LOG, LOCK = "mobile.log", "mobile.lock"

_OPEN_FLAGS = os.O_RDWR | os.O_CREAT

_TAIL = 4096
"""Bytes that are read at once in search of the last line's end, which is usually the
last of them.
"""

_LOG_RETRY_AFTER = (("Retry-After", "5"),)
"""Seconds. A fault of a disk, such as too little room, rarely passes sooner."""


class LogFile:
    """The port LogWriter (interface.declaring.operation) on `mobile.log` in a folder.

    Older files stand beside it, each named by the time at which it ended. The
    modification time of the lock file is the time at which the current file was begun.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / CURRENT_LOG
        self._doubtful = 0  # the inode of a file that could not be synced

    def write(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        """Append lines, and return when they are stored. Raises Refusal if they cannot
        be.
        """
        data = "".join([f"{line}\n" for line in lines]).encode()
        try:
            self._store(data, keeping)
        except OSError as error:
            journal.error("log_unavailable", f"{self._path}: {error.strerror}")
            metrics.count_log_failure()
            fault = Fault(SERVICE, "the mobile log cannot be written to now")
            raise Refusal("unavailable", fault, headers=_LOG_RETRY_AFTER) from error
        metrics.count_log_lines(len(lines))

    count_refused = staticmethod(metrics.count_log_refused)
    """Counts entries that an operation did not admit."""

    def _store(self, data: bytes, keeping: LogKeeping) -> None:
        """Append in a turn, and sync after it: others may append meanwhile."""
        with ExitStack() as opened:
            with _turn(self._folder) as lock:
                file = self._open(opened)
                size = _cut_half_line(file)
                if size and self._is_full(file, size + len(data), keeping, lock):
                    os.rename(self._path, self._name_of_ended())
                    file, size = self._open(opened), 0
                if not size:
                    os.utime(lock)
                    synchronize(self._folder)
                _append(file, data, size)
            try:
                if keeping.durable:
                    os.fdatasync(file)
            except OSError:
                # Nobody can know what of the file is on the disk now, even if a later
                # sync succeeds. So the next append begins another file.
                self._doubtful = os.fstat(file).st_ino
                raise

    def _open(self, opened: ExitStack) -> int:
        file = os.open(self._path, _OPEN_FLAGS | os.O_APPEND, 0o640)
        opened.callback(os.close, file)
        return file

    def _is_full(self, file: int, size: int, keeping: LogKeeping, lock: int) -> bool:
        """Return whether a new file must begin, instead of this one growing to
        ``size``.
        """
        begun = os.fstat(lock).st_mtime
        is_old = time.time() - begun > keeping.max_seconds
        is_doubtful = os.fstat(file).st_ino == self._doubtful
        return is_old or is_doubtful or size > keeping.max_bytes

    def _name_of_ended(self) -> Path:
        """Return a free name for a file that ends now."""
        while True:
            now = datetime.now(UTC)
            path = self._folder / f"mobile-{now:%Y%m%dT%H%M%S.%fZ}.log"
            if not path.exists():
                return path


def prune(folder: Path, before: datetime) -> list[Path]:
    """Delete the log files that were last written before an instant, and return their
    paths.

    The current file is deleted as well. Raises OSError.
    """
    if not folder.is_dir():
        return []
    limit, deleted = before.timestamp(), []
    with _turn(folder):
        for path in sorted(folder.glob("mobile*.log")):
            if path.stat().st_mtime < limit:
                path.unlink()
                deleted.append(path)
        synchronize(folder)
    return deleted


@contextmanager
def _turn(folder: Path) -> Iterator[int]:
    """Wait for the turn to change the log, which one thread of one process has at a
    time.

    Makes the folder, and yields the opened lock file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / LOCK, _OPEN_FLAGS, 0o640)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)  # this ends the turn


def _cut_half_line(file: int) -> int:
    """Cut off a half line at a file's end, and return the file's size.

    Its writer was killed, so no client has been promised that line.
    """
    size = end = os.fstat(file).st_size
    while end:
        start = max(0, end - _TAIL)
        length = os.pread(file, end - start, start).rfind(b"\n") + 1
        end = start + length
        if length:
            break
    if end < size:
        os.ftruncate(file, end)
    return end


def _append(file: int, data: bytes, size: int) -> None:
    """Add all of ``data`` to a file of a size, or nothing."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise
