"""Writes a second: opt-ins beside a bare loop of SQLite, the same server storing
nothing, and a bare pool; log lines.

    python -m benchmarks.writes [--rounds N] [--seconds N] [--workers 1,2,3] [--threads N] [--work DIR]

Prints a Markdown table: medians, least and most, ratios within a round with each goal.
wrk asks over loopback, 64 clients; every request opts another device in, or logs one
line. The contenders take turns. Each server has the number of workers, out of those
given, that served it best in a first round, which is not counted. Everything is durable
before it is answered: SQLite with synchronous FULL, PostgreSQL with fsync and
synchronous_commit, the log with fdatasync. All files lie on a disk. Beside the rates
stands the processor time of a write: that of all processes of the server, without the
database's and wrk's.
"""

import argparse
import os
import platform
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from benchmarks import same_server
from benchmarks.killed_service import sample
from benchmarks.same_server import Bare
from benchmarks.serve import ADDRESS, free_port, running
from harness.databases import PostgresServer, postgresql_server
from shopwindow.interface.declaring.table import Result, Row, Tables
from shopwindow.service.database.database import Database
from shopwindow.service.database.rates import RATES
from shopwindow.service.database.tables import declared
from shopwindow.service.database.turns import Steps
from shopwindow.service.intake import Intake
from shopwindow.service.metrics import Metrics
from shopwindow.service.running import Backstage
from shopwindow.service.watch import Watch
from shopwindow.service.wsgi import Front
from shopwindow.shop import INTERFACE

CLIENTS, ASKING = 64, 2
"""Connections and threads of wrk."""

SLOW = "fdatasync,fsync:delay_exit=5000"
SLOWED = (
    "strace",
    "-f",
    "-qq",
    "--seccomp-bpf",
    "-o",
    "/dev/null",
    "-e",
    "trace=fdatasync,fsync,set_robust_list",
    "-e",
    f"inject={SLOW}",
)
"""Before a command: it waits 5 ms longer for the disk, as if that were a network disk.

strace knows that a thread needs no stop at every system call only once that thread has
made one of those traced; each thread begins with set_robust_list (glibc). Without it a
service's threads are held up everywhere, and the one thread of the bare loop, which
does nothing but sync, is not.
"""

CONNECTIONS = 16

ON_DISK = Path("/var/tmp")
"""Where PostgreSQL's files lie; its account has to reach them. In memory a commit would
cost nothing.
"""

_SCRIPT = """\
local number, name, thread = 0, "", 0
function setup(each) each:set("thread", thread); thread = thread + 1 end
function init(args) name = "BATCH-" .. thread .. "-" end
function request()
  number = number + 1
  return wrk.format("POST", "PATH",
    {["Content-Type"] = "application/json", ["X-SVC-Webservice-Client-Id"] = "KEY"}, BODY)
end
"""
_OPT_IN = (
    "/v2/utility/mobileoptinout",
    """'{"deviceID":"' .. name .. number .. '","svcUID":"user","optInOrOptOut":"IN"}'""",
)
_LOG = (
    "/v2/utility/mobilelog",
    """'{"entry":{"deviceId":"' .. name .. number .. '","platform":"iPhone","svcUid":"user","logLevel":"ERROR",'"""
    """ .. '"logMessage":"The bag did not load"}}'""",
)


# -- what is compared ------------------------------------------------------------------


