"""Running the service: Granian's workers, and the admin address beside them."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

FACTORY = "vitrine.service.wsgi:make"


@dataclass(frozen=True)
class Options:
    """``bind`` and ``admin`` are (host, port); ``admin`` None: no admin address. ``memo``: MiB a worker."""

    out: Path
    bind: tuple[str, int]
    admin: tuple[str, int] | None
    workers: int
    threads: int
    memo: int


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT` → its parts. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ValueError(f"must be HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)


def serve(options: Options) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are answered first."""
    shared = tempfile.mkdtemp(prefix="vitrine-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared  # before prometheus_client is imported, here and in the workers
    os.environ["VITRINE_OUT"] = str(options.out.absolute())
    os.environ["VITRINE_MEMO"] = str(options.memo)
    try:
        if options.admin:
            from vitrine.service.metrics import Admin

            Admin(options.out, shared).serve(*options.admin)
        run(FACTORY, options.bind, options.workers, options.threads)
    finally:
        shutil.rmtree(shared, ignore_errors=True)


def run(factory: str, bind: tuple[str, int], workers: int, threads: int) -> None:
    """Granian's workers for the WSGI callable that ``factory``, `module:function`, makes in each of them."""
    from granian import Granian
    from granian.constants import Interfaces

    Granian(
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
    ).serve()
