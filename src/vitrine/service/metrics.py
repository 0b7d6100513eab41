"""What operators see: a line a request in the access log, Prometheus metrics of all workers, health."""

import os
import select
import sys
import time
import traceback
from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from socket import AF_INET, AF_INET6
from socketserver import ThreadingMixIn
from threading import Event, Lock, Thread, main_thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import orjson
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from vitrine.problems import Failure
from vitrine.release.publish import Releases
from vitrine.service.serving import Exchange, Serving
from vitrine.service.sql.database import Database


class Durations(Histogram):
    """A histogram that many values are put into at once."""

    def observe_all(self, values: Sequence[float]) -> None:
        """The same as ``observe`` of each: that writes twice into mapped memory for a value, this for all of them."""
        self._sum.inc(sum(values))
        for bucket, number in Tally(bisect_left(self._upper_bounds, value) for value in values).items():
            self._buckets[bucket].inc(number)


REQUESTS = Counter("vitrine_requests", "Requests answered.", ("operation", "status"))
SECONDS = Durations(
    "vitrine_request_seconds",
    "Seconds from request to response, without the network.",
    ("operation",),
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3),
)

LOG_LINES = Counter("vitrine_log_lines", "Lines of the mobile log that were kept.")
LOG_REFUSED = Counter(
    "vitrine_log_refused",
    "Entries for the mobile log that the application's loggingInfo does not admit: disabled, count or level.",
    ("application", "reason"),
)
LOG_FAILURES = Counter("vitrine_log_failures", "Requests whose lines could not be kept; they were answered 503.")
BATCHES = Histogram(
    "vitrine_store_batch_actions",
    "Actions that one transaction of the store kept.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)
WRITE_SECONDS = Histogram(
    "vitrine_store_write_seconds",
    "Seconds of a transaction of the store, until it was durable.",
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)
FAILURES = Counter("vitrine_store_failures", "Actions that the store could not keep: answered with 503.")


class StoreMeter:
    """The port Meter (service.sql.database), as metrics."""

    def wrote(self, actions: int, seconds: float) -> None:
        BATCHES.observe(actions)
        WRITE_SECONDS.observe(seconds)

    def failed(self, actions: int) -> None:
        FAILURES.inc(actions)


IDLE_SECONDS = 5
"""For which the admin address waits for a request, and for the next piece of it."""

FLUSH_SECONDS = 0.1
FLUSH_NOTES = 256

Note = tuple[int, str, str, str | None, int, int, float]
"""When (nanoseconds since 1970), method, operation, application, status, bytes of the body, seconds."""


class Metrics:
    """Notes each exchange. ``log``: also a line of JSON on standard output, never with keys or queries.

    What was noted is counted and written together, after a tenth of a second at most, and when the process ends:
    by itself each would take a third of a live answer's time. A process that is killed loses the last tenth.
    """

    def __init__(self, *, log: bool = True) -> None:
        self._log = log
        self._second = (0, "")
        self._start()
        os.register_at_fork(after_in_child=self._start)  # a thread does not survive a fork

    def note(self, done: Exchange, method: str, seconds: float) -> None:
        response = done.response
        self._notes.append(
            (time.time_ns(), method, done.operation, done.application, response.status, len(response.body), seconds)
        )
        if len(self._notes) >= FLUSH_NOTES:
            self.flush()

    def flush(self) -> None:
        """Count and write what was noted until now."""
        with self._turn:
            notes = self._notes[:]
            del self._notes[: len(notes)]  # what other threads have noted since stays
            if not notes:
                return
            try:
                _count(notes)
                if self._log:
                    self._write(notes)
            except Exception as error:  # a fault of ours: it fails no request, and what is noted next is written
                traceback.print_exception(error, file=sys.stderr)

    def _start(self) -> None:
        self._notes: list[Note] = []
        self._turn = Lock()
        Thread(target=self._run, name="metrics").start()  # no daemon: the process waits for its last flush

    def _run(self) -> None:
        pause, main = Event(), main_thread()
        while main.is_alive():
            pause.wait(FLUSH_SECONDS)
            self.flush()
        self.flush()

    def _write(self, notes: Iterable[Note]) -> None:
        """Whole lines, as many at once as a pipe takes without those of another worker between them (POSIX write)."""
        lines: list[bytes] = []
        size = 0
        for line in map(self._line, notes):
            if size + len(line) > select.PIPE_BUF:
                _put(b"".join(lines))
                lines, size = [], 0
            lines.append(line)
            size += len(line)
        _put(b"".join(lines))

    def _line(self, note: Note) -> bytes:
        at, method, operation, application, status, size, seconds = note
        line = {
            "time": self._time(at),
            "method": method if len(method) < 16 and method.isascii() else "other",
            "operation": operation,
            "application": application,
            "status": status,
            "bytes": size,
            "ms": round(seconds * 1_000_000) / 1000,
        }
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)

    def _time(self, at: int) -> str:
        """RFC 3339 with milliseconds. The seconds are written once in each: isoformat takes 1 µs."""
        second, milliseconds = divmod(at // 1_000_000, 1000)
        if self._second[0] != second:
            self._second = (second, datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
        return f"{self._second[1]}.{milliseconds:03}+00:00"


def _count(notes: Iterable[Note]) -> None:
    counts: Tally[tuple[str, int]] = Tally()
    durations: dict[str, list[float]] = {}
    for _, _, operation, _, status, _, seconds in notes:
        counts[operation, status] += 1
        durations.setdefault(operation, []).append(seconds)
    for (operation, status), number in counts.items():
        REQUESTS.labels(operation, str(status)).inc(number)
    for operation, values in durations.items():
        SECONDS.labels(operation).observe_all(values)


def _put(data: bytes) -> None:
    with suppress(OSError):  # a full disk under the log must not undo what was done
        os.write(1, data)


class Workers:
    """What each worker serves, in a file of its own: the admin address is another process's, which serves nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tell(self, serving: Serving | None, fault: str) -> None:
        """Note what this process serves, and why nothing newer."""
        note = {"id": serving.id, "loaded": serving.loaded} if serving else {"id": "", "loaded": 0.0}
        note["fault"] = fault.encode(errors="backslashreplace").decode()  # it may name a path that is no UTF-8
        draft = self._folder / f".worker-{os.getpid()}"
        with suppress(OSError):
            draft.write_bytes(orjson.dumps(note))
            os.replace(draft, self._folder / f"worker-{os.getpid()}")

    def last(self) -> dict[str, Any]:
        """The note of the worker that is behind all others; of none before one has told."""
        notes = [orjson.loads(path.read_bytes()) for path in self._folder.glob("worker-*") if _lives(path.name[7:])]
        return min(notes, key=lambda note: note["loaded"], default={"id": "", "fault": ""})


def _lives(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except OSError:  # there is none, or its number is another user's by now
        return False
    return True


class Admin:
    """/healthz, /readyz and /metrics, for operators, on an address of their own."""

    def __init__(
        self,
        out: Path,
        shared: Path,
        database: Database | None = None,
        mails: Callable[[], Mapping[str, int]] | None = None,
    ) -> None:
        self._releases = Releases(out)
        self._database = database
        self._mails = mails
        self._registry = CollectorRegistry()
        self._next_change: tuple[str, str] = ("", "")
        self._workers = Workers(shared)
        multiprocess.MultiProcessCollector(self._registry, path=str(shared))  # type: ignore[no-untyped-call]
        self._registry.register(self)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        path = environ.get("PATH_INFO", "")
        answers = {"/healthz": self._health, "/readyz": self._ready, "/metrics": self._metrics}
        status, media_type, body = answers.get(path, self._unknown)()
        start_response(status, [("Content-Type", media_type), ("Cache-Control", "no-store")])
        return [body]

    def serve(self, host: str, port: int) -> None:
        """Answer on ``host:port`` in threads of this process."""
        server = make_server(host, port, self, server_class=_Server, handler_class=_Quiet)
        Thread(target=server.serve_forever, name="admin", daemon=True).start()

    def _health(self) -> tuple[str, str, bytes]:
        return "200 OK", "text/plain", b"ok\n"

    def _unknown(self) -> tuple[str, str, bytes]:
        return "404 Not Found", "text/plain", b"/healthz, /readyz or /metrics\n"

    def _ready(self) -> tuple[str, str, bytes]:
        """Whether every worker has a release to serve, its id and its age in seconds since it was built; and the store.

        While workers differ, of the one that is behind; why it is, where the release after it cannot be loaded.
        """
        told = self._workers.last()
        value: dict[str, Any] = {"ready": bool(told["id"])}
        if told["id"]:
            value |= {"id": told["id"], "age": _age(self._releases.built(told["id"]))}
        if told["fault"]:
            value["release"] = told["fault"]
        if value["ready"] and self._database and (fault := self._database.fault()):
            value = {"ready": False, "store": fault}
        status = "200 OK" if value["ready"] else "503 Service Unavailable"
        return status, "application/json", orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)

    def _metrics(self) -> tuple[str, str, bytes]:
        return "200 OK", "text/plain; version=0.0.4; charset=utf-8", generate_latest(self._registry)

    def collect(self) -> Any:
        """What is known without the workers: the mails, the release, and how long it should have been replaced."""
        if self._mails and (counts := self._mails()):
            now = GaugeMetricFamily("vitrine_mails", "Mails of the outbox: waiting, or dead.", labels=("state",))
            ended = CounterMetricFamily("vitrine_mails_ended", "Mails that were sent, or given up.", labels=("how",))
            for state, number in counts.items():
                family, label = (ended, state[6:]) if state.startswith("ended ") else (now, state)
                family.add_metric((label,), number)
            yield from (now, ended)
        try:
            id = self._releases.current()
        except Failure:  # /readyz tells it; what the workers count is told here all the same
            return
        if not id:
            return
        info = GaugeMetricFamily("vitrine_release_info", "The current release.", labels=("id",))
        info.add_metric((id,), 1)
        yield info
        if self._next_change[0] != id:
            try:
                self._next_change = (id, self._releases.manifest(id).next_change)
            except Failure:
                return
        overdue = time.time() - datetime.fromisoformat(self._next_change[1]).timestamp()
        help = "Seconds since the content should have changed by itself (nextChange); 0 before that."
        yield GaugeMetricFamily("vitrine_release_overdue_seconds", help, max(0.0, overdue))


def _age(built: str) -> float | None:
    """Seconds since a release was built; None where its note does not say when."""
    try:
        return round((datetime.now(UTC) - datetime.fromisoformat(built)).total_seconds(), 1)
    except (ValueError, TypeError):
        return None


class _Server(ThreadingMixIn, WSGIServer):
    """A thread a connection: one on which nothing comes keeps nobody from learning whether the service is well."""

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
