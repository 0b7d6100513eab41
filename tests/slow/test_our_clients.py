"""The cores in clients/ against a server that misbehaves: both do the same."""

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from harness.browser import npm_installed
from harness.servers import ADDRESS
from harness.waits import PATIENCE
from shopwindow_client import Client, Refused, Unreachable

CLIENTS = Path(__file__).parents[2] / "clients"

TABLE = Path(__file__).parent / "client_faults.md"

TYPESCRIPT = "typescript@5.9.3"
"""From npm: what package.json of the client names."""

FRESH = {"ETag": '"1"', "Cache-Control": "max-age=60"}
LOGIN = (b"<html>Sign in to the wireless network</html>", "text/html")
REFUSAL = {"errorCode": 400, "message": "The request is not valid", "errorDetail": ["name: is missing"]}
NO_KEY = {"errorCode": 401, "message": "The API key is missing", "errorDetail": ["x-svc-webservice-client-id: no key"]}
BUSY = {"errorCode": 202, "message": "The service is not available", "errorDetail": []}


class Misbehaving(BaseHTTPRequestHandler):
    """Answers as the server's ``mode`` says; ``lost`` and ``busy`` are over once a request has met them."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/behave/"):
            self.server.mode = self.path.rpartition("/")[2]  # type: ignore[attr-defined]
            return self.says(200, {})
        if self.path == "/seen":
            return self.says(200, self.server.seen)  # type: ignore[attr-defined]
        headers = {name: self.headers[name] for name in ("If-None-Match", "Idempotency-Key") if self.headers[name]}
        count = len(json.loads(body).get("entry", ())) if body else 0
        self.server.seen.append([self.command, self.path, headers, count])  # type: ignore[attr-defined]
        return self.misbehaves(self.server.mode)  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_GET()

    def misbehaves(self, mode: str) -> None:
        if mode in ("lost", "busy"):
            self.server.mode = "good"  # type: ignore[attr-defined]
        if mode == "login":
            self.sends(200, *LOGIN)
        elif mode == "redirected":
            self.sends(302, *LOGIN, {"Location": "/login"})
        elif mode == "broken":
            self.sends(500, *LOGIN)
        elif mode == "list":
            self.says(200, ["another form"])
        elif mode == "half":
            self.sends(200, b'{"name": "ha', "application/json", length=100)
            self.close_connection = True
        elif mode == "lost":
            self.close_connection = True
        elif mode == "hanging":
            self.sends(200, b'{"name": "ha', "application/json", length=100)
            self.wfile.flush()
            self.server.ended.wait()  # type: ignore[attr-defined]
        elif mode == "trickling":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Letters: ")
            with suppress(OSError):
                while not self.server.ended.wait(0.5):  # type: ignore[attr-defined]
                    self.wfile.write(b"a")
            self.close_connection = True
        elif mode == "portal":
            self.says(200, {"portal": True})
        elif mode == "private":
            self.says(200, {"name": "good"}, **{"Cache-Control": "no-store"})
        elif mode == "aged":
            self.says(200, {"name": "good"}, **FRESH, Age="50")
        elif mode == "no_key":
            self.says(401, NO_KEY)
        elif mode == "refuses":
            self.says(400, REFUSAL)
        elif mode == "busy":
            self.says(503, BUSY, **{"Retry-After": "1"})
        elif self.headers["If-None-Match"] == '"1"':
            self.sends(304, b"", "application/json", FRESH)
        else:
            self.says(200, {"name": "good", "logPostResponse": {"success": True}}, **FRESH)

    def says(self, status: int, value: Any, **headers: str) -> None:
        self.sends(status, json.dumps(value).encode(), "application/json", headers)

    def sends(
        self,
        status: int,
        body: bytes,
        media_type: str,
        headers: Mapping[str, str] = MappingProxyType({}),
        length: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": media_type, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server that misbehaves as it is told to at /behave/MODE; /seen has the requests."""
    server = ThreadingHTTPServer((ADDRESS, 0), Misbehaving)
    server.mode, server.seen, server.ended = "good", [], threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://{ADDRESS}:{server.server_port}"
    server.ended.set()  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()
    server.server_close()


