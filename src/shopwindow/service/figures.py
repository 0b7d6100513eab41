"""All metrics of a scrape: what the workers have counted, and release, host and database
as they are now.

What the workers count is in files (service.metrics). Everything else is looked up at
each scrape. A figure that cannot be read is left out, so an alert can ask for its
absence.
"""

import os
import platform
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Failure, Refusal
from shopwindow.release import pull_notes
from shopwindow.release.build_notes import killed_build, last_build
from shopwindow.release.pull_notes import FAULT_KINDS, PullNote
from shopwindow.release.releases import Releases
from shopwindow.service.database.address import sqlite_path
from shopwindow.service.database.database import Database
from shopwindow.service.settings import Settings
from shopwindow.service.wsgi import Front

DATABASE_FOLDER = "database"
"""The name under which a SQLite database stands among the places whose disks are
measured.
"""


class Figures:
    """A collector for prometheus_client.

    ``front`` answers in this process, with ``settings``. ``shared`` is the folder of
    the workers' files.
    """

    def __init__(self, front: Front, settings: Settings, shared: Path) -> None:
        self._releases = Releases(settings.out)
        self._serving = front.serving
        self._database = front.backstage.database
        self._shared = shared
        # the places whose free space is measured, each a folder or a file
        self._folders = {"releases": settings.out}
        if settings.log_dir:
            self._folders["log"] = Path(settings.log_dir).absolute()
        if settings.database and (path := sqlite_path(settings.database)):
            self._folders[DATABASE_FOLDER] = path

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that can be read now, and leave out the others."""
        yield from self._counted()
        yield _build_info()
        yield from self._release()
        yield from self._last_build()
        yield from _pulls(pull_notes.read(self._releases.out))
        if self._database is not None:
            yield from _database(self._database)
        yield from self._disks()

    def _counted(self) -> Iterable[Metric]:
        """Add the workers' files up.

        prometheus_client creates a file empty and gives it a size next; it cannot read
        an empty one, which a worker leaves for good that is killed in between.
        """
        files = [path for path in self._shared.glob("*_*.db") if path.stat().st_size]
        merged: Iterable[Metric] = MultiProcessCollector.merge(map(str, files))  # type: ignore[no-untyped-call]
        return merged

    # -- releases ----------------------------------------------------------------------

    def _release(self) -> Iterator[Metric]:
        current: str | None = None
        with suppress(Failure):  # /checks/release reports it
            current = self._releases.current()
        if current:
            help = "The current release."
            info = GaugeMetricFamily("shopwindow_release_info", help, labels=("id",))
            yield _with(info, {current: 1})
        if serving := self._serving():
            help = "Seconds since the content should have changed by itself (nextChange); 0 until then."
            seconds = max(0.0, time.time() - serving.next_change)
            yield GaugeMetricFamily("shopwindow_release_overdue_seconds", help, seconds)

    def _last_build(self) -> Iterator[Metric]:
        last, cut = last_build(self._releases.out), killed_build(self._releases.out)
        if not last and not cut:
            return
        succeeded = not cut and last.get("status") == "SUCCESS"
        help = "Whether the last build succeeded; 0 where it failed or was killed."
        yield GaugeMetricFamily("shopwindow_last_build_success", help, float(succeeded))
        with suppress(ValueError):
            ended = datetime.fromisoformat(str(cut.get("started") or last.get("ended")))
            help = "When the last build ended; where it was killed, when it began."
            yield GaugeMetricFamily(
                "shopwindow_last_build_timestamp_seconds", help, ended.timestamp()
            )

    # -- the host ----------------------------------------------------------------------

    def _disks(self) -> Iterator[Metric]:
        free, inodes = {}, {}
        for name, path in self._folders.items():
            with suppress(OSError):
                # or the nearest folder above it that exists
                place = next(each for each in (path, *path.parents) if each.exists())
                disk = os.statvfs(place)
                free[name], inodes[name] = disk.f_bavail * disk.f_frsize, disk.f_favail
        help, labels = "Bytes that are free for the service.", ("folder",)
        room = GaugeMetricFamily("shopwindow_disk_free_bytes", help, labels=labels)
        yield _with(room, free)
        help = "Files that may be created there."
        files = GaugeMetricFamily("shopwindow_disk_free_inodes", help, labels=labels)
        yield _with(files, inodes)
        if DATABASE_FOLDER in self._folders:
            size = 0
            with suppress(OSError):
                size = os.stat(f"{self._folders[DATABASE_FOLDER]}-wal").st_size
            yield GaugeMetricFamily(
                "shopwindow_database_wal_bytes",
                "Size of SQLite's write-ahead log.",
                size,
            )


def _pulls(note: PullNote | None) -> Iterator[Metric]:
    """Yield how pulling goes, on a host that pulls its releases."""
    if note is None:
        return
    help = "Whether the last attempt to pull a release succeeded."
    yield GaugeMetricFamily("shopwindow_pull_success", help, float(not note.fault))
    help = "Attempts to pull a release that failed."
    failed = CounterMetricFamily("shopwindow_pull_faults", help, labels=("kind",))
    yield _with(failed, {kind: note.faults.get(kind, 0) for kind in FAULT_KINDS})
    with suppress(ValueError):
        when = datetime.fromisoformat(note.succeeded).timestamp()
        help = "When an attempt to pull a release last succeeded."
        name = "shopwindow_pull_last_success_timestamp_seconds"
        yield GaugeMetricFamily(name, help, when)
        help = "Seconds since an attempt to pull a release last succeeded."
        age = max(0.0, time.time() - when)
        yield GaugeMetricFamily("shopwindow_pull_age_seconds", help, age)


@cache
def _build_info() -> Metric:
    info = GaugeMetricFamily(
        "shopwindow_build_info",
        "The program and what it runs on.",
        labels=("version", "python", "sqlite"),
    )
    versions = version("shopwindow"), platform.python_version(), sqlite3.sqlite_version
    info.add_metric(versions, 1)
    return info


# -- the database ----------------------------------------------------------------------


def _database(database: Database) -> Iterator[Metric]:
    """Yield whether the database can be reached, and the mails that it holds."""
    fault = database.fault()
    help = "Whether the database can be reached."
    yield GaugeMetricFamily("shopwindow_database_up", help, float(not fault))
    if fault or OUTBOX.name not in database.tables:
        return
    with suppress(Refusal):  # it has gone since
        yield from database.read(_mails)


def _mails(tables: Tables) -> list[Metric]:
    """Return the numbers of mails by state, and how old the oldest is that waits."""
    counts, oldest = tables[OUTBOX].counts(), tables[OUTBOX].oldest()
    help = "Mails of the outbox: waiting or dead-lettered."
    mails = GaugeMetricFamily("shopwindow_mails", help, labels=("state",))
    help = "Mails that were sent or dead-lettered."
    ended = CounterMetricFamily("shopwindow_mails_ended", help, labels=("how",))
    age = (datetime.now(UTC) - oldest).total_seconds() if oldest else 0.0
    help = "Age of the oldest mail that waits; 0 where none does."
    return [
        _with(mails, {state: counts[state] for state in ("waiting", "dead")}),
        _with(ended, {how: counts[f"ended {how}"] for how in ("sent", "dead")}),
        GaugeMetricFamily("shopwindow_mails_oldest_seconds", help, max(0.0, age)),
    ]


def _with(
    family: GaugeMetricFamily | CounterMetricFamily, numbers: Mapping[str, float]
) -> Metric:
    """Add a number for each value of a family's label."""
    for value, number in numbers.items():
        family.add_metric((value,), number)
    return family
