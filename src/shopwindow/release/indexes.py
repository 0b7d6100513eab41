"""The indexes of a release being built: each is linked from the previous release, built
upon it, or built from the start.

An index is a function of its files, of what the Interface says it needs beside them,
and of this program. Where none of these has changed, the previous release's file is the
very file that a build would write, and is linked. Where only the files have changed,
the previous index is the start of the new one.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.documents import Content
from shopwindow.content.scratch import scratch
from shopwindow.content.steps import Steps, no_steps, step_around
from shopwindow.interface.index import HandedOut, Index
from shopwindow.problems import Failure
from shopwindow.release.damage import is_damaged
from shopwindow.release.order import BuildOrder, BuiltIndexes, OpenIndexes
from shopwindow.release.stage import Stage, is_unchanged

INDEXING = "indexing"
"""The step in which indexes are built, as people see it."""


@dataclass(frozen=True)
class PreviousIndex:
    """An index of the previous release.

    ``path``: its file. ``private``: its private entry in the manifest. ``note``: its
    note in build.json; empty where that names no digest. ``program``: the digest of the
    program that built it; None where build.json does not say.
    """

    path: Path
    private: Mapping[str, Any]
    note: Mapping[str, Any]
    program: str | None = None

    def is_of(self, state: str) -> bool:
        """Return whether a build of this state would write this very file, which seems
        to be as it was built. Its bytes are not read.
        """
        return (
            self.note.get("state") == state
            and self.path.is_file()
            and is_unchanged(str(self.path), self.note["sha256"])
        )

    def fault(self, format: int) -> str | None:
        """Return why nothing is taken over from the file: it has another format, or not
        the bytes that were built. None: it is intact.
        """
        if self.private.get("format") != format:
            return f"the previous one has format {self.private.get('format')}, not {format}"
        return self.damage()

    def damage(self) -> str | None:
        """Return what is wrong with the file's bytes, all of which are read; None:
        nothing.
        """
        try:
            with open(self.path, "rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return f"the previous one cannot be read: {error.strerror}"
        if digest != self.note.get("sha256"):
            return "the previous one is damaged: it has not the bytes that were built"
        return None


def build(
    order: BuildOrder,
    content: Content,
    previous: Mapping[str, PreviousIndex],
    stage: Stage,
) -> BuiltIndexes:
    """Stage every index of which the order's documents have files.

    ``previous``: the previous release's indexes, by name. Raises Failure, or OSError
    for a full disk.
    """
    private: dict[str, Mapping[str, Any]] = {}
    notes: dict[str, Mapping[str, Any]] = {}
    changed: dict[str, Sequence[str]] = {}
    anew: dict[str, str] = {}
    paths: dict[str, Path] = {}
    is_previous_damaged = False
    for index in order.interface.indexes:
        if index.name not in order.documents.feeds:
            continue
        feeds = order.documents.feeds[index.name]
        beside, state = index_state(index, feeds, content, order.program)
        old = previous.get(index.name)
        path = Path(stage.path(index.file))

        if old is not None and old.is_of(state) and _opens(index, old.path):
            stage.take(index.file, str(old.path), old.note["sha256"])
            private[index.file], notes[index.name] = old.private, old.note
        else:
            fault = old.fault(index.format) if old is not None else None
            intact = None if fault else old
            if fault:
                anew[index.file] = fault
                is_previous_damaged = True
            elif intact is not None and intact.program != order.program:
                anew[index.file] = OTHER_PROGRAM
            start = (
                intact.path if intact and intact.note.get("beside") == beside else None
            )
            if start and (obstacle := index.obstacle(start)):
                anew[index.file] = obstacle
                start = None
            with step_around(order.steps, INDEXING) as progress:
                rows = index.build(feeds, content, path, start, order.jobs, progress)
            private[index.file] = {"format": index.format, "rows": rows}
            digest = stage.seal(index.file)
            notes[index.name] = {"state": state, "beside": beside, "sha256": digest}
            if intact is not None and intact.private != private[index.file]:
                changed |= differences(index, intact.path, path)
        paths[index.name] = path

    def opened(handed_out: HandedOut | None) -> Mapping[str, Any]:
        return {
            index.name: index.open(paths[index.name], handed_out)
            for index in order.interface.indexes
            if index.name in paths
        }

    return BuiltIndexes(
        private, notes, changed, opened(None), opened, anew, is_previous_damaged
    )


OTHER_PROGRAM = "another version of this program built the previous one"
"""Why an index is built from the start after an upgrade: what a program wrote into the
rows is for itself to know.
"""


def _opens(index: Index, path: Path) -> bool:
    """Return whether an index's file can be opened; it is not read any further."""
    try:
        index.open(path)
    except Failure:
        return False
    return True


