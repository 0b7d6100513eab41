"""The service as a whole: worker processes, and beside them the parent's own threads.

How this works. The parent listens, and its workers (service.worker) accept from that
one socket. The parent itself runs the supervisor of the workers, the admin address and
the senders of mail. It hands its options to the workers as environment variables, which
service.wsgi.make reads, so that the same callable works with another server.

``serve`` is the command of that name; ``run`` is its core, the supervised workers
alone.
"""

import errno
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from shopwindow.interface.interface import Interface
from shopwindow.interface.loading import from_environment
from shopwindow.problems import Failure
from shopwindow.release.changes import content_of
from shopwindow.release.releases import Releases
from shopwindow.service import journal
from shopwindow.service.companion import Companion
from shopwindow.service.connections import (
    BACKLOG,
    MAX_CLIENTS,
    count_connections,
    make_room,
)
from shopwindow.service.database.address import sqlite_path
from shopwindow.service.database.database import Database
from shopwindow.service.database.late import late_database
from shopwindow.service.letters import Letters
from shopwindow.service.mail import Counts, Senders
from shopwindow.service.metrics_folder import metrics_folder
from shopwindow.service.proxies import LOOPBACK, proxies
from shopwindow.service.smtp import smtp_server
from shopwindow.service.supervisor import Supervisor, WorkerCommand, watched_signals
from shopwindow.service.systemd import inherited_socket

WORKER = "shopwindow.service.worker"

DEFER_SECONDS = 1
"""For which the kernel holds a new connection back until its request comes (tcp(7),
TCP_DEFER_ACCEPT).

A worker that is about to end would otherwise accept it, and close it before the request
is there: 2 to 4 of 3,000 responses were lost in three reloads. A longer time gains
nothing: a request follows its connection at once.
"""

REPORT, INFORM = partial(journal.error, "service"), partial(journal.info, "service")


@dataclass(frozen=True)
class ServiceOptions:
    """The options of `shopwindow serve`."""

    out: Path
    """The output directory, whose current release is served."""
    bind: tuple[str, int]
    """Host and port of the service; ignored with a socket of systemd."""
    admin: tuple[str, int] | None
    """Host and port of the admin address; None: there is none."""
    workers: int
    """How many processes answer."""
    threads: int
    """How many requests a worker works on at once."""
    database: str
    """The database's address; empty: writes are refused."""
    log_dir: str = ""
    """The folder of the mobile log; empty: there is none."""
    mail: bool = False
    """Whether to send the mails of the outbox, where the environment names a mail
    server.
    """
    templates: Path = Path("content/templates")
    """The folder of the shop's own templates of mails; it may be missing."""
    pin: bool = False
    http: str = "1"
    clients: int = MAX_CLIENTS
    """These three are as ``run`` takes them."""
    companion: tuple[str, ...] = ()
    """The command line of what runs beside the workers (service.companion); empty:
    nothing does.
    """
    factory: str = "shopwindow.service.wsgi:make"
    """What makes the service.wsgi.Front of a worker, `module:function`."""
    docs: bool = True
    """Whether there are `/openapi.json` and `/docs`, where the factory can describe the
    interface.
    """


def address(text: str) -> tuple[str, int]:
    """Return host and port of a text `HOST:PORT`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ValueError(f"must be HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)


def serve(options: ServiceOptions) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are answered first. Raises
    Failure.

    The socket comes first, for two reasons. A service that cannot have the address must
    change nothing. And a socket of systemd has a certain number, which any other file
    would get if systemd handed over none.
    """
    with (
        listening(options.bind) as listener,
        watched_signals() as signals,
        metrics_folder() as shared,
    ):
        _serve(options, shared, listener, signals)


def _serve(
    options: ServiceOptions,
    shared: str,
    listener: socket.socket,
    signals: socket.socket,
) -> None:
    _set_environment(options, shared)
    # a wrong list of proxies is reported here, once, and not by every worker
    proxies(os.environ.get("SHOPWINDOW_TRUSTED_PROXIES", LOOPBACK))
    command = _command(
        options.factory,
        options.threads,
        options.clients,
        options.http,
        pin=options.pin,
    )

    interface = from_environment(os.environ)
    database = None
    stop_admin: Callable[[], None] | None = None
    if options.database:
        database = late_database(options.database, interface.tables, migrate=True)
    try:
        senders = _senders(options, interface, database)
        if options.admin:
            stop_admin = _serve_admin(
                options.admin, options, shared, listener, database
            )
        companion = Companion(options.companion, REPORT) if options.companion else None
        supervisor = Supervisor(
            listener,
            command,
            options.workers,
            REPORT,
            partial(_inform_of_addresses, options.out, interface),
            companion,
        )
        supervisor.run(signals)
        if senders:
            senders.stop()
    finally:
        if stop_admin:
            stop_admin()
        if database:
            database.close()


def _inform_of_addresses(out: Path, interface: Interface, news: str) -> None:
    """Inform the operator that the workers answer, and for which addresses of the
    current release's site.yaml. A Host header tells those apart.
    """
    releases = Releases(out)
    try:
        path = releases.path(releases.find("current"))
        content = content_of(path, replace(interface, indexes=()))
    except Failure:  # there is none yet, or the workers say what is wrong with it
        INFORM(news)
        return
    base, order = content.setting("base_url"), content.setting("order_base_url")
    hosts = [urlsplit(url).netloc for url in (base, order)]
    asking = f" (with the header Host: {hosts[1]})" if hosts[0] != hosts[1] else ""
    also = f", and for {order}{asking}" if order != base else ""
    INFORM(f"{news}, for {base}{also}")


