"""What a worker of a cluster does: it looks whether it fits, works, and writes results.

How work travels. The program that builds writes the work of a stage to where everybody
reads it (`relay`), once, and a task names that and has some items. The worker writes
the results of the task, and returns their name. What is read is what was written, as
its digest says.
"""

import pickle
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

from shopwindow.cluster import relay
from shopwindow.cluster.carrying import Carried, Packed, Workplace
from shopwindow.cluster.relay import ObjectPrefix, SharedFolder, Written
from shopwindow.content.executor import Work, own_name
from shopwindow.content.listing import below
from shopwindow.problems import Failure
from shopwindow.release.program import source_digest

OWN_MODULES = Path(__file__).resolve().parents[1]
"""The folder of this program's own modules."""

DECIDING = ("jsonschema", "jsonschema-rs", "orjson", "pyyaml")
"""Libraries of which another version may find other problems, or other values."""


@dataclass(frozen=True)
class Run:
    """What the program and its workers have in common.

    Attributes:
        relay: what its bytes are passed through.
        folder: the run's at the builder; with a SharedFolder, all see it.
        token: what no other run has; the names of its tasks end so.
        holder: what says who holds the run; whoever reads it, reaches the relay.
        versions: of the program, and of what decides its results.
        interface: its name, and the digest of its source.
        read: folders that workers read, with a digest of what is in each; none where
            their files are carried.
    """

    relay: SharedFolder | ObjectPrefix
    folder: str
    token: str
    holder: Written
    versions: tuple[tuple[str, str], ...]
    interface: tuple[str, str]
    read: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """What nothing else is called where the run's bytes are."""
        return self.objects.run if self.objects else Path(self.folder).name

    @property
    def objects(self) -> ObjectPrefix | None:
        """Where files are carried through; None: workers see those of the builder."""
        return self.relay if isinstance(self.relay, ObjectPrefix) else None


@dataclass(frozen=True)
class Done:
    """What a task has written: its results, and the files beside them."""

    results: Written
    files: tuple[Carried, ...]


# -- does a worker fit -----------------------------------------------------------------


@lru_cache
def versions() -> tuple[tuple[str, str], ...]:
    """Return what the results depend on beside their input, with a version of each.

    The version of the program is a digest of its modules, so that two states of one
    release differ.
    """
    digest = sha256()
    for name in below(OWN_MODULES, ".py"):
        data = (OWN_MODULES / name).read_bytes()
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    python = ".".join(map(str, sys.version_info[:2]))
    libraries = [(name, _installed(name)) for name in DECIDING]
    return ("shopwindow", digest.hexdigest()[:12]), ("Python", python), *libraries


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def listing(folder: Path) -> str:
    """Return a digest of the names, sizes and times of the files below a folder.

    Hidden files are left out: editors and git write them while others work.
    """
    digest = sha256()
    for name in below(folder):
        if not any(part.startswith(".") for part in Path(name).parts):
            status = (folder / name).lstat()
            line = f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n"
            digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@lru_cache
def misfit(run: Run) -> str:
    """Return why this process cannot work for a run, or empty text.

    It is computed once: what a worker sees does not change while it is alive.
    """
    differing = other_versions(dict(run.versions), dict(versions()))
    if differing:
        return f"{differing}: install the same on every worker"
    return _other_interface(*run.interface) or _unseen(run) or _other_files(run)


@lru_cache
def _other_interface(name: str, expected: str) -> str:
    try:
        digest = source_digest(name)
    except ImportError as error:
        return f"cannot import what {name} needs ({error}): install it on every worker"
    except Failure as failure:
        return f"lacks the interface ({failure}): install it on every worker"
    if digest != expected:
        return (
            f"has another version of {name}, {digest[:12]} instead of {expected[:12]}: "
            "install the same on every worker"
        )
    return ""


def _unseen(run: Run) -> str:
    """Return why this process does not see what the run's bytes are passed through."""
    try:
        data = run.relay.probe(run.holder.name) or b""
        reason = "the run is not there"
    except (OSError, Failure) as error:
        data, reason = b"", str(error)
    if sha256(data).hexdigest() == run.holder.digest:
        return ""
    if run.objects:
        return f"does not reach what --cluster-folder names: {reason}"
    return (
        f"does not see {run.folder}: --cluster-folder names a folder that all workers "
        "see under the same path, as on a network file system"
    )


def _other_files(run: Run) -> str:
    for folder, expected in run.read:
        try:
            is_same = listing(Path(folder)) == expected
        except OSError:
            is_same = False
        if not is_same:
            return (
                f"sees other files in {folder} than this program: it has to be one "
                "folder that all workers see, and nobody may change it meanwhile"
            )
    return ""


def other_versions(wanted: Mapping[str, str], present: Mapping[str, str]) -> str:
    """Return in words the first of the versions that differs, or empty text."""
    for name, one in wanted.items():
        other = present.get(name, "none")
        if other != one:
            return f"has another version of {name}, {other} instead of {one}"
    return ""


# -- work ------------------------------------------------------------------------------


def work_on(run: Run, own: Path, work: Written, stage: str, items: Packed) -> Done:
    """Do a part of a stage, and return what was written. Runs in a worker.

    ``own``: a folder of this worker alone. ``items``: the part, and the files that it
    and the work need. Raises Failure where this worker does not fit, and whatever the
    work raises.
    """
    if reason := misfit(run):
        raise Failure(reason)
    with _AT_WORK:
        workplace = _workplace(run, own)
        data, files = items
        workplace.bring(files)
        function = _opened(run, own, work)
        try:
            results = map(pickle.dumps, function(workplace.unpack(data)))
            name = f"{stage}-{own_name()}"
            written = run.relay.create(name, b"".join(results))
            return Done(written, workplace.send(run.objects) if run.objects else ())
        finally:
            workplace.clear()


_AT_WORK = Lock()
"""Held by the thread that does a task. Work is not made for two threads of a process,
and two would not be faster: a worker has one thread, or the others wait.
"""


@lru_cache(maxsize=4)
def _workplace(run: Run, own: Path) -> Workplace:
    """Return where a worker has the files of a run: of four at the same time, at most.
    For a fifth, those of the first are fetched again.
    """
    forget(run.name, own)
    root = own / run.name if run.objects else None
    return Workplace(run.relay, run.folder, root)


@lru_cache(maxsize=1)
def _opened(run: Run, own: Path, work: Written) -> Work[Any, Any]:
    """Return the work of a stage, read once: what it prepares serves all its parts."""
    data = relay.read(run.relay, work)
    function: Work[Any, Any] = _workplace(run, own).unpack(data)
    return function


def forget(run: str, own: Path) -> None:
    """Delete the files that a worker has of a run, by its name."""
    shutil.rmtree(own / run, ignore_errors=True)


def results_in(run: Run, results: Written, count: int) -> Iterator[Any]:
    """Yield the results of a part, ``count`` of them, and delete what was written."""
    stream = BytesIO(relay.read(run.relay, results))
    run.relay.delete(results.name)
    for _ in range(count):
        yield pickle.load(stream)