DAY = 24 * 3600
STEPS = [
    ("no_key", 0),  # with no copy yet
    ("good", 0),
    ("broken", 59),  # the copy needs no request
    ("login", 1),
    ("redirected", 1),
    ("half", 1),
    ("list", 1),
    ("hanging", 1),
    ("trickling", 1),
    ("refuses", 1),
    ("busy", 1),  # is the service's own word, and no answer
    ("lost", 7 * DAY - 70),
    ("login", DAY),  # the copy is too old
    ("good", 1),
    ("aged", 60),
    ("broken", 9),  # the copy needs no request
    ("login", 1),
    ("no_key", 1),  # with a copy
]
"""How the server behaves, and after how many seconds it is asked."""

COPY = ["good", '"1"', True]
ANSWER = ["good", '"1"', False]
"""Name, ETag, and whether it is a copy."""

NO_KEY_REFUSED = [401, 401, "x-svc-webservice-client-id: no key", None]
READS = [
    NO_KEY_REFUSED,
    ANSWER,
    ANSWER,
    COPY,
    COPY,
    COPY,
    COPY,
    COPY,
    COPY,
    [400, 400, "name: is missing", None],
    COPY,
    COPY,
    "unreachable",
    ANSWER,
    ANSWER,
    ANSWER,
    COPY,
    NO_KEY_REFUSED,
]
PATH = "/v1/things/a%20b?tag=x,y%26z"
FIRST, AGAIN = ["GET", PATH, {}, 0], ["GET", PATH, {"If-None-Match": '"1"'}, 0]
LOG = "/v2/utility/mobilelog"
EXPECTED: dict[str, Any] = {
    "reads": READS,
    "writes": ["good", "good", [400, 400, "name: is missing", None], "unreachable"],
    "portal": "unreachable",
    "log": [21, 0],
    "private": [["good", "", False], "unreachable"],
    "full": [ANSWER, "unreachable"],
    "form": ["unreachable", ANSWER],
    "seen": [
        *[FIRST] * 2,
        *[AGAIN] * 14,
        *[["POST", "/v1/things", {"Idempotency-Key": key}, 0] for key in "AABBC"],
        ["PUT", "/v1/things", {}, 0],
        *[["POST", LOG, {"Idempotency-Key": key}, count] for key, count in (("D", 20), ("D", 20), ("D", 20), ("E", 1))],
    ],
}
"""What both clients do, in whichever language. The copy of `broken`, which is fresh, takes no request."""


def lettered(seen: list[Any]) -> list[Any]:
    """The requests, with a letter for each Idempotency-Key."""
    keys = list(dict.fromkeys(headers["Idempotency-Key"] for _, _, headers, _ in seen if "Idempotency-Key" in headers))
    letters = {key: chr(ord("A") + number) for number, key in enumerate(keys)}
    return [
        [method, path, {name: letters.get(value, value) for name, value in headers.items()}, count]
        for method, path, headers, count in seen
    ]


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Refused as refusal:
        return [refusal.status, refusal.code, refusal.message, refusal.retry_after]
    except Unreachable:
        return "unreachable"


