"""What a worker of a cluster does: it looks whether it fits, works, and writes results.

How work travels. The program that builds writes the work of a stage into a folder that
everybody sees, once, and a task names that file and some items. The worker writes the
results into a file of its own and returns its name. Both carry a digest, so what is
unpickled is what was written. No file is written twice or under the name of another: a
task that is lost, or done by two workers, leaves a file that nobody reads, and the
folder is removed at the end of the run.
"""

import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

from shopwindow.content.executor import Work, own_name
from shopwindow.content.listing import below
from shopwindow.problems import Failure

OWN_MODULES = Path(__file__).resolve().parents[1]
"""The folder of this program's own modules."""

DECIDING = ("jsonschema", "jsonschema-rs", "orjson", "pyyaml")
"""Libraries of which another version may find other problems, or other values."""

TOKEN_FILE = "token"  # nosec B105 # it names a file, whose text is no secret


@dataclass(frozen=True)
class Run:
    """What the program and its workers have in common.

    ``folder``: of the run, which all see under this path, with a file that holds
    ``token``. ``versions``: of the program, and of what decides its results. ``read``:
    folders that workers read, with a digest of what is in each.
    """

    folder: str
    token: str
    versions: tuple[tuple[str, str], ...]
    read: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Written:
    """A file of a run's folder, and the digest of its bytes."""

    name: str
    digest: str


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
    try:
        token = Path(run.folder, TOKEN_FILE).read_text(encoding="ascii")
    except OSError:
        token = ""
    if token != run.token:
        return (
            f"does not see {run.folder}: --cluster-folder names a folder that all "
            "workers see under the same path, as on a network file system"
        )
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


def write(folder: Path, name: str, chunks: Iterator[bytes]) -> Written:
    """Write a file that does not exist yet. Raises OSError."""
    digest = sha256()
    with open(folder / name, "xb") as file:
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
    return Written(name, digest.hexdigest())


def read(folder: Path, written: Written) -> bytes:
    """Return the bytes of a file.

    Raises Failure where they are not those that were written.
    """
    path = folder / written.name
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    if sha256(data).hexdigest() != written.digest:
        raise Failure(
            f"{path}: is not what was written there; does every worker see the same "
            "files in this folder, and at once?"
        )
    return data


def work_on(run: Run, work: Written, stage: str, items: Sequence[Any]) -> Written:
    """Do a part of a stage, and return the file of its results. Runs in a worker.

    Raises Failure where this worker does not fit, and whatever the work raises.
    """
    if reason := misfit(run):
        raise Failure(reason)
    folder = Path(run.folder)
    with _AT_WORK:
        function = _opened(folder, work)
        results = (pickle.dumps(result) for result in function(items))
        return write(folder, f"{stage}-{own_name()}", results)


_AT_WORK = Lock()
"""Held by the thread that does a task. Work is not made for two threads of a process,
and two would not be faster: a worker has one thread, or the others wait.
"""


@lru_cache(maxsize=1)
def _opened(folder: Path, work: Written) -> Work[Any, Any]:
    """Return the work of a stage, read once: what it prepares serves all its parts."""
    function: Work[Any, Any] = pickle.loads(read(folder, work))
    return function


def results_in(run: Run, written: Written, count: int) -> Iterator[Any]:
    """Yield the results of a part, ``count`` of them, and delete their file."""
    folder = Path(run.folder)
    stream = BytesIO(read(folder, written))
    (folder / written.name).unlink(missing_ok=True)
    for _ in range(count):
        yield pickle.load(stream)
