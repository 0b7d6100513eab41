"""The service while clients ask and releases change, when it is ended or killed, and behind other servers."""

import json
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import orjson
import pytest

from facts.conformance import PHONE, differing, documents, json_bytes, table
from harness.content import app, small, store
from harness.content import write as write_documents
from harness.program import Watch, built, point, shopwindow
from harness.run import apart
from harness.servers import ADDRESS, ask, count_connections, own_server, uwsgi, waitress
from harness.waits import PATIENCE, awaited
from shopwindow.release.manifest import encode, release_id
from shopwindow.service.metrics_folder import metrics_folder
from shopwindow.shop import INTERFACE

KEY = {"x-svc-webservice-client-id": PHONE}


CONFIGURATION = "/v2/utility/mobileapp"


@dataclass(frozen=True)
class Seen:
    """One answer under load: when it was asked and told, and what it said."""

    asked: float
    told: float
    status: int
    body: bytes


def hammer(port: int, target: str, seen: list[Seen], stop: threading.Event, failures: list[str]) -> None:
    connection = HTTPConnection(ADDRESS, port, timeout=PATIENCE)
    while not stop.is_set():
        began = time.monotonic()
        try:
            came = ask(connection, target, KEY)
        except (OSError, HTTPException) as failure:
            failures.append(repr(failure))
            return
        seen.append(Seen(began, time.monotonic(), came.status, came.body))


@pytest.mark.alone
def test_every_worker_follows_a_switch_within_a_second_and_fails_or_mixes_no_answer(tmp_path: Path) -> None:
    content, out = write_documents(tmp_path / "content", small()), tmp_path / "dist"
    keyed = {"apiKeys": documented_keys()}
    bodies, ids = {}, []
    for word in ("first", "second"):
        config = {**app("phone", configVersion=word), **keyed}
        write_documents(content, {"apps/phone.yaml": config})
        ids.append(built(content, out))
        bodies[word] = json_bytes(config["config"])
    shopwindow("activate", ids[0], "--out", out)
    seen: list[Seen] = []
    failures: list[str] = []
    stop = threading.Event()
    with own_server(tmp_path / "server", out, "--workers", "2") as server:
        awaited(lambda: server.ask(CONFIGURATION, KEY).body == bodies["first"])
        arguments = (server.port, CONFIGURATION, seen, stop, failures)
        threads = [threading.Thread(target=hammer, args=arguments) for _ in range(24)]
        for thread in threads:
            thread.start()
        awaited(lambda: len(seen) > 100)
        switches = []
        for id, word in ((ids[1], "second"), (ids[0], "first")) * 4:
            before = time.monotonic()
            assert shopwindow("activate", id, "--out", out).status == 0
            switches.append((before, time.monotonic(), word))
            time.sleep(1.5)
        stop.set()
        for thread in threads:
            thread.join()
    assert (failures, {each.status for each in seen}, {each.body for each in seen}) == ([], {200}, set(bodies.values()))
    ends = [before for before, _, _ in switches[1:]] + [float("inf")]
    are_followed = []
    for (_, after, word), end in zip(switches, ends, strict=True):
        late = {each.body for each in seen if each.asked > after + 1 and each.told < end}
        are_followed.append(late == {bodies[word]})
    assert are_followed.count(False) <= 2, are_followed  # a worker, or this process, may be held up twice


def documented_keys() -> list[str]:
    keys: list[str] = json.loads(documents()["apps/phone.yaml"])["apiKeys"]
    return keys


def _dangling(out: Path, good: Path) -> None:
    """A link to a release that is not there."""
    point(out, "0" * 64)


def _spoiled(out: Path, good: Path, name: str, data: bytes) -> None:
    """Point at a copy of a release in which a file is another, and whose manifest says so."""
    draft = Path(shutil.copytree(good, out / "releases" / "draft"))
    (draft / name).write_bytes(data)
    manifest = json.loads((good / "manifest.json").read_bytes())
    manifest["private"][name] = {"size": len(data), "sha256": sha256(data).hexdigest()}
    files = {entry["path"]: orjson.dumps(entry) for entry in manifest["files"]}
    changed = encode(files, manifest["private"], manifest["nextChange"], manifest["edge"])
    (draft / "manifest.json").write_bytes(changed)
    draft.rename(out / "releases" / release_id(changed))
    point(out, release_id(changed))


def _unreadable_catalog(out: Path, good: Path) -> None:
    _spoiled(out, good, "catalog.sqlite", b"no database")


def _content(out: Path, good: Path, **values: Any) -> None:
    """A release with other values in its content.json."""
    value = json.loads((good / "content.json").read_bytes()) | values
    _spoiled(out, good, "content.json", json.dumps(value).encode())


def _documents(out: Path, good: Path, **lists: Any) -> None:
    """A release with other documents of some kinds in its content.json."""
    documents = json.loads((good / "content.json").read_bytes())["documents"]
    _content(out, good, documents=documents | lists)


