"""Several processes read the files of the content folder, and check each document against its
kind's schema.

A document is checked here by itself; what follows from others (layers, unique ids, references)
comes later. A file with a fault does not end the check: its faults are reported and as much of
it as can be read goes on, so that an editor sees all problems at once. Processes send documents
back as JSON, and details only of files that have problems.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from shopwindow.content import expressions, yaml
from shopwindow.content.characters import XML_TEXT, not_xml
from shopwindow.content.listing import Source
from shopwindow.content.processes import Progress, processors, shared
from shopwindow.content.schema import Finding, Schemas
from shopwindow.content.yaml import Json, Malformed
from shopwindow.problems import Place, Pointer, Problem

MAX_FILE = 32 * 1024 * 1024
MAX_LINE = 1024 * 1024
LARGE_FILE = 16 * 1024
"""Bytes from which a file is read first: begun last, it would keep one process busy after all
others have ended.
"""

FILES_A_MESSAGE = 16
"""Files that a process reads before it sends their documents: a message for each would cost as
much as reading it.
"""


@dataclass(slots=True)
class Parsed:
    """What one file holds. ``listed``: the file is a list or a feed.

    ``lost``: documents of it are missing here, for they cannot be read, or hold expressions and
    there are no names to evaluate them with. ``unrendered``: where texts stand whose
    expressions could not be evaluated. ``flawed``: where the YAML has faults that reading went
    beyond.
    """

    source: Source
    listed: bool
    documents: list[Json]
    problems: list[Problem] = field(default_factory=list)
    valid: bool = True
    lost: bool = False
    unrendered: list[Pointer] = field(default_factory=list)
    flawed: list[tuple[str, Pointer]] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Return whether this file, by itself, has no problem."""
        return self.valid and not (self.problems or self.lost or self.unrendered)

    def flaws(self) -> dict[int | None, list[Finding]]:
        """Where YAML's faults are in the documents, by their numbers in a list: nothing follows
        from what is there.
        """
        found: dict[int | None, list[Finding]] = defaultdict(list)
        for rule, pointer in self.flawed:
            match pointer:
                case (int(number), *rest) if self.listed:
                    found[number].append(Finding(rule, tuple(rest), ""))
                case _:
                    found[None].append(Finding(rule, pointer, ""))
        return found


def follows(pointer: Pointer, flaw: Finding) -> bool:
    """Whether what is found at a place follows from YAML's fault: of a key that stands twice
    all that is below it.
    """
    whole = flaw.rule == "yaml.duplicate"
    return pointer == flaw.pointer or (whole and pointer[: len(flaw.pointer)] == flaw.pointer)


Keep = Callable[[Sequence[tuple[Parsed, bytes]]], None]
"""Keeps some files that were read now, each with its documents as one JSON array."""


