"""Each worker's note about itself, in a file beside the metrics, for the admin address.

The admin address is in another process, the parent. Workers write what they serve and
how busy they are to files; the parent reads the files of all workers that are running.

The folder is that of PROMETHEUS_MULTIPROC_DIR. When a worker has ended, its files are
removed, but its counts are added to those of all ended workers: a total that fell would
look like a restart to Prometheus.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import orjson
from prometheus_client import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

from shopwindow.service.serving import Serving

ENDED = "ended"
"""Stands in place of a process number in the name of a file with the counts of ended
workers.
"""

COUNTED = ("counter", "histogram", "summary")
"""Types of metrics whose values add up. prometheus_client has one file for each type
and process, such as `counter_123.db`.
"""


@dataclass(frozen=True)
class WorkerNote:
    """A worker's last note."""

    pid: int
    id: str
    """Of the release that it serves; empty: it has none."""
    loaded: float
    """When it loaded the release, in seconds since 1970."""
    fault: str
    """Why it serves nothing newer; empty: there is nothing newer."""
    figures: Mapping[str, float]
    """How busy it is (service.metrics.Metrics.figures)."""


class WorkerNotes:
    """The notes in a folder: a worker writes its own, the admin address reads all of
    them.

    A note is replaced as a whole, by a rename, so nobody reads half of one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._note: dict[str, Any] = {
            "id": "",
            "loaded": 0.0,
            "fault": "",
            "figures": {},
        }
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = Lock()

    # -- a worker --

    def record_release(self, serving: Serving | None, fault: str) -> None:
        """Note what this process serves, and why nothing newer."""
        # a fault may name a path that is not UTF-8
        printable = fault.encode(errors="backslashreplace").decode()
        self._write(
            {
                "id": serving.id if serving else "",
                "loaded": serving.loaded if serving else 0.0,
                "fault": printable,
            }
        )

    def record_figures(self, figures: Mapping[str, float]) -> None:
        """Note how busy this process is."""
        self._write({"figures": figures})

    def _write(self, changed: Mapping[str, Any]) -> None:
        draft = self._folder / f".worker-{os.getpid()}"
        with self._lock, suppress(OSError):
            self._note.update(changed)
            draft.write_bytes(orjson.dumps(self._note))
            os.replace(draft, self._folder / f"worker-{os.getpid()}")

    # -- the admin address --

    def running(self) -> list[WorkerNote]:
        """Return the notes of the workers that are running, by process number."""
        return sorted(self._read(), key=lambda worker: worker.pid)

    def _read(self) -> Iterator[WorkerNote]:
        for path in self._folder.glob("worker-*"):
            pid = int(path.name.removeprefix("worker-"))
            with suppress(OSError, ValueError):  # it has ended meanwhile
                if _is_running(pid):
                    note = orjson.loads(path.read_bytes())
                    yield WorkerNote(
                        pid,
                        note["id"],
                        note["loaded"],
                        note["fault"],
                        note.get("figures", {}),
                    )

    def remove_ended(self) -> None:
        """Remove the files of ended workers, and add their counts to the total of such
        workers.

        Nobody may read the metrics meanwhile: between the addition and the removal a
        count is there twice.
        """
        for path in self._folder.glob("worker-*"):
            if not _is_running(int(path.name.removeprefix("worker-"))):
                path.unlink(missing_ok=True)
        for path in self._folder.glob("*_*.db"):
            kind, _, process = path.stem.rpartition("_")
            if not process.isdecimal() or _is_running(int(process)):
                continue
            if kind in COUNTED and not _is_empty(path):
                _add(path, self._folder / f"{kind}_{ENDED}.db")
            path.unlink(missing_ok=True)

    def collect(self) -> Iterable[Metric]:
        """Return what all workers have counted. prometheus_client calls this for each
        scrape.
        """
        files = [
            str(path) for path in self._folder.glob("*_*.db") if not _is_empty(path)
        ]
        return MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call, no-any-return]


def _is_empty(path: Path) -> bool:
    """Return whether a file of counts has just been created.

    prometheus_client creates it empty and gives it a size next. It cannot read an empty
    one, which a worker leaves for good that is killed in between.
    """
    return path.stat().st_size == 0


def _add(path: Path, total: Path) -> None:
    """Add the values of a file of counts to those of another."""
    values = MmapedDict.read_all_values_from_file(str(path))  # type: ignore[no-untyped-call]
    sums = MmapedDict(str(total))  # type: ignore[no-untyped-call]
    try:
        for key, value, timestamp, _ in values:
            total_value, _ = sums.read_value(key)  # type: ignore[no-untyped-call]
            sums.write_value(key, total_value + value, timestamp)  # type: ignore[no-untyped-call]
    finally:
        sums.close()  # type: ignore[no-untyped-call]


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:  # there is none, or another user's process has its number
        return False
    return True
