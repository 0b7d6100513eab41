"""What is wrong with those kinds of the catalog that may have millions of records.

How the check works. Several processes share the blocks of the files. Each checks its
records by themselves (`feeds.record_check`), and returns the values on which all records
must agree (`rules.values`), each with its record. This process collects these on disk,
and SQL says which are at fault. All of those are counted. The records of the first are
read once more, to find their places. So memory is bounded, whatever the number of
records and of problems.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.feeds.entries import (
    RecordEntry,
    RecordPlaces,
    entries_of,
    repeated,
)
from shopwindow.catalog.feeds.record_check import RecordCheck
from shopwindow.catalog.feeds.rules import Referable
from shopwindow.catalog.index.agreement import named_by_promotions, rings
from shopwindow.catalog.index.file import room_for, writing
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
from shopwindow.problems import Pointer, Problem

TABLE = "CREATE TABLE said (name TEXT, value, block INTEGER, record INTEGER)"
"""The values of all columns, in the order of the files."""

INDEXES = """
CREATE INDEX by_value ON said (name, value);
CREATE INDEX product_of_record ON said (block, record) WHERE name = 'product';
CREATE TEMP TABLE member AS
  SELECT product.value AS collection, named.value AS member, named.block, named.record
  FROM said AS named JOIN said AS product INDEXED BY product_of_record
  ON product.block = named.block AND product.record = named.record
  WHERE named.name = 'product_named' AND product.name = 'product';
CREATE INDEX temp.by_collection ON member (collection);
"""
"""What is made once all values are there: what finds them, and who is in a collection."""

REPEATED = f"""
SELECT name, value, block, record FROM said AS later
WHERE name IN ({", ".join(map(repr, rules.UNIQUE))}) AND EXISTS
  (SELECT 1 FROM said WHERE name = later.name AND value = later.value AND rowid < later.rowid)
