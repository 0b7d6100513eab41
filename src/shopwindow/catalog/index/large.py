"""What is wrong with those kinds of the catalog that may have millions of records.

How the check works. Several processes share the blocks of the files. Each checks its
records by themselves (`feeds.record_check`), and returns the numbers that all records
must agree on (`rules.values`). This process collects these on disk and compares them
(`NumbersByBlock`). If some are at fault, it reads the blocks that hold them once more to
find their places, until there are as many problems as are listed. So memory is bounded,
whatever the number of records and of problems.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.feeds.entries import (
    RecordEntry,
    RecordPlaces,
    entries_of,
    repeated,
)
from shopwindow.catalog.feeds.record_check import RecordCheck
from shopwindow.catalog.feeds.rules import Referable
from shopwindow.catalog.index.agreement import Membership, named_by_promotions, rings
from shopwindow.catalog.index.file import room_for
from shopwindow.catalog.index.numbers_by_block import NumbersByBlock
from shopwindow.content.check.feeds import FeedReport, Unstreamed
from shopwindow.content.check.records import FeedBlock, FeedLines
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.processes import shared
from shopwindow.content.reading.scratch import scratch
from shopwindow.content.reading.yaml import at
from shopwindow.content.schemas.lines import (
    EXAMPLES,
    LineCause,
    LineFaults,
    LineGroup,
    cause,
)
from shopwindow.problems import Absent, Pointer, Problem

MAX_LOOKED_FOR = 100_000
"""Numbers at fault that are looked for in each column, unless more problems are listed.

