"""What `check` reports: problems, then warnings, each with the lines of its file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shopwindow.content.check.folder import Checked
from shopwindow.content.rules.rule_pages import by_name
from shopwindow.preview.pages.fixes import id_of
from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Problem


@dataclass(frozen=True)
class Shown:
    """A problem with the lines around it, and the address that opens an editor.

    ``fix``: what its fix does; empty where it has none, or nothing may be written.
    ``id`` names it in the fix's form. ``page``: the address of its rule's page; empty
    in an export, or where there is none.
    """

    problem: Problem
    lines: list[tuple[int, str]]
    editor: str
    fix: str
    id: str
    page: str


def problems(visit: Visit) -> Page:
    """Return the page of all problems, in the order of files and lines, and of the
    warnings at the chosen instant.
    """
    checked, warned = visit.snapshot.checked, checked_at(visit)
    shown = list(_shown(visit, checked.problems))
    values = {
        "problems": shown,
        "fixes": sum(bool(problem.fix) for problem in shown),
        "more": checked.more,
        "at_least": checked.at_least,
        "warnings": list(_shown(visit, warned.warnings)),
        "more_warnings": warned.more_warnings,
        "placeholders": checked.placeholders,
    }
    return Page("problems.html", "Problems", values)


def checked_at(visit: Visit) -> Checked:
    """Return a check as of the chosen instant, whose warnings may depend on it."""
    if visit.is_now:
        return visit.snapshot.checked
    return visit.workspace.checked_at(visit.snapshot, visit.moment)


def _shown(visit: Visit, problems: Iterable[Problem]) -> Iterator[Shown]:
    may_write = bool(visit.form_token)
    fixes = visit.snapshot.fixes if may_write else {}
    pages = {} if visit.is_static else by_name(visit.interface.pages)
    for problem in problems:
        line = problem.place.line if problem.place else 0
        column = problem.place.column if problem.place else 1
        lines = visit.files.excerpt(problem.path, line) if line else []
        editor = f"{visit.editor(problem.path, line)}:{column}"
        title = fixes[problem].title if problem in fixes else ""
        id = id_of(problem)
        page = visit.link(f"/rules/{problem.rule}") if problem.rule in pages else ""
        yield Shown(
            problem=problem,
            lines=lines,
            editor=editor,
            fix=title,
            id=id,
            page=page,
        )
