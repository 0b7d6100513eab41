"""Metrics that are looked up at each scrape: release, host and database.

Unlike those of service.metrics, nobody counts them. A figure that cannot be read is
left out of the scrape, so an alert can ask for its absence.
"""

import os
import platform
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from shopwindow.problems import Failure
from shopwindow.release import pull_notes
from shopwindow.release.build_notes import killed_build, last_build
from shopwindow.release.pull_notes import FAULT_KINDS, PullNote
from shopwindow.release.releases import Releases
from shopwindow.service.worker_notes import WorkerNote, WorkerNotes

DATABASE_FOLDER = "database"
"""The name under which a SQLite database stands among the places whose disks are
measured.
"""


@dataclass(frozen=True)
class DatabaseState:
    """What was last observed of the database."""

    fault: str = ""
    """Why it cannot be reached; empty: it can."""
    oldest_mail: datetime | None = None
    """When the oldest mail that waits was promised; None: none waits."""
    has_database: bool = False
    mails: Mapping[str, int] = field(default_factory=dict)
    """The number of mails, by state; states of mails that are done begin with `ended `.
    """


class Figures:
    """A collector for prometheus_client.

    ``folders`` are the places whose free space is measured, by name, each a folder or a
    file. ``state`` returns what was last observed of the database: a scrape must not
    wait for it. ``connections`` returns those of clients, `open` and `waiting`.
    """

    def __init__(
        self,
        releases: Releases,
        workers: WorkerNotes,
        folders: Mapping[str, Path],
        state: Callable[[], DatabaseState],
        connections: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._releases = releases
        self._workers = workers
        self._folders = folders
        self._state = state
        self._connections = connections
        self._next_change: tuple[str, str] = (
            "",
            "",
        )  # a release's id and its nextChange

    def describe(self) -> list[Metric]:
        """Return nothing: prometheus_client would collect everything only to learn the
        names.
        """
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that can be read now, and leave out the others."""
        workers, state = self._workers.running(), self._state()
        yield _build_info()
        yield from self._release(workers)
        yield from self._last_build()
        yield from _pulls(pull_notes.read(self._releases.out))
        yield from _load(workers)
        yield from self._clients()
        yield from _database(state)
        yield from _mails(state)
        yield from self._disks()

    # -- releases ----------------------------------------------------------------------

    def _release(self, workers: list[WorkerNote]) -> Iterator[Metric]:
        current: str | None = None
        with suppress(Failure):  # /checks/release reports it
            current = self._releases.current()
        yield from _served(workers, current)
        if current:
            info = GaugeMetricFamily(
                "shopwindow_release_info", "The current release.", labels=("id",)
            )
            info.add_metric((current,), 1)
            yield info
            yield from self._overdue(current)

    def _overdue(self, current: str) -> Iterator[Metric]:
        # a release never changes, so its manifest is read once
        if self._next_change[0] != current:
            try:
                self._next_change = (
                    current,
                    self._releases.manifest(current).next_change,
                )
            except Failure:
                return
        seconds = time.time() - datetime.fromisoformat(self._next_change[1]).timestamp()
        help = "Seconds since the content should have changed by itself (nextChange); 0 until then."
        yield GaugeMetricFamily(
            "shopwindow_release_overdue_seconds", help, max(0.0, seconds)
        )

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

    def _clients(self) -> Iterator[Metric]:
        if counts := self._connections():
            help = "Connections of clients that the workers have open."
            yield GaugeMetricFamily("shopwindow_connections_open", help, counts["open"])
            help = "Connections of clients that no worker has accepted yet."
            yield GaugeMetricFamily(
                "shopwindow_connections_waiting", help, counts["waiting"]
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
    try:
        program = version("shopwindow")
    except PackageNotFoundError:
        program = "unknown"
    info = GaugeMetricFamily(
        "shopwindow_build_info",
        "The program and what it runs on.",
        labels=("version", "python", "sqlite"),
    )
    info.add_metric((program, platform.python_version(), sqlite3.sqlite_version), 1)
    return info


# -- workers and the database ----------------------------------------------------------


def _served(workers: list[WorkerNote], current: str | None) -> Iterator[Metric]:
    """Yield which release each worker serves, and how many workers serve the current
    one.
    """
    served = GaugeMetricFamily(
        "shopwindow_worker_release_info",
        "The release that a worker serves.",
        labels=("worker", "id"),
    )
    states = {"current": 0, "behind": 0, "without": 0}
    for worker in workers:
        served.add_metric((str(worker.pid), worker.id), 1)
        if not worker.id:
            states["without"] += 1
        elif worker.id == current:
            states["current"] += 1
        else:
            states["behind"] += 1
    yield served
    help = "Workers, by the release that they serve."
    yield _by_label("shopwindow_workers", help, "state", states)


def _load(workers: list[WorkerNote]) -> Iterator[Metric]:
    def total(name: str) -> float:
        return sum(worker.figures.get(name, 0) for worker in workers)

    yield GaugeMetricFamily(
        "shopwindow_threads_busy", "Requests that are being answered.", total("busy")
    )
    yield GaugeMetricFamily(
        "shopwindow_database_queue",
        "Actions that wait for the database.",
        total("waiting"),
    )
    oldest = max((worker.figures.get("oldest", 0.0) for worker in workers), default=0.0)
    yield GaugeMetricFamily(
        "shopwindow_database_queue_oldest_seconds",
        "How long the first of them has waited.",
        oldest,
    )
    connections = {"used": total("used"), "idle": total("idle")}
    help = "Connections of all workers to a database server."
    yield _by_label("shopwindow_database_connections", help, "state", connections)


def _database(state: DatabaseState) -> Iterator[Metric]:
    if state.has_database:
        help = "Whether the database could be reached when it was last tried."
        yield GaugeMetricFamily("shopwindow_database_up", help, float(not state.fault))


def _mails(state: DatabaseState) -> Iterator[Metric]:
    if not state.mails:
        return
    ended = CounterMetricFamily(
        "shopwindow_mails_ended",
        "Mails that were sent or dead-lettered.",
        labels=("how",),
    )
    now = {}
    for name, number in state.mails.items():
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
    age = (
        (datetime.now(UTC) - state.oldest_mail).total_seconds()
        if state.oldest_mail
        else 0.0
    )
    help = "Age of the oldest mail that waits; 0 where none does."
    yield GaugeMetricFamily("shopwindow_mails_oldest_seconds", help, max(0.0, age))


def _by_label(
    name: str, help: str, label: str, values: Mapping[str, float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help, labels=(label,))
    for value, number in values.items():
        family.add_metric((value,), number)
    return family
