"""The releases of an output directory: which there are, which is current; switch, roll back, prune, verify."""

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

from vitrine.interface.validators import modified
from vitrine.problems import Failure, failures
from vitrine.release import manifest
from vitrine.release.manifest import Damaged, Lines, Manifest
from vitrine.release.stage import discard, fsync_folder

FORMAT = 1
LAST_BUILD = "last-build.json"
CONTENT = "content"
BUILDING = "building.json"
KEPT_AFTER_SWITCH = timedelta(hours=1)
MIN_DIGITS = 8


class Busy(Failure):
    """Another process changes the output directory."""


@dataclass(frozen=True)
class Release:
    """One release: what ``releases`` lists. ``size``: bytes under files/, each file counted once.

    ``damaged``: its manifest does not tell these two.
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
    """What current.json says: the id, and whether it stays until someone switches."""

    id: str
    pinned: bool


class Releases:
    """The output directory, as design 3 lays it out."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / "releases"
        self.link = out / "current"

    # -- which there are -------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        """All releases, the newest build first."""
        if not self.folder.is_dir():
            return []
        found = [path.name for path in self.folder.iterdir() if (path / "manifest.json").is_file()]
        return sorted(found, key=lambda id: (self.built(id), id), reverse=True)

    def built(self, id: str) -> str:
        """When a release was built, as its build.json says (RFC 3339); empty where that is not there."""
        return str(self.note(id).get("built", ""))

    def note(self, id: str) -> dict[str, Any]:
        """A release's build.json; empty where it cannot be read."""
        try:
            value = orjson.loads((self.folder / id / "build.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def checked_note(self, id: str) -> dict[str, Any]:
        """The same without what tells no digests, though it should: of compressed files, of the catalog."""
        note = self.note(id)
        return {name: part for name, part in note.items() if name not in _DIGESTS or _DIGESTS[name](part)}

    def path(self, id: str) -> Path:
        return self.folder / id

    @contextmanager
    def at_work(self, started: datetime) -> Iterator[None]:
        """Note that a build is at work, in building.json, until it ends: with success, a failure or problems.

        It holds the note locked. One that nobody holds is that of a build that was killed.
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
                file.write(orjson.dumps({"format": FORMAT, "started": started.isoformat(timespec="milliseconds")}))
                os.replace(draft, self.out / BUILDING)
            except OSError:  # a full disk is told by whoever has more to write
                draft.unlink(missing_ok=True)
            try:
                yield
            except Exception:
                self._done(file.fileno())
                raise
            self._done(file.fileno())

    def _done(self, descriptor: int) -> None:
        """The note is taken away, unless it is another's."""
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), os.stat(self.out / BUILDING)):
                os.unlink(self.out / BUILDING)

    def _held(self) -> bool:
        """Whether a build is at work."""
        return (self.out / BUILDING).exists() and not self.cut_short()

    def cut_short(self) -> dict[str, Any]:
        """The note of a build that was killed, by what started it or by the system; empty where there is none."""
        import fcntl

        try:
            with open(self.out / BUILDING, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                value = orjson.loads(file.read())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def tell(
        self,
        started: datetime,
        ended: datetime,
        status: str,
        description: str = "",
        cause: str = "",
        release: str = "",
    ) -> None:
        """Note how the last build ended, in last-build.json: SUCCESS, or FAILED with an exit description.

        ``cause``: CONTENT where content is at fault, and its description fit for clients; any other names paths of
        this host. ``release``: which it made; a failed build leaves that of the one before. Whoever asks for the
        state of the data learns of a failed build, although the release before is served. A note that cannot be
        written is none: the build's own words count.
        """
        note = {"format": FORMAT, "started": started.isoformat(timespec="milliseconds")}
        note |= {"ended": ended.isoformat(timespec="milliseconds"), "status": status}
        release = release or str(self.last_build().get("release", ""))
        words = description.encode(errors="replace").decode()  # a path may be no UTF-8
        told = {"cause": cause, "description": words, "release": release}
        note |= {name: text for name, text in told.items() if text}
        draft = self.out / f".last-build.json-{os.getpid()}"
        try:
            draft.write_bytes(orjson.dumps(note) + b"\n")
            os.replace(draft, self.out / LAST_BUILD)
        except OSError:
            with suppress(OSError):
                draft.unlink()

    def last_build(self) -> dict[str, Any]:
        """How the last build ended, as `tell` noted it: times (RFC 3339), status …; empty where no one did."""
        try:
            value = orjson.loads((self.out / LAST_BUILD).read_bytes())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def find(self, start: str) -> str:
        """The release whose id begins with at least 8 given digits. Raises Failure."""
        if start == "current":
            if (id := self.current()) is not None:
                return id
            raise Failure(f"{self.out}: no release is current; `vitrine build` makes one")
        if len(start) < MIN_DIGITS:
            raise Failure(f"{start!r}: an id needs at least {MIN_DIGITS} digits; `vitrine releases` lists them")
        found = [id for id in self.ids() if id.startswith(start.lower())]
        if len(found) != 1:
            what = "no release has this id" if not found else "several releases begin so"
            raise Failure(f"{start!r}: {what}; `vitrine releases` lists them")
        return found[0]

    def latest(self) -> str:
        """The release of the last build, though it was there already. Raises Failure.

        So after a rollback and a build of the content as it was before, it is not the one that was rolled back from.
        """
        ids = self.ids()
        if not ids:
            raise Failure(f"{self.out}: there is no release; `vitrine build` makes one")
        made = self.last_build().get("release")
        return made if made in ids else ids[0]

    def manifest(self, id: str) -> Manifest:
        """A release's manifest. Raises Failure where it is not the one of this id."""
        return manifest.read(self.path(id) / "manifest.json", id)

    def lines(self, id: str) -> Lines:
        """The same by its lines."""
        return manifest.read_lines(self.path(id) / "manifest.json", id)

    def complete(self, id: str) -> bool:
        """Whether a release's files are here, and not its manifest alone (as on a fresh machine of a pipeline)."""
        return (self.path(id) / "files").is_dir()

    def current(self) -> str | None:
        """The id that ``current`` leads to: the link decides; a host without links has current.json."""
        try:
            return Path(os.readlink(self.link)).name
        except OSError:
            told = self.told()
            return told.id if told else None

    def told(self) -> Current | None:
        """What current.json says, where there is one. Raises Failure where it alone decides and cannot be read."""
        path = self.out / "current.json"
        try:
            value = orjson.loads(path.read_bytes())
            if value["format"] > FORMAT:
                raise Failure(f"{path}: format {value['format']}; this program reads up to {FORMAT}: update it")
            return Current(str(value["id"]), bool(value.get("pinned", False)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            if self.link.is_symlink():
                return None  # the link decides, and the file is written anew
            raise Failure(f"{path}: cannot be read ({error}), and it alone knows what is pinned; mend it") from None

    def pinned(self) -> bool:
        """Whether a rollback holds ``current`` where it is."""
        told = self.told()
        return told is not None and told.pinned

    def listing(self) -> list[Release]:
        """All releases, the newest first."""
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

    # -- which is current ------------------------------------------------------------------------------------

    @contextmanager
    def lock(self, *, make: bool = False) -> Iterator[None]:
        """Alone in changing this output directory. Raises Failure at once if another process is at it.

        ``make``: the directory is made where it is not there.
        """
        import fcntl

        if not make and not self.out.is_dir():
            raise Failure(f"{self.out}: there is no such folder; `vitrine build` makes one")
        with failures(self.out):
            self.out.mkdir(parents=True, exist_ok=True)
            file = open(self.out / ".lock", "a+", encoding="ascii")  # noqa: SIM115 -- closed below
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                message = (
                    f"{self.out}: another build or switch is at work (process {holder}); try again when it is done"
                )
                raise Busy(message) from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield

    def switch(self, id: str, action: str, reason: str, moment: datetime, *, pin: bool = False) -> None:
        """Make a release the current one by one rename; say so in current.json and history.jsonl.

        What can fail for want of room comes before the rename, but for the history's line. A pin is set before it and
        taken away after it, so that no crash between them leaves a rollback unpinned; `reconcile` does what is left.
        """
        before, told = self.current(), self.out / "current.json"
        with failures(self.out):
            draft, link = self._drafted(id, moment, pin), self._linked(id)
            kept = self._copied(told) if pin else None
            if pin:
                os.replace(draft, told)
            try:
                os.replace(link, self.link)
            except OSError:
                if pin:
                    os.replace(kept, told) if kept else told.unlink()
                raise
        mends = "the next build, switch or rollback mends what does not say so"
        with failures(self.out, f"`current` is {id[:12]} all the same; {mends}"):
            fsync_folder(self.out)
            if not pin:
                os.replace(draft, told)
                fsync_folder(self.out)
            elif kept:
                kept.unlink()
            self._note(moment, id, before, _who(), reason, action)

    def point(self, id: str) -> None:
        """Let ``current`` lead to a release."""
        with failures(self.out):
            os.replace(self._linked(id), self.link)
            fsync_folder(self.out)

    def _copied(self, told: Path) -> Path | None:
        """A copy of current.json to be put back, where there is one."""
        try:
            return Path(shutil.copyfile(told, self.out / f".current.json-{os.getpid()}-before"))
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
        value = {"format": FORMAT, "id": id, "switched": moment.isoformat(timespec="seconds")}
        draft = self.out / f".current.json-{os.getpid()}"
        with open(draft, "wb") as file:
            file.write(orjson.dumps(value | ({"pinned": True} if pin else {})) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return draft

    def _note(self, moment: datetime, id: str, before: str | None, who: str, why: str, action: str) -> None:
        """A line at the end of the history; one that a crash left half written is ended first."""
        value = {"when": moment.isoformat(timespec="seconds"), "id": id, "from": before}
        line = orjson.dumps(value | {"who": who, "why": why, "action": action}) + b"\n"
        with open(self.out / "history.jsonl", "ab+") as file:
            if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def history(self) -> list[dict[str, Any]]:
        """Every switch, the oldest first; a line that a crash left half written, or that is none, is passed over."""
        try:
            lines = (self.out / "history.jsonl").read_bytes().splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            with suppress(ValueError):
                entry = orjson.loads(line)
                if _is_switch(entry):
                    found.append(entry)
        return found

    def reconcile(self) -> None:
        """What a killed command left: drafts go; current.json and the history follow the link, which decides."""
        for pattern in (".current-*", ".current.json-*", ".last-build.json-*", ".building.json-*", ".cache/*.*[0-9]"):
            for draft in self.out.glob(pattern):
                draft.unlink(missing_ok=True)
        now, told, history, moment = self.current(), self.told(), self.history(), datetime.now(UTC)
        if now is None:
            return
        last = history[-1] if history else {"id": now}
        with failures(self.out):
            if told is None or told.id != now:
                pinned = told.pinned if told else last.get("action") == "rollback"
                os.replace(self._drafted(now, moment, pinned), self.out / "current.json")
            if last["id"] != now:  # the pin is set before the link moves, and is taken away after it
                action = "rollback" if told and told.id == now and told.pinned else "switch"
                self._note(moment, now, last["id"], "unknown", "noted later: what switched was cut short", action)

    def before(self) -> str:
        """The release to roll back to: the newest in the history that was never rolled back from. Raises Failure."""
        now = self.current()
        history = self.history()
        bad = {line.get("from") for line in history if line.get("action") == "rollback"} | {now}
        for line in reversed(history):
            for id in (line["id"], line.get("from")):
                if id and id not in bad and (self.path(id) / "manifest.json").is_file():
                    return str(id)
        raise Failure("the history names no release to roll back to; `vitrine releases` lists what there is")

    # -- keeping house ---------------------------------------------------------------------------------------

    def prune(self, keep: int, moment: datetime) -> list[str]:
        """Delete all but the newest ``keep`` releases, what is current, and what was so in the last hour."""
        kept = set(self.ids()[:keep]) | {self.current()}
        since = (moment - KEPT_AFTER_SWITCH).isoformat(timespec="seconds")
        for line in self.history():
            if line["when"] >= since:
                kept |= {line["id"], line.get("from")}
        doomed = [id for id in self.ids() if id not in kept]
        with failures(self.out, "what is left is deleted next time"):
            for id in doomed:
                self.discard(id)
            _delete_slowly(self.out / ".trash")
        return doomed

    def discard(self, id: str) -> None:
        """From here on it is no release; `prune` deletes its files."""
        discard(self.path(id), self.out)

    def verify(self, id: str) -> list[str]:
        """What is wrong with a release's files: every digest, time and mode, compressed forms too."""
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
        compressed = {f"files/{path}": digest for path, (digest, _) in note.get("gzip", {}).items()}
        catalog = note.get("catalog", {}).get("sha256")  # its bytes depend on the SQLite that wrote it
        private = {path: entry.get("sha256", catalog) for path, entry in listed.private.items()}
        built = [*sorted((expected | compressed).items()), *private.items(), ("manifest.json", id)]
        wrong = [f"{path}: {fault}" for path, digest in built if (fault := _fault(folder, path, digest))]
        untold = {"the compressed files": "gzip" not in note, "the catalog": None in private.values()}
        wrong += [f"build.json: does not tell the digests of {what}" for what, lacks in untold.items() if lacks]
        there = set(_below(folder)) - expected.keys() - compressed.keys()
        if "gzip" not in note:
            there -= {f"{path}.gz" for path in expected}
        return wrong + [f"{path}: not in the manifest" for path in sorted(there)]


def _is_switch(entry: Any) -> bool:
    """Whether it is what a line of the history says."""
    if not isinstance(entry, dict) or not isinstance(entry.get("from"), str | None):
        return False
    return isinstance(entry.get("when"), str) and isinstance(entry.get("id"), str)


def _below(release: Path) -> Iterator[str]:
    """What lies below a release's files/ and is no directory; a link to one is none."""
    start = len(str(release)) + 1
    for at, folders, names in os.walk(release):
        links = (name for name in folders if os.path.islink(f"{at}/{name}"))
        paths = (f"{at}/{name}"[start:] for name in (*names, *links))
        yield from (path for path in paths if path.partition("/")[0] == "files")


def _fault(release: Path, path: str, digest: str | None) -> str:
    """What is wrong with a file that was built, if anything is. ``digest``: None where nobody knows it."""
    try:
        kept = os.lstat(release / path)
        if not stat.S_ISREG(kept.st_mode):
            return "not a regular file"
        with open(release / path, "rb") as file:
            found = file_digest(file, "sha256").digest()
    except OSError as error:
        return error.strerror or str(error)
    if digest is not None and found.hex() != digest:
        return "not the bytes that were built"
    if path.startswith("files/") and int(kept.st_mtime) != modified(found):
        return "another modification time than its bytes give; its ETag would differ"
    mode = stat.S_IMODE(kept.st_mode)
    return "" if mode == 0o444 else f"mode {mode:04o}, not 0444"


def _of_compressed(part: Any) -> bool:
    """Whether it is what build.json tells of the compressed files: digest and size, by path."""
    return isinstance(part, dict) and all(
        isinstance(told, list) and len(told) == 2 and _is_digest(told[0]) and isinstance(told[1], int)
        for told in part.values()
    )


def _of_catalog(part: Any) -> bool:
    """Whether it is what build.json tells of the catalog."""
    return isinstance(part, dict) and _is_digest(part.get("sha256"))


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


_DIGESTS = {"gzip": _of_compressed, "catalog": _of_catalog}


def _who() -> str:
    """The person or pipeline behind a switch."""
    for name in ("VITRINE_ACTOR", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"):
        if value := os.environ.get(name):
            return value
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _delete_slowly(folder: Path) -> None:
    """Delete a tree with pauses: on ext4 a mass delete makes file creation slow for a while, elsewhere too."""
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
