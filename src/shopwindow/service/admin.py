"""/healthz, /readyz, /checks and /metrics, for operators, on an address of their own.

Ready means that reads are answered. A database that is away stops writes only, and would take
every host out of service at once; it, the release and the queue are checks of their own, to be
alerted on.
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
from prometheus_client import CollectorRegistry, make_wsgi_app, multiprocess

from shopwindow.interface.outbox import OUTBOX
from shopwindow.problems import Failure, Refusal
from shopwindow.release.publish import Releases
from shopwindow.service import journal
from shopwindow.service.database.database import Database
from shopwindow.service.figures import Figures, Known
from shopwindow.service.worker_notes import WorkerNote, WorkerNotes

IDLE_SECONDS = 5
"""For which the admin address waits for a request, and for the next piece of it."""

OBSERVE_SECONDS = 5.0
"""How often the database is asked whether it can be had, and what ended workers left is
removed.
"""

QUEUE_SECONDS = 5.0
"""An action that waits longer for the database is a fault: half of what its client waits
(database.database).
"""

Checked = tuple[bool, dict[str, Any]]
"""Whether all is well, and what there is to say."""


class Admin:
    """The WSGI callable. ``shared``: the folder of the workers' metrics; ``probe``: why no
    worker answers a read.
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
        self._known = Known()
        self._turn = Lock()
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry, path=str(shared))  # type: ignore[no-untyped-call]
        figures = Figures(
            self._releases,
            self._workers,
            {"releases": out, **(folders or {})},
            self._now,
            connections,
        )
        registry.register(figures)
        self._metrics = make_wsgi_app(registry, disable_compression=True)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            with self._turn:
                return self._metrics(environ, start_response)
        answers = {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/checks": self._all_checks,
            **{f"/checks/{name}": _as_answer(check) for name, check in self._checks().items()},
        }
        status, media_type, body = answers.get(path, self._unknown)()
        start_response(status, [("Content-Type", media_type), ("Cache-Control", "no-store")])
        return [body]

    def serve(self, host: str, port: int) -> None:
        """Answer on ``host:port``, and observe the database, in threads of this process. Raises
        OSError.
        """
        server = make_server(host, port, self, server_class=_Server, handler_class=_Quiet)
        Thread(target=server.serve_forever, name="admin", daemon=True).start()
        Thread(target=self._observe, name="observer", daemon=True).start()

    # -- what is observed ----------------------------------------------------------------------

    def _observe(self) -> None:
        pause = Event()
        while True:
            try:
                self.look()
            except Exception as error:  # a fault of ours must not end the observing
                journal.failure(error)
            pause.wait(OBSERVE_SECONDS)

    def look(self) -> None:
        """Ask the database how it is, once, and remove what ended workers left."""
        with self._turn:
            self._workers.remove_ended()
        if self._database is None:
            return
        fault, oldest = self._database.fault(), None
        if not fault and OUTBOX.name in self._database.tables:
            with suppress(Refusal):
                oldest = self._database.read(lambda tables: tables[OUTBOX].oldest())
        if fault and fault != self._known.fault:
            journal.error("database_unavailable", fault)
        self._known = Known(fault, oldest, has_database=True)

    def _now(self) -> Known:
        return Known(
            self._known.fault, self._known.oldest_mail, self._known.has_database, self._mails()
        )

    # -- answers -------------------------------------------------------------------------------

    def _health(self) -> tuple[str, str, bytes]:
        return "200 OK", "text/plain", b"ok\n"

    def _unknown(self) -> tuple[str, str, bytes]:
        paths = ", ".join(
            ("/healthz", "/readyz", "/checks", *(f"/checks/{name}" for name in self._checks()))
        )
        return "404 Not Found", "text/plain", f"{paths} or /metrics\n".encode()

    def _ready(self) -> tuple[str, str, bytes]:
        """Whether reads are answered: every worker has a release, and one of them has just
        answered a read.

        Also the release's id, and its age in seconds since it was built. While workers differ,
        of the one that is behind; and why it is, where the release after it cannot be loaded.
        """
        last = behind(self._workers.living())
        value: dict[str, Any] = {"ready": last is not None and last.id != ""}
        if last is not None and last.id:
            value |= {"id": last.id, "age": _age(self._releases.built(last.id))}
        if last is not None and last.fault:
            value["release"] = last.fault
        if value["ready"] and self._probe and (fault := self._probe()):
            value |= {"ready": False, "reads": fault}
        return _answer(value["ready"], value)

    def _all_checks(self) -> tuple[str, str, bytes]:
        done = {name: check() for name, check in self._checks().items()}
        return _answer(
            all(well for well, _ in done.values()),
            {name: told for name, (_, told) in done.items()},
        )

    def _checks(self) -> dict[str, Callable[[], Checked]]:
        return {
            "release": self._check_release,
            "database": self._check_database,
            "queue": self._check_queue,
        }

    def _check_release(self) -> Checked:
        """Whether every worker serves the current release; which one each serves, and why not
        the newer.
        """
        try:
            current, fault = self._releases.current(), ""
        except Failure as failure:
            current, fault = None, str(failure)
        workers = self._workers.living()
        well = (
            current is not None
            and bool(workers)
            and all(worker.id == current for worker in workers)
        )
        served = {
            str(worker.pid): {"id": worker.id, "fault": worker.fault} for worker in workers
        }
        return well, {"ok": well, "current": current, "fault": fault, "workers": served}

    def _check_database(self) -> Checked:
        """Whether the database can be had."""
        if self._database is None:
            return True, {"ok": True, "fault": "", "database": False}
        fault = self._database.fault()
        return not fault, {"ok": not fault, "fault": fault, "database": True}

    def _check_queue(self) -> Checked:
        """Whether actions get to the database in time."""
        figures = [worker.figures for worker in self._workers.living()]
        waiting = sum(each.get("waiting", 0) for each in figures)
        oldest = max((each.get("oldest", 0.0) for each in figures), default=0.0)
        well = oldest <= QUEUE_SECONDS
        return well, {"ok": well, "waiting": int(waiting), "oldest": oldest}


def behind(workers: list[WorkerNote]) -> WorkerNote | None:
    """The worker whose release is the oldest loaded, one without any before all others; None
    where there is none.
    """
    return min(workers, key=lambda worker: worker.loaded, default=None)


def _as_answer(check: Callable[[], Checked]) -> Callable[[], tuple[str, str, bytes]]:
    return lambda: _answer(*check())


def _answer(well: bool, value: Mapping[str, Any]) -> tuple[str, str, bytes]:
    status = "200 OK" if well else "503 Service Unavailable"
    return status, "application/json", orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _age(built: str) -> float | None:
    """Seconds since a release was built; None where its note does not say when."""
    try:
        return round((datetime.now(UTC) - datetime.fromisoformat(built)).total_seconds(), 1)
    except (ValueError, TypeError):
        return None


class _Server(ThreadingMixIn, WSGIServer):
    """A thread a connection: one on which nothing comes keeps nobody from learning whether the
    service is well.
    """

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[WSGIRequestHandler]) -> None:
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, handler)


class _Quiet(WSGIRequestHandler):
    timeout = IDLE_SECONDS

    def handle(self) -> None:
        with suppress(OSError):  # whoever asked says nothing more, or has gone
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """The access log is for what apps ask."""
