"""Writes the files of a feed anew, with the changes of one file of changes.

Changed documents take the place of the former ones, new ones follow at the end of one
file, and all other lines stay as they are.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from shopwindow.catalog.changes import Changes, FeedChange
from shopwindow.catalog.foreign import numbered_lines
from shopwindow.catalog.other_files import document_in, identity_of
from shopwindow.content.finding import shown
from shopwindow.content.records import created
from shopwindow.content.yaml import Malformed


@dataclass
class AppliedCounts:
    """What changes have done: documents that were added, replaced and deleted, and those
    that the feed has now. ``mark``: up to which it goes.
    """

    mark: str = ""
    added: int = 0
    replaced: int = 0
    deleted: int = 0
    documents: int = 0


@dataclass(frozen=True)
class FeedRewriting:
    """The changes of one file, and the feed that they are for.

    Attributes:
        feed: as messages name it.
        changes: what is to be changed.
        counts: grow with every file that is written.
        report: is called for each fault with the file, the number of the line and what
            is wrong.
        progress: is called with the number of each line of the feed.
    """

    feed: Path
    changes: Changes
    counts: AppliedCounts
    report: Callable[[Path, int, str], None]
    progress: Callable[[int], None]

    def write(self, file: Path, before: Path, after: Path, *, adds: bool) -> bool:
        """Write one file of the feed with its changes.

        Args:
            file: as messages name it.
            before: where its lines are read. It may be absent.
            after: where the new file is written, with its folder.
            adds: whether it gets the documents that no file had before this one.

        Returns whether anything in it changed; otherwise ``after`` does not exist.
        Raises OSError, and Failure for a compressed file that is damaged.
        """
        with closing(_Draft(before, after)) as draft:
            self._copy(file, draft)
            if adds:
                for id, change in self.changes.left():
                    self._add(draft, f"{self.changes.kind.name} {shown(id)}", change)
            return draft.is_begun

    def _copy(self, file: Path, draft: "_Draft") -> None:
        """Write the lines of a file, with the changes of what it has."""
        kind = self.changes.kind
        for number, line in draft.lines():
            self.progress(number)
            if isinstance(line, Malformed):
                self.report(file, number, line.found)
                continue
            id = identity_of(document_in(line), kind)
            if id is None:
                fault = f"no {kind.name}: it has no {kind.identity}"
                self.report(file, number, fault)
                continue
            change, is_again = self.changes.take(id)
            if is_again:
                fault = f"{kind.name} {shown(id)} a second time, so nobody knows which is changed"
                self.report(file, number, fault)
            if change is None:
                self.counts.documents += 1
                draft.keep(line)
                continue
            draft.begin(number)
            if change.document is None:
                self.counts.deleted += 1
            else:
                self.counts.documents += 1
                self.counts.replaced += 1
                draft.keep(change.document)

    def _add(self, draft: "_Draft", named: str, change: FeedChange) -> None:
        """Write a document that the feed did not have."""
        if change.document is not None:
            draft.begin()
            self.counts.documents += 1
            self.counts.added += 1
            draft.keep(change.document)
        elif not change.optional:
            fault = f"deletes {named}, which {self.feed} does not have"
            self.report(self.changes.file, change.line, fault)


class _Draft:
    """A file that is written once one of its lines changes, and not before: to compress
    a file takes five times as long as to read it.
    """

    def __init__(self, before: Path, after: Path) -> None:
        self._before, self._after = before, after
        self._out: BinaryIO | None = None

    @property
    def is_begun(self) -> bool:
        return self._out is not None

    def lines(self) -> Iterator[tuple[int, bytes | Malformed]]:
        """Yield the lines as they were, with their numbers."""
        if self._before.exists():
            yield from numbered_lines(self._before)

    def begin(self, number: int | None = None) -> None:
        """Write all lines before the one with this number, which changes; None: all
        lines.
        """
        if self._out is not None:
            return
        self._after.parent.mkdir(parents=True, exist_ok=True)
        self._out = created(self._after)
        for earlier, line in self.lines():
            if earlier == number:
                break
            # A line that cannot be read was reported, so nobody gets this file.
            if not isinstance(line, Malformed):
                self.keep(line)

    def keep(self, line: bytes) -> None:
        """Write a line, and the end of it, if the file is being written."""
        if self._out is not None:
            self._out.write(line.rstrip(b"\r\n") + b"\n")

    def close(self) -> None:
        if self._out is not None:
            self._out.close()
