"""Which files of the content folder hold which kind of document. Standard library only: a build with nothing to do
imports nothing else."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from vitrine.problems import Problem, nearest

RACY_NS = 2_000_000_000
"""A file changed less than this ago may change again within one tick of its clock: it is always read."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of document: the folder it lives in, its schema, and the properties that identify it.

    ``shown``: what only answers look at, no rule and no order: most of a document's bytes.

    There is one of each, in every process: ten thousand files' kinds are compared soonest by being the same.
    """

    name: str
    folder: str
    ids: tuple[str, ...]
    shown: tuple[str, ...] = ()

    @property
    def schema(self) -> str:
        return f"catalog/{self.name}.json" if self.folder.startswith("catalog/") else f"{self.name}.json"

    def __reduce__(self) -> tuple[Callable[[str], "Kind"], tuple[str]]:
        return _kind, (self.name,)


KINDS = (
    Kind("app", "apps", ("name",)),
    Kind("store", "stores", ("storeId", "storeNumber", "locationNumber")),
    Kind("event", "events", ("id",), ("name", "shortDesc", "links", "attributes")),
    Kind("promotion", "promotions", ("promoId",)),
)
SITE = Kind("site", "", ())
CATALOG = (
    Kind("category", "catalog/categories", ("id",)),
    Kind("brand", "catalog/brands", ("name", "id")),
    Kind("synonym", "catalog/synonyms", ()),
    Kind("product", "catalog/products", ("id",)),
    Kind("inventory", "catalog/inventory", ("upc",)),
    Kind("review", "catalog/reviews", ("id",)),
    Kind("recommendation", "catalog/recommendations", ("product",)),
)
"""The kinds of the catalog, in the order in which they are needed: read as streams, for there may be millions."""

_FOLDERS = "catalog"
"""The folder whose folders are those of kinds."""

_BY_FOLDER = {kind.folder: kind for kind in (*KINDS, *CATALOG)}
OWN_FOLDERS = ("schemas", "templates")


def _kind(name: str) -> Kind:
    return next(kind for kind in (*KINDS, SITE, *CATALOG) if kind.name == name)


_ENDINGS = (".yaml", ".yml", ".jsonl")
COMPRESSED = (".jsonl.gz", ".jsonl.zst")
"""Feeds of the catalog may be compressed."""

MAX_FOLDERS = 20


class Source(NamedTuple):
    """A file of the content folder, as the folder lists it."""

    path: str
    kind: Kind
    size: int
    changed: int
    inode: int

    @property
    def is_feed(self) -> bool:
        return self.path.endswith((".jsonl", *COMPRESSED))

    @property
    def is_base(self) -> bool:
        return self.kind.name == "app" and self.path.rpartition("/")[2].startswith("_")


def scan(folder: Path) -> tuple[list[Source], list[Problem]]:
    """Every document file below ``folder``, sorted by path, and what stands there that is none."""
    sources: list[Source] = []
    problems: list[Problem] = []
    _scan(str(folder), "", None, sources, problems)
    if not any(source.kind is SITE for source in sources) and not any(p.path == "site.yaml" for p in problems):
        problems.append(
            Problem("tree.site", "site.yaml", "the file is missing", allowed="every content folder has one")
        )
    sources.sort(key=lambda source: source.path)
    return sources, problems


def _scan(folder: str, prefix: str, kind: Kind | None, sources: list[Source], problems: list[Problem]) -> None:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        problems.append(Problem("tree.unreadable", prefix.rstrip("/"), f"cannot be read: {error.strerror}"))
        return
    endings = kind and _endings(kind)
    for entry in entries:
        name = entry.name
        path = prefix + name
        if name[0] == "." or (name[0] in "Rr" and _is_readme(name)) or path == "sample-keys.txt":
            continue
        try:
            if not path.isascii():
                path.encode()
            if entry.is_symlink():
                problem = _link_problem(entry, path)
                if problem:
                    problems.append(problem)
                    continue
            found = entry.stat()
        except UnicodeEncodeError:
            shown = path.encode(errors="backslashreplace").decode()
            problems.append(Problem("tree.name", shown, "a file name that is not UTF-8 text", allowed="another name"))
            continue
        except OSError as error:
            problems.append(Problem("tree.unreadable", path, f"cannot be read: {error.strerror}"))
            continue
        if stat.S_ISDIR(found.st_mode):
            if not prefix and name in OWN_FOLDERS:
                continue
            below = kind or _BY_FOLDER.get(path)
            if path == _FOLDERS:
                _scan(entry.path, path + "/", None, sources, problems)
            elif below is None or name.endswith((*_ENDINGS, *COMPRESSED)):
                problems.append(_unclaimed(path, kind, is_folder=True))
            elif path.count("/") == MAX_FOLDERS:
                found_here = f"folders nested more than {MAX_FOLDERS} deep"
                problems.append(Problem("tree.depth", path, found_here, allowed="documents further up"))
            else:
                _scan(entry.path, path + "/", below, sources, problems)
            continue
        claimed = (kind if name.endswith(endings) else None) if endings else _claim(path)
        if claimed is None:
            problems.append(_unclaimed(path, kind, is_folder=False))
        elif not stat.S_ISREG(found.st_mode):
            problems.append(Problem("tree.file", path, "not a file", allowed="regular files and folders"))
        else:
            sources.append(Source(path, claimed, found.st_size, found.st_mtime_ns, found.st_ino))


def _is_readme(name: str) -> bool:
    return name.upper().partition(".")[0] == "README"


def _claim(path: str) -> Kind | None:
    """The kind of the documents in a file that is in no kind's folder, or none."""
    if path == "site.yaml":
        return SITE
    stem, dot, ending = path.partition(".")
    claimed = _BY_FOLDER.get(stem)
    if claimed is None or (claimed in CATALOG) != path.startswith(_FOLDERS + "/"):
        return None
    return claimed if dot + ending in (_endings(claimed) if claimed in CATALOG else (".jsonl",)) else None


