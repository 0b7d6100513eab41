"""Problems and warnings, printed: for a terminal, for programs, as GitHub's annotations,
as SARIF.

Each format is a function of a ProblemReport; REPORT_FORMATS names them.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shopwindow.content.check.folder import Checked
from shopwindow.content.reading.text import Fix
from shopwindow.content.rules.rule_pages import Pages, markdown
from shopwindow.problems import (
    Level,
    Place,
    Problem,
    number_of,
    one_line,
    pointer_text,
    sentence,
)

MAX_ANNOTATIONS = 10
"""GitHub shows this many errors of one step as annotations, as many warnings and as many
notices, and drops the rest silently.
"""

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def where(problem: Problem, root: Path) -> str:
    """Return a problem's place as editors open it: `path:line:column`."""
    path = one_line(os.path.join(root, problem.path))
    return (
        f"{path}:{problem.place.line}:{problem.place.column}" if problem.place else path
    )


Fixes = Mapping[Problem, Fix]
"""The fixes of problems that have one."""


@dataclass(frozen=True)
class ProblemReport:
    """What is printed: the outcome of a check of the content folder ``root``.

    ``fixes``: those of problems that have one. ``pages``: those of rules.
    """

    checked: Checked
    root: Path
    fixes: Fixes = field(default_factory=dict)
    pages: Pages = field(default_factory=dict)

    @property
    def problems(self) -> list[Problem]:
        """The problems, and the warnings behind them."""
        return [*self.checked.problems, *self.checked.warnings]

    @property
    def ends(self) -> list[str]:
        """What follows the list: how many are not in it, if any."""
        checked, unlisted = self.checked, []
        if checked.more:
            least = "at least " * checked.at_least
            unlisted.append(f"{least}{number_of(checked.more, 'more problem')}")
        if checked.more_warnings:
            unlisted.append(number_of(checked.more_warnings, "more warning"))
        return [f"and {' and '.join(unlisted)}"] if unlisted else []


def summary(checked: Checked) -> str:
    """Return how many problems and warnings a check has found: `1 problem, 3 warnings`."""
    errors = len(checked.problems) + checked.more
    warnings = len(checked.warnings) + checked.more_warnings
    least = "at least " * checked.at_least
    counts = f"{least}{number_of(errors, 'problem')}" if errors else "no problems"
    return f"{counts}, {number_of(warnings, 'warning')}" if warnings else counts


def page_command(problem: Problem, pages: Pages) -> str:
    """Return the command that prints the page of a problem's rule; "" without a page."""
    return f"shopwindow rule {problem.rule}" if problem.rule in pages else ""


def text(report: ProblemReport) -> str:
    """Return a line for each problem."""
    return "\n".join([*lines(report.problems, report.root), *report.ends])


def lines(problems: Iterable[Problem], root: Path) -> Iterator[str]:
    """Yield a line for each problem, which says where it is a warning."""
    for problem in problems:
        mark = "warning: " * (problem.level is Level.WARNING)
        yield f"{where(problem, root)}: {mark}{sentence(problem)}"


def as_json(report: ProblemReport) -> str:
    """Return `{"problems": […]}`: lines and columns count from 1, and the end is
    exclusive. `level` tells warnings from problems; `fix` is null where none is certain;
    `page` is the command that explains the rule, or null.

    Where not all are listed, `more` is how many problems there are besides,
    `moreAtLeast` whether there may be even more, and `moreWarnings` how many warnings.
    """
    value: dict[str, Any] = {
        "problems": [
            {
                **_plain(problem, report.root),
                "fix": _plain_fix(report.fixes.get(problem)),
                "page": page_command(problem, report.pages) or None,
            }
            for problem in report.problems
        ]
    }
    checked = report.checked
    if checked.more:
        value |= {"more": checked.more, "moreAtLeast": checked.at_least}
    if checked.more_warnings:
        value |= {"moreWarnings": checked.more_warnings}
    return json.dumps(value, ensure_ascii=False, indent=1)


def _plain(problem: Problem, root: Path) -> dict[str, Any]:
    return {
        "level": problem.level,
        "rule": problem.rule,
        "path": os.path.join(root, problem.path),
        **_spot(problem.place),
        "pointer": "".join(
            f"/{step}"
            for step in pointer_text(problem.pointer).split("/")
            if problem.pointer
        ),
        "found": problem.found,
        "allowed": problem.allowed,
        "about": problem.about,
        "nearest": problem.nearest,
        "usedBy": list(problem.used_by),
    }


