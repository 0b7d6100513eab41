"""`optins`: every choice about an opt-in is exported; a person is forgotten.

What these commands need of the service they import when they are called, so that
`--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from shopwindow.cli import aside, audit
from shopwindow.cli.database import opened, require
from shopwindow.cli.options import DATABASE_URL, format_option

if TYPE_CHECKING:
    from shopwindow.retail.consents.table import Choice
    from shopwindow.service.database.database import Database
    from shopwindow.service.database.removals import By

CHOICE_FIELDS = ("at", "application", "device", "choice", "user")
"""What `export` prints of a choice, in this order."""

NOT_REACHED = """\
not reached: older backups; the mobile log, which names devices and users
(`shopwindow maintain --logs DAYS`); mails that wait or were given up, which name people by address only
(`shopwindow maintain --rows mails=DAYS`)"""
"""What `forget` cannot remove, and how long that stays."""


@click.group()
def optins() -> None:
    """Export who opted in or out; forget a person."""


@optins.command()
@DATABASE_URL
@click.option(
    "--since",
    metavar="DAY|INSTANT",
    help="Only choices from then on: 2026-11-24 or 2026-11-24T12:00:00Z; without a zone it is UTC.",
)
@format_option(
    ["csv", "jsonl"], "CSV with a line of headings, or a JSON object on each line."
)
def export(database: str, since: str | None, form: str) -> None:
    """Print every choice that is stored, the oldest first.

    The columns are: when, application, device, IN or OUT, user.
    """
    import csv
    import sys

    import orjson

    from shopwindow.retail.consents.table import CONSENTS

    start = _instant(since)
    with opened(database) as data:
        require(data, CONSENTS)
        choices = _history(data, start)
        rows = (
            {name: getattr(choice, name) for name in CHOICE_FIELDS}
            for choice in choices
        )
        # Recorded at the beginning: what was read has left the database, even if the
        # rest fails.
        audit.record("optins export", since=start, format=form)
        if form == "csv":
            # Lines end with CR and LF, so the writer quotes a value that holds one of
            # the two.
            out = csv.DictWriter(sys.stdout, CHOICE_FIELDS)
            out.writeheader()
            out.writerows(rows)
        else:
            for row in rows:
                print(orjson.dumps(row).decode())


def _history(database: Database, since: str) -> Iterator[Choice]:
    """Yield every choice, page after page.

    So no transaction takes long, and no more than a page is in memory.
    """
    from shopwindow.retail.consents.table import CONSENTS

    def after(place: tuple[str, str]) -> Sequence[Choice]:
        return database.read(lambda tables: tables[CONSENTS].history(*place))

    place = (since, "")
    while page := after(place):
        yield from page
        place = page[-1].at, page[-1].id


def _instant(text: str | None) -> str:
    """Return an instant as the database holds it; of a day, its beginning. Raises
    UsageError.
    """
    from datetime import UTC, datetime

    from shopwindow.interface.declaring.table import written

    if text is None:
        return ""
    try:
        instant = datetime.fromisoformat(text)
        return written(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
    except (
        ValueError,
        OverflowError,
    ):  # in UTC it may lie before the year 1, or after 9999
        allowed = "must be a day or an instant, such as 2026-11-24"
        raise click.UsageError(f"--since {text}: {allowed}") from None


@optins.command()
@DATABASE_URL
@click.option("--device", metavar="ID", help="Remove what is stored about this device.")
@click.option("--user", metavar="ID", help="Remove what is stored about this user.")
def forget(database: str, device: str | None, user: str | None) -> None:
    """Remove every row of a person, by --device or by --user, from all tables.

    Stored responses to their requests go, too. That it was done stays, and when. What
    is out of reach, such as backups, is printed.
    """
    import os

    from shopwindow.service.database.address import sqlite_path
    from shopwindow.service.database.removals import forget as remove
    from shopwindow.service.database.sqlite_file import empty_log

    if (device is None) == (user is None):
        raise click.UsageError("name either a --device or a --user")
    by: By = "user" if device is None else "device"
    person = str(user) if device is None else device
    path = sqlite_path(database)
    with opened(database) as data:
        removed = remove(data, by, person, data.now(), os.urandom(16).hex())
        overwritten = path is None or empty_log(path)
    audit.record("optins forget", by=by, removed=removed)
    *counts, last = (f"{number:,} {called}" for called, number in removed.items())
    click.echo(
        f"{', '.join(counts)} and {last} removed" if counts else f"{last} removed"
    )
    click.echo(NOT_REACHED)
    if not overwritten:
        stands = f"what was removed may stand in {path}-wal for a while"
        aside(f"somebody reads {path} for long: {stands}")
