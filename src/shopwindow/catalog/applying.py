"""Applies changes to a feed: `catalog import --changes`.

How this works. A feed has marks (`marks`), and a file of changes says since which mark
it is (`changes`). Where the two fit, the feed is read once, line by line, and written
anew beside itself: changed documents in the place of the former ones, new ones at the
end, and all other lines as they are. When everything fits, the new feed takes the place
of the old one at once. A fault in any file leaves the feed as it was.

Several files are applied one after the other, each to what the one before has written.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from shopwindow.catalog.changes import Changes, ChangesHead, FeedChange, read_head
from shopwindow.catalog.foreign import numbered_lines
from shopwindow.catalog.kinds import KINDS
from shopwindow.catalog.mapping import Mapped
from shopwindow.catalog.mapping_checks import UnusableMapping
from shopwindow.catalog.marks import FeedMarks, digest_of
from shopwindow.content.finding import shown
from shopwindow.content.kinds import Kind
from shopwindow.content.records import BYTE_ORDER_MARK, created
from shopwindow.content.schema import Schemas
from shopwindow.content.yaml import Malformed
from shopwindow.problems import Failure, failures


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


class ChangesImport:
    """Changes that are applied to one feed.

    ``report`` is called for each fault with the file, the number of the line and what is
    wrong. ``progress`` is called with the number of lines read. ``bad`` counts faults.
    """

    def __init__(
        self,
        feed: Path,
        mapped: Mapped | None,
        schemas: Schemas,
        report: Callable[[Path, int, str], None],
        progress: Callable[[int], None],
    ) -> None:
        """Raises UnusableMapping for a mapping that needs all rows."""
        if mapped and (mapped.once or mapped.limit or mapped.references):
            raise UnusableMapping(
                (),
                "once, limit or known, which need all rows of a feed",
                "a mapping without them, for changes are some of the rows",
            )
        self._feed, self._mapped, self._schemas = feed, mapped, schemas
        self._report, self._progress = report, progress
        # What a link leads to is replaced, and not the link.
        self._file = feed.resolve()
        self._draft = self._file.with_name(f".{self._file.name}.changing")
        self.bad = 0

    def apply(self, files: Sequence[Path]) -> AppliedCounts | None:
        """Apply files of changes in this order.

        Return None where nothing was changed: something does not fit, and was reported,
        or the feed goes up to the last mark already. Raises Failure, and then nothing
        was changed either.
        """
        marks = FeedMarks(self._file)
        unchanged = f"{self._feed} is as it was"
        self._require_mark(marks)
        with failures(self._feed, unchanged), marks.locked():
            current = self._require_mark(marks)
            # Whoever was killed left a draft, and nobody else is at work on it.
            shutil.rmtree(self._draft, ignore_errors=True)
            self._draft.mkdir()
            try:
                planned = self._planned(files, current)
                if self.bad or not planned:
                    return None
                counts = self._apply_all(planned)
                if self.bad:
                    return None
                self._finish(marks, counts.mark)
                return counts
            except sqlite3.Error as error:
                raise Failure(f"{self._draft}: {error}; {unchanged}") from None
            finally:
                shutil.rmtree(self._draft, ignore_errors=True)

    def _require_mark(self, marks: FeedMarks) -> Sequence[str]:
        """Return the marks of the feed. Raises Failure where it has none."""
        current = marks.current()
        if not current:
            raise Failure(
                f"{self._feed}: nobody says up to which mark it goes, or it was changed since; "
                "put the whole feed there, and then `shopwindow catalog mark` records its mark"
            )
        return current

    @property
    def _written(self) -> Path:
        """The feed that is written. It has the feed's name, for gzip stores it."""
        return self._draft / self._file.name

    def _finish(self, marks: FeedMarks, mark: str) -> None:
        """Put the new feed in the place of the old one."""
        shutil.copymode(self._file, self._written)
        with open(self._written, "rb") as file:
            os.fsync(file.fileno())
        marks.add(mark, digest_of(self._written))
        os.replace(self._written, self._file)
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _planned(
        self, files: Sequence[Path], current: Sequence[str]
    ) -> list[tuple[Path, ChangesHead]]:
        """Return the files that are to be applied to a feed with the marks ``current``,
        with their first lines.

        Those that the feed contains already are left out: a command that was repeated
        does no harm. A file that does not fit is reported.
        """
        own = _kind_at(self._feed)
        planned: list[tuple[Path, ChangesHead]] = []
        for file in files:
            head = read_head(file, self._mapped, partial(self._fault, file))
            if head is None:
                continue
            if own and head.kind is not own:
                found = f"changes of the kind {head.kind.name}"
                self._fault(file, 1, f"{found}, and {self._feed} is for {own.name}")
            planned.append((file, head))
            if head.mark in current:
                planned.clear()

        marks = current
        for file, head in planned:
            if head.since not in marks:
                is_first = marks is current
                where = f"{self._feed} goes" if is_first else "the changes before go"
                found = (
                    f"since {shown(head.since)}, and {where} up to {shown(marks[-1])}"
                )
                self._fault(file, 1, f"{found}; allowed: changes since that mark")
            marks = (head.mark,)
        return planned

    def _apply_all(self, planned: Sequence[tuple[Path, ChangesHead]]) -> AppliedCounts:
        """Write the feed with all changes, as far as nothing is wrong."""
        counts = AppliedCounts()
        feed = self._file
        for number, (file, head) in enumerate(planned):
            if number:
                before = self._draft / f"{number}-{self._file.name}"
                feed = self._written.rename(before)
            report = partial(self._fault, file)
            changes = Changes(
                file,
                head.kind,
                self._draft / f"{number}.sqlite",
                self._mapped,
                self._schemas,
                report,
                self._progress,
            )
            with closing(changes):
                self._rewrite(feed, file, head.kind, changes, counts)
            if self.bad:
                break
            counts.mark = head.mark
        return counts

    def _rewrite(
        self,
        feed: Path,
        file: Path,
        kind: Kind,
        changes: Changes,
        counts: AppliedCounts,
    ) -> None:
        """Write a feed with the changes of one file."""
        counts.documents = 0
        with created(self._written) as out:
            for number, line in numbered_lines(feed):
                self._progress(number)
                if isinstance(line, Malformed):
                    self._fault(self._feed, number, line.found)
                    continue
                id = _id_of(line, kind)
                if id is None:
                    fault = f"no {kind.name}: it has no {kind.identity}"
                    self._fault(self._feed, number, fault)
                    continue
                change, is_again = changes.take(id)
                if is_again:
                    fault = f"{kind.name} {shown(id)} a second time, so nobody knows which is changed"
                    self._fault(self._feed, number, fault)
                if change is None:
                    _write(out, line, counts)
                elif change.document is None:
                    counts.deleted += 1
                else:
                    counts.replaced += 1
                    _write(out, change.document, counts)
            for id, change in changes.left():
                self._add(out, file, f"{kind.name} {shown(id)}", change, counts)

    def _add(
        self,
        out: BinaryIO,
        file: Path,
        named: str,
        change: FeedChange,
        counts: AppliedCounts,
    ) -> None:
        """Write a document that the feed did not have."""
        if change.document is not None:
            counts.added += 1
            _write(out, change.document, counts)
        elif not change.optional:
            fault = f"deletes {named}, which {self._feed} does not have"
            self._fault(file, change.line, fault)

    def _fault(self, file: Path, line: int, fault: str) -> None:
        self.bad += 1
        self._report(file, line, fault)


def _kind_at(feed: Path) -> Kind | None:
    """Return the kind of the documents in a feed of a content folder, by its place; None
    where it lies elsewhere.
    """
    kinds = {kind.folder: kind for kind in KINDS}
    for folder, name in pairwise(feed.absolute().parts):
        kind = kinds.get(f"{folder}/{name.partition('.')[0]}")
        if kind:
            return kind
    return None


def _write(out: BinaryIO, line: bytes, counts: AppliedCounts) -> None:
    """Write a document, which ends its line."""
    counts.documents += 1
    out.write(line.rstrip(b"\r\n") + b"\n")


def _id_of(line: bytes, kind: Kind) -> Any:
    """Return what identifies the document of a line, or None."""
    try:
        document = orjson.loads(line.removeprefix(BYTE_ORDER_MARK))
    except orjson.JSONDecodeError:
        return None
    return document.get(kind.identity) if isinstance(document, dict) else None
