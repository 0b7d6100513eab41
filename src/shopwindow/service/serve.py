"""The service as a whole: gunicorn's arbiter, which starts workers and replaces them.

How this works. The arbiter listens at both addresses, or takes the public one from
systemd, and forks its workers (service.worker), which accept from these sockets. It has
imported the program before, so a worker begins in a moment and shares that memory. It
has no threads, because a fork would copy the locks that they hold: whatever a worker
needs, it makes itself.

Each worker makes the same callable that works with any other server (service.wsgi), and
takes requests in before it (service.intake).
"""

import atexit
import errno
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer

from shopwindow.problems import Failure
from shopwindow.service import journal
from shopwindow.service.connection import make_room
from shopwindow.service.database.database import Database, OutOfUse, open_database
from shopwindow.service.documentation import Describe
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

BACKLOG = 4096
"""Connections that wait to be accepted. Beyond it the kernel drops them, and clients
try again a second later.

4,096 is the most that Linux admits by default (net.core.somaxconn). 1,800 silent
clients that came at once filled a queue of 1,024, and the next client waited that
second.
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


def serve(settings: Settings, processes: Processes, describe: Describe) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are answered first. Raises
    Failure.

    ``describe`` prints the OpenAPI document of a release. The sockets come first: a
    service that cannot have its addresses changes nothing.
    """
    at_signals(end)  # until the arbiter has handlers of its own
    listeners = _listeners(processes)
    try:
        with metrics_folder() as shared:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
            _run(settings, processes, describe, shared, listeners)
    finally:
        # Python restores the default of these signals while it closes down: a second
        # one would turn a normal end into a failure.
        for number in (*ENDING_SIGNALS, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


def _run(
    settings: Settings,
    processes: Processes,
    describe: Describe,
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
    from shopwindow.service.wsgi import make

    settings.interface.prepare_process()
    if settings.database:
        _migrate(open_database(settings.database, settings.interface.tables))
    make_room(processes.clients)
    # what this process has imported has gauges, and it is no worker
    mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]

    def application() -> Intake:
        front = make(settings, describe)
        admin = None
        if processes.admin:
            admin = Admin(front, processes.admin[1], settings, Path(shared))
        _send_mail(settings, front.backstage.database)
        return Intake(front, processes.threads, admin)

    Service(
        application,
        workers=processes.workers,
        bind=[f"fd://{listener}" for listener in listeners],
        worker_tmp_dir=shared,
        when_ready=_inform,
        child_exit=lambda _, worker: mark_process_dead(worker.pid),  # type: ignore[no-untyped-call]
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


def _send_mail(settings: Settings, database: Database | None) -> None:
    """Send the mails of the outbox until this process ends, where there are a mail
    server and a database. Raises Failure.
    """
    if settings.smtp and database:
        letters = Letters(settings.interface, [settings.templates])
        sender = Sender(database, settings.smtp, letters)
        sender.start()
        atexit.register(sender.stop)


class _Arbiter(Arbiter):  # type: ignore[misc]
    """gunicorn's arbiter, whose workers lose no signal as they begin.

    A worker has the arbiter's handlers until it has its own, and a signal that comes
    before would only be put in a queue that nobody reads.
    """

    # requests in flight are answered first at these, too
    handle_int = handle_quit = Arbiter.handle_term

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


def _inform(arbiter: Any) -> None:
    """Inform the operator where the service listens."""
    place = str(arbiter.LISTENERS[-1]).removeprefix("http://")
    workers = arbiter.num_workers
    number = "1 worker listens" if workers == 1 else f"{workers} workers listen"
    journal.info("service", f"{number} at {place}")


# -- sockets ---------------------------------------------------------------------------


def _listeners(processes: Processes) -> list[int]:
    """Return the sockets that listen at our addresses, the public one last. Where
    systemd has one, it hands that to gunicorn. Raises Failure.
    """
    is_handed = os.environ.get("LISTEN_PID") == str(os.getpid())
    public = None if is_handed else processes.bind
    return [_bound(address) for address in (processes.admin, public) if address]


def _bound(bind: tuple[str, int]) -> int:
    """Return a socket that listens at an address, as a file descriptor.

    Without SO_REUSEPORT nobody else can listen there, so a second service is refused.
    Raises Failure.
    """
    host, port = bind
    is_version_6 = ":" in host
    place = f"[{host}]:{port}" if is_version_6 else f"{host}:{port}"
    try:
        listener = socket.create_server(
            bind,
            family=socket.AF_INET6 if is_version_6 else socket.AF_INET,
            backlog=BACKLOG,
            dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6(),
        )
    except OSError as error:
        # create_server appends the address to some reasons
        reason = str(error.strerror).partition(" (while ")[0]
        is_used = error.errno == errno.EADDRINUSE
        advice = ": is the service running already?" if is_used else ""
        raise Failure(f"{place} cannot be listened at: {reason}{advice}") from None
    return listener.detach()
