"""Whether a build would change anything, told from file times alone. Standard library only: this is the usual case."""

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from vitrine.content.listing import RACY_NS, Source, below, own_files

_PACKAGE = Path(__file__).resolve().parents[1]


def program_digest() -> str:
    """A digest of this program: its source, the Python that runs it, and when its libraries were last installed."""
    digest = sha256(sys.version.encode())
    for name in below(_PACKAGE, ".py"):
        with open(f"{_PACKAGE}/{name}", "rb") as file:
            digest.update(name.encode() + b"\0" + file.read())
    for entry in sys.path:
        if os.path.basename(entry) in ("site-packages", "dist-packages") and os.path.isdir(entry):
            digest.update(f"{entry} {os.stat(entry).st_mtime_ns}".encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Fingerprint:
    """What the folders tell of everything that a build reads. ``settled``: nothing was changed just now."""

    digest: str
    settled: bool


def fingerprint(content: Path, schemas: Path, sources: Sequence[Source], program: str) -> Fingerprint:
    """The fingerprint of a content folder, the schemas and the program."""
    digest = sha256(program.encode())
    newest = 0
    for source in sources:
        digest.update(f"{source.path}\0{source.size} {source.changed} {source.inode}\n".encode())
        newest = max(newest, source.changed)
    rest = [(f"{schemas}/{name}", os.stat(f"{schemas}/{name}")) for name in below(schemas, ".json")]
    for name, found in (*rest, *own_files(content)):
        digest.update(f"{name}\0{found.st_size} {found.st_mtime_ns} {found.st_ino}\n".encode())
        newest = max(newest, found.st_mtime_ns)
    return Fingerprint(digest.hexdigest(), newest < time.time_ns() - RACY_NS)


@dataclass(frozen=True)
class Last:
    """The last build: of what, which release it made, and the stretch of time in which it would make the same."""

    fingerprint: str
    id: str
    start: str
    end: str

    def holds(self, now: Fingerprint, moment: datetime) -> bool:
        """Whether a build at ``moment`` would make this release again."""
        within = datetime.fromisoformat(self.start) <= moment < datetime.fromisoformat(self.end)
        return now.settled and now.digest == self.fingerprint and within


def remember(path: Path, last: Last) -> None:
    """Keep the note of a build. A note that cannot be kept means a slower build, no failure."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(vars(last)), encoding="ascii")
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):  # on a read-only file system this one fails too
            draft.unlink()


def recall(path: Path) -> Last | None:
    """The note of the last build (dist/.cache/last.json), if there is a readable one and its release is still there."""
    try:
        last = Last(**json.loads(path.read_text(encoding="ascii")))
        os.stat(path.parents[1] / "releases" / last.id / "manifest.json")
    except (OSError, ValueError, TypeError):
        return None
    return last
