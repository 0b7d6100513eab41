"""The releases of an output directory: which there are, which is current; activate, roll back,
prune, verify.

`current` is a symbolic link, replaced by one rename, so a reader sees the old release or the
new one. It decides. current.json says the same for hosts without links, and holds what a link
cannot: the pin of a rollback. history.jsonl has a line an activation. A crash may leave these
two behind the link; the next command that holds the lock calls `reconcile`, which makes them
agree.

A deleted release is renamed into .trash first, for a rename is one step, while its files take
long to delete.
"""

import getpass
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import file_digest
from pathlib import Path
from typing import Any

import orjson

from shopwindow.interface.validators import modified
from shopwindow.problems import Failure, failures
from shopwindow.release import manifest
from shopwindow.release.manifest import Damaged, Manifest, ManifestLines
from shopwindow.release.stage import discard, fsync_folder

POINTER_FORMAT = 1
LAST_BUILD = "last-build.json"
CONTENT_AT_FAULT = "content"
BUILDING = "building.json"
KEPT_AFTER_ACTIVATION = timedelta(hours=1)
"""How long `prune` spares a release that was current: a server that has not taken up the new
one may still read it.
"""

MIN_DIGITS = 8
"""Digits that a shortened id must have, so that a typing error names no other release."""


class OutputBusy(Failure):
    """Another process changes the output directory."""


@dataclass(frozen=True)
class Release:
    """One release, as ``releases`` lists it. ``size``: bytes below files/, equal files counted
    once.

    ``damaged``: its manifest cannot be read, so ``files`` and ``size`` are 0.
    """

    id: str
    built: str
    files: int
    size: int
    current: bool
    pinned: bool
    damaged: bool = False


@dataclass(frozen=True)
class Current:
    """What current.json says: the id, and whether it stays until someone activates another."""

    id: str
    pinned: bool


