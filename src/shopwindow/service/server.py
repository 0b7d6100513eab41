"""Running the service: the workers, and beside them, in their parent, the admin address and the
senders of mail.
"""

import errno
import fcntl
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shopwindow.interface.interface import Interface
from shopwindow.interface.loading import from_environment
from shopwindow.problems import Failure
from shopwindow.service import journal
from shopwindow.service.connections import BACKLOG, MOST, count, room
from shopwindow.service.database.address import sqlite_path
from shopwindow.service.database.database import Database
from shopwindow.service.database.late import late_database
from shopwindow.service.letters import Letters
from shopwindow.service.mail import Counts, Senders
from shopwindow.service.proxies import LOOPBACK, proxies
from shopwindow.service.smtp import smtp_server
from shopwindow.service.supervisor import Command, Supervisor, watched_signals
from shopwindow.service.systemd import inherited_socket

FACTORY = "shopwindow.service.wsgi:make"
WORKER = "shopwindow.service.worker"
STARTING_SECONDS = 60
MEMORY, METRICS = Path("/dev/shm"), "shopwindow-metrics-"  # nosec B108 # mkdtemp makes a folder of our own in it

DEFER_SECONDS = 1
"""For which the kernel keeps a new connection until its request comes (tcp(7),
TCP_DEFER_ACCEPT).

A worker that is about to end would otherwise accept it, and close it before the request is
there: 2 to 4 of 3,000 answers were lost in three reloads. Nobody gains from a longer time: a
request follows its connection at once.
"""


REPORT, INFORM = partial(journal.error, "service"), partial(journal.info, "service")


