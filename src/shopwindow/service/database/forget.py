"""A person's rows, removed from every table that says which of its rows are a person's.

Tables say that themselves (`interface.declaring.table.Personal`), so this module names none of
them but the stored answers: an answer may name a person although the request did not.
"""

from collections import Counter
from datetime import datetime
from typing import Literal

import orjson

from shopwindow.interface.declaring.table import Tables
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
            value = column.value(person) if column else None
            number = 0
            if column and value is not None:
                sql = f"DELETE FROM {personal.rows} WHERE {column.name} = ? RETURNING 1"
                number = len(tables.session.run(sql, value))
                if column.quoted:  # answers that name the person, whoever asked
                    text = column.quoted.format(orjson.dumps(value).decode())
                    removed[ANSWERS] += tables[STORED_RESPONSES].remove_naming(text)
            if personal.called:
                removed[personal.called] += number
    return dict(removed)
