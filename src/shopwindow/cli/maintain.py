"""`maintain`: what a timer calls."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from shopwindow.cli import FAILED
from shopwindow.cli.database import database_option, log_dir_option, templates_option
from shopwindow.cli.steps import CONTENT, OUT
from shopwindow.interface.loading import DEFAULT, VARIABLE
from shopwindow.service.maintenance import Plan, write_metrics
from shopwindow.service.maintenance import maintain as run

NAMES = ("build", "mail", "backup", "prune", "prune-database")
"""The jobs, as service.maintenance has them: `--help` imports nothing of it."""

DAYS = click.IntRange(1, 3650)


@click.command()
@click.argument("jobs", nargs=-1, type=click.Choice(NAMES), metavar="[JOB]...")
@CONTENT
@OUT
@click.option(
    "--build",
    "build",
    type=click.Choice(["due", "always"]),
    default="due",
    show_default=True,
    help="Build when the content changes by itself (nextChange), or look at the content each time.",
)
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Releases to keep.",
)
@database_option
@log_dir_option
@templates_option
@click.option("--bags", type=DAYS, metavar="DAYS", help="As `prune-database`.")
@click.option("--mails", type=DAYS, metavar="DAYS", help="As `prune-database`.")
@click.option(
    "--logs",
    type=DAYS,
    default=30,
    show_default=True,
    metavar="DAYS",
    help="As `prune-database`.",
)
@click.option(
    "--backups",
    default="",
    metavar="DIR",
    envvar="SHOPWINDOW_BACKUPS",
    show_envvar=True,
    help="Where a copy of a SQLite database is put each day; without it there is none.",
)
@click.option(
    "--copies",
    type=click.IntRange(min=1),
    default=14,
    show_default=True,
    metavar="N",
    help="Backups to keep.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1, 86400),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="How long a job may take.",
)
@click.option(
    "--wait",
    type=click.FloatRange(0, 86400),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="How long another `maintain` is waited for.",
)
@click.option(
    "--metrics",
    metavar="FILE",
    envvar="SHOPWINDOW_JOB_METRICS",
    show_envvar=True,
    help="Write how the jobs ended there, for node_exporter's textfile collector.",
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
    wait: float,
    metrics: str | None,
) -> None:
    """Do what has to be done again and again; without JOB, all of it. Made for a timer, however
    often it comes.

    JOB: build (once the content changes by itself), mail (send what is due), backup (a SQLite
    database), prune (releases), prune-database. Each is reported in one line, and one that
    fails does not stop the others. Exit 0; 4: a job failed, and standard error has all that it
    said.
    """
    os.environ[VARIABLE] = click.get_current_context().meta.get(
        VARIABLE, DEFAULT
    )  # each job is a process
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
        bags,
        mails,
        logs,
        timeout,
        wait,
    )
    reports = []
    now = datetime.now(UTC)
    for report in run(plan, jobs or NAMES, now):
        click.echo(str(report))
        if report.printed:
            click.echo(
                "".join(f"  {line}\n" for line in report.printed.splitlines()),
                err=True,
                nl=False,
            )
        reports.append(report)
    if metrics:
        write_metrics(Path(metrics), reports, datetime.now(UTC))
    if any(report.failed for report in reports):
        sys.exit(FAILED)