def test_the_python_client_survives_a_server_that_misbehaves(address: str, tmp_path: Path) -> None:
    now = [1_000_000_000.0]
    client = Client(address, "a-key", tmp_path, clock=lambda: now[0])

    def behave(mode: str) -> None:
        httpx.get(f"{address}/behave/{mode}")

    def read() -> Any:
        answer = client.read("v1/things/a%20b", {"tag": "x,y&z"})
        return [answer.value["name"], answer.etag, answer.is_copy]

    def write(method: str) -> Any:
        return client.write(method, "v1/things", {"name": "new"}).value["name"]

    reads = []
    for mode, seconds in STEPS:
        behave(mode)
        now[0] += seconds
        reads.append(outcome(read))
    writes = []
    for mode, method in [("lost", "POST"), ("busy", "POST"), ("refuses", "POST"), ("lost", "PUT")]:
        behave(mode)
        writes.append(outcome(partial(write, method)))
    for number in range(21):
        client.log("ERROR", str(number), "a-phone", "iPhone")
    behave("portal")
    portal = outcome(client.flush)
    behave("lost")
    log = [client.flush(), client.dropped]
    seen = httpx.get(f"{address}/seen").json()
    assert {"reads": reads, "writes": writes, "portal": portal, "log": log, "seen": lettered(seen)} == {
        name: EXPECTED[name] for name in ("reads", "writes", "portal", "log", "seen")
    }
    client.close()

    (tmp_path / "no-folder").write_text("")
    for mode, first, copies in (("private", "private", tmp_path / "of-bags"), ("full", "good", tmp_path / "no-folder")):
        client = Client(address, "a-key", copies)
        behave(first)
        came = [outcome(read)]
        behave("broken")
        assert [*came, outcome(read)] == EXPECTED[mode]
        client.close()


def test_every_fault_of_the_table_is_tested() -> None:
    faults = set(re.findall(r"^\| `(\w+)` \|", TABLE.read_text(), re.M))
    by_tests = {"portal", "private", "full", "old", "damaged"}
    assert faults == {mode for mode, _ in STEPS} - {"good"} | by_tests


def test_the_typescript_client_does_the_same_with_what_react_native_has(address: str, tmp_path: Path) -> None:
    compiler = npm_installed(tmp_path, TYPESCRIPT) / ".bin" / "tsc"
    project = CLIENTS / "typescript"
    compiled = subprocess.run([compiler, "-p", project, "--outDir", tmp_path / "dist"], capture_output=True, text=True)
    assert (compiled.returncode, compiled.stdout) == (0, "")
    (tmp_path / "dist" / "package.json").write_text('{"type": "module"}')
    driver = Path(__file__).parent.parent / "drivers" / "of_our_typescript_client.mjs"
    command = ["node", str(driver), str(tmp_path / "dist"), address, json.dumps(STEPS)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    assert {**printed, "seen": lettered(printed["seen"])} == EXPECTED


def test_a_form_that_is_not_the_promised_one_is_no_answer(address: str, tmp_path: Path) -> None:
    client = Client(address, "a-key", tmp_path)
    with pytest.raises(Unreachable, match="there is no copy"):
        client.read("v1/things", form=lambda value: value["storeEvents"])
    assert list(tmp_path.iterdir()) == []
    client.close()


def test_a_damaged_copy_is_no_copy(address: str, tmp_path: Path) -> None:
    client = Client(address, "a-key", tmp_path)
    client.read("v1/things")
    (file,) = tmp_path.iterdir()
    file.write_text('{"etag"')
    assert client.read("v1/things").is_copy is False
    client.close()


def test_entries_that_the_service_does_not_want_do_not_hold_up_the_others(address: str, tmp_path: Path) -> None:
    client = Client(address, "a-key", tmp_path)
    client.log("ERROR", "of no phone", "", "iPhone")
    httpx.get(f"{address}/behave/refuses")
    with pytest.raises(Refused):
        client.flush()
    assert (client.dropped, client.flush()) == (1, 0)
    client.close()


@pytest.mark.parametrize("path", ["python/src/shopwindow_client/__init__.py", "typescript/src/index.ts"])
def test_a_core_is_at_most_250_lines_of_code_and_the_table_has_its_size(path: str) -> None:
    text = re.sub(r'"""[^"]*"""|/\*\*.*?\*/', "", (CLIENTS / path).read_text(), flags=re.S)
    lines = len([line for line in text.splitlines() if line.strip()])
    assert lines <= 250
    assert f"| `{path}` | {lines} |" in TABLE.read_text()
