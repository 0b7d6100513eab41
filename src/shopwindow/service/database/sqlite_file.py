"""The file of a SQLite database: where it may lie, who holds it, copies of it."""

import fcntl
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.interface.table import Row
from shopwindow.problems import Failure
from shopwindow.service.database.migrate import STEPS_TABLE, former_steps, reached, refuse_newer
from shopwindow.service.database.tables import TablesByName

NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|lustre|gpfs|beegfs|gfs2|ocfs2|ncpfs|coda|orangefs|virtiofs"
    r"|fuse\.(sshfs|glusterfs|ceph|s3fs|rclone|davfs2?|juicefs|gcsfuse|blobfuse2?|mount-s3|goofys|nfs)"
)
"""File systems that several hosts may share: SQLite's locks and its shared memory do not reach
across hosts.
"""

BESIDE = ("-wal", "-shm", "-journal", ".lock", ".held")
"""The ends of the names of what SQLite and this program put beside a database."""


# -- where it may lie --------------------------------------------------------------------------


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
    """The type of the file system that holds a folder, by the text of /proc/self/mountinfo
    (proc(5)); empty: unknown.

    The longest mount point above the folder decides, the last of them where one was mounted
    over another.
    """
    found = longest = ""
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = re.sub(
            r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields.split(" ")[4]
        )
        if f"{folder}/".startswith(point.rstrip("/") + "/") and len(point) >= len(longest):
            found, longest = rest.partition(" ")[0], point
    return found


def make(path: Path) -> None:
    """An empty file that nobody but its owner may read, where there is none: SQLite's own would
    be as the umask has it.

    What SQLite puts beside it gets the same mode. What is in the way of making it, SQLite says
    when it opens it.
    """
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        _hand_over(descriptor, path.parent)
        os.close(descriptor)


def _hand_over(descriptor: int, beside: Path) -> None:
    """Give a new file to whom the database belongs, or its folder where there is no database
    yet.

    Operators call `migrate` and `restore` as root; the service is another user, and must be
    able to open what they leave. SQLite does the same with what it puts beside a database. Only
    an empty file that has no other name is given away: whoever owns the folder might have put a
    link there to a file of root's.
    """
    if os.geteuid() != 0:
        return
    kept = os.fstat(descriptor)
    try:
        owner = beside.stat()
    except FileNotFoundError:
        owner = beside.parent.stat()
    if kept.st_nlink == 1 and kept.st_size == 0:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


# -- who holds it ------------------------------------------------------------------------------


