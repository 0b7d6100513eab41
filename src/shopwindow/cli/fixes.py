"""What `check --fix` and `check --diff` print and write."""

from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli import report
from shopwindow.content.check.folder import Checked
from shopwindow.content.check.memory import Memory
from shopwindow.content.editing.mending import Repair
from shopwindow.interface.interface import Interface
from shopwindow.problems import number_of


def print_diff(
    interface: Interface,
    content: Path,
    checked: Checked,
    jobs: int | None,
    memory: Memory | None,
) -> None:
    """Print what `write_fixes` would write, as one diff of all files."""
    repair = library.fixes(interface, content, checked, jobs=jobs, memory=memory)
    diffs = (edit.diff(str(content)) for edit in repair.edits)
    click.echo("".join(diffs), nl=False)
    if repair.fixes:
        advice = "nothing was written; check --fix writes them"
        click.echo(f"{_count(repair)}; {advice}", err=True)
    else:
        click.echo("no fix is certain", err=True)


def write_fixes(
    interface: Interface,
    content: Path,
    checked: Checked,
    jobs: int | None,
    memory: Memory | None,
    form: str,
) -> bool:
    """Write every fix that is certain and print it; return whether there are any.

    ``form`` is the format of the problems that are printed afterwards. Where that is
    for programs, the fixes are printed for people beside it.
    """
    repair = library.fixes(interface, content, checked, jobs=jobs, memory=memory)
    library.write_edits(content, repair)
    for mended in repair.fixes:
        line = f"{report.where(mended.problem, content)}: {mended.fix.title}"
        click.echo(line, err=form != "text")
    if repair.fixes:
        click.echo(f"{_count(repair)} written", err=True)
    return bool(repair.fixes)


def _count(repair: Repair) -> str:
    count, files = len(repair.fixes), len(repair.edits)
    fixes = f"{count} fix{'es' * (count != 1)}"
    return f"{fixes} in {number_of(files, 'file')}"
