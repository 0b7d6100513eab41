"""A build writes its release into a staging directory, which it renames when everything
in it is on disk.

Every file is read-only, and its modification time follows from its digest. nginx makes
the ETag from that time, so equal bytes have one ETag on every host.

A file has one of three sources. `write` and `add` store new bytes; `take` links a file
of the previous release; `link` links one that is staged already. A file that other code
has written into the directory is finished by `seal`.

No file is synced by itself: `settle` ends with one syncfs of the file system.

A rename is one step, while the deletion of a hundred thousand files takes long. So
whoever deletes a directory moves it to `.trash`, and `prune` deletes the files when
there is time.
"""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from hashlib import file_digest, sha256
from pathlib import Path

from shopwindow.interface.answering.validators import modified
from shopwindow.problems import Failure, failures

FILE_MODE = 0o444
"""The mode of every file of a release: what is published is not edited."""

NO_LINK = (errno.EMLINK, errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP)
"""Why a file system refuses a link: too many of them, another file system, not allowed,
not supported. The bytes are copied instead.
"""

WRITES_AGAIN = "`shopwindow build --no-cache` writes every file again"
"""What to do about a damaged release where it was built, for the end of a sentence."""

NOT_AS_BUILT = f"gone or changed since it was built; {WRITES_AGAIN}"
"""Why a build takes nothing over from a file of a release, and what to do about it."""


TRASH = ".trash"
"""The folder beside the releases that holds what is to be deleted (`empty_trash`)."""

FILES_BEFORE_PAUSE = 200
PAUSE_SECONDS = 0.02
"""How long `empty_trash` pauses after so many files. On ext4 a mass delete slows down the
creation of files for a while, for other processes and other folders, too.
"""