class Releases:
    """An output directory: releases/<id>, the link `current`, and the notes beside them."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / "releases"
        self.link = out / "current"

    # -- which there are -----------------------------------------------------------------------

    def ids(self) -> list[str]:
        """Return the ids of all releases, the newest build first."""
        if not self.folder.is_dir():
            return []
        ids = [
            path.name for path in self.folder.iterdir() if (path / "manifest.json").is_file()
        ]
        return sorted(ids, key=lambda id: (self.built(id), id), reverse=True)

    def built(self, id: str) -> str:
        """Return when a release was built (RFC 3339), as its build.json says; empty where that
        is missing.
        """
        return str(self.note(id).get("built", ""))

    def note(self, id: str) -> dict[str, Any]:
        """Return a release's build.json; empty where it cannot be read."""
        try:
            value = orjson.loads((self.folder / id / "build.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def checked_note(self, id: str) -> dict[str, Any]:
        """Return a release's build.json without the parts that must hold digests and do not:
        they are damaged.
        """
        note = self.note(id)
        return {
            name: part
            for name, part in note.items()
            if name not in _DIGEST_CHECKS or _DIGEST_CHECKS[name](part)
        }

    def path(self, id: str) -> Path:
        return self.folder / id

    @contextmanager
    def at_work(self, started: datetime) -> Iterator[None]:
        """Say in building.json that a build is at work, until it ends: with success, a failure
        or problems.

        The build holds the file locked. A file that nobody holds is left from a build that was
        killed.
        """
        import fcntl

        draft = self.out / f".{BUILDING}-{os.getpid()}"
        try:
            file = None if self._held() else open(draft, "wb", buffering=0)  # noqa: SIM115 -- closed below
        except OSError:  # no folder yet, or none to write into: then there is no note
            file = None
        if file is None:
            yield
            return
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.write(
                    orjson.dumps(
                        {
                            "format": POINTER_FORMAT,
                            "started": started.isoformat(timespec="milliseconds"),
                        }
                    )
                )
                os.replace(draft, self.out / BUILDING)
            except OSError:  # whoever has more to write reports a full disk
                draft.unlink(missing_ok=True)
            try:
                yield
            except Exception:
                self._done(file.fileno())
                raise
            self._done(file.fileno())

    def _done(self, descriptor: int) -> None:
        """Delete building.json, unless another build wrote it."""
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), os.stat(self.out / BUILDING)):
                os.unlink(self.out / BUILDING)

    def _held(self) -> bool:
        """Return whether a build is at work."""
        return (self.out / BUILDING).exists() and not self.cut_short()

    def cut_short(self) -> dict[str, Any]:
        """Return building.json of a build that was killed; empty where none was."""
        import fcntl

        try:
            with open(self.out / BUILDING, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                value = orjson.loads(file.read())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def record_build(
        self,
        started: datetime,
        ended: datetime,
        status: str,
        description: str = "",
        cause: str = "",
        release: str = "",
    ) -> None:
        """Write to last-build.json how the last build ended: SUCCESS, or FAILED with an exit
        description.

        The service reports it, for after a failed build it still serves the previous release.
        ``cause``: CONTENT_AT_FAULT where a client may read the description; any other may name
        paths of this host. ``release``: the id that the build wrote; a failed build leaves the
        previous one there. Where the file cannot be written, nothing is raised: the build's own
        output says how it ended.
        """
        note = {"format": POINTER_FORMAT, "started": started.isoformat(timespec="milliseconds")}
        note |= {"ended": ended.isoformat(timespec="milliseconds"), "status": status}
        release = release or str(self.last_build().get("release", ""))
        words = description.encode(errors="replace").decode()  # a path may be no UTF-8
        details = {"cause": cause, "description": words, "release": release}
        note |= {name: text for name, text in details.items() if text}
        draft = self.out / f".last-build.json-{os.getpid()}"
        try:
            draft.write_bytes(orjson.dumps(note) + b"\n")
            os.replace(draft, self.out / LAST_BUILD)
        except OSError:
            with suppress(OSError):
                draft.unlink()

    def last_build(self) -> dict[str, Any]:
        """Return how the last build ended, as `record_build` wrote it: times (RFC 3339), status
        …; or nothing.
        """
        try:
            value = orjson.loads((self.out / LAST_BUILD).read_bytes())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def find(self, start: str) -> str:
        """Return the id that begins with ``start``, at least 8 digits or "current". Raises
        Failure.
        """
        if start == "current":
            if (id := self.current()) is not None:
                return id
            raise Failure(f"{self.out}: no release is current; `shopwindow build` makes one")
        if len(start) < MIN_DIGITS:
            raise Failure(
                f"{start!r}: an id needs at least {MIN_DIGITS} digits; `shopwindow releases` lists them"
            )
        matching = [id for id in self.ids() if id.startswith(start.lower())]
        if len(matching) != 1:
            what = "no release has this id" if not matching else "several releases begin so"
            raise Failure(f"{start!r}: {what}; `shopwindow releases` lists them")
        return matching[0]

    def latest(self) -> str:
        """Return the release that the last build wrote or met. Raises Failure where there is
        none.

        That need not be the newest: a build of older content meets the release that it wrote
        back then.
        """
        ids = self.ids()
        if not ids:
            raise Failure(f"{self.out}: there is no release; `shopwindow build` makes one")
        last_built = self.last_build().get("release")
        return last_built if last_built in ids else ids[0]

    def manifest(self, id: str) -> Manifest:
        """Read a release's manifest. Raises Failure where it is not the one of this id."""
        return manifest.read(self.path(id) / "manifest.json", id)

    def lines(self, id: str) -> ManifestLines:
        """Read the lines of a release's manifest. Raises Failure where it is not the one of
        this id.
        """
        return manifest.read_lines(self.path(id) / "manifest.json", id)

    def complete(self, id: str) -> bool:
        """Return whether a release's files are here. A fresh machine of a pipeline may have its
        manifest alone.
        """
        return (self.path(id) / "files").is_dir()

    def current(self) -> str | None:
        """Return the id that ``current`` leads to: the link decides; a host without links has
        current.json.
        """
        try:
            return Path(os.readlink(self.link)).name
        except OSError:
            pointer = self.recorded()
            return pointer.id if pointer else None

    def recorded(self) -> Current | None:
        """What current.json says, where there is one. Raises Failure where it alone decides and
        cannot be read.
        """
        path = self.out / "current.json"
        try:
            value = orjson.loads(path.read_bytes())
            if value["format"] > POINTER_FORMAT:
                raise Failure(
                    f"{path}: format {value['format']}; this program reads up to {POINTER_FORMAT}: update it"
                )
            return Current(str(value["id"]), bool(value.get("pinned", False)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            if self.link.is_symlink():
                return None  # the link decides, and the file is written anew
            raise Failure(
                f"{path}: cannot be read ({error}), and it alone knows what is pinned; mend it"
            ) from None

    def pinned(self) -> bool:
        """Whether a rollback holds ``current`` where it is."""
        pointer = self.recorded()
        return pointer is not None and pointer.pinned

    def listing(self) -> list[Release]:
        """Return all releases, the newest first."""
        now = self.current()
        return [self._release(id, now) for id in self.ids()]

    def _release(self, id: str, now: str | None) -> Release:
        current = id == now, id == now and self.pinned()
        try:
            files = self.manifest(id).files
        except Damaged:
            return Release(id, self.built(id), 0, 0, *current, damaged=True)
        size = sum({entry["sha256"]: entry["size"] for entry in files.values()}.values())
        return Release(id, self.built(id), len(files), size, *current)

    # -- which is current ----------------------------------------------------------------------

    @contextmanager
    def lock(self, *, make: bool = False) -> Iterator[None]:
        """Hold the lock of this output directory. Raises OutputBusy at once where another
        process has it.

        ``make``: create the directory where it is missing.
        """
        import fcntl

        if not make and not self.out.is_dir():
            raise Failure(f"{self.out}: there is no such folder; `shopwindow build` makes one")
        with failures(self.out):
            self.out.mkdir(parents=True, exist_ok=True)
            file = open(self.out / ".lock", "a+", encoding="ascii")  # noqa: SIM115 -- closed below
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise OutputBusy(
                    f"{self.out}: another build or activation is at work (process {holder}); "
                    "try again when it is done"
                ) from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield

    def activate(
        self, id: str, action: str, reason: str, moment: datetime, *, pin: bool = False
    ) -> None:
        """Make a release the current one by one rename; say so in current.json and
        history.jsonl.

        What can fail for want of room comes before the rename, but for the history's line. A
        pin is set before it and taken away after it, so that no crash between them leaves a
        rollback unpinned; `reconcile` does what is left.
        """
        previous, pointer = self.current(), self.out / "current.json"
        with failures(self.out):
            draft, link = self._drafted(id, moment, pin), self._linked(id)
            kept = self._copied(pointer) if pin else None
            if pin:
                os.replace(draft, pointer)
            try:
                os.replace(link, self.link)
            except OSError:
                if pin:
                    os.replace(kept, pointer) if kept else pointer.unlink()
                raise
        mends = "the next build, activation or rollback corrects what does not say so"
        with failures(self.out, f"`current` is {id[:12]} all the same; {mends}"):
            fsync_folder(self.out)
            if not pin:
                os.replace(draft, pointer)
                fsync_folder(self.out)
            elif kept:
                kept.unlink()
            self._note(moment, id, previous, who(), reason, action)

    def point(self, id: str) -> None:
        """Let ``current`` lead to a release."""
        with failures(self.out):
            os.replace(self._linked(id), self.link)
            fsync_folder(self.out)

    def _copied(self, pointer: Path) -> Path | None:
        """Copy current.json, to be put back; None where there is none."""
        try:
            return Path(
                shutil.copyfile(pointer, self.out / f".current.json-{os.getpid()}-before")
            )
        except FileNotFoundError:
            return None

    def _linked(self, id: str) -> Path:
        """The link as it shall be, under another name."""
        draft = self.out / f".current-{os.getpid()}"
        with suppress(FileNotFoundError):
            draft.unlink()
        draft.symlink_to(f"releases/{id}")
        return draft

    def _drafted(self, id: str, moment: datetime, pin: bool) -> Path:
        """current.json as it shall be, on disk under another name."""
        value = {
            "format": POINTER_FORMAT,
            "id": id,
            "switched": moment.isoformat(timespec="seconds"),
        }
        draft = self.out / f".current.json-{os.getpid()}"
        with open(draft, "wb") as file:
            file.write(orjson.dumps(value | ({"pinned": True} if pin else {})) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return draft

    def _note(
        self, moment: datetime, id: str, previous: str | None, who: str, why: str, action: str
    ) -> None:
        """Add a line to the history. A line that a crash left half written is ended first."""
        value = {"when": moment.isoformat(timespec="seconds"), "id": id, "from": previous}
        line = orjson.dumps(value | {"who": who, "why": why, "action": action}) + b"\n"
        with open(self.out / "history.jsonl", "ab+") as file:
            if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def history(self) -> list[dict[str, Any]]:
        """Return every activation, the oldest first. A line that a crash left half written is
        passed over.
        """
        try:
            lines = (self.out / "history.jsonl").read_bytes().splitlines()
        except OSError:
            return []
        activations = []
        for line in lines:
            with suppress(ValueError):
                entry = orjson.loads(line)
                if _is_activation(entry):
                    activations.append(entry)
        return activations

    def reconcile(self) -> None:
        """Clear up after a killed command: delete drafts, and let current.json and the history
        follow the link.
        """
        for pattern in (
            ".current-*",
            ".current.json-*",
            ".last-build.json-*",
            ".building.json-*",
            ".cache/*.*[0-9]",
        ):
            for draft in self.out.glob(pattern):
                draft.unlink(missing_ok=True)
        now, pointer, history, moment = (
            self.current(),
            self.recorded(),
            self.history(),
            datetime.now(UTC),
        )
        if now is None:
            return
        last = history[-1] if history else {"id": now}
        with failures(self.out):
            if pointer is None or pointer.id != now:
                pinned = pointer.pinned if pointer else last.get("action") == "rollback"
                os.replace(self._drafted(now, moment, pinned), self.out / "current.json")
            if (
                last["id"] != now
            ):  # the pin is set before the link moves, and is taken away after it
                action = (
                    "rollback"
                    if pointer and pointer.id == now and pointer.pinned
                    else "activate"
                )
                self._note(
                    moment,
                    now,
                    last["id"],
                    "unknown",
                    "recorded later: the activation was cut short",
                    action,
                )

    def to_roll_back_to(self) -> str:
        """The release to roll back to: the newest in the history that was never rolled back
        from. Raises Failure.
        """
        now = self.current()
        history = self.history()
        bad = {line.get("from") for line in history if line.get("action") == "rollback"} | {now}
        for line in reversed(history):
            for id in (line["id"], line.get("from")):
                if id and id not in bad and (self.path(id) / "manifest.json").is_file():
                    return str(id)
        raise Failure(
            "the history names no release to roll back to; `shopwindow releases` lists what there is"
        )

    # -- keeping house -------------------------------------------------------------------------

    def prune(self, keep: int, moment: datetime) -> list[str]:
        """Delete all but the newest ``keep`` releases, what is current, and what was so in the
        last hour.
        """
        kept = set(self.ids()[:keep]) | {self.current()}
        since = (moment - KEPT_AFTER_ACTIVATION).isoformat(timespec="seconds")
        for line in self.history():
            if line["when"] >= since:
                kept |= {line["id"], line.get("from")}
        deleted = [id for id in self.ids() if id not in kept]
        with failures(self.out, "what is left is deleted next time"):
            for id in deleted:
                self.discard(id)
            _delete_slowly(self.out / ".trash")
        return deleted

    def discard(self, id: str) -> None:
        """Move a release aside: it is none from now on, and `prune` deletes its files."""
        discard(self.path(id), self.out)

    def verify(self, id: str) -> list[str]:
        """Return what is wrong with a release's files: it compares every digest, time and mode.

        Releases of older programs hold .gz files, too; their build.json lists those.
        """
        folder = self.path(id)
        try:
            data = (folder / "manifest.json").read_bytes()
        except OSError as error:
            return [f"manifest.json: {error.strerror}"]
        if manifest.release_id(data) != id:
            return ["manifest.json: not the one of this id"]
        if not self.complete(id):
            return ["files/: not here, only the manifest is"]
        listed, note = self.manifest(id), self.checked_note(id)
        expected = {f"files/{path}": entry["sha256"] for path, entry in listed.files.items()}
        compressed = {
            f"files/{path}": digest for path, (digest, _) in note.get("gzip", {}).items()
        }
        catalog = note.get("catalog", {}).get(
            "sha256"
        )  # its bytes depend on the SQLite that wrote it
        private = {path: entry.get("sha256", catalog) for path, entry in listed.private.items()}
        built = [
            *sorted((expected | compressed).items()),
            *private.items(),
            ("manifest.json", id),
        ]
        wrong = [
            f"{path}: {fault}"
            for path, digest in built
            if (fault := _fault(folder, path, digest))
        ]
        if not self.note(id):
            wrong.append("build.json: missing, or not what a build wrote")
        if None in private.values():
            wrong.append("build.json: does not tell the digest of the catalog")
        there = set(_below(folder)) - expected.keys() - compressed.keys()
        return wrong + [f"{path}: not in the manifest" for path in sorted(there)]


def _is_activation(entry: Any) -> bool:
    """Whether it is what a line of the history says."""
    if not isinstance(entry, dict) or not isinstance(entry.get("from"), str | None):
        return False
    return isinstance(entry.get("when"), str) and isinstance(entry.get("id"), str)


def _below(release: Path) -> Iterator[str]:
    """Yield the paths below a release's files/ that are no directories. A link to a directory
    is none.
    """
    start = len(str(release)) + 1
    for at, folders, names in os.walk(release):
        links = (name for name in folders if os.path.islink(f"{at}/{name}"))
        paths = (f"{at}/{name}"[start:] for name in (*names, *links))
        yield from (path for path in paths if path.partition("/")[0] == "files")


def _fault(release: Path, path: str, digest: str | None) -> str:
    """Return what is wrong with a file that was built; empty where it is intact. ``digest``:
    None is not compared.
    """
    try:
        kept = os.lstat(release / path)
        if not stat.S_ISREG(kept.st_mode):
            return "not a regular file"
        with open(release / path, "rb") as file:
            actual = file_digest(file, "sha256").digest()
    except OSError as error:
        return error.strerror or str(error)
    if digest is not None and actual.hex() != digest:
        return "not the bytes that were built"
    if path.startswith("files/") and int(kept.st_mtime) != modified(actual):
        return "another modification time than its bytes give; its ETag would differ"
    mode = stat.S_IMODE(kept.st_mode)
    return "" if mode == 0o444 else f"mode {mode:04o}, not 0444"


def _of_compressed(part: Any) -> bool:
    """Return whether a value is what an older release's build.json says of .gz files: digest
    and size, by path.
    """
    return isinstance(part, dict) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and _is_digest(pair[0])
        and isinstance(pair[1], int)
        for pair in part.values()
    )


def _of_catalog(part: Any) -> bool:
    """Return whether a value is what build.json says of the catalog."""
    return isinstance(part, dict) and _is_digest(part.get("sha256"))


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


_DIGEST_CHECKS = {"gzip": _of_compressed, "catalog": _of_catalog}


def who() -> str:
    """The person or pipeline behind an activation."""
    for name in ("SHOPWINDOW_ACTOR", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"):
        if value := os.environ.get(name):
            return value
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _delete_slowly(folder: Path) -> None:
    """Delete a tree with pauses: on ext4 a mass delete makes file creation slow for a while,
    elsewhere too.
    """
    if not folder.is_dir():
        return
    count = 0
    for directory, _, names in os.walk(folder, topdown=False):
        for name in names:
            os.unlink(os.path.join(directory, name))
            count += 1
            if count % 200 == 0:
                time.sleep(0.02)
    shutil.rmtree(folder)