def raw(path: Path, seconds: float) -> float:
    """Commits a second of one connection in a bare loop, each of one row."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS choices (device TEXT PRIMARY KEY, choice TEXT, user_id TEXT, at TEXT)"
    )
    done, started = 0, time.perf_counter()
    while (passed := time.perf_counter() - started) < seconds:
        connection.execute("BEGIN IMMEDIATE")
        row = (f"{started}-{done}", "IN", "user", "2026-11-24T17:00:00.000Z")
        connection.execute("INSERT INTO choices VALUES (?, ?, ?, ?)", row)
        connection.execute("COMMIT")
        done += 1
    connection.close()
    return done / passed


def raw_log(path: Path, seconds: float) -> float:
    """Lines a second that are appended to a file, each brought to the disk."""
    line = b"2026-11-24T17:00:00.123Z|clientApp=iphone|deviceId iPhone A1B2|svcUid=user|logLevel=ERROR|logMessage=No\n"
    with path.open("ab", buffering=0) as file:
        done, started = 0, time.perf_counter()
        while (passed := time.perf_counter() - started) < seconds:
            file.write(line)
            os.fdatasync(file.fileno())
            done += 1
    return done / passed


class _Nothing:
    """The port Session: nothing is run."""

    def run(self, sql: str, *values: Any) -> list[Row]:
        return []


class Unstored(Database):
    """A Database whose actions are called, and that stores nothing."""

    def __init__(self) -> None:
        self.tables = declared(INTERFACE.tables)

    def writing(
        self, work: Callable[[Tables], Result], rates: Collection[str] = ()
    ) -> Steps[Result]:
        yield from ()
        tables = Tables(_Nothing(), self.tables)
        tables[RATES].read(rates)
        return work(tables)

    def refuse_late(self) -> None:
        """Do nothing: nobody waits."""

    def read(self, work: Callable[[Tables], Result]) -> Result:
        return work(Tables(_Nothing(), self.tables))

    def now(self) -> datetime:
        return datetime.now(UTC)


def make_unstored(threads: int) -> Intake:
    """The service whose requests are checked and not stored."""
    watch = Watch(Path(os.environ["SHOPWINDOW_OUT"]), INTERFACE)
    secret = os.urandom(32)  # the database would hold it
    backstage = Backstage(Unstored(), secret=secret)
    front = Front(watch, Metrics(), backstage)
    return Intake(front, threads)


def make_pool(threads: int) -> Bare:
    """A callable that runs the statements of an opt-in on a free connection, and looks
    at nothing of the request.
    """
    import psycopg

    free: SimpleQueue[psycopg.Connection] = SimpleQueue()
    for _ in range(CONNECTIONS):
        free.put(psycopg.connect(os.environ["POOL_URL"]))
    numbers = count()

    def answer(request: bytes) -> bytes:
        device, at, key = (
            f"{os.getpid()}-{next(numbers)}",
            "2026-11-24T17:00:00.000Z",
            os.urandom(16).hex(),
        )
        connection = free.get()
        with connection.transaction():
            connection.execute(
                "INSERT INTO consent_history (id, application, device, choice, user_id, at)"
                " VALUES (%s, %s, %s, %s, %s, %s)",
                (key, "iphone", device, "IN", "user", at),
            )
            connection.execute(
                "INSERT INTO consents (application, device, choice, user_id, at) VALUES (%s, %s, %s, %s, %s)"
                " ON CONFLICT (application, device) DO UPDATE"
                " SET choice = excluded.choice, user_id = excluded.user_id, at = excluded.at"
                " WHERE consents.at <= excluded.at",
                ("iphone", device, "IN", "user", at),
            )
        free.put(connection)
        return b'{"success":true}'

    return Bare(answer, threads)


MADE = {"make_unstored": make_unstored, "make_pool": make_pool}


# -- servers ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where the benchmark works: its folder, a release, a key of it, threads a worker."""

    work: Path
    out: Path
    key: str
    threads: int


@dataclass(frozen=True)
class Started:
    """A server: its port, and its first process."""

    port: int
    pid: int


@contextmanager
def ours(place: Place, database: str, workers: int, *before: str) -> Iterator[Started]:
    """The service on a database; ``before``: what its command is given to."""
    port = free_port()
    command = [
        *before,
        sys.executable,
        "-m",
        "shopwindow",
        "serve",
        "--out",
        str(place.out),
        "--database",
        database,
    ]
    command += ["--bind", f"{ADDRESS}:{port}", "--admin", "", "--workers", str(workers)]
    command += [
        "--threads",
        str(place.threads),
        "--log-dir",
        str(place.work / "log"),
    ]
    with (
        (place.work / "access.log").open("ab") as log,
        running(command, port, stdout=log) as process,
    ):
        yield Started(port, process.pid)
        if before:  # strace ends with what it traces, and hands no signal on
            os.kill(_child(process.pid), signal.SIGTERM)
            process.wait(60)


