"""A client's connection: uvicorn's HTTP/1.1 protocol, with the bounds that it lacks.

uvicorn leaves these to a proxy in front of it. We do not demand one, so this module
has them: a deadline and a size for a head, a number of connections, a client that
closes its own direction and still reads, and raw UTF-8 in a request line, which
uvicorn's parser refuses and some apps send.
"""

import asyncio
import resource
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from shopwindow.interface.answering.answer import Response, refuse
from shopwindow.interface.formats import JSON
from shopwindow.problems import Fault, Refusal
from shopwindow.service import journal
from shopwindow.service.codings import BODILESS_STATUSES
from shopwindow.service.message import REQUEST_ID_HEADER
from shopwindow.service.serving import shipped_schemas

HEAD_SECONDS = 14
"""For receiving a whole head, and for the next head on an open connection.

Together with the deadline of a body (intake.BODY_SECONDS) it stays below 30 s, so no
connection of an inactive client is open for longer.
"""

MAX_HEAD = 64 * 1024
"""Bytes of a head. nginx by default takes 32 KiB (large_client_header_buffers)."""

MAX_CLIENTS = 4096
"""Connections of a worker. An open one takes about 10 KiB, one whose body is half
received up to 64 KiB more.

1,500 silent connections of one client leave room for others until the deadline closes
them.
"""

OTHER_FILES = 256
"""Files that a worker opens beside its connections: the release, the database with its
readers, the log, metrics.
"""

_REQUEST_ID = REQUEST_ID_HEADER.lower().encode()

SETTLE_SECONDS = 1.0
"""For the head on a connection that a worker accepted just before it had to end. The
client knows nothing of that, and has sent its request or is about to.
"""

ANSWER = "shopwindow.answer"
"""In the scope of a request: what writes the whole response to it."""

CUT_OFF = "shopwindow.cut_off"
"""In the scope of a request whose client closed its direction before the body was
complete.
"""


