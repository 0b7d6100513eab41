"""Problems in print: for a terminal, for programs, for GitHub's annotations, as SARIF."""

import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shopwindow.problems import Place, Problem, one_line, pointer_text, sentence

ANNOTATIONS = 10
"""GitHub shows this many annotations of a kind a step, and drops the rest without a word."""

EXCERPT = 120
"""So many characters of a line are shown around a place."""

MAX_REPORT_LINE = 1024 * 1024
UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def _where(problem: Problem, root: Path) -> str:
    path = one_line(os.path.join(root, problem.path))
    return f"{path}:{problem.place.line}:{problem.place.column}" if problem.place else path


@dataclass(frozen=True)
class More:
    """How many problems are not listed; ``at_least``: perhaps even more than that."""

    count: int = 0
    at_least: bool = False

    def __str__(self) -> str:
        least = "at least " * self.at_least
        return f"and {least}{self.count:,} more problem{'s' * (self.count != 1)}; --max-problems N lists N of them"


NO_MORE = More()


def lines(
    problems: Sequence[Problem], root: Path, more: More = NO_MORE, *, excerpts: bool
) -> str:
    """A line a problem; with ``excerpts`` the source line and a caret below it."""
    sources = _sources(problems, root) if excerpts else {}
    printed = []
    for problem in problems:
        printed.append(f"{_where(problem, root)}: {sentence(problem)}")
        if (
            problem.place
            and (line := sources.get((problem.path, problem.place.line))) is not None
        ):
            printed += _excerpt(problem.place, line)
    return "\n".join([*printed, str(more)] if more.count else printed)


def _sources(problems: Sequence[Problem], root: Path) -> dict[tuple[str, int], str]:
    """The lines that problems are about, by path and number; each file is read once, and only
    as far as needed.
    """
    wanted: dict[str, set[int]] = {}
    for problem in problems:
        if problem.place:
            wanted.setdefault(problem.path, set()).add(problem.place.line)
    found: dict[tuple[str, int], str] = {}
    for path, numbers in wanted.items():
        ends = "\n" if path.endswith(".jsonl") else None
        try:
            with open(
                root / path, encoding="utf-8-sig", errors="replace", newline=ends
            ) as file:
                for number in range(1, max(numbers) + 1):
                    line = file.readline(MAX_REPORT_LINE)
                    if line and number in numbers:
                        found[path, number] = line.rstrip("\r\n")
                    if not line or len(line) == MAX_REPORT_LINE:
                        break
        except OSError:
            continue
    return found


