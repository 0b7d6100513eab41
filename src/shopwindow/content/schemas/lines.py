"""Lines of feeds with one cause are one problem, with their number and three examples.

A column that was renamed in an import is a fault in every line. Three such lines are
put into words. After that a line is recognized by what its schema refuses, and where.
So all lines are counted, in about the time that reading them takes, and memory does not
grow with them.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import EACH
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import Absent, Pointer, Problem

EXAMPLES = 3
"""Lines that a problem names. So many lines of one cause are reported one by one."""

MOST_REFUSALS = 100
"""What a schema refuses in a line that is recognized."""


@dataclass(frozen=True, slots=True)
class LineCause:
    """What lines have in common that are wrong for one reason.

    ``kind``: of their documents. ``pointer``: to the fault, with EACH for positions in
    lists. ``detail``: what tells causes at one place apart, such as the missing key.
    """

    kind: str
    rule: str
    pointer: Pointer
    detail: str = ""


@dataclass
class LineGroup:
    """The lines of one cause: how many in each feed, and the problems of the first."""

    lines: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: "LineGroup") -> None:
        if self.lines.total() < EXAMPLES:
            self.problems += other.problems
        self.lines.update(other.lines)


LineGroups = dict[LineCause, LineGroup]


def cause(kind: str, fault: Finding | Problem) -> LineCause:
    """Return what a fault in a line has in common with those of other lines. Its pointer
    begins at the document.
    """
    words = fault.found if fault.rule in _BY_WORDS else ""
    return LineCause(kind, fault.rule, general(fault.pointer), words)


def general(pointer: Pointer) -> Pointer:
    """Return a pointer with EACH in place of positions in lists."""
    return tuple(EACH if isinstance(step, int) else step for step in pointer)


def problems_of(groups: Iterable[LineGroup]) -> Iterator[Problem]:
    """Yield one problem for each cause of many lines; of few, those of each line."""
    for group in groups:
        if not group.problems:
            continue
        if group.lines.total() <= EXAMPLES:
            yield from group.problems
        else:
            yield united(group.problems, group.lines)


def united(problems: Sequence[Problem], lines: Mapping[str, int]) -> Problem:
    """Return one problem in the place of those of many lines.

    ``problems``: those of the first lines; ``lines``: how many each feed has.
    """
    feeds = [path for path in lines if ".jsonl" in path]
    count = f"{sum(lines.values()):,} {'lines' if len(feeds) == len(lines) else 'documents'}"
    if len(lines) > 1:
        count += f" of {len(lines)} {'feeds' if len(feeds) == len(lines) else 'files'}"
    return the_same(problems[0], count, (one.where for one in problems))


def the_same(first: Problem, count: str, places: Iterable[str]) -> Problem:
    """Return a problem that stands for others, with their ``count`` and some places."""
    examples = ", ".join([*dict.fromkeys(places)][:EXAMPLES])
    found = f"{first.found}; the same in {count}, such as {examples}"
    return replace(first, found=found)


def grouped(
    problems: Iterable[Problem], kinds: Mapping[str, str], recognized: LineGroups
) -> list[Problem]:
    """Return problems, of which those with one cause in documents of lists and feeds are
    one.

    ``kinds``: the kind of the documents in a file, by its path. ``recognized``: the
    documents that were counted without being explained.
    """
    others: list[Problem] = []
    by_cause: dict[LineCause, dict[tuple[str, Any], list[Problem]]] = {}
    for problem in problems:
        kind, number = kinds.get(problem.path), [*problem.pointer, ""][0]
        in_feed = problem.path.endswith(".jsonl")
        in_list = isinstance(number, int) and problem.rule.startswith(_OF_ONE_DOCUMENT)
        place = problem.place
        is_alone = problem.absent is not None or not (in_feed or in_list)
        if kind is None or place is None or is_alone:
            others.append(problem)
            continue
        common = cause(kind, replace(problem, pointer=problem.pointer[1:]))
        line = problem.path, number if problem.pointer else place.line
        by_cause.setdefault(common, {}).setdefault(line, []).append(problem)
    groups: list[LineGroup] = []
    for common, by_line in by_cause.items():
        group = LineGroup(Counter(path for path, _ in by_line))
        for own in [*by_line.values()][:EXAMPLES]:
            group.problems += own
        if common in recognized:
            group.lines.update(recognized[common].lines)
        groups.append(group)
    return [*others, *problems_of(groups)]


_OF_ONE_DOCUMENT = ("schema.", "tree.kind")
"""How rules begin whose problems in a list of YAML have one cause, where they stand at
the same place of the documents. The others name what stands elsewhere.
"""

_BY_WORDS = ("schema.required", "feed.syntax")
"""Rules whose problems at one place are told apart by their words: the missing key, and
what of JSON is broken. The words hold no value of the editor's.
"""


@dataclass(eq=False)
class Combination:
    """Faults that lines have together. ``unsound``: where rules must not look."""

    causes: tuple[LineCause, ...]
    unsound: tuple[Finding, ...]
    lines: int = 0


class LineFaults:
    """Recognizes in lines the faults of those that were explained; one for a process."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._seen: Counter[Hashable] = Counter()
        self._known: dict[Hashable, Combination] = {}
        self.explained = 0
        """How many lines were explained."""
        self.examples: Counter[LineCause] = Counter()
        """How many lines of a cause there were, of which the first are listed."""
        self.absent: Counter[Absent] = Counter()
        """How many lines name what does not exist."""

    def of(self, schema: str, value: Json) -> Combination | None:
        """Return the faults of a line that is not valid, if they are known by now."""
        refused = self._refused(schema, value)
        known = self._known.get(refused) if refused else None
        if known is not None:
            known.lines += 1
        return known

    def learn(
        self, kind: str, schema: str, value: Json, findings: Sequence[Finding]
    ) -> None:
        """Note the faults of a line that was explained."""
        self.explained += 1
        refused = self._refused(schema, value)
        if refused is None:
            return
        self._seen[refused] += 1
        if self._seen[refused] == EXAMPLES:
            shown = [cause(kind, one) for one in findings if not one.follows]
            unsound = tuple(_unsound(finding) for finding in findings)
            self._known[refused] = Combination(tuple(dict.fromkeys(shown)), unsound)

    def _refused(self, schema: str, value: Json) -> Hashable | None:
        """Return what tells lines apart by what a schema refuses in them: the keywords,
        their places, and the keys that are missing or too much. None: nothing, or so
        much that no other line will be like it.
        """
        errors = [*islice(self._schemas.refusals(schema, value), MOST_REFUSALS)]
        if len(errors) in (0, MOST_REFUSALS):
            return None
        return schema, frozenset(
            (
                error.absolute_keyword_location,
                general(tuple(error.instance_path)),
                str(getattr(error.kind, "property", "")),
                tuple(getattr(error.kind, "unexpected", ())),
            )
            for error in errors
        )


def _unsound(finding: Finding) -> Finding:
    """Return a finding that only keeps rules from what is wrong in a line like its own.

    Another line may have the fault at another position of a list, so all of it is out.
    """
    pointer = finding.pointer
    for length, step in enumerate(pointer):
        if isinstance(step, int):
            return Finding(finding.rule, pointer[:length], "", follows=True)
    return finding.following