class Connection(HttpToolsProtocol):
    """A connection, which a worker closes unless a whole head comes in time.

    The parser calls the methods `on_…` (httptools). At most ``_unread`` bytes may still
    come of a head, or between the parts of a body (sizes of chunks, trailers).
    """

    clients = MAX_CLIENTS
    """Connections that a worker has at most; ``make_room`` sets it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._begin_head()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Await the first head; close a connection beyond the limit at once."""
        super().connection_made(transport)
        if len(self.connections) > self.clients:
            transport.abort()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._end_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came to the parser, of a head no more than it may have."""
        if not self._is_head:
            self._unread -= len(data)
            super().data_received(data)
            if not self._is_head and self._unread < 0:
                self.transport.close()
            return
        part, rest = data[: self._unread], data[self._unread :]
        self._unread -= len(part)
        super().data_received(self._escaped(part))
        if self.transport.is_closing():
            return
        if self._is_head and self._unread == 0:
            fault = Fault("head", f"must have at most {MAX_HEAD} bytes")
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, fault)
        elif rest:
            self.data_received(rest)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer a client that has closed its own direction: it may still read.

        Returns whether the connection stays open until then.
        """
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return False
        cycle.keep_alive = False
        if cycle.more_body:
            cycle.scope[CUT_OFF] = True  # type: ignore[literal-required]
            cycle.more_body = False
            cycle.message_event.set()
        return True

    def on_headers_complete(self) -> None:
        """Begin to answer, without a deadline for the head any longer."""
        self._is_head = False
        self._unread = MAX_HEAD
        self._end_deadline()
        super().on_headers_complete()
        answer = partial(self._answer, self.cycle)
        self.scope[ANSWER] = answer  # type: ignore[literal-required]

    def on_body(self, body: bytes) -> None:
        """Take a part of a body. What is no body may follow it, as from the beginning."""
        self._unread = MAX_HEAD
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect another head on this connection."""
        self._begin_head()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Await the next head, unless the client has already sent one."""
        super().on_response_complete()
        # uvicorn's own deadline would end with the first byte of the next head
        self._end_deadline()
        self._deadline = self.timeout_keep_alive_task
        self.timeout_keep_alive_task = None

    async def _answer(
        self,
        cycle: RequestResponseCycle,
        response: Response,
        id: str,
        *,
        is_last: bool = False,
    ) -> None:
        """Write a whole response to the request of a cycle, and with ``is_last`` close
        the connection.

        uvicorn's own way takes more time than all else of a cached response: it checks
        each header, and writes head and body one by one. None of our headers can hold
        the end of a line: none is a text that came from elsewhere than another head.
        """
        if self.flow.write_paused:
            await self.flow.drain()
        if cycle.disconnected:
            return
        cycle.keep_alive = cycle.keep_alive and not is_last
        headers = [*cycle.default_headers, (_REQUEST_ID, id.encode())]
        if response.status not in BODILESS_STATUSES:
            headers.append((b"content-length", b"%d" % len(response.body)))
        if not cycle.keep_alive:
            headers.append((b"connection", b"close"))
        head = _first_lines(response.status, response.headers) + _lines(headers)
        body = b"" if cycle.scope["method"] == "HEAD" else response.body
        cycle.response_started = cycle.response_complete = True
        self.transport.write(b"%b\r\n%b" % (head, body))
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP/1.1, in the form of all our refusals."""
        self._refuse(HTTPStatus.BAD_REQUEST, Fault("request", "is no HTTP/1.1"))

    def shutdown(self) -> None:
        """Answer what is in flight, and close the connection."""
        if self.cycle is None and not self.transport.is_closing():
            self.loop.call_later(SETTLE_SECONDS, super().shutdown)
        else:
            super().shutdown()

    def _begin_head(self) -> None:
        self._is_head = self._is_first_line = True
        self._unread = MAX_HEAD

    def _await_head(self) -> None:
        self._end_deadline()
        close = self.timeout_keep_alive_handler
        self._deadline = self.loop.call_later(HEAD_SECONDS, close)

    def _end_deadline(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _escaped(self, data: bytes) -> bytes:
        """Return a part of a head with its first line escaped as RFC 3986 §2.1 asks.

        The parser takes ASCII alone in a target.
        """
        if not self._is_first_line:
            return data
        self._is_first_line = b"\n" not in data
        if data.isascii():
            return data
        line, end, rest = data.partition(b"\n")
        escaped = [b"%c" % byte if byte < 128 else b"%%%02X" % byte for byte in line]
        return b"".join((*escaped, end, rest))

    def _refuse(self, status: int, fault: Fault) -> None:
        """Refuse a head that cannot be read, and close the connection."""
        refused = refuse(Refusal("invalid", fault), JSON, shipped_schemas())
        headers = (
            ("Content-Type", refused.media_type),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
            ("Content-Length", str(len(refused.body))),
        )
        self.transport.write(
            b"%b\r\n%b" % (_first_lines(status, headers), refused.body)
        )
        self.transport.close()


@lru_cache(maxsize=1024)
def _first_lines(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Return the beginning of a head, with names in lower case, as uvicorn's own. That of
    a cached response is sent again and again.
    """
    lines = [
        (name.lower().encode(), value.encode("latin-1")) for name, value in headers
    ]
    return STATUS_LINE[status] + _lines(lines)


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def make_room(clients: int) -> None:
    """Let each worker have so many connections, as far as the limit of open files
    admits them.

    The workers inherit that limit, which is raised here. Where the hard limit admits
    fewer, the log gets a line.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = clients + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    Connection.clients = clients
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return

    fewer = max(1, soft - OTHER_FILES, soft // 2)
    Connection.clients = fewer
    journal.error(
        "service",
        f"the limit of open files, {soft}, leaves a worker {fewer} connections, not {clients};"
        f" `ulimit -n {wanted}` or LimitNOFILE={wanted} would leave all",
    )