class Locks:
    """Two lock files beside the database: `.lock`, whose turn it is to write; `.held`, who has
    the database open.

    A forked child shares its parent's locks, so it opens files of its own (``reopened``).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = self._open("lock")
        self._held = self._open("held")
        if not _locked(self._held, fcntl.LOCK_SH | fcntl.LOCK_NB):
            self.close()
            raise Failure(
                f"{path} is being restored by another process; try again when that is done"
            )

    def _open(self, kind: str) -> int:
        return _open_lock(self._path, kind)

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


def _open_lock(path: Path, kind: str) -> int:
    """A lock file beside a database, made where it is not there."""
    lock = Path(f"{path}.{kind}")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    _hand_over(descriptor, path)
    return descriptor


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """While nobody else has the database open. Raises Failure where somebody has."""
    held = _open_lock(path, "held")
    try:
        if not _locked(held, fcntl.LOCK_EX | fcntl.LOCK_NB):
            raise Failure(
                f"{path} is in use; stop the service and whatever else has it open first"
            )
        yield
    finally:
        os.close(held)


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True


# -- copies ------------------------------------------------------------------------------------


def backup(path: Path, target: Path, tables: TablesByName) -> int:
    """Write a consistent copy of a database, which may be in use, to a new file; its bytes.
    Raises Failure.
    """
    if not path.exists():
        raise Failure(f"{path} is not there")
    target = Path(os.path.realpath(target))
    try:
        with _replaceable(target, path), _draft(target) as part:
            with (
                closing(_connect(path)) as source,
                closing(sqlite3.connect(part, isolation_level=None)) as copy,
            ):
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
            _check(part, tables)
            _sync(part)
            _put(part, target)
    except sqlite3.Error as error:
        raise Failure(f"{path} cannot be copied: {error}") from None
    return target.stat().st_size


def restore(copy: Path, path: Path, tables: TablesByName) -> Path | None:
    """Put a backup in a database's place; where what was there is kept. Raises Failure while it
    is in use.

    Whenever it is killed, there is a whole database: the old one or the new one.
    """
    _check(copy, tables)
    _refuse_special(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    refuse_network(path)
    before: Path | None = None
    try:
        with alone(path), _draft(path) as part:
            with (
                closing(_connect(copy)) as source,
                closing(sqlite3.connect(part, isolation_level=None)) as made,
            ):
                source.backup(made)
            _sync(part)
            _settle(path)
            if path.exists():
                before = path.with_name(
                    f"{path.name}.before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
                )
                _keep(path, before)
            _put(part, path)
    except sqlite3.Error as error:
        raise Failure(f"{copy} cannot be restored: {error}") from None
    return before


@contextmanager
def _replaceable(target: Path, path: Path) -> Iterator[None]:
    """While a copy of a database may be put in a target's place. Raises Failure where something
    else needs that.
    """
    if target in [Path(f"{path}{end}") for end in BESIDE] or (
        target.exists() and target.samefile(path)
    ):
        raise Failure(
            f"{target} belongs to the database itself; a backup needs a file of its own"
        )
    _refuse_special(target)
    with alone(target) if Path(f"{target}.held").exists() else nullcontext():
        if Path(f"{target}-wal").exists():  # which would be taken for the copy's
            raise Failure(
                f"{target} is in use, or was not closed: there is {target}-wal; name another file"
            )
        yield


def _refuse_special(path: Path) -> None:
    """Raises Failure for a folder, a device or a pipe."""
    if path.exists() and not path.is_file():
        raise Failure(f"{path} is no file that a copy could replace")


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A new file that is to be put in a path's place."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    _hand_over(descriptor, path)
    os.close(descriptor)
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Bring what lies beside a database into it: beside another database it would be taken for
    that one's.
    """
    if path.exists():
        with (
            suppress(sqlite3.DatabaseError),
            closing(_connect(path)) as old,
        ):  # damaged: that may be why it is restored
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for beside in ("-wal", "-shm"):
        Path(f"{path}{beside}").unlink(missing_ok=True)


def _check(path: Path, tables: TablesByName) -> None:
    """Raises Failure unless a file is a whole database of a form that this program knows."""
    if not path.exists():
        raise Failure(f"{path} is not there")
    try:
        with closing(_connect(path)) as connection:
            ((found,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
            if found != "ok":
                raise Failure(f"{path} is damaged: {found}")
            session = SQLiteSession(connection)
            if session.has_table(STEPS_TABLE):
                refuse_newer(reached(session), tables)
            elif not former_steps(session):
                raise Failure(
                    f"{path} is not a database of this program: it has taken no step of any table"
                )
    except sqlite3.DatabaseError as error:
        raise Failure(f"{path} is not a database of this program: {error}") from None


class SQLiteSession:
    """An open transaction on one connection: the protocols Session and Inspected."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def has_table(self, name: str) -> bool:
        return bool(
            self.run("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name)
        )


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=30)


def _keep(path: Path, before: Path) -> None:
    """A second name for a file that is about to be replaced; a copy where the file system has
    no links.
    """
    try:
        os.link(path, before)
    except OSError:
        shutil.copy2(path, before)
        if os.geteuid() == 0:
            kept = path.stat()
            os.chown(before, kept.st_uid, kept.st_gid, follow_symlinks=False)
        _sync(before)


def _put(part: Path, target: Path) -> None:
    """Bring a file that is on the disk under another's name."""
    os.replace(part, target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
