"""The catalog's part of a release: catalog.sqlite made, or taken over; two of them compared; one opened."""

import errno
import resource
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import orjson

from vitrine.content.catalog import Catalog
from vitrine.content.model import Content
from vitrine.content.processes import Progress
from vitrine.content.yaml import Json
from vitrine.problems import Failure
from vitrine.release.index import FORMAT, Index, Sources, open_index, renderer, write
from vitrine.release.stage import Stage

NAME = "catalog.sqlite"


@dataclass(frozen=True)
class Made:
    """The catalog of a release being built: its entry among the manifest's private ones, and what build.json tells.

    ``changed``: the ids of the documents that differ from the last release, by kind.
    """

    private: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)
    changed: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Before:
    """The catalog of the last release: where it is, its private entry, and what build.json tells of it."""

    path: Path
    private: Mapping[str, Any]
    note: Mapping[str, Any]


def bring(
    catalog: Catalog | None,
    content: Content,
    stage: Stage,
    before: Before | None,
    program: str,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Made:
    """Put catalog.sqlite into a release being staged, and let ``content`` answer from it.

    The last release's is linked where it was made by this very program from the same files, settings and promotions.
    Where only files differ, what they leave as it was is taken from it; the bytes are those of one made anew.
    """
    if catalog is None:
        return Made()
    around = _around(catalog, content, program)
    state = sha256(f"{around} {catalog.digest()}".encode()).hexdigest()
    if before is not None and before.note.get("state") == state and before.path.is_file():
        stage.take(NAME, str(before.path), before.note["sha256"])
        made = Made({NAME: before.private}, {"catalog": before.note})
    else:
        last = before if before is not None and _whole(before) else None
        earlier = last.path if last and last.note.get("around") == around else None
        path = Path(stage.path(NAME))
        rows = write_catalog(path, catalog, content, jobs, progress, earlier)
        note = {"state": state, "around": around, "sha256": stage.seal(NAME)}
        private = {"format": FORMAT, "rows": rows}
        differing = changed(last.path, path) if last and last.private != private else {}
        made = Made({NAME: private}, {"catalog": note}, differing)
    content.catalog = opened(Path(stage.path(NAME)))
    return made


def _whole(before: Before) -> bool:
    """Whether the last release's catalog is of this format, and its file as it was built."""
    if before.private.get("format") != FORMAT:
        return False
    try:
        with open(before.path, "rb") as file:
            return bool(file_digest(file, "sha256").hexdigest() == before.note.get("sha256"))
    except OSError:
        return False


def write_catalog(
    path: Path,
    catalog: Catalog,
    content: Content,
    jobs: int | None = None,
    progress: Progress | None = None,
    before: Path | None = None,
) -> str:
    """Write the index of a checked catalog; the digest of its rows. Raises Failure, or OSError for a full disk.

    ``before``: a whole one that is like it, to take from.
    """
    sources = Sources(
        content.value["site"],
        catalog.categories,
        catalog.brands,
        catalog.products,
        catalog.inventory,
        catalog.reviews,
        catalog.recommendations,
        catalog.synonyms,
    )
    try:
        return write(path.resolve(), sources, renderer(content), jobs, progress, before).partition(":")[2]
    except sqlite3.Error as error:
        raise OSError(_number(error), str(error), str(path)) from error


def _number(error: sqlite3.Error) -> int:
    """The system's own number for what kept SQLite from writing: it only tells that the file did not grow."""
    if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
        return errno.EIO
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    return errno.EFBIG if limited else errno.ENOSPC


def _around(catalog: Catalog, content: Content, program: str) -> str:
    """A digest of all that catalog.sqlite is made from but the files: what the stored parts of answers say besides."""
    settings = content.setting("catalog"), content.setting("bags")
    around = [FORMAT, program, settings, content.promotions(), catalog.names]
    return sha256(orjson.dumps(around)).hexdigest()


@contextmanager
def tried(content: Content, catalog: Catalog | None, jobs: int | None = None) -> Iterator[None]:
    """Content that answers from its catalog without a release: the index lasts as long as it is looked at."""
    if catalog is None:
        yield
        return
    with TemporaryDirectory(prefix="vitrine-") as folder:
        path = Path(folder) / NAME
        write_catalog(path, catalog, content, jobs)
        content.catalog = opened(path)
        yield


def opened(path: Path) -> Index:
    """The catalog in a file. Raises Failure."""
    try:
        return open_index(path)
    except (ValueError, KeyError, sqlite3.Error) as error:
        raise Failure(f"{path}: cannot be read as a catalog: {error}") from None


def of_release(release: Path) -> Index | None:
    """A release's catalog, if it has one. Raises Failure."""
    return opened(release / NAME) if (release / NAME).is_file() else None


# -- two catalogs ------------------------------------------------------------------------------------------------

Named = tuple[str, int]
"""A document of the catalog: its kind and its id."""


def changed(old: Path, new: Path) -> dict[str, list[str]]:
    """Kind → ids of the documents that differ."""
    found: dict[str, list[str]] = defaultdict(list)
    for kind, id in differing(opened(old), opened(new)):
        found[kind].append(str(id))
    return dict(found)


def differing(old: Index | None, new: Index | None) -> Iterator[Named]:
    """The documents that differ between two catalogs, by kind and id; of products also their answers count."""
    for kind in KINDS:
        before, after = (index.digests(kind) if index else () for index in (old, new))
        both = sorted_together(before, after)
        yield from ((kind, id) for id, was, now in both if was != now)


KINDS: tuple[Literal["category", "product"], ...] = ("category", "product")


def sorted_together(
    old: Iterable[tuple[int, bytes]], new: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Two ordered streams of ids and digests as one; None where one of them has not the id."""
    both = merge(((id, 0, digest) for id, digest in old), ((id, 1, digest) for id, digest in new))
    for id, group in groupby(both, itemgetter(0)):
        sides: list[bytes | None] = [None, None]
        for _, side, digest in group:
            sides[side] = digest
        yield id, sides[0], sides[1]


def document(index: Index | None, kind: str, id: int) -> Json | None:
    """A document of a catalog, as editors write it, with what is worked out beside."""
    if index is None:
        return None
    return index.product(id) if kind == "product" else index.category(id)
