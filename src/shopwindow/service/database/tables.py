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
    last_steps = reached(session)
    refuse_newer(last_steps, tables)

    note = f"INSERT INTO {STEPS_TABLE} (name, step) VALUES (?, ?)"
    lines = []
    for table in tables.values():
        last = last_steps.get(table.name, 0)
        for number, step in enumerate(table.steps[last:], last + 1):
            for statement in statements(step):
                session.run(statement)
            session.run(note, table.name, number)
            lines.append(f"{table.name} {number}")
    return lines


def reached(session: Session) -> dict[str, int]:
    """Return the number of the last step that the database has taken of each table."""
    return dict(
        session.run(
            f"SELECT name, max(step) FROM {STEPS_TABLE} GROUP BY name ORDER BY name"
        )
    )


def refuse_newer(steps: Mapping[str, int], tables: TablesByName) -> None:
    """Raise Failure where a database has taken steps that this program does not have.

    ``steps`` is what `reached` returns. Tables that the Interface lacks do not count.
    """
    for name, number in steps.items():
        table = tables.get(name)
        if table is not None and number > len(table.steps):
            raise Failure(
                f"the database is newer than this program: its table {name} is at step"
                f" {number}, this program knows {len(table.steps)}; update shopwindow"
            )


def lacks_steps(steps: Mapping[str, int], tables: TablesByName) -> bool:
    """Return whether a database lacks steps of a table.

    ``steps`` is what `reached` returns.
    """
    return any(steps.get(table.name, 0) < len(table.steps) for table in tables.values())


def left_alone(session: Session, tables: TablesByName) -> list[str]:
    """Return the names of the tables that a database has and the Interface lacks.

    Nothing is done to them, for another interface may need them again.
    """
    return [name for name in reached(session) if name not in tables]


def statements(sql: str) -> list[str]:
    """Return the statements of a step, without comments; none has a semicolon within."""
    bare = re.sub(r"--[^\n]*", "", sql)
    return [statement.strip() for statement in bare.split(";") if statement.strip()]
