"""The files of the content folder are read, and their documents checked by schema.

A file is read in this order: its text is parsed, its expressions are evaluated, then
each document is checked by itself. What follows from other documents (layers, unique
ids, references) comes later (`folder`).

A file with a fault does not end the check. Its faults are reported, and what could be
read of it is checked further, so that an editor sees all problems at once.

Several processes share the files. They send documents back as JSON, and a whole
`Parsed` only for a file that is not plain. This check only decides whether a document
is valid: explaining is slow, and `check` does it for the few documents that are not.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from shopwindow.content.check.records import FeedBatch, FeedLines
from shopwindow.content.documents import expressions
from shopwindow.content.documents.characters import may_break_xml
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.schedule import full_clock
from shopwindow.content.kinds import Kind, values_at
from shopwindow.content.reading import feed, yaml
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.processes import Progress, processors, shared
from shopwindow.content.reading.slips import slips_in
from shopwindow.content.reading.text import YamlText, text_of
from shopwindow.content.reading.yaml import Json, Malformed, at
from shopwindow.content.rules.allowances import Allowance, allowances
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import Pointer, Problem

LARGE_FILE = 16 * 1024
"""Bytes by which files are sorted: those with the most multiples of this come first.

A large file that is begun last would keep one process busy after all others have ended.
Smaller files stay in the order of the folder.
"""

FILES_A_BATCH = 16
"""Files that a process reads before it sends their documents: a message for each would
cost as much as reading it.
"""

FILES_A_PROCESS = 64
"""Files for which one more process is worth starting: starting it for fewer would cost
more than it saves.
"""


@dataclass(slots=True)
class Parsed:
    """What one file holds.

    ``listed``: the file is a list or a feed, so its documents have numbers. ``valid``:
    every document satisfies its schema; documents of a layered kind count as valid
    until they are merged. ``lost``: documents are missing here, because they cannot be
    read, or hold expressions and there are no names to evaluate them with.
    ``flawed``: rule and pointer of faults in the YAML that reading went beyond, and of
    expressions that could not be evaluated.
    ``warnings``: slips in the text. ``allowed``: what comments allow.
    """

    source: Source
    listed: bool
    documents: list[Json]
    problems: list[Problem] = field(default_factory=list)
    valid: bool = True
    lost: bool = False
    flawed: list[tuple[str, Pointer]] = field(default_factory=list)
    warnings: Sequence[Problem] = ()
    allowed: Sequence[Allowance] = ()

    @property
    def is_plain(self) -> bool:
        """Return whether its documents are all that there is to say of this file."""
        remarks = (self.problems, self.flawed, self.warnings, self.allowed)
        return self.valid and not self.lost and not any(remarks)

    def flaws(self) -> dict[int | None, list[Finding]]:
        """Return what is flawed, by the document's number in a list.

        What stands there means nothing, so no other finding may follow from it.
        """
        by_number: dict[int | None, list[Finding]] = defaultdict(list)
        for rule, pointer in self.flawed:
            match pointer:
                case (int(number), *rest) if self.listed:
                    by_number[number].append(Finding(rule, tuple(rest), ""))
                case _:
                    by_number[None].append(Finding(rule, pointer, ""))
        return by_number


def follows(finding: Finding, flaw: Finding) -> bool:
    """Return whether a finding may follow from a flaw.

    It may at the same value, and at every value below a key that stands twice. Where a
    key stands twice, another may be missing: the one of them was meant to be that.
    """
    pointer = finding.pointer
    if flaw.rule != "yaml.duplicate":
        return pointer == flaw.pointer
    if finding.missing and pointer == flaw.pointer[:-1]:
        return True
    return pointer[: len(flaw.pointer)] == flaw.pointer


def read(
    folder: Path,
    sources: Sequence[Source],
    names: expressions.Names | None,
    schemas: Schemas,
    jobs: int | None,
    progress: Progress | None,
) -> list[Parsed]:
    """Read every file, evaluate its expressions and check each document against its
    schema.

    ``names``: those of site.yaml; None where site.yaml gives none. Returns the files in
    the order of ``sources``.
    """
    processes = min(jobs or processors(), len(sources) // FILES_A_PROCESS + 1)
    large_first = sorted(
        range(len(sources)), key=lambda number: -(sources[number].size // LARGE_FILE)
    )
    # Dealt, so that large files do not all fall to the process that reads first.
    count = -(-len(sources) // FILES_A_BATCH)
    batches = [large_first[number::count] for number in range(count)]

    for schema in {source.kind.schema for source in sources}:
        schemas.checker(schema)  # compiled before the fork, for all processes

    def work(own_batches: Sequence[Sequence[int]]) -> Iterator[list[_SentFile]]:
        for batch in own_batches:
            files = [
                read_one(folder, sources[number], names, schemas) for number in batch
            ]
            yield [
                (parsed.listed, data, None if parsed.is_plain else parsed)
                for parsed, data in files
            ]

    files: dict[int, Parsed] = {}
    with shared(work, batches, processes) as results:
        for batch, sent in zip(batches, results, strict=True):
            for number, (listed, data, more) in zip(batch, sent, strict=True):
                documents = orjson.loads(data)
                files[number] = more or Parsed(sources[number], listed, documents)
            if progress:
                progress(len(files), len(sources))
    return [files[number] for number in range(len(sources))]


_SentFile = tuple[bool, bytes, Parsed | None]
"""What a process sends of a file: whether it is a list, its documents as JSON, and all
of it where it is not plain.

