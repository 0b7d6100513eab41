"""The indexes of a release being built: each is linked from the previous release, or
built.

An index is a function of its files, of what the Interface says it needs beside them,
and of this program. Where none of these has changed, the previous release's file is the
very file that a build would write, and is linked.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.documents.documents import Content, Documents
from shopwindow.content.reading.processes import Steps, no_steps, step_around
from shopwindow.content.reading.scratch import scratch
from shopwindow.interface.declaring.index import HandedOut, Index
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release.damage import is_damaged
from shopwindow.release.order import Asking, BuildInputs, OpenIndexes
from shopwindow.release.stage import WRITES_AGAIN, Stage

INDEXING = "indexing"
"""The step in which indexes are built, as people see it."""


@dataclass(frozen=True)
class IndexFile:
    """An index of a release.

    ``path``: its file. ``private``: its private entry in the manifest. ``note``: its
    note in build.json, which names its digest.
    """

    path: Path
    private: Mapping[str, Any]
    note: Mapping[str, Any]


IndexFiles = Mapping[str, IndexFile]
"""The indexes of a release, by their names."""


@dataclass(frozen=True)
class BuiltIndexes:
    """The indexes of a release being built.

    ``changed``: kind → identities of the documents that differ from the previous
    release. ``open`` opens the indexes.
    """

    files: IndexFiles
    changed: Mapping[str, Sequence[str]]
    open: OpenIndexes


def digests_of(files: IndexFiles) -> dict[str, str]:
    """Return the digest of each index's file, by the index's name.

    That is what an answer has read that asks the index.
    """
    return {name: file.note["sha256"] for name, file in files.items()}


def build(
    inputs: BuildInputs,
    content: Content,
    previous: IndexFiles,
    stage: Stage,
    *,
    jobs: int | None,
    steps: Steps,
) -> BuiltIndexes:
    """Stage every index of which the documents have files.

    ``previous``: the indexes of the previous release. ``jobs`` and ``steps`` are those of
    a BuildOrder. Raises Failure, or OSError for a full disk.
    """
    files: dict[str, IndexFile] = {}
    changed: dict[str, Sequence[str]] = {}
    for index in inputs.interface.indexes:
        if index.name not in inputs.documents.feeds:
            continue
        feeds = inputs.documents.feeds[index.name]
        state = index_state(index, feeds, content, inputs.program)
        old = previous.get(index.name)

        if old is not None and old.private.get("format") != index.format:
            old = None
        if old is not None and old.note.get("state") == state:
            stage.take(index.file, str(old.path), old.note["sha256"])
            files[index.name] = old
            continue
        path = Path(stage.path(index.file))
        with step_around(steps, INDEXING) as progress:
            rows = index.build(feeds, content, path, jobs, progress)
        private = {"format": index.format, "rows": rows}
        note = {"state": state, "sha256": stage.seal(index.file)}
        files[index.name] = IndexFile(path, private, note)
        if old is not None and old.private != private:
            changed |= differences(index, old.path, path)

    def opened(handed_out: HandedOut | None) -> Mapping[str, Any]:
        return {
            index.name: index.open(files[index.name].path, handed_out)
            for index in inputs.interface.indexes
            if index.name in files
        }

    return BuiltIndexes(files, changed, opened)


@contextmanager
def damage_reported(previous: IndexFiles) -> Iterator[None]:
    """Raise Failure instead of SQLite's error where an index of the previous release is
    damaged.

    An index that did not change is linked unread, because reading one takes as long as
    a build of everything else. Where a disk lost some of its bytes, the first view that
    reads them notices.
    """
    try:
        yield
    except sqlite3.Error as error:
        if not previous or not is_damaged(error):
            raise
        files = ", ".join(str(index.path) for index in previous.values())
        raise Failure(f"{files}: is damaged: {error}; {WRITES_AGAIN}") from error


def index_state(index: Index, feeds: Any, content: Content, program: str) -> str:
    """Return a digest of all that an index is built from."""
    made_of = [index.format, program, index.beside(content), index.digest(feeds)]
    return sha256(orjson.dumps(made_of)).hexdigest()


def differences(index: Index, old: Path, new: Path) -> dict[str, list[str]]:
    """Return, by kind, the identities of the documents that differ between two files of
    an index.
    """
    changed: dict[str, list[str]] = defaultdict(list)
    for kind, identity in index.differences(index.open(old), index.open(new)):
        changed[kind].append(identity)
    return dict(changed)


@contextmanager
def on_demand(
    interface: Interface,
    documents: Documents,
    content: Content,
    file_of: Callable[[str], Path] | None = None,
    jobs: int | None = None,
    steps: Steps = no_steps,
) -> Iterator[Asking]:
    """Yield what requests are answered from, with indexes that are built once somebody
    asks them something.

    To build one takes a while, and most answers need none. ``content`` holds those of
    ``documents`` that are live. ``file_of`` returns the file of an index by its name;
    without it, each is built in a temporary folder, at most once, and ``steps`` follows
    that.
    """
    feeds = documents.feeds
    with ExitStack() as stack:

        @cache
        def built(name: str) -> Path:
            index = next(one for one in interface.indexes if one.name == name)
            path = stack.enter_context(scratch()) / index.file
            with step_around(steps, INDEXING) as progress:
                index.build(feeds[name], content, path, jobs=jobs, progress=progress)
            return path

        file = file_of or built

        def opened(handed_out: HandedOut | None) -> Mapping[str, Any]:
            return {
                index.name: _OpenedWhenAsked(index, file, handed_out)
                for index in interface.indexes
                if index.name in feeds
            }

        yield Asking(interface, documents, content, opened)


class _OpenedWhenAsked:
    """Stands for an index that is opened once a view asks it something."""

    def __init__(
        self, index: Index, file: Callable[[str], Path], handed_out: HandedOut | None
    ) -> None:
        self._index, self._file, self._handed_out = index, file, handed_out

    @cached_property
    def _opened(self) -> Any:
        return self._index.open(self._file(self._index.name), self._handed_out)

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._opened, verb)
