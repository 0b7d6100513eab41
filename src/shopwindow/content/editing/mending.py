"""Fixes the problems of a content folder, as far as that is certain.

How this works, in rounds: every fix of the last check is put into the texts in memory,
and the folder is checked again as if they were written (`Check.over`). A fix
whose problem remains, or whose value is refused at its new place, is taken out. A round
may uncover other problems: a tab hides the rest of its file. So the rounds go on until
none has a fix. Nothing is written here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shopwindow.content.check.folder import Checked
from shopwindow.content.editing.fixing import fix, fixed
from shopwindow.content.reading import yaml
from shopwindow.content.reading.files import MAX_FILE
from shopwindow.content.reading.text import FileEdit, Fix, YamlText
from shopwindow.content.reading.yaml import Malformed
from shopwindow.problems import Pointer, Problem

MAX_ROUNDS = 20
"""Rounds. Three uncover what there is in most files: tabs, then keys, then values. More
are needed only where fixes are taken out one after another.
"""

CheckAgain = Callable[[Mapping[str, bytes]], Checked]
"""Checks the folder as if some files held other bytes, by path. All problems of these
files have to be listed.
"""


@dataclass(frozen=True)
class AppliedFix:
    """A problem, and the fix that it got."""

    problem: Problem
    fix: Fix


@dataclass(frozen=True)
class Repair:
    """What mends a folder: the edits of its files, and the fixes that they consist of.

    ``fixes``: in the order of files and lines.
    """

    edits: tuple[FileEdit, ...]
    fixes: tuple[AppliedFix, ...]


def fixes_of(folder: Path, checked: Checked) -> dict[Problem, Fix]:
    """Return the fixes of problems and warnings that seem certain, by problem.

    Only a check of the fixed text is sure of that (`repair`).
    """
    files = _FilesToMend(folder, checked)
    fixes = {}
    for problem in (*checked.problems, *checked.warnings):
        text = files.text(problem.path)
        if text is not None and (found := fix(problem, text)):
            fixes[problem] = found
    return fixes


def repair(
    folder: Path,
    checked: Checked,
    check_again: CheckAgain,
    only: Callable[[Problem], bool] = lambda problem: True,
) -> Repair:
    """Return what mends the problems of a folder that was checked.

    ``only``: which problems to mend.
    """
    files = _FilesToMend(folder, checked)
    fixes: list[AppliedFix] = []
    refused: set[tuple[str, str, Pointer]] = set()
    for _ in range(MAX_ROUNDS):
        listed = [*checked.problems, *checked.warnings]
        problems = [one for problem in listed for one in (problem, *problem.also)]
        wanted = [problem for problem in problems if only(problem)]
        trial = _round(files, wanted, refused)
        if not trial:
            break
        texts = {path: text for path, (text, _) in trial.items()}
        mended = [one for _, of_file in trial.values() for one in of_file]
        edits = files.edits(texts)
        outcome = check_again({edit.path: edit.after for edit in edits})
        before, after = _by_path(checked), _by_path(outcome)
        wrong = [
            one
            for one in mended
            if not _is_mended(one, before[one.problem.path], after[one.problem.path])
        ]
        refused |= {_identity(one.problem) for one in wrong}
        if not wrong:
            files.texts |= {path: YamlText(text) for path, text in texts.items()}
            fixes += mended
            checked = outcome
    fixes.sort(key=lambda one: one.problem.order())
    return Repair(tuple(files.edits({})), tuple(fixes))


def _identity(problem: Problem) -> tuple[str, str, Pointer]:
    return problem.path, problem.rule, problem.pointer


@dataclass
class _FilesToMend:
    """The YAML files of a folder with problems. ``texts``: as they will be, by path."""

    folder: Path
    checked: Checked
    texts: dict[str, YamlText] = field(default_factory=dict)
    before: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.paths = {
            source.path
            for source in self.checked.sources
            if not source.is_feed and source.size <= MAX_FILE
        }

    def text(self, path: str) -> YamlText | None:
        """Return the text of a file; None for what is no YAML file of documents."""
        if path not in self.paths:
            return None
        if path not in self.texts:
            try:
                data = (self.folder / path).read_bytes()
                self.texts[path] = YamlText(yaml.decode(data))
                self.before[path] = data
            except (OSError, Malformed):  # removed since, or no text
                self.paths.discard(path)
                return None
        return self.texts[path]

    def edits(self, trial: dict[str, str]) -> list[FileEdit]:
        """Return the edits of the files that change, with the texts of a trial."""
        texts = {path: file.text for path, file in self.texts.items()} | trial
        edits = [
            FileEdit.of_text(path, self.before[path], text)
            for path, text in sorted(texts.items())
        ]
        return [edit for edit in edits if edit.before != edit.after]


def _round(
    files: _FilesToMend,
    problems: Sequence[Problem],
    refused: set[tuple[str, str, Pointer]],
) -> dict[str, tuple[str, list[AppliedFix]]]:
    """Return the files that can be mended, with their new texts and their fixes.

    A fix that says something else than is meant is refused.
    """
    by_path: dict[str, list[AppliedFix]] = {}
    for problem in problems:
        text = files.text(problem.path)
        if text is None or _identity(problem) in refused:
            continue
        if found := fix(problem, text):
            by_path.setdefault(problem.path, []).append(AppliedFix(problem, found))

    mended: dict[str, tuple[str, list[AppliedFix]]] = {}
    for path, of_file in by_path.items():
        text = files.texts[path]
        chosen = _apart(of_file)
        after = fixed(text, [one.fix for one in chosen])
        if after is None:
            alone = [one for one in chosen if fixed(text, [one.fix]) is not None]
            refused |= {_identity(one.problem) for one in chosen if one not in alone}
            chosen = alone[:1]
            after = fixed(text, [one.fix for one in chosen])
        if chosen and after is not None:
            mended[path] = after, chosen
    return mended


def _apart(fixes: Iterable[AppliedFix]) -> list[AppliedFix]:
    """Return fixes of one file of which none lies within another.

    The others wait for the next round.
    """
    chosen: list[AppliedFix] = []
    taken: set[Pointer] = set()
    for one in sorted(fixes, key=lambda one: len(one.fix.pointer)):
        pointer, goal = one.fix.pointer, one.fix.goal
        around = {pointer[:length] for length in range(len(pointer) + 1)}
        if taken.isdisjoint(around | {goal}):
            chosen.append(one)
            taken |= {pointer, goal}
    return chosen


def _is_mended(
    one: AppliedFix, before: Sequence[Problem], after: Sequence[Problem]
) -> bool:
    """Return whether a fix has mended its problem, and what it wrote is not refused.

    ``before`` and ``after``: the problems of its file. What another rule says now, or
    what is wrong with values that could not be read, was hidden before. So was what is
    certain itself: a misspelled key may have a number that wants quotes.
    """
    broken, goal = one.problem, one.fix.goal
    if not goal:  # the file as a whole
        return not any(
            (problem.rule, problem.place) == (broken.rule, broken.place)
            for problem in after
        )
    is_refused = any(
        problem.pointer[: len(goal)] == goal
        and problem.rule.startswith(("schema.", broken.rule))
        and problem.meant is None
        for problem in after
    )
    return not is_refused and _yaml_faults(after) <= _yaml_faults(before)


def _yaml_faults(problems: Iterable[Problem]) -> int:
    return sum(problem.rule.startswith("yaml.") for problem in problems)


def _by_path(checked: Checked) -> dict[str, list[Problem]]:
    """Return problems and warnings by the path of their file."""
    by_path: dict[str, list[Problem]] = defaultdict(list)
    for problem in (*checked.problems, *checked.warnings):
        by_path[problem.path].append(problem)
    return by_path
