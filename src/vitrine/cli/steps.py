"""What the commands share: options, exit statuses, and steps that several of them take."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from vitrine.content.check import Checked, Scanned
    from vitrine.content.model import Documents
    from vitrine.content.processes import Progress
    from vitrine.content.schema import Schemas
    from vitrine.problems import Problem

PROBLEMS, NOT_SWITCHED = 1, 3
"""Exit statuses beside those of every command."""

_KEPT: list[object] = []
"""What is let go at the process's end: to give back ten thousand documents one by one takes longer."""

CONTENT = click.option("--content", default="content", show_default=True, metavar="DIR", help="The content folder.")
OUT = click.option("--out", default="dist", show_default=True, metavar="DIR", help="Where the releases are.")
JOBS = click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes; default: one a processor.")
MAX_PROBLEMS = click.option(
    "--max-problems",
    "most",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Problems to list; of the others only their number is told.",
)
AT = click.option(
    "--at", metavar="INSTANT", help="The instant whose content counts (RFC 3339, or a day); default: now."
)


class Setting(click.Option):
    """An option whose environment variable may be empty, which says: none. Click takes that for no variable."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        import os

        return os.environ.get(str(self.envvar))


def schemas_of(content: str) -> "Schemas":
    """The schemas: those of the program, and the content folder's own on top."""
    from pathlib import Path

    from vitrine.content.listing import shipped
    from vitrine.content.schema import Schemas

    return Schemas([shipped("schemas"), Path(content) / "schemas"])


def places() -> Any:
    """Zip codes and cities, where the service is installed; else the stores' own addresses must do."""
    from importlib.util import find_spec

    from vitrine.service.places import ZipCodes

    return ZipCodes() if find_spec("zipcodes") else None


def scanning(content: str) -> "Callable[[], Scanned]":
    """The content folder being listed by another process while this one imports the rest; it waits for the list."""
    from pathlib import Path

    from vitrine.content.listing import Source, scan
    from vitrine.content.processes import aside

    def listed() -> tuple[list[tuple[Any, ...]], "list[Problem]"]:
        sources, problems = scan(Path(content))
        return list(zip(*sources, strict=True)), problems  # by columns, which are pickled in half of the time

    found = aside(listed)

    def scanned() -> "Scanned":
        columns, problems = found()
        return [Source._make(row) for row in zip(*columns, strict=True)], problems

    return scanned


def checked_of(content: str, options: Any, schemas: "Schemas | None" = None) -> "Checked":
    from pathlib import Path

    from vitrine.content.check import check as run

    if not Path(content).is_dir():
        raise click.UsageError(f"--content {content}: there is no such folder")
    checked = run(Path(content), schemas or schemas_of(content), options)
    _KEPT.append(checked)
    return checked


def documents_of(content: str, options: Any) -> "tuple[Documents, Schemas]":
    """The checked documents, or every problem and the end."""
    from pathlib import Path

    schemas = schemas_of(content)
    checked = checked_of(content, options, schemas)
    if checked.documents is None:
        print_problems(checked, Path(content), "text")
        sys.exit(PROBLEMS)
    return checked.documents, schemas


def moment_of(at: str | None, documents: "Documents") -> "datetime":
    from datetime import MAXYEAR, MINYEAR, UTC, datetime

    from vitrine.content import model

    if at is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        moment = model.instant(at, documents.zone)
        if not MINYEAR < moment.year < MAXYEAR:  # the weeks around it must be there, too
            raise ValueError(f"must be after the year {MINYEAR} and before the year {MAXYEAR}")
        return moment
    except (ValueError, OverflowError) as error:
        raise click.UsageError(
            f"--at {at}: {error}; write 2026-11-27T06:00:00-05:00, 2026-11-27 06:00 or 2026-11-27"
        ) from None


def print_problems(checked: "Checked", root: "Path", form: str) -> None:
    from vitrine import report

    problems, more = checked.problems, report.More(checked.more, checked.at_least)
    if form == "text" and sys.stdout.isatty():
        printed = report.lines(problems, root, more, excerpts=True)
    else:
        printed = report.FORMATS[form](problems, root, more)
    if printed:
        click.echo(printed)
    if problems and form == "text":
        count = len(problems) + more.count
        click.echo(f"{'at least ' * more.at_least}{count} problem{'s' * (count > 1)}", err=True)


def say_placeholders(checked: "Checked", content: str) -> None:
    from vitrine.problems import pointer_text

    if checked.placeholders:
        count = len(checked.placeholders)
        click.echo(f"{count} value{'s' * (count > 1)} still say{'s' * (count == 1)} TBD:")
        for path, place, pointer in checked.placeholders:
            where = f"{content}/{path}:{place.line}:{place.column}" if place else f"{content}/{path}"
            click.echo(f"  {where}: {pointer_text(pointer)}")


def progress_bar(word: str) -> "Progress | None":
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