class Stage:
    """A staging directory, into which several processes may write at once.

    Two processes never write the same file. File names are relative to the directory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The system resolves a name below an open directory sooner than a whole path.
        self._root = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        self._folders: set[str] = set()  # those that this object has created or seen

    def path(self, name: str) -> str:
        """Return the full path of a file, and create its directory."""
        self._make_folder(name)
        return f"{self.folder}/{name}"

    def _make_folder(self, name: str) -> None:
        """Create the directory of a file, where this process has not yet."""
        parent = name.rpartition("/")[0]
        if parent not in self._folders:
            os.makedirs(f"{self.folder}/{parent}", exist_ok=True)
            self._folders.add(parent)

    def write(self, name: str, data: bytes, digest: str) -> None:
        """Write a new file, whose SHA-256 (hex) is ``digest``.

        Raises OSError with the file's path: also where a file of this name exists.
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
            seconds = _modified_seconds(digest)
            os.utime(descriptor, (seconds, seconds))
        finally:
            os.close(descriptor)

    def has(self, name: str, digest: str) -> bool:
        """Return whether an earlier attempt has staged this file, with this SHA-256
        (hex) and the time that follows from it. One that differs is deleted.
        """
        path = self.path(name)
        if _is_unchanged(path, digest) and has_bytes(path, digest):
            return True
        with suppress(FileNotFoundError):
            os.unlink(path)
        return False

    def keep_only(self, names: Set[str]) -> None:
        """Delete what an earlier attempt has staged, but for the files of these names."""
        for folder, _, files in os.walk(self.folder, topdown=False):
            for file in files:
                path = os.path.join(folder, file)
                if os.path.relpath(path, self.folder) not in names:
                    os.unlink(path)
            if folder != str(self.folder) and not os.listdir(folder):
                os.rmdir(folder)
        self._folders.clear()

    def take(self, name: str, source: str, digest: str) -> None:
        """Link the file ``source`` of the previous release as ``name``.

        Raises Failure where the file is gone or was changed.
        """
        if not _is_unchanged(source, digest):
            raise Failure(f"{source}: {NOT_AS_BUILT}")
        self._link(name, source, None)

    def link(self, name: str, other: str) -> None:
        """Link the staged file ``other`` as ``name``, a new one."""
        self._link(name, other, self._root)

    def _link(self, name: str, source: str, below: int | None) -> None:
        """Link ``source`` as ``name``, or copy it where the file system has no link.

        ``below``: the open directory that ``source`` is relative to; None: it is a
        whole path. Raises OSError with the file's path.
        """
        self._make_folder(name)
        try:
            os.link(source, name, src_dir_fd=below, dst_dir_fd=self._root)
        except OSError as error:
            if error.errno not in NO_LINK:
                error.filename = self.path(name)
                raise
            source_path = source if below is None else self.path(source)
            shutil.copyfile(source_path, self.path(name))
            self.seal(name)

    def relink(self, name: str, other: str) -> None:
        """Replace the staged file ``name`` by a link to ``other``, which is equal.

        Where the file system refuses the link, both stay, with the bytes twice.
        """
        path, equal = self.path(name), self.path(other)
        # Between two links of one file, rename(2) does nothing: the draft would stay.
        if os.path.samefile(path, equal):
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
        """Set the time and mode of a file that other code wrote, as `write` does.

        Returns its digest (hex).
        """
        path = self.path(name)
        with open(path, "rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        seconds = _modified_seconds(digest)
        # The time comes last: with it `has` takes the file for finished, mode and all.
        os.chmod(path, FILE_MODE)
        os.utime(path, (seconds, seconds))
        return digest

    def settle(self) -> None:
        """Bring everything written so far to disk by one syncfs.

        It stands for an fsync of every file. Raises OSError where the system could not
        write something.
        """
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            if not _syncfs(descriptor):
                os.sync()
        finally:
            os.close(descriptor)

    def drop(self) -> None:
        """Delete the directory with what was staged.

        Only for a few files: `staging` leaves many to `prune`, because deleting takes
        time.
        """
        shutil.rmtree(self.folder)

    def close(self) -> None:
        """Close the directory; its files stay."""
        os.close(self._root)


def has_bytes(path: str | Path, digest: str) -> bool:
    """Return whether the bytes of a file have this SHA-256 (hex). Raises OSError."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest() == digest


def _is_unchanged(source: str, digest: str) -> bool:
    """Return whether a file of a release is there, with the time that follows from
    ``digest`` (hex). A program that changed the bytes has set another time. The bytes
    are not read.
    """
    try:
        return int(os.stat(source).st_mtime) == _modified_seconds(digest)
    except FileNotFoundError:
        return False


def _modified_seconds(digest: str) -> int:
    """Return the modification time of a file (Unix seconds) from its digest (hex)."""
    return modified(bytes.fromhex(digest[:8]))


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


@contextmanager
def staging(out: Path, kept: str = "") -> Iterator[Stage]:
    """Provide a staging directory below ``out``, for the caller to rename.

    What a failed build staged is deleted, as are leftovers of killed builds. With a
    name ``kept`` the directory has that name, and outlasts a failure or a kill: the next
    call with this name finds what was staged. A directory that is still there after
    success was staged in vain, because its release exists. It is moved aside for `prune`
    to delete, since deleting many files would slow down the build. Raises Failure for
    what the file system refuses.
    """
    area = out / ".staging"
    mask = os.umask(0o022)
    try:
        with failures(out):
            area.mkdir(parents=True, exist_ok=True)
            for leftover in area.iterdir():
                if leftover.name != kept:
                    shutil.rmtree(leftover, ignore_errors=True)
            folder = area / kept if kept else Path(tempfile.mkdtemp(dir=area))
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
            stage = Stage(folder)
            try:
                # The inner `failures` words the error before what was staged is
                # deleted: after that the disk would no longer be full.
                with failures(out):
                    yield stage
            except BaseException:
                stage.close()
                if not kept:
                    shutil.rmtree(area, ignore_errors=True)
                raise
            stage.close()
            if folder.is_dir():
                discard(folder, out)
            area.rmdir()
    finally:
        os.umask(mask)


# -- what is deleted --------------------------------------------------------------------


def discard(folder: Path, out: Path) -> None:
    """Move a directory below ``out`` into the trash. Raises OSError."""
    trash = out / TRASH
    trash.mkdir(exist_ok=True)
    os.rename(folder, tempfile.mkdtemp(prefix=f"{folder.name[:12]}-", dir=trash))


def empty_trash(out: Path) -> None:
    """Delete what is in the trash, with pauses. Raises OSError."""
    trash = out / TRASH
    if not trash.is_dir():
        return
    count = 0
    for directory, _, names in os.walk(trash, topdown=False):
        for name in names:
            os.unlink(os.path.join(directory, name))
            count += 1
            if count % FILES_BEFORE_PAUSE == 0:
                time.sleep(PAUSE_SECONDS)
    shutil.rmtree(trash)
