"""The files of a feed: one, or those of a folder that are one feed together.

A system may send a kind of document in parts, by day or by department. The parts lie in
a folder, such as `content/catalog/inventory/`, and the folder is the feed: it has one
mark, and changes are applied to all of its files or to none.

A file gives way to another by a rename, a folder by an exchange of two folders
(renameat2 of Linux). Whoever looks sees the feed of before or the one of after, and
nothing between the two.
"""

import ctypes
import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from hashlib import file_digest, sha256
from pathlib import Path
from typing import BinaryIO

import orjson

from shopwindow.content.durable import synchronize
from shopwindow.content.listing import COMPRESSED
from shopwindow.problems import Failure

FEED_ENDINGS = (".jsonl", *COMPRESSED)

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
"""Of linux/fcntl.h and linux/fs.h: paths are as the process sees them; exchange both."""

FileState = tuple[int, int, int]
"""Inode, size in bytes and modification time in nanoseconds: what tells a changed file."""


@dataclass(frozen=True)
class FeedFiles:
    """A feed on the disk. ``feed``: the file, or the folder."""

    feed: Path

    @property
    def is_folder(self) -> bool:
        return self.feed.is_dir()

    @property
    def root(self) -> Path:
        """The folder that the names of files are relative to."""
        return self.feed if self.is_folder else self.feed.parent

    def names(self) -> list[str]:
        """Return the names of the files, sorted; below a folder with slashes.

        What is hidden is no part of a feed, nor is what is kept by hand, as YAML.
        """
        if not self.is_folder:
            return [self.feed.name]
        paths = (path.relative_to(self.feed) for path in self.feed.rglob("*"))
        return sorted(
            path.as_posix()
            for path in paths
            if path.name.endswith(FEED_ENDINGS)
            and not any(part.startswith(".") for part in path.parts)
            and (self.feed / path).is_file()
        )

    def states(self) -> Mapping[str, FileState]:
        """Return the state of each file, by its name. Raises OSError."""
        states = {}
        for name in self.names():
            status = (self.root / name).stat()
            states[name] = status.st_ino, status.st_size, status.st_mtime_ns
        return states

    def digest(self) -> str:
        """Return the SHA-256 of a file, or of the names and digests of several, in hex.

        Raises OSError.
        """
        if not self.is_folder:
            return _sha256(self.feed)
        digests = [(name, _sha256(self.root / name)) for name in self.names()]
        return sha256(orjson.dumps(digests)).hexdigest()

    def copied(self, copy: Path, written: Mapping[str, Path]) -> "FeedFiles":
        """Return the feed that is to take the place of this one, on the disk.

        Args:
            copy: where it is put: a folder that does not exist yet, on the same file
                system.
            written: the files that differ, by their names; there is one. They are moved
                there; all others are links to what they are now.

        Raises OSError.
        """
        if self.is_folder:
            _link_all(self.feed, copy)
        else:
            copy.mkdir()
        for name, file in written.items():
            former, new = self.root / name, copy / name
            if former.exists():
                shutil.copymode(former, file)
            synchronize(file)
            new.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, new)
        for folder, _, _ in os.walk(copy):
            synchronize(Path(folder))
        return FeedFiles(copy if self.is_folder else copy / self.feed.name)

    def give_way(self, new: "FeedFiles") -> None:
        """Let another feed take the place of this one, in one step.

        Raises OSError, and Failure where the system cannot do so; then nothing changed.
        """
        if self.is_folder:
            _exchange(new.feed, self.feed)
        else:
            os.replace(new.feed, self.feed)
        synchronize(self.feed.parent)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of another when the block ends, on the disk.

    It is written beside that one, under a name of its own, and goes when the block
    raises something. Drafts of commands that were killed go first. Raises OSError.
    """
    _delete_left_drafts(path)
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with open(draft, "wb") as file:
            # The lock says that somebody writes; the system releases it with the process.
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(draft, path)
        synchronize(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _delete_left_drafts(path: Path) -> None:
    """Delete the drafts of a file that no process holds any more."""
    prefix = f".{path.name}-"
    for draft in path.parent.glob(f"{escape(prefix)}*"):
        if not draft.name.removeprefix(prefix).isdigit():
            continue
        # A draft of somebody else, or that was renamed just now, is left where it is.
        with suppress(OSError), open(draft, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _link_all(folder: Path, copy: Path) -> None:
    """Create a folder with links to all files of another. Raises OSError."""
    for at, folders, files in os.walk(folder):
        below = copy / Path(at).relative_to(folder)
        below.mkdir()
        shutil.copymode(at, below)
        linked = [name for name in folders if os.path.islink(os.path.join(at, name))]
        for name in (*files, *linked):
            os.link(os.path.join(at, name), below / name, follow_symlinks=False)


def _exchange(one: Path, other: Path) -> None:
    """Exchange two folders in one step. Raises Failure where that cannot be done."""
    library = ctypes.CDLL(None, use_errno=True)
    reason = "this system has no renameat2"
    if hasattr(library, "renameat2"):
        paths = _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other)
        if library.renameat2(*paths, _RENAME_EXCHANGE) == 0:
            return
        reason = os.strerror(ctypes.get_errno())
    raise Failure(
        f"{other}: cannot be exchanged for its new state in one step: {reason}; nothing "
        "was written; name one file of it, with the changes for that file"
    )
