"""The service as a whole: gunicorn's arbiter, which starts workers and replaces them.

How this works. The arbiter listens at both addresses, or takes the public one from
systemd, and forks its workers (service.worker), which accept from these sockets. It has
imported the program before, so a worker begins in a moment and shares that memory. It
has no threads, because a fork would copy the locks that they hold: whatever a worker
needs, it makes itself.

Each worker makes the same callable that works with any other server (service.wsgi), and
takes requests in before it (service.intake).
"""

import errno
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer

from shopwindow.problems import Failure
from shopwindow.service import journal
from shopwindow.service.connection import make_room
from shopwindow.service.database.database import Database, OutOfUse, open_database
from shopwindow.service.mail.letters import Letters
from shopwindow.service.mail.senders import Sender
from shopwindow.service.metrics_folder import metrics_folder
from shopwindow.service.settings import Settings
from shopwindow.service.worker import (
    DRAIN_SECONDS,
    ENDING_SIGNALS,
    SILENT_SECONDS,
    Worker,
    at_signals,
    end,
)

if TYPE_CHECKING:
    from shopwindow.service.wsgi import Front

LoadFactory = Callable[[], Callable[[Settings], "Front"]]
"""Imports what makes the callable of a worker, and returns it."""

BACKLOG = 4096
"""Connections that wait to be accepted. Beyond it the kernel drops them, and clients
try again a second later.

4,096 is the most that Linux admits by default (net.core.somaxconn). 1,800 silent
clients that came at once filled a queue of 1,024, and the next client waited that
second.
"""

DEFER_SECONDS = 1
"""For which the kernel holds a new connection back until its request comes (tcp(7),
TCP_DEFER_ACCEPT).

A worker that is about to end would otherwise accept it, and close it before the request
is there. A longer time gains nothing: a request follows its connection at once.
"""

NOT_LOADED = 4
"""The exit status of a worker that cannot begin for a reason that the log names, such
as a newer database. gunicorn then ends the service with it (Arbiter.APP_LOAD_ERROR).
"""


@dataclass(frozen=True, kw_only=True)
class Processes:
    """The processes of the service, and where they listen."""

    bind: tuple[str, int]
    """Host and port of the service; ignored with a socket of systemd."""
    admin: tuple[str, int] | None
    """Host and port of the admin address; None: there is none."""
    workers: int
    """How many processes answer."""
    threads: int
    """How many requests a worker works on at once."""
    clients: int
    """Connections of a worker, at most."""


def serve(settings: Settings, processes: Processes, load: LoadFactory) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are answered first. Raises
    Failure.

    The sockets come first: a service that cannot have its addresses changes nothing.
    """
    at_signals(end)  # until the arbiter has handlers of its own
    listeners = _listeners(processes)
    try:
        with metrics_folder() as shared:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
            _run(settings, processes, load, shared, listeners)
    finally:
        # Python restores the default of these signals while it closes down: a second
        # one would turn a normal end into a failure.
        for number in (*ENDING_SIGNALS, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


def _run(
    settings: Settings,
    processes: Processes,
    load: LoadFactory,
    shared: str,
    listeners: list[int],
) -> None:
    """Run the arbiter. Never returns: it raises SystemExit, or Failure.

    The imports stand here because prometheus_client reads PROMETHEUS_MULTIPROC_DIR when
    it is imported, and before the fork, so that workers share what is imported.
    """
    from prometheus_client.multiprocess import mark_process_dead

    from shopwindow.service.admin import Admin
    from shopwindow.service.intake import Intake

    make = load()
    settings.interface.prepare_process()
    if settings.database:
        _migrate(open_database(settings.database, settings.interface.tables))
    make_room(processes.clients)

    def application() -> Intake:
        front = make(settings)
        admin = None
        if processes.admin:
            admin = Admin(front, processes.admin[1], settings, Path(shared))
        stop = _send_mail(settings, front.backstage.database)
        return Intake(front, processes.threads, admin, stop)

    def begin(arbiter: Any) -> None:
        # what it has imported has gauges, and it is no worker
        mark_process_dead(os.getpid(), shared)  # type: ignore[no-untyped-call]
        for listener in arbiter.LISTENERS:
            _defer(listener.sock)
        _inform(processes, arbiter)

    Service(
        application,
        workers=processes.workers,
        bind=[f"fd://{listener}" for listener in listeners] or ["127.0.0.1:0"],
        worker_tmp_dir=shared,
        when_ready=begin,
        child_exit=lambda _, worker: mark_process_dead(worker.pid, shared),  # type: ignore[no-untyped-call]
    ).run()


def _migrate(database: Database) -> None:
    """Bring the database to the form of its tables, if it can be reached, and close it.

    Raises Failure for what waiting does not repair, such as a newer database: so this
    is reported once, and not by every worker.
    """
    try:
        database.migrate()
    except OutOfUse as failure:
        refused = "reads are answered, writes are refused, and it is tried again"
        journal.error("database", f"{failure}; {refused}")
    finally:
        database.close()


def _send_mail(settings: Settings, database: Database | None) -> Callable[[], None]:
    """Begin to send the mails of the outbox, where there are a mail server and a
    database. Return what ends it. Raises Failure.
    """
    if settings.smtp is None or database is None:
        return lambda: None
    letters = Letters(settings.interface, [settings.templates])
    sender = Sender(database, settings.smtp, letters)
    sender.start()
    return sender.stop


class _Arbiter(Arbiter):  # type: ignore[misc]
    """gunicorn's arbiter, whose workers lose no signal as they begin.

    A worker has the arbiter's handlers until it has its own (Worker.init_signals), and
    a signal that comes before would only be put in a queue that nobody reads.
    """

    def spawn_worker(self) -> Any:
        """Fork a worker, in which the signals wait for its handlers."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)


