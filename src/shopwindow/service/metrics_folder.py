"""The folder of the workers' metrics: in memory, and removed when its service has
ended.

prometheus_client maps its files into memory, and the kernel ends a process (SIGBUS)
that writes to a mapped file on a full disk. A full disk must cost lines of the mobile
log and not the service, so the folder is in /dev/shm where there is one.

A service that is killed leaves its folder behind. The next service removes it: it knows
by a lock, which a process holds on its own folder and loses when it ends.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MEMORY = Path("/dev/shm")  # nosec B108 # mkdtemp makes a folder of our own in it
FOLDER_PREFIX = "shopwindow-metrics-"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
"""How a folder is opened that is to be locked."""

STARTING_SECONDS = 60
"""Age below which an unlocked folder is left alone: a service that starts makes its
folder first and locks it then.
"""


@contextmanager
def metrics_folder() -> Iterator[str]:
    """Make a folder for the metrics of this service's workers, and remove it
    afterwards.

    Folders of services that were killed are removed, too.
    """
    parent = (
        MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    )
    for folder in parent.glob(f"{FOLDER_PREFIX}*"):
        _remove_abandoned(folder)

    shared = tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-", dir=parent)
    lock = os.open(shared, _FOLDER)
    fcntl.flock(lock, fcntl.LOCK_EX)  # waits for a service that looks how old it is
    maker = os.getpid()
    try:
        yield shared
    finally:
        if os.getpid() == maker:  # and not a worker, which was forked within
            shutil.rmtree(shared, ignore_errors=True)
            os.close(lock)


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder unless its service is running or about to lock it."""
    with suppress(OSError):  # it has gone, or its service has the lock
        lock = os.open(folder, _FOLDER)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - os.fstat(lock).st_mtime > STARTING_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