They are in memory at the same time. Larger or smaller numbers work as well.
"""


@dataclass(frozen=True)
class _Disagreement:
    """Numbers of a column that are at fault.

    ``finding`` returns what is wrong with one use of such a number, or None.
    ``is_repeated``: the numbers occur more than once, and nothing is wrong with the
    first use of each. ``absent``: the kind and the property by which such a number
    names what does not exist.
    """

    column: str
    bad: set[int]
    finding: Callable[[RecordEntry, int, Pointer], Finding | None]
    is_repeated: bool = False
    absent: tuple[str, str] | None = None


@dataclass
class _Tally:
    """How far the places of a disagreement are found.

    ``uses``: of its numbers, by the feed. ``first_uses``: those uses among them that
    nothing is wrong with and that were not met yet. ``seen``: the uses that are
    problems; ``passed``: those that are none, or follow from another problem.
    """

    disagreement: _Disagreement
    first_uses: int
    uses: Counter[str] = field(default_factory=Counter)
    cause: LineCause | None = None
    seen: int = 0
    passed: int = 0

    def is_enough(self) -> bool:
        return self.seen > EXAMPLES and not self.disagreement.absent

    def count(self, report: FeedReport) -> None:
        """Add the uses that were not looked at to the report."""
        if self.disagreement.absent:
            return
        first_uses = self.first_uses if self.disagreement.is_repeated else 0
        left = self.uses.total() - first_uses - self.passed - min(self.seen, EXAMPLES)
        if left <= 0:
            return
        if self.cause is None:
            report.more += 0 if self.passed else left
        else:
            report.groups[self.cause].spread(self.uses, left)


@dataclass
class _CheckedBlock:
    """What is wrong in a block, with places that count from its first line.

    ``lines`` counts its lines. ``numbers``: those on which all records must agree, by
    column.
    """

    report: FeedReport
    lines: int
    numbers: Mapping[str, "array[int]"]


class LargeCheck:
    """One check of all records of the large kinds; `run` runs it once.

    ``report`` takes the problems.
    """

    def __init__(
        self,
        blocks: list[FeedBlock],
        around: Unstreamed,
        referable: Referable,
        report: FeedReport,
    ) -> None:
        self.blocks, self.around = blocks, around
        self.referable, self.report = referable, report
        self.places = RecordPlaces(around.folder)
        self.lines_before: list[int] = []
        """For each block that was checked, how many lines its file has before it."""
        self.lines = 0
        """Lines of the last of these."""

    def run(self) -> None:
        """Check the records, each by itself and all together."""
        with (
            scratch() as folder,
            room_for(folder),
            closing(NumbersByBlock(folder)) as numbers,
        ):
            self._read(numbers)
            self._check_promotions(numbers)
            disagreements = [
                disagreement
                for disagreement in self._disagreements(numbers)
                if disagreement.bad
            ]
            if disagreements:
                self._find_places(numbers, disagreements)

    # -- each by itself

    def _read(self, numbers: NumbersByBlock) -> None:
        """Read and check every block, and collect its numbers."""
        work = partial(_checked, self.around, self.referable)
        with shared(work, self.blocks, self.around.jobs) as results:
            for number, checked in enumerate(results):
                self._merge(self.blocks[number], checked)
                numbers.add(number, checked.numbers)
                if self.around.progress:
                    self.around.progress(number + 1, len(self.blocks))

    def _merge(self, block: FeedBlock, checked: _CheckedBlock) -> None:
        """Merge the report of the next block, with lines as its file counts them."""
        before = self.lines_before[-1] + self.lines if self.lines_before else 0
        if block.start == 0:
            before = 0
        self.lines_before.append(before)
        self.lines = checked.lines

        part = checked.report
        for problem in part.problems:
            if len(self.report.problems) < self.around.limit:
                self.report.add([_moved(problem, before)])
            elif problem.absent:
                self.report.add_unlisted(problem.absent, problem.path)
            else:
                self.report.more += 1
        for common, group in part.groups.items():
            problems = [_moved(problem, before) for problem in group.problems]
            moved = LineGroup(group.lines, problems)
            self.report.groups.setdefault(common, LineGroup()).add(moved)
        self.report.more += part.more
        for (absent, path), count in part.unlisted.items():
            self.report.add_unlisted(absent, path, count)
        self.report.at_least |= part.at_least
        self.report.lost |= part.lost

    # -- all together

    def _check_promotions(self, numbers: NumbersByBlock) -> None:
        """Check that the products and categories exist that promotions name."""
        if rules.PRODUCT not in self.report.lost:
            named = named_by_promotions(self.around.case, "products")
            missing = numbers.absent(named, rules.PRODUCT)
            self._add_unknown("products", "product", missing)
        if self.referable.categories is not None:
            named = named_by_promotions(self.around.case, "categoryIds")
            missing = named - self.referable.categories
            self._add_unknown("categoryIds", "category", missing)

    def _add_unknown(self, part: str, kind: str, missing: set[int]) -> None:
        promotions = self.around.case.having("promotion", (part,)) if missing else ()
        for promotion in promotions:
            for index, id in enumerate(promotion.value.get(part, ())):
                if id in missing:
                    finding = rules.unknown((part, index), kind, "id", id, ())
                    self.report.findings.append((promotion, finding))

    def _disagreements(self, numbers: NumbersByBlock) -> Iterator[_Disagreement]:
        """Yield what the records disagree about; some of it may be empty.

        A column of which numbers are lost cannot say what does not exist.
        """
        limit = self._most_looked_for()
        for column, (name, kind) in rules.UNIQUE.items():
            bad = numbers.twice(column, limit)
            finding = partial(self._repeated, {}, kind, name)
            yield _Disagreement(column, bad, finding, is_repeated=True)
        if rules.PRODUCT not in self.report.lost:
            bad = numbers.missing(rules.PRODUCT_NAMED, rules.PRODUCT, limit)
            yield _Disagreement(
                rules.PRODUCT_NAMED, bad, _no_product, absent=("product", "id")
            )
        if rules.UPC not in self.report.lost:
            bad = numbers.missing(rules.INVENTORY, rules.UPC, limit)
            yield _Disagreement(
                rules.INVENTORY, bad, _no_upc, absent=("product", "UPC")
            )
        memberships = rings(numbers.inner_memberships())
        members = {member for _, member in memberships}
        yield _Disagreement(rules.MEMBER, members, partial(_in_ring, memberships))

    def _most_looked_for(self) -> int:
        return max(MAX_LOOKED_FOR, self.around.limit)

    def _repeated(
        self,
        first_places: dict[Any, str],
        kind: str,
        name: str,
        entry: RecordEntry,
        number: int,
        pointer: Pointer,
    ) -> Finding | None:
        """Return the finding about a use of a repeated value, None for the first use.

        ``first_places`` collects the places of first uses, by value. The value itself
        is compared, not its number: two ids of reviews may have the same one.
        """
        value = at(entry.value, pointer)
        key = int(value) if name == "UPC" else value
        if key in first_places:
            return repeated(kind, name, value, pointer, first_places[key])
        first_places[key] = self.places.shown(entry, pointer)
        return None

    def _find_places(
        self, numbers: NumbersByBlock, disagreements: Sequence[_Disagreement]
    ) -> None:
        """Report the numbers at fault: how many there are, and the first with places.

        Only blocks that hold such a number are read, in the order of the files, and
        only until enough places are found.
        """
        absent: Counter[tuple[Absent, str]] = Counter()
        tallies: dict[str, list[_Tally]] = defaultdict(list)
        blocks: set[int] = set()
        for disagreement in disagreements:
            bad = disagreement.bad
            tally = _Tally(disagreement, first_uses=len(bad))
            for block, by_value in numbers.where(disagreement.column, bad).items():
                blocks.add(block)
                path = self.blocks[block].source.path
                tally.uses[path] += by_value.total()
                for value, count in by_value.items() if disagreement.absent else ():
                    kind, name = disagreement.absent or ("", "")
                    absent[(kind, name, str(value)), path] += count
            self.report.at_least |= len(bad) >= self._most_looked_for()
            tallies[disagreement.column].append(tally)

        every_tally = [tally for column in tallies.values() for tally in column]
        looked = 0
        for number in sorted(blocks):
            if looked >= self.around.limit or all(map(_Tally.is_enough, every_tally)):
                break
            for use in self._findings_of_block(number, tallies):
                entry, value, finding, tally = use
                looked += 1
                if tally.disagreement.absent:
                    self.report.add([self.places.problem(entry, finding)])
                    missed = (*tally.disagreement.absent, str(value))
                    absent[missed, entry.source.path] -= 1
                    continue
                tally.cause = cause(entry.source.kind.name, finding)
                tally.seen += 1
                if tally.seen <= EXAMPLES:
                    problem = self.places.problem(entry, finding)
                    self.report.add_line(entry.source.path, tally.cause, [problem])
        for (missed, path), count in (+absent).items():
            self.report.add_unlisted(missed, path, count)
        for tally in every_tally:
            tally.count(self.report)

    def _findings_of_block(
        self, number: int, tallies: Mapping[str, Sequence[_Tally]]
    ) -> Iterator[tuple[RecordEntry, int, Finding, _Tally]]:
        """Yield what is wrong with the uses of numbers at fault in one block.

        A record that repeats one number of another repeats others of it as well. Only
        the first is yielded.
        """
        for entry in self._entries_again(number):
            kind = entry.source.kind.name
            is_copy: set[str] = set()
            for column, value, pointer in rules.values(kind, entry.value, entry.sound):
                for tally in tallies.get(column, ()):
                    disagreement = tally.disagreement
                    if value not in disagreement.bad:
                        continue
                    finding = disagreement.finding(entry, value, pointer)
                    if finding is None:
                        tally.first_uses -= 1
                        tally.passed += 1
                    elif disagreement.is_repeated and is_copy - {column}:
                        tally.passed += 1
                    else:
                        if disagreement.is_repeated:
                            is_copy.add(column)
                        yield entry, value, finding, tally

    def _entries_again(self, number: int) -> Iterator[RecordEntry]:
        """Yield the records of a block once more, with lines as their file counts them.

        What cannot be read was reported the first time.
        """
        block, lines_before = self.blocks[number], self.lines_before[number]
        lines = FeedLines(self.around.folder, block)
        faults = LineFaults(self.around.schemas)
        for entry in entries_of(block, self.around, FeedReport(), lines, faults):
            if entry.line is not None:
                entry = replace(entry, line=entry.line + lines_before)
            yield entry


def _checked(
    around: Unstreamed, referable: Referable, blocks: Sequence[FeedBlock]
) -> Iterator[_CheckedBlock]:
    """Yield what is wrong in each block by itself. Runs in several processes."""
    check, listed_left = RecordCheck(around, referable), around.limit
    for block in blocks:
        report, lines = FeedReport(), FeedLines(around.folder, block)
        numbers: dict[str, array[int]] = defaultdict(partial(array, "q"))
        kind = block.source.kind.name
        for entry in check.entries(block, lines, report, listed_left):
            for column, number, _ in rules.values(kind, entry.value, entry.sound):
                numbers[column].append(number)
        listed_left -= len(report.problems)
        yield _CheckedBlock(report, lines.count, numbers)


def _moved(problem: Problem, lines: int) -> Problem:
    """Return a problem so many lines further down."""
    place = problem.place
    if place is None or lines == 0:
        return problem
    moved = replace(place, line=place.line + lines, end_line=place.end_line + lines)
    return replace(problem, place=moved)


def _no_product(entry: RecordEntry, number: int, pointer: Pointer) -> Finding:
    return rules.unknown(pointer, "product", "id", number, ())


def _no_upc(entry: RecordEntry, number: int, pointer: Pointer) -> Finding:
    return rules.unknown(pointer, "product", "UPC", entry.value["upc"], ())


def _in_ring(
    rings: set[Membership], entry: RecordEntry, number: int, pointer: Pointer
) -> Finding | None:
    """Return the finding about a member, None if the membership is in no ring."""
    collection = entry.value["id"]
    if (collection, number) not in rings:
        return None
    by_way = "" if collection == number else f", by way of its member {number}"
    return Finding(
        "product.ring",
        pointer,
        f"the collection {collection} stands within itself{by_way}",
        "other products",
    )
