"""What is named and does not exist becomes one problem, however many places name it.

A document that was deleted is missed at every place that names it: a store at a dozen
events, each by another of its numbers, and in hundreds of lines of stock. Editors mend
one thing, so they are told of one. Which numbers belonged together is known from the
documents as they were: those of a release that the check compares with, or of the last
commit. Without either, all uses of one value are one problem. Documents of a file that
was deleted are one cause, too.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shopwindow.content.documents.finding import joined
from shopwindow.content.kinds import Kind, values_at
from shopwindow.content.reading.git import GitFailed, git
from shopwindow.content.reading.text import YamlText
from shopwindow.content.reading.yaml import Malformed
from shopwindow.content.schemas.lines import the_same
from shopwindow.problems import Absent, Problem, number_of

MAX_NAMED_PLACES = 3
"""Places, or values, that a problem names."""

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
    """What is missed: its problems, and the lines of feeds that no problem lists.

    ``former`` holds the documents that it was, by what a sentence calls them.
    ``values`` are those of many things of one sort, of which ``absent`` is the first.
    """

    absent: Absent
    former: dict[str, FormerDocument] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unlisted: Counter[str] = field(default_factory=Counter)


def grouped(
    problems: Sequence[Problem],
    unlisted: Mapping[tuple[Absent, str], int],
    former: Iterable[FormerDocument],
    paths: Container[str],
) -> tuple[list[Problem], int]:
    """Return the problems with those of one cause as one, and how many are unlisted.

    Args:
        problems: of a check, in any order.
        unlisted: how many documents of a file, by its path, name what is absent,
            beside those of the problems: lines of feeds, nearly always.
        former: documents as they were, of which some may be gone.
        paths: the files that are there; a former document of another was deleted with
            its file.
    """
    owners = {absent: was for was in former for absent in was.absent()}
    causes: dict[Any, _Cause] = {}

    def cause_of(absent: Absent) -> _Cause:
        was = owners.get(absent)
        key: Any = absent
        if was is not None:
            has_file = not was.path or was.path in paths
            key = (was.kind.name, was.name if has_file else was.path)
        cause = causes.setdefault(key, _Cause(absent))
        if was is not None:
            cause.former[was.name] = was
        return cause

    others: list[Problem] = []
    for problem in problems:
        if problem.absent is None:
            others.append(problem)
        else:
            cause_of(problem.absent).problems.append(problem)
    for (absent, path), count in unlisted.items():
        cause_of(absent).unlisted[path] += count

    more = 0
    for cause in _merged(causes.values()):
        uses = len(cause.problems) + cause.unlisted.total()
        if cause.problems and (cause.former or uses > 1):
            others.append(_one(cause))
        else:
            others += cause.problems
            more += cause.unlisted.total()
    return others, more


def united(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with all uses of one former name as one, at the first use.

    Such a problem says what is absent, and what it is called now (`meant`). The other
    uses stand in its `also`.
    """
    uses: dict[Any, list[Problem]] = defaultdict(list)
    for number, problem in enumerate(problems):
        is_renamed = problem.absent is not None and problem.meant is not None
        uses[problem.absent if is_renamed else number].append(problem)
    return [_with_others(first, others) for first, *others in uses.values()]


def _with_others(problem: Problem, others: Sequence[Problem]) -> Problem:
    if not others:
        return problem
    count, places = number_of(len(others), "more place"), (one.where for one in others)
    return replace(the_same(problem, count, places), also=tuple(others))


def _merged(causes: Iterable[_Cause]) -> Iterator[_Cause]:
    """Yield the causes, with many values of one sort that only feeds name as one.

    They come from elsewhere, where one export or import is at fault.
    """
    of_feeds: dict[tuple[str, str], list[_Cause]] = defaultdict(list)
    for cause in causes:
        paths = {one.path for one in cause.problems} | set(cause.unlisted)
        if cause.former or not all(map(_is_feed, paths)):
            yield cause
        else:
            of_feeds[cause.absent[:2]].append(cause)
    for alike in of_feeds.values():
        if len(alike) <= MAX_NAMED_PLACES:
            yield from alike
            continue
        whole = _Cause(alike[0].absent)
        for cause in alike:
            _, _, value = cause.absent
            if value:
                whole.values.append(value)
            whole.problems += cause.problems
            whole.unlisted.update(cause.unlisted)
        yield whole


