"""What is named and does not exist becomes one problem, however many places name it.

A document that was deleted is missed at every place that names it: a store at a dozen
events, each by another of its numbers, and in hundreds of lines of stock. Editors mend
one thing, so they are told of one. Which numbers belonged together is known from the
documents as they were: those of a release that the check compares with, or of the last
commit. Without either, uses of one value are one problem, once they are many.
"""

import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shopwindow.content import tree
from shopwindow.content.kinds import Kind, values_at
from shopwindow.content.yaml import Malformed
from shopwindow.problems import Absent, Problem

EXAMPLES = 3
"""Places that a problem names. So many uses of one value, or fewer, are reported one by
one: each may be a mistake of its own.
"""

GIT_SECONDS = 20
"""After which nobody waits for git; the check then goes on without the last commit."""

MAX_CHANGED_FILES = 500
"""Changed files whose former text is looked at. Each takes a call of git, and a check
must not wait long for a hint; a larger change is no deletion of one document.
"""


@dataclass(frozen=True)
class FormerDocument:
    """A document as it was: its kind, its value, and the file that had it, if known."""

    kind: Kind
    value: Mapping[str, Any]
    path: str = ""

    @property
    def name(self) -> str:
        """What a sentence calls it: by the first of its ids."""
        return f"{self.kind.name} {self.value[self.kind.ids[0]]}"

    def identities(self) -> Iterator[Absent]:
        """Yield its ids, by which it may be missed."""
        for id in self.kind.ids:
            if id in self.value:
                yield self.kind.name, id, str(self.value[id])

    def absent(self) -> Iterator[Absent]:
        """Yield by what it may be missed: its ids, and its parts."""
        yield from self.identities()
        for name, pointer in self.kind.parts:
            for _, value in values_at(self.value, pointer):
                yield self.kind.name, name, str(value)


@dataclass
class _Cause:
    """What is missed: its problems, and the lines of feeds that no problem lists."""

    name: str
    former: FormerDocument | None = None
    problems: list[Problem] = field(default_factory=list)
    unlisted: Counter[str] = field(default_factory=Counter)


def grouped(
    problems: Sequence[Problem],
    unlisted: Mapping[tuple[Absent, str], int],
    former: Iterable[FormerDocument],
) -> tuple[list[Problem], int]:
    """Return the problems with those of one cause as one, and how many are unlisted.

    Args:
        problems: of a check, in any order.
        unlisted: how many documents of a file, by its path, name what is absent,
            beside those of the problems: lines of feeds, nearly always.
        former: documents as they were, of which some may be gone.
    """
    owners = {absent: was for was in former for absent in was.absent()}
    causes: dict[Any, _Cause] = {}

    def cause_of(absent: Absent) -> _Cause:
        was = owners.get(absent)
        key = absent if was is None else (was.kind.name, was.name)
        if key not in causes:
            kind, name, value = absent
            called = was.name if was else f"a {kind} with the {name} {value}"
            causes[key] = _Cause(called, was)
        return causes[key]

    others: list[Problem] = []
    for problem in problems:
        if problem.absent is None:
            others.append(problem)
        else:
            cause_of(problem.absent).problems.append(problem)
    for (absent, path), count in unlisted.items():
        cause_of(absent).unlisted[path] += count

    more = 0
    for cause in causes.values():
        uses = len(cause.problems) + cause.unlisted.total()
        if cause.problems and (cause.former or uses > EXAMPLES):
            others.append(_one(cause))
        else:
            others += cause.problems
            more += cause.unlisted.total()
    return others, more


def _one(cause: _Cause) -> Problem:
    """Return one problem in the place of all of a cause.

    It stands at the first use in a document: feeds come from elsewhere.
    """
    problems = sorted(cause.problems, key=lambda one: (_is_feed(one.path), one.order()))
    in_feeds = {(one.path, _line(one)) for one in problems if _is_feed(one.path)}
    unlisted = {path: n for path, n in cause.unlisted.items() if _is_feed(path)}
    lines = len(in_feeds) + sum(unlisted.values())
    feeds = {path for path, _ in in_feeds} | set(unlisted)
    documents = {
        (one.path, *one.pointer[:1]) if _is_in_list(one) else (one.path,)
        for one in problems
        if not _is_feed(one.path)
    }
    in_files = len(documents) + cause.unlisted.total() - sum(unlisted.values())
    parts = [_counted(in_files, "document")] if in_files else []
    if lines:
        parts.append(f"{_counted(lines, 'line')} of {_counted(len(feeds), 'feed')}")
    verb = "names" if in_files + lines == 1 else "name"
    found = f"{' and '.join(parts)} {verb} {cause.name}, which does not exist"
    if cause.former:
        was_in = f"; {cause.former.path} had it" if cause.former.path else ""
        found += " any more" + was_in
    examples = [f"{one.path}:{_line(one)}" for one in problems[:EXAMPLES]]
    if in_files + lines > 1:
        found += f"; such as {', '.join(examples)}"
    allowed = f"a {problems[0].absent[0]} that exists" if problems[0].absent else ""
    if cause.former and cause.former.kind.scheduled:
        allowed += (
            "; the document again, which then ends by "
            f"shopwindow retire {cause.name} --on DAY"
        )
    return replace(
        problems[0], found=found, pointer=(), allowed=allowed, about="", nearest=""
    )


def _line(problem: Problem) -> int:
    return problem.place.line if problem.place else 1


def _is_in_list(problem: Problem) -> bool:
    """Return whether a problem is in one of several documents of its file."""
    return isinstance(next(iter(problem.pointer), None), int)


def _is_feed(path: str) -> bool:
    return ".jsonl" in path


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


# -- documents as they were ------------------------------------------------------------


def of_release(
    released: Mapping[str, Mapping[Any, Any]], kinds: Iterable[Kind]
) -> Iterator[FormerDocument]:
    """Yield the documents of a release, by kind and identity."""
    for kind in kinds:
        for value in released.get(kind.name, {}).values():
            if kind.ids and isinstance(value, dict) and kind.ids[0] in value:
                yield FormerDocument(kind, value)


def of_last_commit(folder: Path, kinds: Sequence[Kind]) -> Iterator[FormerDocument]:
    """Yield what the last commit has in files that were changed or deleted since.

    Nothing where the folder is in no repository. Feeds are left out: what they hold is
    not looked at line by line.
    """
    changed = _git(folder, "diff", "--name-only", "--relative", "-z", "HEAD", "--", ".")
    paths = [path for path in changed.split("\0") if path.endswith((".yaml", ".yml"))]
    for path in paths[:MAX_CHANGED_FILES]:
        kind = next(
            (kind for kind in kinds if path.startswith(f"{kind.folder}/")), None
        )
        if kind is None or not kind.ids:
            continue
        try:
            value, _ = tree.loaded(_git(folder, "show", f"HEAD:./{path}"))
        except Malformed:
            continue
        for document in value if isinstance(value, list) else [value]:
            if isinstance(document, dict) and kind.ids[0] in document:
                yield FormerDocument(kind, document, path)


def _git(folder: Path, *arguments: str) -> str:
    """Return what git prints; nothing where it fails."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, check=True, timeout=GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")
