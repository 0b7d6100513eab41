"""`migrate`, `backup`, `restore`, `prune-database` and `optins`: the keeping of the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from shopwindow.cli import audit
from shopwindow.cli.steps import Setting, interface

if TYPE_CHECKING:
    from shopwindow.interface.table import Table
    from shopwindow.retail.consents.table import Choice
    from shopwindow.service.database.database import Database

DATABASE = "sqlite:///store/shopwindow.sqlite"

NOT_REACHED = """\
not reached: backups made before; the mobile log, which names devices and users
(`shopwindow prune-database --logs DAYS`); mails that wait or were given up, which are known by addresses alone
(`shopwindow prune-database --mails DAYS`)"""

database_option = click.option(
    "--database",
    default=DATABASE,
    show_default=True,
    metavar="URL",
    envvar="SHOPWINDOW_DATABASE",
    show_envvar=True,
    help="sqlite:///PATH or postgresql://…",
)

log_dir_option = click.option(
    "--log-dir",
    cls=Setting,
    default="store/log",
    show_default=True,
    metavar="DIR",
    envvar="SHOPWINDOW_LOG_DIR",
    show_envvar=True,
    help="Where the mobile log is; empty: nowhere, and `serve` refuses entries.",
)

templates_option = click.option(
    "--templates",
    default="content/templates",
    show_default=True,
    metavar="DIR",
    envvar="SHOPWINDOW_TEMPLATES",
    show_envvar=True,
    help="Where share.txt and share.html are looked for before the program's own.",
)


@contextmanager
def opened(url: str) -> Iterator[Database]:
    """Yield the database, which is there and of this program's form. Raises Failure."""
    from shopwindow.problems import Failure
    from shopwindow.service.database.address import sqlite_path
    from shopwindow.service.database.database import lacking, open_database
    from shopwindow.service.database.migrate import STEPS_TABLE, reached, refuse_newer

    path = sqlite_path(url)
    if path and not path.exists():
        raise Failure(f"{path} is not there; `shopwindow migrate` makes it")
    database = open_database(url, interface().tables)
    try:
        fault = database.fault()
        if fault and STEPS_TABLE not in fault:  # it cannot be had at all
            raise Failure(fault)
        if reason := lacking(database):
            raise Failure(reason)
        refuse_newer(database.read(lambda tables: reached(tables.session)), database.tables)
        yield database
    finally:
        database.close()


def require(database: Database, table: Table[Any]) -> None:
    """Raise Failure where the interface lacks a table that a command is about."""
    from shopwindow.problems import Failure

    if database.tables.get(table.name) is not table:
        raise Failure(
            f"this interface has no table {table.name}, which the command is about; --interface names another"
        )


@click.command()
@database_option
def migrate(database: str) -> None:
    """Bring the database to this program's form, all steps or none, also while an older program
    serves.
    """
    from shopwindow.service.database.database import open_database
    from shopwindow.service.database.migrate import left_alone

    opened = open_database(database, interface().tables)
    try:
        steps = opened.migrate()
        foreign = opened.read(lambda tables: left_alone(tables.session, opened.tables))
    finally:
        opened.close()
    for step in steps:
        click.echo(step)
    if steps:
        audit.record("migrate", steps=steps)
    if not steps:
        click.echo("nothing to do")
    if foreign:
        click.echo(f"left alone: {', '.join(foreign)}; the interface has no such tables")


@click.command()
@database_option
@click.option(
    "--to",
    "target",
    required=True,
    metavar="FILE",
    help="The copy: one file, replaced if it is there.",
)
def backup(database: str, target: str) -> None:
    """Copy a SQLite database, consistent as of one instant, also while it is in use."""
    from pathlib import Path

    from shopwindow.problems import Failure
    from shopwindow.service.database.address import sqlite_path
    from shopwindow.service.database.sqlite_file import backup as copy
    from shopwindow.service.database.tables import declared

    path = sqlite_path(database)
    if path is None:
        raise Failure(
            "a PostgreSQL database is copied by its own tool: pg_dump --format=custom --file=FILE URL"
        )
    size = copy(path, Path(target), declared(interface().tables))
    audit.record("backup", database=str(path), to=target, bytes=size)
    click.echo(f"{target}: {size:,} bytes")


@click.command()
@database_option
@click.option(
    "--from", "source", required=True, metavar="FILE", help="What `shopwindow backup` wrote."
)
def restore(database: str, source: str) -> None:
    """Put a backup in a SQLite database's place; what was there is kept beside it. Not while a
    service has it open.
    """
    from pathlib import Path

    from shopwindow.problems import Failure
    from shopwindow.service.database.address import sqlite_path
    from shopwindow.service.database.sqlite_file import restore as put
    from shopwindow.service.database.tables import declared

    path = sqlite_path(database)
    if path is None:
        raise Failure(
            "a PostgreSQL database is restored by its own tool: pg_restore --clean --dbname=URL FILE"
        )
    before = put(Path(source), path, declared(interface().tables))
    audit.record(
        "restore", database=str(path), source=source, kept=str(before) if before else None
    )
    click.echo(
        f"{path}: restored from {source}" + (f"; what was there is {before}" if before else "")
    )


DAYS = click.IntRange(1, 3650)
"""How long something may be kept: at most ten years, which is what bookkeeping asks for."""


def _kept(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, int]:
    """Return the days of `NAME=DAYS` by name. Raises BadParameter."""
    days: dict[str, int] = {}
    for text in texts:
        name, separator, number = text.partition("=")
        if not name or not separator:
            raise click.BadParameter(f"{text} must be NAME=DAYS, such as bags=90")
        days[name] = DAYS(number, param, ctx)
    return days


