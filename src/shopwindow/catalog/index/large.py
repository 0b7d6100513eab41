"""What is wrong with those kinds of the catalog that may have millions of records.

How the check works. Several processes share the batches of the files. Each checks its
records by themselves (`feeds.record_check`), and returns the values on which all records
must agree (`rules.values`), each with its record. This process collects these on disk,
and SQL says which are at fault. All of those are counted. The records of the first are
read once more, to find their places. So memory is bounded, whatever the number of
records and of problems.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.feeds.entries import (
    RecordEntry,
    RecordPlaces,
    repeated,
)
from shopwindow.catalog.feeds.record_check import RecordCheck
from shopwindow.catalog.feeds.rules import Referable
from shopwindow.catalog.index.agreement import (
    named_by_promotions,
    rings,
    unknown_to_promotions,
)
from shopwindow.catalog.index.file import room_for, writing
from shopwindow.content.check.feeds import FeedReport, RecordBasis
from shopwindow.content.check.records import FeedBatch, FeedLines
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.processes import Progress, shared
from shopwindow.content.reading.scratch import scratch
from shopwindow.content.reading.yaml import at
from shopwindow.content.rules.case import Case
from shopwindow.content.schemas.lines import (
    EXAMPLES,
    LineCause,
    LineGroup,
    cause,
)
from shopwindow.problems import Pointer

TABLES = """
CREATE TABLE occurrence (name TEXT, value, batch INTEGER, record INTEGER);
CREATE TABLE fault (wrong TEXT, name TEXT, value, batch INTEGER, record INTEGER);
CREATE TABLE ring (collection INTEGER, member INTEGER);
"""
"""Where the values of all columns stand, in the order of the files; those that are at
fault, with what is wrong; and the memberships by which collections stand within themselves.
"""

INDEXES = """
CREATE INDEX by_value ON occurrence (name, value);
CREATE INDEX product_of_record ON occurrence (batch, record) WHERE name = 'product';
CREATE TABLE member AS
  SELECT product.value AS collection, named.value AS member, named.batch, named.record
  FROM occurrence AS named JOIN occurrence AS product INDEXED BY product_of_record
  ON product.batch = named.batch AND product.record = named.record
  WHERE named.name = 'product_named' AND product.name = 'product';
CREATE INDEX by_collection ON member (collection);
"""
"""What is made once all values are there: what finds them, and who is in a collection."""

REPEATED = f"""
INSERT INTO fault SELECT 'repeated', name, value, batch, record FROM
  (SELECT *, first_value(name) OVER (PARTITION BY batch, record ORDER BY rowid) AS first FROM
    (SELECT rowid, * FROM occurrence AS later
     WHERE name IN ({", ".join(map(repr, rules.UNIQUE))}) AND EXISTS
       (SELECT 1 FROM occurrence
        WHERE name = later.name AND value = later.value AND rowid < later.rowid)))
WHERE name = first ORDER BY rowid
"""
"""The uses of values that another record has before. A record that repeats one value of
another repeats others of it as well: only those of its first column count.
"""

UNKNOWN = """
INSERT INTO fault SELECT 'unknown', name, value, batch, record FROM occurrence
WHERE name = ? AND value NOT IN (SELECT value FROM occurrence WHERE name = ?) ORDER BY rowid
"""
"""The uses of values that another column lacks."""

IN_RINGS = """
INSERT INTO fault SELECT 'in a ring', 'product_named', member, batch, record
FROM member JOIN ring USING (collection, member) ORDER BY batch, record;
CREATE VIEW numbered AS SELECT *, row_number() OVER
  (PARTITION BY wrong, CASE wrong WHEN 'unknown' THEN '' ELSE name END ORDER BY rowid) AS nth
  FROM fault;
"""
"""The uses by which collections stand within themselves; then all have numbers."""

COUNTED = """
SELECT name, batch, count(*) FROM fault WHERE wrong != 'unknown'
GROUP BY name, batch ORDER BY min(rowid)
"""

WANTED = f"""
WITH shown AS (SELECT * FROM numbered
  WHERE nth <= CASE wrong WHEN 'unknown' THEN :limit ELSE {EXAMPLES} END)
SELECT batch, record, wrong, name, value FROM shown
UNION SELECT first.batch, first.record, wrong, shown.name, shown.value
  FROM shown JOIN occurrence AS first ON first.rowid =
    (SELECT min(rowid) FROM occurrence AS same WHERE same.name = shown.name AND same.value = shown.value)
  WHERE wrong = 'repeated'
