"""A worker: a process of the service that answers requests with Granian.

    python -m shopwindow.service.worker FACTORY LISTENER CHANNEL NUMBER THREADS CLIENTS HTTP PROCESSOR

LISTENER and CHANNEL are open file descriptors: the socket on which the parent listens,
and the worker's end of the channel to the parent. NUMBER counts workers from 0. CLIENTS
is how many connections the worker may have. HTTP is `1`, `2`, or `auto` for both, all
behind service.intake; or `wsgi`, which is HTTP/1.1 without it. PROCESSOR is the one
that the worker is bound to, or `-`.

How this works. The worker obeys only its parent (service.supervisor). It ignores
SIGTERM, SIGINT and SIGHUP, which systemd and a terminal send to the whole group,
because the parent decides when a worker stops: it sends a byte on the channel. When the
channel ends, the parent has ended, and so does the worker. Once a second the worker
sends the parent a byte that says whether it is well or stuck.

Granian is used as it is, but for two things that it has no option for:

- It opens its own socket, with SO_REUSEPORT. A second service on the port would then
  start without a word, and connections that wait for a worker would be lost with that
  worker. `_Granian._serve` gives it the parent's socket instead.
- Its signal handlers call `WorkerSignal.set`, which waits forever, with Python's lock,
  when it is called twice before the server looks (Granian 2.8). `_obey` replaces these
  handlers by a signal that the worker sets, once.
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
from shopwindow.service.supervisor import (
    GROUP_SIGNALS,
    READY,
    STOP,
    STUCK,
    TRACEBACKS_SIGNAL,
    WELL,
)

CallParameters = ParamSpec("CallParameters")
CallResult = TypeVar("CallResult")

WSGI = "wsgi"

PULSE_SECONDS = 1.0
"""Time between two bytes that say how the worker is. Several may be late: the parent
waits 5 s (supervisor.MAX_SILENCE_SECONDS).
"""

STUCK_SECONDS = 5.0
"""How long all threads may work on the same requests before the worker counts as stuck:
every other request waits as long.
"""

ORPHAN_SECONDS = 2.0
"""How long requests in flight may take once the parent has ended: nobody else would end
a worker that stays.
"""


@dataclass(eq=False)
class Busy:
    """What shows whether the worker is stuck: its threads at work, and its event loop.

    No lock is needed: CPython changes a dict in one step.
    """

    threads: int
    """How many threads answer."""
    since: dict[int, float] = field(default_factory=dict)
    """When each thread at work began its request (time.monotonic), by the thread's id.
    """
    patience: float = STUCK_SECONDS
    """Seconds without an answer after which the worker counts as stuck."""
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop that receives requests, where there is one."""
    waited_since: float | None = None
    """When the loop was called (time.monotonic); None: it has run since."""

    def recorded(
        self, call: Callable[CallParameters, CallResult]
    ) -> Callable[CallParameters, CallResult]:
        """Wrap a function that answers a request, so that a thread inside it counts as
        busy.
        """
        since = self.since

        def answer(
            *arguments: CallParameters.args, **named: CallParameters.kwargs
        ) -> CallResult:
            thread = threading.get_ident()
            since[thread] = time.monotonic()
            try:
                return call(*arguments, **named)
            finally:
                del since[thread]

        return answer

    def is_stuck(self) -> bool:
        """Return whether nothing has been answered for ``patience``, nor can be.

        That is so if every thread has been busy with one request for that long, or if
        the event loop has not run since an earlier call of this method that long ago.
        """
        limit = time.monotonic() - self.patience
        began = list(self.since.values())
        is_loop_stuck = self.waited_since is not None and self.waited_since < limit
        if self.loop and self.waited_since is None:
            self.waited_since = time.monotonic()
            self.loop.call_soon_threadsafe(self._loop_runs)
        return is_loop_stuck or (len(began) >= self.threads and max(began) < limit)

    def _loop_runs(self) -> None:
        self.waited_since = None