def read(
    folder: Path,
    sources: Sequence[Source],
    names: expressions.Names | None,
    schemas: Schemas,
    jobs: int | None = None,
    progress: Progress | None = None,
    keep: Keep = lambda files: None,
) -> list[Parsed]:
    """Read every file, evaluate its expressions and check each document against its kind's
    schema.

    Returns the files in the order of ``sources``. The process that has read a run of files
    calls ``keep`` with it.
    """
    count = min(jobs or processors(), len(sources) // 64 + 1)
    large_first = sorted(
        range(len(sources)), key=lambda number: -(sources[number].size // LARGE_FILE)
    )
    starts = range(0, len(large_first), FILES_A_MESSAGE)
    runs = [large_first[start : start + FILES_A_MESSAGE] for start in starts]
    for schema in {source.kind.schema for source in sources}:
        schemas.validator(schema)  # compiled before the fork, for all

    def work(mine: Sequence[Sequence[int]]) -> Iterator[list[_Answer]]:
        for run in mine:
            read = [_read(folder, sources[place], names, schemas) for place in run]
            keep(read)
            yield [
                (parsed.listed, data, None if parsed.sound else parsed) for parsed, data in read
            ]

    files: dict[int, Parsed] = {}
    with shared(work, runs, count) as results:
        for run, answers in zip(runs, results, strict=True):
            for place, (listed, data, unsound) in zip(run, answers, strict=True):
                files[place] = unsound or Parsed(sources[place], listed, orjson.loads(data))
            if progress:
                progress(len(files), len(sources))
    return [files[place] for place in range(len(sources))]


_Answer = tuple[bool, bytes, Parsed | None]
"""What a process sends of a file: whether it is a list, its documents as JSON; where it is
unsound, all of it.

JSON, because orjson reads documents in a quarter of the time that pickle takes for them.
"""


def read_one(
    folder: Path, source: Source, names: expressions.Names | None, schemas: Schemas
) -> Parsed:
    """Read one file, and check each document against its kind's schema; layered ones are
    checked once merged.
    """
    return _read(folder, source, names, schemas)[0]


def _read(
    folder: Path, source: Source, names: expressions.Names | None, schemas: Schemas
) -> tuple[Parsed, bytes]:
    """Read one file as `read_one` does; return its documents as one JSON array as well."""
    parsed = Parsed(source, listed=True, documents=[])
    try:
        if source.path.endswith(".jsonl"):
            _feed(folder, source, parsed)
        else:
            text = text_of(folder, source)
            value, faults = loaded(text)
            parsed.problems += [malformed(source.path, fault) for fault in faults]
            parsed.flawed = [(fault.rule, fault.pointer) for fault in faults]
            parsed.listed = isinstance(value, list)
            if expressions.EXPRESSION_START in text:
                value = _rendered(value, text, names, parsed)
            if not parsed.lost:
                parsed.documents = value if parsed.listed else [value]
    except Malformed as fault:
        parsed.problems += [malformed(source.path, each) for each in (fault, *fault.more)]
        parsed.lost = True
    documents = parsed.documents
    data = b"%b" % orjson.dumps(
        documents
    )  # a copy of that length: orjson's buffers are several times as long
    if any(sign in data for sign in _SUSPECT_BYTES) and _SUSPECT.search(data):
        parsed.problems += _not_xml(folder, source, documents, parsed.listed)
    fraction = b".0" in data and _FRACTION.search(data)
    parsed.valid = source.kind.layered or (
        not (fraction or parsed.flawed)
        and all(schemas.valid(source.kind.schema, document) for document in documents)
    )
    return parsed, data


def loaded(text: str) -> tuple[Json, tuple[Malformed, ...]]:
    """The value of a YAML text, and the faults that reading went beyond. Raises Malformed where
    it could not.
    """
    try:
        return yaml.load(text), ()
    except Malformed as fault:
        if fault.value is None:
            raise
        return fault.value, (fault, *fault.more)


def _rendered(value: Json, text: str, names: expressions.Names | None, parsed: Parsed) -> Json:
    """Evaluate the expressions of a file; those that have no text become problems."""
    if names is None:
        parsed.lost = expressions.any_in(value)
        return value
    faults: list[expressions.Unrendered] = []
    rendered = expressions.render(value, names, faults.append)
    spots = yaml.locate(text) if faults else {}
    for unrendered in faults:
        fault, pointer = unrendered.fault, unrendered.pointer
        parsed.unrendered.append(pointer)
        if not unrendered.reported:
            spot = yaml.spot(spots, pointer)
            place = spot.value if spot else None
            parsed.problems.append(
                Problem(
                    "expression",
                    parsed.source.path,
                    fault.found,
                    place,
                    pointer,
                    fault.allowed,
                    nearest=fault.nearest,
                )
            )
    return rendered


def text_of(folder: Path, source: Source) -> str:
    """Read the text of a YAML file. Raises Malformed where it is too large, unreadable or no
    UTF-8.
    """
    start = Place(1, 1, 1, 1)
    if source.size > MAX_FILE:
        found = f"the file holds {source.size:,} bytes"
        raise Malformed(
            "tree.size", found, f"at most {MAX_FILE:,}; larger sets as a .jsonl feed", start
        )
    try:
        return yaml.decode(_bytes(f"{folder}/{source.path}", source.size))
    except OSError as error:
        raise Malformed(
            "tree.unreadable", f"cannot be read: {error.strerror}", "a readable file", start
        ) from None


def _bytes(path: str, size: int) -> bytes:
    """Read a file by system calls alone: for a small file, a stream would double the time."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, size + 1)
        while (
            len(data) > size
            and len(data) <= MAX_FILE
            and (more := os.read(descriptor, LARGE_FILE))
        ):
            data += more  # it grew since the folder was listed
        return data
    finally:
        os.close(descriptor)


def malformed(path: str, fault: Malformed) -> Problem:
    return Problem(fault.rule, path, fault.found, fault.place, fault.pointer, fault.allowed)


def _feed(folder: Path, source: Source, parsed: Parsed) -> None:
    """The records of a feed, a line each, read as a stream; a line at fault is a problem and is
    left out.
    """
    from shopwindow.content import feed

    try:
        with open(folder / source.path, "rb") as file:
            for number, line in _lines(file):
                try:
                    parsed.documents.append(feed.load(line, number))
                except Malformed as fault:
                    parsed.problems.append(malformed(source.path, fault))
                    parsed.lost = True
    except OSError as error:
        place = Place(1, 1, 1, 1)
        raise Malformed(
            "tree.unreadable", f"cannot be read: {error.strerror}", "a readable file", place
        ) from None


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a feed that are not blank, numbered from 1. Raises Malformed at one that is
    too long.
    """
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
        if len(line) > MAX_LINE:
            place = Place(number, 1, number, 2)
            raise Malformed(
                "feed.line",
                "a line that is too long",
                f"at most {MAX_LINE:,} bytes a line",
                place,
            )
        if line.strip():
            yield number, line


_FRACTION = re.compile(
    rb"[0-9]\.0[,\]}]"
)  # perhaps 7.0 where a whole number is wanted: to be looked at closely

# A cheap look at the JSON bytes for what XML 1.0 §2.2 cannot hold; the exact look follows where
# it strikes.
_SUSPECT_BYTES = (b"\\", b"\xef")  # single bytes, which are searched fastest
_SUSPECT = re.compile(rb"\\u00[01]|\\[bf]|\xef\xbf[\xbe\xbf]")


def doubtful(data: bytes) -> bool:
    """Return whether a document, as JSON bytes, may hold what XML cannot carry, or a whole
    number with a fraction.
    """
    suspect = any(sign in data for sign in _SUSPECT_BYTES) and _SUSPECT.search(data)
    return bool(suspect or (b".0" in data and _FRACTION.search(data)))


def _not_xml(
    folder: Path, source: Source, documents: list[Json], listed: bool
) -> list[Problem]:
    """Return a problem for each text that XML cannot carry."""
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
    """Where every value of a file stands; for a list or a feed the first step is the document's
    number.
    """
    if not source.path.endswith(".jsonl"):
        return yaml.locate(text_of(folder, source))
    from shopwindow.content import feed

    spots: dict[Pointer, yaml.Spot] = {}
    index = 0
    with open(folder / source.path, "rb") as file, suppress(Malformed):
        for number, line in _lines(file):
            try:
                feed.load(line, number)
            except Malformed:
                continue
            spots.update(
                ((index, *pointer), spot) for pointer, spot in feed.locate(line, number).items()
            )
            index += 1
    return spots
