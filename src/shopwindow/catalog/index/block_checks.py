"""The check of blocks of feeds, each record by itself: the part that many can share.

A BlockCheck reads nothing but its blocks, and what other records decide is not known
here. So several processes may share the blocks. It returns what is wrong, and the
numbers on which all records must agree; `catalog.index.large` compares these.
"""

from __future__ import annotations  # array[int]

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.feeds.entries import (
    RecordEntry,
    RecordPlaces,
    entries_of,
    report_line,
)
from shopwindow.catalog.feeds.rules import Referable
from shopwindow.content.check.feeds import FeedReport, Unstreamed
from shopwindow.content.check.records import FeedBlock, FeedLines
from shopwindow.content.documents.finding import Finding
from shopwindow.content.schemas.lines import EXAMPLES, LineFaults


@dataclass
class CheckedBlock:
    """What the check of a block reports.

    ``lines`` counts its lines. The places of the problems count from its first one.
    ``numbers``: those on which all records must agree, by column.
    """

    report: FeedReport
    lines: int
    numbers: Mapping[str, array[int]]


class BlockCheck:
    """Checks blocks, each record by itself."""

    def __init__(self, around: Unstreamed, referable: Referable) -> None:
        self.around, self.referable = around, referable

    def __call__(self, blocks: Sequence[FeedBlock]) -> Iterator[CheckedBlock]:
        """Check some blocks one after the other, and yield what each reports."""
        listed_left = self.around.limit
        places = RecordPlaces(self.around.folder)
        faults = LineFaults(self.around.schemas)
        for block in blocks:
            checked = _OneBlock(self, block, places, faults, listed_left).check()
            listed_left -= len(checked.report.problems)
            yield checked


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

    def check(self) -> CheckedBlock:
        """Check the records, each by itself."""
        kind = self.block.source.kind.name
        around, report, limit = self.task.around, self.report, self.limit
        lines = FeedLines(around.folder, self.block)
        numbers: dict[str, array[int]] = defaultdict(partial(array, "q"))
        for entry in entries_of(self.block, around, report, lines, self.faults):
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
        return CheckedBlock(report, lines.count, numbers)

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
