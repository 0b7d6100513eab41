"""`check` and `show`: what editors run before anything is built."""

import gc
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli import PROBLEMS, aside
from shopwindow.cli.options import (
    AHEAD,
    AT,
    CONTENT_DIR,
    DEFAULT_OUT,
    JOBS,
    format_option,
    interface,
)
from shopwindow.problems import Misuse


@click.command()
@CONTENT_DIR
@JOBS
@click.option(
    "--against",
    metavar="RELEASE|REV",
    help="A release to compare with (current or previous of dist, a folder or .tar), or a git revision: "
    "a configuration that has changed needs another configVersion.",
)
@AT
@AHEAD
@click.option(
    "--strict", is_flag=True, help="End with exit status 1 where there are warnings."
)
@format_option(
    ["text", "lines", "json", "github", "sarif"],
    "How problems are printed: for people (on a terminal with colors), a line each, as JSON, as "
    "GitHub's annotations, or as SARIF.",
)
@click.option(
    "--fix",
    "fixes",
    is_flag=True,
    help="Write what is certainly meant into the files, and report what is left.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Show what --fix would write, as a unified diff, and write nothing.",
)
@click.option(
    "--watch",
    "watches",
    is_flag=True,
    help="Check again whenever a file is saved.",
)
def check(
    content: Path,
    jobs: int | None,
    against: str | None,
    at: str | None,
    ahead: timedelta,
    strict: bool,
    form: str,
    fixes: bool,
    diff: bool,
    watches: bool,
) -> None:
    """Report everything that is wrong with the content.

    Nothing is written, except with --fix: quotes around 5.10, spaces for tabs, a key
    one letter off, `- ` before a list's only entry, 2026-11-23 for 23/11/2026. Comments
    and layout stay.

    A warning is probably a mistake, and stops nothing. `# shopwindow: allow RULE` at
    the end of its line silences one.

    With --ahead it renders what `build --ahead` would, and takes as long.

    Exit status 0: no problem; 1: there are some, or with --strict warnings.
    """
    from shopwindow.cli import checking, steps

    if against in ("current", "previous") and not Path(against).exists():
        against = str(library.folder_of_release(Path(DEFAULT_OUT), against))
    memory = steps.memory_of(content)
    checked_now = partial(
        library.check,
        interface(),
        content,
        against=against,
        at=at,
        ahead=ahead,
        jobs=jobs,
        memory=memory,
    )
    if diff and form != "text":
        raise Misuse("diff", f"it prints a diff, and nothing as {form}")
    if watches and (fixes or diff or form != "text"):
        other = "--fix" if fixes else "--diff" if diff else f"--format {form}"
        raise Misuse("watch", f"it does not go with {other}: run that by itself")
    if watches:
        checking.watch(interface(), content, checked_now, strict)
        return

    gc.disable()  # for the reason that `build` names
    checked = checked_now(steps=steps.progress_bar)
    if diff or fixes:
        repair = library.fixes(interface(), content, checked, jobs=jobs, memory=memory)
        if diff:
            checking.print_diff(content, repair)
            sys.exit(PROBLEMS if checked.problems else 0)
        checking.write_fixes(content, repair, form)
        if repair.fixes:
            checked = checked_now(steps=steps.progress_bar)
    if not steps.print_check(checked, content, form, strict):
        sys.exit(PROBLEMS)


@click.command()
@click.argument("request")
@CONTENT_DIR
@AT
@click.option(
    "--app",
    metavar="NAME",
    help="The app that asks; default: the first of the content.",
)
@format_option(["json", "xml"], "The format of the response.")
def show(
    request: str, content: Path, at: str | None, app: str | None, form: str
) -> None:
    """Print what an app would get for REQUEST, from the content folder as it is now.

    REQUEST is a path and query below the base URL, such as store/v2/stores, or a whole URL.
    On a terminal the response is laid out for people; elsewhere its bytes are those that
    an app gets. Exit status 0: the response has status 200; 1: it has another, or the
    content has problems.
    """
    from shopwindow.cli import terminal
    from shopwindow.cli.steps import opened
    from shopwindow.interface.formats import indented

    response = library.show(opened(content), request, at=at, app=app, form=form)
    body, media_type = response.body, response.media_type
    is_terminal = terminal.is_used(sys.stdout)
    click.echo(indented(body, media_type).rstrip() if is_terminal else body)
    if response.status != 200:
        aside(f"status {response.status}")
        sys.exit(PROBLEMS)
