"""A client's connection: uvicorn's HTTP/1.1 protocol, with the bounds that it lacks.

uvicorn leaves these to a proxy in front of it. We do not demand one, so this module
has them: a deadline and a size for a head, a number of connections, a client that
closes its own direction and still reads, and raw UTF-8 in a request line, which
uvicorn's parser refuses and some apps send.
"""

import asyncio
import resource
import socket
from contextlib import suppress
from functools import lru_cache, partial
from http import HTTPStatus
from urllib.parse import quote_from_bytes

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from shopwindow.interface.answering.answer import Response
from shopwindow.interface.request import Request
from shopwindow.problems import Fault, Refusal
from shopwindow.service import journal
from shopwindow.service.codings import BODILESS_STATUSES
from shopwindow.service.exchange import refuse_arrival
from shopwindow.service.message import REQUEST_ID_HEADER

HEAD_SECONDS = 14
"""For receiving a whole head, and for the next head on an open connection. A client may
read slowly, but for so long nothing at all ends its connection too (tcp(7),
TCP_USER_TIMEOUT): the kernel knows what has arrived, and we do not.

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

SETTLE_SECONDS = 1.0
"""For the head on a connection that a worker accepted just before it had to end. The
client knows nothing of that, and has sent its request or is about to.
"""

ANSWER = "shopwindow.answer"
"""In the scope of a request: what writes the whole response to it."""

_ASCII = bytes(range(128))
"""Bytes of a request line that stay as they are."""


class Connection(HttpToolsProtocol):
    """A connection, which a worker closes unless a whole head comes in time.

    The parser calls the methods `on_…` (httptools). At most ``_unread`` bytes may still
    come of a head, or between the parts of a body (sizes of chunks, trailers).
    """

    clients = MAX_CLIENTS
    """Connections that a worker has at most; ``make_room`` sets it."""

    _is_head = _is_first_line = True
    _unread = MAX_HEAD

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Await the first head; close a connection beyond the limit at once."""
        super().connection_made(transport)
        with suppress(OSError):  # a Unix socket has no such option
            transport.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * HEAD_SECONDS
            )
        if len(self.connections) > self.clients:
            transport.abort()
        self.timeout_keep_alive_task = self.loop.call_later(
            HEAD_SECONDS, self.timeout_keep_alive_handler
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        super()._unset_keepalive_if_required()
        super().connection_lost(exc)

    def _unset_keepalive_if_required(self) -> None:
        """Leave the deadline alone: uvicorn would end it with the first byte of a head."""

    def data_received(self, data: bytes) -> None:
        """Take what came to the parser, of a head no more than it may have."""
        while data and not self.transport.is_closing():
            part, data = data[: self._unread], data[self._unread :]
            if part:
                self._unread -= len(part)
                super().data_received(self._escaped(part))
            elif self._is_head:
                fault = Fault("head", f"must have at most {MAX_HEAD} bytes")
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, fault)
            else:
                self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer a client that has closed its own direction: it may still read.

        Returns whether the connection stays open until then.
        """
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return False
        cycle.keep_alive = False
        if cycle.more_body:
            cycle.disconnected = True  # for who receives the body
            cycle.message_event.set()
        return True

    def on_headers_complete(self) -> None:
        """Begin to answer, without a deadline for the head any longer."""
        self._is_head = self._is_first_line = False
        self._unread = MAX_HEAD
        super()._unset_keepalive_if_required()
        super().on_headers_complete()
        answer = partial(self._answer, self.cycle)
        self.scope[ANSWER] = answer  # type: ignore[literal-required]

    def on_body(self, body: bytes) -> None:
        """Take a part of a body. What is no body may follow it, as from the beginning."""
        self._unread = MAX_HEAD
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect another head on this connection."""
        self._is_head = self._is_first_line = True
        self._unread = MAX_HEAD
        super().on_message_complete()

    async def _answer(
        self,
        cycle: RequestResponseCycle,
        response: Response,
        id: str,
        *,
        wants_rest: bool,
    ) -> None:
        """Write the whole response to the request of a cycle. Close the connection if a
        part of the body has not come yet, and nobody ``wants_rest`` of it.

        uvicorn's own way checks each header, and writes head and body one by one: that
        was a fifth of the time of a cached read.
        """
        if self.flow.write_paused:
            await self.flow.drain()
        cycle.response_started = cycle.response_complete = True
        if self.transport.is_closing():
            return
        cycle.keep_alive = cycle.keep_alive and (wants_rest or not cycle.more_body)
        body = b"" if cycle.scope["method"] == "HEAD" else response.body
        line = f"{REQUEST_ID_HEADER.lower()}: {id}\r\n"
        self._write(response, body, line, is_last=not cycle.keep_alive)
        cycle.on_response()

    def _write(
        self, response: Response, body: bytes, more: str = "", *, is_last: bool
    ) -> None:
        """Write a response, with more lines in its head; with ``is_last`` close the
        connection.

        Nobody has to look for the end of a line in its headers: their texts are the
        program's own, or came in the head of a request.
        """
        if response.status not in BODILESS_STATUSES:
            more += f"content-length: {len(response.body)}\r\n"
        if is_last:
            more += "connection: close\r\n"
        head = _first_lines(response.status, response.headers)
        for date in self.server_state.default_headers:
            head += b"%b: %b\r\n" % date
        self.transport.write(b"%b%b\r\n%b" % (head, more.encode(), body))
        if is_last:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP/1.1, in the form of all our refusals."""
        self._refuse(HTTPStatus.BAD_REQUEST, Fault("request", "is no HTTP/1.1"))

    def _refuse(self, status: int, fault: Fault) -> None:
        """Refuse a head that cannot be read, and close the connection."""
        refused = refuse_arrival(Refusal("invalid", fault), Request(""), None)
        response = refused.response._replace(status=status)
        self._write(response, response.body, is_last=True)

    def shutdown(self) -> None:
        """Answer what is in flight, and close the connection."""
        delay = SETTLE_SECONDS if self.cycle is None else 0
        self.loop.call_later(delay, super().shutdown)

    def _escaped(self, data: bytes) -> bytes:
        """Return a part of a message. The first line of a head is escaped as RFC 3986
        §2.1 asks: the parser takes ASCII alone in a target.
        """
        if not self._is_first_line:
            return data
        self._is_first_line = b"\n" not in data
        if data.isascii():
            return data
        line, end, rest = data.partition(b"\n")
        return quote_from_bytes(line, _ASCII).encode() + end + rest


@lru_cache(maxsize=1024)
def _first_lines(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Return the beginning of a head, with names in lower case, as uvicorn's own. That of
    a cached response is sent again and again.
    """
    lines = [f"{name.lower()}: {value}\r\n" for name, value in headers]
    return STATUS_LINE[status] + "".join(lines).encode("latin-1")


def make_room(clients: int) -> None:
    """Let each worker have so many connections, as far as the limit of open files
    admits them.

    The workers inherit that limit, which is raised here. Where the hard limit admits
    fewer, the log gets a line.
    """
    Connection.clients = clients
    wanted = clients + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # a filter of system calls may refuse it
        limits = min(max(soft, wanted), hard), hard
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not 0 <= soft < wanted:  # below zero: there is no limit
        return

    fewer = max(1, soft - OTHER_FILES, soft // 2)
    Connection.clients = fewer
    journal.error(
        "service",
        f"the limit of open files, {soft}, leaves a worker {fewer} connections, not {clients};"
        f" `ulimit -n {wanted}` or LimitNOFILE={wanted} would leave all",
    )
