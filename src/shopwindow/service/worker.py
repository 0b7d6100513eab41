"""A worker: a process that gunicorn's arbiter forks, in which uvicorn takes requests in.

How this works. The arbiter replaces a worker that has ended, and one whose heartbeat
stops. A task on the worker's event loop sends the heartbeat once a second, unless all
threads that answer are stuck. It also winds up an alarm (faulthandler), which needs
neither the loop nor Python's lock: if the alarm is not wound up again in time, it
writes the tracebacks of all threads and ends the process. So a worker whose loop or
threads stand still ends by itself and says where; the arbiter's own limit is for one
that the kernel does not run.
"""

import asyncio
import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from uvicorn_worker import UvicornWorker

from shopwindow.service.connection import HEAD_SECONDS, Connection

PULSE_SECONDS = 1.0
"""Time between two heartbeats."""

ALARM_SECONDS = 10.0
"""For which a worker may stand still. Threads that read from the database are not
stuck: it answers or refuses within 10 s (database.DATABASE_SECONDS), and a thread
counts as stuck only after intake.STUCK_SECONDS.
"""

SILENT_SECONDS = 12
"""For which the arbiter waits for a heartbeat, so that the alarm comes first."""

START_SECONDS = 120.0
"""How long a worker may take to begin. A large release is loaded in seconds, but not on
a machine that swaps.
"""

DRAIN_SECONDS = 30
"""How long requests in flight may take once a worker is to end. A write waits some 20 s
at most, for its turn and for who leads (database.DATABASE_SECONDS each), and systemd
kills the service after 40 s (TimeoutStopSec of our unit).
"""

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
"""Signals at which a worker ends, once it has answered what is in flight."""


class Worker(UvicornWorker):  # type: ignore[misc]
    """gunicorn's worker, whose application is a service.intake.Intake."""

    CONFIG_KWARGS = {  # noqa: RUF012 # as gunicorn's own classes have it
        "http": Connection,
        "loop": "uvloop",
        "ws": "none",
        "lifespan": "off",
        "interface": "asgi3",
        # a client that sends no HTTP is no news for an operator
        "log_level": "error",
        "server_header": False,
        # whose X-Forwarded-For is believed, service.message says
        "proxy_headers": False,
        # of the next head; Connection has the deadline
        "timeout_keep_alive": HEAD_SECONDS,
    }

    _beats: asyncio.Task[None] | None = None

    def load_wsgi(self) -> None:
        """Make the application. The heartbeat is far ahead meanwhile, and a signal ends
        the process at once.
        """
        faulthandler.dump_traceback_later(START_SECONDS, exit=True)
        begun_by = time.monotonic() + START_SECONDS
        os.utime(self.tmp.fileno(), (begun_by, begun_by))
        at_signals(end)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
        super().load_wsgi()

    def run(self) -> None:
        """Answer requests until the arbiter orders an end, or has ended.

        A signal that comes before uvicorn's handlers is noted (``alive``). It cannot
        wait until then: the threads of the application take what the main one blocks.
        Once uvicorn has ended it raises its signals again, and they change nothing.
        """
        at_signals(self.handle_exit)
        # of gunicorn's own, uvloop would close each descriptor twice, and the second
        # time it may be another file's
        self.sockets = [each.sock for each in self.sockets]  # type: ignore[has-type]
        try:
            super().run()
        finally:
            at_signals(_ignore)
            faulthandler.dump_traceback_later(DRAIN_SECONDS, exit=True)

    async def callback_notify(self) -> None:
        """Begin the heartbeat as uvicorn asks for it; it also goes on while draining."""
        self._beats = self._beats or asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        """Send heartbeats until the arbiter has ended. Then nobody else would end this
        worker: it ends itself, or by its alarm.
        """
        while os.getppid() == self.ppid:
            if not self.alive:  # SIGQUIT, or a signal that came before uvicorn
                os.kill(os.getpid(), signal.SIGTERM)
            if self.wsgi.beat():
                faulthandler.dump_traceback_later(ALARM_SECONDS, exit=True)
                self.notify()
            await asyncio.sleep(PULSE_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)


def at_signals(handler: Callable[[int, FrameType | None], object]) -> None:
    """Call a handler at each signal that ends this process."""
    for number in ENDING_SIGNALS:
        signal.signal(number, handler)


def end(number: int, frame: FrameType | None) -> None:
    """End this process. A further signal changes nothing about that."""
    at_signals(_ignore)
    sys.exit(0)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing at a signal. SIG_IGN would make Python report one that waits."""
