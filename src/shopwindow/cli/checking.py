"""What `check --watch` prints: the state of the content folder after every save; and what
`check --fix` and `check --diff` print and write.
"""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli import aside, report, terminal
from shopwindow.cli.steps import print_check
from shopwindow.content.check.folder import Checked
from shopwindow.content.editing.mending import Repair
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure, Misuse, number_of


def watch(
    interface: Interface,
    content: Path,
    check: Callable[..., Checked],
    strict: bool,
) -> None:
    """Print what is wrong with a content folder, again after every save, until an
    interrupt.

    ``check`` is `library.check` with the folder and what the options say. ``strict``:
    it is said where warnings would end a check with problems. Raises Misuse where the
    folder is not there in the beginning.
    """
    checked: Checked

    def check_again() -> None:
        nonlocal checked
        try:
            checked = check()
        except (Failure, Misuse, OSError) as error:
            _begin()
            aside(f"shopwindow: {error}")
        else:
            _print_state(content, checked, strict)

    try:
        checked = check()
        _print_state(content, checked, strict)
        ended = threading.Event()
        library.follow(interface, content, check_again, lambda: checked, ended)
    except KeyboardInterrupt:
        click.echo()


def _print_state(content: Path, checked: Checked, strict: bool) -> None:
    _begin()
    print_check(checked, content, "text", strict)
    if sys.stdout.isatty():
        aside("Ctrl-C ends this; a saved file is checked at once")


def _begin() -> None:
    """Clear a terminal; elsewhere, as in a log, print a line with the time."""
    if terminal.is_used(sys.stdout):
        click.clear()
    else:
        click.echo(f"--- {time.strftime('%H:%M:%S')}")


# -- fixes -----------------------------------------------------------------------------


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
