"""The file of a SQLite store: where it may lie, who holds it, copies of it."""

import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from vitrine.problems import Failure
from vitrine.service.sql.migrate import level
from vitrine.service.sql.session import Row

NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|lustre|gpfs|beegfs|gfs2|ocfs2|ncpfs|coda|orangefs|virtiofs"
    r"|fuse\.(sshfs|glusterfs|ceph|s3fs|rclone|davfs2?|juicefs|gcsfuse|blobfuse2?|mount-s3|goofys|nfs)"
)
"""File systems that several hosts may share: SQLite's locks and its shared memory do not reach across hosts."""


# -- where it may lie --------------------------------------------------------------------------------------------


def refuse_network(path: Path) -> None:
    """Raises Failure where a file would lie on a network file system."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return
    kind = file_system(mounts, str(path.absolute().parent.resolve()))
    if NETWORK.fullmatch(kind):
        raise Failure(
            f"{path} lies on a network file system ({kind}), where SQLite loses data;"
            " put it on a local disk, or share a PostgreSQL server: --database postgresql://…"
        )


def file_system(mounts: str, folder: str) -> str:
    """The type of the file system that holds a folder, by the text of /proc/self/mountinfo (proc(5)); empty: unknown.

    The longest mount point above the folder decides, the last of them where one was mounted over another.
    """
    found = longest = ""
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields.split(" ")[4])
        if f"{folder}/".startswith(point.rstrip("/") + "/") and len(point) >= len(longest):
            found, longest = rest.partition(" ")[0], point
    return found


# -- who holds it ------------------------------------------------------------------------------------------------


class Locks:
    """Two lock files beside the database: `.lock`, whose turn it is to write; `.held`, who has the database open.

    A forked child shares its parent's locks, so it opens files of its own (``reopened``).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = self._open("lock")
        self._held = self._open("held")
        if not _locked(self._held, fcntl.LOCK_SH | fcntl.LOCK_NB):
            self.close()
            raise Failure(f"{path} is being restored by another process; try again when that is done")

    def _open(self, kind: str) -> int:
        return os.open(f"{self._path}.{kind}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def reopened(self) -> "Locks":
        self.close()
        return Locks(self._path)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The right to write, held by one process at a time."""
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._turn)
        os.close(self._held)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """While nobody else has the database open. Raises Failure where somebody has."""
    held = os.open(f"{path}.held", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _locked(held, fcntl.LOCK_EX | fcntl.LOCK_NB):
            raise Failure(f"{path} is in use; stop the service and whatever else has it open, then restore")
        yield
    finally:
        os.close(held)


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True


# -- copies ------------------------------------------------------------------------------------------------------


def backup(path: Path, target: Path) -> int:
    """Write a consistent copy of a store, which may be in use, to a new file; its bytes. Raises Failure."""
    if not path.exists():
        raise Failure(f"{path} is not there")
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    try:
        with closing(_connect(path)) as source, closing(sqlite3.connect(part, isolation_level=None)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        _check(part)
        _keep(part, target)
    except sqlite3.Error as error:
        raise Failure(f"{path} cannot be copied: {error}") from None
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def restore(copy: Path, path: Path) -> Path | None:
    """Put a backup in a store's place; where the store that was there is kept. Raises Failure while it is in use."""
    _check(copy)
    path.parent.mkdir(parents=True, exist_ok=True)
    refuse_network(path)
    with alone(path):
        part, before = path.with_name(path.name + ".part"), path.with_name(path.name + ".before-restore")
        part.unlink(missing_ok=True)
        try:
            with closing(_connect(copy)) as source, closing(sqlite3.connect(part, isolation_level=None)) as made:
                source.backup(made)
            existed = path.exists()
            if existed:
                _settle(path)
                os.replace(path, before)
            _keep(part, path)
        except sqlite3.Error as error:
            raise Failure(f"{copy} cannot be restored: {error}") from None
        finally:
            part.unlink(missing_ok=True)
    return before if existed else None


def _settle(path: Path) -> None:
    """Bring what lies beside a database into it: beside another database it would be taken for that one's."""
    try:
        with closing(_connect(path)) as old:
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.DatabaseError:
        pass  # it is damaged, which may be why a backup is wanted
    for beside in ("-wal", "-shm"):
        Path(f"{path}{beside}").unlink(missing_ok=True)


def _check(path: Path) -> None:
    """Raises Failure unless a file is a whole store of a form that this program knows."""
    if not path.exists():
        raise Failure(f"{path} is not there")
    try:
        with closing(_connect(path)) as connection:
            ((found,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
            if found != "ok":
                raise Failure(f"{path} is damaged: {found}")
            level(_Reading(connection))
    except sqlite3.DatabaseError as error:
        raise Failure(f"{path} is not a store: {error}") from None


class _Reading:
    """The port Session, for reading."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=30)


def _keep(part: Path, target: Path) -> None:
    """Bring a file to the disk, then under its name."""
    _sync(part)
    os.replace(part, target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
