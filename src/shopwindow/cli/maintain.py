"""`maintain`: what a timer calls, so that nothing that has to be done again is
forgotten.

How this works. Each job is a function that calls the library and returns what it did,
in one line. One that has nothing to do is skipped, so a timer may run all of them as
often as it likes. No job stops another: a failure is reported, and the next one begins.
Runs at the same time do no harm: a build or a pruning that finds another one at work
leaves it to that, a mail is claimed before it is sent, and a backup takes its place by
a rename.
"""

import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import orjson

from shopwindow import library
from shopwindow.cli import FAILED, audit
from shopwindow.cli.database import opened, require
from shopwindow.cli.places import place_of
from shopwindow.cli.releases import outcome
from shopwindow.cli.steps import (
    CONTENT_DIR,
    DATABASE_URL,
    DAYS,
    KEEP,
    LOG_DIR,
    OUT,
    TEMPLATES_DIR,
    interface,
    memory_of,
    print_problems,
    setting,
)
from shopwindow.interface.outbox import OUTBOX
from shopwindow.library.opening import first_problem
from shopwindow.problems import Failure, Misuse
from shopwindow.release.releases import OutputBusy, Releases
from shopwindow.service import logfile
from shopwindow.service.database.address import sqlite_path
from shopwindow.service.database.prune import lifetimes, prune
from shopwindow.service.database.sqlite_file import backup
from shopwindow.service.database.tables import declared
from shopwindow.service.mail.letters import Letters
from shopwindow.service.mail.senders import Senders
from shopwindow.service.mail.smtp import SMTP, smtp_server

BACKUP_PREFIX, BACKUP_ENDING = "shopwindow-", ".sqlite"
"""A copy is called by its day: shopwindow-2026-11-27.sqlite."""


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """The options of the jobs, as the command's help has them."""

    content: str
    out: str
    build: str
    keep: int
    database: str
    log_dir: str
    templates: str
    rows: Mapping[str, int]
    logs: int
    backups: str
    copies: int


@dataclass(frozen=True)
class _Skipped(Exception):
    """A job has nothing to do: the outcome and the words of its line."""

    outcome: str
    words: str


# -- the jobs --------------------------------------------------------------------------


def _build(plan: _Plan, now: datetime) -> str:
    """Build once the content changes by itself. In between, a pipeline or an editor
    builds.
    """
    releases = Releases(Path(plan.out))
    id = releases.current()
    if plan.build == "due" and id is not None:
        due = releases.manifest(id).next_change
        if now < datetime.fromisoformat(due):
            raise _Skipped("not due", f"release {id[:12]} changes by itself at {due}")
    gc.disable()  # for the reason that `build` names
    content = Path(plan.content)
    try:
        memory = memory_of(plan.content)
        done = library.build(interface(), content, releases.out, memory=memory)
    finally:
        gc.enable()
    if done.built is None:
        with redirect_stdout(sys.stderr):
            print_problems(done.checked, content, "text")
        raise Failure(first_problem(done.checked))
    return outcome(done, done.built)


def _mail(plan: _Plan, now: datetime) -> str:
    server = smtp_server(os.environ)
    if server is None:
        raise _Skipped("not set up", f"{SMTP} names no mail server")
    _require_database(plan)
    letters = Letters(interface(), [Path(plan.templates)])
    with opened(plan.database) as data:
        sent, is_reached = Senders(data, server, letters).send_what_is_due()
    if not is_reached:
        raise Failure("what is due was not sent; the next run tries again")
    return f"{sent:,} tried, and no more are due"


def _backup(plan: _Plan, now: datetime) -> str:
    """Write one file a day; a second run on the same day replaces it by a newer copy."""
    if not plan.backups:
        raise _Skipped("not set up", "--backups names no folder")
    _require_database(plan)
    path = sqlite_path(plan.database)
    if path is None:
        words = (
            "the database is PostgreSQL's: have pg_dump --format=custom run by a timer"
        )
        raise _Skipped("not set up", words)
    folder = Path(plan.backups)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / f"{BACKUP_PREFIX}{now.astimezone(UTC):%Y-%m-%d}{BACKUP_ENDING}"
    size = backup(path, target, declared(interface().tables))
    audit.record("maintain backup", database=str(path), to=str(target), bytes=size)

    # names sort by day, and no other file is deleted
    day = "[0-9]" * 4 + "-[0-9][0-9]" * 2
    copies = sorted(folder.glob(f"{BACKUP_PREFIX}{day}{BACKUP_ENDING}"))
    for old in copies[: -plan.copies]:
        old.unlink(missing_ok=True)
    return f"{target}: {size:,} bytes"


def _prune(plan: _Plan, now: datetime) -> str:
    if not Path(plan.out, "releases").is_dir():
        raise _Skipped("not set up", f"{plan.out}: there is no release yet")
    deleted, words = place_of(plan.out, "", content=plan.content).prune(plan.keep)
    audit.record("maintain prune", out=plan.out, deleted=list(deleted))
    return words


def _prune_database(plan: _Plan, now: datetime) -> str:
    """Remove what is too old, in small steps, also while a service runs."""
    _require_database(plan)
    chosen = {name: timedelta(days=days) for name, days in plan.rows.items()}
    options: dict[str, int] = {}
    removed: dict[str, int] = {}
    try:
        with opened(plan.database) as data:
            times = lifetimes(data.tables, chosen)
            options = {f"{name}_days": time.days for name, time in times.items()}
            removed.update(prune(data, data.now(), chosen))
        if plan.log_dir:
            oldest = now - timedelta(days=plan.logs)
            removed["log files"] = len(logfile.prune(Path(plan.log_dir), oldest))
    finally:  # what was removed before a failure is recorded, too
        if removed:
            days = {**options, "logs_days": plan.logs}
            audit.record("maintain prune-database", **days, removed=removed)
    return f"removed: {', '.join(f'{what} {n:,}' for what, n in removed.items())}"


