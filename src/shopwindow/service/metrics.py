"""What a worker counts: Prometheus metrics, and a line for each request in the access
log.

How this works. Metrics are files that prometheus_client maps into memory, one of each
type and process; a scrape adds them up. To open or grow one needs a file descriptor,
which can be lacking. So nothing here raises: a fault of the metrics costs that count,
is reported once a minute, and neither a request nor a write fails for it.

A request is noted in a list. A thread counts and writes all notes together, ten times a
second, because counting each by itself would take a third of the time of a dynamic
response. The last of them are counted as the process exits, once the threads have ended
for which it waits (atexit). So a process loses notes only where it is killed, or ends
without Python's exit functions, as a child that multiprocessing has forked does.
"""

import atexit
import os
import select
import time
from bisect import bisect_left
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import Any

import orjson
from prometheus_client import Counter, Gauge, Histogram

from shopwindow.service import journal
from shopwindow.service.database.database import Load, Meter
from shopwindow.service.serving import Exchange, Serving

FAULT_REPORT_SECONDS = 60.0
"""Between two reports of a fault of the metrics: where one count fails, thousands after
it do.
"""

_reported = -FAULT_REPORT_SECONDS


@contextmanager
def harmless() -> Iterator[None]:
    """Report an exception of what is counted within, instead of raising it. It is also a
    decorator of functions that count.
    """
    global _reported
    try:
        yield
    except Exception as error:
        now = time.monotonic()
        if now - _reported >= FAULT_REPORT_SECONDS:
            _reported = now
            journal.failure(
                error,
                what="metrics cannot be counted; what is served and stored is not affected",
            )


class Durations(Histogram):
    """A histogram that can observe many values at once."""

    def observe_all(self, values: Sequence[float]) -> None:
        """Do the same as ``observe`` for each value, with fewer writes to mapped
        memory.
        """
        self._sum.inc(sum(values))
        buckets = Tally(bisect_left(self._upper_bounds, value) for value in values)
        for bucket, number in buckets.items():
            self._buckets[bucket].inc(number)


REQUESTS = Counter("shopwindow_requests", "Requests answered.", ("operation", "status"))
SECONDS = Durations(
    "shopwindow_request_seconds",
    "Seconds from request to response, without the network.",
    ("operation",),
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3),
)