@click.command()
@database_option
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME=DAYS",
    callback=_kept,
    help="How long rows are kept that a table of the interface gives this name, unless it says itself; repeatable.",
)
@click.option(
    "--bags",
    type=DAYS,
    metavar="DAYS",
    help="As --keep bags=DAYS: of a bag that nobody changes; else 90.",
)
@click.option(
    "--mails",
    type=DAYS,
    metavar="DAYS",
    help="As --keep mails=DAYS: of a mail that was given up; else 30.",
)
@log_dir_option
@click.option(
    "--logs",
    type=DAYS,
    default=30,
    show_default=True,
    metavar="DAYS",
    help="How long a file of the mobile log is kept after its last entry.",
)
def prune_database(
    database: str,
    keep: dict[str, int],
    bags: int | None,
    mails: int | None,
    log_dir: str,
    logs: int,
) -> None:
    """Remove what the database and the mobile log keep for a while only.

    It is done in small steps, also while a service runs.
    """
    from datetime import UTC, datetime, timedelta
    from pathlib import Path

    from shopwindow.service import logfile
    from shopwindow.service.database.prune import lifetimes, prune

    days = {
        name: number
        for name, number in (("bags", bags), ("mails", mails))
        if number is not None
    } | keep
    kept = {name: timedelta(days=number) for name, number in days.items()}
    now = datetime.now(UTC)
    by_option: dict[str, int] = {}
    done: dict[str, int] = {}
    try:
        with opened(database) as data:
            by_option = {
                f"{name}_days": time.days for name, time in lifetimes(data.tables, kept).items()
            }
            for what, removed in prune(data, data.now(), kept):
                done[what] = removed
                click.echo(f"{what}: {removed:,} removed")
        if log_dir:
            deleted = logfile.prune(Path(log_dir), now - timedelta(days=logs))
            done["log files"] = len(deleted)
            click.echo(f"log files: {len(deleted):,} removed")
    finally:
        if done:
            audit.record("prune-database", **by_option, logs_days=logs, removed=done)


@click.group()
def optins() -> None:
    """Who opted in or out."""


@optins.command()
@database_option
@click.option(
    "--since",
    metavar="DAY|INSTANT",
    help="From then on, such as 2026-11-24 or 2026-11-24T12:00:00Z (UTC).",
)
@click.option(
    "--format", "form", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True
)
def export(database: str, since: str | None, form: str) -> None:
    """Print every choice ever made, the oldest first: when, application, device, IN or OUT,
    user.
    """
    import csv
    import sys

    import orjson

    from shopwindow.retail.consents.table import CONSENTS

    fields = ("at", "application", "device", "choice", "user")
    start = _instant(since)
    with opened(database) as data:
        require(data, CONSENTS)
        rows = (
            {name: getattr(choice, name) for name in fields} for choice in _history(data, start)
        )
        audit.record(
            "optins export", since=start, format=form
        )  # at its beginning: what is read has left the database
        if form == "csv":
            out = csv.DictWriter(
                sys.stdout, fields
            )  # each CR and each LF in a value is quoted as lines end with both
            out.writeheader()
            out.writerows(rows)
        else:
            for row in rows:
                print(orjson.dumps(row).decode())


def _history(database: Database, since: str) -> Iterator[Choice]:
    """Page after page: no long transaction, and no more than a page in memory."""
    from shopwindow.retail.consents.table import CONSENTS

    place = (since, "")
    while page := database.read(lambda tables, place=place: tables[CONSENTS].history(*place)):  # type: ignore[misc]
        yield from page
        place = page[-1].at, page[-1].id


def _instant(text: str | None) -> str:
    """As the database holds instants; the beginning of a day where only that is given. Raises
    UsageError.
    """
    from datetime import UTC, datetime

    from shopwindow.interface.table import written

    if text is None:
        return ""
    try:
        instant = datetime.fromisoformat(text)
        return written(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
    except (ValueError, OverflowError):  # in UTC it may lie before the year 1, or after 9999
        raise click.UsageError(
            f"--since {text}: must be a day or an instant, such as 2026-11-24"
        ) from None


@optins.command()
@database_option
@click.option("--device", metavar="ID", help="Of this device.")
@click.option("--user", metavar="ID", help="Of this user.")
def forget(database: str, device: str | None, user: str | None) -> None:
    """Remove every row of a person: of each table of the interface that has such rows, and kept
    answers.

    What stays is that it was done, and when. What is not reached is said.
    """
    import os

    from shopwindow.service.database.address import sqlite_path
    from shopwindow.service.database.forget import forget as remove
    from shopwindow.service.database.sqlite_log import empty

    if (device is None) == (user is None):
        raise click.UsageError("name either a --device or a --user")
    path = sqlite_path(database)
    with opened(database) as data:
        id = os.urandom(16).hex()
        if device is not None:
            removed = remove(data, "device", device, data.now(), id)
        else:
            removed = remove(data, "user", str(user), data.now(), id)
        overwritten = path is None or empty(path)
    audit.record("optins forget", by="user" if device is None else "device", removed=removed)
    *counts, last = (f"{number:,} {called}" for called, number in removed.items())
    click.echo(f"{', '.join(counts)} and {last} removed" if counts else f"{last} removed")
    click.echo(NOT_REACHED)
    if not overwritten:
        click.echo(
            f"somebody reads {path} for long: what was removed may stand in {path}-wal for a while",
            err=True,
        )
