"""What `check --fix` and `check --diff` print and write."""

from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli import aside, report
from shopwindow.content.editing.mending import Repair
from shopwindow.problems import number_of


def print_diff(content: Path, repair: Repair) -> None:
    """Print what `write_fixes` would write, as one diff of all files."""
    diffs = (edit.diff(str(content)) for edit in repair.edits)
    click.echo("".join(diffs), nl=False)
    if repair.fixes:
        advice = "nothing was written; check --fix writes them"
        aside(f"{_count(repair)}; {advice}")
    else:
        aside("no fix is certain")


def write_fixes(content: Path, repair: Repair, form: str) -> None:
    """Write every fix that is certain and print it.

    ``form`` is the format of the problems that are printed afterwards. Where that is
    for programs, the fixes are printed for people beside it.
    """
    library.write_edits(content, repair)
    for mended in repair.fixes:
        line = f"{report.where(mended.problem, content)}: {mended.fix.title}"
        click.echo(line, err=form != "text")
    if repair.fixes:
        aside(f"{_count(repair)} written")


def _count(repair: Repair) -> str:
    count, files = len(repair.fixes), len(repair.edits)
    return f"{number_of(count, 'fix', 'es')} in {number_of(files, 'file')}"
