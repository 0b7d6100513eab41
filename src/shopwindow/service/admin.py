"""The admin address: /healthz, /readyz, /checks and /metrics, for operators.

How this works. The admin address is a second address of the same workers. So whoever
answers there has proved that requests are answered, by the same event loop and threads
as any other request. A worker speaks for itself; only /metrics are of all workers,
which share them through prometheus_client's files.

Ready means that reads are answered, so a load balancer may ask /readyz. A database that
cannot be reached stops only writes, but it does so on every host at once: it is no part
of readiness, or all hosts would be taken out of service. It, the release and the queue
of writes are /checks of their own, for alerts.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Metric,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from shopwindow.interface.answering.answer import Response
from shopwindow.problems import Failure
from shopwindow.release import pull_notes
from shopwindow.release.moving import behind
from shopwindow.release.pull_notes import PullNote
from shopwindow.release.releases import Releases
from shopwindow.service.database.database import Load
from shopwindow.service.figures import Figures
from shopwindow.service.readiness import (
    HEALTH,
    READY,
    read_fault,
    readiness,
    uncached,
)
from shopwindow.service.serving import Exchange
from shopwindow.service.wsgi import Front

QUEUE_SECONDS = 5.0
"""The longest that a write may wait for the database: half of what its client waits
(database.database).
"""

CheckResult = tuple[bool, dict[str, Any]]
"""Whether all is well, and the details as JSON."""


@dataclass(frozen=True)
class Counted:
    """A collector of what all workers have counted, in the files of a folder."""

    shared: Path

    def collect(self) -> Iterable[Metric]:
        """Add the files up. prometheus_client calls this for each scrape.

        It creates a file empty and gives it a size next; it cannot read an empty one,
        which a worker leaves for good that is killed in between.
        """
        files = [path for path in self.shared.glob("*_*.db") if path.stat().st_size]
        merged: Iterable[Metric] = MultiProcessCollector.merge(map(str, files))  # type: ignore[no-untyped-call]
        return merged


class Admin:
    """Answers the requests of operators.

    Args:
        front: what answers all others in this process.
        port: of the admin address.
        out: the output directory.
        shared: the folder of the workers' metrics.
        folders: further places whose free space is measured, by name.
    """

    def __init__(
        self,
        front: Front,
        port: int,
        out: Path,
        shared: Path,
        folders: Mapping[str, Path] | None = None,
    ) -> None:
        self.port = port
        self._front = front
        self._releases = Releases(out)
        self._database = front.backstage.database
        self._registry = CollectorRegistry()
        self._registry.register(Counted(shared))
        places = {"releases": out, **(folders or {})}
        figures = Figures(self._releases, places, front.serving, self._database)
        self._registry.register(figures)

    def answer(self, path: str) -> Exchange:
        """Answer a request by its path alone."""
        checks = self._checks()
        name = path.removeprefix("/checks/")
        if path == HEALTH:
            response = readiness(path, None)
        elif path == READY:
            response = self._ready()
        elif path == "/metrics":
            response = uncached(
                200, CONTENT_TYPE_LATEST, generate_latest(self._registry)
            )
        elif path == "/checks":
            results = {name: check() for name, check in checks.items()}
            is_well = all(well for well, _ in results.values())
            details = {name: details for name, (_, details) in results.items()}
            response = _json(is_well, details)
        elif name in checks and name != path:
            response = _json(*checks[name]())
        else:
            paths = (HEALTH, READY, "/checks", *(f"/checks/{name}" for name in checks))
            text = f"{', '.join(paths)} or /metrics\n"
            response = uncached(404, "text/plain", text.encode())
        return Exchange(response)

    def _ready(self) -> Response:
        """Respond whether this worker answers reads.

        Also returned are the release's id and its age in seconds; where nothing newer
        can be served, the reason; and how the last pull went, which is no part of
        readiness, since what was pulled before is served.
        """
        serving = self._front.serving({})
        fault = read_fault(serving)
        value: dict[str, Any] = {"ready": not fault}
        if serving:
            age = _age(self._releases.built(serving.id))
            value |= {"id": serving.id, "age": age}
            if fault:
                value["reads"] = fault
        if newer := self._front.fault():
            value["release"] = newer
        if note := pull_notes.read(self._releases.out):
            value["pull"] = _pull_details(note)
        return _json(not fault, value)

    def _checks(self) -> dict[str, Callable[[], CheckResult]]:
        checks = {
            "release": self._check_release,
            "database": self._check_database,
            "queue": self._check_queue,
        }
        if (self._releases.out / pull_notes.PULLED).exists():
            checks["pull"] = self._check_pull
        return checks

    def _check_release(self) -> CheckResult:
        """Check that this worker serves the current release, and that it is in force."""
        current = None
        try:
            current = self._releases.current()
            late = behind(self._releases, datetime.now(UTC))
        except Failure as failure:
            late = str(failure)
        serving = self._front.serving({})
        id = serving.id if serving else ""
        well = id == current and not late
        fault = self._front.fault() or late
        return well, {"ok": well, "current": current, "id": id, "fault": fault}

    def _check_pull(self) -> CheckResult:
        """Check that the last attempt to pull a release succeeded."""
        note = pull_notes.read(self._releases.out)
        if note is None:
            return False, {"ok": False, "fault": f"{pull_notes.PULLED} cannot be read"}
        return not note.fault, {"ok": not note.fault, **_pull_details(note)}

    def _check_database(self) -> CheckResult:
        """Check that the database can be reached, by asking it now."""
        if self._database is None:
            return True, {"ok": True, "fault": "", "database": False}
        fault = self._database.fault()
        return not fault, {"ok": not fault, "fault": fault, "database": True}

    def _check_queue(self) -> CheckResult:
        """Check that this worker's writes do not wait longer than QUEUE_SECONDS."""
        load = self._database.load() if self._database else Load()
        well = load.oldest <= QUEUE_SECONDS
        return well, {"ok": well, "waiting": load.waiting, "oldest": load.oldest}


def _pull_details(note: PullNote) -> dict[str, Any]:
    """Return how the last attempt to pull went."""
    names = ("source", "release", "succeeded", "kind", "fault", "since")
    details = {name: getattr(note, name) for name in names}
    return {name: text for name, text in details.items() if text}


def _json(is_well: bool, value: Mapping[str, Any]) -> Response:
    status = 200 if is_well else 503
    body = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    return uncached(status, "application/json", body)


def _age(built: str) -> float | None:
    """Return the seconds since a release was built; None where its note has no such
    time.
    """
    try:
        return round(
            (datetime.now(UTC) - datetime.fromisoformat(built)).total_seconds(), 1
        )
    except (ValueError, TypeError):
        return None
