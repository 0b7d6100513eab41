"""The tables of a database, and the steps that bring it to their form.

How this works. A database has the engine's own tables, and those of the Interface that
it is opened for. Each table numbers its steps, and `table_steps` holds which of them a
database has taken. Steps go forward only, and one `migrate` takes all that are lacking
in one transaction.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from shopwindow.interface.declaring.limits import LIMITS
from shopwindow.interface.declaring.table import Session, Table, by_name
from shopwindow.problems import Failure
from shopwindow.service.database.rates import RATES
from shopwindow.service.database.removals import REMOVALS
from shopwindow.service.database.retries import STORED_RESPONSES

ENGINE_TABLES = (STORED_RESPONSES, LIMITS, RATES, REMOVALS)
"""What the engine writes, whatever Interface it serves. `optins forget` and
`prune-database` report these tables first, in this order.
"""

STEPS_TABLE = "table_steps"

TablesByName = Mapping[str, Table[Any]]


def declared(tables: Iterable[Table[Any]]) -> TablesByName:
    """Return the engine's tables and an Interface's, by their names.

    Raises ValueError where two have the same name.
    """
    return by_name((*ENGINE_TABLES, *tables))


def migrate(session: Session, tables: TablesByName) -> list[str]:
    """Take every step that the database lacks, and return these.

    The caller holds the database's lock, and commits: either all steps are taken or
    none. A step is returned as `bags 1`.

    Raises Failure where the database is newer than this program.
    """
    session.run(
        f"CREATE TABLE IF NOT EXISTS {STEPS_TABLE}"
        " (name TEXT NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (name, step))"
    )
    note = f"INSERT INTO {STEPS_TABLE} (name, step) VALUES (?, ?)"
    steps = lacking(reached(session), tables)
    for name, number, sql in steps:
        for statement in statements(sql):
            session.run(statement)
        session.run(note, name, number)
    return [f"{name} {number}" for name, number, _ in steps]


def reached(session: Session) -> dict[str, int]:
    """Return the number of the last step that the database has taken of each table."""
    return dict(
        session.run(
            f"SELECT name, max(step) FROM {STEPS_TABLE} GROUP BY name ORDER BY name"
        )
    )


def lacking(
    steps: Mapping[str, int], tables: TablesByName
) -> list[tuple[str, int, str]]:
    """Return the steps that a database lacks: the table, the number, the SQL.

    ``steps`` is what `reached` returns. Tables that the Interface lacks do not count.
    Raises Failure where the database has taken steps that this program does not have.
    """
    lacking = []
    for table in tables.values():
        last, known = steps.get(table.name, 0), len(table.steps)
        if last > known:
            raise Failure(
                f"the database is newer than this program: its table {table.name} is at"
                f" step {last}, this program knows {known}; update shopwindow"
            )
        for number, sql in enumerate(table.steps[last:], last + 1):
            lacking.append((table.name, number, sql))
    return lacking


def left_alone(session: Session, tables: TablesByName) -> list[str]:
    """Return the names of the tables that a database has and the Interface lacks.

    Nothing is done to them, for another interface may need them again.
    """
    return [name for name in reached(session) if name not in tables]


def statements(sql: str) -> list[str]:
    """Return the statements of a step, without comments; none has a semicolon within."""
    bare = re.sub(r"--[^\n]*", "", sql)
    return [statement.strip() for statement in bare.split(";") if statement.strip()]
