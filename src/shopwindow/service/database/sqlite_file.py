"""The file of a SQLite database: where it may lie, who holds it, copies of it, and its
transactions.

How this works. Processes agree about a database by three lock files beside it. Who
writes holds `.lock`, so that writers take turns; who is next holds `.next`, so that no
writer overtakes them; who has the database open shares `.held`, so that `restore` can
be alone with it. All are flock(2) locks, which the system releases when a process ends
in whatever way.

A copy, and a database that is restored, is written to a draft beside its place, synced,
and then renamed. So whenever the process is killed, one intact database is there: the
old or the new one.
"""

import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.interface.declaring.table import Row
from shopwindow.problems import Failure
from shopwindow.release.durable import synchronize
from shopwindow.service.database.engine import Lost
from shopwindow.service.database.tables import TablesByName, lacking, reached

NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|lustre|gpfs|beegfs|gfs2|ocfs2|ncpfs|coda|orangefs|virtiofs"
    r"|fuse\.(sshfs|glusterfs|ceph|s3fs|rclone|davfs2?|juicefs|gcsfuse|blobfuse2?|mount-s3|goofys|nfs)"
)
"""File systems that several hosts may share. SQLite's locks and its shared memory do
not reach across hosts (sqlite.org/wal.html: WAL does not work over a network file
system).
"""

TURN_PAUSE_SECONDS = 0.0005
"""How often a process looks whether another one's turn is over: a few times during a
commit, which takes some milliseconds. flock(2) itself would wait without an end.
"""

NEXT_SECONDS = 0.25
"""How long a process waits to be next. That is a courtesy of writers to each other, so a
process that has stopped while it is next holds up nobody for longer.
"""

COPY_BUSY_SECONDS = 30
"""How long a copy waits for a lock of SQLite's. An operator waits for it, and no
request does.
"""


# -- where it may lie ------------------------------------------------------------------


def refuse_network(path: Path) -> None:
    """Raise Failure where a file would lie on a network file system."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(
            encoding="utf-8", errors="replace"
        )
    except OSError:  # not Linux
        return
    folder = next(each for each in path.absolute().parents if os.path.exists(each))
    kind = file_system(mounts, os.stat(folder).st_dev)
    if NETWORK.fullmatch(kind):
        raise Failure(
            f"{path} lies on a network file system ({kind}), where SQLite loses data;"
            " put it on a local disk, or share a PostgreSQL server: --database postgresql://…"
        )


def file_system(mounts: str, device: int) -> str:
    """Return the type of the file system on a device; empty where it is unknown.

    ``mounts`` is the text of /proc/self/mountinfo: the third field of a line is the
    device, and the type stands behind a hyphen (proc(5)).
    """
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        fields = line.split(" ")
        if fields[2] == number:
            return fields[fields.index("-") + 1]
    return ""


def make(path: Path) -> None:
    """Make an empty file that nobody but its owner may read. Raises FileExistsError.

    SQLite itself would make it with the mode of the umask; what it puts beside the file
    gets the file's mode.
    """
    path.touch(0o600, exist_ok=False)


# -- who holds it ----------------------------------------------------------------------


class Locks:
    """The lock files of an open database: `.lock`, whose turn it is to write; `.next`,
    whose turn comes after that; `.held`, who has it open.

    Raises Failure while the database is being restored. A forked child shares its
    parent's locks (flock(2)), so a fork comes before these are opened.
    """

    def __init__(self, path: Path) -> None:
        self._locks: list[int] = []
        try:
            for kind in ("lock", "next", "held"):
                self._locks.append(_open_lock(path, kind))
            self._turn, self._next, held = self._locks
            if not _locked(held, fcntl.LOCK_SH | fcntl.LOCK_NB):
                raise Failure(
                    f"{path} is being restored by another process; try again when that is done"
                )
        except (OSError, Failure):
            self.close()
            raise

    @contextmanager
    def turn(self, until: float) -> Iterator[None]:
        """Hold the right to write, which one process has at a time; wait for it before,
        until an instant (time.monotonic).

        A process that writes without a pause would have it again before others look.
        So one of these is next, and whoever comes now waits behind it. Raises
        TimeoutError.
        """
        with suppress(TimeoutError):
            _wait_for(self._next, min(until, time.monotonic() + NEXT_SECONDS))
        try:
            _wait_for(self._turn, until)
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release all locks."""
        for lock in self._locks:
            os.close(lock)


def _open_lock(path: Path, kind: str) -> int:
    """Open a lock file beside a database, and make it where it is not there."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    return os.open(f"{path}.{kind}", flags, 0o600)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a database that nobody else has open. Raises Failure where somebody has."""
    held = _open_lock(path, "held")
    try:
        if not _locked(held, fcntl.LOCK_EX | fcntl.LOCK_NB):
            raise Failure(
                f"{path} is in use; stop the service and whatever else has it open first"
            )
        yield
    finally:
        os.close(held)


