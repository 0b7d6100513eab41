"""Real servers of a release on loopback, and how they are asked."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from children import ends_with_us
from nginx import ADDRESS, BESIDE_THE_POINT, Answer, ask, free_port

SOURCES = Path(__file__).parent.parent / "src"
INTERFACES = Path(__file__).parent / "interfaces"
AS_INSTALLED = {"SHOPWINDOW_INTERFACE": ""}
"""For a server that is to load all that it loads for a customer before it is ready (see ``unprepared``)."""


def environment(**more: str) -> dict[str, str]:
    """The environment for a server: nothing of SHOPWINDOW_ but the interface of ``unprepared``, and ``more``."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("SHOPWINDOW_", "PROMETHEUS_"))
    }
    ours = {
        "PYTHONPATH": f"{SOURCES}{os.pathsep}{INTERFACES}",
        "PYTHONUNBUFFERED": "1",
        "SHOPWINDOW_INTERFACE": "unprepared:INTERFACE",
    }
    return {**inherited, **ours, **more}


@dataclass(frozen=True)
class Server:
    """A running server: its ports, its process, and the files that hold what it printed."""

    port: int
    admin: int
    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def connect(self) -> HTTPConnection:
        return HTTPConnection(ADDRESS, self.port, timeout=10)

    def ask(
        self, target: str, headers: Mapping[str, str] | None = None, method: str = "GET", body: bytes | None = None
    ) -> Answer:
        """One request on a connection of its own."""
        connection = self.connect()
        try:
            return ask(connection, target, headers or {}, method, body)
        finally:
            connection.close()

    def workers(self) -> list[int]:
        """The processes that answer."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children]

    def told(self, path: str) -> Answer:
        """What the admin address says."""
        connection = HTTPConnection(ADDRESS, self.admin, timeout=10)
        try:
            return ask(connection, path, {})
        finally:
            connection.close()


@contextmanager
def running(folder: Path, command: list[str], port: int, admin: int = 0, **env: str) -> Iterator[Server]:
    """A process that will listen on ``port``, ended with SIGTERM unless it has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    out, err = folder / "stdout", folder / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        kept = folder.absolute()
        env = {"SHOPWINDOW_DATABASE": f"sqlite:///{kept}/store.sqlite", "SHOPWINDOW_LOG_DIR": f"{kept}/log", **env}
        process = subprocess.Popen(
            command, stdout=stdout, stderr=stderr, env=environment(**env), preexec_fn=ends_with_us
        )
    server = Server(port, admin, process, out, err)
    try:
        _await(server)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _await(server: Server) -> None:
    """Until the server answers a request, whatever it says."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        assert server.process.poll() is None, server.err.read_text()
        try:
            server.ask("/", method="OPTIONS")
        except OSError:
            time.sleep(0.02)
            continue
        return
    raise AssertionError(f"nobody listens: {server.err.read_text()}")


def answers(server: Server, target: str = "/", seconds: float = 10) -> bool:
    """Whether a request is answered at all, whatever the answer is."""
    connection = server.connect()
    connection.timeout = seconds
    try:
        connection.request("OPTIONS", target)
        return connection.getresponse().status == 204
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def lives(process: int) -> bool:
    """Whether there is a process that has not ended; one whose end nobody has looked at has."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def printed(server: Server, event: str = "") -> list[dict[str, Any]]:
    """The lines of JSON that a server printed, of one event or of all, without one that is half written."""
    whole = server.out.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    lines = [json.loads(line) for line in whole if line.startswith("{")]
    return [line for line in lines if event in ("", line["event"])]


def stands_still(process: int) -> bool:
    """Whether every thread of a process is stopped."""
    try:
        states = [file.read_text(encoding="utf-8") for file in Path(f"/proc/{process}/task").glob("*/stat")]
    except OSError:  # one has ended meanwhile
        return False
    return all(state.rpartition(")")[2].split()[0] == "T" for state in states)


