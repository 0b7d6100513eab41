"""The catalog's records one by one: read, checked by their schema, and found again in
their files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson

from shopwindow.catalog import rules
from shopwindow.catalog.pieces import NumberedLine
from shopwindow.catalog.rules import Sound
from shopwindow.content import feed, tree, yaml
from shopwindow.content.case import sound
from shopwindow.content.characters import XML_TEXT, not_xml
from shopwindow.content.feeds import FeedReport, Unstreamed
from shopwindow.content.finding import Finding
from shopwindow.content.kinds import Kind
from shopwindow.content.listing import Source
from shopwindow.content.records import FeedBlock
from shopwindow.content.schema import Schemas
from shopwindow.content.written import WrittenLines, of_file, of_line
from shopwindow.content.yaml import Json, Malformed
from shopwindow.problems import Place, Pointer, Problem


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """A record as its file holds it: its line, or its number in a list; and what its
    schema finds.

    ``line`` counts from the first line of its block. ``told``: where its file has
    faults that are told already.
    """

    source: Source
    value: Json
    line: int | None
    text: bytes
    index: int | None
    found: tuple[Finding, ...]
    told: frozenset[Pointer] = frozenset()

    @property
    def sound(self) -> Sound:
        return partial(sound, self.found) if self.found else _always


def _always(pointer: Pointer) -> bool:
    return True


def entries_of(
    block: FeedBlock,
    around: Unstreamed,
    told: FeedReport,
    lines: Iterable[NumberedLine],
    full: Callable[[], bool],
) -> Iterator[RecordEntry]:
    """The records of a block, of a feed those in ``lines``; what cannot be read is a
    problem.

    Once it is ``full``, faults are only counted.
    """
    if not block.source.is_feed:
        yield from _of_yaml(block.source, around, told)
        return
    kind = block.source.kind
    valid = around.schemas.checker(kind.schema)
    for line, text in lines:
        try:
            if isinstance(text, Malformed):
                raise text
            value = feed.load(text, line)
        except Malformed as fault:
            _lose(kind, told)
            if full():
                told.more += 1
            else:
                told.add([tree.malformed(block.source.path, fault)])
            continue
        found: tuple[Finding, ...] = ()
        if not valid(value) or tree.doubtful(orjson.dumps(value)):
            if full():
                told.more, told.at_least = told.more + 1, True
                _lose(kind, told)
                continue
            found = _found(kind, value, around.schemas, text, line)
        yield RecordEntry(block.source, value, line, text, None, found)


def _found(
    kind: Kind, value: Json, schemas: Schemas, text: bytes, line: int
) -> tuple[Finding, ...]:
    struck = [
        Finding("text.xml", at, said, XML_TEXT, on_key=on_key)
        for at, said, on_key in not_xml(value)
    ]
    return (
        *schemas.findings(
            kind.schema, value, written=lambda at: of_line(text, line).number(at)
        ),
        *struck,
    )


def _of_yaml(
    source: Source, around: Unstreamed, told: FeedReport
) -> Iterator[RecordEntry]:
    parsed = tree.read_one(around.folder, source, around.names, around.schemas)
    told.add(parsed.problems)
    if parsed.lost:
        _lose(source.kind, told)
    told_there, flaws = (
        frozenset((*parsed.unrendered, *(pointer for _, pointer in parsed.flawed))),
        parsed.flaws(),
    )
    file = cache(
        lambda: of_file(around.folder, source, tree.spots_of(around.folder, source))
    )
    for index, value in enumerate(parsed.documents):
        number = index if parsed.listed else None
        found: tuple[Finding, ...] = ()
        if not parsed.valid:
            written = partial(_number, file, () if number is None else (number,))
            findings = around.schemas.findings(
                source.kind.schema, value, written=written
            )
            flawed = flaws.get(number, [])
            findings = [
                each
                for each in findings
                if not any(tree.follows(each.pointer, flaw) for flaw in flawed)
            ]
            found = (*findings, *flawed)
        yield RecordEntry(source, value, None, b"", number, found, told_there)


def _number(
    file: Callable[[], WrittenLines], document: Pointer, pointer: Pointer
) -> str | None:
    return file().number((*document, *pointer))


def _lose(kind: Kind, told: FeedReport) -> None:
    """Nothing is known of one record of a kind."""
    told.lost |= {kind.name, rules.UPC} if kind.name == "product" else {kind.name}


class RecordPlaces:
    """Where the parts of records stand; of the YAML file that was asked for last, all
    places are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: tuple[Source, Mapping[Pointer, yaml.Spot]] | None = None

    def problem(self, entry: RecordEntry, finding: Finding) -> Problem | None:
        """A finding as a problem at its place; none where it follows from one that is
        told already.
        """
        whole = (
            finding.pointer if entry.index is None else (entry.index, *finding.pointer)
        )
        if whole in entry.told:
            return None
        place = self.place(entry, finding.pointer, on_key=finding.on_key)
        words = finding.allowed, finding.about, finding.nearest
        return Problem(
            finding.rule, entry.source.path, finding.found, place, whole, *words
        )

    def place(
        self, entry: RecordEntry, pointer: Pointer, *, on_key: bool = False
    ) -> Place | None:
        if entry.line is not None:
            spots: Mapping[Pointer, yaml.Spot] = feed.locate(entry.text, entry.line)
            whole = pointer
        else:
            spots = self._spots(entry.source)
            whole = pointer if entry.index is None else (entry.index, *pointer)
        spot = yaml.spot(spots, whole)
        return (spot.key if on_key and spot.key else spot.value) if spot else None

    def shown(self, entry: RecordEntry, pointer: Pointer) -> str:
        """A place as other findings name it: `path:line`."""
        place = self.place(entry, pointer)
        return f"{entry.source.path}:{place.line}" if place else entry.source.path

    def _spots(self, source: Source) -> Mapping[Pointer, yaml.Spot]:
        if self._file is None or self._file[0] != source:
            try:
                self._file = source, tree.spots_of(self._folder, source)
            except (Malformed, OSError):  # changed since it was read
                self._file = source, {}
        return self._file[1]


def twice(kind: str, name: str, value: Any, pointer: Pointer, where: str) -> Finding:
    return Finding(
        "unique",
        pointer,
        f"the {name} {value} is also that of the {kind} in {where}",
        "each once",
    )
