"""Problems on a terminal: place, line, what was found, what is allowed, the fix.

Each stands on a line of its own, in columns, at the width of the terminal. Colors help
the eye and say nothing that the words do not: with NO_COLOR there are none, and where
the output is no terminal each problem is one line (`report.text`).
"""

import os
import shutil
import textwrap
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import click

from shopwindow.cli.report import Fixes, ProblemReport, page_command, where
from shopwindow.content.rules.rule_pages import Pages
from shopwindow.problems import (
    Level,
    Place,
    Problem,
    cut,
    number_of,
    one_line,
    place_words,
)

LINE_MARGIN = 12
"""Columns before a line of a file: its number, and ` | `."""

MAX_EXCERPT_LINE = 1024 * 1024
"""Characters of a line that is read for an excerpt; a file with a longer one gets no
more.
"""

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
"""Stands for a character that a terminal might obey."""


LABEL_WIDTH = 9
"""Columns of a label and the spaces around it: `  allowed  ` would be the widest."""

MAX_LINE_WIDTH = 100
"""Columns of a text: longer lines are hard to read, however wide the terminal is."""

_COLORS = {Level.ERROR: "red", Level.WARNING: "yellow"}


def is_used(stream: object) -> bool:
    """Return whether a stream is a terminal that can be drawn on: problems are laid out
    on it, and it is cleared.
    """
    is_terminal = getattr(stream, "isatty", lambda: False)()
    return bool(is_terminal) and os.environ.get("TERM") != "dumb"


def layout(report: ProblemReport, width: int = 0) -> str:
    """Return problems as a person reads them; an empty line stands between two.

    ``width``: of the terminal, in columns; 0: as it is.
    """
    columns = min(width or shutil.get_terminal_size().columns, MAX_LINE_WIDTH)
    root, fixes = report.root, report.fixes
    lines = _lines_of(report.problems, root)
    printed = []
    for problem in report.problems:
        place = problem.place
        line = lines.get((problem.path, place.line)) if place else None
        block = [_head(problem, root)]
        if place and line is not None:
            block += _excerpt(place, line, _COLORS[problem.level], columns)
        for label, text, color in _parts(problem, fixes, report.pages):
            block += _labeled(label, text, color, columns)
        printed.append("\n".join(block) + "\n")
    ends = report.ends
    if fixes:
        ends.append(f"check --fix writes {number_of(len(fixes), 'fix', 'es')}")
    return "\n".join([*printed, *ends])


def _head(problem: Problem, root: Path) -> str:
    color = _COLORS[problem.level]
    level = styled(problem.level, fg=color, bold=True)
    return f"{styled(where(problem, root), bold=True)}: {level} {problem.rule}"


def _parts(
    problem: Problem, fixes: Fixes, pages: Pages
) -> list[tuple[str, str, str | None]]:
    """Return the labels of a problem, each with its text and color; without those that
    have nothing to say.
    """
    steps = tuple(
        cut(step) if isinstance(step, str) else step for step in problem.pointer
    )
    nearest = f"did you mean {problem.nearest}?" if problem.nearest else ""
    fix = fixes[problem].title if problem in fixes else nearest
    parts: list[tuple[str, str, str | None]] = [
        ("at", place_words(steps, problem.document), None),
        ("found", problem.found, _COLORS[problem.level]),
        ("allowed", problem.allowed, None),
        ("fix", fix, "green"),
        ("about", problem.about, None),
        ("used by", ", ".join(problem.used_by), None),
        ("more", page_command(problem, pages), "cyan"),
    ]
    return [part for part in parts if part[1]]


def _labeled(label: str, text: str, color: str | None, columns: int) -> list[str]:
    """Return a text beside its label, wrapped so that it stays in its column."""
    indent = " " * (LABEL_WIDTH + 2)
    room = max(columns - len(indent), 20)
    lines = textwrap.wrap(one_line(text), room, break_on_hyphens=False)
    shown = [styled(line, fg=color) if color else line for line in lines]
    first = f"{styled(f'{label:>{LABEL_WIDTH}}', dim=True)}  "
    return [first + shown[0], *(indent + line for line in shown[1:])]


def styled(
    text: str, fg: str | None = None, bold: bool = False, dim: bool = False
) -> str:
    """Return a text with colors, unless the person wants none (no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return text
    return click.style(text, fg=fg, bold=bold or None, dim=dim or None)


def _lines_of(problems: Sequence[Problem], root: Path) -> dict[tuple[str, int], str]:
    """Return the lines that problems are about, by path and number.

    Each file is read once, and only as far as needed. One that cannot be read has no
    lines.
    """
    wanted: dict[str, set[int]] = {}
    for problem in problems:
        if problem.place:
            wanted.setdefault(problem.path, set()).add(problem.place.line)
    lines: dict[tuple[str, int], str] = {}
    for path, numbers in wanted.items():
        ends = "\n" if path.endswith(".jsonl") else None
        try:
            with open(
                root / path, encoding="utf-8-sig", errors="replace", newline=ends
            ) as file:
                for number in range(1, max(numbers) + 1):
                    line = file.readline(MAX_EXCERPT_LINE)
                    if line and number in numbers:
                        lines[path, number] = line.rstrip("\r\n")
                    if not line or len(line) == MAX_EXCERPT_LINE:
                        break
        except OSError:
            continue
    return lines


def _excerpt(place: Place, line: str, color: str, columns: int) -> list[str]:
    """Return the part of a line around a place, and a line of carets below it."""
    last = place.end_column - 1 if place.end_line == place.line else len(line.rstrip())
    first, room = place.column - 1, max(columns - LINE_MARGIN - 2, 20)
    if first > len(line):  # the line was cut, or is another by now
        return []
    start = max(0, first - room // 2)
    end = min(len(line), start + room)
    before, after = "…" * (start > 0), "…" * (end < len(line))
    blanks = " " * len(before) + "".join(
        "\t" if char == "\t" else " " * _width(char) for char in line[start:first]
    )
    carets = "^" * max(1, sum(map(_width, line[first : min(last, end)])))
    margin = f"{place.line:>9} | "
    shown = "".join(
        char if char.isprintable() or char == "\t" else UNPRINTABLE
        for char in line[start:end]
    )
    return [
        margin + before + shown + after,
        " " * (len(margin) - 2) + "| " + blanks + styled(carets, fg=color, bold=True),
    ]


def _width(char: str) -> int:
    """Return how many columns of a terminal a character takes (UAX #11)."""
    if not char.isprintable():
        return 1  # UNPRINTABLE stands for it
    if unicodedata.combining(char):
        return 0
    is_wide = unicodedata.east_asian_width(char) in "WF"
    return 2 if is_wide else 1
