"""The records of the catalog's files, one by one: read, and checked by their schema.

A record is a line of a feed or a document of a YAML file. `entries_of` yields each with
what its schema finds, so that rules may look at the parts that are sound; `RecordPlaces`
finds a part of a record in its file again, for the place of a problem.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.feeds.rules import Sound
from shopwindow.content.check import tree
from shopwindow.content.check.feeds import FeedReport, RecordBasis
from shopwindow.content.check.records import FeedBatch
from shopwindow.content.documents.characters import not_xml
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import Kind
from shopwindow.content.reading import feed, yaml
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.text import YamlText, text_of
from shopwindow.content.reading.yaml import Json, Malformed
from shopwindow.content.rules.case import sound
from shopwindow.content.schemas.lines import (
    EXAMPLES,
    Combination,
    LineCause,
    LineFaults,
)
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import Place, Pointer, Problem

NumberedLine = tuple[int, bytes | Malformed]
"""The number of a line, and its text, or what is wrong if it cannot be read."""


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """A record of a file, and what its schema finds.

    Attributes:
        source: the file.
        value: the record.
        line: its line in a feed, as its batch counts them; None: the file is YAML.
        text: that line.
        index: its index in a list of a YAML file; None: it is alone in its file, or in
            a feed.
        findings: what the schema finds.
        reported: places in the file of which a problem was reported already.
    """

    source: Source
    value: Json
    line: int | None
    text: bytes
    index: int | None
    findings: tuple[Finding, ...]
    reported: frozenset[Pointer] = frozenset()

    @property
    def sound(self) -> Sound:
        """Returns whether the schema finds nothing wrong with a part of the record."""
        return partial(sound, self.findings) if self.findings else rules.always

    def pointer_in_file(self, pointer: Pointer) -> Pointer:
        """Return the pointer of a part of the record, from the beginning of the file.

        In a feed that is the beginning of its line.
        """
        return pointer if self.index is None else (self.index, *pointer)


# -- reading ---------------------------------------------------------------------------


def entries_of(
    batch: FeedBatch,
    basis: RecordBasis,
    report: FeedReport,
    lines: Iterable[NumberedLine],
    faults: LineFaults,
) -> Iterator[RecordEntry]:
    """Yield the records of a batch; what cannot be read becomes a problem.

    Args:
        batch: lines of a feed, or a YAML file.
        basis: what every record is read and checked with.
        report: takes the problems.
        lines: those lines of the batch, if it is one of a feed, whose records are
            wanted.
        faults: recognizes what is wrong with lines like those before. Once many of
            them are counted, their records are left out, because checking them further
            takes time.
    """
    if not batch.source.is_feed:
        yield from _of_yaml(batch.source, basis, report)
        return

    recognized: Counter[Combination] = Counter()
    kind = batch.source.kind
    is_valid = basis.schemas.checker(kind.schema)
    for line, text in lines:
        try:
            if isinstance(text, Malformed):
                raise text
            value = feed.load(text, line)
        except Malformed as fault:
            _lose(kind, report)
            _count_unreadable(batch.source, fault, report, faults)
            continue

        findings: tuple[Finding, ...] = ()
        refused = not is_valid(value)
        if refused and (same := faults.of(kind.schema, value)):
            recognized[same] += 1
            if same.lines > basis.limit:
                _lose(kind, report)
                continue
            findings = same.unsound
        elif refused and faults.explained >= basis.limit:
            report.more += 1
            report.at_least = True
            _lose(kind, report)
            continue
        elif refused or tree.doubtful(orjson.dumps(value)):
            findings = _findings(kind, value, basis.schemas, text, line)
            if refused:
                faults.learn(kind.name, kind.schema, value, findings)
        yield RecordEntry(batch.source, value, line, text, None, findings)
    for combination, count in recognized.items():
        for common in combination.causes:
            report.add_line(batch.source.path, common, count=count)


def _count_unreadable(
    source: Source, fault: Malformed, report: FeedReport, faults: LineFaults
) -> None:
    """Count a line that cannot be read; the first ones are problems with places."""
    found = fault.found if fault.rule == "feed.syntax" else ""
    common = LineCause(source.kind.name, fault.rule, (), found)
    faults.examples[common] += 1
    is_example = faults.examples[common] <= EXAMPLES
    problems = [fault.problem(source.path)] if is_example else []
    report.add_line(source.path, common, problems)


def _findings(
    kind: Kind, value: Json, schemas: Schemas, text: bytes, line: int
) -> tuple[Finding, ...]:
    """Return what the schema finds in a line of a feed, and characters that XML lacks."""
    by_schema = schemas.findings(
        kind.schema, value, written=lambda at: _line(text).number((0, *at))
    )
    return (*by_schema, *not_xml(value))


def _line(text: bytes) -> YamlText:
    return YamlText(yaml.decode(text), is_feed=True)


def _of_yaml(
    source: Source, basis: RecordBasis, report: FeedReport
) -> Iterator[RecordEntry]:
    """Yield the records of a YAML file, which is read whole."""
    parsed, _ = tree.read_one(basis.folder, source, basis.names, basis.schemas)
    report.add(parsed.problems)
    if parsed.lost:
        _lose(source.kind, report)

    reported = frozenset(pointer for _, pointer in parsed.flawed)
    flaws = parsed.flaws()
    file = cache(lambda: text_of(basis.folder, source))
    for index, value in enumerate(parsed.documents):
        number = index if parsed.listed else None
        findings: tuple[Finding, ...] = ()
        if not parsed.valid:
            document = () if number is None else (number,)
            by_schema = basis.schemas.findings(
                source.kind.schema, value, written=partial(_number, file, document)
            )
            flawed = flaws.get(number, [])
            independent = [
                finding
                for finding in by_schema
                if not any(tree.follows(finding, flaw) for flaw in flawed)
            ]
            findings = (*independent, *flawed, *not_xml(value))
        yield RecordEntry(source, value, None, b"", number, findings, reported)


def _number(
    file: Callable[[], YamlText], document: Pointer, pointer: Pointer
) -> str | None:
    return file().number((*document, *pointer))


def _lose(kind: Kind, report: FeedReport) -> None:
    """Report that one record of a kind, and its numbers in the columns, are unknown."""
    report.lost.add(kind.name)
    if kind.name == "product":
        report.lost.add(rules.UPC)


# -- places ----------------------------------------------------------------------------


class RecordPlaces:
    """Finds the places of records' parts in their files.

    It holds the places of one YAML file at a time, that of the last record: problems
    come file by file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: tuple[Source, Mapping[Pointer, yaml.Spot]] | None = None

    def problem(self, entry: RecordEntry, finding: Finding) -> Problem | None:
        """Return a finding as a problem at its place.

        None: it follows from a problem that was reported already.
        """
        pointer = entry.pointer_in_file(finding.pointer)
        if pointer in entry.reported or finding.follows:
            return None
        place = self.place(entry, finding.pointer, on_key=finding.on_key)
        return finding.problem(entry.source.path, pointer, place)

    def place(
        self, entry: RecordEntry, pointer: Pointer, *, on_key: bool = False
    ) -> Place | None:
        """Return where a part of a record stands, or None if it cannot be found.

        With ``on_key`` that is its key.
        """
        in_file = entry.pointer_in_file(pointer)
        return yaml.place_at(self._spots(entry), in_file, on_key=on_key)

    def shown(self, entry: RecordEntry, pointer: Pointer) -> str:
        """Return a place as the messages of other findings name it: `path:line`."""
        place = self.place(entry, pointer)
        return f"{entry.source.path}:{place.line}" if place else entry.source.path

    def _spots(self, entry: RecordEntry) -> Mapping[Pointer, yaml.Spot]:
        """Return the places of all parts of a record's line, or of its YAML file."""
        if entry.line is not None:
            return feed.locate(entry.text, entry.line)
        source = entry.source
        if self._file is None or self._file[0] != source:
            try:
                self._file = source, text_of(self._folder, source).spots
            except (Malformed, OSError):  # changed since it was read
                self._file = source, {}
        return self._file[1]


def repeated(kind: str, name: str, value: Any, pointer: Pointer, where: str) -> Finding:
    """Return the finding about a value that must be unique and occurs again.

    ``where`` is the place of the first use, as `RecordPlaces.shown` returns it.
    """
    return Finding(
        "unique",
        pointer,
        f"the {name} {value} is also that of the {kind} in {where}",
        "each once",
    )
