"""The service beside a bare callable on the same server, and nginx with our
configuration beside nginx alone.

    python -m benchmarks.serve [--events N] [--rounds N] [--seconds N] [--work DIR]

Prints a Markdown table of requests a second: medians, least and most, and ratios; the
worker's processor time for a request (the least of the rounds), and its memory. The
contenders take turns; a ratio is the median of those within a round. wrk asks over
loopback; one worker with one thread answers, metrics and access log on.
"""

import argparse
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks import real_content, same_server
from benchmarks.measure import Command, proportional
from benchmarks.same_server import Bare
from shopwindow import library
from shopwindow.shop import INTERFACE

ADDRESS = "127.0.0.1"
KEY = "benchmarkbenchmarkbench1"
ASKED = 1000
"""How many stores, and how many places, are asked for in turn."""

CONNECTIONS, ASKING = 32, 2
"""Connections and threads of wrk."""

NGINX = shutil.which(
    "nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
)
HEADERS = {"Accept": "application/json", "X-SVC-Webservice-Client-Id": KEY}

_SCRIPT = """\
local paths = {}
for path in io.lines("FILE") do paths[#paths + 1] = path end
local made, number = {}, 0
function init(args)
  math.randomseed(os.time())
  for i, path in ipairs(paths) do made[i] = wrk.format("GET", path) end
end
function request()
  number = number % #made + 1
  if NEW then return wrk.format("GET", paths[number] .. "&x=" .. math.random(2^53)) end
  return made[number]
end
"""

_NGINX = """\
{user}
daemon off;
worker_processes 1;
pcre_jit on;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 10000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/included.conf;
}}
"""
_PLAIN = """\
server {{
    listen {address}:{port};
    root {root};
}}
"""


@dataclass(frozen=True)
class Contender:
    """What is asked where: the paths are asked for in turn. ``worker``: the process
    that answers, whose processor time counts; 0: it is not looked at. ``is_new``: each
    request has a parameter of its own that no operation reads, so no answer is cached.
    """

    name: str
    port: int
    paths: Sequence[str]
    worker: int = 0
    is_new: bool = False


@dataclass
class Results:
    """Requests a second and microseconds of a worker's processor time for a request,
    by contender, a figure a round; memory in bytes by worker.
    """

    rates: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    processor: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    memory: dict[str, int] = field(default_factory=dict)

    def ratio(self, name: str, beside: str) -> float:
        return median(
            one / other
            for one, other in zip(self.rates[name], self.rates[beside], strict=True)
        )


# -- what is served --------------------------------------------------------------------