NO_FAILURES = [
    (partial(_documents, event=[{}]), "KeyError: 'start'"),
    (partial(_content, site=[]), "AttributeError: 'list' object has no attribute 'get'"),
    (partial(_documents, store=None), "TypeError: 'NoneType' object is not iterable"),
]
"""What is told with the name of its type, where that is no failure that we know."""


@pytest.mark.parametrize(
    ("spoil", "told"), [(_dangling, "000000000000"), (_unreadable_catalog, "catalog.sqlite"), *NO_FAILURES]
)
@apart
def test_whatever_cannot_be_loaded_the_next_release_is_followed(
    tmp_path: Path, spoil: Callable[[Path, Path], None], told: str
) -> None:
    content, out = write_documents(tmp_path / "content", small()), tmp_path / "dist"
    first = built(content, out)
    write_documents(content, {"apps/phone.yaml": app("phone", configVersion="9")})
    second = built(content, out)
    point(out, first)
    said: list[str] = []
    watch = Watch(out, INTERFACE, report=said.append)
    spoil(out, out / "releases" / first)
    awaited(lambda: bool(said))
    time.sleep(0.6)
    serving = watch()
    begins = f"the release that current leads to cannot be served, {first[:12]} is served: "
    assert (serving is not None and serving.id, len(said)) == (first, 1)
    assert (said[0].startswith(begins), told in said[0]) == (True, True), said[0]
    point(out, second)
    awaited(lambda: (now := watch()) is not None and now.id == second)


def test_sigterm_lets_requests_in_flight_be_answered(tmp_path: Path) -> None:
    shops = [store(number) for number in range(1, 1501)]
    content = write_documents(tmp_path / "content", {**small(), "stores/all.yaml": shops[2:]})
    write_documents(content, {"apps/phone.yaml": {**app("phone"), "apiKeys": documented_keys()}})
    out = tmp_path / "dist"
    built(content, out)

    def begun(port: int, number: int) -> HTTPConnection:
        """A request in flight until the client reads: in small segments the system takes no more of its answer."""
        connection = HTTPConnection(ADDRESS, port)
        connection.sock = socket.socket()
        connection.sock.settimeout(PATIENCE)
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        connection.sock.connect((ADDRESS, port))
        headers = {**KEY, "accept": "application/xml", "connection": "close"}
        connection.request("GET", f"/store/v2/stores?x={number}", headers=headers)
        return connection

    with own_server(tmp_path / "server", out, "--workers", "2") as server:
        awaited(lambda: count_connections(server.port) == {"open": 0, "waiting": 0})
        connections = [begun(server.port, number) for number in range(24)]
        awaited(lambda: count_connections(server.port) == {"open": 24, "waiting": 0})
        server.process.send_signal(signal.SIGTERM)
        answers = [connection.getresponse() for connection in connections]
        bodies = [answer.read() for answer in answers]
        assert server.process.wait(PATIENCE) == 0
    assert {answer.status for answer in answers} == {200}
    assert {(len(body) > 1_000_000, body.endswith(b"</stores>")) for body in bodies} == {(True, True)}


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_an_end_waits_for_a_body_that_is_still_being_sent(out: Path, tmp_path: Path, ended: signal.Signals) -> None:
    body = b'{"deviceID":"D1","optInOrOptOut":"IN"}'
    head = (
        "POST /v2/utility/mobileoptinout HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    )
    head += f"Content-Length: {len(body)}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in KEY.items()) + "\r\n"
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        awaited(lambda: count_connections(server.port) == {"open": 0, "waiting": 0})
        with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as connection:
            connection.sendall(head.encode() + body[:10])
            awaited(lambda: count_connections(server.port) == {"open": 1, "waiting": 0})
            server.process.send_signal(ended)
            time.sleep(1.5)
            connection.sendall(body[10:])
            told = b"".join(iter(partial(connection.recv, 65536), b""))
        assert server.process.wait(PATIENCE) == 0
    assert (told.split(b"\r\n", 1)[0], told.rpartition(b"\r\n")[2]) == (b"HTTP/1.1 200 OK", b'{"success":true}')


def test_what_a_killed_service_left_in_memory_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shopwindow.service.metrics_folder.MEMORY", tmp_path)  # another service may clear our own up
    left, fresh = (Path(tempfile.mkdtemp(prefix="shopwindow-metrics-0-", dir=tmp_path)) for _ in range(2))
    os.utime(left, (1, 1))
    with metrics_folder() as mine:
        os.utime(mine, (1, 1))
        with metrics_folder():
            found = [path.exists() for path in (left, fresh, Path(mine))]
    fresh.rmdir()
    assert (found, Path(mine).exists()) == ([False, True, True], False)


def test_waitress_serves_the_callable_too(tmp_path: Path, out: Path) -> None:
    cases = [case for case in table() if not case.data]
    with waitress(tmp_path, out) as server:
        assert differing(server.port, "", cases) == []


@pytest.mark.skipif(shutil.which("uwsgi") is None, reason="uWSGI is not installed")
def test_uwsgi_serves_the_callable_too(tmp_path: Path, out: Path) -> None:
    cases = [case for case in table() if not case.data]
    with uwsgi(tmp_path, out) as server:
        assert differing(server.port, "", cases) == []
