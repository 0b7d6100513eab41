"""`migrate` and `restore`, and how commands open the database.

What these commands need of the service they import when they are called, so that
`--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shopwindow.cli import audit
from shopwindow.cli.options import DATABASE_URL, PATH, interface
from shopwindow.problems import Failure, Refusal

if TYPE_CHECKING:
    from shopwindow.interface.declaring.table import Table
    from shopwindow.service.database.database import Database

RESTORE = "a PostgreSQL database is restored by its own tool: pg_restore --clean --dbname=URL FILE"


@contextmanager
def opened(url: str) -> Iterator[Database]:
    """Yield the database, which is there and is brought to this program's form. Raises
    Failure.
    """
    from shopwindow.service.database.address import sqlite_path
    from shopwindow.service.database.database import open_database

    path = sqlite_path(url)
    if path and not path.exists():
        raise Failure(f"{path} is not there; `shopwindow migrate` makes it")
    database = open_database(url, interface().tables)
    try:
        if fault := database.fault():
            raise Failure(fault)
        yield database
    except Refusal as refusal:  # it was there a moment ago
        reasons = "; ".join(fault.message for fault in refusal.faults)
        raise Failure(f"{reasons}; nothing of this step was done") from None
    finally:
        database.close()


def require(database: Database, table: Table[Any]) -> None:
    """Raise Failure where the interface lacks a table that a command is about."""
    if database.tables.get(table.name) is not table:
        lacks = f"this interface has no table {table.name}, which the command is about"
        raise Failure(f"{lacks}; --interface names another")


@click.command()
@DATABASE_URL
def migrate(database: str) -> None:
    """Bring the database to this program's form, and print each step.

    All steps are done, or none. A database that is not there yet is created. Whoever
    first uses the database does the same.
    """
    from shopwindow.service.database.database import open_database
    from shopwindow.service.database.tables import left_alone

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
    "--from",
    "source",
    type=PATH,
    required=True,
    metavar="FILE",
    help="A copy that `shopwindow maintain backup` wrote.",
)
def restore(database: str, source: Path) -> None:
    """Put a backup in a SQLite database's place, while no service has it open.

    The former database stays beside it, under another name.
    """
    from shopwindow.service.database.address import sqlite_path
    from shopwindow.service.database.sqlite_file import restore as put
    from shopwindow.service.database.tables import declared

    path = sqlite_path(database)
    if path is None:
        raise Failure(RESTORE)
    former = put(source, path, declared(interface().tables))
    former_path = str(former) if former else None
    audit.record("restore", database=str(path), source=str(source), kept=former_path)
    what_was_there = f"; what was there is {former}" if former else ""
    click.echo(f"{path}: restored from {source}{what_was_there}")