def release(work: Path, events: int) -> Path:
    """A release of the real stores, whose first application is known by ``KEY``. Its
    output directory.
    """
    content, out = work / "content", work / "out"
    real_content.convert(real_content.read(real_content.data_folder()), content, events)
    app = content / "apps" / "iphone.yaml"
    text = app.read_text(encoding="utf-8")
    app.write_text(
        text.replace(
            "\napiKeys:\n", f"\napiKeys:\n  - {sha256(KEY.encode()).hexdigest()}\n", 1
        ),
        encoding="utf-8",
    )
    command: Command = [
        sys.executable,
        "-m",
        "shopwindow",
        "build",
        "--content",
        content,
        "--out",
        out,
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


def questions(out: Path) -> tuple[list[str], list[str], list[str]]:
    """Events of some stores, searches around the same stores, and everything that a
    store may be asked for.
    """
    stores = library.released_content(INTERFACE, out).documents("store")
    asked = stores[:: max(1, len(stores) // ASKED)][:ASKED]
    events = [f"/store/v1/events?storeId={store['storeId']}" for store in asked]
    places = [
        f"/store/v2/stores?latitude={store['location']['latitude']}&longitude={store['location']['longitude']}"
        "&radius=M25&_limit=20"
        for store in asked
    ]
    every = [
        path
        for store in stores
        for path in (
            f"/store/v1/events?storeId={store['storeId']}",
            f"/v2/store/event?storeId={store['storeId']}",
            f"/store/v2/stores/{store['locationNumber']}",
        )
    ]
    return events, places, every


def mean_length(port: int, paths: Iterable[str]) -> int:
    """Bytes of an answer's body."""
    with closing(HTTPConnection(ADDRESS, port)) as connection:
        return round(mean(_length(connection, path) for path in paths))


def _length(connection: HTTPConnection, path: str) -> int:
    connection.request("GET", path, headers=HEADERS)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise RuntimeError(f"{path}: {response.status} {body[:200]!r}")
    return len(body)


# -- servers ---------------------------------------------------------------------------


@contextmanager
def shopwindow(work: Path, out: Path) -> Iterator[tuple[int, int]]:
    """The service, with its access log in a file: its port, and its worker's process."""
    port, admin = free_port(), free_port()
    command: Command = [
        *(
            sys.executable,
            "-m",
            "shopwindow",
            "serve",
            "--out",
            out,
            "--workers",
            "1",
            "--threads",
            "1",
        ),
        *(
            "--bind",
            f"{ADDRESS}:{port}",
            "--admin",
            f"{ADDRESS}:{admin}",
        ),
    ]
    with (
        open(work / "access.log", "ab") as log,
        running(command, port, stdout=log) as process,
    ):
        yield port, _child(process.pid)


def serve_bare(port: int, length: int) -> None:
    """Serve a callable that does nothing as `shopwindow serve` serves."""
    body = b"x" * length
    same_server.serve(lambda: Bare(lambda request: body), port, workers=1)


@contextmanager
def bare_server(length: int) -> Iterator[int]:
    port = free_port()
    with running(
        [sys.executable, "-m", "benchmarks.serve", "--bare", str(port), str(length)],
        port,
    ):
        yield port


@contextmanager
def nginx(folder: Path, configuration: str, port: int) -> Iterator[int]:
    """An nginx of one worker with this configuration in its http context."""
    folder.mkdir()
    user = (
        "user root;" if os.geteuid() == 0 else ""
    )  # else it becomes nobody, who may not read the work directory
    (folder / "included.conf").write_text(configuration)
    (folder / "nginx.conf").write_text(_NGINX.format(user=user, folder=folder))
    with running(
        [NGINX or "nginx", "-c", folder / "nginx.conf", "-e", folder / "error.log"],
        port,
    ):
        yield port


def edge(work: Path, out: Path, port: int) -> str:
    """What `shopwindow edge nginx` prints."""
    keys, printed = work / "keys", work / "edge.conf"
    keys.write_text(f"iphone {KEY}\n")
    command: Command = [
        *(
            sys.executable,
            "-m",
            "shopwindow",
            "edge",
            "nginx",
            "--out",
            out,
            "--api-keys",
            keys,
        ),
        *("--listen", f"{ADDRESS}:{port}"),
    ]
    with open(printed, "wb") as stream:
        subprocess.run(command, check=True, stdout=stream)
    return printed.read_text()


@contextmanager
def running(
    command: Command, port: int, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process, from when it answers on ``port``.

    The parent of a service listens long before a worker answers.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, cwd=real_content.CHECKOUT, **options
    )
    try:
        _await(process, port)
        yield process
    finally:
        process.terminate()
        process.wait(60)


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(3000):
        with (
            suppress(OSError, HTTPException),
            closing(HTTPConnection(ADDRESS, port, timeout=10)) as probe,
        ):
            probe.request("GET", "/")
            probe.getresponse().read()
            return
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise RuntimeError(f"{process.args!r} does not answer")


def _child(pid: int) -> int:
    """The worker of a server: of its children the largest."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    children = listed.read_text(encoding="ascii").split()
    for _ in range(3000):  # it listens before it starts a worker
        if children:
            break
        time.sleep(0.01)
        children = listed.read_text(encoding="ascii").split()
    return max(map(int, children), key=proportional)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
        return port


# -- measuring -------------------------------------------------------------------------


def rate(work: Path, contender: Contender, seconds: int) -> float:
    """Requests a second. Raises RuntimeError where one was not answered with 200."""
    paths, script = work / "paths", work / "wrk.lua"
    paths.write_text("".join(f"{path}\n" for path in contender.paths))
    script.write_text(
        _SCRIPT.replace("FILE", str(paths)).replace(
            "NEW", str(contender.is_new).lower()
        )
    )
    command = [
        "wrk",
        "-t",
        str(ASKING),
        "-c",
        str(CONNECTIONS),
        "-d",
        f"{seconds}s",
        "-s",
        str(script),
    ]
    for name, value in HEADERS.items():
        command += ["-H", f"{name}: {value}"]
    done = subprocess.run(
        [*command, f"http://{ADDRESS}:{contender.port}"],
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.search(r"^Requests/sec: +([0-9.]+)", done.stdout, re.MULTILINE)
    if found is None or "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise RuntimeError(f"{contender.name}: {done.stdout}")
    return float(found[1])


def processor_seconds(process: int) -> float:
    """Processor time that a process has taken, all its threads together; 0 for none."""
    if not process:
        return 0.0
    stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    fields = stat.rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])  # utime and stime, proc(5)
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(
    work: Path, contenders: Sequence[Contender], rounds: int, seconds: int
) -> Results:
    """So many rounds, the contenders taking turns; a short one before them is not
    counted.
    """
    results = Results()
    for number in range(rounds + 1):
        turn = number % len(contenders)
        for contender in (*contenders[turn:], *contenders[:turn]):
            before = processor_seconds(contender.worker)
            found = rate(work, contender, seconds if number else 1)
            spent = processor_seconds(contender.worker) - before
            os.truncate(work / "access.log", 0)
            if number:
                results.rates[contender.name].append(found)
                if contender.worker:
                    a_request = spent * 1e6 / (found * seconds)
                    results.processor[contender.name].append(a_request)
                print(f"  {contender.name}: {found:,.0f}", file=sys.stderr)
    return results


def bench(work: Path, events: int, rounds: int, seconds: int) -> Results:
    """Build, start every server, measure."""
    out = release(work, events)
    about_events, near, every = questions(out)
    with ExitStack() as servers:
        service, worker = servers.enter_context(shopwindow(work, out))
        lengths = [mean_length(service, paths) for paths in (about_events, near)]
        contenders = []
        for name, paths, length in (
            ("events", about_events, lengths[0]),
            ("radius", near, lengths[1]),
        ):
            contenders.append(
                Contender(
                    f"{name} bare", servers.enter_context(bare_server(length)), ["/"]
                )
            )
            contenders.append(Contender(f"{name} cached", service, paths, worker))
            contenders.append(
                Contender(f"{name} new", service, paths, worker, is_new=True)
            )
        if NGINX:
            port = free_port()
            servers.enter_context(nginx(work / "edge", edge(work, out, port), port))
            contenders.append(Contender("nginx ours", port, about_events))
            contenders.append(Contender("nginx ours, one", port, about_events[:1]))
            port = free_port()
            plain = _PLAIN.format(address=ADDRESS, port=port, root=work)
            servers.enter_context(nginx(work / "plain", plain, port))
            files = [
                f"/out/current/files{path.replace('?', ';')}.json"
                for path in about_events
            ]
            contenders.append(Contender("nginx alone", port, files))
            contenders.append(Contender("nginx alone, one", port, files[:1]))
        results = measure(work, contenders, rounds, seconds)
        rate(work, Contender("every store", service, every), seconds)
        results.memory["with its cache of answers full"] = proportional(worker)
    print(
        f"Bodies of {lengths[0]:,} bytes (events) and {lengths[1]:,} (radius search) in the mean."
    )
    return results


# -- the table -------------------------------------------------------------------------

# What, the contender, what it is compared with.
_ROWS = (
    ("Dynamic events, from the cache of answers", "events cached", "events bare"),
    ("Dynamic events, not cached", "events new", "events bare"),
    ("Radius search, from the cache of answers", "radius cached", "radius bare"),
    ("Radius search, not cached", "radius new", "radius bare"),
    (
        "Pre-rendered events, nginx with our configuration",
        "nginx ours",
        "nginx alone",
    ),
    ("One file of them", "nginx ours, one", "nginx alone, one"),
    ("The thousand beside that one", "nginx ours", "nginx alone, one"),
)
_BESIDE = {
    "events bare": "a bare callable, the same length",
    "radius bare": "a bare callable, the same length",
    "nginx alone": "nginx alone, the same files",
    "nginx alone, one": "nginx alone, the same file",
}


def table(results: Results) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield "| What | Requests a second | Processor time of the worker | Beside | Requests a second | Ratio |"
    yield "|---|---|---|---|---|---|"
    for what, name, beside in _ROWS:
        if name in results.rates:
            ratio = results.ratio(name, beside)
            ours, theirs = _spread(results.rates[name]), _spread(results.rates[beside])
            spent = results.processor.get(name)
            a_request = f"{min(spent):.0f} µs a request" if spent else ""
            figures = (
                f"{ours} | {a_request} | {_BESIDE[beside]} | {theirs} | {ratio:.2f}"
            )
            yield f"| {what} | {figures} |"
    for name, memory in results.memory.items():
        size = memory / 2**20
        yield f"| A worker's memory (PSS), {name} | {size:.0f} MiB | | | | |"


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):,.0f} ({min(values):,.0f}–{max(values):,.0f})"


def main() -> int:
    parser = argparse.ArgumentParser(
        description="The service beside a bare WSGI callable; nginx beside nginx."
    )
    parser.add_argument("--events", type=int, default=10_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument(
        "--seconds",
        type=int,
        default=5,
        metavar="N",
        help="of each measurement (default: 5)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="where to work; kept (default: temporary, deleted)",
    )
    parser.add_argument("--bare", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bare:
        serve_bare(*given.bare)
        return 0
    work = given.work or Path(tempfile.mkdtemp(prefix="shopwindow-serve-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        results = bench(work, given.events, given.rounds, given.seconds)
    finally:
        if given.work is None:
            shutil.rmtree(work)
    print(
        f"{given.events:,} events at 1,565 stores; {len(os.sched_getaffinity(0))} processors, Python ",
        end="",
    )
    print(
        f"{platform.python_version()}; {given.rounds} rounds of {given.seconds} s: median (least–most)\n"
    )
    print("\n".join(table(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
