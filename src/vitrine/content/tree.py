"""The files of the content folder read: each file's documents, checked one by one."""

import os
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from vitrine.content import expressions, yaml
from vitrine.content.characters import XML_TEXT, not_xml
from vitrine.content.listing import Source
from vitrine.content.model import Buffer
from vitrine.content.processes import Progress, counted, processors, stream, turns
from vitrine.content.schema import Finding, Schemas
from vitrine.content.yaml import Json, Malformed
from vitrine.problems import Place, Pointer, Problem

MAX_FILE = 32 * 1024 * 1024
MAX_LINE = 1024 * 1024
LARGE = 16 * 1024
"""Bytes from which a file takes so long that it is better begun early."""


@dataclass(slots=True)
class Parsed:
    """What one file holds. ``listed``: the file is a list or a feed. ``data``: its documents as one JSON array.

    ``documents``: the same as values, but for what is left out where the file is ``brief``.
    ``lost``: documents of it are missing here, for they cannot be read, or hold expressions and there are no names
    to evaluate them with. ``unrendered``: where texts stand whose expressions could not be evaluated. ``flawed``: where
    the YAML has faults that reading went beyond.
    """

    source: Source
    listed: bool
    data: Buffer
    problems: list[Problem]
    valid: bool = True
    lost: bool = False
    unrendered: list[Pointer] = field(default_factory=list)
    flawed: list[tuple[str, Pointer]] = field(default_factory=list)
    documents: list[Json] = field(default_factory=list)

    @property
    def text(self) -> Buffer | None:
        """The JSON of the only document."""
        return None if self.listed else self.data[1:-1]

    @property
    def brief(self) -> bool:
        """Whether its document does without what its kind only shows."""
        return bool(self.source.kind.shown) and not self.listed and self.sound

    @property
    def sound(self) -> bool:
        """Whether there is nothing to say about this file by itself."""
        return self.valid and not (self.problems or self.lost or self.unrendered)

    def flaws(self) -> dict[int | None, list[Finding]]:
        """Where YAML's faults are in the documents, by their numbers in a list: nothing follows from what is there."""
        found: dict[int | None, list[Finding]] = defaultdict(list)
        for rule, pointer in self.flawed:
            match pointer:
                case (int(number), *rest) if self.listed:
                    found[number].append(Finding(rule, tuple(rest), ""))
                case _:
                    found[None].append(Finding(rule, pointer, ""))
        return found

    def open(self) -> None:
        """Make its documents from their JSON."""
        self.documents = orjson.loads(self.data)


def follows(pointer: Pointer, flaw: Finding) -> bool:
    """Whether what is found at a place follows from YAML's fault: of a key that stands twice all that is below it."""
    whole = flaw.rule == "yaml.duplicate"
    return pointer == flaw.pointer or (whole and pointer[: len(flaw.pointer)] == flaw.pointer)


Brief = list[Json] | None
"""What is left of a file's documents without what their kind only shows; None where all of it is needed."""


