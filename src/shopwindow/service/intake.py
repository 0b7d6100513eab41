"""From a connection to a complete Request: an ASGI application around the service (Granian runs
it).

A thread that reads a body waits for whoever sends it, and a few such clients keep all threads.
Here the event loop waits. It sees the head of a request and answers what needs no body and no
work: refusals, answers from the cache. It receives a body with a limit and a deadline. Only a
request that is there as a whole goes to a thread, and the number of threads bounds what is
worked on at once. A body above LARGE bytes takes a second turn: WORKED_AT_ONCE of them.

Granian's asynchronous interface and not its WSGI, whose threads read bodies. The price, of an
answer from the cache: 56 µs of processor time, where Granian's WSGI takes 36. A loop of our own
with llhttp takes less than either (14 µs by itself, where Granian's WSGI takes 24), and would
be an HTTP server for us to maintain.

Granian's RSGI is as fast as its ASGI, but drops header values that are not ASCII, and does not
tell a body that was cut off from a complete one. waitress receives bodies as we do, in Python,
and answers fewer requests; it would also be one process. With HTTP/1.1 Granian closes
connections that stay silent, before, within or after a head (measured: at its
header_read_timeout, to the tenth of a second); in its `auto` mode it waits for the first bytes
without a deadline, so HTTP/1.1 is the default.
"""

import asyncio
import ctypes
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from queue import SimpleQueue
from typing import Any

from shopwindow.interface.answer import Response
from shopwindow.interface.call import Request
from shopwindow.problems import Fault
from shopwindow.service import journal, probe, requestid
from shopwindow.service.exchange import MAX_BODY, malformed
from shopwindow.service.headers import believed
from shopwindow.service.proxies import Proxies
from shopwindow.service.serving import Exchange
from shopwindow.service.wsgi import MAX_UNWANTED, Front, headers_of

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

BODY_SECONDS = 14.0
"""For a whole body. 1 MiB then takes 600 kbit/s, slow for a mobile network; 64 KiB, more than
apps send, takes 40.
"""

LINGER_SECONDS = 4.0
"""For the rest of a body that nobody asked for: who is still sending would miss the answer (RFC
9112 §9.6).
"""

LARGE = 64 * 1024
"""Bytes of a body from which on it may cost more than a tenth of a second of processor time."""

WORKED_AT_ONCE = 2
"""Large bodies that threads work on: each thread that computes makes the event loop wait 5 ms
more for its turn.
"""

HELD_AT_ONCE = 48
"""Large bodies of a worker that are received or wait for their turn: 48 MiB at most. Others are
answered 503.
"""

AGAIN_SECONDS = 2
"""After which a body that found no room may be sent again: 48 of 1 MiB take less."""

_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")
"""The methods whose body an operation may read; those of others are received and dropped."""


Work = Callable[[], Exchange]
"""What a thread does for a request."""

Watch = Callable[[Callable[[Work], Exchange]], Callable[[Work], Exchange]]
"""What puts each call of a function on record."""


