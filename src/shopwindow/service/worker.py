"""A worker: a process of the service that answers requests with Granian, on a socket that its
parent listens on.

    python -m shopwindow.service.worker FACTORY LISTENER CHANNEL NUMBER THREADS CLIENTS HTTP PROCESSOR

LISTENER and CHANNEL are open file descriptors. CLIENTS is how many connections the worker
keeps. HTTP is `1`, `2`, or `auto` for both, all behind service.intake; or `wsgi`, for HTTP/1.1
without it. PROCESSOR is the one that the worker keeps to, or `-`.

The worker obeys its parent alone (service.supervisor). It ignores SIGTERM, SIGINT and SIGHUP,
which systemd and a terminal send to the whole group: when to stop is the parent's to say, by a
byte on the channel. When the channel ends, the parent has ended, and so does the worker. Once a
second the worker says that it is well, or that it is stuck.

Granian is used as it is, but for two things that it has no option for:

- It listens by itself, with SO_REUSEPORT: a second service on the port would start without a
  word, and the connections that wait for a worker would be lost with it. `_Granian._serve`
  hands it the parent's socket instead.
- Its handlers call `WorkerSignal.set`, which waits for ever, with Python's lock, when it is
  called twice before the server looks (Granian 2.8). `_obeying` gives it signals that the
  worker sets, once.
"""

import asyncio
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from granian import _signals
from granian._granian import SocketHolder, WorkerSignal
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server import MPServer

from shopwindow.problems import Failure
from shopwindow.service import journal
from shopwindow.service.connections import BACKLOG, HEAD_SECONDS
from shopwindow.service.intake import Intake
from shopwindow.service.supervisor import OF_THE_GROUP, READY, STOP, STUCK, TRACEBACKS, WELL

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

WSGI = "wsgi"

PULSE_SECONDS = 1.0
"""Between two words of a worker: several may be late before the parent's 5 s are over."""

STUCK_SECONDS = 5.0
"""For which all threads may work on one request each. Others wait as long."""

ORPHAN_SECONDS = 2.0
"""For requests in flight, once the parent has ended: nobody would end a worker that stays."""