def _set_environment(options: ServiceOptions, shared: str) -> None:
    """Set the variables that workers read (service.wsgi.make)."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
    os.environ["SHOPWINDOW_OUT"] = str(options.out.absolute())
    os.environ["SHOPWINDOW_DATABASE"] = options.database
    os.environ["SHOPWINDOW_LOG_DIR"] = options.log_dir
    os.environ["SHOPWINDOW_DOCS"] = "1" if options.docs else "0"


def _serve_admin(
    address: tuple[str, int],
    options: ServiceOptions,
    shared: str,
    listener: socket.socket,
    database: Database | None,
) -> Callable[[], None]:
    """Start the admin address, in threads of this process. Return its `Admin.stop`.
    Raises Failure.

    The imports stand here because prometheus_client reads PROMETHEUS_MULTIPROC_DIR when
    it is imported.
    """
    from shopwindow.service import probe
    from shopwindow.service.admin import Admin
    from shopwindow.service.figures import DATABASE_FOLDER

    probe.set_token()
    name = listener.getsockname()
    is_network = isinstance(name, tuple)  # on a Unix socket no worker is probed

    folders = {"log": Path(options.log_dir)} if options.log_dir else {}
    if options.database and (path := sqlite_path(options.database)):
        folders[DATABASE_FOLDER] = path
    try:
        admin = Admin(
            options.out,
            Path(shared),
            database,
            Counts(database) if database else None,
            probe=partial(probe.ask, name[:2]) if is_network else None,
            folders=folders,
            connections=_count_connections(listener),
        )
        admin.serve(*address)
    except OSError as error:
        raise _cannot_listen(address, error) from None
    return admin.stop


def _senders(
    options: ServiceOptions, interface: Interface, database: Database | None
) -> Senders | None:
    """Start the senders of the outbox, where there are a mail server and a database.

    Raises Failure.
    """
    server = smtp_server(os.environ) if options.mail else None
    if server is None or database is None:
        return None
    senders = Senders(database, server, Letters(interface, [options.templates]))
    senders.start()
    return senders


def _count_connections(listener: socket.socket) -> Callable[[], Mapping[str, int]]:
    """Return a function that counts the workers' connections; on a Unix socket, none."""
    name = listener.getsockname()
    return partial(count_connections, name[1]) if isinstance(name, tuple) else dict


def run(
    factory: str,
    bind: tuple[str, int],
    workers: int,
    threads: int,
    *,
    pin: bool = False,
    http: str = "1",
    clients: int = MAX_CLIENTS,
) -> None:
    """Answer requests in ``workers`` processes until a signal ends them.

    Args:
        factory: `module:function`, which makes the service.wsgi.Front in each worker.
        bind: host and port; ignored with a socket of systemd.
        workers: how many processes.
        threads: how many requests a worker works on at once.
        pin: bind each worker to one of the processors that this process may use, in turn.
        http: `1`, `2`, or `auto` for both. `wsgi` is for benchmarks: the factory makes any WSGI
            callable, which Granian's threads call.
        clients: connections of a worker, at most; others wait in the system's queue.

    Raises:
        Failure: the system cannot pin, ``bind`` is not available, or no worker can start.
    """
    with listening(bind) as listener, watched_signals() as signals:
        command = _command(factory, threads, clients, http, pin=pin)
        Supervisor(listener, command, workers, REPORT, INFORM).run(signals)


def _command(
    factory: str, threads: int, clients: int, http: str, *, pin: bool
) -> WorkerCommand:
    """Return the function that gives a worker's command line (service.worker).

    A worker inherits this process's limit of open files, which is raised here. Raises
    Failure.
    """
    if pin and not hasattr(os, "sched_setaffinity"):
        raise Failure(
            "this system cannot keep a worker on one processor; leave --pin out"
        )
    processors = (
        [str(number) for number in sorted(os.sched_getaffinity(0))] if pin else ["-"]
    )
    limit = make_room(clients)

    def command(number: int, listener: int, channel: int) -> list[str]:
        processor = processors[number % len(processors)]
        arguments = (listener, channel, number, threads, limit, http, processor)
        return [sys.executable, "-m", WORKER, factory, *map(str, arguments)]

    return command


def listening(bind: tuple[str, int]) -> socket.socket:
    """Return the socket that systemd handed over, or one that listens at ``bind``.

    Without SO_REUSEPORT nobody else can listen there, so a second service is refused.
    Raises Failure.
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
    dual = host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            bind, family=family, backlog=BACKLOG, dualstack_ipv6=dual
        )
    except OSError as error:
        raise _cannot_listen(bind, error) from None


def _cannot_listen(address: tuple[str, int], error: OSError) -> Failure:
    """Return the Failure for an address at which the service cannot listen."""
    number = (
        error.errno or 0
    )  # below zero for a host without an address (getaddrinfo(3))
    reason = os.strerror(number) if number > 0 else error.strerror or str(error)
    advice = (
        ": is the service running already?" if error.errno == errno.EADDRINUSE else ""
    )
    return Failure(f"{address[0]}:{address[1]} cannot be listened at: {reason}{advice}")
