"""Running the service: Granian's workers, and the admin address beside them."""

import fcntl
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from vitrine.problems import Failure
from vitrine.service.letters import Letters
from vitrine.service.mail import Counts, Senders
from vitrine.service.proxies import LOOPBACK, proxies
from vitrine.service.smtp import server_of
from vitrine.service.sql.database import Database, open_database

FACTORY = "vitrine.service.wsgi:make"
WAKE_SECONDS = 0.2
GONE_SECONDS = 5
"""Longer than a thread of a busy machine takes to say what it was told."""
STOPPING = {signal.SIGTERM}
WAKING = signal.SIGURG
"""A signal that does nothing where nobody handles it."""

STARTING_SECONDS = 60
MEMORY, METRICS = Path("/dev/shm"), "vitrine-metrics-"


@dataclass(frozen=True)
class Options:
    """``bind`` and ``admin`` are (host, port); ``admin`` None: no admin address. ``memo``: MiB a worker.

    ``database`` and ``log_dir`` may be empty: there is none. ``connections``: of a worker to a database server, at
    most. ``mail``: send what is in the outbox, where the environment names a mail server; ``templates`` is where its
    own templates would be. ``pin``: keep each worker on one processor.
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


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT` → its parts. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ValueError(f"must be HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)


def serve(options: Options) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are answered first."""
    with metrics_folder() as shared:
        _serve(options, shared)


def _serve(options: Options, shared: str) -> None:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared  # before prometheus_client is imported, here and in the workers
    os.environ["VITRINE_OUT"] = str(options.out.absolute())
    os.environ["VITRINE_MEMO"] = str(options.memo)
    os.environ["VITRINE_DATABASE"] = options.database
    os.environ["VITRINE_CONNECTIONS"] = str(options.connections)
    os.environ["VITRINE_LOG_DIR"] = options.log_dir
    proxies(os.environ.get("VITRINE_TRUSTED_PROXIES", LOOPBACK))  # said here rather than by every worker
    database = open_database(options.database) if options.database else None
    try:
        if database:
            database.migrate()
        senders = _senders(options, database)
        if options.admin:
            from vitrine.service.metrics import Admin

            mails = Counts(database) if database else None
            try:
                Admin(options.out, Path(shared), database, mails).serve(*options.admin)
            except OSError as error:
                raise _deaf(options.admin, error.strerror or str(error)) from None
        run(FACTORY, options.bind, options.workers, options.threads, pin=options.pin)
        if senders:
            senders.stop()
    finally:
        if database:
            database.close()


@contextmanager
def metrics_folder() -> Iterator[str]:
    """A folder for the workers' metrics, in memory where there is /dev/shm; what killed services left there is removed.

    prometheus_client maps its files, and the kernel ends a process (SIGBUS) that writes to a mapped file when the disk
    is full: a full disk shall cost lines of the mobile log, not the service.
    """
    parent = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    for folder in parent.glob(f"{METRICS}*"):
        if (lock := _locked(folder)) is not None:  # its service has ended or is about to take the lock
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


def _senders(options: Options, database: Database | None) -> Senders | None:
    """The outbox's senders at work, where there is a mail server. Raises Failure."""
    server = server_of(os.environ) if options.mail else None
    if server is None or database is None:
        return None
    senders = Senders(database, server, Letters([options.templates]))
    senders.start()
    return senders


def run(factory: str, bind: tuple[str, int], workers: int, threads: int, *, pin: bool = False) -> None:
    """Granian's workers for the WSGI callable that ``factory``, `module:function`, makes in each of them.

    ``pin``: each on one of the processors that this process may use, in turn. Raises Failure where the system cannot,
    and where ``bind`` cannot be listened at.
    """
    if pin and not hasattr(os, "sched_setaffinity"):
        raise Failure("this system cannot keep a worker on one processor; leave --pin out")
    processors = sorted(os.sched_getaffinity(0)) if pin else [None]
    from granian.constants import Interfaces
    from granian.server import MPServer

    class Server(MPServer):
        def _spawn_worker(self, idx: int, target: Any, callback_loader: Any) -> Any:  # type: ignore[override]
            processor = processors[idx % len(processors)]
            worker = super()._spawn_worker(idx, target, partial(_loaded, callback_loader, processor))
            worker.join = partial(_join, worker.inner)  # type: ignore[method-assign]
            return worker

        def shutdown(self, exit_code: int = 0) -> None:
            threading.Thread(target=_wake, args=(self.wrks,), name="wake-workers", daemon=True).start()
            super().shutdown(exit_code)  # type: ignore[no-untyped-call]

    server = Server(
        factory,
        *bind,
        interface=Interfaces.WSGI,
        factory=True,
        workers=workers,
        blocking_threads=threads,
        log_access=False,
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=30,
    )
    server.main_loop_interrupt = _Interrupt()
    os.register_at_fork(
        before=partial(signal.pthread_sigmask, signal.SIG_BLOCK, STOPPING),
        after_in_parent=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, STOPPING),
        after_in_child=_begin,
    )
    try:
        server.serve()
    except RuntimeError as error:  # Granian's, with a backtrace of its own in its text
        raise _deaf(bind, str(error).splitlines()[0]) from None


def _deaf(address: tuple[str, int], why: str) -> Failure:
    return Failure(f"{address[0]}:{address[1]} cannot be listened at: {why}")


class _Interrupt(threading.Event):
    """What Granian's main process waits for, and its signal handlers set.

    A signal that comes when Python is about to wait for a lock is seen only with the next one, and an Event that is set
    in a handler while its thread begins to wait for it stands still. Neither befalls a thread that sleeps.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told = False

    def is_set(self) -> bool:
        return self._told

    def set(self) -> None:
        self._told = True

    def clear(self) -> None:
        self._told = False

    def wait(self, timeout: float | None = None) -> bool:
        while not self._told:
            time.sleep(WAKE_SECONDS)
        return True


def _begin() -> None:
    """A forked worker that is still starting ends when it is asked to; it would take the signal for its parent's."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


def _loaded(load: Callable[[], Any], processor: int | None) -> Any:
    """What a worker's loader gives; the worker can be woken from then on, and its threads keep to the processor."""
    signal.signal(WAKING, lambda *_: None)
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    return load()


def _join(process: Any, timeout: float | None = None) -> None:
    """Until a worker has ended, and that is known.

    Granian waits for it in another thread, too. Where the system has told that one, which has not said so yet, this one
    learns nothing, and Granian would warn of a worker that refuses to stop, and kill a process that is no more.
    """
    process.join(timeout)
    deadline = time.monotonic() + GONE_SECONDS
    while process.is_alive() and time.monotonic() < deadline:
        try:
            os.kill(process.pid, 0)
        except ProcessLookupError:
            time.sleep(0.001)
        else:
            return


def _wake(workers: Sequence[Any]) -> None:
    """Wake Granian's ``workers`` until they have ended.

    A worker waits as said of _Interrupt. The next signal must not be SIGTERM again: the third that Granian 2.8 handles
    in a worker waits for ever, with Python's lock (WorkerSignal.set).
    """
    pause = threading.Event()
    while not pause.wait(WAKE_SECONDS):
        for worker in list(workers):
            with suppress(ProcessLookupError):
                os.kill(worker.inner.pid, WAKING)
