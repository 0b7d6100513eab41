"""The releases of an output directory: which there are, which is current; activate,
roll back, prune.

`current` is a symbolic link, replaced by one rename, so a reader sees the old release
or the new one. The link alone says what is current. history.jsonl has a line for each
activation, written before the link moves; the last line about the current release says
whether it is pinned, and which releases follow it. A crash may leave a line that the
link did not follow; every command that takes the lock calls `reconcile` first, which
adds that the link stayed.

What a build leaves for others to read stands in `build_notes`; how a release is
compared with what was built, in `verify`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from shopwindow.problems import Failure, failures, in_words
from shopwindow.release import history, manifest, notes
from shopwindow.release.build_notes import last_build
from shopwindow.release.chain import Chain, Link, as_json, chain_of
from shopwindow.release.durable import synchronize
from shopwindow.release.history import Activation, activation
from shopwindow.release.manifest import Damaged, ManifestLines
from shopwindow.release.stage import Stage, discard, empty_trash

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

LEFTOVERS = (
    "current.json*",
    ".current*",
    ".*.json-*",
    ".cache/*.*[0-9]",
)
"""Files that nobody needs any more: drafts of a killed command, which end in the id of
its process, and the pointer that programs before 0.3.0 wrote beside the link.
"""


class OutputBusy(Failure):
    """Another process changes the output directory."""


@dataclass(frozen=True)
class Release:
    """One release, as ``releases`` lists it.

    ``built``: when (RFC 3339). ``size``: bytes below files/, equal files counted once.
    ``damaged``: its manifest cannot be read, so ``files`` and ``size`` are 0. ``start``:
    the instant (RFC 3339) from which it is current, where it was built ahead and
    follows the current one; else empty.
    """

    id: str
    built: str
    files: int
    size: int
    current: bool
    pinned: bool
    damaged: bool = False
    start: str = ""


def id_of(start: str, ids: Sequence[str]) -> str:
    """Return the one of some ids that begins with ``start``.

    Raises Failure where that is too short, or none or several begin so.
    """
    if len(start) < MIN_ID_DIGITS:
        raise Failure(
            f"{start!r}: an id needs at least {MIN_ID_DIGITS} digits; "
            "`shopwindow releases` lists them"
        )
    matching = [id for id in ids if id.startswith(start.lower())]
    if len(matching) != 1:
        what = "several releases begin so" if matching else "no release has this id"
        raise Failure(f"{start!r}: {what}; `shopwindow releases` lists them")
    return matching[0]


def index_note(note: Mapping[str, Any], index: str) -> Mapping[str, Any]:
    """Return what a release's build.json says of an index; empty where it names no
    digest.
    """
    part = note.get(index)
    if isinstance(part, dict) and isinstance(part.get("sha256"), str):
        return part
    return {}


def private_digest(
    name: str, entry: Mapping[str, Any], note: Mapping[str, Any]
) -> str | None:
    """Return the SHA-256 (hex) of a private file; None where nobody recorded it.

    ``entry``: what the manifest says of it. That has no digest of an index, whose bytes
    depend on the SQLite that wrote them: it stands in ``note``, build.json, by the
    index's name, which is that of its file without the extension (`interface.declaring.index`).
    """
    return entry.get("sha256") or index_note(note, Path(name).stem).get("sha256")


class Releases:
    """An output directory: releases/<id>, the link `current`, and the notes beside
    them.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / "releases"
        self.link = out / "current"
        self._history = out / "history.jsonl"
        self._last_about: tuple[tuple[object, ...], Activation] = (), {}

    # -- which there are ---------------------------------------------------------------

    def ids(self) -> list[str]:
        """Return the ids of all releases, the newest build first."""
        if not self.folder.is_dir():
            return []
        ids = [
            path.name for path in self.folder.iterdir() if self._is_release(path.name)
        ]
        return sorted(ids, key=lambda id: (self.built(id), id), reverse=True)

    def _is_release(self, id: str) -> bool:
        return (self.path(id) / "manifest.json").is_file()

    def path(self, id: str) -> Path:
        return self.folder / id

    def built(self, id: str) -> str:
        """Return when a release was built (RFC 3339); empty where its build.json is
        missing.
        """
        return str(self.note(id).get("built", ""))

    def note(self, id: str) -> dict[str, Any]:
        """Return a release's build.json; empty where it cannot be read."""
        return notes.read(self.folder / id / "build.json")

    def next_change(self, id: str) -> datetime:
        """Return when a release's content changes by itself: nothing is to be believed
        of it beyond that instant. Raises Damaged.
        """
        return manifest.read_without_files(self.path(id) / "manifest.json").next_change

    def lines(self, id: str) -> ManifestLines:
        """Read a release's manifest.

        Raises Damaged where it is not the one of this id, and NewerFormat where a later
        program wrote it.
        """
        return manifest.read_lines(self.path(id) / "manifest.json", id)

    def complete(self, id: str) -> bool:
        """Return whether a release's files are here.

        A fresh machine of a pipeline may have its manifest alone.
        """
        return (self.path(id) / "files").is_dir()

    def find(self, start: str) -> str:
        """Return the id that begins with ``start``, the current one for "current", or
        for "previous" the one that was current before it.

        Raises Failure where ``start`` is too short, or no release or several begin so.
        """
        if start == "previous":
            return self._before(self.find("current"))
        if start == "current":
            if (id := self.current()) is not None:
                return id
            raise Failure(
                f"{self.out}: no release is current; `shopwindow build` makes one"
            )
        return id_of(start, self.ids())

    def _before(self, current: str) -> str:
        """Return the release that was current before this one. Raises Failure."""
        advice = "`shopwindow releases` lists what there is"
        previous = history.before(self.history(), current)
        if previous is None:
            raise Failure(
                f"{self.out}: no release was current before {current[:12]}; {advice}"
            )
        if not self._is_release(previous):
            raise Failure(
                f"{self.out}: release {previous[:12]}, which was current before"
                f" {current[:12]}, was deleted; {advice}"
            )
        return previous

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
        """Return the id that ``current`` leads to; None where it leads nowhere.

        Raises Failure where this user may not read it.
        """
        try:
            return Path(os.readlink(self.link)).name
        except PermissionError as error:
            raise Failure(in_words(error)) from None
        except OSError:
            return None

    def pinned(self) -> bool:
        """Return whether a rollback holds ``current`` where it is."""
        return self.last_about(self.current()).get("action") == "rollback"

    def chain(self) -> Chain:
        """Return the current release and those that follow it; empty where none is
        current.

        It is of one release where the history names none that follows.
        """
        id = self.current()
        if id is None:
            return Chain(())
        last = self.last_about(id)
        with suppress(ValueError, KeyError, TypeError):
            chain = chain_of(last["chain"])
            if chain.links[0].id == id:
                return chain
        try:
            start = datetime.fromisoformat(last["when"])
        except (ValueError, KeyError):
            start = datetime.min.replace(tzinfo=UTC)
        return Chain((Link(id, start),))

    def cut(self) -> str:
        """Return why nothing follows the last release of the chain; empty where nothing
        is wrong, or somebody has activated a release.
        """
        if self.last_about(self.current()).get("action") not in ("build", "ahead"):
            return ""
        last = last_build(self.out)
        has_succeeded = last.get("status") == "SUCCESS"
        return str(last.get("description", "")) if has_succeeded else ""

    def last_about(self, id: str | None) -> Activation:
        """Return the history's last line about a release; empty where there is none.

        The history is read again only where it has changed: whoever follows the chain
        looks several times a second.
        """
        try:
            status = os.stat(self._history)
        except OSError:
            return {}
        seen = id, status.st_ino, status.st_size, status.st_mtime_ns
        if self._last_about[0] != seen:
            lines = [entry for entry in self.history() if entry["id"] == id]
            self._last_about = seen, lines[-1] if lines else {}
        return self._last_about[1]

    def listing(self) -> list[Release]:
        """Return all releases: those that follow, the last one first, then the others,
        the newest build first.
        """
        following = self.chain().links[1:]
        starts = {link.id: link.start.isoformat() for link in following}
        listed = [self._release(id, starts.get(id, "")) for id in self.ids()]
        return sorted(listed, key=lambda release: release.start, reverse=True)

    def _release(self, id: str, start: str) -> Release:
        is_current = id == self.current()
        files: Mapping[str, bytes] = {}
        is_damaged = True
        with suppress(Damaged):
            files = self.lines(id).files
            is_damaged = False
        sizes = {
            manifest.digest_of(line): manifest.size_of(line) for line in files.values()
        }
        return Release(
            id=id,
            built=self.built(id),
            files=len(files),
            size=sum(sizes.values()),
            current=is_current,
            pinned=is_current and self.pinned(),
            damaged=is_damaged,
            start=start,
        )

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
        self,
        id: str,
        action: str,
        reason: str,
        moment: datetime,
        chain: Chain | None = None,
    ) -> None:
        """Make a release the current one; a rollback pins it, every other action unpins.

        ``chain`` begins with the release, and lists those that follow it; None: nothing
        does. The history's line comes first, so a full disk leaves everything as it
        was; one rename decides. Raises Failure where it could not be made.
        """
        with failures(self.out), history.locked(self._history):
            self._make_current(id, action, reason, moment, chain)

    def move_ahead(self, moment: datetime) -> str | None:
        """Make the release of the chain the current one that is in force at an instant.

        Return its id; None where it is current already. It takes no lock of the output
        directory: nothing is built or deleted. Raises Failure where the release is not
        here, or could not be made the current one.
        """
        with failures(self.out), history.locked(self._history):
            chain = self.chain()
            if not chain.is_due(moment):
                return None
            left = chain.remaining(moment)
            id = left.links[0].id
            if not self.complete(id):
                raise Failure(
                    f"{self.out}: release {id[:12]}, which follows in the chain, is not "
                    "here; `shopwindow build --ahead` makes a chain anew"
                )
            start = left.links[0].start.isoformat(timespec="seconds")
            self._make_current(id, "ahead", f"in force from {start}", moment, left)
            return id

    def _make_current(
        self, id: str, action: str, reason: str, moment: datetime, chain: Chain | None
    ) -> None:
        """Add the line of an activation and move the link; the history is locked.

        Raises OSError before the link has moved, and Failure after that.
        """
        links = as_json(chain) if chain else ()
        entry = activation(moment, id, self.current(), reason, action, chain=links)
        draft = self.out / f".current-{os.getpid()}"
        draft.unlink(missing_ok=True)
        draft.symlink_to(f"releases/{id}")
        history.add(self._history, entry)
        os.replace(draft, self.link)
        with failures(self.out, f"`current` is {id[:12]} all the same"):
            synchronize(self.out)

    # -- the history -------------------------------------------------------------------

    def history(self) -> list[Activation]:
        """Return every activation, the oldest first."""
        return history.read(self._history)

    def reconcile(self) -> None:
        """Clear up after a killed command: delete its drafts, and add to the history
        that the link stayed where it is. Raises Failure.
        """
        with failures(self.out), history.locked(self._history):
            for pattern in LEFTOVERS:
                for leftover in self.out.glob(pattern):
                    leftover.unlink(missing_ok=True)
            id, activations = self.current(), self.history()
            if id is None or not activations or activations[-1]["id"] == id:
                return

            last = self.last_about(id)
            stayed = activation(
                datetime.now(UTC),
                id,
                id,
                f"the activation of {activations[-1]['id'][:12]} was cut short",
                last.get("action", "activate"),
                by="unknown",
                chain=last.get("chain", ()),
            )
            history.add(self._history, stayed)

    def to_roll_back_to(self) -> str:
        """Return the newest release in the history that was never rolled back from.

        Raises Failure where the history names none that is here.
        """
        id = history.to_roll_back_to(self.history(), self.current(), self._is_release)
        if id is None:
            raise Failure(
                "the history names no release to roll back to; "
                "`shopwindow releases` lists what there is"
            )
        return id

    # -- keeping house -----------------------------------------------------------------

    def prune(self, keep: int, moment: datetime) -> list[str]:
        """Delete releases, and return their ids.

        The newest ``keep`` stay, the current one, those that follow it, and those that
        were current within KEPT_AFTER_ACTIVATION before ``moment``. What was built ahead
        and became current never is none of the newest. Raises Failure.
        """
        never = history.never_current(self.history())
        counted = [id for id in self.ids() if id not in never]
        spared: set[str | None] = {*counted[:keep]}
        spared |= {link.id for link in self.chain().links}
        since = (moment - KEPT_AFTER_ACTIVATION).isoformat(timespec="seconds")
        for entry in self.history():
            if entry["when"] >= since:
                spared |= {entry["id"], entry.get("from")}
        deleted = [id for id in self.ids() if id not in spared]
        with failures(self.out, "what is left is deleted next time"):
            for id in deleted:
                self.discard(id)
            empty_trash(self.out)
        return deleted

    def discard(self, id: str) -> None:
        """Move a release into the trash: it is none from now on. Raises OSError."""
        discard(self.path(id), self.out)
