"""Who holds a run, and the removal of what runs have left that nobody holds any more.

A builder that is killed cannot remove the files of its run, so the next one does that.
Others may be at work in the same place, and must not lose theirs. So each run has a
file that says which process holds it: a process of this machine is looked for, and
where it is gone, so is its run. Of a process elsewhere only the age of its files says
anything. Locks would not do: an NFS may confine them to one machine, and stores have
none. Ages are differences between times of one clock, that of the file server or the
store, so the clocks of builders do not matter.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from shopwindow.cluster.relay import RunObjects
from shopwindow.content.executor import own_name
from shopwindow.content.listing import below
from shopwindow.content.scratch import SCRATCH_PREFIX

HOLDER = "holder"
"""The name of what says who holds a run."""

SILENT_SECONDS = 2 * 24 * 3600
"""How long a run of another machine writes nothing until nobody is thought to hold it.
The builder writes no file there while it sorts and counts, which for 100 million
products takes 6 hours.
"""


@dataclass(frozen=True)
class Holder:
    """The process that holds a run.

    ``token`` is the run's own. ``machine``: which system the process is part of, since
    its last start; empty: nobody can say. ``started``: when it began, in the kernel's
    ticks, as numbers of processes are used again.
    """

    token: str
    machine: str
    process: int
    started: int

    def encoded(self) -> bytes:
        """Return what is written of it."""
        return orjson.dumps(asdict(self))


def this_process() -> Holder:
    """Return this process as the holder of a new run."""
    process = os.getpid()
    return Holder(own_name(), _machine(), process, _start_of(process) or 0)


def is_abandoned(data: bytes | None, silent: float) -> bool:
    """Return whether nobody holds a run any more.

    ``data``: what its holder wrote; None: nothing. ``silent``: seconds for which nobody
    has written anything of the run.
    """
    try:
        holder: Any = Holder(**orjson.loads(data or b""))
        is_here = bool(holder.machine) and holder.machine == _machine()
        if is_here:
            return _start_of(holder.process) not in (holder.started, None)
    except (TypeError, ValueError):
        pass  # of another program, or not all of it is there yet
    return silent > SILENT_SECONDS


def clear_folders(folder: Path, own: Path) -> list[str]:
    """Remove the folders of runs that nobody holds. Return their names.

    ``own``: that of this run, which says what time it is there: its holder was written
    just now.
    """
    now = (own / HOLDER).stat().st_mtime
    removed = []
    for path in sorted(folder.glob(f"{SCRATCH_PREFIX}*/")):
        try:
            newest = max(map(_changed, (path, *(path / name for name in below(path)))))
            holder = path / HOLDER
            data = holder.read_bytes() if holder.exists() else None
        except OSError:
            continue  # somebody else's, or somebody else removes it
        if is_abandoned(data, now - newest):
            shutil.rmtree(path, ignore_errors=True)
            removed += [path.name] * (not path.exists())
    return removed


def clear_objects(objects: RunObjects, own: str) -> list[str]:
    """Remove the objects of runs that nobody holds. Return their names.

    ``own``: that of this run, which says what time it is there: its holder was stored
    just now. Raises Failure where the store refuses something.
    """
    now = max(_times(objects, own))
    removed = []
    for run in objects.folders():
        if not run.startswith(SCRATCH_PREFIX):
            continue
        silent = now - max(_times(objects, run), default=now)
        data = objects.read(f"{run}/{HOLDER}")
        if is_abandoned(data, silent / timedelta(seconds=1)):
            remove_objects(objects, run)
            removed.append(run)
    return removed


def remove_objects(objects: RunObjects, run: str) -> None:
    """Remove all objects of a run; the holder last, so that others can finish it."""
    keys = [key for key, _ in objects.listing(f"{run}/")]
    holder = f"{run}/{HOLDER}"
    objects.delete(key for key in keys if key != holder)
    objects.delete([holder])


def _times(objects: RunObjects, run: str) -> Iterator[datetime]:
    return (modified for _, modified in objects.listing(f"{run}/"))


def _changed(path: Path) -> float:
    return path.lstat().st_mtime


def _machine() -> str:
    """Return what no other system has, nor this one after its next start.

    Containers on a machine count as systems of their own, since one does not see the
    processes of another.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return f"{boot.strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return ""


def _start_of(process: int) -> int | None:
    """Return when a process of this machine began, in the kernel's ticks since its
    start; -1: there is no such process; None: there is one, and nobody says more.

    Of a process that has ended, and whose parent has not taken note, it is -1, too.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return -1
    except OSError:
        pass  # it is another user's
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    # proc(5): the state is the third part, the start the 22nd; the second may hold
    # spaces, and ends with the last bracket
    state, *parts = text.rpartition(")")[2].split()
    return -1 if state in "ZX" else int(parts[18])
