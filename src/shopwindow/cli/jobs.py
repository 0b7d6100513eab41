"""The jobs of `maintain`, so that nothing that has to be done again is forgotten.

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

import click
import orjson

from shopwindow import library
from shopwindow.cli import audit
from shopwindow.cli.database import opened, require
from shopwindow.cli.options import interface
from shopwindow.cli.places import place_of
from shopwindow.cli.releases import outcome
from shopwindow.cli.steps import memory_of, print_problems
from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.problems import Failure, Misuse
from shopwindow.release.releases import Releases
from shopwindow.service import logfile
from shopwindow.service.database.address import sqlite_path
from shopwindow.service.database.prune import lifetimes, prune
from shopwindow.service.database.sqlite_file import backup
from shopwindow.service.database.tables import declared
from shopwindow.service.mail.letters import Letters
from shopwindow.service.mail.senders import Sender
from shopwindow.service.mail.smtp import SMTP, Unreachable, smtp_server

BACKUP_PREFIX, BACKUP_ENDING = "shopwindow-", ".sqlite"
"""A copy is called by its day: shopwindow-2026-11-27.sqlite."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The options of the jobs, as the command's help has them."""

    content: Path
    out: Path
    keep: int
    database: str
    log_dir: str
    templates: str
    rows: Mapping[str, timedelta]
    logs: int
    backups: str
    copies: int


@dataclass(frozen=True)
class _Skipped(Exception):
    """A job has nothing to do: the words and the outcome of its line."""

    words: str
    outcome: str = "not set up"


def _build(plan: Plan, now: datetime) -> str:
    """Build once the content changes by itself, and nothing was built ahead for then.

    In between, a pipeline or an editor builds. What was built ahead follows by itself,
    and a build would end it.
    """
    releases = Releases(plan.out)
    links = releases.chain().links
    if links:
        id = links[-1].id
        due = releases.next_change(id)
        if now < due:
            words = f"release {id[:12]} changes by itself at {due.isoformat()}"
            raise _Skipped(words, "not due")
    gc.disable()  # for the reason that `build` names
    try:
        memory = memory_of(plan.content)
        done = library.build(interface(), plan.content, releases.out, memory=memory)
    finally:
        gc.enable()
    if done.built is None:
        with redirect_stdout(sys.stderr):
            print_problems(done.checked, plan.content, "text")
        raise library.ContentAtFault(done.checked)
    return outcome(done, done.built)


def _mail(plan: Plan, now: datetime) -> str:
    server = smtp_server(os.environ)
    if server is None:
        raise _Skipped(f"{SMTP} names no mail server")
    _require_database(plan)
    letters = Letters(interface(), [Path(plan.templates)])
    try:
        with opened(plan.database) as data:
            tried = Sender(data, server, letters).send_what_is_due()
    except Unreachable:
        words = "what is due was not sent; the next run tries again"
        raise Failure(words) from None
    return f"{tried:,} tried, and no more are due"


def _backup(plan: Plan, now: datetime) -> str:
    """Write one file a day; a second run on the same day replaces it by a newer copy."""
    if not plan.backups:
        raise _Skipped("--backups names no folder")
    _require_database(plan)
    path = sqlite_path(plan.database)
    if path is None:
        words = (
            "the database is PostgreSQL's: have pg_dump --format=custom run by a timer"
        )
        raise _Skipped(words)
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


def _prune(plan: Plan, now: datetime) -> str:
    if not (plan.out / "releases").is_dir():
        raise _Skipped(f"{plan.out}: there is no release yet")
    deleted, words = place_of(plan.out, "", content=plan.content).prune(plan.keep)
    audit.record("maintain prune", out=str(plan.out), deleted=list(deleted))
    return words


def _prune_database(plan: Plan, now: datetime) -> str:
    """Remove what is too old, in small steps, also while a service runs."""
    _require_database(plan)
    options: dict[str, int] = {}
    removed: dict[str, int] = {}
    try:
        with opened(plan.database) as data:
            times = lifetimes(data.tables, plan.rows)
            options = {f"{name}_days": time.days for name, time in times.items()}
            removed.update(prune(data, data.now(), plan.rows))
        if plan.log_dir:
            oldest = now - timedelta(days=plan.logs)
            removed["log files"] = len(logfile.prune(Path(plan.log_dir), oldest))
    finally:  # what was removed before a failure is recorded, too
        if removed:
            days = {**options, "logs_days": plan.logs}
            audit.record("maintain prune-database", **days, removed=removed)
    return f"removed: {', '.join(f'{what} {n:,}' for what, n in removed.items())}"


def _require_database(plan: Plan) -> None:
    """Skip a job where there is no database yet."""
    if not plan.database:
        raise _Skipped("SHOPWINDOW_DATABASE names no database")
    path = sqlite_path(plan.database)
    if path is not None and not path.exists():
        raise _Skipped(f"{path} is not there yet; the service makes it")


_JOBS: Mapping[str, Callable[[Plan, datetime], str]] = {
    "build": _build,
    "mail": _mail,
    "backup": _backup,
    "prune": _prune,
    "prune-database": _prune_database,
}


def done(job: str, plan: Plan, now: datetime) -> bool:
    """Do a job, print its line, and return whether it did not fail."""
    started = time.monotonic()
    outcome = "done"
    try:
        words = _JOBS[job](plan, now)
    except _Skipped as skipped:
        outcome, words = skipped.outcome, skipped.words
    except library.OutputBusy as busy:
        outcome, words = "not due", str(busy)
    except (Failure, Misuse, OSError) as failure:
        outcome, words = "failed", str(failure)
    except Exception as error:  # a fault of ours, which must not stop the other jobs
        traceback.print_exc()
        outcome, words = "failed", f"{type(error).__name__}: {error}"
    line = " ".join(words.split())
    click.echo(f"{job}: {outcome}: {line} ({time.monotonic() - started:.1f} s)")
    return outcome != "failed"


def look_after_dead_letters(url: str, retried: tuple[str, ...]) -> None:
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