def _require_database(plan: _Plan) -> None:
    """Skip a job where there is no database yet."""
    if not plan.database:
        raise _Skipped("not set up", "SHOPWINDOW_DATABASE names no database")
    path = sqlite_path(plan.database)
    if path is not None and not path.exists():
        raise _Skipped("not set up", f"{path} is not there yet; the service makes it")


MAINTENANCE_JOBS: Mapping[str, Callable[[_Plan, datetime], str]] = {
    "build": _build,
    "mail": _mail,
    "backup": _backup,
    "prune": _prune,
    "prune-database": _prune_database,
}
"""The jobs in their order: what apps see comes first, and the database is copied before
anything is removed from it.
"""


# -- the command -----------------------------------------------------------------------


def _days_by_name(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, int]:
    """Return the days of `NAME=DAYS` by name. Raises BadParameter."""
    days: dict[str, int] = {}
    for text in texts:
        name, separator, number = text.partition("=")
        if not name or not separator:
            raise click.BadParameter(f"{text} must be NAME=DAYS, such as bags=90")
        days[name] = DAYS(number, param, ctx)
    return days


@click.command()
@click.argument(
    "jobs", nargs=-1, type=click.Choice(list(MAINTENANCE_JOBS)), metavar="[JOB]..."
)
@CONTENT_DIR
@OUT
@click.option(
    "--build",
    type=click.Choice(["due", "always"]),
    default="due",
    show_default=True,
    help="due: build once the content changes by itself, as at the end of a publish window; "
    "always: build each time.",
)
@KEEP
@DATABASE_URL
@LOG_DIR
@TEMPLATES_DIR
@click.option(
    "--rows",
    multiple=True,
    metavar="NAME=DAYS",
    callback=_days_by_name,
    help="How long the rows are stored that a table of the interface calls NAME, such as bags=90; "
    "repeatable.",
)
@click.option(
    "--logs",
    type=DAYS,
    default=30,
    show_default=True,
    metavar="DAYS",
    help="How long a file of the mobile log is stored after its last entry.",
)
@setting(
    "--backups",
    default="",
    metavar="DIR",
    help="A folder for one backup of a SQLite database each day; without it there are none.",
)
@click.option(
    "--copies",
    type=click.IntRange(min=1),
    default=14,
    show_default=True,
    metavar="N",
    help="How many of the newest backups stay.",
)
@click.option(
    "--list-dead",
    is_flag=True,
    help="Do no job; print each dead-lettered mail, and why it was given up, as a line of JSON.",
)
@click.option(
    "--retry-dead",
    multiple=True,
    metavar="ID|all",
    help="Do no job; put a dead-lettered mail, or all of them, back among those that are due; "
    "repeatable.",
)
def maintain(
    jobs: tuple[str, ...], list_dead: bool, retry_dead: tuple[str, ...], **options: Any
) -> None:
    """Do each JOB that is due; without JOB, all of them. A timer may call it as often
    as it likes.

    \b
    build           write and activate a release, once the content changes by itself
    mail            send the mails that are due
    backup          copy a SQLite database, once a day
    prune           delete old releases
    prune-database  remove what the database and the mobile log keep only for a while

    Each job is reported on one line, and one that fails does not stop the others.
    SHOPWINDOW_SMTP names the mail server. Exit status 0; 4: a job failed.
    """
    plan = _Plan(**options)
    if list_dead or retry_dead:
        _look_after_dead_letters(plan.database, retry_dead)
        return
    now = datetime.now(UTC)
    lines = [
        _report(job, function, plan, now)
        for job, function in MAINTENANCE_JOBS.items()
        if job in (jobs or MAINTENANCE_JOBS)
    ]
    if not all(lines):
        sys.exit(FAILED)


def _report(
    job: str, function: Callable[[_Plan, datetime], str], plan: _Plan, now: datetime
) -> bool:
    """Do a job, print its line, and return whether it did not fail."""
    started = time.monotonic()
    outcome = "done"
    try:
        words = function(plan, now)
    except _Skipped as skipped:
        outcome, words = skipped.outcome, skipped.words
    except OutputBusy as busy:
        outcome, words = "not due", str(busy)
    except (Failure, Misuse, OSError) as failure:
        outcome, words = "failed", str(failure)
    except Exception as error:  # a fault of ours, which must not stop the other jobs
        traceback.print_exc()
        outcome, words = "failed", f"{type(error).__name__}: {error}"
    line = " ".join(words.split())
    click.echo(f"{job}: {outcome}: {line} ({time.monotonic() - started:.1f} s)")
    return outcome != "failed"


def _look_after_dead_letters(url: str, retried: tuple[str, ...]) -> None:
    """Let dead-lettered mails be tried again, or else list all."""
    with opened(url) as data:
        require(data, OUTBOX)
        if retried:
            ids = None if "all" in retried else retried
            now = data.now()
            number = data.write(lambda tables: tables[OUTBOX].retry(ids, now))
            audit.record("maintain --retry-dead", mails=number)
            click.echo(f"{number} to be tried again")
        else:
            for letter in data.read(lambda tables: tables[OUTBOX].dead()):
                sys.stdout.buffer.write(orjson.dumps(letter) + b"\n")
            audit.record("maintain --list-dead")
