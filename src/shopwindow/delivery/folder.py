"""A directory as a Bucket: for a disk that several hosts share, and for trying things.

An object is a file. It is written under a name of its own, synced, and then linked to
its name, which the system refuses where the name is taken. What is replaced, is
compared and renamed under a lock. So a reader, and a crash, meet whole files only.
"""

import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from shopwindow.content.durable import synchronize
from shopwindow.delivery.bucket import (
    MAX_READ_BYTES,
    Headers,
    Listed,
    SentBody,
    Stored,
    Version,
    too_large,
)
from shopwindow.problems import Failure, failures

DRAFTS_FOLDER = ".drafts"
"""The folder of files that are being written, within the target."""

DRAFT_SECONDS = 24 * 3600
"""Nobody writes a file for a day: its publisher was killed."""

STORED_MODE = 0o644
"""The mode of stored files: another user's service and web server read them."""

STREAM_BYTES = 1024 * 1024
"""Bytes that a stream reads at once."""

_UNCHANGED = "nothing there is half written"


class FolderBucket:
    """The objects of a directory, which is created with the first of them."""

    pause = 0.0
    """No network spoils what is read from a disk, so waiting mends nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.where = f"file://{folder}"

    def read(self, key: str) -> Stored | None:
        with failures(self._folder, _UNCHANGED):
            try:
                with _regular(self._folder / key) as file:
                    data = file.read(MAX_READ_BYTES + 1)
                    status = os.fstat(file.fileno())
            except FileNotFoundError:
                return None
        if len(data) > MAX_READ_BYTES:
            raise Failure(too_large(self.where, key))
        modified = datetime.fromtimestamp(status.st_mtime, UTC)
        return Stored(data, {"sha256": sha256(data).hexdigest()}, modified)

    def is_still(self, key: str, version: Version) -> bool:
        stored = self.read(key)
        return stored is not None and stored.version == version

    def read_range(self, key: str, start: int, size: int) -> bytes | None:
        with failures(self._folder, _UNCHANGED):
            try:
                with _regular(self._folder / key) as file:
                    file.seek(start)
                    return file.read(size)
            except FileNotFoundError:
                return None

    def stream(self, key: str) -> Iterator[bytes] | None:
        path = self._folder / key
        return self._bits(path) if path.is_file() else None

    def _bits(self, path: Path) -> Iterator[bytes]:
        with failures(path, _UNCHANGED), open(path, "rb") as file:
            while bit := file.read(STREAM_BYTES):
                yield bit

    def create(self, key: str, body: SentBody, headers: Headers) -> bool:
        path = self._folder / key
        if path.exists():
            return False
        with failures(path, _UNCHANGED), self._draft(path, body) as draft:
            try:
                os.link(draft, path)
            except FileExistsError:
                return False
            synchronize(path.parent)
            return True

    def replace(
        self, key: str, data: bytes, headers: Headers, version: Version | None
    ) -> bool:
        path = self._folder / key
        with failures(path, _UNCHANGED), self._draft(path, data) as draft, self._lock():
            present = self.read(key)
            if (present.version if present else None) != version:
                return False
            os.replace(draft, path)
            synchronize(path.parent)
            return True

    def overwrite(self, key: str, body: SentBody, headers: Headers) -> None:
        path = self._folder / key
        with failures(path, _UNCHANGED), self._draft(path, body) as draft:
            os.replace(draft, path)
            synchronize(path.parent)

    @contextmanager
    def _draft(self, path: Path, body: SentBody) -> Iterator[Path]:
        """Write a file under a name of its own, for ``path``; delete it at the end."""
        drafts = self._folder / DRAFTS_FOLDER
        drafts.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=drafts)
        try:
            with open(descriptor, "wb") as file:
                if isinstance(body, Path):
                    with open(body, "rb") as source:
                        shutil.copyfileobj(source, file, STREAM_BYTES)
                else:
                    file.write(body)
                file.flush()
                os.fchmod(file.fileno(), STORED_MODE)
                os.fsync(file.fileno())
            yield Path(name)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Wait for the lock of this directory, which others hold for a rename only."""
        with open(self._folder / ".lock", "a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def listing(self, prefix: str) -> Iterator[Listed]:
        for folder, subfolders, names in os.walk(self._folder / prefix):
            subfolders[:] = [name for name in subfolders if not name.startswith(".")]
            for name in names:
                path = Path(folder, name)
                key = path.relative_to(self._folder).as_posix()
                if not name.startswith("."):
                    with suppress(FileNotFoundError):  # deleted meanwhile
                        status = path.stat()
                        modified = datetime.fromtimestamp(status.st_mtime, UTC)
                        yield Listed(key, status.st_size, modified)

    def folders(self, prefix: str) -> list[str]:
        folder = self._folder / prefix
        with failures(folder, _UNCHANGED):
            try:
                names = os.listdir(folder)
            except FileNotFoundError:
                return []
            # A publisher that was killed leaves empty directories; an object store, none.
            return sorted(
                name
                for name in names
                if not name.startswith(".") and not _is_empty(folder / name)
            )

    def delete(self, keys: Iterable[str]) -> None:
        with failures(self._folder, "what is left is deleted next time"):
            for key in keys:
                (self._folder / key).unlink(missing_ok=True)
            drafts = self._folder / DRAFTS_FOLDER
            for draft in drafts.glob("*"):  # of killed publishers
                with suppress(FileNotFoundError):
                    if time.time() - draft.stat().st_mtime > DRAFT_SECONDS:
                        draft.unlink()

    def clock(self) -> datetime | None:
        """Return the time of the disk, which another machine may have."""
        with (
            failures(self._folder, _UNCHANGED),
            self._draft(self._folder / "clock", b"") as draft,
        ):
            return datetime.fromtimestamp(draft.stat().st_mtime, UTC)


def _regular(path: Path) -> BinaryIO:
    """Open a file for reading. Raises OSError where it is another thing: whoever opens a
    pipe waits for a writer, perhaps for ever.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(path, "rb")


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