def _endings(kind: Kind) -> tuple[str, ...]:
    return (*_ENDINGS, *COMPRESSED) if kind in CATALOG else _ENDINGS


def _link_problem(entry: "os.DirEntry[str]", path: str) -> Problem | None:
    """What is wrong with a symbolic link: nothing, if it leads to a file within the content folder."""
    root = os.path.realpath(entry.path[: len(entry.path) - len(path)])
    target = os.path.realpath(entry.path)
    allowed = "a file, or a link to a file of the content folder"
    if not os.path.exists(target):
        return Problem(
            "tree.link", path, f"a link to {os.readlink(entry.path)!r}, which does not exist", allowed=allowed
        )
    if not target.startswith(root + os.sep):
        return Problem("tree.link", path, f"a link out of the content folder, to {target!r}", allowed=allowed)
    if os.path.isdir(target):
        return Problem("tree.link", path, "a link to a folder", allowed=allowed)
    return None


def _unclaimed(path: str, kind: Kind | None, *, is_folder: bool) -> Problem:
    found = f"a {'folder' if is_folder else 'file'} that no kind of document claims"
    folders = [f"{kind.folder}/" for kind in KINDS] + [_FOLDERS + "/"]
    if kind:
        endings = ", ".join(_endings(kind))
        allowed = "a folder's name does not end like a file's" if is_folder else "names that end in " + endings
        return Problem("tree.unclaimed", path, found, allowed=allowed)
    if path.startswith(_FOLDERS + "/"):
        return _unclaimed_in_catalog(path, found, is_folder=is_folder)
    if is_folder:
        allowed = "site.yaml and the folders " + ", ".join(folders)
        return Problem("tree.unclaimed", path, found, allowed=allowed, nearest=nearest(path + "/", folders))
    top = path.rpartition(".")[0] or path
    allowed = "site.yaml, and documents in the folders " + ", ".join(folders)
    close = nearest(top, [*(folder[:-1] for folder in folders), "site"])
    close = "site.yaml" if close == "site" else close + "/" * bool(close)
    return Problem("tree.unclaimed", path, found, allowed=allowed, nearest=close)


def _unclaimed_in_catalog(path: str, found: str, *, is_folder: bool) -> Problem:
    known = [kind.folder.rpartition("/")[2] for kind in CATALOG]
    stem, _, ending = path.rpartition("/")[2].partition(".")
    close = nearest(stem, known)
    allowed = f"folders or files named {', '.join(known)}"
    if close and not is_folder:
        allowed += "; files end in " + ", ".join((*_ENDINGS, *COMPRESSED))
        close = f"{close}.{ending}" if f".{ending}" in (*_ENDINGS, *COMPRESSED) else ""
    return Problem("tree.unclaimed", path, found, allowed=allowed, nearest=close)


def own_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The schemas and templates that a content folder brings, with what the folder tells of them."""
    for name in OWN_FOLDERS:
        for path in below(folder / name):
            if (found := folder / name / path).is_file():
                yield f"{name}/{path}", found.stat()


def below(folder: Path, ending: str = "") -> list[str]:
    """The files below a folder whose names end so, relative to it, in order; in half of the time of `Path.rglob`.

    Where an ending is wanted, a folder that is named like such a file is among them: who reads it says so.
    """
    start = len(str(folder)) + 1
    return sorted(
        os.path.join(at, name)[start:]
        for at, folders, files in os.walk(folder)
        for name in (*files, *(folders if ending else ()))
        if name.endswith(ending)
    )


def shipped(name: str) -> Path:
    """The folder of schemas or templates that comes with the program: in the wheel, or beside src/ in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / name
    return inside if inside.is_dir() else package.parents[1] / name