@contextmanager
def other(
    place: Place, factory: str, workers: int, **environment: str
) -> Iterator[Started]:
    """The same server with another callable of this module."""
    port, metrics = free_port(), place.work / f"metrics-{factory}-{workers}"
    metrics.mkdir(exist_ok=True)
    given = {
        "SHOPWINDOW_OUT": str(place.out),
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        **environment,
    }
    command = [
        sys.executable,
        "-m",
        "benchmarks.writes",
        "--serve",
        factory,
        str(port),
        str(workers),
        str(place.threads),
    ]
    merged = {**os.environ, **given}
    with (
        (place.work / "access.log").open("ab") as log,
        running(command, port, stdout=log, env=merged) as process,
    ):
        yield Started(port, process.pid)


def _child(pid: int) -> int:
    (child,) = (
        Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    )
    return int(child)


# -- measuring -------------------------------------------------------------------------

_batches = count(1)


@dataclass(frozen=True)
class Rate:
    """Opt-ins a second, the milliseconds within which 99 of 100 were answered, and the
    microseconds of processor time that each took; 0 where nobody was asked.
    """

    rate: float
    p99: float = 0.0
    processor: float = 0.0


def _processor_seconds(pid: int) -> float:
    """The processor time of a process and of all its descendants."""
    pids, ticks = [pid], 0
    for each in pids:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            pids += map(int, children.read_text(encoding="ascii").split())
        text = Path(f"/proc/{each}/stat").read_text(encoding="utf-8")
        fields = text.rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # utime, stime (proc(5))
    return ticks / os.sysconf("SC_CLK_TCK")


def asked(place: Place, server: Started, seconds: float, what: tuple[str, str]) -> Rate:
    """What wrk finds. Raises RuntimeError where a request was not answered with 200."""
    script = place.work / "wrk.lua"
    path, body = what
    text = _SCRIPT.replace("KEY", place.key).replace("BATCH", str(next(_batches)))
    script.write_text(text.replace("PATH", path).replace("BODY", body))
    command = [
        "wrk",
        "-t",
        str(ASKING),
        "-c",
        str(CLIENTS),
        "-d",
        f"{seconds:g}s",
        "--latency",
        "-s",
        str(script),
    ]
    before = _processor_seconds(server.pid)
    done = subprocess.run(
        [*command, f"http://{ADDRESS}:{server.port}"],
        check=True,
        capture_output=True,
        text=True,
    )
    spent = _processor_seconds(server.pid) - before
    number = re.search(r"(\d+) requests in", done.stdout)
    found = re.search(r"^Requests/sec: +([0-9.]+)", done.stdout, re.MULTILINE)
    late = re.search(r"^ +99% +([0-9.]+)(us|ms|s) *$", done.stdout, re.MULTILINE)
    if (
        not found
        or not late
        or not number
        or "Non-2xx" in done.stdout
        or "Socket errors" in done.stdout
    ):
        raise RuntimeError(done.stdout)
    return Rate(
        float(found[1]),
        float(late[1]) * {"us": 0.001, "ms": 1, "s": 1000}[late[2]],
        spent / int(number[1]) * 1_000_000,
    )


Server = Callable[[int], Any]
"""A number of workers → a context with what was started."""


@dataclass
class Results:
    """What was found, by contender, a figure a round; the workers of each server."""

    rates: dict[str, list[Rate]] = field(default_factory=lambda: defaultdict(list))
    workers: dict[str, int] = field(default_factory=dict)

    def ratio(self, name: str, beside: str) -> float:
        pairs = zip(self.rates[name], self.rates[beside], strict=True)
        return median(one.rate / another.rate for one, another in pairs)


