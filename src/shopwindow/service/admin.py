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

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from shopwindow.interface.answering.answer import Response
from shopwindow.problems import Failure
from shopwindow.release import pull_notes
from shopwindow.release.moving import behind
from shopwindow.release.releases import Releases
from shopwindow.service.database.database import Load
from shopwindow.service.figures import Figures
from shopwindow.service.readiness import PATHS, checked, read_fault, readiness, uncached
from shopwindow.service.settings import Settings
from shopwindow.service.wsgi import Front

QUEUE_SECONDS = 5.0
"""The longest that a write may wait for the database: half of what its client waits
(database.database).
"""

CheckResult = dict[str, Any]
"""The details as JSON; ``ok``: whether all is well."""


class Admin:
    """Answers the requests of operators.

    Args:
        front: what answers all others in this process.
        port: of the admin address.
        settings: of the service.
        shared: the folder of the workers' metrics.
    """

    def __init__(
        self, front: Front, port: int, settings: Settings, shared: Path
    ) -> None:
        self.port = port
        self._front = front
        self._releases = Releases(settings.out)
        self._database = front.backstage.database
        self._figures = Figures(front, settings, shared)

    def answer(self, path: str) -> Response:
        """Answer a request by its path alone."""
        if path in PATHS:
            return readiness(path, self._front.serving())
        if path == "/metrics":
            return uncached(200, CONTENT_TYPE_LATEST, generate_latest(self._figures))
        checks = self._checks()
        if path == "/checks":
            results = {name: check() for name, check in checks.items()}
            return checked(all(each["ok"] for each in results.values()), results)
        if check := checks.get(path.removeprefix("/checks/")):
            result = check()
            return checked(result["ok"], result)
        paths = f"{', '.join(PATHS)}, /checks or /metrics\n"
        return uncached(404, "text/plain", paths.encode())

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
        """Check that this worker serves the current release, that reads of it succeed,
        and that it is in force.
        """
        current = None
        try:
            current = self._releases.current()
            late = behind(self._releases, datetime.now(UTC))
        except Failure as failure:
            late = str(failure)
        serving = self._front.serving()
        id = serving.id if serving else ""
        fault = self._front.fault() or read_fault(serving) or late
        well = id == current and not fault
        return {"ok": well, "current": current, "id": id, "fault": fault}

    def _check_pull(self) -> CheckResult:
        """Check that the last attempt to pull a release succeeded."""
        note = pull_notes.read(self._releases.out)
        if note is None:
            return {"ok": False, "fault": f"{pull_notes.PULLED} cannot be read"}
        names = ("source", "release", "succeeded", "kind", "fault", "since")
        known = {name: text for name in names if (text := getattr(note, name))}
        return {"ok": not note.fault, **known}

    def _check_database(self) -> CheckResult:
        """Check that the database can be reached, by asking it now."""
        fault = self._database.fault() if self._database else ""
        return {"ok": not fault, "fault": fault, "database": self._database is not None}

    def _check_queue(self) -> CheckResult:
        """Check that this worker's writes do not wait longer than QUEUE_SECONDS."""
        load = self._database.load() if self._database else Load()
        well = load.oldest <= QUEUE_SECONDS
        return {"ok": well, "waiting": load.waiting, "oldest": load.oldest}
