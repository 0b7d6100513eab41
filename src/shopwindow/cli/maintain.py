"""`maintain`: what a timer calls, and the options of its jobs."""

import sys
from datetime import timedelta
from typing import Any

import click

from shopwindow.cli import FAILED
from shopwindow.cli.options import (
    CONTENT_DIR,
    DATABASE_URL,
    DAYS,
    KEEP,
    LOG_DIR,
    OUT,
    TEMPLATES_DIR,
    setting,
)

MAINTENANCE_JOBS = ("build", "mail", "backup", "prune", "prune-database")
"""The jobs in their order: what apps see comes first, and the database is copied before
anything is removed from it.
"""


def _days_by_name(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, timedelta]:
    """Return the time of `NAME=DAYS` by name. Raises BadParameter."""
    times: dict[str, timedelta] = {}
    for text in texts:
        name, separator, number = text.partition("=")
        if not name or not separator:
            raise click.BadParameter(f"{text} must be NAME=DAYS, such as bags=90")
        times[name] = timedelta(days=DAYS(number, param, ctx))
    return times


@click.command()
@click.argument(
    "jobs", nargs=-1, type=click.Choice(MAINTENANCE_JOBS), metavar="[JOB]..."
)
@CONTENT_DIR
@OUT
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

    A job that fails does not stop the others. SHOPWINDOW_SMTP names the mail server.
    Exit status 0; 4: a job failed.
    """
    from datetime import UTC, datetime

    from shopwindow.cli.jobs import Plan, done, look_after_dead_letters

    plan = Plan(**options)
    if list_dead or retry_dead:
        look_after_dead_letters(plan.database, retry_dead)
        return
    now = datetime.now(UTC)
    chosen = jobs or MAINTENANCE_JOBS
    failed = [
        job for job in MAINTENANCE_JOBS if job in chosen and not done(job, plan, now)
    ]
    if failed:
        sys.exit(FAILED)