def _excerpt(place: Place, line: str) -> list[str]:
    """The part of a line around a place, and carets below it."""
    last = place.end_column - 1 if place.end_line == place.line else len(line.rstrip())
    first = place.column - 1
    if first > len(line):  # the line was cut, or is another by now
        return []
    start = max(0, first - EXCERPT // 2)
    end = min(len(line), start + EXCERPT)
    before, after = "…" * (start > 0), "…" * (end < len(line))
    blanks = " " * len(before) + "".join(
        "\t" if char == "\t" else " " * _width(char) for char in line[start:first]
    )
    carets = "^" * max(1, sum(map(_width, line[first : min(last, end)])))
    number = f"{place.line:>6} | "
    shown = "".join(
        char if char.isprintable() or char == "\t" else UNPRINTABLE for char in line[start:end]
    )
    return [number + before + shown + after, " " * (len(number) - 2) + "| " + blanks + carets]


def _width(char: str) -> int:
    """How many columns of a terminal a character takes (UAX #11)."""
    if not char.isprintable():
        return 1  # shown as one
    return (
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
    )


def text(problems: Sequence[Problem], root: Path, more: More = NO_MORE) -> str:
    return lines(problems, root, more, excerpts=False)


def as_json(problems: Sequence[Problem], root: Path, more: More = NO_MORE) -> str:
    """`{"problems": […]}`: every problem's data, positions from 1, the end exclusive.

    Where not all are listed, `more` says how many there are besides, and `moreAtLeast` whether
    there may be others yet.
    """
    value: dict[str, Any] = {"problems": [_plain(problem, root) for problem in problems]}
    if more.count:
        value |= {"more": more.count, "moreAtLeast": more.at_least}
    return json.dumps(value, ensure_ascii=False, indent=1)


def _plain(problem: Problem, root: Path) -> dict[str, Any]:
    place = problem.place
    return {
        "rule": problem.rule,
        "path": os.path.join(root, problem.path),
        "line": place and place.line,
        "column": place and place.column,
        "endLine": place and place.end_line,
        "endColumn": place and place.end_column,
        "pointer": "".join(
            f"/{step}" for step in pointer_text(problem.pointer).split("/") if problem.pointer
        ),
        "found": problem.found,
        "allowed": problem.allowed,
        "about": problem.about,
        "nearest": problem.nearest,
        "usedBy": list(problem.used_by),
    }


def github(problems: Sequence[Problem], root: Path, more: More = NO_MORE) -> str:
    """Workflow commands for annotations: the first ten, then how many more; then all of them as
    plain lines.
    """
    printed = [_annotation(problem, root) for problem in problems[:ANNOTATIONS]]
    if len(problems) > ANNOTATIONS:
        rest = len(problems) - ANNOTATIONS
        printed.append(
            f"::warning title=shopwindow::{rest} more problem{'s' * (rest > 1)}: see this step's log"
        )
        printed.append(text(problems[ANNOTATIONS:], root))
    if more.count:
        printed.append(f"::warning title=shopwindow::{_escaped(str(more), '')}")
    return "\n".join(printed)


def _annotation(problem: Problem, root: Path) -> str:
    path = os.path.join(root, problem.path)
    values = {
        "file": "".join(char if char in "\r\n" else one_line(char) for char in path)
    }  # those GitHub reads back
    if place := problem.place:
        values |= {"line": str(place.line), "col": str(place.column)}
        if place.end_line == place.line:
            values |= {
                "endLine": str(place.line),
                "endColumn": str(max(place.column, place.end_column - 1)),
            }
    values["title"] = problem.rule
    properties = ",".join(f"{name}={_escaped(value, ',:')}" for name, value in values.items())
    return f"::error {properties}::{_escaped(sentence(problem), '')}"


def _escaped(value: str, more: str) -> str:
    """GitHub's own escapes for workflow commands."""
    for char in "%\r\n" + more:
        value = value.replace(char, f"%{ord(char):02X}")
    return value


def sarif(problems: Sequence[Problem], root: Path, more: More = NO_MORE) -> str:
    """SARIF 2.1.0, for code scanning."""
    from importlib.metadata import version

    rules = sorted({problem.rule for problem in problems})
    driver = {
        "name": "shopwindow",
        "version": version("shopwindow"),
        "rules": [
            {"id": rule, "shortDescription": {"text": f"Content check {rule}"}}
            for rule in rules
        ],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(problem, root, rules) for problem in problems],
    }
    if more.count:
        notice = {"level": "warning", "message": {"text": str(more)}}
        run["invocations"] = [
            {"executionSuccessful": True, "toolExecutionNotifications": [notice]}
        ]
    return json.dumps(
        {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]},
        ensure_ascii=False,
        indent=1,
    )


def _result(problem: Problem, root: Path, rules: list[str]) -> dict[str, Any]:
    path = quote(os.path.join(root, problem.path).replace(os.sep, "/"))
    location: dict[str, Any] = {"artifactLocation": {"uri": path}}
    if place := problem.place:
        location["region"] = {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        }
    return {
        "ruleId": problem.rule,
        "ruleIndex": rules.index(problem.rule),
        "level": "error",
        "message": {"text": sentence(problem)},
        "locations": [{"physicalLocation": location}],
    }


REPORT_FORMATS: dict[str, Callable[..., str]] = {
    "text": text,
    "json": as_json,
    "github": github,
    "sarif": sarif,
}
