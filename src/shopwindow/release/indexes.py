"""The indexes of a release being built: each linked from the previous release, built upon it,
or built anew.

An index is a function of its files, of what the Interface says it needs beside them, and of
this program. Where none of these has changed, the previous release's file is the very file that
a build would write, and is linked. Where only the files have changed, the previous file may
serve as a start.
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
from shopwindow.content.processes import Progress
from shopwindow.content.scratch import scratch
from shopwindow.interface.index import Index
from shopwindow.release.stage import Stage


@dataclass(frozen=True)
class PreviousIndex:
    """An index of the previous release: its file, its private entry in the manifest, and its
    note in build.json.
    """

    path: Path
    private: Mapping[str, Any]
    note: Mapping[str, Any]

    def is_intact(self, format: int) -> bool:
        """Whether the file is of this format and has the bytes that were built."""
        if self.private.get("format") != format:
            return False
        try:
            with open(self.path, "rb") as file:
                return file_digest(file, "sha256").hexdigest() == self.note.get("sha256")
        except OSError:
            return False


@dataclass(frozen=True)
class BuiltIndexes:
    """The indexes of one release.

    ``private`` are entries of the manifest by file, ``notes`` those of build.json by index.
    ``changed`` holds, by kind, the identities of the documents that differ from the previous
    release. ``opened`` answers views.
    """

    private: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    changed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    opened: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each index's file, by the index's name: what an answer that asks it has
        read.
        """
        return {name: note["sha256"] for name, note in self.notes.items()}


def build(
    indexes: Sequence[Index],
    feeds: Mapping[str, Any],
    content: Content,
    stage: Stage,
    previous: Mapping[str, PreviousIndex],
    program: str,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> BuiltIndexes:
    """Put every index that has ``feeds`` into a release being staged.

    ``previous`` holds the previous release's indexes by name. Raises Failure, or OSError for a
    full disk.
    """
    private: dict[str, Mapping[str, Any]] = {}
    notes: dict[str, Mapping[str, Any]] = {}
    changed: dict[str, Sequence[str]] = {}
    opened: dict[str, Any] = {}
    for index in indexes:
        if index.name not in feeds:
            continue
        before = previous.get(index.name)
        beside = _digest_of([index.format, program, index.beside(feeds[index.name], content)])
        state = _digest_of([beside, index.digest(feeds[index.name])])
        path = Path(stage.path(index.file))
        if before is not None and before.note.get("state") == state and before.path.is_file():
            stage.take(index.file, str(before.path), before.note["sha256"])
            private[index.file], notes[index.name] = before.private, before.note
        else:
            intact = before if before is not None and before.is_intact(index.format) else None
            start = intact.path if intact and intact.note.get("beside") == beside else None
            rows = index.build(feeds[index.name], content, path, start, jobs, progress)
            private[index.file] = {"format": index.format, "rows": rows}
            notes[index.name] = {
                "state": state,
                "beside": beside,
                "sha256": stage.seal(index.file),
            }
            if intact is not None and intact.private != private[index.file]:
                changed |= differences(index, intact.path, path)
        opened[index.name] = index.open(path)
    return BuiltIndexes(private, notes, changed, opened)


def _digest_of(value: Any) -> str:
    return sha256(orjson.dumps(value)).hexdigest()


def differences(index: Index, old: Path, new: Path) -> dict[str, list[str]]:
    """Return, by kind, the identities of the documents that differ between two files of an
    index.
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
) -> Iterator[Content]:
    """Yield content that answers from its indexes without a release: they last as long as they
    are looked at.
    """
    with scratch() as folder:
        opened = {}
        for index in indexes:
            if index.name in feeds:
                path = folder / index.file
                index.build(feeds[index.name], content, path, jobs=jobs)
                opened[index.name] = index.open(path)
        yield content.with_indexes(opened)