def read(
    folder: Path,
    sources: Sequence[Source],
    names: expressions.Names | None,
    schemas: Schemas,
    jobs: int | None = None,
    progress: Progress | None = None,
    meanwhile: Callable[[], object] = lambda: None,
    keep: Callable[[Sequence[tuple[Parsed, Brief]]], object] = lambda files: None,
) -> list[Parsed]:
    """Every file read, its expressions evaluated, each document checked against its kind's schema; in order.

    ``meanwhile`` is called in this process while others read; ``keep`` with every run of files by who has read it.
    """
    count = min(jobs or processors(), len(sources) // 64 + 1)
    by_size = sorted(range(len(sources)), key=lambda number: -(sources[number].size // LARGE))  # the long ones first
    for kind in {source.kind for source in sources}:
        schemas.validator(kind.schema)  # compiled before the fork, for all

    with turns(by_size, 16) as take:

        def work(number: int, step: Callable[[], None]) -> Iterator[_Answers]:
            for run in take():
                answers: list[_Answer] = []
                files: list[tuple[Parsed, Brief]] = []
                for place in run:
                    parsed, documents = _read(folder, sources[place], names, schemas)
                    answers.append((place, parsed.listed, len(parsed.data), None if parsed.sound else parsed))
                    files.append((parsed, _brief(parsed, documents)))
                    step()
                keep(files)
                yield answers, b"".join(file.data for file, _ in files), orjson.dumps([brief for _, brief in files])

        arriving = _Arriving(sources)
        stream(work, count, arriving.take, counted(progress, len(sources)), meanwhile)
    return arriving.files()


_Answer = tuple[int, bool, int, Parsed | None]
"""What a process tells of a file: its place, whether it is a list, how long its JSON is; where it is unsound, all."""

_Answers = tuple[list[_Answer], bytes, bytes]
"""The same of some files; their JSON, one after another; and the briefs, as JSON."""


def _brief(parsed: Parsed, documents: list[Json]) -> Brief:
    if not parsed.brief:
        return None
    shown = parsed.source.kind.shown
    return [{key: value for key, value in document.items() if key not in shown} for document in documents]


class _Arriving:
    """What processes tell of files, in any order, while they read others.

    Nothing is made among the documents that goes before they do: its place would be taken by what outlives them.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        nothing = bytes(len(sources))
        self._sources = sources
        self._values: list[Json] = [None] * len(sources)
        self._listed, self._alone = bytearray(nothing), bytearray(nothing)
        self._texts, self._starts, self._lengths = bytearray(), array("q", nothing * 8), array("q", nothing * 8)
        self._unsound: dict[int, Parsed] = {}

    def take(self, told: _Answers) -> None:
        answers, texts, briefs = told
        view, end = memoryview(texts), 0
        for (place, listed, length, unsound), brief in zip(answers, orjson.loads(briefs), strict=True):
            start, end = end, end + length
            documents = orjson.loads(view[start:end]) if brief is None else brief
            self._listed[place], self._alone[place] = listed, not listed and len(documents) == 1
            self._values[place] = documents[0] if self._alone[place] else documents
            self._starts[place], self._lengths[place] = len(self._texts) + start, length
            if unsound:
                self._unsound[place] = unsound
        self._texts.extend(texts)

    def files(self) -> list[Parsed]:
        """Every file, once all have been told of; in order."""
        found, view = [], memoryview(self._texts)
        for place, (source, value) in enumerate(zip(self._sources, self._values, strict=True)):
            start = self._starts[place]
            data = view[start : start + self._lengths[place]]
            parsed = self._unsound.get(place) or Parsed(source, bool(self._listed[place]), data, [])
            parsed.documents = [value] if self._alone[place] else value
            found.append(parsed)
        return found


def read_one(folder: Path, source: Source, names: expressions.Names | None, schemas: Schemas) -> Parsed:
    """One file's documents, each checked against its kind's schema (applications are checked when merged)."""
    return _read(folder, source, names, schemas)[0]


def _read(folder: Path, source: Source, names: expressions.Names | None, schemas: Schemas) -> tuple[Parsed, list[Json]]:
    """The same, and the documents as values."""
    parsed = Parsed(source, listed=True, data=b"[]", problems=[])
    documents: list[Json] = []
    try:
        if source.path.endswith(".jsonl"):
            _feed(folder, source, parsed, documents)
        else:
            text = text_of(folder, source)
            value, faults = loaded(text)
            parsed.problems += [malformed(source.path, fault) for fault in faults]
            parsed.flawed = [(fault.rule, fault.pointer) for fault in faults]
            parsed.listed = isinstance(value, list)
            if expressions.OPENING in text:
                value = _rendered(value, text, names, parsed)
            documents = [] if parsed.lost else value if parsed.listed else [value]
    except Malformed as fault:
        parsed.problems += [malformed(source.path, each) for each in (fault, *fault.more)]
        parsed.lost = True
    parsed.data = b"%b" % orjson.dumps(documents)  # a copy of that length: orjson's buffers are several times as long
    if any(sign in parsed.data for sign in _SIGNS) and _SUSPECT.search(parsed.data):
        parsed.problems += _not_xml(folder, source, documents, parsed.listed)
    fraction = b".0" in parsed.data and _FRACTION.search(parsed.data)
    parsed.valid = source.kind.name == "app" or (
        not (fraction or parsed.flawed) and all(schemas.valid(source.kind.schema, document) for document in documents)
    )
    return parsed, documents


def loaded(text: str) -> tuple[Json, tuple[Malformed, ...]]:
    """The value of a YAML text, and the faults that reading went beyond. Raises Malformed where it could not."""
    try:
        return yaml.load(text), ()
    except Malformed as fault:
        if fault.value is None:
            raise
        return fault.value, (fault, *fault.more)


def _rendered(value: Json, text: str, names: expressions.Names | None, parsed: Parsed) -> Json:
    """A document with its expressions evaluated; those that have no text are problems."""
    if names is None:
        parsed.lost = expressions.any_in(value)
        return value
    faults: list[expressions.Unrendered] = []
    rendered = expressions.render(value, names, faults.append)
    spots = yaml.locate(text) if faults else {}
    for unrendered in faults:
        fault, pointer = unrendered.fault, unrendered.pointer
        parsed.unrendered.append(pointer)
        if not unrendered.told:
            spot = yaml.spot(spots, pointer)
            place = spot.value if spot else None
            parsed.problems.append(
                Problem(
                    "expression", parsed.source.path, fault.found, place, pointer, fault.allowed, nearest=fault.nearest
                )
            )
    return rendered


def text_of(folder: Path, source: Source) -> str:
    """The text of a YAML file. Raises Malformed where it is too large, unreadable or no UTF-8."""
    start = Place(1, 1, 1, 1)
    if source.size > MAX_FILE:
        found = f"the file holds {source.size:,} bytes"
        raise Malformed("tree.size", found, f"at most {MAX_FILE:,}; larger sets as a .jsonl feed", start)
    try:
        return yaml.decode(_bytes(f"{folder}/{source.path}", source.size))
    except OSError as error:
        raise Malformed("tree.unreadable", f"cannot be read: {error.strerror}", "a readable file", start) from None


def _bytes(path: str, size: int) -> bytes:
    """What a file holds, by system calls alone: a stream costs as much again for a small file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, size + 1)
        while len(data) > size and len(data) <= MAX_FILE and (more := os.read(descriptor, LARGE)):
            data += more  # it grew since the folder was listed
        return data
    finally:
        os.close(descriptor)


def malformed(path: str, fault: Malformed) -> Problem:
    return Problem(fault.rule, path, fault.found, fault.place, fault.pointer, fault.allowed)


def _feed(folder: Path, source: Source, parsed: Parsed, documents: list[Json]) -> None:
    """The records of a feed, a line each, read as a stream; a line at fault is a problem and is left out."""
    from vitrine.content import feed

    try:
        with open(folder / source.path, "rb") as file:
            for number, line in _lines(file):
                try:
                    documents.append(feed.load(line, number))
                except Malformed as fault:
                    parsed.problems.append(malformed(source.path, fault))
                    parsed.lost = True
    except OSError as error:
        place = Place(1, 1, 1, 1)
        raise Malformed("tree.unreadable", f"cannot be read: {error.strerror}", "a readable file", place) from None


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a feed that are not blank, numbered from 1. Raises Malformed at one that is too long."""
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
        if len(line) > MAX_LINE:
            place = Place(number, 1, number, 2)
            raise Malformed("feed.line", "a line that is too long", f"at most {MAX_LINE:,} bytes a line", place)
        if line.strip():
            yield number, line


_FRACTION = re.compile(rb"[0-9]\.0[,\]}]")  # perhaps 7.0 where a whole number is wanted: to be looked at closely

# A cheap look at the JSON bytes for what XML 1.0 §2.2 cannot hold; the exact look follows where it strikes.
_SIGNS = (b"\\", b"\xef")  # single bytes, which are found soonest
_SUSPECT = re.compile(rb"\\u00[01]|\\[bf]|\xef\xbf[\xbe\xbf]")


def doubtful(data: bytes) -> bool:
    """Whether a document, as JSON bytes, may hold what XML cannot carry, or a whole number with a fraction."""
    suspect = any(sign in data for sign in _SIGNS) and _SUSPECT.search(data)
    return bool(suspect or (b".0" in data and _FRACTION.search(data)))


def _not_xml(folder: Path, source: Source, documents: list[Json], listed: bool) -> list[Problem]:
    """A problem for each text that XML cannot carry."""
    struck = not_xml(documents if listed else documents[0])
    try:
        spots = spots_of(folder, source) if struck else {}
    except (Malformed, OSError):  # changed since it was read
        spots = {}
    problems = []
    for pointer, found, on_key in struck:
        spot = spots.get(pointer)
        place = ((spot.key if on_key else None) or spot.value) if spot else None
        problems.append(Problem("text.xml", source.path, found, place, pointer, XML_TEXT))
    return problems


def spots_of(folder: Path, source: Source) -> dict[Pointer, yaml.Spot]:
    """Where every value of a file stands; for a list or a feed the first step is the document's number."""
    if not source.path.endswith(".jsonl"):
        return yaml.locate(text_of(folder, source))
    from vitrine.content import feed

    spots: dict[Pointer, yaml.Spot] = {}
    index = 0
    with open(folder / source.path, "rb") as file, suppress(Malformed):
        for number, line in _lines(file):
            try:
                feed.load(line, number)
            except Malformed:
                continue
            spots.update(((index, *pointer), spot) for pointer, spot in feed.locate(line, number).items())
            index += 1
    return spots
