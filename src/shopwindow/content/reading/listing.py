"""Lists the files of a content folder with the kind of document that each holds.

A file belongs to a kind by its folder. What no kind claims is a problem, because an
editor who mistypes a folder's name would otherwise miss the documents in the app, and
nobody would know why.
"""

import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from shopwindow.content.kinds import SITE, Kind
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Problem

UNREADABLE = "tree.unreadable"
"""The rule of files and folders that whoever checks may not read."""

RACY_NS = 2_000_000_000
"""Nanoseconds. A file that changed less than this ago may change again without a new
time, within one tick of the file system's clock, so such a file is always read.
"""

COLLECTIONS = "collections.yaml"
"""The file that declares the content folder's own kinds (`declarations`). It is no
document.
"""

OWN_FOLDERS = ("schemas", "templates")
"""Folders of the content folder that hold no documents."""

_ENDINGS = (".yaml", ".yml", ".jsonl")
TABLES = (".csv", ".tsv", ".xls", ".xlsx", ".ods")
"""Endings of what a spreadsheet saves, which people lay beside their documents."""

_ROWS = (
    "documents in YAML; write each row of the table as one, or as a line of JSON in a"
    " .jsonl file"
)

COMPRESSED = (".jsonl.gz", ".jsonl.zst")
"""Endings of compressed feeds, which streamed kinds may have."""

_STREAMED_ENDINGS = (*_ENDINGS, *COMPRESSED)

SPARSE_FROM, SPARSE = 64 * 1024 * 1024, 200
"""A feed of SPARSE_FROM bytes or more must have at least a 200th of them on the disk.
File systems that compress leave a 20th of a feed. A file of nothing but holes can claim
any size, and to read it would take hours. Other files are refused for their size alone.
"""

SITE_FILE = "site.yaml"

MAX_FOLDERS = 20
"""Levels of folders, which bound the recursion of the listing."""


class Source(NamedTuple):
    """A file of the content folder, as the folder lists it.

    ``path``: below the content folder, with slashes. ``size``: bytes. ``changed``: its
    modification time in nanoseconds. ``unsaved``: bytes that are read in place of the
    file's.
    """

    path: str
    kind: Kind
    size: int
    changed: int
    inode: int
    unsaved: bytes | None = None

    @property
    def state(self) -> list[Any]:
        """What changes whenever the file does."""
        return [self.path, self.size, self.changed, self.inode]

    @property
    def is_feed(self) -> bool:
        return self.path.endswith((".jsonl", *COMPRESSED))

    @property
    def is_base(self) -> bool:
        """Whether it holds a base that documents build on by `extends`, and no
        document.
        """
        return self.kind.layered and self.path.rpartition("/")[2].startswith("_")

    def with_unsaved(self, data: bytes) -> "Source":
        """Return the file as if it held these bytes, written just now."""
        return Source(self.path, self.kind, len(data), time.time_ns(), 0, data)


def _source(path: str, kind: Kind, status: os.stat_result) -> Source:
    return Source(path, kind, status.st_size, status.st_mtime_ns, status.st_ino)


def scan(
    folder: Path, kinds: Sequence[Kind], unread: Collection[str] = ()
) -> tuple[list[Source], list[Problem]]:
    """Return every file of documents below ``folder``, sorted by path, and problems for
    the rest.

    ``unread``: folders that are passed over, since their collections are declared with
    faults.
    """
    scanned = _Scan(folder, kinds, unread)
    scanned.walk(str(folder), "", None)
    sources, problems = scanned.sources, scanned.problems
    if SITE_FILE not in {*(s.path for s in sources), *(p.path for p in problems)}:
        allowed = "every content folder has one"
        scanned.report("tree.site", SITE_FILE, "the file is missing", allowed)
    return sorted(sources), problems


def is_outdated(
    folder: Path,
    kinds: Sequence[Kind],
    unread: Collection[str],
    sources: Sequence[Source],
) -> bool:
    """Return whether the files of documents are others than ``sources``, as listed once.

    Kinds of two checks are never the same objects, so they are not compared.
    """
    listed, _ = scan(folder, kinds, unread)
    return [one.state for one in listed] != [one.state for one in sources]


def is_readable_again(folder: Path, problems: Iterable[Problem]) -> bool:
    """Return whether something can be read now that a check could not read."""
    paths = [problem.path for problem in problems if problem.rule == UNREADABLE]
    return any(os.access(folder / path, os.R_OK) for path in paths)


