"""A person's rows, removed from every table that says which of its rows are a person's.

Tables say that themselves (`interface.table.Personal`), so this module names none of
them but the stored answers: an answer may name a person although the request did not.
"""

from collections import Counter
from datetime import datetime
from typing import Literal

import orjson

from shopwindow.interface.table import Column, Tables
from shopwindow.service.database.database import Database
from shopwindow.service.database.removals import REMOVALS
from shopwindow.service.database.retries import STORED_RESPONSES
from shopwindow.service.database.tables import TablesByName

By = Literal["device", "user"]
"""How an operator names a person: by the id of a device, or of a user."""

ANSWERS = STORED_RESPONSES.personal[0].called
"""What removed answers are reported as."""


def forget(
    database: Database, by: By, person: str, at: datetime, id: str
) -> dict[str, int]:
    """Remove a person's rows from all tables of a database, in one transaction.

    ``person`` is the id of a device or a user, as ``by`` says. A note that rows were
    removed is left under ``id``, which is unique and cannot be guessed, with the
    instant ``at``; it does not say whose they were.

    Returns how many rows were removed, by what each table calls them.
    """

    def work(tables: Tables) -> dict[str, int]:
        removed = _remove(tables, database.tables, by, person)
        tables[REMOVALS].add(id, by, removed, at)
        return removed

    return database.write(work)


def _remove(
    tables: Tables, declared: TablesByName, by: By, person: str
) -> dict[str, int]:
    removed: Counter[str] = Counter()
    for table in declared.values():
        for personal in table.personal:
            column = personal.column(by)
            number = (
                _remove_rows(tables, personal.rows, column, person) if column else 0
            )
            if personal.called:
                removed[personal.called] += number
            if column and column.quoted:
                removed[ANSWERS] += _remove_answers(tables, column, person)
    return dict(removed)


def _remove_rows(tables: Tables, rows: str, column: Column, person: str) -> int:
    value = column.value(person)
    if value is None:
        return 0
    return len(
        tables.session.run(
            f"DELETE FROM {rows} WHERE {column.name} = ? RETURNING 1", value
        )
    )


def _remove_answers(tables: Tables, column: Column, person: str) -> int:
    """Remove stored answers that name a person where the request did not; return how
    many.
    """
    value = column.value(person)
    if value is None:
        return 0
    quoted = column.quoted.format(orjson.dumps(value).decode())
    return tables[STORED_RESPONSES].remove_naming(quoted)
