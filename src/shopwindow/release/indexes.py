"""The indexes of a release being built: each is linked from the previous release, built
upon it, or built from the start.

An index is a function of its files, of what the Interface says it needs beside them,
and of this program. Where none of these has changed, the previous release's file is the
very file that a build would write, and is linked. Where only the files have changed,
the previous index is the start of the new one.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.documents import Content
from shopwindow.content.executor import Processes
from shopwindow.content.scratch import scratch
from shopwindow.interface.index import HandedOut, Index
from shopwindow.release.order import BuildOrder
from shopwindow.release.stage import Stage


@dataclass(frozen=True)
class PreviousIndex:
    """An index of the previous release.

    ``path``: its file. ``private``: its private entry in the manifest. ``note``: its
    note in build.json; empty where that names no digest.
    """

    path: Path
    private: Mapping[str, Any]
    note: Mapping[str, Any]

    def is_of(self, state: str) -> bool:
        """Return whether a build of this state would write this very file."""
        return self.note.get("state") == state and self.path.is_file()

    def fault(self, format: int) -> str | None:
        """Return why nothing is taken over from the file: it has another format, or not
        the bytes that were built. None: it is intact.
        """
        if self.private.get("format") != format:
            return f"the previous one has format {self.private.get('format')}, not {format}"
        try:
            with open(self.path, "rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return f"the previous one cannot be read: {error.strerror}"
        if digest != self.note.get("sha256"):
            return "the previous one is damaged: it has not the bytes that were built"
        return None


@dataclass(frozen=True)
class BuiltIndexes:
    """The indexes of one release.

    ``private``: their entries in the manifest, by file. ``notes``: those in build.json,
    by the index's name. ``changed``: kind → identities of the documents that differ
    from the previous release. ``opened``: by name, what views ask. ``anew``: why an
    index was built without the previous one, by its file, where that was at fault.
    """

    private: Mapping[str, Mapping[str, Any]]
    notes: Mapping[str, Mapping[str, Any]]
    changed: Mapping[str, Sequence[str]]
    opened: Mapping[str, Any]
    anew: Mapping[str, str] = field(default_factory=dict)

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each index's file, by the index's name.

        That is what an answer has read that asks the index.
        """
        return {name: note["sha256"] for name, note in self.notes.items()}


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
    executor = order.executor or Processes(order.processes)
    private: dict[str, Mapping[str, Any]] = {}
    notes: dict[str, Mapping[str, Any]] = {}
    changed: dict[str, Sequence[str]] = {}
    opened: dict[str, Any] = {}
    anew: dict[str, str] = {}
    for index in order.interface.indexes:
        if index.name not in order.documents.feeds:
            continue
        feeds = order.documents.feeds[index.name]
        beside, state = index_state(index, feeds, content, order.program)
        old = previous.get(index.name)
        path = Path(stage.path(index.file))

        if old is not None and old.is_of(state):
            stage.take(index.file, str(old.path), old.note["sha256"])
            private[index.file], notes[index.name] = old.private, old.note
        else:
            fault = old.fault(index.format) if old is not None else None
            if fault:
                anew[index.file] = fault
            intact = None if fault else old
            start = (
                intact.path if intact and intact.note.get("beside") == beside else None
            )
            rows = index.build(feeds, content, path, start, executor, order.progress)
            private[index.file] = {"format": index.format, "rows": rows}
            digest = stage.seal(index.file)
            notes[index.name] = {"state": state, "beside": beside, "sha256": digest}
            if intact is not None and intact.private != private[index.file]:
                changed |= differences(index, intact.path, path)
        opened[index.name] = index.open(path)
    return BuiltIndexes(private, notes, changed, opened, anew)


def index_state(
    index: Index, feeds: Any, content: Content, program: str
) -> tuple[str, str]:
    """Return two digests: of what an index is built from beside its files, and of that
    with the files.
    """
    beside = _digest([index.format, program, index.beside(feeds, content)])
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
) -> Iterator[Content]:
    """Yield content that answers from its indexes without a release.

    ``feeds``: what each index is built from, by its name. ``handed_out`` is called with
    each document that an index returns. The files are deleted at the end.
    """
    with scratch() as folder:
        opened = {}
        for index in indexes:
            if index.name in feeds:
                path = folder / index.file
                index.build(feeds[index.name], content, path, executor=Processes(jobs))
                opened[index.name] = index.open(path, handed_out)
        yield content.with_indexes(opened)
