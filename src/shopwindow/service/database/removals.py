"""Notes that a person's rows were removed, and when. The engine's own table.

Nothing in a note says whose rows they were. `optins forget` writes it, so that an
operator can show that a request was carried out.
"""

from collections.abc import Mapping
from datetime import datetime

import orjson

from shopwindow.interface.declaring.table import Session, Table, written


class Removals:
    """The notes within one transaction."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def add(self, id: str, by: str, removed: Mapping[str, int], at: datetime) -> None:
        """Add a note. ``id`` is unique and tells nobody the person, ``by`` says whether
        an operator named a `device` or a `user`, and ``removed`` counts the rows by
        what each table calls them.
        """
        text = orjson.dumps(removed).decode()
        self._run(
            "INSERT INTO removals (id, known_by, removed, at) VALUES (?, ?, ?, ?)",
            *(id, by, text, written(at)),
        )


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
    verbs=Removals,
)