"""
"""The uses of which places are wanted: the first of each cause, and those that have what
they repeat.
"""

UNLISTED = """
SELECT name, value, batch, count(*) FROM numbered WHERE wrong = 'unknown' AND nth > ?
GROUP BY name, value, batch ORDER BY min(nth)
"""

EXISTING = "SELECT 1 FROM occurrence WHERE name = 'product' AND value = ?"

REFERENCES = {
    rules.PRODUCT_NAMED: (rules.PRODUCT, "product", "id"),
    rules.INVENTORY: (rules.UPC, "product", "UPC"),
}
"""A column that refers to another → that, and the kind and property that it stands for."""

Value = int | str
Record = tuple[int, int]
"""The number of a batch, and of a record in it: its line, or its index in a YAML file."""

Use = tuple[str, str, Value]
"""What is wrong with a value, its column, and the value."""


Find = Callable[[RecordEntry, str, Value, Pointer], Finding | None]
"""(record, column, value, its place) → what is wrong with it."""


@dataclass
class _CheckedBatch:
    """What is wrong in a batch.

    ``occurrences``: the columns, values and records on which all records must agree.
    """

    report: FeedReport
    occurrences: list[tuple[str, Value, int]]


class LargeCheck:
    """One check of all records of the large kinds; `run` runs it once.

    ``report`` takes the problems.
    """

    def __init__(
        self,
        batches: list[FeedBatch],
        basis: RecordBasis,
        case: Case,
        referable: Referable,
        report: FeedReport,
    ) -> None:
        self.batches, self.basis = list(_numbered(basis.folder, batches)), basis
        self.case, self.referable, self.report = case, referable, report
        self.places = RecordPlaces(basis.folder)
        self.wanted: dict[Record, set[Use]] = defaultdict(set)
        """The uses of which the places are wanted."""
        self.uses: dict[str, Counter[str]] = defaultdict(Counter)
        """Uses at fault, by the column and the path, beside those of what is absent."""
        self.first_places: dict[tuple[str, Value], str] = {}

    def run(self, jobs: int | None, progress: Progress | None) -> None:
        """Check the records, each by itself and all together."""
        with (
            scratch() as folder,
            room_for(folder),
            closing(writing(folder / "values", TABLES)) as values,
        ):
            self._read(values, jobs, progress)
            values.execute("COMMIT")
            values.executescript(INDEXES)
            self._check_promotions(values)
            self._compare(values)
            self._find_places()

    # -- each by itself

    def _read(
        self, values: sqlite3.Connection, jobs: int | None, progress: Progress | None
    ) -> None:
        """Read and check every batch, and collect its values."""
        work = partial(_checked, self.basis, self.referable)
        with shared(work, self.batches, jobs) as results:
            for number, checked in enumerate(results):
                self._merge(checked.report)
                values.executemany(
                    "INSERT INTO occurrence VALUES (?, ?, ?, ?)",
                    (
                        (name, value, number, record)
                        for name, value, record in checked.occurrences
                    ),
                )
                if progress:
                    progress(number + 1, len(self.batches))

    def _merge(self, part: FeedReport) -> None:
        """Merge the report of the next batch."""
        for problem in part.problems:
            if len(self.report.problems) < self.basis.limit:
                self.report.add([problem])
            elif problem.absent:
                self.report.add_unlisted(problem.absent, problem.path)
            else:
                self.report.more += 1
        for common, group in part.groups.items():
            self.report.groups.setdefault(common, LineGroup()).add(group)
        self.report.more += part.more
        for (absent, path), count in part.unlisted.items():
            self.report.add_unlisted(absent, path, count)
        self.report.at_least |= part.at_least
        self.report.lost |= part.lost

    # -- all together

    def _check_promotions(self, values: sqlite3.Connection) -> None:
        """Check that the products exist that promotions name."""
        if rules.PRODUCT in self.report.lost:
            return
        named = named_by_promotions(self.case)
        existing = {id for id in named if values.execute(EXISTING, (id,)).fetchone()}
        self.report.findings += unknown_to_promotions(
            self.case, "products", "product", existing
        )

    def _compare(self, values: sqlite3.Connection) -> None:
        """Compare the values of all records. Count those at fault, and note the uses of
        which the places are wanted.

        A column of which values are lost cannot say what does not exist.
        """
        values.execute(REPEATED)
        for name, (among, *_) in REFERENCES.items():
            if among not in self.report.lost:
                values.execute(UNKNOWN, (name, among))
        values.executemany("INSERT INTO ring VALUES (?, ?)", rings(values))
        values.executescript(IN_RINGS)

        for name, batch, count in values.execute(COUNTED):
            self.uses[name][self.batches[batch].source.path] += count
        limit = self.basis.limit
        for batch, record, *use in values.execute(WANTED, {"limit": limit}):
            self.wanted[batch, record].add(tuple(use))
        for name, value, batch, count in values.execute(UNLISTED, (limit,)):
            _, kind, property = REFERENCES[name]
            path = self.batches[batch].source.path
            self.report.add_unlisted((kind, property, str(value)), path, count)

    # -- where it stands

    def _find_places(self) -> None:
        """Report the values at fault: how many there are, and the first with places."""
        causes: dict[str, LineCause] = {}
        for number in sorted({batch for batch, _ in self.wanted}):
            for entry, name, finding in self._findings_of_batch(number):
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

    def _findings_of_batch(
        self, number: int
    ) -> Iterator[tuple[RecordEntry, str, Finding]]:
        """Yield what is wrong with the wanted values of a batch, and their columns.

        What cannot be read was reported the first time.
        """
        batch = self.batches[number]
        lines = (
            line
            for line in FeedLines(self.basis.folder, batch)
            if (number, line[0]) in self.wanted
        )
        check = RecordCheck(self.basis, {})
        ways: Mapping[str, Find] = {
            "repeated": self._repeated,
            "unknown": _unknown,
            "in a ring": _in_ring,
        }
        for entry in check.entries(batch, lines, FeedReport(), limit=0):
            wanted = self.wanted.get((number, _number(entry)), ())
            kind = entry.source.kind.name
            for name, value, pointer in rules.values(kind, entry.value, entry.sound):
                for wrong, find in ways.items():
                    if (wrong, name, value) in wanted:
                        finding = find(entry, name, value, pointer)
                        if finding is not None:
                            yield entry, name, finding

    def _repeated(
        self, entry: RecordEntry, name: str, value: Value, pointer: Pointer
    ) -> Finding | None:
        """Return the finding about a repeated value, None for its first use."""
        if (name, value) not in self.first_places:
            self.first_places[name, value] = self.places.shown(entry, pointer)
            return None
        called, kind = rules.UNIQUE[name]
        where = self.first_places[name, value]
        return repeated(kind, called, at(entry.value, pointer), pointer, where)


def _unknown(entry: RecordEntry, name: str, value: Value, pointer: Pointer) -> Finding:
    _, kind, property = REFERENCES[name]
    return rules.unknown(pointer, kind, property, at(entry.value, pointer), ())


def _in_ring(entry: RecordEntry, name: str, value: Value, pointer: Pointer) -> Finding:
    collection = entry.value["id"]
    by_way = "" if collection == value else f", by way of its member {value}"
    return Finding(
        "product.ring",
        pointer,
        f"the collection {collection} stands within itself{by_way}",
        "other products",
    )


def _checked(
    basis: RecordBasis, referable: Referable, batches: Sequence[FeedBatch]
) -> Iterator[_CheckedBatch]:
    """Yield what is wrong in each batch by itself. Runs in several processes."""
    check, listed_left = RecordCheck(basis, referable), basis.limit
    for batch in batches:
        report, lines = FeedReport(), FeedLines(basis.folder, batch)
        kind = batch.source.kind.name
        occurrences = [
            (name, value, _number(entry))
            for entry in check.entries(batch, lines, report, listed_left)
            for name, value, _ in rules.values(kind, entry.value, entry.sound)
        ]
        listed_left -= len(report.problems)
        yield _CheckedBatch(report, occurrences)


def _number(entry: RecordEntry) -> int:
    """Return the number of a record in its batch."""
    return (entry.index or 0) if entry.line is None else entry.line


def _numbered(folder: Path, batches: Iterable[FeedBatch]) -> Iterator[FeedBatch]:
    """Yield batches, each with how many lines of its feed begin before it."""
    lines = 0
    for batch in batches:
        lines = lines if batch.start else 0
        yield replace(batch, lines_before=lines)
        if not batch.end:
            continue
        # A line begins where the batch does, or behind a line end in it.
        first = max(0, batch.start - 1)
        with suppress(OSError), open(folder / batch.source.path, "rb") as file:
            file.seek(first)
            data = file.read(batch.end - 1 - first)
            lines += data.count(b"\n") + (batch.start == 0)
