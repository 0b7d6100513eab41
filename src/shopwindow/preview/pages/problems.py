"""What `check` reports, each problem with the lines of its file."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Problem, sentence


@dataclass(frozen=True)
class Shown:
    """A problem with its words, the lines around it, and the address that opens an
    editor.
    """

    problem: Problem
    words: str
    lines: list[tuple[int, str]]
    editor: str


def problems(visit: Visit) -> Page:
    """Return the page of all problems, in the order of files and lines."""
    checked = visit.snapshot.checked
    values = {
        "problems": list(_shown(visit)),
        "more": checked.more,
        "at_least": checked.at_least,
        "placeholders": checked.placeholders,
    }
    return Page("problems.html", "Problems", values)


def _shown(visit: Visit) -> Iterator[Shown]:
    for problem in visit.snapshot.checked.problems:
        line = problem.place.line if problem.place else 0
        column = problem.place.column if problem.place else 1
        lines = visit.files.excerpt(problem.path, line) if line else []
        file = (visit.workspace.folder / problem.path).absolute()
        editor = f"vscode://file{quote(str(file))}:{max(line, 1)}:{column}"
        yield Shown(problem, sentence(problem), lines, editor)
