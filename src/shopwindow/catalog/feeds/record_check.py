"""The check of records, each by itself: the part that several processes can share.

What other records decide is not known here. The pass over all lines (`index.known_lines`),
the search for everything that is wrong with them (`index.large`) and the small kinds
(`small`) check their records alike.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.feeds.entries import (
    NumberedLine,
    RecordEntry,
    RecordPlaces,
    entries_of,
)
from shopwindow.catalog.feeds.rules import Referable
from shopwindow.content.check.feeds import FeedReport, RecordBasis
from shopwindow.content.check.records import FeedBatch
from shopwindow.content.documents.finding import Finding
from shopwindow.content.schemas.lines import EXAMPLES, LineCause, LineFaults, cause


class RecordCheck:
    """Checks records, each by itself and against the ids that it may refer to.

    It recognizes what is wrong with lines like those before, so one is made for all
    that a process checks.
    """

    def __init__(self, basis: RecordBasis, referable: Referable) -> None:
        self._basis, self._referable = basis, referable
        self._places = RecordPlaces(basis.folder)
        self._faults = LineFaults(basis.schemas)

    def entries(
        self,
        batch: FeedBatch,
        lines: Iterable[NumberedLine],
        report: FeedReport,
        limit: int,
    ) -> Iterator[RecordEntry]:
        """Yield the records of a batch, each once it is checked.

        Args:
            batch: lines of a feed, or a YAML file.
            lines: those of the batch whose records are wanted, if it is one of a feed.
            report: takes what is wrong.
            limit: at most so many problems have places; the others are counted.
        """
        kind = batch.source.kind
        for entry in entries_of(batch, self._basis, report, lines, self._faults):
            by_rules = rules.findings(kind, entry.value, entry.sound, self._referable)
            findings = (*entry.findings, *by_rules)
            if entry.line is not None:
                self._report_line(entry, findings, report, limit)
            elif len(report.problems) < limit:
                report.add(self._places.problem(entry, one) for one in findings)
            else:
                report.more += sum(not finding.follows for finding in findings)
            if entry.findings:
                report.lost.update(rules.lost_columns(kind.name, entry.sound))
            yield entry

    def _report_line(
        self,
        entry: RecordEntry,
        findings: Sequence[Finding],
        report: FeedReport,
        limit: int,
    ) -> None:
        """Count a line of a feed by what is wrong with it; the first lines of a cause are
        problems with places. What is absent counts apart, since documents may name it as
        well.
        """
        if not findings:
            return
        path, kind = entry.source.path, entry.source.kind.name
        by_cause: dict[LineCause, list[Finding]] = defaultdict(list)
        for finding in findings:
            if not finding.follows and not finding.absent:
                by_cause[cause(kind, finding)].append(finding)
        for common, own in by_cause.items():
            self._faults.examples[common] += 1
            is_example = self._faults.examples[common] <= EXAMPLES
            shown = own if is_example else ()
            problems = [self._places.problem(entry, one) for one in shown]
            report.add_line(path, common, problems)

        absences = self._faults.absent
        for absent in {finding.absent for finding in findings if finding.absent}:
            if absent in absences or len(absences) < limit:
                absences[absent] += 1
            is_example = 0 < absences[absent] <= EXAMPLES
            if not is_example or len(report.problems) >= limit:
                report.add_unlisted(absent, path)
                continue
            own = [finding for finding in findings if finding.absent == absent]
            report.add(self._places.problem(entry, finding) for finding in own)
