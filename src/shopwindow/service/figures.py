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
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Failure, Refusal
from shopwindow.release import pull_notes
from shopwindow.release.build_notes import killed_build, last_build
from shopwindow.release.pull_notes import FAULT_KINDS
from shopwindow.release.releases import Releases
from shopwindow.service.database.address import sqlite_path
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
        yield _build_info()
        for figures in (
            self._counted(),
            self._release(),
            self._last_build(),
            self._pulls(),
            self._reached_database(),
            self._disks(),
        ):
            with suppress(OSError, ValueError, Failure, Refusal):
                yield from figures

    def _counted(self) -> Iterator[Metric]:
        """Add the workers' files up.

        prometheus_client creates a file empty and gives it a size next; it cannot read
        an empty one, which a worker leaves for good that is killed in between.
        """
        files = [path for path in self._shared.glob("*_*.db") if path.stat().st_size]
        yield from MultiProcessCollector.merge(map(str, files))  # type: ignore[no-untyped-call]

    def _release(self) -> Iterator[Metric]:
        if serving := self._serving():
            yield GaugeMetricFamily(
                "shopwindow_release_overdue_seconds",
                "Seconds since the content should have changed by itself (nextChange); 0 until then.",
                max(0.0, time.time() - serving.next_change),
            )
        # a fault of it is in /checks/release
        if current := self._releases.current():
            info = GaugeMetricFamily(
                "shopwindow_release_info", "The current release.", labels=("id",)
            )
            info.add_metric((current,), 1)
            yield info

    def _last_build(self) -> Iterator[Metric]:
        last, cut = last_build(self._releases.out), killed_build(self._releases.out)
        if not last and not cut:
            return
        yield GaugeMetricFamily(
            "shopwindow_last_build_success",
            "Whether the last build succeeded; 0 where it failed or was killed.",
            not cut and last.get("status") == "SUCCESS",
        )
        ended = datetime.fromisoformat(str(cut.get("started") or last.get("ended")))
        yield GaugeMetricFamily(
            "shopwindow_last_build_timestamp_seconds",
            "When the last build ended; where it was killed, when it began.",
            ended.timestamp(),
        )

    def _pulls(self) -> Iterator[Metric]:
        """Yield how pulling goes, on a host that pulls its releases."""
        note = pull_notes.read(self._releases.out)
        if note is None:
            return
        yield GaugeMetricFamily(
            "shopwindow_pull_success",
            "Whether the last attempt to pull a release succeeded.",
            not note.fault,
        )
        failed = CounterMetricFamily(
            "shopwindow_pull_faults",
            "Attempts to pull a release that failed.",
            labels=("kind",),
        )
        for kind in FAULT_KINDS:
            failed.add_metric((kind,), note.faults.get(kind, 0))
        yield failed
        when = datetime.fromisoformat(note.succeeded).timestamp()
        yield GaugeMetricFamily(
            "shopwindow_pull_last_success_timestamp_seconds",
            "When an attempt to pull a release last succeeded.",
            when,
        )
        yield GaugeMetricFamily(
            "shopwindow_pull_age_seconds",
            "Seconds since an attempt to pull a release last succeeded.",
            max(0.0, time.time() - when),
        )

    def _reached_database(self) -> Iterator[Metric]:
        """Yield whether the database can be reached, and the mails that it holds."""
        if self._database is None:
            return
        fault = self._database.fault()
        yield GaugeMetricFamily(
            "shopwindow_database_up", "Whether the database can be reached.", not fault
        )
        if not fault and OUTBOX.name in self._database.tables:
            yield from self._database.read(_mails)

    def _disks(self) -> Iterator[Metric]:
        labels = ("folder",)
        room = GaugeMetricFamily(
            "shopwindow_disk_free_bytes",
            "Bytes that are free for the service.",
            labels=labels,
        )
        files = GaugeMetricFamily(
            "shopwindow_disk_free_inodes",
            "Files that may be created there.",
            labels=labels,
        )
        for name, path in self._folders.items():
            with suppress(OSError):
                # or the nearest folder above it that exists
                place = next(each for each in (path, *path.parents) if each.exists())
                disk = os.statvfs(place)
                room.add_metric((name,), disk.f_bavail * disk.f_frsize)
                files.add_metric((name,), disk.f_favail)
        yield room
        yield files
        if DATABASE_FOLDER in self._folders:
            log = Path(f"{self._folders[DATABASE_FOLDER]}-wal")
            yield GaugeMetricFamily(
                "shopwindow_database_wal_bytes",
                "Size of SQLite's write-ahead log.",
                log.stat().st_size if log.exists() else 0,
            )


BUILD = version("shopwindow"), platform.python_version(), sqlite3.sqlite_version
"""What runs, as of the start of this process: an upgrade may replace what is installed
before it ends.
"""


def _build_info() -> Metric:
    info = GaugeMetricFamily(
        "shopwindow_build_info",
        "The program and what it runs on.",
        labels=("version", "python", "sqlite"),
    )
    info.add_metric(BUILD, 1)
    return info


def _mails(tables: Tables) -> list[Metric]:
    """Return the numbers of mails by state, and how old the oldest is that waits."""
    counts, oldest = tables[OUTBOX].counts(), tables[OUTBOX].oldest()
    mails = GaugeMetricFamily(
        "shopwindow_mails",
        "Mails of the outbox: waiting or dead-lettered.",
        labels=("state",),
    )
    for state in ("waiting", "dead"):
        mails.add_metric((state,), counts[state])
    ended = CounterMetricFamily(
        "shopwindow_mails_ended",
        "Mails that were sent or dead-lettered.",
        labels=("how",),
    )
    for how in ("sent", "dead"):
        ended.add_metric((how,), counts[f"ended {how}"])
    age = GaugeMetricFamily(
        "shopwindow_mails_oldest_seconds",
        "Age of the oldest mail that waits; 0 where none does.",
        max(0.0, (datetime.now(UTC) - oldest).total_seconds()) if oldest else 0,
    )
    return [mails, ended, age]