class _Scan:
    """One walk through a content folder: the sources and the problems so far."""

    def __init__(
        self, folder: Path, kinds: Sequence[Kind], unread: Collection[str]
    ) -> None:
        self.root = os.path.realpath(folder)
        self.unread = {*OWN_FOLDERS, *unread}
        self.kinds = kinds
        self.by_folder = {kind.folder: kind for kind in kinds}
        self.parents = {kind.folder.rpartition("/")[0] for kind in kinds} - {
            ""
        }  # such as `catalog`
        self.sources: list[Source] = []
        self.problems: list[Problem] = []

    def walk(self, folder: str, prefix: str, kind: Kind | None) -> None:
        """List one folder.

        ``prefix``: its path with a slash; empty for the content folder. ``kind``: that
        of the documents in it; None where no kind has this folder.
        """
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            self.report(
                UNREADABLE,
                prefix.rstrip("/"),
                f"cannot be read: {error.strerror}",
            )
            return
        for entry in entries:
            path = prefix + entry.name
            is_readme = entry.name.upper().partition(".")[0] == "README"
            if is_readme or entry.name.startswith(".") or path == "sample-keys.txt":
                continue
            status = self._status(entry, path)
            if status is None:
                continue
            if stat.S_ISDIR(status.st_mode):
                self._folder(entry, path, kind)
            else:
                self._file(status, path, kind)

    def _status(self, entry: "os.DirEntry[str]", path: str) -> os.stat_result | None:
        """Return the status of an entry; None, and a problem, where it cannot be used."""
        try:
            path.encode()
            if entry.is_symlink() and (found := link_fault(entry.path, self.root)):
                self.report("tree.link", path, found, LINK)
                return None
            return entry.stat()
        except UnicodeEncodeError:
            shown = path.encode(errors="backslashreplace").decode()
            self.report(
                "tree.name", shown, "a file name that is not UTF-8 text", "another name"
            )
        except OSError as error:
            self.report(UNREADABLE, path, f"cannot be read: {error.strerror}")
        return None

    def _folder(self, entry: "os.DirEntry[str]", path: str, kind: Kind | None) -> None:
        if path in self.unread:
            return
        below = kind or self.by_folder.get(path)
        if path in self.parents:
            self.walk(entry.path, path + "/", None)
        elif below is None or path.endswith(_STREAMED_ENDINGS):
            self._unclaimed(path, kind, is_folder=True)
        elif path.count("/") == MAX_FOLDERS:
            self.report(
                "tree.depth",
                path,
                f"folders nested more than {MAX_FOLDERS} deep",
                "documents further up",
            )
        else:
            self.walk(entry.path, path + "/", below)

    def _file(self, status: os.stat_result, path: str, kind: Kind | None) -> None:
        claimed = self._claim(path, kind)
        if path == COLLECTIONS:
            return  # who reads the declarations reports what is wrong with it
        if claimed is None and path.partition(".")[0] not in self.unread:
            self._unclaimed(path, kind, is_folder=False)
        elif not stat.S_ISREG(status.st_mode):
            self.report("tree.file", path, "not a file", "regular files and folders")
        elif claimed is not None:
            source, there = _source(path, claimed, status), status.st_blocks * 512
            is_sparse = there * SPARSE < source.size and source.size >= SPARSE_FROM
            if source.is_feed and is_sparse:
                found = f"a file of {source.size:,} bytes, of which {there:,} are there"
                self.report("tree.sparse", path, found, "a file without holes")
            else:
                self.sources.append(source)

    def _claim(self, path: str, kind: Kind | None) -> Kind | None:
        """Return the kind of the documents in a file, or None.

        ``kind``: that of the file's folder. A file beside the folders may hold all
        documents of a kind, such as `stores.jsonl`; for a streamed kind it may have any
        ending.
        """
        if kind is not None:
            return kind if path.endswith(_endings(kind)) else None
        if path == SITE_FILE:
            return SITE
        stem, dot, ending = path.partition(".")
        claimed = self.by_folder.get(stem)
        if claimed is None:
            return None
        endings = _endings(claimed) if claimed.streamed else (".jsonl",)
        return claimed if dot + ending in endings else None

    def _unclaimed(self, path: str, kind: Kind | None, *, is_folder: bool) -> None:
        found = f"a {'folder' if is_folder else 'file'} that no kind of document claims"
        top, close = path.partition("/")[0], ""
        if not is_folder and path.endswith(TABLES):
            found, allowed = "a table, which no kind of document claims", _ROWS
        elif kind:
            allowed = "a folder's name does not end like a file's"
            if not is_folder:
                allowed = "names that end in " + ", ".join(_endings(kind))
        elif top in self.parents and path != top:
            allowed, close = self._claimed_below(top, path, is_folder=is_folder)
        else:
            allowed, close = self._claimed_on_top(path, is_folder=is_folder)
        self.report("tree.unclaimed", path, found, allowed, close)

    def _claimed_on_top(self, path: str, *, is_folder: bool) -> tuple[str, str]:
        """Return what may stand at the top of the folder, and what is near ``path``."""
        tops = (kind.folder.partition("/")[0] for kind in self.kinds)
        names = {name: f"{name}/" for name in tops}
        folders = ", ".join(names.values())
        if is_folder:
            allowed = f"site.yaml and the folders {folders}"
        else:
            allowed = f"site.yaml, and documents in the folders {folders}"
            names |= {"site": SITE_FILE, "collections": COLLECTIONS}
        close = nearest(path.rpartition(".")[0] or path, names)
        return allowed, names.get(close, "")

    def _claimed_below(
        self, parent: str, path: str, *, is_folder: bool
    ) -> tuple[str, str]:
        """Return what may stand in a folder of kinds' folders, such as `catalog`, and
        what is near ``path``.
        """
        names = [
            kind.folder.rpartition("/")[2]
            for kind in self.kinds
            if kind.folder.startswith(parent + "/")
        ]
        stem, _, ending = path.rpartition("/")[2].partition(".")
        close = nearest(stem, names)
        allowed = f"folders or files named {', '.join(names)}"
        if close and not is_folder:
            allowed += "; files end in " + ", ".join(_STREAMED_ENDINGS)
            close = f"{close}.{ending}" if f".{ending}" in _STREAMED_ENDINGS else ""
        return allowed, close

    def report(
        self, rule: str, path: str, found: str, allowed: str = "", close: str = ""
    ) -> None:
        self.problems.append(Problem(rule, path, found, allowed=allowed, nearest=close))


