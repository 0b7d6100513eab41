"""What each worker says of itself, in a file of its own beside the metrics: the admin address
is another process's.

The folder is that of PROMETHEUS_MULTIPROC_DIR. What a worker that has ended leaves there is
removed, and what it counted goes on counting: a total that fell would look like a restart to
Prometheus.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import orjson
from prometheus_client.mmap_dict import MmapedDict

from shopwindow.service.serving import Serving

ENDED = "ended"
"""Stands for a process number in the name of the file that holds the counts of all workers that
have ended.
"""

COUNTED = ("counter", "histogram", "summary")
"""Types of metrics whose values add up; prometheus_client keeps one file of each a process,
`counter_123.db`.
"""


@dataclass(frozen=True)
class WorkerNote:
    """A worker's last note: the id of the release that it serves (empty: none), since when
    (seconds since 1970), why nothing newer (empty: there is nothing newer), and its figures
    (service.metrics.Metrics.figures).
    """

    pid: int
    id: str
    loaded: float
    fault: str
    figures: Mapping[str, float]


class WorkerNotes:
    """The notes in a folder: a worker writes its own, the admin address reads all of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._note: dict[str, Any] = {"id": "", "loaded": 0.0, "fault": "", "figures": {}}
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = Lock()

    # -- a worker --

    def record_release(self, serving: Serving | None, fault: str) -> None:
        """Note what this process serves, and why nothing newer."""
        told = fault.encode(
            errors="backslashreplace"
        ).decode()  # it may name a path that is no UTF-8
        self._write(
            {
                "id": serving.id if serving else "",
                "loaded": serving.loaded if serving else 0.0,
                "fault": told,
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

    def living(self) -> list[WorkerNote]:
        """The notes of the workers that are there, by their process numbers."""
        return sorted(self._read(), key=lambda worker: worker.pid)

    def _read(self) -> Iterator[WorkerNote]:
        for path in self._folder.glob("worker-*"):
            pid = int(path.name.removeprefix("worker-"))
            with suppress(OSError, ValueError):  # it has ended since
                if _lives(pid):
                    note = orjson.loads(path.read_bytes())
                    yield WorkerNote(
                        pid, note["id"], note["loaded"], note["fault"], note.get("figures", {})
                    )

    def remove_ended(self) -> None:
        """Remove the files of workers that have ended; their counts are added to those of all
        that ended before.

        One thread calls this, and reads the metrics only in between: half-way a count may be
        there twice.
        """
        for path in self._folder.glob("worker-*"):
            if not _lives(int(path.name.removeprefix("worker-"))):
                path.unlink(missing_ok=True)
        for path in self._folder.glob("*_*.db"):
            kind, _, process = path.stem.rpartition("_")
            if not process.isdecimal() or _lives(int(process)):
                continue
            if kind in COUNTED:
                _add(path, self._folder / f"{kind}_{ENDED}.db")
            path.unlink(missing_ok=True)


def _add(path: Path, total: Path) -> None:
    """Add a file's values to another's."""
    values = MmapedDict.read_all_values_from_file(str(path))  # type: ignore[no-untyped-call]
    sums = MmapedDict(str(total))  # type: ignore[no-untyped-call]
    try:
        for key, value, timestamp, _ in values:
            before, _ = sums.read_value(key)  # type: ignore[no-untyped-call]
            sums.write_value(key, before + value, timestamp)  # type: ignore[no-untyped-call]
    finally:
        sums.close()  # type: ignore[no-untyped-call]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:  # there is none, or its number is another user's by now
        return False
    return True
