"""Metrics that are looked up at each scrape: release, host and database.

Unlike those of service.metrics, nobody counts them. A figure that cannot be read is
left out of the scrape, so an alert can ask for its absence.
"""

import os
import platform
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Failure, Refusal
from shopwindow.release import pull_notes
from shopwindow.release.build_notes import killed_build, last_build
from shopwindow.release.pull_notes import FAULT_KINDS, PullNote
from shopwindow.release.releases import Releases
from shopwindow.service.database.database import Database
from shopwindow.service.wsgi import FindServing

DATABASE_FOLDER = "database"
"""The name under which a SQLite database stands among the places whose disks are
measured.
"""


class Figures:
    """A collector for prometheus_client.

    ``folders`` are the places whose free space is measured, by name, each a folder or a
    file. ``serving`` returns the release being served. ``database``: None where the
    service has none.
    """

    def __init__(
        self,
        releases: Releases,
        folders: Mapping[str, Path],
        serving: FindServing,
        database: Database | None = None,
    ) -> None:
        self._releases = releases
        self._serving = serving
        self._folders = folders
        self._database = database

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that can be read now, and leave out the others."""
        yield _build_info()
        yield from self._release()
        yield from self._last_build()
        yield from _pulls(pull_notes.read(self._releases.out))
        if self._database is not None:
            yield from _database(self._database)
        yield from self._disks()

    # -- releases ----------------------------------------------------------------------

    def _release(self) -> Iterator[Metric]:
        current: str | None = None
        with suppress(Failure):  # /checks/release reports it
            current = self._releases.current()
        if current:
            info = GaugeMetricFamily(
                "shopwindow_release_info", "The current release.", labels=("id",)
            )
            info.add_metric((current,), 1)
            yield info
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
                disk = os.statvfs(_existing(path))
                free[name], inodes[name] = disk.f_bavail * disk.f_frsize, disk.f_favail
        yield _by_label(
            "shopwindow_disk_free_bytes",
            "Bytes that are free for the service.",
            "folder",
            free,
        )
        yield _by_label(
            "shopwindow_disk_free_inodes",
            "Files that may be created there.",
            "folder",
            inodes,
        )
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
    for kind in FAULT_KINDS:
        failed.add_metric((kind,), note.faults.get(kind, 0))
    yield failed
    with suppress(ValueError):
        when = datetime.fromisoformat(note.succeeded).timestamp()
        help = "When an attempt to pull a release last succeeded."
        name = "shopwindow_pull_last_success_timestamp_seconds"
        yield GaugeMetricFamily(name, help, when)
        help = "Seconds since an attempt to pull a release last succeeded."
        age = max(0.0, time.time() - when)
        yield GaugeMetricFamily("shopwindow_pull_age_seconds", help, age)


def _existing(path: Path) -> Path:
    """Return a path, or the nearest folder above it that exists."""
    return next(
        place for place in (path.absolute(), *path.absolute().parents) if place.exists()
    )


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
        yield from _mails(*database.read(_outbox))


def _outbox(tables: Tables) -> tuple[Mapping[str, int], datetime | None]:
    outbox = tables[OUTBOX]
    return outbox.counts(), outbox.oldest()


def _mails(counts: Mapping[str, int], oldest: datetime | None) -> Iterator[Metric]:
    """Yield the numbers of mails by state, and how old the oldest is that waits.

    States of mails that are done begin with `ended `.
    """
    ended = CounterMetricFamily(
        "shopwindow_mails_ended",
        "Mails that were sent or dead-lettered.",
        labels=("how",),
    )
    now = {}
    for name, number in counts.items():
        if name.startswith("ended "):
            ended.add_metric((name.removeprefix("ended "),), number)
        else:
            now[name] = number
    yield _by_label(
        "shopwindow_mails",
        "Mails of the outbox: waiting or dead-lettered.",
        "state",
        now,
    )
    yield ended
    age = (datetime.now(UTC) - oldest).total_seconds() if oldest else 0.0
    help = "Age of the oldest mail that waits; 0 where none does."
    yield GaugeMetricFamily("shopwindow_mails_oldest_seconds", help, max(0.0, age))


def _by_label(
    name: str, help: str, label: str, values: Mapping[str, float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help, labels=(label,))
    for value, number in values.items():
        family.add_metric((value,), number)
    return family
