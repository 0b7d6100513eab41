"""The rows of all lines, in the memory of a content folder: a check writes them, a build
copies them, and the next check begins with them.

The file is replaced as a whole once a check has found nothing wrong, and a note beside it
has its digest. Where it is gone, damaged or another one, all lines are checked again.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path

import orjson

from shopwindow.catalog.feeds.entries import NumberedLine
from shopwindow.catalog.feeds.record_check import RecordCheck
from shopwindow.catalog.feeds.rules import Referable
from shopwindow.catalog.index.file import copied
from shopwindow.catalog.index.lines import Faulty, Feeds, Line
from shopwindow.content.check.feeds import FeedReport, RecordBasis
from shopwindow.content.check.memory import Memory
from shopwindow.content.check.records import FeedBatch, FeedLines
from shopwindow.content.reading.processes import Progress
from shopwindow.content.reading.scratch import scratch
from shopwindow.content.reading.yaml import BYTE_ORDER_MARK, Json, Malformed
from shopwindow.problems import Failure

FILE = "catalog-lines"
"""The name of the file with the rows, in the memory of the folder."""

NOTE = "catalog"
"""The note of the state of feeds in which nothing was wrong, and of the file's digest."""


class CheckedLines:
    """Reads the lines of feeds, and checks each by itself."""

    def __init__(self, basis: RecordBasis, referable: Referable) -> None:
        self.basis, self.referable = basis, referable

    def lines(self, batch: FeedBatch) -> Iterator[Line]:
        """Yield the lines of a batch. Raises Faulty where it cannot be read."""
        if batch.source.is_feed:
            for number, text in FeedLines(self.basis.folder, batch):
                if isinstance(text, Malformed):
                    raise Faulty
                yield Line(text.removeprefix(BYTE_ORDER_MARK).strip(), (number, text))
            return
        for value in self._checked(batch, ()):
            yield Line(orjson.dumps(value), value)

    def documents(self, batch: FeedBatch, lines: Sequence[Line]) -> Iterator[Json]:
        """Yield the documents of some lines. Raises Faulty where one is at fault."""
        records = [line.record for line in lines]
        return self._checked(batch, records) if batch.source.is_feed else iter(records)

    def _checked(
        self, batch: FeedBatch, lines: Sequence[NumberedLine]
    ) -> Iterator[Json]:
        """Yield documents in which nothing is wrong by itself."""
        report = FeedReport()
        check = RecordCheck(self.basis, self.referable)
        for entry in check.entries(batch, lines, report, limit=1):
            if entry.findings or report.has_problems:
                raise Faulty
            yield entry.value
        if report.has_problems:
            raise Faulty


class CheckedCatalog:
    """A catalog, once it is checked: what the index is built from, and the rows of all
    its lines.

    ``agree`` returns whether the rows of all lines agree with each other. ``memory`` has
    the rows once they are checked.
    ``state``: that of everything that the check reads; empty where it may change unseen.
    """

    def __init__(
        self,
        feeds: Feeds,
        agree: Callable[[sqlite3.Connection], bool],
        memory: Memory,
        state: str,
    ) -> None:
        self.feeds, self._agree = feeds, agree
        self._memory, self._state = memory, state
        # Of the file, as noted; None: this process has written it.
        self._digest: str | None = None
        # It stays what it is, whatever another check writes in its place.
        self._file: BufferedReader | None = None

    def digest(self) -> str:
        """Return a digest of what all documents follow from, the same on any machine."""
        digests = sorted(self.feeds.digests().items())
        return sha256(orjson.dumps([digests, list(self.feeds.stores)])).hexdigest()

    def lines(self, kind: str) -> Iterator[Line]:
        """Yield the lines of a kind as the files have them now, up to one that cannot be
        read: a file may have changed since the check.
        """
        with suppress(Faulty):
            for batch in self.feeds.batches[kind]:
                yield from self.feeds.reader.lines(batch)

    def check(self, jobs: int | None, progress: Progress | None) -> bool:
        """Check the lines that are not known, and all of them together.

        Returns whether that was done: it is not where the disk does not take the rows.
        Raises Faulty where something is wrong.
        """
        memory = self._memory
        stored = memory.file(FILE)
        state, _, self._digest = memory.noted(NOTE).partition(" ")
        self._file = _opened(stored)
        if self._state and self._state == state and (self._file or not stored):
            return True
        start, self._file = self._intact(), None
        draft = memory.draft(FILE)
        if draft and stored and self._has_taken(draft, start, jobs, progress):
            with suppress(OSError), open(draft, "rb") as written:
                digest = file_digest(written, "sha256").hexdigest()
                draft.replace(stored)
                memory.note(NOTE, f"{self._state} {digest}")
            return True
        with scratch() as folder:
            return self._has_taken(folder / FILE, start, jobs, progress)

    def _has_taken(
        self,
        path: Path,
        start: BufferedReader | None,
        jobs: int | None,
        progress: Progress | None,
    ) -> bool:
        """Write the rows of all lines into a new file, and hold it open.

        Returns whether the disk takes it. Raises Faulty.
        """
        from shopwindow.catalog.index.taking import take  # with numpy, 0.07 s

        try:
            take(path, self.feeds, start, self._agree, jobs, progress)
            self._file = _opened(path)
        except (OSError, sqlite3.Error):
            return False
        finally:
            if self._file is None:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        self._digest = None
        return self._file is not None

    def _intact(self) -> BufferedReader | None:
        """Return the file, if it has the bytes that were written."""
        if self._file is None or self._digest is None:
            return self._file
        self._file.seek(0)
        is_intact = file_digest(self._file, "sha256").hexdigest() == self._digest
        return self._file if is_intact else None

    def write(self, path: Path, jobs: int | None, progress: Progress | None) -> None:
        """Write the rows of all lines into a new file.

        Raises Failure where a feed was changed since it was checked, and sqlite3.Error or
        OSError where the disk does not take the file.
        """
        from shopwindow.catalog.index.taking import take

        intact = self._intact()
        if intact:
            copied(intact, path)
            return
        self._memory.note(NOTE, " ")  # so the next check writes them again
        try:
            take(path, self.feeds, None, self._agree, jobs, progress)
        except Faulty:
            raise Failure(
                "the feeds of the catalog were changed while they were read; try again"
            ) from None


def _opened(path: Path | None) -> BufferedReader | None:
    with suppress(OSError):
        return open(path, "rb") if path else None
    return None
