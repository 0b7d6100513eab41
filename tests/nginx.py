"""A real nginx on loopback, what stands behind it, and how it is asked."""

import itertools
import json
import os
import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from children import ends_with_us

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
ADDRESS = "127.0.0.1"
BESIDE_THE_POINT = ("date", "server", "connection", "x-request-id")
"""Headers that say nothing about an answer: its own time, server, connection and name."""

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


def required() -> str:
    """The nginx of this machine. Without one the test is skipped, or fails where everything is to be tested."""
    if NGINX is not None:
        return NGINX
    reason = "there is no nginx here"
    if os.environ.get("SHOPWINDOW_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


GIVEN_TO_NOBODY = range(20_000, 32_768)
"""Ports that the kernel chooses for no connection: its own begin at 32,768 (net.ipv4.ip_local_port_range).

So nobody else takes one between the moment when it was free and the start of the server that shall listen there.
"""


def _of_this_process() -> Iterator[int]:
    """The ports that are this test process's own, one after the other, in an order that differs each time.

    A server listens some time after its port was chosen. So no other process of this run chooses from the same ports,
    and this one comes back to a port as late as can be.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = list(GIVEN_TO_NOBODY[number::processes])
    random.shuffle(ports)
    return itertools.cycle(ports)


_PORTS = _of_this_process()


def free_port() -> int:
    """A port that nobody listens at, on loopback, and that nobody else is given."""
    while True:
        port = next(_PORTS)
        with closing(socket.socket()) as probe, suppress(OSError):
            probe.bind((ADDRESS, port))
            return port


def written(folder: Path, configuration: str, user: str = "root") -> list[str]:
    """The command for an nginx with this configuration in its http context.

    ``user``: whom its workers are, where this is root. By default root, for pytest's own folders are for nobody else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    user = f"user {user};" if os.geteuid() == 0 else ""
    (folder / "edge.conf").write_text(configuration)
    (folder / "nginx.conf").write_text(_MAIN.format(user=user, folder=folder))
    return [required(), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]


def tested(folder: Path, configuration: str) -> str:
    """What nginx has to say to a configuration."""
    done = subprocess.run([*written(folder, configuration), "-t", "-q"], capture_output=True, text=True)
    return done.stdout + done.stderr


@contextmanager
def running(folder: Path, configuration: str, port: int, user: str = "root") -> Iterator[None]:
    """An nginx with this configuration, which makes it listen on ``port``."""
    process = subprocess.Popen(written(folder, configuration, user), preexec_fn=ends_with_us)
    try:
        _await(process, port)
        yield
    finally:
        process.terminate()
        process.wait(10)


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        assert process.poll() is None, "nginx did not start"
        with closing(socket.socket()) as probe:
            if probe.connect_ex((ADDRESS, port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError("nginx does not listen")


# -- asking ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What came back; header names in lower case, those of the connection left out. A header sent twice is a list."""

    status: int
    headers: dict[str, Any]
    body: bytes

    @property
    def told(self) -> Any:
        """What the stand-in service tells of the request."""
        assert self.status == 203, self
        return json.loads(self.body)


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
    with closing(socket.create_connection((ADDRESS, port), 10)) as connection, connection.makefile("rb") as stream:
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
        threading.Thread(target=_take, args=(server, said, held), daemon=True).start()
        try:
            yield f"{ADDRESS}:{server.getsockname()[1]}"
        finally:
            for connection in held:
                connection.close()


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
