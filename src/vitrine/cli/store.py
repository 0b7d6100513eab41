"""`migrate`, `backup`, `restore`, `prune-store` and `optins`: the keeping of the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from vitrine.cli.steps import Setting

if TYPE_CHECKING:
    from vitrine.service.sql.consents import Choice, Known
    from vitrine.service.sql.database import Database

DATABASE = "sqlite:///store/vitrine.sqlite"

NOT_REACHED = """\
not reached: backups made before; the mobile log, which names devices and users (`vitrine prune-store --logs DAYS`);
mails that wait or were given up, which are known by addresses alone (`vitrine prune-store --mails DAYS`)"""

database_option = click.option(
    "--database",
    default=DATABASE,
    show_default=True,
    metavar="URL",
    envvar="VITRINE_DATABASE",
    show_envvar=True,
    help="sqlite:///PATH or postgresql://…",
)

log_dir_option = click.option(
    "--log-dir",
    cls=Setting,
    default="store/log",
    show_default=True,
    metavar="DIR",
    envvar="VITRINE_LOG_DIR",
    show_envvar=True,
    help="Where the mobile log is; empty: nowhere, and `serve` refuses entries.",
)

templates_option = click.option(
    "--templates",
    default="content/templates",
    show_default=True,
    metavar="DIR",
    envvar="VITRINE_TEMPLATES",
    show_envvar=True,
    help="Where share.txt and share.html are looked for before the program's own.",
)


@contextmanager
def opened(url: str) -> Iterator[Database]:
    """The store, which is there and of this program's form. Raises Failure."""
    from vitrine.problems import Failure
    from vitrine.service.sql.database import lacking, open_database, sqlite_path

    path = sqlite_path(url)
    if path and not path.exists():
        raise Failure(f"{path} is not there; `vitrine migrate` makes it")
    database = open_database(url)
    try:
        fault = database.fault()
        if fault and "migrations" not in fault:  # it cannot be had at all
            raise Failure(fault)
        if reason := lacking(database):
            raise Failure(reason)
        database.read(lambda shop: shop.level())
        yield database
    finally:
        database.close()


@click.command()
@database_option
def migrate(database: str) -> None:
    """Bring the store to this program's form, step by step, also while an older program serves."""
    from vitrine.service.sql.database import open_database

    store = open_database(database)
    try:
        steps = store.migrate()
    finally:
        store.close()
    for step in steps:
        click.echo(step)
    if not steps:
        click.echo("nothing to do")


@click.command()
@database_option
@click.option("--to", "target", required=True, metavar="FILE", help="The copy: one file, replaced if it is there.")
def backup(database: str, target: str) -> None:
    """Copy a SQLite store, consistent as of one instant, also while it is in use."""
    from pathlib import Path

    from vitrine.problems import Failure
    from vitrine.service.sql.database import sqlite_path
    from vitrine.service.sql.sqlite_file import backup as copy

    path = sqlite_path(database)
    if path is None:
        raise Failure("a PostgreSQL database is copied by its own tool: pg_dump --format=custom --file=FILE URL")
    click.echo(f"{target}: {copy(path, Path(target)):,} bytes")


@click.command()
@database_option
@click.option("--from", "source", required=True, metavar="FILE", help="What `vitrine backup` wrote.")
def restore(database: str, source: str) -> None:
    """Put a backup in a SQLite store's place; what was there is kept beside it. Not while a service has it open."""
    from pathlib import Path

    from vitrine.problems import Failure
    from vitrine.service.sql.database import sqlite_path
    from vitrine.service.sql.sqlite_file import restore as put

    path = sqlite_path(database)
    if path is None:
        raise Failure("a PostgreSQL database is restored by its own tool: pg_restore --clean --dbname=URL FILE")
    before = put(Path(source), path)
    click.echo(f"{path}: restored from {source}" + (f"; what was there is {before}" if before else ""))


