"""The admin address: /healthz, /readyz, /checks and /metrics, for operators.

How this works. Ready means that reads are answered, so a load balancer may ask /readyz.
A database that cannot be reached stops only writes, but it does so on every host at
once: it is no part of readiness, or all hosts would be taken out of service. It, the
release and the queue of writes are /checks of their own, for alerts.

The address lives in the parent of the workers. What workers know comes from their notes
(service.worker_notes). What the database says is observed by a thread, so that a scrape
of /metrics never waits for it.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from socket import AF_INET, AF_INET6
from socketserver import ThreadingMixIn
from threading import Event, Lock, Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import orjson
from prometheus_client import CollectorRegistry, make_wsgi_app

from shopwindow.interface.outbox import OUTBOX
from shopwindow.problems import Failure, Refusal
from shopwindow.release import pull_notes
from shopwindow.release.pull_notes import PullNote
from shopwindow.release.releases import Releases
from shopwindow.service import journal
from shopwindow.service.database.database import Database
from shopwindow.service.figures import DatabaseState, Figures
from shopwindow.service.worker_notes import WorkerNote, WorkerNotes

IDLE_SECONDS = 5
"""For which a connection may stay without a request, or without the next piece of one.
"""

OBSERVE_SECONDS = 5.0
"""Between two looks at the database, and two removals of what ended workers left."""

QUEUE_SECONDS = 5.0
"""The longest that a write may wait for the database: half of what its client waits
(database.database).
"""

CheckResult = tuple[bool, dict[str, Any]]
"""Whether all is well, and the details as JSON."""

AdminResponse = tuple[str, str, bytes]
"""Status line, media type and body."""


class Admin:
    """The WSGI callable of the admin address.

    Args:
        out: the output directory.
        shared: the folder of the workers' metrics and notes.
        database: None where the service has none.
        mails: returns the number of mails of the outbox, by state.
        probe: returns why no worker answers a read, or an empty text; None: nobody asks.
        folders: further places whose free space is measured, by name.
        connections: returns the clients' connections, `open` and `waiting`.
    """

    def __init__(
        self,
        out: Path,
        shared: Path,
        database: Database | None = None,
        mails: Callable[[], Mapping[str, int]] | None = None,
        *,
        probe: Callable[[], str] | None = None,
        folders: Mapping[str, Path] | None = None,
        connections: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._releases = Releases(out)
        self._workers = WorkerNotes(shared)
        self._database = database
        self._mails = mails or dict
        self._probe = probe
        self._observed = DatabaseState()
        self._metrics_lock = Lock()
        self._stopped = Event()
        registry = CollectorRegistry()
        registry.register(self._workers)
        figures = Figures(
            self._releases,
            self._workers,
            {"releases": out, **(folders or {})},
            self._database_state,
            connections,
        )
        registry.register(figures)
        self._metrics = make_wsgi_app(registry, disable_compression=True)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            with self._metrics_lock:
                return self._metrics(environ, start_response)
        pages = {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/checks": self._all_checks,
            **{
                f"/checks/{name}": _as_response(check)
                for name, check in self._checks().items()
            },
        }
        status, media_type, body = pages.get(path, self._unknown)()
        start_response(
            status, [("Content-Type", media_type), ("Cache-Control", "no-store")]
        )
        return [body]

    def serve(self, host: str, port: int) -> None:
        """Answer on ``host:port`` and observe the database, in threads of this process.

        Raises OSError where the address cannot be listened at.
        """
        server = make_server(
            host, port, self, server_class=_ThreadingServer, handler_class=_QuietHandler
        )
        Thread(target=server.serve_forever, name="admin", daemon=True).start()
        Thread(target=self._keep_observing, name="observer", daemon=True).start()

    # -- the database's state ----------------------------------------------------------

    def _keep_observing(self) -> None:
        while not self._stopped.is_set():
            try:
                self.observe()
            except Exception as error:  # a fault of ours must not end this thread
                journal.failure(error)
            self._stopped.wait(OBSERVE_SECONDS)

    def stop(self) -> None:
        """Observe no more. The workers' files are left alone from now on, so that their
        folder can be removed.
        """
        with self._metrics_lock:
            self._stopped.set()

    def observe(self) -> None:
        """Remove what ended workers left, and ask the database for its state, once.

        The lock keeps a scrape from reading a worker's counts twice while they are
        added up.
        """
        with self._metrics_lock:
            if self._stopped.is_set():
                return
            self._workers.remove_ended()
        if self._database is None:
            return
        fault, oldest = self._database.fault(), None
        if not fault and OUTBOX.name in self._database.tables:
            with suppress(Refusal):
                oldest = self._database.read(lambda tables: tables[OUTBOX].oldest())
        if fault and fault != self._observed.fault:
            journal.error("database_unavailable", fault)
        self._observed = DatabaseState(fault, oldest, has_database=True)

    def _database_state(self) -> DatabaseState:
        """Return what was last observed, with the number of mails as it is now."""
        return DatabaseState(
            self._observed.fault,
            self._observed.oldest_mail,
            self._observed.has_database,
            self._mails(),
        )

    # -- responses ---------------------------------------------------------------------

    def _health(self) -> AdminResponse:
        return "200 OK", "text/plain", b"ok\n"

    def _unknown(self) -> AdminResponse:
        paths = ", ".join(
            (
                "/healthz",
                "/readyz",
                "/checks",
                *(f"/checks/{name}" for name in self._checks()),
            )
        )
        return "404 Not Found", "text/plain", f"{paths} or /metrics\n".encode()

    def _ready(self) -> AdminResponse:
        """Respond whether reads are answered.

        They are if every worker has a release, and one of them has just answered a
        read. Also returned are the release's id and its age in seconds. While workers
        serve different releases, these are of the worker that is behind, with the
        reason if there is one. How the last pull went is no part of readiness, since
        what was pulled before is served.
        """
        hindmost = behind(self._workers.running())
        value: dict[str, Any] = {"ready": hindmost is not None and hindmost.id != ""}
        if hindmost is not None and hindmost.id:
            value |= {"id": hindmost.id, "age": _age(self._releases.built(hindmost.id))}
        if hindmost is not None and hindmost.fault:
            value["release"] = hindmost.fault
        if note := pull_notes.read(self._releases.out):
            value["pull"] = _pull_details(note)
        if value["ready"] and self._probe and (fault := self._probe()):
            value |= {"ready": False, "reads": fault}
        return _response(value["ready"], value)

    def _all_checks(self) -> AdminResponse:
        results = {name: check() for name, check in self._checks().items()}
        is_well = all(well for well, _ in results.values())
        return _response(
            is_well, {name: details for name, (_, details) in results.items()}
        )

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
        """Check that every worker serves the current release.

        The details list which release each worker serves, and why nothing newer.
        """
        try:
            current, fault = self._releases.current(), ""
        except Failure as failure:
            current, fault = None, str(failure)
        workers = self._workers.running()
        well = (
            current is not None
            and bool(workers)
            and all(worker.id == current for worker in workers)
        )
        served = {
            str(worker.pid): {"id": worker.id, "fault": worker.fault}
            for worker in workers
        }
        return well, {"ok": well, "current": current, "fault": fault, "workers": served}

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
        """Check that writes do not wait for the database longer than QUEUE_SECONDS."""
        loads = [worker.figures for worker in self._workers.running()]
        waiting = sum(load.get("waiting", 0) for load in loads)
        oldest = max((load.get("oldest", 0.0) for load in loads), default=0.0)
        well = oldest <= QUEUE_SECONDS
        return well, {"ok": well, "waiting": int(waiting), "oldest": oldest}


def behind(workers: list[WorkerNote]) -> WorkerNote | None:
    """Return the worker whose release was loaded first, or one that has none.

    Returns None where no worker is running.
    """
    return min(workers, key=lambda worker: worker.loaded, default=None)


def _pull_details(note: PullNote) -> dict[str, Any]:
    """Return how the last attempt to pull went."""
    names = ("source", "release", "succeeded", "kind", "fault", "since")
    details = {name: getattr(note, name) for name in names}
    return {name: text for name, text in details.items() if text}


def _as_response(check: Callable[[], CheckResult]) -> Callable[[], AdminResponse]:
    return lambda: _response(*check())


def _response(well: bool, value: Mapping[str, Any]) -> AdminResponse:
    status = "200 OK" if well else "503 Service Unavailable"
    return (
        status,
        "application/json",
        orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE),
    )


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


class _ThreadingServer(ThreadingMixIn, WSGIServer):
    """A server with a thread for each connection, so that a silent one delays no other."""

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], handler: type[WSGIRequestHandler]
    ) -> None:
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, handler)


class _QuietHandler(WSGIRequestHandler):
    """A handler that writes nothing to the log."""

    timeout = IDLE_SECONDS

    def handle(self) -> None:
        """Answer the requests of a connection, until it ends."""
        with suppress(OSError):  # the client is silent for too long, or has gone
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: the access log is for requests of apps."""