def measure(
    place: Place,
    servers: dict[str, Server],
    loops: dict[str, Callable[[], float]],
    given: Any,
) -> Results:
    """Choose each server's number of workers, then so many rounds in which all take
    turns.
    """
    results = Results()
    for name, made in servers.items():
        tried = {}
        for workers in given.workers:
            with made(workers) as started:
                asked(place, started, 1, _asks(name))
                rate = asked(place, started, given.seconds, _asks(name)).rate
                tried[workers] = rate
        results.workers[name] = max(tried, key=lambda workers: tried[workers])
        _say(
            f"{name}: {', '.join(f'{workers} workers {rate:,.0f}' for workers, rate in tried.items())}"
        )
    for _ in range(given.rounds):
        for name, loop in loops.items():
            results.rates[name].append(Rate(loop()))
        for name, made in servers.items():
            with made(results.workers[name]) as started:
                asked(place, started, 1, _asks(name))
                results.rates[name].append(
                    asked(place, started, given.seconds, _asks(name))
                )
        _say(
            ", ".join(
                f"{name} {found[-1].rate:,.0f}" for name, found in results.rates.items()
            )
        )
    return results


def _asks(name: str) -> tuple[str, str]:
    return _LOG if name == "log" else _OPT_IN


def _say(line: str) -> None:
    print(f"  {line}", file=sys.stderr)


def bench(place: Place, postgresql: PostgresServer | None, given: Any) -> Results:
    """Everything that there is on this machine."""
    fresh = count()

    def path(name: str) -> Path:
        return place.work / f"{name}-{next(fresh)}.sqlite"

    def loop(*before: str, what: str = "--raw") -> float:
        command = [
            *before,
            sys.executable,
            "-m",
            "benchmarks.writes",
            what,
            str(path("raw")),
            str(given.seconds),
        ]
        return float(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )

    loops: dict[str, Callable[[], float]] = {
        "raw": loop,
        "raw log": lambda: loop(what="--raw-log"),
    }
    servers: dict[str, Server] = {
        "unstored": lambda workers: other(place, "make_unstored", workers),
        "ours": lambda workers: ours(place, f"sqlite:///{path('ours')}", workers),
        "log": lambda workers: ours(place, f"sqlite:///{path('log')}", workers),
    }
    if shutil.which("strace"):
        loops["raw slowed"] = lambda: loop(*SLOWED)
        servers["ours slowed"] = lambda workers: ours(
            place, f"sqlite:///{path('slow')}", workers, *SLOWED
        )
    if postgresql:
        url = postgresql.create_database()
        command = [sys.executable, "-m", "shopwindow", "migrate", "--database", url]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        servers["pool"] = lambda workers: other(
            place, "make_pool", workers, POOL_URL=url
        )
        servers["postgresql"] = lambda workers: ours(place, url, workers)
    return measure(place, servers, loops, given)


# -- the table -------------------------------------------------------------------------