def _wait_for(lock: int, until: float) -> None:
    """Take a lock that nobody shares. Raises TimeoutError."""
    while not _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
        if time.monotonic() >= until:
            raise TimeoutError("another process writes, and does not end")
        time.sleep(TURN_PAUSE_SECONDS)


def _locked(file: int, operation: int) -> bool:
    try:
        fcntl.flock(file, operation)
    except BlockingIOError:
        return False
    return True


# -- copies ----------------------------------------------------------------------------


def backup(path: Path, target: Path, tables: TablesByName) -> int:
    """Write a consistent copy of a database, which may be in use, to a file; return its
    bytes.

    The copy takes the place of a file of that name, which nobody may have open. Raises
    Failure.
    """
    log = Path(f"{target}-wal")
    if log.exists():  # SQLite would take it for the copy's
        raise Failure(
            f"{target} is open, or was not closed: there is {log}; move both away"
        )
    try:
        with _draft(target) as part:
            _copy(path, part)
            _check(part, tables)
    except sqlite3.Error as error:
        raise Failure(f"{path} cannot be copied to {target}: {error}") from None
    return target.stat().st_size


def restore(copy: Path, path: Path, tables: TablesByName) -> Path | None:
    """Put a backup in a database's place.

    Returns the path of the former database; None where there was none. Raises
    Failure, also while the database is in use. If this is killed, an intact database is
    there in any case: the old one or the new one.
    """
    _check(copy, tables)
    if path.exists() and not path.is_file():  # a folder, a device or a pipe
        raise Failure(f"{path} is no file that a copy could replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    refuse_network(path)
    former: Path | None = None
    try:
        with alone(path), _draft(path) as part:
            _copy(copy, part)
            _remove_log(path)
            if path.exists():
                now = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
                former = path.with_name(f"{path.name}.before-restore-{now}")
                os.link(path, former)  # for a moment the file has both names
    except (sqlite3.Error, OSError) as error:
        raise Failure(f"{copy} cannot be restored: {error}") from None
    return former


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """Make an empty draft beside a path. At the end it is on the disk and has the path;
    where anything is raised, it is removed.
    """
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    make(part)
    try:
        yield part
        synchronize(part)
        os.replace(part, path)
        synchronize(path.parent)  # which has the new name
    finally:
        part.unlink(missing_ok=True)


def _copy(path: Path, part: Path) -> None:
    """Write a copy of a database to a draft: one file, with nothing beside it and no
    room in it that rows have left.
    """
    with closing(_connect(path)) as source:
        source.execute("VACUUM INTO ?", [str(part)])


def empty_log(path: Path) -> bool:
    """Write the log of a database into its file, and cut the log off.

    The log holds pages as they were before rows were removed from them, so a person's
    rows are gone from the disk only now.

    Returns whether that could be done; a reader that takes more than 5 s prevents it.
    Writers wait for as long.
    """
    with closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as connection:
        ((is_busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return not is_busy


def _remove_log(path: Path) -> None:
    """Write a database's log into its file, and remove what lies beside it.

    SQLite would take that for the log of the database that comes in this one's place.
    """
    if path.exists():
        # it may be damaged, and restored for that reason
        with suppress(sqlite3.DatabaseError):
            empty_log(path)
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _check(path: Path, tables: TablesByName) -> None:
    """Raise Failure unless a file is an intact database of a form that this program
    knows.
    """
    if not path.exists():
        raise Failure(f"{path} is not there")
    try:
        with closing(_connect(path)) as connection:
            ((result,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
            if result != "ok":
                raise Failure(f"{path} is damaged: {result}")
            lacking(reached(SQLiteSession(connection)), tables)
    except (sqlite3.DatabaseError, Lost) as error:
        raise Failure(f"{path} is not a database of this program: {error}") from None


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=COPY_BUSY_SECONDS)


# -- its transactions ------------------------------------------------------------------


ERRORS_OF_ONE_ACTION = {1, 18, 19, 20, 21, 25}
"""SQLite's result codes ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE and RANGE
(sqlite.org/rescode) concern one action. Any other, such as FULL or IOERR, ends the
whole transaction.
"""

BUSY = {5, 6}
"""Result codes BUSY and LOCKED: another program has the database."""


class SQLiteSession:
    """An open transaction on one connection (engine.Transaction).

    An action may meet another file's error, such as one of the catalog's index. That
    says nothing about this database, and does not come from here.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.failed: Exception | None = None
        self._connection = connection

    def run(self, sql: str, *values: object) -> list[Row]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self.failed = error
            if _code(error) not in ERRORS_OF_ONE_ACTION:
                raise lost(error) from error
            raise


def lost(error: sqlite3.Error | OSError) -> Lost:
    """Return why a transaction is lost."""
    passes = isinstance(error, TimeoutError) or _code(error) in BUSY
    return Lost(error, passes=passes)


def _code(error: Exception) -> int:
    """Return SQLite's result code; ERROR where Python raised before it called SQLite."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF
