"""What really runs on loopback: the service, nginx and other edges, systemd's part, and who asks them."""

import atexit
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import unquote

import pytest

from harness.commands import SOURCES, ends_with_us
from harness.program import BESIDE_THE_POINT, JSON, PHONE, Answer
from harness.run import SERVICES, made_by
from harness.waits import PATIENCE, awaited

# -- a real nginx on loopback, what stands behind it, and how it is asked ----------------------------------------------


NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
ADDRESS = "127.0.0.1"

_MAIN = """\
{user}
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/edge.conf;
}}
"""


def required_nginx() -> str:
    """The nginx of this machine. Without one the test is skipped, or fails where everything is to be tested."""
    if NGINX is not None:
        return NGINX
    reason = "there is no nginx here"
    if os.environ.get("SHOPWINDOW_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


_BOUND: deque[socket.socket] = deque(maxlen=200)
"""Sockets of the ports that were given last: more than one test uses, and fewer than a process may have open."""


def free_port(port: int = 0, address: str = ADDRESS) -> int:
    """A port on loopback that nobody listens at, and that the kernel gives to nobody else: it is bound here.

    A server that is told its number listens there all the same, now and when it is started again: Linux lets two
    sockets have an address of which none listens and both have SO_REUSEADDR, as all servers do. Elsewhere the port is
    let go. ``port``: this one; OSError where somebody else has it.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((address, port))
    number: int = bound.getsockname()[1]
    if sys.platform == "linux":
        _BOUND.append(bound)
    else:
        bound.close()
    return number


def written(folder: Path, configuration: str, user: str = "root") -> list[str]:
    """The command for an nginx with this configuration in its http context.

    ``user``: whom its workers are, where this is root. By default root, for pytest's own folders are for nobody else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    user = f"user {user};" if os.geteuid() == 0 else ""
    (folder / "edge.conf").write_text(configuration)
    (folder / "nginx.conf").write_text(_MAIN.format(user=user, folder=folder))
    return [required_nginx(), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]


def tested(folder: Path, configuration: str) -> str:
    """What nginx has to say to a configuration."""
    done = subprocess.run([*written(folder, configuration), "-t", "-q"], capture_output=True, text=True)
    return done.stdout + done.stderr


@contextmanager
def running_nginx(folder: Path, configuration: str, port: int, user: str = "root") -> Iterator[None]:
    """An nginx with this configuration, which makes it listen on ``port``."""
    process = subprocess.Popen(written(folder, configuration, user), preexec_fn=ends_with_us)
    try:
        _await_nginx(process, port)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _await_nginx(process: subprocess.Popen[bytes], port: int) -> None:
    def listens() -> bool:
        assert process.poll() is None, "nginx did not start"
        with closing(socket.socket()) as probe:
            return probe.connect_ex((ADDRESS, port)) == 0

    awaited(listens)


def ask(
    connection: HTTPConnection, target: str, headers: Mapping[str, str], method: str = "GET", body: bytes | None = None
) -> Answer:
    """One request with no headers but these, Host and a body's length."""
    connection.putrequest(method, target, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    found: dict[str, Any] = {}
    for name, value in response.getheaders():
        if (key := name.lower()) not in BESIDE_THE_POINT:
            found[key] = [found[key], value] if key in found else value
    return Answer(response.status, found, response.read())


def ask_raw(port: int, data: bytes) -> Answer:
    """One request, byte for byte, and the first answer to it."""
    with (
        closing(socket.create_connection((ADDRESS, port), PATIENCE)) as connection,
        connection.makefile("rb") as stream,
    ):
        connection.sendall(data)
        status = int(stream.readline().split()[1])
        lines = iter(lambda: stream.readline().decode().strip(), "")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = stream.read(int(headers.get("content-length", 0)))
    return Answer(status, {name: value for name, value in headers.items() if name not in BESIDE_THE_POINT}, body)


# -- behind it ---------------------------------------------------------------------------------------------------


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        target = self.requestline.split()[1]  # path has lost one of two slashes
        told = {"method": self.command, "target": target, "headers": headers, "length": len(body)}
        data = json.dumps(told).encode()
        self.send_response(203)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Service", "yes")
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # every method
            return self._answer
        raise AttributeError(name)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def echo() -> Iterator[str]:
    """A stand-in for the service, which answers 203 and tells what it was asked. Its address."""
    server = ThreadingHTTPServer((ADDRESS, 0), _Echo)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"{ADDRESS}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def mute(said: bytes | None = None) -> Iterator[str]:
    """A service that says ``said`` and hangs up, or takes a connection and says nothing. Its address."""
    with closing(socket.create_server((ADDRESS, 0))) as server:
        held: list[socket.socket] = []
        taking = threading.Thread(target=_take, args=(server, said, held), daemon=True)
        taking.start()
        try:
            yield f"{ADDRESS}:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)  # wakes the thread, which close() alone does not
            for connection in held:
                connection.close()
            taking.join()


def _take(server: socket.socket, said: bytes | None, held: list[socket.socket]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        held.append(connection)
        if said is not None:
            connection.recv(65536)
            connection.sendall(said)
            connection.close()


# -- real servers of a release on loopback, and how they are asked -----------------------------------------------------


INTERFACES = Path(__file__).parent.parent / "interfaces"
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
        return HTTPConnection(ADDRESS, self.port, timeout=PATIENCE)

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
        connection = HTTPConnection(ADDRESS, self.admin, timeout=PATIENCE)
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
    SERVICES.append(process.pid)
    server = Server(port, admin, process, out, err)
    try:
        _await(server)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        _forget(process)


def _await(server: Server) -> None:
    """Until the server answers a request, whatever it says."""

    def listens() -> bool:
        assert server.process.poll() is None, server.err.read_text()
        with suppress(OSError):
            server.ask("/", method="OPTIONS")
            return True
        return False

    awaited(listens, server.err.read_text)


def answers(server: Server, target: str = "/") -> bool:
    """Whether a request is answered at all, whatever the answer is."""
    connection = server.connect()
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


def count_connections(port: int) -> dict[str, int]:
    """How many connections to a port are `open`, and how many are `waiting` to be accepted, by the kernel's table."""
    counts = {"open": 0, "waiting": 0}
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, _, state, _, _, _, _, _, inode, *_ = line.split()
        if not local.endswith(f":{port:04X}"):
            continue
        if inode != "0" and state != "0A":  # accepted: it has an inode then; 0A listens
            counts["open"] += 1
        elif state in ("01", "03", "08"):  # established, half open, half closed
            counts["waiting"] += 1
    return counts


def stands_still(process: int) -> bool:
    """Whether every thread of a process is stopped."""
    try:
        states = [file.read_text(encoding="utf-8") for file in Path(f"/proc/{process}/task").glob("*/stat")]
    except OSError:  # one has ended meanwhile
        return False
    return all(state.rpartition(")")[2].split()[0] == "T" for state in states)


def metric(server: Server, name: str, **labels: str) -> float | None:
    """A value of /metrics."""
    inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
    line = f"{name}{{{inner}}}" if labels else name
    found = re.search(rf"^{re.escape(line)} (\S+)$", server.told("/metrics").body.decode(), re.MULTILINE)
    return float(found[1]) if found else None


@contextmanager
def own_server(folder: Path, out: Path, *options: str, **env: str) -> Iterator[Server]:
    """`shopwindow serve` of a folder of releases."""
    port, admin = free_port(), free_port()
    command = [sys.executable, "-m", "shopwindow", "serve", "--out", str(out), "--bind", f"{ADDRESS}:{port}"]
    command += ["--admin", f"{ADDRESS}:{admin}", *options]
    with running(folder, command, port, admin, **env) as server:
        yield server


@contextmanager
def follower(folder: Path, out: Path, source: str, *options: str, **env: str) -> "Iterator[subprocess.Popen[bytes]]":
    """`shopwindow pull SOURCE --follow` into a folder of releases, as the unit beside the service does."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "shopwindow", "pull", source, "--out", str(out), "--follow", *options]
    with (folder / "pull").open("wb") as printed:
        process = subprocess.Popen(
            command, stdout=printed, stderr=printed, env=environment(**env), preexec_fn=ends_with_us
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


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
    SERVICES.append(process.pid)
    server = Server(port, 0, process, folder / "stdout", folder / "stderr")
    try:
        awaited(lambda: process.poll() is not None or answers(server), server.err.read_text)
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        _forget(process)


def _forget(service: "subprocess.Popen[bytes]") -> None:
    """Delete what a service that was killed could not delete; what others leave is found at the end of the run."""
    if service.returncode == -signal.SIGKILL:
        for folder in made_by(service.pid):
            shutil.rmtree(folder, ignore_errors=True)


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


# -- real servers on loopback that are not nginx: workerd with the worker, and Varnish ---------------------------------


LOCKED = Path(__file__).parent.parent / "edge" / "workerd"
"""What npm installs: workerd, with the digests of its packages."""


def _required(program: str | None, reason: str) -> str:
    """A program of this machine. Without it the test is skipped, or fails where everything is to be tested."""
    if program is not None:
        return program
    if os.environ.get("SHOPWINDOW_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def workerd_required() -> str:
    """Cloudflare's runtime of workers: that of SHOPWINDOW_WORKERD, or one from npm."""
    return os.environ.get("SHOPWINDOW_WORKERD") or _required(*_installed())


@cache
def _installed() -> tuple[str | None, str]:
    """The workerd of the lock file, installed without running any script; without one None and the reason."""
    npm = shutil.which("npm")
    if not (npm and shutil.which("node")):
        return None, "workerd needs node and npm"
    folder = Path(mkdtemp(prefix="shopwindow-workerd-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCKED / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Not node_modules/.bin/workerd: that starts this program as its child, which goes on when it is terminated.
    programs = list(folder.glob("node_modules/@cloudflare/workerd-*/bin/workerd"))
    return (str(programs[0]) if programs else None), f"npm does not install workerd: {done.stderr.strip()[:300]}"


def _await_edge(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until a server answers a request, whatever it says."""

    def listens() -> bool:
        assert process.poll() is None, log.read_text()
        with suppress(OSError), closing(HTTPConnection(ADDRESS, port, timeout=PATIENCE)) as connection:
            connection.request("OPTIONS", "/")
            connection.getresponse().read()
            return True
        return False

    awaited(listens, log.read_text)


@contextmanager
def _server(command: list[str], port: int, log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, preexec_fn=ends_with_us)
    try:
        _await_edge(process, port, log)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


# -- Varnish -----------------------------------------------------------------------------------------------------


@contextmanager
def varnish(folder: Path, configuration: str, port: int) -> Iterator[None]:
    """A Varnish on ``port``."""
    search = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    program = _required(shutil.which("varnishd", path=search), "there is no Varnish here")
    # Not below pytest's own folders: the way there is too long for Varnish's socket.
    home = mkdtemp(prefix="shopwindow-varnish-")
    vcl = folder / "cache.vcl"
    vcl.write_text(configuration)
    command = [program, "-F", "-j", "none", "-n", home, "-a", f"{ADDRESS}:{port}", "-f", str(vcl), "-s", "malloc,64m"]
    try:
        with _server(command, port, folder / "varnish.log"):
            yield
    finally:
        shutil.rmtree(home, ignore_errors=True)


# -- workerd -----------------------------------------------------------------------------------------------------

_WORKERD = """\
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    (name = "shopwindow", external = (address = "{service}", http = ())),
    {services}
  ],
  sockets = [(name = "http", address = "{address}", http = (), service = "edge")],
);
const edge :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "SERVICE", service = "shopwindow"), {bindings}],
);
"""


@contextmanager
def workerd(folder: Path, module: str, port: int, service: str, services: str, bindings: str) -> Iterator[Path]:
    """A workerd with the worker on ``port``. Yields the file with what it prints.

    ``service``: the address of `shopwindow serve`. ``services`` and ``bindings``: where the files are, as workerd's
    configuration names it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "worker.js").write_text(module)
    text = _WORKERD.format(service=service, address=f"{ADDRESS}:{port}", services=services, bindings=bindings)
    (folder / "config.capnp").write_text(text)
    log = folder / "log"
    with _server([workerd_required(), "serve", str(folder / "config.capnp")], port, log):
        yield log


def store_of_disk(folder: Path, layout: str) -> dict[str, str]:
    """A store that is a folder, as workerd's own service of a disk serves it."""
    return {
        "services": f'(name = "store", disk = (path = "{folder}")),',
        "bindings": f'(name = "STORE", service = "store"), (name = "LAYOUT", text = "{layout}")',
    }


def store_of_namespace(address: str, prefix: str) -> dict[str, str]:
    """A store that is a KV namespace, which somebody at ``address`` answers for (``key_of_namespace``)."""
    bindings = '(name = "STORE", kvNamespace = "store"), (name = "LAYOUT", text = "files"), '
    return {
        "services": f'(name = "store", external = (address = "{address}", http = ())),',
        "bindings": bindings + f'(name = "PREFIX", text = "{prefix}")',
    }


def store_of_url(address: str, prefix: str) -> dict[str, str]:
    """A store that is a URL. workerd lets a worker reach loopback only where its configuration says so."""
    bindings = f'(name = "STORE", text = "http://{address}/"), (name = "LAYOUT", text = "files"), '
    return {
        "services": '(name = "internet", network = (allow = ["private", "local"])),',
        "bindings": bindings + f'(name = "PREFIX", text = "{prefix}")',
    }


def key_of_namespace(target: str) -> str:
    """The key that workerd asks a namespace for by a target."""
    return unquote(target.partition("?")[0].removeprefix("/"))


# -- what systemd does for a service, done by tests: it hears how the service is, and hands it a socket ----------------


class Notified:
    """A socket that a service tells of itself, as systemd's is."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{path[1:]}" if path.startswith("@") else path)

    def __enter__(self) -> "Notified":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def next(self) -> str:
        """What is said next, but for the words that it is alive."""
        self._socket.settimeout(PATIENCE)
        while (said := self._socket.recv(4096).decode()) == "WATCHDOG=1":
            pass
        return said

    def is_alive(self) -> bool:
        """Whether the service says that it lives, which it says at every turn, also before and after other words."""
        self._socket.settimeout(PATIENCE)
        return any(self._socket.recv(4096) == b"WATCHDOG=1" for _ in range(2))


_HANDED = 'import os, sys; os.environ["LISTEN_PID"] = str(os.getpid()); os.execv(sys.executable, sys.argv[1:])'


def handed(listener: socket.socket | None, out: Path, folder: Path, **env: str) -> "subprocess.Popen[bytes]":
    """A service that gets ``listener`` as file descriptor 3, as systemd hands it over."""
    serve = [sys.executable, "-m", "shopwindow", "serve", "--out", str(out), "--admin", "", "--workers", "1"]
    serve += ["--bind", f"{ADDRESS}:1", "--database", f"sqlite:///{folder}/store.sqlite", "--log-dir", ""]
    put = "import os; os.dup2(int(os.environ.pop('FROM')), 3); " if listener else ""
    command = [sys.executable, "-c", put + _HANDED, *serve]
    passed = (listener.fileno(),) if listener else ()
    more = {"FROM": str(passed[0])} if passed else {}
    with (folder / "stderr").open("ab") as stderr:
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=passed,
            env=environment(**{"LISTEN_FDS": "1", **more, **env}),
            start_new_session=True,
        )


# -- clients that ask a service for as long as a test lasts, and count what is lost ------------------------------------


KEY = {"x-svc-webservice-client-id": PHONE}
TARGET = "/v2/promotions"
CLIENTS = 6


@dataclass
class Load:
    """Clients that ask until the test ends: what they were answered, and what they lost."""

    port: int
    stop: threading.Event = field(default_factory=threading.Event)
    statuses: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def once(self) -> None:
        """A connection for each request. Whatever does not come back is lost."""
        while not self.stop.is_set():
            connection = HTTPConnection(ADDRESS, self.port, timeout=PATIENCE)
            try:
                self.statuses.append(ask(connection, TARGET, KEY).status)
            except (OSError, HTTPException) as error:
                self.lost.append(repr(error))
            finally:
                connection.close()

    def kept(self) -> None:
        """One connection for many requests.

        A server may close it between two of them, and a request that was on its way then is sent again on another
        (RFC 9110 §9.2.2), once. That is what nginx does with a connection to its upstream, too.
        """
        connection, used = HTTPConnection(ADDRESS, self.port, timeout=PATIENCE), False
        while not self.stop.is_set():
            try:
                self.statuses.append(ask(connection, TARGET, KEY).status)
                used = True
                continue
            except (RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
                if not used:
                    self.lost.append(repr(error))
            except (OSError, HTTPException) as error:
                self.lost.append(repr(error))
            connection.close()
            connection, used = HTTPConnection(ADDRESS, self.port, timeout=PATIENCE), False
        connection.close()

    def has_answered(self, number: int) -> bool:
        return len(self.statuses) >= number


@contextmanager
def under_load(port: int) -> Iterator[Load]:
    """Half of the clients make a connection for each request, half keep theirs."""
    load = Load(port)
    work = [load.once, load.kept] * (CLIENTS // 2)
    threads = [threading.Thread(target=ask_on, daemon=True) for ask_on in work]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.stop.set()
        for thread in threads:
            thread.join(PATIENCE)


# -- requests noted by processes, threads and forked workers, and the log that they leave ------------------------------


NOTE = """
import os
import sys
from threading import Thread
from shopwindow.interface.answering.answer import Response
from shopwindow.service.metrics import Metrics
from shopwindow.service.serving import Exchange

def note(metrics, number, method):
    for length in range(number):
        metrics.note(Exchange(Response(200, "application/json", bytes(length)), "events_v1", "phone"), method, 0.002)

def fork(count, target):
    for worker in range(count):
        if not os.fork():  # as gunicorn does
            target(f"M{worker}")
            sys.exit()
    for worker in range(count):
        os.wait()

how, number = sys.argv[1], int(sys.argv[2])
if how == "a process":
    note(Metrics(), number, "M0")
elif how == "its threads":
    metrics = Metrics()
    for thread in range(3):
        Thread(target=note, args=(metrics, number, f"M{thread}")).start()
elif how == "workers":
    fork(3, lambda method: note(Metrics(), number, method))
elif how == "workers forked afterwards":
    metrics = Metrics()
    note(metrics, 2, "M")
    fork(3, lambda method: note(metrics, number, method))
"""


def noted(folder: Path, how: str, number: int) -> dict[str, list[int]]:
    """The log of so many requests each, noted in some way, with one pipe for all: their bytes, by their method."""
    folder.mkdir()
    command = [sys.executable, "-c", NOTE, how, str(number)]
    env = environment(PROMETHEUS_MULTIPROC_DIR=str(folder))
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    bytes_by_method: dict[str, list[int]] = {}
    for line in done.stdout.splitlines():
        line_of_log = json.loads(line)
        bytes_by_method.setdefault(line_of_log["method"], []).append(line_of_log["bytes"])
    return bytes_by_method


def opted_in(server: Server) -> int:
    """The status of an opt-in that a running service is sent."""
    body = json.dumps({"deviceID": "D1", "optInOrOptOut": "IN"}).encode()
    headers = {"x-svc-webservice-client-id": PHONE, "content-type": JSON}
    connection = HTTPConnection(ADDRESS, server.port, timeout=PATIENCE)
    return ask(connection, "/v2/utility/mobileoptinout", headers, "POST", body).status