Documents are sent as JSON because orjson decodes them in a quarter of the time that
pickle takes.
"""


def read_one(
    folder: Path, source: Source, names: expressions.Names | None, schemas: Schemas
) -> tuple[Parsed, bytes]:
    """Read one file, evaluate its expressions and check each document against its
    schema; return it, and its documents as one JSON array.

    Documents of a layered kind are checked once they are merged.
    """
    if source.path.endswith(".jsonl"):
        parsed = _feed(folder, source)
    else:
        file, parsed = read_yaml(folder, source)
        _evaluate(file, names, parsed)

    documents = parsed.documents
    # Copied to its own length: orjson's buffers are several times as long.
    data = b"%b" % orjson.dumps(documents)
    if _HOUR_OF_ONE_DIGIT.search(data):
        _fill_clocks(documents, source.kind)
        data = b"%b" % orjson.dumps(documents)
    undecided = parsed.flawed or doubtful(data)
    parsed.valid = source.kind.layered or (
        not undecided
        and all(schemas.valid(source.kind.schema, document) for document in documents)
    )
    return parsed, data


_HOUR_OF_ONE_DIGIT = re.compile(rb':(?<=[ "][0-9]:)[0-9]')
"""What JSON bytes hold where a time of day may lack a digit: few files do. The colon
comes first, since one character is searched fastest.
"""

_WINDOW = (("publish", "from"), ("publish", "until"))
"""Where a publish window has times of day."""


def _fill_clocks(documents: list[Json], kind: Kind) -> None:
    """Give times of day in freshly read documents two digits for the hour.

    The schemas take one, too. From here on a time has one spelling, so text compares as
    time does, and what is served does not depend on how it was written.
    """
    pointers = (*kind.clocks, *(_WINDOW if kind.scheduled else ()))
    for document in documents:
        for pointer in pointers:
            for place, text in values_at(document, pointer):
                if isinstance(text, str) and (filled := full_clock(text)) != text:
                    at(document, place[:-1])[place[-1]] = filled


def read_yaml(folder: Path, source: Source) -> tuple[YamlText, Parsed]:
    """Read one YAML file; return it, and what there is to say of it and its documents,
    whose expressions are not evaluated.
    """
    parsed = Parsed(source, listed=True, documents=[])
    try:
        file = text_of(folder, source)
    except Malformed as fault:
        parsed.problems.append(fault.problem(source.path))
        parsed.lost = True
        return YamlText(""), parsed
    parsed.problems += [fault.problem(source.path) for fault in file.faults]
    parsed.lost = file.stop is not None
    if not parsed.lost:
        parsed.listed = isinstance(file.value, list)
        parsed.documents = file.value if parsed.listed else [file.value]
        parsed.flawed = [(fault.rule, fault.pointer) for fault in file.faults]
        parsed.allowed = allowances(file.text)
        if not file.faults:
            parsed.warnings = slips_in(source.path, file.text)
    return file, parsed


def _evaluate(file: YamlText, names: expressions.Names | None, parsed: Parsed) -> None:
    """Evaluate the expressions in a file's documents; faults become problems.

    Without names, documents with expressions are lost.
    """
    if parsed.lost or expressions.EXPRESSION_START not in file.text:
        return
    if names is None:
        if expressions.any_in(file.value):
            parsed.lost, parsed.documents = True, []
        return
    faults: list[Finding] = []
    value = expressions.render(file.value, names, faults.append)
    parsed.documents = value if parsed.listed else [value]
    for fault in faults:
        pointer = fault.pointer
        parsed.flawed.append((fault.rule, pointer))
        if not fault.follows:
            place = yaml.place_at(file.spots, pointer)
            parsed.problems.append(fault.problem(parsed.source.path, pointer, place))


def _feed(folder: Path, source: Source) -> Parsed:
    """Return the documents of a feed, which is read line by line.

    A line at fault becomes a problem and is left out.
    """
    parsed = Parsed(source, listed=True, documents=[])
    for number, line in FeedLines(folder, FeedBatch(source)):
        try:
            if isinstance(line, Malformed):
                raise line
            parsed.documents.append(feed.load(line, number))
        except Malformed as fault:
            parsed.problems.append(fault.problem(source.path))
            parsed.lost = True
    return parsed


_FRACTION = re.compile(rb"[0-9]\.0[,\]}]")
"""A number such as 7.0 in JSON bytes, where a whole number may be required."""


def doubtful(data: bytes) -> bool:
    """Return whether a document, as JSON bytes, needs a closer look.

    It may hold characters that XML cannot, or a number such as 7.0, which the fast
    validator takes for a whole number. Whoever explains looks at both.
    """
    return may_break_xml(data) or (b".0" in data and bool(_FRACTION.search(data)))
