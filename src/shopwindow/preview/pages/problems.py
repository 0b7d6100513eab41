"""What `check` reports: problems, then warnings, each with the lines of its file; and a
fix before it is written: the change as a diff, and the button that writes it.

The page of a fix is the only one that leads to a write, and it does so in two steps, so
that nobody writes what they have not seen. The form holds a digest of the change. Where
a file was saved meanwhile, the change would be another one, and is refused.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from shopwindow import library
from shopwindow.content.check.folder import Checked
from shopwindow.content.editing.mending import Repair
from shopwindow.content.rules.rule_pages import by_name
from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Failure, Problem

PROBLEM_DIGITS = 20
"""Of a digest, by which a form names a problem."""

GONE = (
    "This is not there any more, or a check of the change finds that it is not certain."
)
CHANGED_MEANWHILE = (
    "A file was saved meanwhile, so nothing was written. This is the change now."
)


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
    warned = checked_at(visit)
    shown = list(_shown(visit, visit.snapshot.checked.problems))
    values = {
        "problems": shown,
        "fixes": sum(bool(problem.fix) for problem in shown),
        "warnings": list(_shown(visit, warned.warnings)),
        "more_warnings": warned.more_warnings,
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


# -- fixes -----------------------------------------------------------------------------


def fix(visit: Visit) -> Page | None:
    """Return the page of one problem's fix, or, where the query names none, of all.

    None where nothing may be written.
    """
    return _fix(visit, "") if visit.form_token else None


def write_fix(visit: Visit, digest: str) -> Page | None:
    """Write the fix that the query names, if it is the one with this digest.

    Returns None where it was written, else the page that says why not.
    """
    repair = _repair(visit)
    if not repair.edits:
        return _fix(visit, "")
    if _digest(repair) != digest:
        return _fix(visit, CHANGED_MEANWHILE)
    try:
        library.write_edits(visit.workspace.folder, repair)
    except Failure as failure:
        return _fix(visit, str(failure))
    return None


def id_of(problem: Problem) -> str:
    """Return what names a problem in a form, as long as it is where it is."""
    named = repr((problem.path, problem.rule, problem.place, problem.pointer))
    return sha256(named.encode()).hexdigest()[:PROBLEM_DIGITS]


def _fix(visit: Visit, refusal: str) -> Page:
    repair = _repair(visit)
    values = {
        "fixes": repair.fixes,
        # without the header of each diff
        "files": [(edit.path, edit.diff("").splitlines()[2:]) for edit in repair.edits],
        "digest": _digest(repair),
        "refusal": refusal if repair.edits else GONE,
    }
    title = "Fix" if len(repair.fixes) <= 1 else f"{len(repair.fixes)} fixes"
    return Page("fix.html", title, values, 409 if refusal else 200)


def _repair(visit: Visit) -> Repair:
    named = visit.query.get("problem", "")
    return visit.workspace.repair(
        visit.snapshot, lambda problem: not named or id_of(problem) == named
    )


def _digest(repair: Repair) -> str:
    """Return what tells a change from another: of which files, from what, to what."""
    digest = sha256()
    for edit in repair.edits:
        for part in (edit.path.encode(), edit.before, edit.after):
            digest.update(sha256(part).digest())
    return digest.hexdigest()
