"""What a service process counts: Prometheus metrics that all workers share, and a line a
request in the access log.

Metrics lie in files that prometheus_client maps into memory, one of each type a process.
Opening or growing one needs a file descriptor, and can fail like anything else that needs one.
So nothing here raises: a fault of a metric costs that count, is reported once a minute, and no
request or write learns of it.
"""

import os
import select
import threading
import time
from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from threading import Event, Lock, Thread
from typing import ParamSpec

import orjson
from prometheus_client import Counter, Histogram

from shopwindow.service import journal
from shopwindow.service.database.database import Load
from shopwindow.service.serving import Exchange

Arguments = ParamSpec("Arguments")

REPORT_SECONDS = 60.0
"""How often a fault of the metrics is reported: where one count fails, the thousands after it
fail as well.
"""

_reported = -REPORT_SECONDS


def never_raises(count: Callable[Arguments, object]) -> Callable[Arguments, None]:
    """A function that counts something, without the faults of counting."""

    @wraps(count)
    def guarded(*arguments: Arguments.args, **named: Arguments.kwargs) -> None:
        global _reported
        try:
            count(*arguments, **named)
        except Exception as error:
            now = time.monotonic()
            if now - _reported >= REPORT_SECONDS:
                _reported = now
                journal.failure(
                    error,
                    what="metrics cannot be counted; what is served and kept is not affected",
                )

    return guarded


class Durations(Histogram):
    """A histogram that many values are put into at once."""

    def observe_all(self, values: Sequence[float]) -> None:
        """The same as ``observe`` of each: that writes twice into mapped memory for a value,
        this for all of them.
        """
        self._sum.inc(sum(values))
        for bucket, number in Tally(
            bisect_left(self._upper_bounds, value) for value in values
        ).items():
            self._buckets[bucket].inc(number)


REQUESTS = Counter("shopwindow_requests", "Requests answered.", ("operation", "status"))
SECONDS = Durations(
    "shopwindow_request_seconds",
    "Seconds from request to response, without the network.",
    ("operation",),
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3),
)

