"""The check of blocks of feeds, each record by itself: the part that many can share.

A BlockCheck reads nothing but its blocks, and what other records decide is not known
here. So several processes may share the blocks. It returns what is wrong, and writes the
numbers on which all records must agree into files of its own; `catalog.large` compares
these.
"""

from __future__ import annotations  # array[int]

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from shopwindow.catalog import rules
from shopwindow.catalog.checked_chunks import (
    CheckedChunks,
    ColumnNumbers,
    NumberedLine,
    chunks_of,
    digest_of,
)
from shopwindow.catalog.columns import ColumnShare, ColumnWriter
from shopwindow.catalog.entries import (
    RecordEntry,
    RecordPlaces,
    entries_of,
    report_line,
)
from shopwindow.catalog.rules import Referable
from shopwindow.content.check.feeds import FeedReport, Unstreamed
from shopwindow.content.check.records import FeedBlock, FeedLines
from shopwindow.content.documents.finding import Finding
from shopwindow.content.schemas.lines import EXAMPLES, LineFaults

NumberedBlock = tuple[int, FeedBlock]
"""A block, and its place among all blocks."""


@dataclass
class CheckedBlock:
    """What the check of a block reports.

    ``lines`` counts its lines. The places of the problems count from its first one.
    ``share``: what was written of the columns; only the last of some blocks that were
    checked together has it, for all of them.
    """

    report: FeedReport
    lines: int
    share: ColumnShare | None = None


class BlockCheck:
    """Checks blocks, each record by itself.

    ``folder`` takes the columns and the good chunks. ``good_chunks`` need no check;
    ``adds_chunks``: those without a problem are written down for the next check.
    """

    def __init__(
        self,
        folder: Path,
        around: Unstreamed,
        referable: Referable,
        good_chunks: CheckedChunks,
        *,
        adds_chunks: bool,
    ) -> None:
        self.folder, self.around = folder, around
        self.referable, self.good_chunks = referable, good_chunks
        self.adds_chunks = adds_chunks

    def __call__(self, blocks: Sequence[NumberedBlock]) -> Iterator[CheckedBlock]:
        """Check some blocks one after the other, and yield what each reports."""
        first, _ = blocks[0]
        name = str(first)  # no other process has this block
        writer = ColumnWriter(self.folder, name)
        listed_left = self.around.limit
        places = RecordPlaces(self.around.folder)
        faults = LineFaults(self.around.schemas)
        last, _ = blocks[-1]
        with open(chunks_path(self.folder, name), "xb") as good:
            for number, block in blocks:
                one = _OneBlock(self, block, places, faults, listed_left)
                checked = one.check(writer, good)
                listed_left -= len(checked.report.problems)
                writer.close_block(number)
                if number == last:
                    good.flush()
                    checked.share = writer.close()
                yield checked


def chunks_path(folder: Path, name: str) -> Path:
    """Return the file of the good chunks of a share."""
    return folder / f"chunks.{name}"


class _OneBlock:
    """The check of one block. At most ``limit`` problems have places."""

    def __init__(
        self,
        task: BlockCheck,
        block: FeedBlock,
        places: RecordPlaces,
        faults: LineFaults,
        limit: int,
    ) -> None:
        self.task, self.block = task, block
        self.places, self.faults, self.limit = places, faults, limit
        self.report = FeedReport()

    def check(self, writer: ColumnWriter, good: BinaryIO) -> CheckedBlock:
        """Check the records; what they must agree on goes to the ``writer``.

        Chunks that are in the cache are not checked. Chunks without a problem are
        written to the file ``good``.
        """
        block, good_chunks = self.block, self.task.good_chunks
        around, report = self.task.around, self.report
        lines = FeedLines(around.folder, block)
        # a YAML file is read whole, and has no chunks
        for chunk in chunks_of(lines) if block.source.is_feed else ([],):
            digest = None
            if self.task.adds_chunks and chunk:
                digest = digest_of(block.source.kind.name, chunk)
            numbers = good_chunks.numbers(digest)
            if numbers is None:
                extent = report.extent()
                numbers = self._chunk(chunk)
                if report.extent() != extent:
                    digest = None
            if digest:
                good_chunks.write(good, digest, numbers)
            for column, values in numbers.items():
                writer.extend(column, values)
        return CheckedBlock(report, lines.count)

    def _chunk(self, chunk: Sequence[NumberedLine]) -> ColumnNumbers:
        """Check some records, each by itself. Return their numbers for the columns."""
        kind = self.block.source.kind.name
        report, limit = self.report, self.limit
        numbers: dict[str, array[int]] = defaultdict(partial(array, "q"))
        for entry in entries_of(
            self.block, self.task.around, report, chunk, self.faults
        ):
            sound, value = entry.sound, entry.value
            by_rules = rules.findings(kind, value, sound, self.task.referable)
            findings = (*entry.findings, *by_rules)
            if entry.line is not None:
                self._report_line(entry, findings)
            elif len(report.problems) < limit:
                report.add(self.places.problem(entry, finding) for finding in findings)
            else:
                report.more += sum(not finding.follows for finding in findings)
            if entry.findings:
                report.lost.update(rules.unsaid(kind, sound))
            for column, number, _ in rules.values(kind, value, sound):
                numbers[column].append(number)
        return numbers

    def _report_line(self, entry: RecordEntry, findings: Sequence[Finding]) -> None:
        """Report what is wrong with a line: with what is absent apart, since documents
        may name it as well.
        """
        if not findings:
            return
        report, faults, limit = self.report, self.faults, self.limit
        report_line(entry, findings, self.places, report, faults)
        path = entry.source.path
        for absent in {finding.absent for finding in findings if finding.absent}:
            is_new = absent not in faults.absent
            if is_new and len(faults.absent) >= limit:
                report.add_unlisted(absent, path)
                continue
            faults.absent[absent] += 1
            if faults.absent[absent] > EXAMPLES or len(report.problems) >= limit:
                report.add_unlisted(absent, path)
                continue
            own = [finding for finding in findings if finding.absent == absent]
            report.add(self.places.problem(entry, finding) for finding in own)