@click.command()
@database_option
@click.option(
    "--bags",
    type=click.IntRange(1, 3650),
    default=90,
    show_default=True,
    metavar="DAYS",
    help="How long a bag is kept that nobody changes.",
)
@click.option(
    "--mails",
    type=click.IntRange(1, 3650),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="How long a mail is kept that was given up.",
)
@log_dir_option
@click.option(
    "--logs",
    type=click.IntRange(1, 3650),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="How long a file of the mobile log is kept after its last entry.",
)
def prune_store(database: str, bags: int, mails: int, log_dir: str, logs: int) -> None:
    """Remove what the store and the mobile log keep for a while only, in small steps, also while a service runs."""
    from datetime import UTC, datetime, timedelta
    from pathlib import Path

    from vitrine.service import logfile
    from vitrine.service.sql.prune import prune

    now = datetime.now(UTC)
    with opened(database) as store:
        for what, removed in prune(store, now, timedelta(days=bags), timedelta(days=mails)):
            click.echo(f"{what}: {removed:,} removed")
    if log_dir:
        deleted = logfile.prune(Path(log_dir), now - timedelta(days=logs))
        click.echo(f"log files: {len(deleted):,} removed")


@click.group()
def optins() -> None:
    """Who opted in or out."""


@optins.command()
@database_option
@click.option("--since", metavar="DAY|INSTANT", help="From then on, such as 2026-11-24 or 2026-11-24T12:00:00Z (UTC).")
@click.option("--format", "form", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True)
def export(database: str, since: str | None, form: str) -> None:
    """Print every choice ever made, the oldest first: when, application, device, IN or OUT, user."""
    import csv
    import sys

    import orjson

    fields = ("at", "application", "device", "choice", "user")
    start = _instant(since)
    with opened(database) as store:
        rows = ({name: getattr(choice, name) for name in fields} for choice in _history(store, start))
        if form == "csv":
            out = csv.DictWriter(sys.stdout, fields)  # each CR and each LF in a value is quoted as lines end with both
            out.writeheader()
            out.writerows(rows)
        else:
            for row in rows:
                print(orjson.dumps(row).decode())


def _history(store: Database, since: str) -> Iterator[Choice]:
    """Page after page: no long transaction, and no more than a page in memory."""
    place = (since, "")
    while page := store.read(lambda shop, place=place: shop.consents.history(*place)):  # type: ignore[misc]
        yield from page
        place = page[-1].at, page[-1].id


def _instant(text: str | None) -> str:
    """As the store writes instants; the beginning of a day where only that is given. Raises UsageError."""
    from datetime import UTC, datetime

    from vitrine.service.sql.session import written

    if text is None:
        return ""
    try:
        instant = datetime.fromisoformat(text)
        return written(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
    except (ValueError, OverflowError):  # in UTC it may lie before the year 1, or after 9999
        raise click.UsageError(f"--since {text}: must be a day or an instant, such as 2026-11-24") from None


@optins.command()
@database_option
@click.option("--device", metavar="ID", help="Of this device.")
@click.option("--user", metavar="ID", help="Of this user.")
def forget(database: str, device: str | None, user: str | None) -> None:
    """Remove every row of a person: current choice, history, bag, kept answers.

    What stays is that it was done, and when. What is not reached is said.
    """
    import os
    from datetime import UTC, datetime

    from vitrine.service.sql.database import sqlite_path
    from vitrine.service.sql.sqlite_log import empty

    if (device is None) == (user is None):
        raise click.UsageError("name either a --device or a --user")
    known_by: Known = "user_id" if device is None else "device"
    arguments: tuple[Any, ...] = (known_by, user if device is None else device, datetime.now(UTC), os.urandom(16).hex())
    path = sqlite_path(database)
    with opened(database) as store:
        gone = store.write(lambda shop: shop.consents.forget(*arguments))
        overwritten = path is None or empty(path)
    click.echo(f"{gone.choices:,} choices, {gone.answers:,} kept answers and {gone.bags:,} bags removed")
    click.echo(NOT_REACHED)
    if not overwritten:
        click.echo(f"somebody reads {path} for long: what was removed may stand in {path}-wal for a while", err=True)