LINK = "a file, or a link to a file of the content folder"
"""What may stand where a symbolic link is refused."""


def link_fault(path: str, root: str) -> str:
    """Return what is wrong with a symbolic link at ``path``.

    It is empty where the link leads to a file below ``root``, the content folder
    without links in its own path.
    """
    target = os.path.realpath(path)
    if not os.path.exists(target):
        return f"a link to {os.readlink(path)!r}, which does not exist"
    if not target.startswith(root + os.sep):
        return f"a link out of the content folder, to {target!r}"
    return "a link to a folder" if os.path.isdir(target) else ""


def _endings(kind: Kind) -> tuple[str, ...]:
    return _STREAMED_ENDINGS if kind.streamed else _ENDINGS


def own_files(folder: Path) -> Iterator[Source]:
    """Yield the schemas and templates of a content folder. They hold no documents."""
    for name in OWN_FOLDERS:
        for path in below(folder / name):
            with suppress(OSError):
                status = (folder / name / path).stat()
                yield _source(f"{name}/{path}", SITE, status)


def declaring(folder: Path) -> Source | None:
    """Return the file that declares collections; None where there is none."""
    try:
        return _source(COLLECTIONS, SITE, (folder / COLLECTIONS).stat())
    except FileNotFoundError:
        return None
    except OSError:  # such as a loop of links; whoever reads it reports that
        return Source(COLLECTIONS, SITE, 0, 0, 0)


def below(folder: Path, ending: str = "") -> list[str]:
    """Return the paths of files below a folder, relative to it, sorted.

    ``ending``: only of names that end so. A folder that is named like such a file is
    among them, and whoever reads it reports it. This takes half of the time of
    `Path.rglob`.
    """
    start = len(str(folder)) + 1
    return sorted(
        os.path.join(at, name)[start:]
        for at, folders, files in os.walk(folder)
        for name in (*files, *(folders if ending else ()))
        if name.endswith(ending)
    )


def shipped(name: str) -> Path:
    """Return a folder that comes with the program, such as its schemas.

    It is in the package in a wheel, and beside src/ in a checkout.
    """
    package = Path(__file__).resolve().parents[2]
    inside = package / name
    return inside if inside.is_dir() else package.parents[1] / name