def _spot(place: Place | None) -> dict[str, int | None]:
    return {
        "line": place and place.line,
        "column": place and place.column,
        "endLine": place and place.end_line,
        "endColumn": place and place.end_column,
    }


def _plain_fix(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    edits = [{**_spot(edit.place), "text": edit.text} for edit in fix.edits]
    return {"title": fix.title, "edits": edits}


def github(report: ProblemReport) -> str:
    """Return workflow commands for annotations: the first ten of each level, then how
    many more there are, as notices: those take no warning's place.

    The others follow as plain lines, for the log.
    """
    printed: list[str] = []
    checked = report.checked
    for noun, of_level in (
        ("problem", checked.problems),
        ("warning", checked.warnings),
    ):
        printed += [
            _annotation(problem, report.root) for problem in of_level[:MAX_ANNOTATIONS]
        ]
        if rest := of_level[MAX_ANNOTATIONS:]:
            count = number_of(len(rest), f"more {noun}")
            printed.append(f"::notice title=shopwindow::{count}: see this step's log")
            printed += lines(rest, report.root)
    printed += [
        f"::notice title=shopwindow::{_escaped(end, '')}" for end in report.ends
    ]
    return "\n".join(printed)


def _annotation(problem: Problem, root: Path) -> str:
    path = os.path.join(root, problem.path)
    # `_escaped` writes line ends so that GitHub reads them back; they stay as they are.
    values = {
        "file": "".join(char if char in "\r\n" else one_line(char) for char in path)
    }
    if place := problem.place:
        values |= {"line": str(place.line), "col": str(place.column)}
        if place.end_line == place.line:
            values |= {
                "endLine": str(place.line),
                "endColumn": str(max(place.column, place.end_column - 1)),
            }
    values["title"] = problem.rule
    properties = ",".join(
        f"{name}={_escaped(value, ',:')}" for name, value in values.items()
    )
    return f"::{problem.level} {properties}::{_escaped(sentence(problem), '')}"


def _escaped(value: str, more: str) -> str:
    """Return a value with GitHub's escapes for workflow commands; ``more``: what else
    to escape.
    """
    for char in "%\r\n" + more:
        value = value.replace(char, f"%{ord(char):02X}")
    return value


def sarif(report: ProblemReport) -> str:
    """Return a log of SARIF 2.1.0, for code scanning."""
    from importlib.metadata import version

    rules = sorted({problem.rule for problem in report.problems})
    driver = {
        "name": "shopwindow",
        "version": version("shopwindow"),
        "rules": [_rule(rule, report.pages) for rule in rules],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(problem, report.root, rules, report.fixes.get(problem))
            for problem in report.problems
        ],
    }
    if report.ends:
        notices = [
            {"level": "warning", "message": {"text": end}} for end in report.ends
        ]
        invocation = {
            "executionSuccessful": True,
            "toolExecutionNotifications": notices,
        }
        run["invocations"] = [invocation]
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=1)


def _rule(name: str, pages: Pages) -> dict[str, Any]:
    """Return a rule with its page, which code scanning shows beside its results."""
    page = pages.get(name)
    if page is None:
        return {"id": name, "shortDescription": {"text": f"Content check {name}"}}
    help = {"text": f"{page.title}. {page.why}", "markdown": markdown(page)}
    return {"id": name, "shortDescription": {"text": page.title}, "help": help}


def _result(
    problem: Problem, root: Path, rules: list[str], fix: Fix | None
) -> dict[str, Any]:
    path = quote(os.path.join(root, problem.path).replace(os.sep, "/"))
    artifact = {"uri": path}
    location: dict[str, Any] = {"artifactLocation": artifact}
    if place := problem.place:
        location["region"] = _region(place)
    result: dict[str, Any] = {
        "ruleId": problem.rule,
        "ruleIndex": rules.index(problem.rule),
        "level": problem.level,
        "message": {"text": sentence(problem)},
        "locations": [{"physicalLocation": location}],
    }
    if fix is not None:
        replacements = [
            {
                "deletedRegion": _region(edit.place),
                "insertedContent": {"text": edit.text},
            }
            for edit in fix.edits
        ]
        change = {"artifactLocation": artifact, "replacements": replacements}
        described = {"description": {"text": fix.title}, "artifactChanges": [change]}
        result["fixes"] = [described]
    return result


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


REPORT_FORMATS: dict[str, Callable[[ProblemReport], str]] = {
    "text": text,
    "lines": text,
    "json": as_json,
    "github": github,
    "sarif": sarif,
}
