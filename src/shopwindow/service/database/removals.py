"""That a person's rows were removed, and when; nothing that tells whose."""

from collections.abc import Mapping
from datetime import datetime

import orjson

from shopwindow.interface.table import Session, Step, Table, written


class Removals:
    """The notes that `optins forget` leaves."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def add(self, id: str, by: str, removed: Mapping[str, int], at: datetime) -> None:
        """Note how many rows of each sort were removed, of a person known by `device` or by
        `user`.
        """
        text = orjson.dumps(removed).decode()
        self._run(
            "INSERT INTO removals (id, known_by, removed, at) VALUES (?, ?, ?, ?)",
            *(id, by, text, written(at)),
        )


REMOVALS = Table(
    name="removals",
    steps=(
        Step(
            """
            CREATE TABLE forgotten (
                id TEXT NOT NULL PRIMARY KEY,
                known_by TEXT NOT NULL,
                choices INTEGER NOT NULL,
                answers INTEGER NOT NULL,
                at TEXT NOT NULL
            );
            """,
            formerly=1,
        ),
        Step(
            """
            -- `removed` holds a JSON object, so that it can name the rows of any table. The first table had a column
            -- for each of two; it stays for older programs.
            CREATE TABLE removals (
                id TEXT NOT NULL PRIMARY KEY,
                known_by TEXT NOT NULL,
                removed TEXT NOT NULL,
                at TEXT NOT NULL
            );
            INSERT INTO removals (id, known_by, removed, at)
                SELECT id, known_by, '{"choices":' || choices || ',"kept answers":' || answers || '}', at
                FROM forgotten;
            """
        ),
    ),
    verbs=Removals,
)
