"""The mobile log's writer: what waits in a process goes into one write and one fdatasync; processes take turns."""

import fcntl
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from vitrine.interface.ports import LogKeeping
from vitrine.problems import Fault, Refusal
from vitrine.service.gathering import Gathering
from vitrine.service.metrics import LOG_FAILURES, LOG_LINES, LOG_REFUSED

CURRENT, LOCK = "mobile.log", "mobile.lock"
TOGETHER = 4 << 20
"""Bytes after which no more is taken into one write."""

_TAIL = 64 * 1024
_NOT_KEPT = (Fault("", "the mobile log cannot be written to now"),)
_LATER = (("Retry-After", "5"),)


class _Waiting:
    """Lines that wait; afterwards, whether they are ``kept``."""

    __slots__ = ("data", "keeping", "kept", "number")

    def __init__(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        self.data = "".join([f"{line}\n" for line in lines]).encode()
        self.number = len(lines)
        self.keeping = keeping
        self.kept = False


def _fits(batch: Sequence[_Waiting], another: _Waiting) -> bool:
    most = min(TOGETHER, batch[0].keeping.max_bytes)
    return sum(len(waiting.data) for waiting in batch) + len(another.data) <= most


class LogFile:
    """The port LogWriter (interface.ports) on `mobile.log` in a folder; older files stand beside it by their end.

    The modification time of the lock file is when the current file was begun.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / CURRENT
        self._forget()
        os.register_at_fork(after_in_child=self._forget)  # a lock that a fork inherits keeps nobody out

    def _forget(self) -> None:
        self._gathering = Gathering(self._write_together, _fits)
        self._lock: int | None = None
        self._file: int | None = None
        self._is_doubtful = False

    def write(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        waiting = _Waiting(lines, keeping)
        self._gathering.wait(waiting)
        if not waiting.kept:
            raise Refusal("unavailable", _NOT_KEPT, _LATER)

    def count_refused(self, application: str, reason: str, number: int) -> None:
        LOG_REFUSED.labels(application, reason).inc(number)

    # -- one process ---------------------------------------------------------------------------------------------

    def _write_together(self, batch: list[_Waiting]) -> None:
        try:
            self._append(b"".join([waiting.data for waiting in batch]), batch[-1].keeping)
            if any(waiting.keeping.durable for waiting in batch):
                self._bring_to_disk()
        except OSError as error:
            with suppress(OSError):  # standard error may be a file of the same full disk
                print(f"vitrine: {self._path}: {error.strerror}", file=sys.stderr, flush=True)
            LOG_FAILURES.inc(len(batch))
            return
        for waiting in batch:
            waiting.kept = True
        LOG_LINES.inc(sum(waiting.number for waiting in batch))

    def _bring_to_disk(self) -> None:
        """Once this has failed nobody knows what of the file is on disk, and no later success tells: begin another."""
        try:
            os.fdatasync(self._opened)
        except OSError:
            self._is_doubtful = True
            raise

    # -- all processes -------------------------------------------------------------------------------------------

    def _append(self, data: bytes, keeping: LogKeeping) -> None:
        """Add whole lines to the current file, or nothing."""
        with _turn(self._folder, self._lock) as self._lock:
            self._follow()
            size = _repaired(self._opened)
            begun = os.fstat(self._lock).st_mtime
            is_old = time.time() - begun > keeping.max_seconds
            if size and (self._is_doubtful or is_old or size + len(data) > keeping.max_bytes):
                self._rotate()
                size = 0
            if not size:
                os.utime(self._lock)
            try:
                _write(self._opened, data)
            except OSError:
                os.ftruncate(self._opened, size)
                raise

    @property
    def _opened(self) -> int:
        if self._file is None:
            raise FileNotFoundError(2, "the log is not open")
        return self._file

    def _follow(self) -> None:
        """Open the current file where another process has begun a new one, or nobody any."""
        if self._file is not None:
            if _is_at(self._path, os.fstat(self._file)):
                return
            os.close(self._file)
            self._file = None
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        _bring_folder_to_disk(self._folder)
        self._is_doubtful = False

    def _rotate(self) -> None:
        now = datetime.now(UTC)
        while (target := self._folder / f"mobile-{now:%Y%m%dT%H%M%S}.{now.microsecond:06}Z.log").exists():
            now = datetime.now(UTC)
        os.rename(self._path, target)
        self._follow()


def prune(folder: Path, before: datetime) -> list[Path]:
    """Delete the log files that were last written to before an instant, the current one, too; those deleted."""
    if not folder.is_dir():
        return []
    limit, deleted = before.timestamp(), []
    with _turn(folder, None) as lock:
        for path in sorted(folder.glob("mobile*.log")):
            found = path.stat()
            if found.st_mtime < limit and (path.name != CURRENT or found.st_size):
                path.unlink()
                deleted.append(path)
        _bring_folder_to_disk(folder)
    os.close(lock)
    return deleted


@contextmanager
def _turn(folder: Path, lock: int | None) -> Iterator[int]:
    """The right to change the log, held by one process at a time; ``lock``: its file, where it is open already."""
    if lock is None:
        lock = _open_lock(folder)
    fcntl.flock(lock, fcntl.LOCK_EX)
    while not _is_at(folder / LOCK, os.fstat(lock)):  # somebody deleted it: others lock another one
        another = _open_lock(folder)
        os.dup2(another, lock, inheritable=False)
        os.close(another)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield lock
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)


def _open_lock(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)


def _is_at(path: Path, opened: os.stat_result) -> bool:
    """Whether a file that was opened is the one that is there now."""
    try:
        return os.path.samestat(os.stat(path), opened)
    except FileNotFoundError:
        return False


def _repaired(file: int) -> int:
    """The size of a file, once a half line at its end is cut off: its writer was killed, and told nobody of it."""
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
    """A new or renamed file is there after a power failure once its folder is on disk (fsync(2))."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
