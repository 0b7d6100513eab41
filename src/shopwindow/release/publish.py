"""The releases of an output directory: which there are, which is current; activate,
roll back, prune.

`current` is a symbolic link, replaced by one rename, so a reader sees the old release
or the new one. The link decides. current.json says the same for hosts without links,
and holds what a link cannot: the pin of a rollback. history.jsonl has a line for each
activation. A crash may leave these two behind the link; every command that takes the
lock calls `reconcile` first, which makes them agree.

What a build leaves for others to read stands in `build_notes`; how a release is
compared with what was built, in `verify` and `intact`.
"""

import getpass
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.durable import synchronize
from shopwindow.problems import Failure, failures
from shopwindow.release import manifest, trash
from shopwindow.release.build_notes import last_build
from shopwindow.release.manifest import Damaged, Manifest, ManifestLines
from shopwindow.release.stage import Stage

POINTER_FORMAT = 1
"""The format of current.json, which it states."""

KEPT_AFTER_ACTIVATION = timedelta(hours=1)
"""How long `prune` spares a release after `current` has led to it or away from it.

A service looks at `current` four times a second, but a proxy, a copy to another host or
a person who reads the old release may take minutes. An hour is ample for these, and
costs the disk little, since releases share equal files.
"""

MIN_ID_DIGITS = 8
"""Digits that a shortened id must have. `releases` prints twelve; with eight, 32 bits,
a typing error hardly ever names another release.
"""

DRAFTS = (
    ".current-*",
    ".current.json-*",
    ".last-build.json-*",
    ".building.json-*",
    ".pulled.json-*",
    ".cache/*.*[0-9]",
)
"""Files that a killed command leaves: each ends in the id of its process."""


class OutputBusy(Failure):
    """Another process changes the output directory."""