@contextmanager
def damage_reported(previous: Mapping[str, PreviousIndex]) -> Iterator[None]:
    """Raise Failure instead of SQLite's error where an index of the previous release is
    damaged.

    An index that did not change is linked unread, because reading one takes as long as
    a build of everything else. Where a disk lost some of its bytes, and nothing has set
    another time, the first view that reads them notices.
    """
    try:
        yield
    except sqlite3.Error as error:
        for index in previous.values() if is_damaged(error) else ():
            if damage := index.damage():
                raise Failure(
                    f"{index.path}: {damage}; `shopwindow build --no-cache` writes every file again"
                ) from None
        raise


def index_state(
    index: Index, feeds: Any, content: Content, program: str
) -> tuple[str, str]:
    """Return two digests: of what an index is built from beside its files, and of that
    with the files.
    """
    beside = _digest([index.format, program, index.beside(content)])
    return beside, _digest([beside, index.digest(feeds)])


def _digest(value: Any) -> str:
    return sha256(orjson.dumps(value)).hexdigest()


def differences(index: Index, old: Path, new: Path) -> dict[str, list[str]]:
    """Return, by kind, the identities of the documents that differ between two files of
    an index.
    """
    changed: dict[str, list[str]] = defaultdict(list)
    for kind, identity in index.differences(index.open(old), index.open(new)):
        changed[kind].append(identity)
    return dict(changed)


@contextmanager
def temporary(
    indexes: Sequence[Index],
    feeds: Mapping[str, Any],
    content: Content,
    jobs: int | None = None,
    handed_out: HandedOut | None = None,
    steps: Steps = no_steps,
) -> Iterator[Content]:
    """Yield content that answers from its indexes without a release.

    ``feeds``: what each index is built from, by its name. ``handed_out`` is called with
    each document that an index returns. ``steps`` follows how they are built. The files
    are deleted at the end.
    """
    with scratch() as folder:
        opened = {}
        for index in indexes:
            if index.name in feeds:
                path = folder / index.file
                with step_around(steps, INDEXING) as progress:
                    index.build(
                        feeds[index.name],
                        content,
                        path,
                        jobs=jobs,
                        progress=progress,
                    )
                opened[index.name] = index.open(path, handed_out)
        yield content.with_indexes(opened)


@contextmanager
def on_demand(
    indexes: Sequence[Index],
    feeds: Mapping[str, Any],
    content: Content,
    file_of: Callable[[str], Path] | None = None,
    jobs: int | None = None,
) -> Iterator[OpenIndexes]:
    """Yield what opens indexes that are built once somebody asks them something.

    To build one takes a while, and most answers need none. ``file_of`` returns the file
    of an index by its name; without it, each is built in a temporary folder, at most
    once.
    """
    with ExitStack() as stack:

        @cache
        def built(name: str) -> Path:
            index = next(one for one in indexes if one.name == name)
            path = stack.enter_context(scratch()) / index.file
            index.build(feeds[name], content, path, jobs=jobs)
            return path

        file = file_of or built

        def opened(handed_out: HandedOut | None) -> Mapping[str, Any]:
            return {
                index.name: _OpenedWhenAsked(index, file, handed_out)
                for index in indexes
                if index.name in feeds
            }

        yield opened


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