class Service(BaseApplication):  # type: ignore[misc]
    """gunicorn, set up by these settings and no file.

    ``make`` makes a worker's application, in its process.
    """

    def __init__(self, make: Callable[[], Any], **settings: Any) -> None:
        self._make = make
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        """Set what holds for every service, and the settings."""
        always = {
            "worker_class": Worker,
            "timeout": SILENT_SECONDS,
            "graceful_timeout": DRAIN_SECONDS,
            "backlog": BACKLOG,
            "logconfig_dict": journal.LOGGING,
            "loglevel": "warning",
            "control_socket_disable": True,
        }
        for name, value in (always | self._settings).items():
            self.cfg.set(name, value)

    def run(self) -> None:
        """Run the arbiter. Never returns: it raises SystemExit."""
        try:
            _Arbiter(self).run()
        except HaltServer as halt:  # of a second worker that could not begin
            sys.exit(halt.exit_status)

    def load(self) -> Any:
        """Make the application of a worker, or end with the reason in the log."""
        try:
            return self._make()
        except Failure as failure:
            journal.error("service", str(failure))
            sys.exit(NOT_LOADED)


def _inform(processes: Processes, arbiter: Any) -> None:
    """Inform the operator where the service listens."""
    admin = processes.admin[1] if processes.admin else None
    names = [listener.sock.getsockname() for listener in arbiter.LISTENERS]
    public = next(name for name in names if name[1:2] != (admin,))
    place = _shown(public[0], public[1]) if isinstance(public, tuple) else str(public)
    is_one = processes.workers == 1
    number = "1 worker listens" if is_one else f"{processes.workers} workers listen"
    journal.info("service", f"{number} at {place}")


# -- sockets ---------------------------------------------------------------------------


def _listeners(processes: Processes) -> list[int]:
    """Return the sockets that listen at our addresses, but for those that systemd hands
    to gunicorn. Raises Failure.
    """
    is_handed = os.environ.get("LISTEN_PID") == str(os.getpid())
    addresses = [] if is_handed else [processes.bind]
    if processes.admin:
        addresses.append(processes.admin)
    return [_bound(address) for address in addresses]


def _defer(listener: socket.socket) -> None:
    """Have the kernel hold connections back until their request comes."""
    if listener.family != socket.AF_UNIX and hasattr(socket, "TCP_DEFER_ACCEPT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_SECONDS)


def _bound(bind: tuple[str, int]) -> int:
    """Return a socket that listens at an address, as a file descriptor.

    Without SO_REUSEPORT nobody else can listen there, so a second service is refused.
    Raises Failure.
    """
    host, port = bind
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = host == "::" and socket.has_dualstack_ipv6()
    try:
        listener = socket.create_server(
            bind, family=family, backlog=BACKLOG, dualstack_ipv6=dual
        )
    except OSError as error:
        # below zero for a host without an address (getaddrinfo(3))
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror or str(error)
        is_used = error.errno == errno.EADDRINUSE
        advice = ": is the service running already?" if is_used else ""
        raise Failure(
            f"{_shown(host, port)} cannot be listened at: {reason}{advice}"
        ) from None
    return listener.detach()


def _shown(host: str, port: int) -> str:
    """Return an address as URLs have it: IPv6 in brackets (RFC 3986 §3.2.2)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