def within(seconds: float, told: Callable[[], bool]) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not told():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def metric(server: Server, name: str, **labels: str) -> float | None:
    """A value of /metrics."""
    inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
    line = f"{name}{{{inner}}}" if labels else name
    found = re.search(rf"^{re.escape(line)} (\S+)$", server.told("/metrics").body.decode(), re.MULTILINE)
    return float(found[1]) if found else None


@contextmanager
def granian(folder: Path, out: Path, *options: str, **env: str) -> Iterator[Server]:
    """`shopwindow serve` of a folder of releases."""
    port, admin = free_port(), free_port()
    command = [sys.executable, "-m", "shopwindow", "serve", "--out", str(out), "--bind", f"{ADDRESS}:{port}"]
    command += ["--admin", f"{ADDRESS}:{admin}", *options]
    with running(folder, command, port, admin, **env) as server:
        yield server


@contextmanager
def in_a_group(folder: Path, out: Path, *options: str, **env: str) -> Iterator[Server]:
    """A service in a process group of its own. All of the group is killed at the end, also when a test breaks off."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [sys.executable, "-m", "shopwindow", "serve", "--out", str(out), "--bind", f"{ADDRESS}:{port}"]
    command += ["--admin", "", "--database", f"sqlite:///{folder}/store.sqlite", "--log-dir", str(folder / "log")]
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            [*command, *options], stdout=stdout, stderr=stderr, env=environment(**env), start_new_session=True
        )
    server = Server(port, 0, process, folder / "stdout", folder / "stderr")
    try:
        assert within(30, lambda: process.poll() is not None or answers(server)), server.err.read_text()
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


@contextmanager
def gunicorn(folder: Path, out: Path, **env: str) -> Iterator[Server]:
    """The callable behind gunicorn, with the options that it needs."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--bind", f"{ADDRESS}:{port}", "--limit-request-line", "0"]
    command += ["--keep-alive", "75"]  # conformance asks everything on one connection
    command += ["--worker-class", "gthread", "shopwindow.wsgi:make()"]
    with running(folder, command, port, 0, SHOPWINDOW_OUT=str(out), **env) as server:
        yield server


_WAITRESS = "import sys, waitress; from shopwindow.wsgi import make; waitress.serve(make(), listen=sys.argv[1])"


@contextmanager
def waitress(folder: Path, out: Path) -> Iterator[Server]:
    """The callable behind waitress."""
    port = free_port()
    command = [sys.executable, "-c", _WAITRESS, f"{ADDRESS}:{port}"]
    with running(folder, command, port, SHOPWINDOW_OUT=str(out)) as server:
        yield server


@contextmanager
def uwsgi(folder: Path, out: Path) -> Iterator[Server]:
    """The callable behind uWSGI."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "served_by_uwsgi.py").write_text("from shopwindow.wsgi import make\n\napplication = make()\n")
    command = ["uwsgi", "--http", f"{ADDRESS}:{port}", "--http-keepalive", "--buffer-size", "32768"]
    command += ["--module", "served_by_uwsgi", "--pythonpath", str(folder), "--virtualenv", sys.prefix]
    command += ["--master", "--lazy-apps", "--threads", "4", "--die-on-term"]
    with running(folder, command, port, SHOPWINDOW_OUT=str(out)) as server:
        yield server


def called(application: Any, target: str, headers: Mapping[str, str], method: str = "GET", body: bytes = b"") -> Answer:
    """What a WSGI callable answers, by PEP 3333 alone."""
    import io
    from urllib.parse import unquote_to_bytes

    path, _, query = target.partition("?")
    environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    if body:
        environ["CONTENT_LENGTH"] = str(len(body))
    started: list[Any] = []
    parts = application(environ, lambda status, found, *_: started.extend((status, found)))
    data = b"".join(parts)
    found: dict[str, Any] = {}
    for name, value in started[1]:
        if (key := name.lower()) not in BESIDE_THE_POINT:
            found[key] = [found[key], value] if key in found else value
    return Answer(int(started[0].split()[0]), found, data)
