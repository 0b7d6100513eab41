"""A listener between a host and a real object store: it fails, cuts off, delays, changes and never ends answers."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from nginx import ADDRESS

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
        connection = HTTPConnection(ADDRESS, self.server.store, timeout=30)  # type: ignore[attr-defined]
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