def table(results: Results) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield "| What | A second | Beside | A second | Ratio | Goal | |"
    yield "|---|---|---|---|---|---|---|"
    lesser = min(4 * _median(results, "raw"), 0.4 * _median(results, "unstored"))
    for what, name, beside, words, goal in (
        (
            "Opt-ins, SQLite",
            "ours",
            "raw",
            "a bare loop of SQLite, one row a commit",
            4.0,
        ),
        (
            "Opt-ins, SQLite",
            "ours",
            "unstored",
            "the same requests checked, not stored",
            0.4,
        ),
        (
            "Opt-ins, fdatasync slowed to 5 ms",
            "ours slowed",
            "raw slowed",
            "the bare loop, slowed alike",
            8.0,
        ),
        (
            "Opt-ins, PostgreSQL",
            "postgresql",
            "pool",
            "only those statements, through a bare pool",
            0.7,
        ),
        (
            "Log lines, one a request",
            "log",
            "raw log",
            "lines appended and synced one by one",
            1.5,
        ),
    ):
        if name in results.rates and beside in results.rates:
            ratio = results.ratio(name, beside)
            met = _median(results, name) >= lesser if name == "ours" else ratio >= goal
            goals = (
                f"the smaller of 4 × raw and 0.4 × unstored: {lesser:,.0f}"
                if name == "ours"
                else f"at least {goal:g}"
            )
            shown = f"{_spread(results, name)} | {words} | {_spread(results, beside)} | {ratio:.2f}"
            yield f"| {what} | {shown} | {goals} | {'met' if met else 'missed'} |"
    for what, name, beside, words in (
        ("SQLite", "ours", "unstored", "not stored"),
        ("slowed", "ours slowed", "", ""),
        ("PostgreSQL", "postgresql", "pool", "the bare pool"),
        ("log", "log", "", ""),
    ):
        if name in results.rates:
            p99 = _p99(results, name)
            most = 3 * CLIENTS / _median(results, name) * 1000
            other = f"{words} | {_p99(results, beside):.1f} ms" if beside else " | "
            bound = f"at most 3 × {CLIENTS} / rate: {most:.1f} ms"
            row = f"| 99 of 100 within, {what} | {p99:.1f} ms | {other} | | {bound} |"
            yield f"{row} {'met' if p99 <= most else 'missed'} |"
            other = f"{words} | {_processor(results, beside)} µs" if beside else " | "
            row = (
                f"| Processor time of a write, {what} | {_processor(results, name)} µs"
            )
            yield f"{row} | {other} | | | |"


def _p99(results: Results, name: str) -> float:
    return median(found.p99 for found in results.rates[name])


def _processor(results: Results, name: str) -> int:
    return round(median(found.processor for found in results.rates[name]))


def _median(results: Results, name: str) -> float:
    return median(found.rate for found in results.rates[name])


def _spread(results: Results, name: str) -> str:
    rates = [found.rate for found in results.rates[name]]
    workers = f", {results.workers[name]} workers" if name in results.workers else ""
    return f"{median(rates):,.0f} ({min(rates):,.0f}–{max(rates):,.0f}){workers}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Opt-ins a second, and what they are compared with."
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument(
        "--seconds",
        type=float,
        default=5,
        metavar="N",
        help="of each measurement (default: 5)",
    )
    parser.add_argument(
        "--workers",
        type=_numbers,
        default=[1, 2, 3, 4],
        metavar="N,N",
        help="(default: 1,2,3,4)",
    )
    parser.add_argument(
        "--threads", type=int, default=32, metavar="N", help="a worker (default: 32)"
    )
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="where to work; kept (default: temporary, deleted)",
    )
    parser.add_argument("--raw", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--raw-log", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.raw:
        print(raw(Path(given.raw[0]), float(given.raw[1])))
        return 0
    if given.raw_log:
        print(raw_log(Path(given.raw_log[0]), float(given.raw_log[1])))
        return 0
    if given.serve:
        factory, port, workers, threads = given.serve
        made = partial(MADE[factory], int(threads))
        same_server.serve(made, int(port), int(workers))
        return 0
    work = given.work or Path(tempfile.mkdtemp(prefix="shopwindow-writes-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as stack:
            postgresql = stack.enter_context(
                postgresql_server({"max_connections": "300"}, ON_DISK)
            )
            results = bench(
                Place(work, *sample(work), given.threads), postgresql, given
            )
    finally:
        if given.work is None:
            shutil.rmtree(work)
    print(
        f"{CLIENTS} clients; {len(os.sched_getaffinity(0))} processors, Python {platform.python_version()}, SQLite ",
        end="",
    )
    print(
        f"{sqlite3.sqlite_version}; {given.rounds} rounds of {given.seconds:g} s: median (least–most)",
        end="",
    )
    print("\n")
    print("\n".join(table(results)))
    return 0


def _numbers(text: str) -> Sequence[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
