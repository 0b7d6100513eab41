"""The mobile log's writer: each request appends its lines and brings them to the disk; files
are rotated.

Threads and processes take turns by a lock file, for as long as an append takes. A request opens
the log for itself, because Linux reports a failed write-back once to each open file: with a
shared one, the first of two requests that sync at once would learn of the failure, and the
second would promise what is lost (fsync(2), errseq_t).
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.interface.running import LogKeeping
from shopwindow.problems import Fault, Refusal
from shopwindow.service import journal, metrics

CURRENT, LOCK = "mobile.log", "mobile.lock"

_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC

_TAIL = 64 * 1024
"""Bytes that are looked at together for the end of the last whole line: more than most lines
have.
"""

_NOT_KEPT = (Fault("", "the mobile log cannot be written to now"),)
_LATER = (("Retry-After", "5"),)


class LogFile:
    """The port LogWriter (interface.running) on `mobile.log` in a folder; older files stand
    beside it by their end.

    The modification time of the lock file is when the current file was begun.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / CURRENT
        self._doubtful: os.stat_result | None = None

    def write(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        data = "".join([f"{line}\n" for line in lines]).encode()
        try:
            self._keep(data, keeping)
        except OSError as error:
            journal.error("log_unavailable", f"{self._path}: {error.strerror}")
            metrics.count_log_failure()
            raise Refusal("unavailable", _NOT_KEPT, _LATER) from error
        metrics.count_log_lines(len(lines))

    def count_refused(self, application: str, reason: str, number: int) -> None:
        metrics.count_log_refused(application, reason, number)

    def _keep(self, data: bytes, keeping: LogKeeping) -> None:
        with _turn(self._folder) as lock:
            file = self._append(data, keeping, lock)
        try:
            if keeping.durable:  # after the turn: others may append meanwhile, and the disk syncs for several at once
                self._bring_to_disk(file)
        finally:
            os.close(file)

    def _append(self, data: bytes, keeping: LogKeeping, lock: int) -> int:
        """Add whole lines to the current file, or nothing; the opened file."""
        file = self._open()
        try:
            size = _repaired(file)
            if size and self._is_full(file, size + len(data), keeping, lock):
                os.rename(self._path, self._ended())
                begun = self._open()
                os.close(file)
                file, size = begun, 0
            if not size:
                os.utime(lock)
                _bring_folder_to_disk(self._folder)
            try:
                _write(file, data)
            except OSError:
                os.ftruncate(file, size)
                raise
        except BaseException:
            os.close(file)
            raise
        return file

    def _open(self) -> int:
        return os.open(self._path, _OPEN | os.O_APPEND, 0o640)

    def _is_full(self, file: int, size: int, keeping: LogKeeping, lock: int) -> bool:
        """Whether a new file is begun instead of growing this one to so many bytes."""
        begun = os.fstat(lock).st_mtime
        is_old = time.time() - begun > keeping.max_seconds
        is_doubtful = self._doubtful is not None and os.path.samestat(
            self._doubtful, os.fstat(file)
        )
        return is_old or is_doubtful or size > keeping.max_bytes

    def _ended(self) -> Path:
        """A name that is free for a file that ends now."""
        while True:
            now = datetime.now(UTC)
            path = self._folder / f"mobile-{now:%Y%m%dT%H%M%S}.{now.microsecond:06}Z.log"
            if not path.exists():
                return path

    def _bring_to_disk(self, file: int) -> None:
        """Once this has failed nobody knows what of the file is on disk, and no later success
        says: begin another.
        """
        try:
            os.fdatasync(file)
        except OSError:
            self._doubtful = os.fstat(file)
            raise


def prune(folder: Path, before: datetime) -> list[Path]:
    """Delete the log files that were last written to before an instant, the current one, too;
    those deleted.
    """
    if not folder.is_dir():
        return []
    limit, deleted = before.timestamp(), []
    with _turn(folder):
        for path in sorted(folder.glob("mobile*.log")):
            found = path.stat()
            if found.st_mtime < limit and (path.name != CURRENT or found.st_size):
                path.unlink()
                deleted.append(path)
        _bring_folder_to_disk(folder)
    return deleted


@contextmanager
def _turn(folder: Path) -> Iterator[int]:
    """The right to change the log, which one thread of one process has at a time: the opened
    lock file.
    """
    lock = _open_lock(folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        while not _is_at(
            folder / LOCK, os.fstat(lock)
        ):  # somebody deleted it: others lock another one
            another = _open_lock(folder)
            os.close(lock)
            lock = another
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)  # which ends the turn


def _open_lock(folder: Path) -> int:
    try:
        return os.open(folder / LOCK, _OPEN, 0o640)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / LOCK, _OPEN, 0o640)


def _is_at(path: Path, opened: os.stat_result) -> bool:
    """Whether a file that was opened is the one that is there now."""
    try:
        return os.path.samestat(os.stat(path), opened)
    except FileNotFoundError:
        return False


def _repaired(file: int) -> int:
    """The size of a file, once a half line at its end is cut off: its writer was killed, and
    told nobody of it.
    """
    size = os.fstat(file).st_size
    if not size or os.pread(file, 1, size - 1) == b"\n":
        return size
    end = size
    while end:
        start = max(0, end - _TAIL)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    os.ftruncate(file, end)
    return end


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _bring_folder_to_disk(folder: Path) -> None:
    """A new or renamed file is there after a power failure once its folder is on disk
    (fsync(2)).
    """
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