LOG_LINES = Counter("shopwindow_log_lines", "Lines of the mobile log that were stored.")
LOG_REFUSED = Counter(
    "shopwindow_log_refused",
    "Entries for the mobile log that the application's loggingInfo does not admit: disabled, count or level.",
    ("application", "reason"),
)
LOG_FAILURES = Counter(
    "shopwindow_log_failures",
    "Requests whose lines could not be stored; they were answered 503.",
)
BATCHES = Histogram(
    "shopwindow_database_batch_actions",
    "Actions that one transaction of the database stored.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)
WRITE_SECONDS = Histogram(
    "shopwindow_database_write_seconds",
    "Seconds of a transaction of the database, until it was durable.",
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)
FAILURES = Counter(
    "shopwindow_database_failures",
    "Actions that the database could not store: answered with 503.",
)
LOAD_FAILURES = Counter(
    "shopwindow_release_load_failures",
    "Releases that a worker could not load, or rejected.",
)
WORKERS = Gauge(
    "shopwindow_workers",
    "Workers, by the release that they serve.",
    ("state",),
    multiprocess_mode="livesum",
)
LOADED = Gauge(
    "shopwindow_worker_release_loaded_seconds",
    "When a worker loaded the release that it serves; 0: it has none.",
    multiprocess_mode="liveall",
)
BUSY = Gauge(
    "shopwindow_threads_busy",
    "Requests that are being answered.",
    multiprocess_mode="livesum",
)
QUEUE = Gauge(
    "shopwindow_database_queue",
    "Actions that wait for the database.",
    multiprocess_mode="livesum",
)
OLDEST = Gauge(
    "shopwindow_database_queue_oldest_seconds",
    "How long the first of them has waited.",
    multiprocess_mode="livemax",
)


@harmless()
def open_files() -> None:
    """Open this process's files of metrics, before connections take the file
    descriptors.

    After a fork, the first count in the child opens all of them again. If that failed
    half-way, the rest would use files that are closed.
    """
    LOG_LINES.inc(0)


count_log_lines = harmless()(LOG_LINES.inc)
"""Counts so many lines of the mobile log that were stored."""

count_log_failure = harmless()(LOG_FAILURES.inc)
"""Counts a request whose lines could not be stored."""

count_load_failure = harmless()(LOAD_FAILURES.inc)
"""Counts a release that could not be loaded or was rejected."""


@harmless()
def count_log_refused(application: str, reason: str, number: int) -> None:
    """Count entries that were not admitted. ``reason``: disabled, count or level."""
    LOG_REFUSED.labels(application, reason).inc(number)


@harmless()
def record_release(serving: Serving | None, fault: str) -> None:
    """Record what this worker serves. ``fault``: why nothing newer; empty: there is
    nothing newer.
    """
    state = "without" if serving is None else "behind" if fault else "current"
    for each in ("current", "behind", "without"):
        WORKERS.labels(each).set(float(each == state))
    LOADED.set(serving.loaded if serving else 0.0)


class DatabaseMeter(Meter):
    """What the database is notified of, as metrics."""

    @harmless()
    def wrote(self, actions: int, seconds: float) -> None:
        """Count a transaction that was committed, and its actions."""
        BATCHES.observe(actions)
        WRITE_SECONDS.observe(seconds)

    @harmless()
    def failed(self) -> None:
        """Count an action that could not be stored."""
        FAILURES.inc()


FLUSH_SECONDS = 0.1
"""How long a request waits to be counted and logged, at most."""

FLUSH_NOTES = 256
"""How many requests are counted together. The thread whose note is the last of them
flushes, and with more notes the client of that thread would notice.
"""

MAX_IGNORED = 10
"""Names of ignored parameters in a line. A name has 100 characters at most, so the line
stays well below PIPE_BUF.
"""


Note = dict[str, Any]
"""A request that was answered, as its line of the access log. It holds no body: 256 of
them may be large.
"""


class Metrics:
    """Notes each request; counts and logs the notes every tenth of a second.

    Args:
        log: whether each request is also a line of JSON on standard output. Lines have neither
            API keys nor queries.
        load: returns how much waits for the database.
    """

    def __init__(
        self,
        *,
        log: bool = True,
        load: Callable[[], Load] = Load,
    ) -> None:
        self.answering: Sized = ()
        """What has a part for each request at work: service.intake sets it."""
        self._log = log
        self._load = load
        self._start()
        os.register_at_fork(
            after_in_child=self._start
        )  # a thread does not survive a fork
        atexit.register(self.flush)

    def note(self, result: Exchange, method: str, seconds: float) -> None:
        """Note a request that was answered in so many seconds."""
        note: Note = journal.line("info", "request")
        is_known = len(method) < 16 and method.isascii()
        note["method"] = method if is_known else "other"
        note["operation"] = result.operation
        note["application"] = result.application
        note["status"] = result.response.status
        note["bytes"] = len(result.response.body)
        note["ms"] = round(seconds * 1000, 3)
        if result.ignored:
            note["ignored"] = result.ignored[:MAX_IGNORED]
        if result.refused:
            note["refused"] = result.refused
        self._notes.append(note)
        if len(self._notes) >= FLUSH_NOTES:
            self.flush()

    def flush(self) -> None:
        """Count and log what has been recorded until now."""
        with self._lock:
            notes = self._notes[:]
            # not clear(): other threads may have added notes since the line above
            del self._notes[: len(notes)]
            if not notes:
                return
            _count(notes)
            if self._log:
                _write(notes)

    def _start(self) -> None:
        self._notes: list[Note] = []
        self._lock = Lock()
        Thread(target=self._run, name="metrics", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(FLUSH_SECONDS)
            self.flush()
            self._record_load()

    @harmless()
    def _record_load(self) -> None:
        load = self._load()
        BUSY.set(len(self.answering))
        QUEUE.set(load.waiting)
        OLDEST.set(round(load.oldest, 3))


@harmless()
def _count(notes: Iterable[Note]) -> None:
    seconds: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for note in notes:
        # a refusal is one, though a callback gets it with 200
        status = note.get("refused") or note["status"]
        seconds[note["operation"], status].append(note["ms"] / 1000)
    for (operation, status), values in seconds.items():
        REQUESTS.labels(operation, str(status)).inc(len(values))
        SECONDS.labels(operation).observe_all(values)


@harmless()
def _write(notes: Iterable[Note]) -> None:
    """Write lines, at most PIPE_BUF bytes at a time.

    A pipe takes that many without bytes of another worker in between (POSIX write).
    """
    lines = bytearray()
    for note in notes:
        line = orjson.dumps(note, option=orjson.OPT_APPEND_NEWLINE)
        if len(lines) + len(line) > select.PIPE_BUF:
            _put(lines)
            lines.clear()
        lines += line
    _put(lines)


def _put(lines: bytes | bytearray) -> None:
    # such as a full disk: it must not fail requests that were answered
    with suppress(OSError):
        os.write(journal.OUT, lines)
