"""A person's rows, removed from every table that says which of its rows are a person's.

Tables say that themselves (`interface.declaring.table.Personal`), so this module names none of
them but the stored answers: an answer may name a person although the request did not.

What was removed, and when, is noted in a table of the engine's own, so that an operator
can show that a request was carried out. Nothing in a note says whose rows they were.
"""

from collections import Counter
from datetime import datetime
from typing import Literal

import orjson

from shopwindow.interface.declaring.table import Table, Tables, Writer, written
from shopwindow.service.database.retries import STORED_RESPONSES

By = Literal["device", "user"]
"""How an operator names a person: by the id of a device, or of a user."""

ANSWERS = STORED_RESPONSES.personal[0].called
"""What removed answers are reported as."""


def forget(
    database: Writer, by: By, person: str, at: datetime, id: str
) -> dict[str, int]:
    """Remove a person's rows from all tables of a database, in one transaction.

    ``person`` is the id of a device or a user, as ``by`` says. A note that rows were
    removed is left under ``id``, which is unique and cannot be guessed, with the
    instant ``at``; it does not say whose they were.

    Returns how many rows were removed, by what each table calls them.
    """

    def work(tables: Tables) -> dict[str, int]:
        removed = _remove(tables, by, person)
        tables.session.run(
            "INSERT INTO removals (id, known_by, removed, at) VALUES (?, ?, ?, ?)",
            *(id, by, orjson.dumps(removed).decode(), written(at)),
        )
        return removed

    return database.write(work)


def _remove(tables: Tables, by: By, person: str) -> dict[str, int]:
    removed: Counter[str] = Counter()
    for table in tables.declared.values():
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


REMOVALS = Table(
    name="removals",
    steps=(
        """
        CREATE TABLE forgotten (
            id TEXT NOT NULL PRIMARY KEY,
            known_by TEXT NOT NULL,
            choices INTEGER NOT NULL,
            answers INTEGER NOT NULL,
            at TEXT NOT NULL
        );
        """,
        """
        -- `removed` holds a JSON object, so that it can name the rows of any table. The first
        -- table has a column for each of two.
        CREATE TABLE removals (
            id TEXT NOT NULL PRIMARY KEY,
            known_by TEXT NOT NULL,
            removed TEXT NOT NULL,
            at TEXT NOT NULL
        );
        INSERT INTO removals (id, known_by, removed, at)
            SELECT id, known_by,
                '{"choices":' || choices || ',"kept answers":' || answers || '}', at
            FROM forgotten;
        """,
    ),
    verbs=lambda session: None,  # only `forget` writes it
)