@dataclass(frozen=True)
class Release:
    """One release, as ``releases`` lists it.

    ``built``: when (RFC 3339). ``size``: bytes below files/, equal files counted once.
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
    """What current.json says: the id, and whether it stays until someone activates
    another.
    """

    id: str
    pinned: bool


class Releases:
    """An output directory: releases/<id>, the link `current`, and the notes beside
    them.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / "releases"
        self.link = out / "current"

    # -- which there are ---------------------------------------------------------------

    def ids(self) -> list[str]:
        """Return the ids of all releases, the newest build first."""
        if not self.folder.is_dir():
            return []
        ids = [
            path.name
            for path in self.folder.iterdir()
            if (path / "manifest.json").is_file()
        ]
        return sorted(ids, key=lambda id: (self.built(id), id), reverse=True)

    def path(self, id: str) -> Path:
        return self.folder / id

    def built(self, id: str) -> str:
        """Return when a release was built (RFC 3339); empty where its build.json is
        missing.
        """
        return str(self.note(id).get("built", ""))

    def note(self, id: str) -> dict[str, Any]:
        """Return a release's build.json; empty where it cannot be read."""
        try:
            value = orjson.loads((self.folder / id / "build.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def manifest(self, id: str) -> Manifest:
        """Read a release's manifest. Raises Failure where it is not the one of this id."""
        return manifest.read(self.path(id) / "manifest.json", id)

    def lines(self, id: str) -> ManifestLines:
        """Read the lines of a release's manifest.

        Raises Failure where it is not the one of this id.
        """
        return manifest.read_lines(self.path(id) / "manifest.json", id)

    def complete(self, id: str) -> bool:
        """Return whether a release's files are here.

        A fresh machine of a pipeline may have its manifest alone.
        """
        return (self.path(id) / "files").is_dir()

    def find(self, start: str) -> str:
        """Return the id that begins with ``start``, or the current one for "current".

        Raises Failure where ``start`` is too short, or no release or several begin so.
        """
        if start == "current":
            if (id := self.current()) is not None:
                return id
            raise Failure(
                f"{self.out}: no release is current; `shopwindow build` makes one"
            )
        if len(start) < MIN_ID_DIGITS:
            raise Failure(
                f"{start!r}: an id needs at least {MIN_ID_DIGITS} digits; "
                "`shopwindow releases` lists them"
            )
        matching = [id for id in self.ids() if id.startswith(start.lower())]
        if len(matching) != 1:
            what = (
                "no release has this id"
                if not matching
                else "several releases begin so"
            )
            raise Failure(f"{start!r}: {what}; `shopwindow releases` lists them")
        return matching[0]

    def latest(self) -> str:
        """Return the release that the last build wrote or met. Raises Failure without
        any.

        That need not be the newest: a build of older content meets the release that was
        written from it back then.
        """
        ids = self.ids()
        if not ids:
            raise Failure(
                f"{self.out}: there is no release; `shopwindow build` makes one"
            )
        last_built = last_build(self.out).get("release")
        return last_built if last_built in ids else ids[0]

    def current(self) -> str | None:
        """Return the id that ``current`` leads to.

        The link decides; a host without links has current.json.
        """
        try:
            return Path(os.readlink(self.link)).name
        except OSError:
            pointer = self.recorded()
            return pointer.id if pointer else None

    def recorded(self) -> Current | None:
        """Return what current.json says; None where there is none, or a link that
        decides.

        Raises Failure where current.json alone decides and cannot be read, or is of a
        later program.
        """
        path = self.out / "current.json"
        try:
            value = orjson.loads(path.read_bytes())
            if value["format"] > POINTER_FORMAT:
                raise Failure(
                    f"{path}: format {value['format']}; "
                    f"this program reads up to {POINTER_FORMAT}: update it"
                )
            return Current(str(value["id"]), bool(value.get("pinned", False)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            if self.link.is_symlink():
                return None  # `reconcile` writes the file again
            raise Failure(
                f"{path}: cannot be read ({error}), and it alone knows what is pinned; mend it"
            ) from None

    def pinned(self) -> bool:
        """Return whether a rollback holds ``current`` where it is."""
        pointer = self.recorded()
        return pointer is not None and pointer.pinned

    def listing(self) -> list[Release]:
        """Return all releases, the newest first."""
        current = self.current()
        return [self._release(id, current) for id in self.ids()]

    def _release(self, id: str, current: str | None) -> Release:
        is_current = id == current
        is_pinned = is_current and self.pinned()
        built = self.built(id)
        try:
            files = self.manifest(id).files
        except Damaged:
            return Release(id, built, 0, 0, is_current, is_pinned, damaged=True)
        size = sum(
            {entry["sha256"]: entry["size"] for entry in files.values()}.values()
        )
        return Release(id, built, len(files), size, is_current, is_pinned)

    def add(self, stage: Stage, id: str) -> None:
        """Rename a staged directory to releases/<id>.

        All staged bytes are synced to the disk before that, so a directory of that name
        is complete even after a power cut. Raises OSError.
        """
        path = self.path(id)
        if path.is_dir():  # damaged, or only its manifest is here
            self.discard(id)
        stage.settle()
        self.folder.mkdir(exist_ok=True)
        os.rename(stage.folder, path)
        synchronize(self.folder)
        synchronize(self.out)

    # -- which is current --------------------------------------------------------------

    @contextmanager
    def lock(self, *, make: bool = False) -> Iterator[None]:
        """Hold the lock of this output directory.

        ``make``: create the directory where it is missing. Raises OutputBusy at once
        where another process has the lock, and Failure where the directory is missing
        or cannot be written to.
        """
        import fcntl  # here, for it is missing outside POSIX, where a manifest can still be read

        if not make and not self.out.is_dir():
            raise Failure(
                f"{self.out}: there is no such folder; `shopwindow build` makes one"
            )
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
        """Make a release the current one, and record that in current.json and the
        history.

        One rename decides. Everything that may fail for want of space comes before it,
        except the history's line. A pin is set before the rename and removed after it,
        so that no crash between them leaves a rollback without its pin; `reconcile`
        does what is left to do. Raises Failure, which says whether `current` has moved.
        """
        previous, pointer = self.current(), self.out / "current.json"
        with failures(self.out):
            draft, link = self._draft_pointer(id, moment, pin), self._draft_link(id)
            backup = self._back_up(pointer) if pin else None
            if pin:
                os.replace(draft, pointer)
            try:
                os.replace(link, self.link)
            except OSError:
                if pin:
                    os.replace(backup, pointer) if backup else pointer.unlink()
                raise

        remedy = "the next build, activation or rollback corrects what does not say so"
        with failures(self.out, f"`current` is {id[:12]} all the same; {remedy}"):
            synchronize(self.out)
            if not pin:
                os.replace(draft, pointer)
                synchronize(self.out)
            elif backup:
                backup.unlink()
            self._add_to_history(moment, id, previous, who(), reason, action)

    def point(self, id: str) -> None:
        """Let ``current`` lead to a release, without a record. Raises Failure."""
        with failures(self.out):
            os.replace(self._draft_link(id), self.link)
            synchronize(self.out)

    def _draft_link(self, id: str) -> Path:
        """Create the link to a release under a name of its own, and return that."""
        draft = self.out / f".current-{os.getpid()}"
        with suppress(FileNotFoundError):
            draft.unlink()
        draft.symlink_to(f"releases/{id}")
        return draft

    def _draft_pointer(self, id: str, moment: datetime, pin: bool) -> Path:
        """Write current.json to disk under a name of its own, and return that."""
        value = {
            "format": POINTER_FORMAT,
            "id": id,
            "switched": moment.isoformat(timespec="seconds"),
        }
        if pin:
            value["pinned"] = True
        draft = self.out / f".current.json-{os.getpid()}"
        with open(draft, "wb") as file:
            file.write(orjson.dumps(value) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return draft

    def _back_up(self, pointer: Path) -> Path | None:
        """Copy current.json, to be put back; None where there is none."""
        backup = self.out / f".current.json-{os.getpid()}-before"
        try:
            return Path(shutil.copyfile(pointer, backup))
        except FileNotFoundError:
            return None

    # -- the history -------------------------------------------------------------------

    def history(self) -> list[dict[str, Any]]:
        """Return every activation, the oldest first.

        A line that a crash left half written is left out.
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

    def _add_to_history(
        self,
        moment: datetime,
        id: str,
        previous: str | None,
        who: str,
        why: str,
        action: str,
    ) -> None:
        """Add a line to the history. A line that a crash left half written is ended
        first.
        """
        entry = {
            "when": moment.isoformat(timespec="seconds"),
            "id": id,
            "from": previous,
            "who": who,
            "why": why,
            "action": action,
        }
        line = orjson.dumps(entry) + b"\n"
        with open(self.out / "history.jsonl", "ab+") as file:
            if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def reconcile(self) -> None:
        """Clear up after a killed command: delete its drafts, and let current.json and
        the history follow the link. Raises Failure.
        """
        for pattern in DRAFTS:
            for draft in self.out.glob(pattern):
                draft.unlink(missing_ok=True)
        current, pointer = self.current(), self.recorded()
        if current is None:
            return

        history, moment = self.history(), datetime.now(UTC)
        last = history[-1] if history else {"id": current}
        with failures(self.out):
            if pointer is None or pointer.id != current:
                pinned = pointer.pinned if pointer else last.get("action") == "rollback"
                os.replace(
                    self._draft_pointer(current, moment, pinned),
                    self.out / "current.json",
                )
            if last["id"] != current:
                # A rollback sets the pin before the link moves, so a pin on this very
                # release says that it was a rollback.
                rolled_back = pointer and pointer.id == current and pointer.pinned
                action = "rollback" if rolled_back else "activate"
                reason = "recorded later: the activation was cut short"
                self._add_to_history(
                    moment, current, last["id"], "unknown", reason, action
                )

    def to_roll_back_to(self) -> str:
        """Return the newest release in the history that was never rolled back from.

        Raises Failure where the history names none that is here.
        """
        history = self.history()
        bad = {
            entry.get("from") for entry in history if entry.get("action") == "rollback"
        }
        bad.add(self.current())
        for entry in reversed(history):
            for id in (entry["id"], entry.get("from")):
                if id and id not in bad and (self.path(id) / "manifest.json").is_file():
                    return str(id)
        raise Failure(
            "the history names no release to roll back to; "
            "`shopwindow releases` lists what there is"
        )

    # -- keeping house -----------------------------------------------------------------

    def prune(self, keep: int, moment: datetime) -> list[str]:
        """Delete releases, and return their ids.

        The newest ``keep`` stay, the current one, and those that were current within
        KEPT_AFTER_ACTIVATION before ``moment``. Raises Failure.
        """
        spared = {*self.ids()[:keep], self.current()}
        since = (moment - KEPT_AFTER_ACTIVATION).isoformat(timespec="seconds")
        for entry in self.history():
            if entry["when"] >= since:
                spared |= {entry["id"], entry.get("from")}
        deleted = [id for id in self.ids() if id not in spared]
        with failures(self.out, "what is left is deleted next time"):
            for id in deleted:
                self.discard(id)
            trash.empty(self.out)
        return deleted

    def discard(self, id: str) -> None:
        """Move a release into the trash: it is none from now on. Raises OSError."""
        trash.discard(self.path(id), self.out)


def _is_activation(entry: Any) -> bool:
    """Return whether a value is what a line of the history holds."""
    if not isinstance(entry, dict) or not isinstance(entry.get("from"), str | None):
        return False
    return isinstance(entry.get("when"), str) and isinstance(entry.get("id"), str)


def who() -> str:
    """Return the person or pipeline behind an activation: a variable names it, or the
    system.
    """
    for name in ("SHOPWINDOW_ACTOR", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"):
        if value := os.environ.get(name):
            return value
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


# -- the digests in build.json ---------------------------------------------------------


def index_note(note: dict[str, Any], index: str) -> dict[str, Any]:
    """Return what a release's build.json says of an index; empty where it names no
    digest.

    Its ``sha256`` (hex) is the digest of the index's file. That stands here and not in
    the manifest, because the bytes depend on the SQLite that wrote them.
    """
    part = note.get(index)
    return part if isinstance(part, dict) and _is_digest(part.get("sha256")) else {}


def compressed_digests(note: dict[str, Any]) -> dict[str, str]:
    """Return the digests (hex) of a release's .gz files, by path below files/.

    Only releases of older programs have such files; their build.json lists them, each
    with its digest and size. A list that is damaged counts as none.
    """
    part = note.get("gzip")
    if not isinstance(part, dict) or not all(map(_is_digest_and_size, part.values())):
        return {}
    return {path: digest for path, (digest, _) in part.items()}


def _is_digest_and_size(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return _is_digest(value[0]) and isinstance(value[1], int)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None
