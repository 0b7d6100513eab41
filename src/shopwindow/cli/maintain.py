"""`maintain`: what a timer calls, so that nothing that has to be done again is
forgotten.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from shopwindow.cli import FAILED
from shopwindow.cli.steps import (
    BAGS_DAYS,
    CONTENT_DIR,
    DATABASE_URL,
    KEEP,
    LOG_DIR,
    LOGS_DAYS,
    MAILS_DAYS,
    OUT,
    TEMPLATES_DIR,
    hand_on_interface,
    setting,
)
from shopwindow.service.maintenance import MAINTENANCE_JOBS, Plan, write_metrics
from shopwindow.service.maintenance import maintain as run


@click.command()
@click.argument(
    "jobs", nargs=-1, type=click.Choice(list(MAINTENANCE_JOBS)), metavar="[JOB]..."
)
@CONTENT_DIR
@OUT
@click.option(
    "--build",
    "build",
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
@BAGS_DAYS
@MAILS_DAYS
@LOGS_DAYS
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
    "--timeout",
    type=click.FloatRange(1, 86400),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="How long one job may take.",
)
@setting(
    "--metrics",
    metavar="FILE",
    variable="SHOPWINDOW_JOB_METRICS",
    help="A file to write how the jobs ended, for the textfile collector of Prometheus' "
    "node_exporter.",
)
def maintain(
    jobs: tuple[str, ...],
    content: str,
    out: str,
    build: str,
    keep: int,
    database: str,
    log_dir: str,
    templates: str,
    bags: int | None,
    mails: int | None,
    logs: int,
    backups: str,
    copies: int,
    timeout: float,
    metrics: str | None,
) -> None:
    """Do each JOB that is due; without JOB, all of them. A timer may call it as often
    as it likes.

    \b
    build           write and activate a release, once the content changes by itself
    mail            send the mails that are due
    backup          copy a SQLite database, once a day
    prune           delete old releases
    prune-database  remove what the database and the mobile log keep only for a while

    Each job is reported on one line, and one that fails does not stop the others. Exit
    status 0; 4: a job failed, and standard error has all that it printed.
    """
    hand_on_interface()  # each job is a process of its own
    by_option = {"bags": bags, "mails": mails}
    lifetimes = {option: days for option, days in by_option.items() if days is not None}
    plan = Plan(
        Path(content),
        Path(out),
        database,
        log_dir,
        templates,
        backups,
        build,
        keep,
        copies,
        lifetimes,
        logs,
        timeout,
    )
    reports = []
    now = datetime.now(UTC)
    for report in run(plan, jobs or tuple(MAINTENANCE_JOBS), now):
        click.echo(str(report))
        for line in report.printed.splitlines():
            click.echo(f"  {line}", err=True)
        reports.append(report)
    if metrics:
        write_metrics(Path(metrics), reports, datetime.now(UTC))
    if any(report.failed for report in reports):
        sys.exit(FAILED)