def _one(cause: _Cause) -> Problem:
    """Return one problem in the place of all of a cause.

    It stands at the first use in a document: feeds come from elsewhere.
    """
    problems = sorted(cause.problems, key=lambda one: (_is_feed(one.path), one.order()))
    names = [*cause.former] or cause.values or [_called(cause.absent)]
    counts = Counter(path for path, _ in {(one.path, _use(one)) for one in problems})
    counts += cause.unlisted
    feeds = [count for path, count in counts.items() if _is_feed(path)]
    uses = sum(feeds)
    in_files = counts.total() - uses
    parts = [number_of(in_files, "document")] if in_files else []
    if uses:
        parts.append(_in_feeds(uses, len(feeds), len(names)))
    kind, property, _ = cause.absent
    verb = "name" if property else "use"
    verb += "s" * (in_files + uses == 1)
    called = f"{kind}s with the {property} " * bool(cause.values) + _some(names)
    found = f"{' and '.join(parts)} {verb} {called}, "
    found += "which do not exist" if len(names) > 1 else "which does not exist"
    if cause.former:
        found += " any more" + _whereabouts(cause.former)
    examples = dict.fromkeys(one.where for one in problems)
    if in_files + uses > 1:
        found += f"; such as {', '.join([*examples][:MAX_NAMED_PLACES])}"

    allowed = f"a {kind} that exists" if property else problems[0].allowed
    scheduled = [name for name, was in cause.former.items() if was.kind.scheduled]
    if scheduled:
        allowed += (
            "; the document again, which then ends by "
            f"shopwindow retire {scheduled[0]} --on DAY"
        )
    near = {one.nearest for one in problems}
    nearest = near.pop() if len(near) == 1 and not cause.former else ""
    return replace(
        problems[0], found=found, pointer=(), allowed=allowed, about="", nearest=nearest
    )


def _in_feeds(uses: int, feeds: int, things: int) -> str:
    """Return in how many lines of feeds one thing is named, or in how many places there
    are names of several: one line may have many, as stock has a store each.
    """
    if things == 1:
        return f"{number_of(uses, 'line')} of {number_of(feeds, 'feed')}"
    return f"{number_of(uses, 'place')} in {number_of(feeds, 'feed')}"


def _called(absent: Absent) -> str:
    """Return what a sentence calls something that does not exist."""
    kind, property, value = absent
    return (
        f"a {kind} with the {property} {value}" if property else f"the {kind} {value}"
    )


def _some(names: Sequence[str]) -> str:
    """Return the first names, and how many others there are."""
    if len(names) <= MAX_NAMED_PLACES:
        return joined(names, "and")
    return f"{', '.join(names[:MAX_NAMED_PLACES])} and {len(names) - MAX_NAMED_PLACES} more"


def _whereabouts(former: Mapping[str, FormerDocument]) -> str:
    """Return which file had the documents that are gone, if that can be said."""
    paths = {was.path for was in former.values()}
    if "" in paths:
        return ""
    return f"; {' and '.join(sorted(paths))} had {'it' if len(former) == 1 else 'them'}"


def _use(problem: Problem) -> Any:
    """Return what tells the uses in one file apart: lines of a feed and what they name,
    or else the numbers of documents in a list.
    """
    if _is_feed(problem.path):
        return problem.where, problem.absent
    number = next(iter(problem.pointer), None)
    return number if isinstance(number, int) else None


def _is_feed(path: str) -> bool:
    return ".jsonl" in path


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
            (
                kind
                for kind in kinds
                if path.startswith((f"{kind.folder}/", f"{kind.folder}."))
            ),
            None,
        )
        if kind is None or not kind.ids:
            continue
        try:
            value = YamlText(_git(folder, "show", f"HEAD:./{path}")).value
        except Malformed:
            continue
        for document in value if isinstance(value, list) else [value]:
            if isinstance(document, dict) and kind.ids[0] in document:
                yield FormerDocument(kind, document, path)


def _git(folder: Path, *arguments: str) -> str:
    """Return what git prints; nothing where it fails."""
    try:
        return git(folder, *arguments).decode("utf-8", "replace")
    except GitFailed:
        return ""