@dataclass(eq=False)
class Busy:
    """Which threads answer a request, and since when (time.monotonic); and when the event loop
    was asked for a sign.

    No lock is needed: CPython changes a dict in one step.
    """

    threads: int
    since: dict[int, float] = field(default_factory=dict)
    loop: asyncio.AbstractEventLoop | None = None
    """The loop that takes requests in, where one does."""
    waited_since: float | None = None
    """When the loop was asked for a sign of life (time.monotonic); None: it has given it."""

    def watched(self, call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """A function that answers a request, with each call of it on record."""
        since = self.since

        def answer(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
            thread = threading.get_ident()
            since[thread] = time.monotonic()
            try:
                return call(*arguments, **named)
            finally:
                del since[thread]

        return answer

    def is_stuck(self) -> bool:
        """Whether nothing can be answered: no thread is left, and none has ended a request for
        STUCK_SECONDS; or the event loop, asked by the call before, has given no sign for as
        long.
        """
        late = time.monotonic() - STUCK_SECONDS
        began = list(self.since.values())
        is_deaf = self.waited_since is not None and self.waited_since < late
        if self.loop and self.waited_since is None:
            self.waited_since = time.monotonic()
            self.loop.call_soon_threadsafe(self._sign)
        return is_deaf or (len(began) >= self.threads and max(began) < late)

    def _sign(self) -> None:
        self.waited_since = None


class Link:
    """The worker's end of the channel: it tells the parent how it is, and stops when the parent
    says so, or has ended.

    A thread of its own does both, so it is Python as a whole that stands still when nothing is
    heard.
    """

    def __init__(self, channel: socket.socket, busy: Busy) -> None:
        self._channel = channel
        self._busy = busy
        self._granian: WorkerSignal | None = None
        threading.Thread(target=self._run, name="parent", daemon=True).start()

    def signal(self, *loop: Any) -> WorkerSignal:
        """What Granian waits for to stop."""
        self._granian = WorkerSignal()
        return self._granian

    def say(self, word: bytes) -> None:
        with suppress(
            OSError
        ):  # the parent has ended, which is seen elsewhere; or it stands still, and is full of words
            self._channel.send(word, socket.MSG_DONTWAIT)

    def _run(self) -> None:
        self._channel.settimeout(PULSE_SECONDS)
        heard: bytes | None = None
        while heard is None:
            try:
                heard = self._channel.recv(1)
            except TimeoutError:
                self.say(STUCK if self._busy.is_stuck() else WELL)
            except OSError:
                heard = b""
        if self._granian is None:
            os._exit(0)  # it has not begun to answer
        self._granian.set()
        if heard == STOP:
            self._run_on()
        time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    def _run_on(self) -> None:
        """While requests in flight are answered, the parent may end as well."""
        self._channel.settimeout(None)
        with suppress(OSError):
            while self._channel.recv(1):
                pass


def _obeying(link: Link) -> None:
    """Granian stops when the link says so, and handles no signal of the system."""
    _signals.set_sync_signals = link.signal
    _signals.set_loop_signals = link.signal


class _Granian(MPServer):
    """Granian's server, with this process for its only worker and a socket that listens
    already.
    """

    listener: socket.socket
    number: int

    def _serve(self, spawn_target: Any, target_loader: Any) -> None:
        # Granian listens on the socket once more, which sets the length of its queue anew
        is_unix = self.listener.family == socket.AF_UNIX
        self._shd = SocketHolder(self.listener.fileno(), is_unix, BACKLOG)  # type: ignore[call-arg, assignment]
        self._sso = None
        self._spawn_worker(self.number, spawn_target, target_loader).inner.run()


def _load(factory: str, busy: Busy, link: Link, http: str) -> Any:
    """The callable, ready to answer: loading it took the time that the first request would have
    waited.
    """
    module, _, function = factory.partition(":")
    front = getattr(import_module(module), function)()
    if http == WSGI:
        application: Any = busy.watched(front)
    else:
        application = Intake(front, busy.threads, busy.watched)
        busy.loop = asyncio.get_event_loop()  # Granian's, which is about to run
    link.say(READY)
    return application


def work(
    factory: str,
    listener: socket.socket,
    channel: socket.socket,
    number: int,
    threads: int,
    clients: int,
    http: str,
) -> None:
    """Answer requests until the parent says that it is enough, or has ended.

    ``factory``: `module:function`, which makes a service.wsgi.Front, or for ``http`` `wsgi` any
    WSGI callable. ``number`` counts from 0.
    """
    busy = Busy(threads)
    link = Link(channel, busy)
    _obeying(link)
    is_wsgi = http == WSGI
    server = _Granian(
        factory,
        interface=Interfaces.WSGI if is_wsgi else Interfaces.ASGINL,
        http=HTTPModes.http1 if is_wsgi else HTTPModes(http),
        http1_settings=HTTP1Settings(header_read_timeout=HEAD_SECONDS * 1000),
        blocking_threads=threads if is_wsgi else None,
        backpressure=clients,
        log_access=False,
        log_dictconfig=journal.LOGGING,
        websockets=False,
    )
    server.listener, server.number = listener, number
    server.serve(target_loader=partial(_load, factory, busy, link, http), wrap_loader=False)


def main(arguments: list[str]) -> int:
    factory, http, processor = arguments[0], *arguments[-2:]
    listener, channel, number, threads, clients = map(int, arguments[1:-2])
    for ignored in OF_THE_GROUP:
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, OF_THE_GROUP)
    faulthandler.register(TRACEBACKS, all_threads=True)
    if processor != "-":
        os.sched_setaffinity(0, {int(processor)})
    listening, channel_to_parent = socket.socket(fileno=listener), socket.socket(fileno=channel)
    try:
        work(factory, listening, channel_to_parent, number, threads, clients, http)
    except Failure as failure:
        journal.error("service", str(failure))
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