ORDER BY rowid
"""
"""The uses of values that another record has before."""

FIRST = (
    "SELECT block, record FROM said WHERE name = ? AND value = ? ORDER BY rowid LIMIT 1"
)

UNKNOWN = """
SELECT value, block, record FROM said
WHERE name = ? AND value NOT IN (SELECT value FROM said WHERE name = ?) ORDER BY rowid
"""
"""The uses of values that another column lacks."""

REFERENCES = {
    rules.PRODUCT_NAMED: (rules.PRODUCT, "product", "id"),
    rules.INVENTORY: (rules.UPC, "product", "UPC"),
}
"""A column that refers to another → that, and the kind and property that it stands for."""

INNER = "SELECT collection, member FROM member WHERE member IN (SELECT collection FROM member)"
"""Collections with those of their members that are collections as well."""

Value = int | str
Record = tuple[int, int]
"""The number of a block, and of a record in it: its line, or its index in a YAML file."""

Use = tuple[str, str, Value]
"""What is wrong with a value, its column, and the value."""


Find = Callable[[RecordEntry, str, Pointer], Finding | None]
"""(record, column, place of a value) → what is wrong with it."""


@dataclass
class _CheckedBlock:
    """What is wrong in a block, with places that count from its first line.

    ``lines`` counts its lines. ``said``: the columns, values and records on which all
    records must agree.
    """

    report: FeedReport
    lines: int
    said: list[tuple[str, Value, int]]


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
        self.wanted: dict[Record, set[Use]] = defaultdict(set)
        """The uses of which the places are wanted."""
        self.uses: dict[str, Counter[str]] = defaultdict(Counter)
        """Uses at fault, by the column and the path, beside those of what is absent."""
        self.first_places: dict[tuple[str, Value], str] = {}

    def run(self) -> None:
        """Check the records, each by itself and all together."""
        with (
            scratch() as folder,
            room_for(folder),
            closing(writing(folder / "values", TABLE)) as said,
        ):
            self._read(said)
            said.execute("COMMIT")
            said.executescript(INDEXES)
            self._check_promotions(said)
            self._note_repeated(said)
            self._note_unknown(said)
            self._note_rings(said)
            self._find_places()

    # -- each by itself

    def _read(self, said: sqlite3.Connection) -> None:
        """Read and check every block, and collect its values."""
        work = partial(_checked, self.around, self.referable)
        with shared(work, self.blocks, self.around.jobs) as results:
            for number, checked in enumerate(results):
                self._merge(self.blocks[number], checked)
                said.executemany(
                    "INSERT INTO said VALUES (?, ?, ?, ?)",
                    (
                        (name, value, number, record)
                        for name, value, record in checked.said
                    ),
                )
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

    def _check_promotions(self, said: sqlite3.Connection) -> None:
        """Check that the products and categories exist that promotions name."""
        if rules.PRODUCT not in self.report.lost:
            named = named_by_promotions(self.around.case, "products")
            missing = {
                id
                for id in named
                if said.execute(FIRST, (rules.PRODUCT, id)).fetchone() is None
            }
            self._add_unknown("products", "product", missing)
        categories = self.referable["category"]
        if categories is not None:
            named = named_by_promotions(self.around.case, "categoryIds")
            missing = named - categories
            self._add_unknown("categoryIds", "category", missing)

    def _add_unknown(self, part: str, kind: str, missing: set[int]) -> None:
        promotions = self.around.case.having("promotion", (part,)) if missing else ()
        for promotion in promotions:
            for index, id in enumerate(promotion.value.get(part, ())):
                if id in missing:
                    finding = rules.unknown((part, index), kind, "id", id, ())
                    self.report.findings.append((promotion, finding))

    def _note_repeated(self, said: sqlite3.Connection) -> None:
        """Note the values that must occur once, and occur again.

        A record that repeats one value of another repeats others of it as well. Only
        those of the first column count.
        """
        last: tuple[int, int, str] | None = None
        for name, value, block, record in said.execute(REPEATED):
            if last and last[:2] == (block, record) and last[2] != name:
                continue
            last = block, record, name
            if self._note(("repeated", name, value), (block, record)):
                (first,) = said.execute(FIRST, (name, value))
                self.wanted[first].add(("repeated", name, value))

    def _note_unknown(self, said: sqlite3.Connection) -> None:
        """Note the values that refer to what does not exist.

        A column of which values are lost cannot say what that is.
        """
        noted = 0
        for name, (among, kind, property) in REFERENCES.items():
            if among in self.report.lost:
                continue
            for value, block, record in said.execute(UNKNOWN, (name, among)):
                noted += 1
                if noted <= self.around.limit:
                    self.wanted[block, record].add(("unknown", name, value))
                    continue
                path = self.blocks[block].source.path
                self.report.add_unlisted((kind, property, str(value)), path)

    def _note_rings(self, said: sqlite3.Connection) -> None:
        """Note the memberships by which a collection stands within itself."""
        in_rings = rings(said.execute(INNER))
        rows = said.execute("SELECT * FROM member ORDER BY block, record")
        for collection, member, block, record in rows if in_rings else ():
            if (collection, member) in in_rings:
                use = "in a ring", rules.PRODUCT_NAMED, member
                self._note(use, (block, record))

    def _note(self, use: Use, record: Record) -> bool:
        """Count a use at fault. Return whether its place is wanted."""
        uses = self.uses[use[1]]
        uses[self.blocks[record[0]].source.path] += 1
        if uses.total() > EXAMPLES:
            return False
        self.wanted[record].add(use)
        return True

    # -- where it stands

    def _find_places(self) -> None:
        """Report the values at fault: how many there are, and the first with places."""
        causes: dict[str, LineCause] = {}
        for number in sorted({block for block, _ in self.wanted}):
            for entry, name, finding in self._findings_of_block(number):
                problem = self.places.problem(entry, finding)
                if finding.absent:
                    self.report.add([problem])
                    continue
                common = causes[name] = cause(entry.source.kind.name, finding)
                path = entry.source.path
                self.report.add_line(path, common, [problem], count=0)
        for name, by_path in self.uses.items():
            for path, count in by_path.items():
                if name in causes:
                    self.report.add_line(path, causes[name], count=count)
                else:  # the file is not the one that was checked
                    self.report.more += count

    def _findings_of_block(
        self, number: int
    ) -> Iterator[tuple[RecordEntry, str, Finding]]:
        """Yield what is wrong with the wanted values of a block, and their columns.

        What cannot be read was reported the first time.
        """
        block, lines_before = self.blocks[number], self.lines_before[number]
        lines = (
            line
            for line in FeedLines(self.around.folder, block)
            if (number, line[0]) in self.wanted
        )
        faults = LineFaults(self.around.schemas)
        for entry in entries_of(block, self.around, FeedReport(), lines, faults):
            wanted = self.wanted.get((number, _number(entry)), ())
            if entry.line is not None:
                entry = replace(entry, line=entry.line + lines_before)
            kind = entry.source.kind.name
            for name, value, pointer in rules.values(kind, entry.value, entry.sound):
                for wrong, find in self._ways.items():
                    if (wrong, name, value) in wanted:
                        finding = find(entry, name, pointer)
                        if finding is not None:
                            yield entry, name, finding

    @property
    def _ways(self) -> Mapping[str, Find]:
        return {
            "repeated": self._repeated,
            "unknown": _unknown,
            "in a ring": _in_ring,
        }

    def _repeated(
        self, entry: RecordEntry, name: str, pointer: Pointer
    ) -> Finding | None:
        """Return the finding about a repeated value, None for its first use."""
        value = at(entry.value, pointer)
        key = name, int(value) if "UPC" in rules.UNIQUE[name] else value
        if key not in self.first_places:
            self.first_places[key] = self.places.shown(entry, pointer)
            return None
        called, kind = rules.UNIQUE[name]
        return repeated(kind, called, value, pointer, self.first_places[key])


def _unknown(entry: RecordEntry, name: str, pointer: Pointer) -> Finding:
    _, kind, property = REFERENCES[name]
    return rules.unknown(pointer, kind, property, at(entry.value, pointer), ())


def _in_ring(entry: RecordEntry, name: str, pointer: Pointer) -> Finding:
    collection, member = entry.value["id"], at(entry.value, pointer)
    by_way = "" if collection == member else f", by way of its member {member}"
    return Finding(
        "product.ring",
        pointer,
        f"the collection {collection} stands within itself{by_way}",
        "other products",
    )


def _checked(
    around: Unstreamed, referable: Referable, blocks: Sequence[FeedBlock]
) -> Iterator[_CheckedBlock]:
    """Yield what is wrong in each block by itself. Runs in several processes."""
    check, listed_left = RecordCheck(around, referable), around.limit
    for block in blocks:
        report, lines = FeedReport(), FeedLines(around.folder, block)
        kind = block.source.kind.name
        said = [
            (name, value, _number(entry))
            for entry in check.entries(block, lines, report, listed_left)
            for name, value, _ in rules.values(kind, entry.value, entry.sound)
        ]
        listed_left -= len(report.problems)
        yield _CheckedBlock(report, lines.count, said)


def _number(entry: RecordEntry) -> int:
    """Return the number of a record in its block."""
    return (entry.index or 0) if entry.line is None else entry.line


def _moved(problem: Problem, lines: int) -> Problem:
    """Return a problem so many lines further down."""
    place = problem.place
    if place is None or lines == 0:
        return problem
    moved = place._replace(line=place.line + lines, end_line=place.end_line + lines)
    return replace(problem, place=moved)
