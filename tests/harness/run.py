"""A run of tests: where in memory it writes, and that it leaves no process, thread, port or file when it ends.

What is left is seen by the process that has it: each worker looks for what it started and where it listens, and the
process that started the workers for what they have left as orphans, and in memory.
"""

import ctypes
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from multiprocessing import get_context
from pathlib import Path
from typing import Any

MEMORY = Path("/dev/shm")
"""A file system in memory, as Linux has it. Files are made and deleted quickly there, and whoever waits until they are
on disk waits for nothing: a build's one syncfs waits on a disk for all that others write.
"""

ROOM = 2_000_000_000
"""Bytes that must be free there: for a hundred databases, or for what two workers of a run write at a time."""

NAME = "TESTS_RUN"
"""The variable that hands the name of a run to its workers."""

SERVICES: list[int] = []
"""The process numbers of the services that this process has started."""

LIVES_WITH_US = ("harness/commands.py", "multiprocessing.resource_tracker")
"""In the command line of processes that end when the one does that started them."""

LISTENS = "0A"
"""The state of such a socket in /proc/net/tcp (linux/tcp_states.h)."""

_PR_SET_CHILD_SUBREAPER = 36
"""Of linux/prctl.h: whose parent ends becomes a child of the process that asked for this, and not of the first."""


def memory() -> Path | None:
    """The file system in memory, where there is room and programs may be started from it."""
    with suppress(OSError):
        if not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(MEMORY).free > ROOM:
            return MEMORY
    return None


def begin() -> str:
    """Name the run that this process begins, and clear memory of those that were killed. Returns the name."""
    os.environ[NAME] = name = f"shopwindow-tests-{os.getpid()}"
    for folder in MEMORY.glob("shopwindow-tests-*"):
        if (run := re.match(r"shopwindow-tests-(\d+)", folder.name)) and not Path(f"/proc/{run[1]}").exists():
            shutil.rmtree(folder, ignore_errors=True)
    return name


def run_name() -> str:
    """How the names begin that this run, and its workers, give in memory. A benchmark is a run, too."""
    return os.environ.get(NAME) or begin()


def made_by(service: int) -> list[Path]:
    """What a service of this process number has in memory: the metrics of its workers, until it ends."""
    return list(MEMORY.glob(f"shopwindow-metrics-{service}-*"))


def left_in_memory() -> list[str]:
    """What this process, or with its workers' names this run, has put there and not deleted."""
    named = [] if "PYTEST_XDIST_WORKER" in os.environ else sorted(MEMORY.glob(f"{run_name()}*"))
    return [str(path) for path in (*named, *(path for service in SERVICES for path in made_by(service)))]


def adopt_orphans() -> None:
    """Whatever this process has started, and what that has, is its child when its parent has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def left_running() -> list[str]:
    """What this process has started, and where it listens: `12 sleep 600`, `thread metrics`, `port 8000`."""
    processes = [f"{pid} {command}" for pid in _descendants(os.getpid()) if (command := _command(pid))]
    left = [process for process in processes if not any(name in process for name in LIVES_WITH_US)]
    left += [f"thread {thread.name}" for thread in threads_beside()]
    return left + _listening()


def threads_beside() -> list[threading.Thread]:
    """The threads of this process beside its first, but for those of pytest-xdist, which Python has not started."""
    started = [each for each in threading.enumerate() if not isinstance(each, threading._DummyThread)]
    return [each for each in started if each is not threading.main_thread()]


def apart(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a process of its own, with which the threads end that it starts.

    A command of a later test would have to be forked for each thread that goes on here (inside.py).
    """

    @wraps(test)
    def run(**fixtures: Any) -> None:
        process = get_context("fork").Process(target=test, kwargs=fixtures)
        process.start()
        process.join()
        assert process.exitcode == 0, "it failed: its traceback is on standard error"

    return run


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread that started them has ended
            for child in map(int, children.read_text().split()):
                found += [child, *_descendants(child)]
    return found


def _command(pid: int) -> str:
    """What a process was started as; nothing where it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def _listening() -> list[str]:
    """The ports at which this process listens."""
    sockets = set()
    with suppress(OSError):
        for descriptor in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                sockets.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    found = []
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
                _, address, _, state, *_, inode = line.split()[:10]
                if state == LISTENS and f"socket:[{inode}]" in sockets:
                    found.append(f"port {int(address.rpartition(':')[2], 16)}")
    return found
