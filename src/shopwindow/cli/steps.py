"""What the commands share: options, exit statuses, and steps that several of them take."""

import os
import sys
import time
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli import report
from shopwindow.content.check import Checked
from shopwindow.content.documents import Documents
from shopwindow.content.processes import Progress
from shopwindow.interface.interface import Interface
from shopwindow.interface.loading import DEFAULT, VARIABLE, load
from shopwindow.problems import pointer_text

PROBLEMS, NOT_ACTIVATED = 1, 3
"""Exit statuses beside those of every command."""

CONTENT = click.option(
    "--content", default="content", show_default=True, metavar="DIR", help="The content folder."
)
OUT = click.option(
    "--out", default="dist", show_default=True, metavar="DIR", help="Where the releases are."
)
JOBS = click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Processes; default: one a processor.",
)
MAX_PROBLEMS = click.option(
    "--max-problems",
    "most",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Problems to list; of the others only their number is reported.",
)
MAX_UNPACKED = click.option(
    "--max-unpacked",
    "unpacked",
    type=click.IntRange(1, 10_000),
    default=16,
    show_default=True,
    metavar="GIB",
    help="How much a feed of the catalog may hold, unpacked if it is compressed.",
)
AT = click.option(
    "--at",
    metavar="INSTANT",
    help="The instant whose content counts (RFC 3339, or a day); default: now.",
)


def _choose_interface(ctx: click.Context, param: click.Parameter, name: str) -> None:
    ctx.meta[VARIABLE] = name


def interface_option() -> click.Option:
    """Return the option that every command has; ``interface`` returns what it names."""
    return click.Option(
        ["--interface"],
        default=DEFAULT,
        show_default=True,
        metavar="MODULE:NAME",
        envvar=VARIABLE,
        show_envvar=True,
        expose_value=False,
        callback=_choose_interface,
        help="The interface to publish.",
    )


def interface() -> Interface:
    """Return the Interface that the current command was given. Raises Failure."""
    return load(click.get_current_context().meta.get(VARIABLE, DEFAULT))


class Setting(click.Option):
    """An option whose environment variable may be empty, which says: none. Click takes that for
    no variable.
    """

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        return os.environ.get(str(self.envvar))


def documents_of(content: str) -> Documents:
    """Return the checked documents of a content folder, or print every problem and end."""
    checked = library.check(interface(), Path(content))
    if checked.documents is None:
        print_problems(checked, Path(content), "text")
        sys.exit(PROBLEMS)
    return checked.documents


def print_problems(checked: Checked, root: Path, form: str) -> None:
    problems, more = checked.problems, report.More(checked.more, checked.at_least)
    if form == "text" and sys.stdout.isatty():
        printed = report.lines(problems, root, more, excerpts=True)
    else:
        printed = report.REPORT_FORMATS[form](problems, root, more)
    if printed:
        click.echo(printed)
    if problems and form == "text":
        count = len(problems) + more.count
        click.echo(f"{'at least ' * more.at_least}{count} problem{'s' * (count > 1)}", err=True)


def print_placeholders(checked: Checked, content: str) -> None:
    if checked.placeholders:
        count = len(checked.placeholders)
        click.echo(f"{count} value{'s' * (count > 1)} still say{'s' * (count == 1)} TBD:")
        for path, place, pointer in checked.placeholders:
            where = (
                f"{content}/{path}:{place.line}:{place.column}"
                if place
                else f"{content}/{path}"
            )
            click.echo(f"  {where}: {pointer_text(pointer)}")


def progress_bar(word: str) -> Progress | None:
    """A bar on a terminal that tells how far a step has come; nothing in CI."""
    if not sys.stderr.isatty():
        return None
    shown = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if done >= total:
            click.echo("\r\x1b[K", nl=False, err=True)
        elif now - shown > 0.1:
            shown = now
            bar = "#" * (30 * done // total)
            click.echo(f"\r{word} [{bar:<30}] {done:,} of {total:,}\x1b[K", nl=False, err=True)

    return progress