LOG_LINES = Counter("shopwindow_log_lines", "Lines of the mobile log that were kept.")
LOG_REFUSED = Counter(
    "shopwindow_log_refused",
    "Entries for the mobile log that the application's loggingInfo does not admit: disabled, count or level.",
    ("application", "reason"),
)
LOG_FAILURES = Counter(
    "shopwindow_log_failures", "Requests whose lines could not be kept; they were answered 503."
)
BATCHES = Histogram(
    "shopwindow_database_batch_actions",
    "Actions that one transaction of the database kept.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)
WRITE_SECONDS = Histogram(
    "shopwindow_database_write_seconds",
    "Seconds of a transaction of the database, until it was durable.",
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)
FAILURES = Counter(
    "shopwindow_database_failures",
    "Actions that the database could not keep: answered with 503.",
)
WRITERS = Counter(
    "shopwindow_database_writer_restarts",
    "Writer threads that ended by themselves and were begun anew.",
)
LOAD_FAILURES = Counter(
    "shopwindow_release_load_failures",
    "Releases that a worker could not load, or had to leave.",
)


@never_raises
def open_files() -> None:
    """Open this process's metric files while file descriptors are to be had: before it takes
    connections.

    After a fork the first count in the child opens all of them anew; one that fails half-way
    would leave the rest on files that are closed.
    """
    LOG_LINES.inc(0)


@never_raises
def count_log_lines(number: int) -> None:
    """So many lines of the mobile log were kept."""
    LOG_LINES.inc(number)


@never_raises
def count_log_failure() -> None:
    """A request's lines could not be kept."""
    LOG_FAILURES.inc()


@never_raises
def count_log_refused(application: str, reason: str, number: int) -> None:
    """So many entries were not admitted. ``reason``: disabled, count or level."""
    LOG_REFUSED.labels(application, reason).inc(number)


@never_raises
def count_load_failure() -> None:
    """A release could not be loaded, or had to be left."""
    LOAD_FAILURES.inc()


class DatabaseMeter:
    """The port Meter (service.database.database), as metrics."""

    @never_raises
    def wrote(self, actions: int, seconds: float) -> None:
        BATCHES.observe(actions)
        WRITE_SECONDS.observe(seconds)

    @never_raises
    def failed(self, actions: int) -> None:
        FAILURES.inc(actions)

    @never_raises
    def restarted(self) -> None:
        WRITERS.inc()


NAME = "metrics"
"""Of the thread that counts. It ends last, and threads of that name do not wait for each other.
"""

FLUSH_SECONDS = 0.1
"""How long a request waits to be counted and logged, at most."""

FLUSH_NOTES = 256
"""Requests that are counted together at most: of more, the thread that notes the last would
notice.
"""

REPORT_FLUSHES = 10
"""How many flushes go by between two reports of a worker's load: one second."""

Note = tuple[int, str, str, str | None, int, int, float, str | None]
"""When (nanoseconds since 1970), method, operation, application, status, bytes of the body,
seconds, request id.
"""


class Metrics:
    """Notes each exchange. ``log``: also a line of JSON on standard output, never with keys or
    queries.

    What was noted is counted and written together, after a tenth of a second at most, and when
    the process ends: by itself each would take a third of a live answer's time. A process that
    is killed loses the last tenth.

    ``load``: how much waits for the database; ``report``: takes the worker's figures once a
    second.
    """

    def __init__(
        self,
        *,
        log: bool = True,
        load: Callable[[], Load] = Load,
        report: Callable[[Mapping[str, float]], None] | None = None,
    ) -> None:
        self._log = log
        self._load = load
        self._report = report
        self._second = (0, "")
        self._start()
        os.register_at_fork(after_in_child=self._start)  # a thread does not survive a fork

    def begin(self) -> None:
        """A request has come, which this thread answers."""
        self._answering[threading.get_ident()] = None

    def end(self) -> None:
        """This thread has answered it."""
        self._answering.pop(threading.get_ident(), None)

    def note(self, done: Exchange, method: str, seconds: float) -> None:
        """A request was answered, in so many seconds."""
        response = done.response
        at, status, size = time.time_ns(), response.status, len(response.body)
        note = (
            at,
            method,
            done.operation,
            done.application,
            status,
            size,
            seconds,
            journal.request_id.get(),
        )
        self._notes.append(note)
        if len(self._notes) >= FLUSH_NOTES:
            self.flush()

    def flush(self) -> None:
        """Count and write what was noted until now."""
        with self._turn:
            notes = self._notes[:]
            del self._notes[: len(notes)]  # what other threads have noted since stays
            if not notes:
                return
            _count(notes)
            if self._log:
                self._write(notes)

    def figures(self) -> dict[str, float]:
        """How busy this process is: its threads that answer, and what waits for the database."""
        load = self._load()
        return {
            "busy": len(self._answering),
            "waiting": load.waiting,
            "oldest": round(load.oldest, 3),
            "used": load.used,
            "idle": load.idle,
        }

    def _start(self) -> None:
        self._notes: list[Note] = []
        self._answering: dict[int, None] = {}
        self._turn = Lock()
        Thread(
            target=self._run, name=NAME
        ).start()  # no daemon: the process waits for its last flush

    def _run(self) -> None:
        pause, flushes = Event(), 0
        while _others_live():
            pause.wait(FLUSH_SECONDS)
            self.flush()
            if flushes % REPORT_FLUSHES == 0:
                self._tell()
            flushes += 1
        self.flush()

    @never_raises
    def _tell(self) -> None:
        if self._report:
            self._report(self.figures())

    @never_raises
    def _write(self, notes: Iterable[Note]) -> None:
        """Whole lines, as many at once as a pipe takes without those of another worker between
        them (POSIX write).
        """
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
        at, method, operation, application, status, size, seconds, request_id = note
        line = {
            "time": self._time(at),
            "level": "info",
            "event": "request",
            "requestId": request_id,
            "method": method if len(method) < 16 and method.isascii() else "other",
            "operation": operation,
            "application": application,
            "status": status,
            "bytes": size,
            "ms": round(seconds * 1_000_000) / 1000,
        }
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)

    def _time(self, at: int) -> str:
        """RFC 3339 with milliseconds. The seconds are written once in each: isoformat takes 1
        µs.
        """
        second, milliseconds = divmod(at // 1_000_000, 1000)
        if self._second[0] != second:
            self._second = (
                second,
                datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S"),
            )
        return f"{self._second[1]}.{milliseconds:03}+00:00"


def _others_live() -> bool:
    """Whether a thread lives that may answer a request: requests in flight outlive the main
    thread.
    """
    return any(
        thread.is_alive() and not thread.daemon and thread.name != NAME
        for thread in threading.enumerate()
    )


@never_raises
def _count(notes: Iterable[Note]) -> None:
    counts: Tally[tuple[str, int]] = Tally()
    durations: dict[str, list[float]] = {}
    for _, _, operation, _, status, _, seconds, _ in notes:
        counts[operation, status] += 1
        durations.setdefault(operation, []).append(seconds)
    for (operation, status), number in counts.items():
        REQUESTS.labels(operation, str(status)).inc(number)
    for operation, values in durations.items():
        SECONDS.labels(operation).observe_all(values)


def _put(data: bytes) -> None:
    try:
        os.write(journal.OUT, data)
    except OSError:  # a full disk under the log must not undo what was done
        return