class Intake:
    """The ASGI application. ``front`` answers; ``threads`` is the number of requests that are
    worked on at once.

    ``watch`` is put around whatever a thread does for a request: who watches sees threads that
    do not come back.
    """

    def __init__(self, front: Front, threads: int, watch: Watch = lambda done: done) -> None:
        self._front = front
        self._perform = watch(lambda work: work())
        self._work: SimpleQueue[_Task | None] = SimpleQueue()
        self._answered: deque[tuple[asyncio.Future[Exchange], Exchange | BaseException]] = (
            deque()
        )
        self._is_called = False
        self._turns = asyncio.Semaphore(WORKED_AT_ONCE)
        self._held = 0
        for number in range(threads):
            threading.Thread(target=self._run, name=f"answer-{number + 1}", daemon=True).start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI 3.0, HTTP)."""
        started = time.perf_counter()
        front = self._front
        request, unread = _head(scope, front.trusted)
        id = requestid.of(request.headers.get(_REQUEST_ID))
        journal.request_id.set(id)  # for this request alone: Granian makes a task of each
        if probe.is_probe(request.headers.get(_PROBE)):
            response = (await self._worked(front.probed)).response
            await _send(response, request.method, headers_of(response, id), send)
            return

        done = front.at_once(request)
        if done is None and unread and request.method in _WITH_BODY:
            done, unread = await self._with_body(request, id, receive)
        elif done is None:
            done = await self._worked(partial(front.answered, request, id))

        late = done.response.status == HTTPStatus.REQUEST_TIMEOUT
        lingers = unread and not late and request.length <= MAX_UNWANTED
        headers = headers_of(done.response, id)
        if (
            unread and not lingers and scope["http_version"] != "2"
        ):  # which has no such header (RFC 9113 §8.2.2)
            headers.append(("Connection", "close"))
        await _send(done.response, request.method, headers, send)
        front.note(done, request.method, started)
        if lingers:
            await _linger(receive)

    async def _with_body(
        self, request: Request, id: str, receive: Receive
    ) -> tuple[Exchange, bool]:
        """The answer to a request whose body is still to come, and whether some of the body is
        still to come then.
        """
        body = bytearray()
        is_large = False
        try:
            async with asyncio.timeout(BODY_SECONDS):
                is_last = False
                while not is_last:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return self._cut_off(request, len(body)), False
                    body += message["body"]
                    is_last = not message.get("more_body", False)
                    if len(body) > MAX_BODY:
                        too_large = request._replace(length=len(body))
                        return await self._worked(
                            partial(self._front.answered, too_large, id)
                        ), not is_last
                    if len(body) > LARGE and not is_large:
                        if self._held >= HELD_AT_ONCE:
                            return self._full(request), not is_last
                        is_large = True
                        self._held += 1

            work = partial(
                self._front.answered, request._replace(length=len(body), body=bytes(body)), id
            )
            del body
            if not is_large:
                return await self._worked(work), False
            async with self._turns:
                return await self._worked(work), False
        except TimeoutError:
            why = f"did not arrive within {BODY_SECONDS:g} s; it may be sent again"
            return self._front.refused("slow", Fault("body", why), request), True
        finally:
            if is_large:
                self._let_go()

    def _cut_off(self, request: Request, size: int) -> Exchange:
        """The answer to a request whose body ended early: whoever sent it may have closed one
        direction only.
        """
        whole = f" of {request.length}" if request.length else ""
        return self._front.refused(
            "invalid", Fault("body", f"ended after {size}{whole} bytes"), request
        )

    def _full(self, request: Request) -> Exchange:
        why = f"more than {HELD_AT_ONCE} bodies above {LARGE} bytes are being received; it may be sent again"
        done = self._front.refused("unavailable", Fault("body", why), request)
        headers = (*done.response.headers, ("Retry-After", str(AGAIN_SECONDS)))
        return done._replace(response=done.response._replace(headers=headers))

    def _let_go(self) -> None:
        """A large body is done with. After the last of them the memory that they took goes back
        to the system.
        """
        self._held -= 1
        if self._held == 0:
            self._work.put(None)

    async def _worked(self, work: Work) -> Exchange:
        """The answer, by a thread. Raises what ``work`` raises."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Exchange] = loop.create_future()
        self._work.put((work, loop, answer))
        return await answer

    def _run(self) -> None:
        """A thread's work."""
        while True:
            task = self._work.get()
            if task is None:
                _trim()
                continue
            work, loop, answer = task
            try:
                done: Exchange | BaseException = self._perform(work)
            except BaseException as error:  # a fault of ours, which must not end the thread
                done = error
            self._answered.append((answer, done))
            del task, work, answer, done  # or a large body would stay until the next request
            if not self._is_called:
                self._is_called = True
                with suppress(RuntimeError):  # the loop has ended, and nobody waits
                    loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        """Hand over what threads have answered: the writes of one commit end together, and wake
        the loop once.
        """
        self._is_called = False  # first: what is done from here on calls again
        while self._answered:
            answer, done = self._answered.popleft()
            if answer.done():  # where the connection was given up
                continue
            if isinstance(done, BaseException):
                answer.set_exception(done)
            else:
                answer.set_result(done)


_Task = tuple[Work, asyncio.AbstractEventLoop, "asyncio.Future[Exchange]"]
"""Work, and where its answer goes; in the queue None stands for: give memory back."""


def _trim() -> None:
    """Give free memory back: glibc keeps what lies below a block in use, in an arena for every
    few threads.
    """
    if _malloc_trim:
        _malloc_trim(0)


_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


_REQUEST_ID, _PROBE = requestid.HEADER.lower(), probe.HEADER.lower()


def _head(scope: Scope, trusted: Proxies) -> tuple[Request, bool]:
    """The request as its head says, without its body, and whether a body comes."""
    fields = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    ]
    headers = believed(fields)
    hosts = [value for name, value in fields if name == "host"]
    if hosts == [""]:  # Granian's own, where a client named none
        del headers["host"]
    length = int(
        headers.get("content-length", "0")
    )  # the server has looked at it (RFC 9112 §6.3)
    coding = headers.get("transfer-encoding", "")
    address = scope["client"][0] if scope.get("client") else ""
    if "x-forwarded-for" in headers:
        address = trusted.client(address, headers["x-forwarded-for"])
    request = Request(
        scope["path"].removeprefix("/"),
        scope["query_string"].decode("utf-8", "replace"),
        headers,
        scope["method"],
        length,
        b"",
        address,
        malformed(0 if hosts == [""] else len(hosts), f"HTTP/{scope['http_version']}", coding),
    )
    return request, length > 0 or coding != ""


async def _send(
    response: Response, method: str, headers: Iterable[tuple[str, str]], send: Send
) -> None:
    """A response as ASGI messages."""
    lines = [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
    ]
    body = b"" if method == "HEAD" else response.body
    await send({"type": "http.response.start", "status": response.status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def _linger(receive: Receive) -> None:
    """Receive and drop a body that nobody wanted, for a while: the connection then stays good
    for the next request.
    """
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while size <= MAX_UNWANTED:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                size += len(message["body"])
