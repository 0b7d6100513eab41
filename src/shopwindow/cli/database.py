"""`migrate`, `backup`, `restore` and `prune-database`: how the database is looked
after.

What these commands need of the service they import when they are called, so that
`--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from shopwindow.cli import audit
from shopwindow.cli.steps import (
    BAGS_DAYS,
    DATABASE_URL,
    DAYS,
    LOG_DIR,
    LOGS_DAYS,
    MAILS_DAYS,
    interface,
)

if TYPE_CHECKING:
    from pathlib import Path

    from shopwindow.interface.table import Table
    from shopwindow.service.database.database import Database

DUMP = "a PostgreSQL database is copied by its own tool: pg_dump --format=custom --file=FILE URL"
RESTORE = "a PostgreSQL database is restored by its own tool: pg_restore --clean --dbname=URL FILE"


@contextmanager
def opened(url: str) -> Iterator[Database]:
    """Yield the database, which is there and of this program's form. Raises Failure."""
    from shopwindow.problems import Failure
    from shopwindow.service.database.address import sqlite_path
    from shopwindow.service.database.database import lacking
    from shopwindow.service.database.migrate import STEPS_TABLE, reached, refuse_newer
    from shopwindow.service.database.opening import open_database

    path = sqlite_path(url)
    if path and not path.exists():
        raise Failure(f"{path} is not there; `shopwindow migrate` makes it")
    database = open_database(url, interface().tables)
    try:
        fault = database.fault()
        if fault and STEPS_TABLE not in fault:  # it cannot be reached at all
            raise Failure(fault)
        if reason := lacking(database):
            raise Failure(reason)
        refuse_newer(
            database.read(lambda tables: reached(tables.session)), database.tables
        )
        yield database
    finally:
        database.close()


def require(database: Database, table: Table[Any]) -> None:
    """Raise Failure where the interface lacks a table that a command is about."""
    from shopwindow.problems import Failure

    if database.tables.get(table.name) is not table:
        lacks = f"this interface has no table {table.name}, which the command is about"
        raise Failure(f"{lacks}; --interface names another")


def _sqlite_file(url: str, other: str) -> Path:
    """Return the file of a SQLite database. Raises Failure for any other, with
    ``other``.
    """
    from shopwindow.problems import Failure
    from shopwindow.service.database.address import sqlite_path

    path = sqlite_path(url)
    if path is None:
        raise Failure(other)
    return path


@click.command()
@DATABASE_URL
def migrate(database: str) -> None:
    """Bring the database to this program's form, and print each step.

    All steps are done, or none. An older program may go on serving meanwhile. A
    database that is not there yet is created.
    """
    from shopwindow.service.database.migrate import left_alone
    from shopwindow.service.database.opening import open_database

    data = open_database(database, interface().tables)
    try:
        steps = data.migrate()
        foreign = data.read(lambda tables: left_alone(tables.session, data.tables))
    finally:
        data.close()
    for step in steps:
        click.echo(step)
    if steps:
        audit.record("migrate", steps=steps)
    else:
        click.echo("nothing to do")
    if foreign:
        click.echo(
            f"left alone: {', '.join(foreign)}; the interface has no such tables"
        )


@click.command()
@DATABASE_URL
@click.option(
    "--to",
    "target",
    required=True,
    metavar="FILE",
    help="The copy: one file, which is replaced if it is there.",
)
def backup(database: str, target: str) -> None:
    """Copy a SQLite database to a file, as it is at one instant, also while it is in
    use.

    PostgreSQL has a tool of its own: pg_dump.
    """
    from pathlib import Path

    from shopwindow.service.database.sqlite_file import backup as copy
    from shopwindow.service.database.tables import declared

    path = _sqlite_file(database, DUMP)
    size = copy(path, Path(target), declared(interface().tables))
    audit.record("backup", database=str(path), to=target, bytes=size)
    click.echo(f"{target}: {size:,} bytes")


@click.command()
@DATABASE_URL
@click.option(
    "--from",
    "source",
    required=True,
    metavar="FILE",
    help="A copy that `shopwindow backup` wrote.",
)
def restore(database: str, source: str) -> None:
    """Put a backup in a SQLite database's place, while no service has it open.

    The former database stays beside it, under another name.
    """
    from pathlib import Path

    from shopwindow.service.database.sqlite_file import restore as put
    from shopwindow.service.database.tables import declared

    path = _sqlite_file(database, RESTORE)
    former = put(Path(source), path, declared(interface().tables))
    former_path = str(former) if former else None
    audit.record("restore", database=str(path), source=source, kept=former_path)
    what_was_there = f"; what was there is {former}" if former else ""
    click.echo(f"{path}: restored from {source}{what_was_there}")


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
@DATABASE_URL
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME=DAYS",
    callback=_days_by_name,
    help="How long the rows are stored that a table of the interface calls NAME, such as bags=90; "
    "repeatable.",
)
@BAGS_DAYS
@MAILS_DAYS
@LOG_DIR
@LOGS_DAYS
def prune_database(
    database: str,
    keep: dict[str, int],
    bags: int | None,
    mails: int | None,
    log_dir: str,
    logs: int,
) -> None:
    """Remove what the database and the mobile log store only for a while.

    It is done in small steps, also while a service runs.
    """
    from datetime import UTC, datetime, timedelta
    from pathlib import Path

    from shopwindow.service import logfile
    from shopwindow.service.database.prune import lifetimes, prune

    by_name = {"bags": bags, "mails": mails}
    days = {
        name: number for name, number in by_name.items() if number is not None
    } | keep
    chosen = {name: timedelta(days=number) for name, number in days.items()}
    now = datetime.now(UTC)
    options: dict[str, int] = {}
    removed: dict[str, int] = {}
    try:
        with opened(database) as data:
            times = lifetimes(data.tables, chosen)
            options = {f"{name}_days": time.days for name, time in times.items()}
            for what, number in prune(data, data.now(), chosen):
                removed[what] = number
                click.echo(f"{what}: {number:,} removed")
        if log_dir:
            deleted = logfile.prune(Path(log_dir), now - timedelta(days=logs))
            removed["log files"] = len(deleted)
            click.echo(f"log files: {len(deleted):,} removed")
    finally:  # what was removed before a failure is recorded, too
        if removed:
            audit.record("prune-database", **options, logs_days=logs, removed=removed)
