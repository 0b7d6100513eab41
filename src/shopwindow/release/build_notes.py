"""Two notes about builds in an output directory: one is at work, and how the last one
ended.

`building.json` stands while a build is at work. The build holds the file locked, so a
file that nobody holds is left from a build that was killed. `last-build.json` says how
the last build ended that was not killed. The service reports both, for after a failed
build it still serves the previous release.

No note ever fails a build: where one cannot be written, the build's own output says how
it went.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from shopwindow.release import notes

BUILDING = "building.json"
LAST_BUILD = "last-build.json"

NOTE_FORMAT = 1
"""The format of both notes, which they state."""

CONTENT_AT_FAULT = "content"
"""The cause of a failed build whose description a client may read, for it names no
paths of this host.
"""


@contextmanager
def at_work(out: Path, started: datetime) -> Iterator[None]:
    """Let building.json say that a build is at work, until it succeeds, fails or is
    refused.

    A build that is killed leaves the file behind; `killed_build` then reads it.
    """
    import fcntl  # here, for it is missing outside POSIX, where the other modules still import this one

    draft = out / f".{BUILDING}-{os.getpid()}"
    try:
        out.mkdir(
            parents=True, exist_ok=True
        )  # for what the notes say of a first build
        file = None if _other_at_work(out) else open(draft, "wb", buffering=0)  # noqa: SIM115 -- closed below
    except OSError:  # no folder to write into
        file = None
    if file is None:
        yield
        return

    note = {
        "format": NOTE_FORMAT,
        "started": started.isoformat(timespec="milliseconds"),
    }
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(orjson.dumps(note))
            os.replace(draft, out / BUILDING)
        except OSError:  # whoever has more to write reports a full disk
            draft.unlink(missing_ok=True)
        try:
            yield
        except Exception:
            _delete_own(out, file.fileno())
            raise
        _delete_own(out, file.fileno())


def _delete_own(out: Path, descriptor: int) -> None:
    """Delete building.json, unless another build wrote it."""
    with suppress(OSError):
        if os.path.samestat(os.fstat(descriptor), os.stat(out / BUILDING)):
            os.unlink(out / BUILDING)


def _other_at_work(out: Path) -> bool:
    return (out / BUILDING).exists() and not killed_build(out)


def killed_build(out: Path) -> dict[str, Any]:
    """Return building.json of a build that was killed; empty where none was."""
    import fcntl

    try:
        with open(out / BUILDING, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return notes.read(out / BUILDING)
    except OSError:
        return {}


def record_build(
    out: Path,
    started: datetime,
    status: str,
    description: str = "",
    cause: str = "",
    release: str = "",
) -> None:
    """Write to last-build.json that the last build ended now, and how.

    ``status``: SUCCESS or FAILED. ``description``: why it failed, or why the releases
    that it built ahead end before an instant. ``cause``:
    CONTENT_AT_FAULT where a client may read the description; any other may name paths
    of this host. ``release``: the id that the build wrote; after a failed build the
    file still names the release before. Raises nothing.
    """
    release = release or str(last_build(out).get("release", ""))
    printable = description.encode(errors="replace").decode()  # a path may be no UTF-8
    details = {"cause": cause, "description": printable, "release": release}
    note = {
        "format": NOTE_FORMAT,
        "started": started.isoformat(timespec="milliseconds"),
        "ended": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "status": status,
    }
    note |= {name: text for name, text in details.items() if text}
    with suppress(OSError):
        notes.write(out / LAST_BUILD, note)


def last_build(out: Path) -> dict[str, Any]:
    """Return how the last build ended, as `record_build` wrote it; empty where no note
    is.
    """
    return notes.read(out / LAST_BUILD)
