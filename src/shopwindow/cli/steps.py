"""Steps that several commands take. It needs the engine: a command imports it when it runs."""

import gc
import os
import sys
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from shutil import rmtree

import click

from shopwindow import library
from shopwindow.cli import PROBLEMS, aside, report, terminal
from shopwindow.cli.options import interface
from shopwindow.cli.report import ProblemReport
from shopwindow.content.check.folder import Checked
from shopwindow.content.check.memory import Memory
from shopwindow.content.reading.processes import Progress
from shopwindow.content.rules.rule_pages import by_name
from shopwindow.library import ContentAtFault, OpenedContent
from shopwindow.problems import number_of, place_words

LISTED_WARNINGS = 10
"""Warnings that a build prints: what it did has to stand on the same screen."""

LISTED_RULES = 5
"""Rules that are named below a list of problems: they fit on a line of 80."""

REDRAW_SECONDS = 0.1
"""Between two drawings of a progress bar: often enough to look like motion."""

BAR_WIDTH = 30
"""Characters of a progress bar: with its words and numbers it fits on a line of 80."""

CACHE_DIGITS = 20
"""Of a digest of the content folder's path, as the name of its cache."""

MOST_CACHES = 32
"""Content folders that are remembered at once: a person has a few, and a pipeline that
checks each change in a folder of its own would fill the disk.
"""


def opened(content: Path) -> OpenedContent:
    """Return a content folder to look into, or print every problem and end."""
    gc.disable()  # for the reason that `build` names
    try:
        return library.opened(
            interface(), content, memory=memory_of(content), steps=progress_bar
        )
    except ContentAtFault as fault:
        print_problems(fault.checked, content, "text")
        sys.exit(PROBLEMS)


def memory_of(content: Path) -> Memory:
    """Return the memory of a content folder, in the user's cache where there is one."""
    cache = cache_of(content)
    if cache and not cache.exists():
        _make_room(cache.parent)
    return library.memory_of(interface(), content, cache)


def _make_room(caches: Path) -> None:
    """Delete the caches of the content folders that were checked least lately."""
    with suppress(OSError):
        by_use = sorted(caches.iterdir(), key=lambda path: path.stat().st_mtime)
        for cache in by_use[: -MOST_CACHES + 1]:
            rmtree(cache, ignore_errors=True)


def cache_of(content: Path) -> Path | None:
    """Return the folder of the user's cache for a content folder.

    It is that of the XDG Base Directory Specification. None where nothing can be
    written, as for a service without a home, and where the content folder would hold
    it: every file there is content.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        users = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    except RuntimeError:
        return None
    whole = os.path.realpath(content)  # which ends where links form a loop
    is_writable = os.access(users if users.exists() else users.parent, os.W_OK)
    if users.resolve().is_relative_to(whole) or not is_writable:
        return None
    name = sha256(os.fsencode(whole)).hexdigest()[:CACHE_DIGITS]
    return users / "shopwindow" / name


def print_problems(checked: Checked, root: Path, form: str) -> None:
    """Print the problems and warnings of a content folder; on a terminal with the lines
    that they are about.

    ``form`` is a name of `report.REPORT_FORMATS`.
    """
    from shopwindow.content.editing.mending import fixes_of  # for problems alone

    fixes = fixes_of(root, checked)
    pages = by_name(interface().pages)
    print_as = report.REPORT_FORMATS[form]
    if _is_laid_out(form):
        print_as = terminal.layout
    printed = print_as(ProblemReport(checked, root, fixes, pages))
    if printed:
        click.echo(printed)
    if checked.problems and form in ("text", "lines"):
        aside(report.summary(checked))


def print_check(checked: Checked, content: Path, form: str, strict: bool) -> bool:
    """Print what a check has found, and return whether nothing stops: no problem, and
    where ``strict`` no warning either.
    """
    print_problems(checked, content, form)
    if form in ("text", "lines") and not _is_laid_out(form):
        _print_rules(checked)
    if checked.problems:
        return False
    if form in ("text", "lines", "github"):
        print_placeholders(checked, content)
        outcome = report.summary(checked) if checked.warnings else "nothing wrong"
        files = number_of(len(checked.sources), "file")
        click.echo(f"{content}: {files}, {outcome}")
    if strict and checked.warnings:
        aside("with --strict, warnings count as problems")
        return False
    return True


def _is_laid_out(form: str) -> bool:
    """Return whether problems are laid out on a terminal, where each names its page."""
    return form == "text" and terminal.is_used(sys.stdout)


def _print_rules(checked: Checked) -> None:
    """Name the rules that were broken, which the command `rule` explains."""
    pages = by_name(interface().pages)
    problems = *checked.problems, *checked.warnings
    broken = dict.fromkeys(one.rule for one in problems if one.rule in pages)
    if not broken:
        return
    first, others = list(broken)[:LISTED_RULES], len(broken) - LISTED_RULES
    names = ", ".join(first) + f" and {others} more" * (others > 0)
    aside(f"`shopwindow rule NAME` explains {names}")


def print_warnings(checked: Checked, root: Path) -> None:
    """Print the warnings of a build, which builds all the same: the first few."""
    listed = checked.warnings[:LISTED_WARNINGS]
    if not listed:
        return
    click.echo("\n".join(report.lines(listed, root)))
    more = len(checked.warnings) - len(listed) + checked.more_warnings
    if more:
        warnings = number_of(more, "more warning")
        click.echo(f"and {warnings}; `shopwindow check` lists them")


def print_placeholders(checked: Checked, content: Path) -> None:
    """Print where values still say TBD, if any do."""
    count = len(checked.placeholders)
    if not count:
        return
    click.echo(f"{count} value{'s' * (count > 1)} still say{'s' * (count == 1)} TBD:")
    for path, place, pointer in checked.placeholders:
        where = f"{content}/{path}"
        if place:
            where += f":{place.line}:{place.column}"
        click.echo(f"  {where}: {place_words(pointer)}")


def progress_bar(step: str) -> Progress | None:
    """Return what draws how far a step has come, on a terminal; None elsewhere, as in
    CI. Where nobody knows of how many, it draws how many rows are done, or the name alone.
    """
    if not terminal.is_used(sys.stderr):
        return None
    drawn = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if total and done >= total:
            if drawn:
                click.echo("\r\x1b[K", nl=False, err=True)
        elif not (done or total) or now - drawn > REDRAW_SECONDS:
            drawn = now
            state = f": {done:,} rows" if done else " …"
            if total:
                bar = "#" * (BAR_WIDTH * done // total)
                state = f" [{bar:<{BAR_WIDTH}}] {done:,} of {total:,}"
            click.echo(f"\r{step}{state}\x1b[K", nl=False, err=True)

    return progress
