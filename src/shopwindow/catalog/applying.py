"""Applies changes to a feed: `catalog import --changes`.

How this works. A feed has marks (`marks`), and a file of changes says since which mark
it is (`changes`). Where the two fit, the files of the feed are read once, line by line,
and written anew beside it: changed documents in the place of the former ones, new ones
at the end of one file, and all other lines as they are. When everything fits, the new
feed takes the place of the old one at once (`feed_files`). A fault in any file leaves
the feed as it was.

Several files of changes are applied one after the other, each to what the one before
has written.
"""

import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from shopwindow.catalog.changes import Changes, ChangesHead, read_head
from shopwindow.catalog.feed_files import FeedFiles, FileState
from shopwindow.catalog.mapping import Mapped
from shopwindow.catalog.marks import FeedMarks
from shopwindow.catalog.other_files import other_ids, place_of
from shopwindow.catalog.rewriting import AppliedCounts, FeedRewriting
from shopwindow.content.finding import shown
from shopwindow.content.kinds import Kind
from shopwindow.content.schema import Schemas
from shopwindow.problems import Failure, failures


class ChangesImport:
    """Changes that are applied to one feed: a file, or a folder of files.

    ``report`` is called for each fault with the file, the number of the line and what is
    wrong. ``progress`` is called with the number of lines read. ``bad`` counts faults.
    Once changes were applied, ``added_to`` is the name of the file that new documents
    go to.
    """

    def __init__(
        self,
        feed: Path,
        mapped: Mapped | None,
        schemas: Schemas,
        report: Callable[[Path, int, str], None],
        progress: Callable[[int], None],
        added_to: str = "",
    ) -> None:
        """``feed``: it has a file at least. ``added_to``: the name of a file in a folder,
        which need not exist; empty: the last by name.

        Raises UnusableMapping for a mapping that needs all rows.
        """
        if mapped:
            mapped.require_rows_alone()
        self._feed, self._mapped, self._schemas = feed, mapped, schemas
        self._report, self._progress = report, progress
        # What a link leads to is replaced, and not the link.
        self._files = FeedFiles(feed.resolve())
        place = self._files.feed
        self._draft = place.with_name(f".{place.name}.changing")
        self._names: list[str] = []
        self.added_to = added_to
        self.bad = self._rows = 0

    def apply(self, files: Sequence[Path]) -> AppliedCounts | None:
        """Apply files of changes in this order.

        Return None where nothing was changed: something does not fit, and was reported,
        or the feed goes up to the last mark already. Raises Failure, and then nothing
        was changed either.
        """
        marks = FeedMarks(self._files.feed)
        unchanged = f"{self._feed} is as it was"
        self._require_mark(marks)
        with failures(self._feed, unchanged), marks.locked():
            current = self._require_mark(marks)
            self._names = self._files.names()
            self._require_files()
            self.added_to = self.added_to or self._names[-1]
            # Whoever was killed left a draft, and nobody else is at work on it.
            shutil.rmtree(self._draft, ignore_errors=True)
            self._draft.mkdir()
            try:
                planned = self._planned(files, current)
                if self.bad or not planned:
                    return None
                return self._apply_all(planned, marks)
            except sqlite3.Error as error:
                raise Failure(f"{self._draft}: {error}; {unchanged}") from None
            finally:
                shutil.rmtree(self._draft, ignore_errors=True)

    def _require_files(self) -> None:
        """Raise Failure where a file of the folder is a link, which may lead anywhere."""
        for name in self._names:
            path = self._files.root / name
            if path.is_symlink():
                raise Failure(
                    f"{self._feed / name}: a link, and a folder of links is not changed "
                    "in one step; put the file itself there"
                )

    def _require_mark(self, marks: FeedMarks) -> Sequence[str]:
        """Return the marks of the feed. Raises Failure where it has none."""
        current = marks.current()
        if not current:
            raise Failure(
                f"{self._feed}: nobody says up to which mark it goes, or it was changed since; "
                "put the whole feed there, and then `shopwindow catalog mark` records its mark"
            )
        return current

    # -- which changes fit --

    def _planned(
        self, files: Sequence[Path], current: Sequence[str]
    ) -> list[tuple[Path, ChangesHead]]:
        """Return the files that are to be applied to a feed with the marks ``current``,
        with their first lines.

        Those that the feed contains already are left out: a command that was repeated
        does no harm. A file that does not fit is reported.
        """
        planned: list[tuple[Path, ChangesHead]] = []
        for file in files:
            head = read_head(file, self._mapped, partial(self._fault, file))
            if head is None:
                continue
            self._require_kind(file, head.kind)
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

    def _require_kind(self, file: Path, kind: Kind) -> None:
        """Report changes of another kind than a file of the feed is for, by its place."""
        for name in self._names:
            place = place_of(self._named(name))
            if place and place.kind is not kind:
                found = f"changes of the kind {kind.name}"
                own = f"{self._named(name)} is for {place.kind.name}"
                self._fault(file, 1, f"{found}, and {own}")
                return

    # -- applying them --

    def _apply_all(
        self, planned: Sequence[tuple[Path, ChangesHead]], marks: FeedMarks
    ) -> AppliedCounts | None:
        """Write the feed with all changes, and put it in its place if nothing is wrong."""
        counts = AppliedCounts()
        states = self._files.states()
        written: dict[str, Path] = {}
        for number, (file, head) in enumerate(planned):
            folder = self._draft / str(number)
            folder.mkdir()
            changes = Changes(
                file,
                head.kind,
                folder / "changes.sqlite",
                self._mapped,
                self._schemas,
                partial(self._fault, file),
                self._count_row,
            )
            with closing(changes):
                self._keep_off_others(changes)
                written |= self._rewritten(written, folder, changes, counts)
            if self.bad:
                return None
            counts.mark = head.mark
        self._finish(written, states, marks, counts.mark)
        return counts

    def _rewritten(
        self,
        written: Mapping[str, Path],
        folder: Path,
        changes: Changes,
        counts: AppliedCounts,
    ) -> dict[str, Path]:
        """Write the files that the changes of one file touch, and return them by name.

        ``written``: those that earlier changes touched. ``folder``: where the new ones
        are written.
        """
        rewriting = FeedRewriting(
            self._feed, changes, counts, self._fault, self._count_row
        )
        counts.documents = 0
        others = [name for name in self._names if name != self.added_to]
        touched = {}
        # What is new is what no file has, so the file for it comes last.
        for name in [*others, self.added_to]:
            before = written.get(name, self._files.root / name)
            after = folder / name
            adds = name == self.added_to
            if rewriting.write(self._named(name), before, after, adds=adds):
                touched[name] = after
        return touched

    def _finish(
        self,
        written: dict[str, Path],
        states: Mapping[str, FileState],
        marks: FeedMarks,
        mark: str,
    ) -> None:
        """Put the new feed in the place of the old one."""
        if not written:
            marks.add(mark, self._files.digest())
            return
        new = self._files.copied(self._draft / "whole", written)
        if self._files.states() != states:
            raise Failure(
                f"{self._feed}: another program changed it meanwhile, and it is as that "
                "program left it; try again"
            )
        marks.add(mark, new.digest())
        self._files.give_way(new)

    def _keep_off_others(self, changes: Changes) -> None:
        """Report changes of documents that other files of the kind have."""
        place = place_of(self._feed)
        if place is None:
            return
        own = {self._files.root / name for name in self._names}
        for other, id in other_ids(place, own):
            change, _ = changes.take(id)
            # An optional one deletes what is there, and in this feed it is not.
            if change is None or change.optional:
                continue
            found = f"{place.kind.name} {shown(id)} is in {other}"
            fault = f"{found}, which these changes do not reach: change it there"
            self._fault(changes.file, change.line, fault)

    def _named(self, name: str) -> Path:
        """Return a file of the feed as messages name it."""
        return self._feed / name if self._files.is_folder else self._feed

    def _count_row(self, number: int) -> None:
        self._rows += 1
        self._progress(self._rows)

    def _fault(self, file: Path, line: int, fault: str) -> None:
        self.bad += 1
        self._report(file, line, fault)
