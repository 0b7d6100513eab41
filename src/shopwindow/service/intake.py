"""From a connection to a complete Request: the ASGI application around the service.

How this works. A thread that reads a body waits for whoever sends it, so a few slow
clients would occupy all threads. Here the event loop waits instead:

1. It sees the head of a request and answers what needs no body and no work: refusals
   and cached responses.
2. It receives a body, with a limit of size and of time.
3. Only a complete request goes to a thread, and the number of threads bounds how many
   requests are worked on at once. For a large body (LARGE) a thread is used only while
   fewer than LARGE_AT_ONCE others work on large bodies.
4. A request that waits for the database gives its thread back meanwhile (turns.Steps).
   Any thread goes on with it.

service.connection has the deadline of a head, and closes what stays silent.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from contextvars import copy_context
from functools import partial
from http import HTTPStatus
from queue import SimpleQueue
from typing import Any

from shopwindow.content.reading.processes import give_back
from shopwindow.interface.answering.answer import Response
from shopwindow.interface.request import Request
from shopwindow.problems import Fault, Refusal
from shopwindow.service.admin import Admin
from shopwindow.service.connection import ANSWER
from shopwindow.service.database.engine import unavailable
from shopwindow.service.database.turns import Result, Steps, Wake
from shopwindow.service.exchange import Arrival, at_once, finish, refuse_arrival
from shopwindow.service.message import MAX_BODY, Proxies, begin_request, believed, head
from shopwindow.service.readiness import is_asked, readiness
from shopwindow.service.serving import Exchange
from shopwindow.service.wsgi import BODY_METHODS, MAX_UNWANTED, Front

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]

BODY_SECONDS = 14.0
"""How long a whole body may take to arrive. 1 MiB then takes 600 kbit/s, which is slow for a mobile
network; 64 KiB, more than apps send, takes 40 kbit/s.
"""

STUCK_SECONDS = 2.5
"""How long all threads may work on the same requests before the worker counts as stuck:
every other request waits as long. Its alarm goes off 10 s later (service.worker).
"""

LARGE = 64 * 1024
"""A body of more bytes than this is large: it may cost more than a tenth of a second of
processor time.
"""

LARGE_AT_ONCE = 2
"""Large bodies that threads work on at once. Each thread that computes makes the event loop
wait 5 ms more for the interpreter (sys.getswitchinterval).
"""

LARGE_HELD = 48
"""Large bodies that a worker holds, received or still coming: 48 MiB at most. A further
one is answered 503, to be repeated soon: they are worked through within two seconds.
"""


class Intake:
    """The ASGI application.

    ``front`` answers. ``threads`` is how many requests are worked on at once. ``admin``
    answers what comes to its address; None: there is none.
    """

    def __init__(self, front: Front, threads: int, admin: Admin | None = None) -> None:
        self._front = front
        self._threads = threads
        self._admin = admin
        self._began: dict[int, float] = {}
        if front.metrics:
            front.metrics.answering = self._began
        self._tasks: deque[_Task] = deque()
        self._ready: SimpleQueue[None] = SimpleQueue()  # an item for each task
        self._large_turns = asyncio.Semaphore(LARGE_AT_ONCE)
        self._large_held = 0
        for number in range(threads):
            threading.Thread(
                target=self._run, name=f"answer-{number + 1}", daemon=True
            ).start()

    async def __call__(self, scope: Scope, receive: Receive, send: object) -> None:
        """Answer one request (ASGI 3.0, HTTP), by what its Connection hands over in
        place of ``send``.
        """
        started = time.perf_counter()
        front = self._front
        request = _head(scope, front.backstage.trusted)
        # for this request alone: uvicorn runs each request in a task of its own
        id = begin_request(request.headers)
        work = self._for_operators(scope, request)
        if work:
            response = await self._in_thread(_only(work))
            await scope[ANSWER](response, id, wants_rest=True)
            return

        result = at_once(request, front.serving())
        if isinstance(result, Arrival):
            if request.method in BODY_METHODS:
                result = await self._with_body(result, receive)
            else:
                steps = finish(result, request, front.backstage)
                result = await self._in_thread(steps)

        # uvicorn receives and drops the rest of any other body
        is_late = result.response.status == HTTPStatus.REQUEST_TIMEOUT
        wants_rest = not is_late and request.length <= MAX_UNWANTED
        await scope[ANSWER](result.response, id, wants_rest=wants_rest)
        front.note(result, request.method, started)

    def beat(self) -> bool:
        """Refuse requests that have waited too long for the database. Return whether the
        worker goes on: not every thread has been busy with one request for
        STUCK_SECONDS.
        """
        self._front.backstage.refuse_late()
        began = list(self._began.values())
        limit = time.monotonic() - STUCK_SECONDS
        return len(began) < self._threads or max(began) >= limit

    def _for_operators(
        self, scope: Scope, request: Request
    ) -> Callable[[], Response] | None:
        """Return what answers a request of an operator; None for any other request."""
        path, server = scope["path"], scope.get("server")
        if self._admin and server and server[1] == self._admin.port:
            return partial(self._admin.answer, path)
        if is_asked(path, request.headers):
            return partial(readiness, path, self._front.serving())
        return None

    async def _with_body(self, arrival: Arrival, receive: Receive) -> Exchange:
        """Receive the body of a request and answer it."""
        request = arrival.request
        body = bytearray()
        is_large = is_complete = False
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while not is_complete and len(body) <= MAX_BODY:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        # there may be somebody to read this (Connection.eof_received)
                        raise _refusal("invalid", "ended early")
                    body += message["body"]
                    is_complete = not message["more_body"]
                    if len(body) > LARGE and not is_large:
                        if self._large_held >= LARGE_HELD:
                            raise unavailable(
                                "too many large bodies are being received"
                            )
                        is_large = True
                        self._large_held += 1

            complete = request._replace(length=len(body), body=bytes(body))
            steps = finish(arrival, complete, self._front.backstage)
            del body  # or a large body would be in memory twice
            async with self._large_turns if is_large else nullcontext():
                return await self._in_thread(steps)
        except TimeoutError:
            refusal = _refusal("slow", f"did not arrive within {BODY_SECONDS:g} s")
        except Refusal as error:
            refusal = error
        finally:
            if is_large:
                self._large_held -= 1
                # After the last one, memory is given back to the system: by itself
                # glibc retains what lies below a block in use, in several arenas.
                if self._large_held == 0:
                    asyncio.get_running_loop().run_in_executor(None, give_back)
        return refuse_arrival(refusal, request, self._front.serving())

    async def _in_thread(self, steps: Steps[Result]) -> Result:
        """Have threads take steps, for the same request in the log, and return their
        result. Raises what they raise.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._tasks.append((partial(copy_context().run, next, steps), future))
        self._ready.put(None)
        return await future

    def _run(self) -> None:
        """Work through the queue: the body of each thread, which never returns."""
        thread = threading.get_ident()
        while True:
            self._ready.get()
            task = self._tasks.popleft()
            self._began[thread] = time.monotonic()
            self._take_step(task)
            del self._began[thread]
            # Else a large body would stay in memory until this thread's next request.
            del task

    def _take_step(self, task: "_Task") -> None:
        """Work on a request until it waits, or has its result.

        The writes of one commit end together, and libuv wakes the event loop once for
        all results that threads hand over meanwhile (uv_async_send).
        """
        step, future = task
        try:
            begin_wait = step()
        except StopIteration as end:
            deliver = partial(future.set_result, end.value)
        except BaseException as error:  # a fault of ours, which must not end the thread
            deliver = partial(future.set_exception, error)
        else:
            begin_wait(partial(self._go_on, task))
            return
        # RuntimeError: the loop has ended, so nobody waits any longer.
        with suppress(RuntimeError):
            future.get_loop().call_soon_threadsafe(deliver)

    def _go_on(self, task: "_Task") -> None:
        """Have a thread go on with a request that has waited.

        It comes before those that have not begun, or a write would wait for all reads
        that came meanwhile, and everybody behind its lead with it.
        """
        self._tasks.appendleft(task)
        self._ready.put(None)


_Task = tuple[Callable[[], Callable[[Wake], None]], "asyncio.Future[Any]"]
"""What takes the next step of a request, and where the result goes."""


def _refusal(code: str, why: str) -> Refusal:
    """Return the refusal of a body that has not been received."""
    return Refusal(code, Fault("body", f"{why}; it may be sent again"))


def _only(work: Callable[[], Result]) -> Steps[Result]:
    """Return the only step of work that does not wait."""
    yield from ()
    return work()


def _head(scope: Scope, trusted: Proxies) -> Request:
    """Return the request by its head, without a body."""
    return head(
        method=scope["method"],
        path=scope["path"],
        sent_path=scope["raw_path"].decode("latin-1"),
        query=scope["query_string"].decode("utf-8", "replace"),
        version=f"HTTP/{scope['http_version']}",
        peer=scope["client"][0] if scope.get("client") else "",
        headers=believed(scope["headers"]),
        trusted=trusted,
    )
