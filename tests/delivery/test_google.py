"""Conditions on Google Cloud Storage: what is sent, and how its answers are read.

No emulator that a package index has decides by generations. So the answers are written down here, as Google's
documentation has them (Cloud Storage, request preconditions; XML API, reference of headers).
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import orjson
import pytest
from obstore.store import GCSStore

from harness.servers import ADDRESS
from harness.stores import Bucket, Headers, TargetPointer
from shopwindow.delivery import pointer
from shopwindow.release.chain import Chain, Link

TEXT = Headers("text/plain", "no-cache")
CONDITIONS = ("x-goog-if-generation-match", "if-match", "if-none-match")

Answer = tuple[int, int, bytes]
"""A status, a generation, and the bytes of the object."""


@dataclass
class Google:
    """What was sent: method, key and conditions; and what is answered, one after the other."""

    answers: list[Answer]
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        google: Google = self.server.google  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        conditions = {name: self.headers[name] for name in CONDITIONS if name in self.headers}
        google.requests.append((self.command, unquote(self.path).removeprefix("/shop/"), conditions))
        status, generation, body = google.answers.pop(0)
        self.send_response(status)
        headers = {"ETag": f'"{generation}"', "x-goog-generation": f"{generation}", "Content-Length": f"{len(body)}"}
        for name, text in {**headers, "Last-Modified": "Mon, 23 Nov 2026 06:00:00 GMT"}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def google(folder: Path, answers: Sequence[Answer]) -> Iterator[tuple[Google, Bucket]]:
    """A bucket whose requests are answered so."""
    server = ThreadingHTTPServer((ADDRESS, 0), _Handler)
    server.google = Google(list(answers))  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    account = {"gcs_base_url": f"http://{ADDRESS}:{server.server_port}", "disable_oauth": True}
    account |= {"client_email": "", "private_key": "", "private_key_id": ""}
    (folder / "account.json").write_bytes(orjson.dumps(account))
    store = GCSStore(
        "shop",
        service_account=str(folder / "account.json"),
        client_options={"allow_http": True},
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=10)},
    )
    try:
        yield server.google, Bucket(store, "gs://shop/a", "a")  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(("status", "created"), [(200, True), (412, False)])
def test_what_is_created_must_have_no_generation(tmp_path: Path, status: int, created: bool) -> None:
    with google(tmp_path, [(status, 1, b"")]) as (sent, bucket):
        assert bucket.create("object", b"1", TEXT) is created
    assert sent.requests == [("PUT", "a/object", {"x-goog-if-generation-match": "0"})]


@pytest.mark.parametrize(("status", "replaced"), [(200, True), (412, False)])
def test_what_is_replaced_must_have_the_generation_that_was_read(tmp_path: Path, status: int, replaced: bool) -> None:
    with google(tmp_path, [(200, 1714, b"1"), (status, 1715, b"")]) as (sent, bucket):
        stored = bucket.read("current.json")
        assert stored is not None
        assert bucket.replace("current.json", b"2", TEXT, stored.version) is replaced
    assert sent.requests == [
        ("GET", "a/current.json", {}),
        ("PUT", "a/current.json", {"x-goog-if-generation-match": "1714"}),
    ]


def test_a_pointer_that_somebody_else_has_moved_is_not_moved(tmp_path: Path) -> None:
    ours, other = TargetPointer(Chain((Link("1" * 64, datetime.now(UTC)),)), "", ""), b'{"format": 1}\n'
    with google(tmp_path, [(200, 7, b"{}"), (412, 8, b""), (200, 8, other)]) as (sent, bucket):
        stored = bucket.read("current.json")
        assert stored is not None
        assert not pointer.move(bucket, replace(ours, version=stored.version), ours)
    assert sent.requests[1] == ("PUT", "a/current.json", {"x-goog-if-generation-match": "7"})


def test_an_object_that_does_not_exist_keeps_no_other_from_being_deleted(tmp_path: Path) -> None:
    keys = [f"{number}" for number in range(50)]
    with google(tmp_path, [(404, 0, b"")] * 2 * len(keys)) as (sent, bucket):
        bucket.delete(keys)
    assert {(method, key) for method, key, _ in sent.requests} == {("DELETE", f"a/{key}") for key in keys}