class Link:
    """The worker's end of the channel: reports how the worker is, and obeys the parent.

    It runs in a thread of its own. So when the parent hears nothing, Python as a whole
    stands still, and not only a thread that answers.
    """

    def __init__(self, channel: socket.socket, busy: Busy) -> None:
        self._channel = channel
        self._busy = busy
        self._granian: WorkerSignal | None = None
        threading.Thread(target=self._run, name="parent", daemon=True).start()

    def signal(self, *loop: Any) -> WorkerSignal:
        """Return the signal on which Granian stops. Granian calls this as its server
        starts.
        """
        self._granian = WorkerSignal()
        return self._granian

    def send(self, state: bytes) -> None:
        """Report READY, WELL or STUCK to the parent."""
        # It fails where the parent has ended, which `_run` notices, and where the
        # parent stands still and the channel is full.
        with suppress(OSError):
            self._channel.send(state, socket.MSG_DONTWAIT)

    def _run(self) -> None:
        """Report once a second until the parent orders an end or has ended; then end."""
        self._channel.settimeout(PULSE_SECONDS)
        order: bytes | None = None
        while order is None:
            try:
                order = self._channel.recv(1)
            except TimeoutError:
                self.send(STUCK if self._busy.is_stuck() else WELL)
            except OSError:
                order = b""

        if self._granian is None:
            os._exit(0)  # the worker has not begun to answer
        self._granian.set()
        if order == STOP:
            self._wait_for_parent()
        time.sleep(ORPHAN_SECONDS)
        os._exit(1)

    def _wait_for_parent(self) -> None:
        """Wait until the parent has ended, too, while requests in flight are answered.

        Granian ends this process before that, unless the parent is killed.
        """
        self._channel.settimeout(None)
        with suppress(OSError):
            while self._channel.recv(1):
                pass


def _obey(link: Link) -> None:
    """Have Granian stop when the link says so, and handle no signal of the system."""
    _signals.set_sync_signals = link.signal
    _signals.set_loop_signals = link.signal


class _Granian(MPServer):
    """Granian's server with a socket that listens already, and this process as its
    worker.
    """

    listener: socket.socket
    number: int

    def _serve(self, spawn_target: Any, target_loader: Any) -> None:
        # Granian listens on the socket once more, which sets the length of its queue
        # again
        is_unix = self.listener.family == socket.AF_UNIX
        self._shd = SocketHolder(self.listener.fileno(), is_unix, BACKLOG)  # type: ignore[call-arg, assignment]
        self._sso = None
        self._spawn_worker(self.number, spawn_target, target_loader).inner.run()


def _load(factory: str, busy: Busy, link: Link, http: str) -> Any:
    """Return the application for Granian, and report that the worker is ready.

    The factory loads the release, so the first request does not wait for it.
    """
    module, _, function = factory.partition(":")
    front = getattr(import_module(module), function)()
    if http == WSGI:
        application: Any = busy.recorded(front)
    else:
        application = Intake(front, busy.threads, busy.recorded)
        busy.loop = asyncio.get_event_loop()  # Granian's, which is about to run
    link.send(READY)
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
    """Answer requests until the parent orders an end, or has ended.

    The arguments are those of the command line. ``factory`` makes a service.wsgi.Front,
    or any WSGI callable where ``http`` is `wsgi`.
    """
    busy = Busy(threads)
    link = Link(channel, busy)
    _obey(link)
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
    server.serve(
        target_loader=partial(_load, factory, busy, link, http), wrap_loader=False
    )


def main(arguments: list[str]) -> int:
    """Run a worker by its command line, and return the exit status: 4 after a Failure."""
    factory, http, processor = arguments[0], *arguments[-2:]
    listener, channel, number, threads, clients = map(int, arguments[1:-2])

    # the parent has blocked these signals for us until they are ignored
    for ignored in GROUP_SIGNALS:
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, GROUP_SIGNALS)
    faulthandler.register(TRACEBACKS_SIGNAL, all_threads=True)
    if processor != "-":
        os.sched_setaffinity(0, {int(processor)})
    listening = socket.socket(fileno=listener)
    parent = socket.socket(fileno=channel)
    try:
        work(factory, listening, parent, number, threads, clients, http)
    except Failure as failure:
        journal.error("service", str(failure))
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