@dataclass(frozen=True)
class Options:
    """``bind`` and ``admin`` are (host, port); ``admin`` None: no admin address. ``memo``: MiB
    a worker.

    ``database`` and ``log_dir`` may be empty: there is none. ``connections``: of a worker to a
    database server, at most. ``mail``: send what is in the outbox, where the environment names
    a mail server; ``templates`` is where its own templates would be. ``pin``, ``http`` and
    ``clients``: see ``run``.
    """

    out: Path
    bind: tuple[str, int]
    admin: tuple[str, int] | None
    workers: int
    threads: int
    memo: int
    database: str
    connections: int
    log_dir: str = ""
    mail: bool = False
    templates: Path = Path("content/templates")
    pin: bool = False
    http: str = "1"
    clients: int = MOST


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT` → its parts. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ValueError(f"must be HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)


def serve(options: Options) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are answered first. Raises Failure.

    The address is taken first: a service that is refused it has changed nothing. So does a
    socket of systemd come before others, which would get its number if it were missing.
    """
    with (
        listening(options.bind) as listener,
        watched_signals() as signals,
        metrics_folder() as shared,
    ):
        _serve(options, shared, listener, signals)


def _serve(
    options: Options, shared: str, listener: socket.socket, signals: socket.socket
) -> None:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = (
        shared  # before prometheus_client is imported, here and in the workers
    )
    os.environ["SHOPWINDOW_OUT"] = str(options.out.absolute())
    os.environ["SHOPWINDOW_MEMO"] = str(options.memo)
    os.environ["SHOPWINDOW_DATABASE"] = options.database
    os.environ["SHOPWINDOW_CONNECTIONS"] = str(options.connections)
    os.environ["SHOPWINDOW_LOG_DIR"] = options.log_dir
    proxies(
        os.environ.get("SHOPWINDOW_TRUSTED_PROXIES", LOOPBACK)
    )  # said here rather than by every worker
    command = _command(FACTORY, options.threads, options.clients, options.http, pin=options.pin)
    interface = from_environment(os.environ)
    database = None
    if options.database:
        database = late_database(options.database, interface.tables, migrate=True)
    try:
        senders = _senders(options, interface, database)
        if options.admin:
            from shopwindow.service import probe
            from shopwindow.service.admin import Admin
            from shopwindow.service.figures import DATABASE

            mails = Counts(database) if database else None
            probe.begin()
            name = listener.getsockname()
            ask = (
                partial(probe.ask, name[:2]) if isinstance(name, tuple) else None
            )  # of a Unix socket nobody asks
            folders = {"log": Path(options.log_dir)} if options.log_dir else {}
            if options.database and (path := sqlite_path(options.database)):
                folders[DATABASE] = path
            try:
                admin = Admin(
                    options.out,
                    Path(shared),
                    database,
                    mails,
                    probe=ask,
                    folders=folders,
                    connections=_open(listener),
                )
                admin.serve(*options.admin)
            except OSError as error:
                raise _deaf(options.admin, error) from None
        Supervisor(listener, command, options.workers, REPORT, INFORM).run(signals)
        if senders:
            senders.stop()
    finally:
        if database:
            database.close()


@contextmanager
def metrics_folder() -> Iterator[str]:
    """A folder for the workers' metrics, in memory where there is /dev/shm; what killed
    services left there is removed.

    prometheus_client maps its files, and the kernel ends a process (SIGBUS) that writes to a
    mapped file when the disk is full: a full disk shall cost lines of the mobile log, not the
    service.
    """
    parent = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    for folder in parent.glob(f"{METRICS}*"):
        if (
            lock := _locked(folder)
        ) is not None:  # its service has ended or is about to take the lock
            if time.time() - os.fstat(lock).st_mtime > STARTING_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
    shared = tempfile.mkdtemp(prefix=f"{METRICS}{os.getpid()}-", dir=parent)
    lock = _locked(Path(shared))
    try:
        yield shared
    finally:
        shutil.rmtree(shared, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """A folder's lock, released when this process ends; None where another process holds it."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


def _senders(
    options: Options, interface: Interface, database: Database | None
) -> Senders | None:
    """The outbox's senders at work, where there is a mail server. Raises Failure."""
    server = smtp_server(os.environ) if options.mail else None
    if server is None or database is None:
        return None
    senders = Senders(database, server, Letters(interface, [options.templates]))
    senders.start()
    return senders


def _open(listener: socket.socket) -> Callable[[], Mapping[str, int]]:
    """How many connections the workers have open; of a Unix socket nobody counts them."""
    name = listener.getsockname()
    return partial(count, name[1]) if isinstance(name, tuple) else dict


def run(
    factory: str,
    bind: tuple[str, int],
    workers: int,
    threads: int,
    *,
    pin: bool = False,
    http: str = "1",
    clients: int = MOST,
) -> None:
    """Answer requests in so many processes until a signal ends them.

    ``factory``: `module:function`, which makes the service.wsgi.Front in each of them. ``pin``:
    each keeps to one of the processors that this process may use, in turn. ``http``: `1`, `2`,
    or `auto` for both; or `wsgi`: the factory makes any WSGI callable, which Granian's threads
    call (for benchmarks). ``clients``: connections that a worker keeps at once; others wait in
    the system's queue. Raises Failure where the system cannot do that, where ``bind`` cannot be
    listened at, and where no worker can be started.
    """
    with listening(bind) as listener, watched_signals() as signals:
        command = _command(factory, threads, clients, http, pin=pin)
        Supervisor(listener, command, workers, REPORT, INFORM).run(signals)


def _command(factory: str, threads: int, clients: int, http: str, *, pin: bool) -> Command:
    """What starts a worker (service.worker), which inherits this process's limit of open files."""
    if pin and not hasattr(os, "sched_setaffinity"):
        raise Failure("this system cannot keep a worker on one processor; leave --pin out")
    processors = [str(number) for number in sorted(os.sched_getaffinity(0))] if pin else ["-"]
    most = room(clients)

    def command(number: int, listener: int, channel: int) -> list[str]:
        place = (
            listener,
            channel,
            number,
            threads,
            most,
            http,
            processors[number % len(processors)],
        )
        return [sys.executable, "-m", WORKER, factory, *map(str, place)]

    return command


def listening(bind: tuple[str, int]) -> socket.socket:
    """The socket that systemd handed over, or else one that listens at ``bind``. Raises
    Failure.

    Without SO_REUSEPORT nobody else can listen there, so a second service is refused.
    """
    listener = inherited_socket()
    if listener is None:
        listener = _bound(bind)
    if listener.family != socket.AF_UNIX and hasattr(socket, "TCP_DEFER_ACCEPT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_SECONDS)
    return listener


def _bound(bind: tuple[str, int]) -> socket.socket:
    host, _ = bind
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(bind, family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        raise _deaf(bind, error) from None


def _deaf(address: tuple[str, int], error: OSError) -> Failure:
    why = (
        os.strerror(error.errno)
        if error.errno and error.errno > 0
        else error.strerror or str(error)
    )
    more = ": is the service running already?" if error.errno == errno.EADDRINUSE else ""
    return Failure(f"{address[0]}:{address[1]} cannot be listened at: {why}{more}")
