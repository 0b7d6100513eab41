"""A build writes its release into a staging directory, which it renames when everything
in it is on disk.

Every file is read-only, and its modification time follows from its digest. nginx makes
the ETag from that time, so equal bytes have one ETag on every host. A file whose bytes
exist already, here or in the previous release, is a hard link. Nothing is synced file
by file: a thread asks the system to write early, and `settle` ends with one syncfs.
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
"""Why a file system refuses a link: too many of them, another file system, not allowed,
not supported. The bytes are copied instead.
"""

SYNC_SECONDS = 0.1
"""How often the thread asks the system to write while files are staged, so that little
is left for the syncfs at the end.
"""


class Stage:
    """A staging directory. Several processes may write into it at once, each its own
    files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The system resolves a name below an open directory sooner than a whole path.
        self._root = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
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
        """Write a new file. ``digest``: its SHA-256 (hex), which its time follows from.

        Raises OSError, which names the file.
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

        Raises Failure where it is gone or was changed, which its time shows: that
        follows from its digest.
        """
        try:
            changed = int(os.stat(source).st_mtime) != modified(
                bytes.fromhex(digest[:8])
            )
        except FileNotFoundError:
            changed = True
        if changed:
            raise Failure(
                f"{source}: gone or changed since it was built; --no-cache writes every file again"
            )
        self._link(name, source, None)

    def link(self, name: str, other: str) -> None:
        """Give a file the bytes of another one that is staged: by a link where
        possible.
        """
        self._link(name, other, self._root)

    def _link(self, name: str, source: str, below: int | None) -> None:
        self._make_folder(name)
        try:
            os.link(source, name, src_dir_fd=below, dst_dir_fd=self._root)
        except OSError as error:
            if error.errno not in NO_LINK:
                error.filename = self.path(name)
                raise
            shutil.copyfile(
                source if below is None else self.path(source), self.path(name)
            )
            self.seal(name)

    def relink(self, name: str, other: str) -> None:
        """Let a file that was written share the bytes of an equal one.

        Where the file system refuses the link, the bytes stay there twice.
        """
        path, equal = self.path(name), self.path(other)
        if os.path.samefile(
            path, equal
        ):  # rename(2) would do nothing and leave the draft
            return
        with suppress(OSError):
            os.link(equal, f"{path}.link")
            os.replace(f"{path}.link", path)

    def add(self, name: str, data: bytes) -> str:
        """Write a file of the release beside files/, and return its digest."""
        digest = sha256(data).hexdigest()
        self.write(name, data, digest)
        return digest

    def seal(self, name: str) -> str:
        """Set time and mode of a file that others wrote here, as `write` does.

        Returns its digest (hex).
        """
        path = self.path(name)
        with open(path, "rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        moment = modified(bytes.fromhex(digest[:8]))
        os.utime(path, (moment, moment))
        os.chmod(path, FILE_MODE)
        return digest

    def begin_to_settle(self) -> None:
        """Start the thread that asks the system to write every SYNC_SECONDS.

        Call it once, and after the last fork: a fork copies no threads.
        """
        self._settling = Thread(target=self._settle_again, daemon=True)
        self._settling.start()

    def _settle_again(self) -> None:
        try:
            while not self._ended.wait(SYNC_SECONDS):
                self._sync()
        except (
            OSError
        ) as error:  # the system reports it only once, so `settle` raises it
            self._failed = error

    def settle(self) -> None:
        """Bring everything written so far to disk by one syncfs, instead of an fsync a
        file.

        Raises OSError where that failed, now or earlier.
        """
        self.end()
        if self._failed:
            raise self._failed
        self._sync()

    def end(self) -> None:
        """Stop the thread, where it was started."""
        self._ended.set()
        if self._settling:
            self._settling.join()

    def drop(self) -> None:
        """Delete what was staged, which should be little: see `staging`."""
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
    """Call Linux's syncfs(2), and return whether the C library has it.

    Raises OSError where the system could not write something.
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
    """Provide a new staging directory below ``out``, which the build renames when it is
    done.

    What a failed build staged is deleted, as are leftovers of killed builds. A
    directory that is still there after success was staged in vain, because its release
    exists; it is left to `prune`, since to delete many files would slow down the next
    build. Raises Failure for what the file system refuses.
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
                # The failure is put in words here, before what was staged is deleted:
                # after that the disk would no longer be full.
                with failures(out):
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
