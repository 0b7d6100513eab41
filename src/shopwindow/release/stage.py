"""A build writes its release into a staging directory, which it renames when everything in it
is on disk.

Every file is read-only, and its modification time is made from its digest: nginx makes the ETag
from it, so equal bytes have one ETag on every host. A file whose bytes exist already, here or
in the previous release, is a hard link. Nothing is synced file by file: a thread asks the
system to write early, and `settle` ends with one syncfs.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import file_digest, sha256
from pathlib import Path
from threading import Event, Thread

from shopwindow.interface.validators import modified
from shopwindow.problems import Failure, failures
from shopwindow.release.trash import discard

FILE_MODE = 0o444
"""The mode of every file of a release: what is published is not edited."""

NO_LINK = (errno.EMLINK, errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP)
"""Why a file system refuses a link: too many, another file system, not allowed. The bytes are
copied instead.
"""


class Stage:
    """A staging directory. Several processes may write into it at once, each its own files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._root = os.open(
            folder, os.O_RDONLY | os.O_CLOEXEC
        )  # names below it are found sooner than whole paths
        self._folders: set[str] = set()
        self._ended = Event()
        self._settling: Thread | None = None
        self._failed: OSError | None = None

    def path(self, name: str) -> str:
        """Return the full path of a file, and create its directory."""
        self._make_folder(name)
        return f"{self.folder}/{name}"

    def _make_folder(self, name: str) -> None:
        parent = name.rpartition("/")[0]
        if parent not in self._folders:
            os.makedirs(f"{self.folder}/{parent}", exist_ok=True)
            self._folders.add(parent)

    def write(self, name: str, data: bytes, digest: str) -> None:
        """Write a new file, read-only, with the time that follows from ``digest``, its SHA-256
        (hex).
        """
        self._make_folder(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, FILE_MODE, dir_fd=self._root)
        except OSError as error:
            error.filename = self.path(name)
            raise
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            moment = modified(bytes.fromhex(digest[:8]))
            os.utime(descriptor, (moment, moment))
        finally:
            os.close(descriptor)

    def take(self, name: str, source: str, digest: str) -> None:
        """Link a file of the previous release.

        Raises Failure where it is gone or was changed. Its time shows that, for it is made from
        its digest.
        """
        try:
            changed = int(os.stat(source).st_mtime) != modified(bytes.fromhex(digest[:8]))
        except FileNotFoundError:
            changed = True
        if changed:
            raise Failure(
                f"{source}: gone or changed since it was built; --no-cache writes every file anew"
            )
        self._link(name, source, None)

    def link(self, name: str, other: str) -> None:
        """Give a file the bytes of another one that is staged: by a link where possible."""
        self._link(name, other, self._root)

    def _link(self, name: str, source: str, below: int | None) -> None:
        self._make_folder(name)
        try:
            os.link(source, name, src_dir_fd=below, dst_dir_fd=self._root)
        except OSError as error:
            if error.errno not in NO_LINK:
                error.filename = self.path(name)
                raise
            shutil.copyfile(source if below is None else self.path(source), self.path(name))
            self.seal(name)

    def relink(self, name: str, other: str) -> None:
        """Let a file that was written share the bytes of an equal one."""
        path, kept = self.path(name), self.path(other)
        if os.path.samefile(path, kept):  # rename(2) would do nothing and leave the draft
            return
        with suppress(OSError):  # a link that is refused: then the bytes stand twice
            os.link(kept, f"{path}.link")
            os.replace(f"{path}.link", path)

    def add(self, name: str, data: bytes) -> str:
        """Write a file of the release beside files/, and return its digest."""
        digest = sha256(data).hexdigest()
        self.write(name, data, digest)
        return digest

    def seal(self, name: str) -> str:
        """Set the time and mode of a file that someone else wrote here, as `write` does; return
        its digest.
        """
        path = self.path(name)
        with open(path, "rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        moment = modified(bytes.fromhex(digest[:8]))
        os.utime(path, (moment, moment))
        os.chmod(path, FILE_MODE)
        return digest

    def begin_to_settle(self) -> None:
        """Bring what is written to disk every tenth of a second, so that little is left to
        `settle`.

        Call it once, and after the last fork: it starts a thread.
        """
        self._settling = Thread(target=self._settle_again, daemon=True)
        self._settling.start()

    def _settle_again(self) -> None:
        try:
            while not self._ended.wait(0.1):
                self._sync()
        except OSError as error:  # which the system reports only once
            self._failed = error

    def settle(self) -> None:
        """Bring everything written so far to disk by one syncfs, instead of an fsync a file."""
        self.end()
        if self._failed:
            raise self._failed
        self._sync()

    def end(self) -> None:
        """Stop the thread that brings files to disk."""
        self._ended.set()
        if self._settling:
            self._settling.join()

    def drop(self) -> None:
        """Delete what was staged. It should be little: see `staging`."""
        shutil.rmtree(self.folder)

    def close(self) -> None:
        """End the use of this staging directory."""
        self.end()
        os.close(self._root)

    def _sync(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            if not _syncfs(descriptor):
                os.sync()
        finally:
            os.close(descriptor)


def _syncfs(descriptor: int) -> bool:
    """Call Linux's syncfs(2); return whether the C library has it. Raises OSError where writing
    back failed.
    """
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "syncfs"):
        return False
    if library.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True


def fsync_folder(folder: Path) -> None:
    """Bring a directory's entries to disk, so that a rename in it lasts."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def staging(out: Path) -> Iterator[Stage]:
    """A new staging directory below ``out``, to be renamed. Raises Failure for what the file
    system refuses.

    What a failed build staged is deleted, and so are leftovers of killed ones; what a build
    staged in vain is left to `prune`, for deleting many files slows down the next build.
    """
    area = out / ".staging"
    mask = os.umask(0o022)
    try:
        with failures(out):
            shutil.rmtree(area, ignore_errors=True)
            area.mkdir(parents=True)
            folder = Path(tempfile.mkdtemp(dir=area))
            folder.chmod(0o755)
            stage = Stage(folder)
            try:
                with failures(
                    out
                ):  # before what was staged is deleted: then there would be room again
                    yield stage
            except BaseException:
                stage.close()
                shutil.rmtree(area, ignore_errors=True)
                raise
            stage.close()
            if folder.is_dir():
                discard(folder, out)
            area.rmdir()
    finally:
        os.umask(mask)
