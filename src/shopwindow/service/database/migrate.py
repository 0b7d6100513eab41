"""The steps that bring a database to the form of its tables: forward only, all of one `migrate`
in one transaction.

`table_steps` holds the steps that a database has taken, by table. Until form 5 all tables
shared one list of numbers, in `migrations`. Such a database is taken over: a step that says
which number it had (Step.formerly) counts as taken where the list has that number. The list is
left as it is, for older programs look at it.
"""

import re
from collections.abc import Mapping
from typing import Protocol

from shopwindow.interface.table import Session, Step
from shopwindow.problems import Failure
from shopwindow.service.database.tables import TablesByName

HOW_TO_MIGRATE = "`shopwindow migrate` brings the database to this program's form"

STEPS_TABLE, FORMER_TABLE = "table_steps", "migrations"
LAST_FORMER_NUMBER = 5
"""The last number that a step had while all tables shared one list. Nobody has made a database
with a higher one.
"""


class Inspected(Session, Protocol):
    """A transaction that can say which SQL tables there are: each engine is asked in its own
    words.
    """

    def has_table(self, name: str) -> bool:
        """Return whether there is an SQL table of that name."""
        ...


def migrate(session: Inspected, tables: TablesByName) -> list[str]:
    """Take every step that the database lacks.

    The caller holds the database's lock and commits: either all steps are taken or none.

    Returns:
        The steps, as `bags 1`; those that a former list says were taken already, as `bags 1 (taken over)`.

    Raises:
        Failure: the database is newer than this program.
    """
    session.run(
        f"CREATE TABLE IF NOT EXISTS {STEPS_TABLE}"
        " (name TEXT NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (name, step))"
    )
    former = former_steps(session)
    before = reached(session)
    refuse_newer(before, tables)
    done = []
    for table in tables.values():
        for number, step in enumerate(table.steps, 1):
            if number <= before.get(table.name, 0):
                continue
            line = f"{table.name} {number}"
            if step.formerly in former:
                line += " (taken over)"
            else:
                _take(session, step)
            session.run(
                f"INSERT INTO {STEPS_TABLE} (name, step) VALUES (?, ?)", table.name, number
            )
            done.append(line)
    return done


def _take(session: Session, step: Step) -> None:
    for statement in statements(step.sql):
        session.run(statement)


def former_steps(session: Inspected) -> Mapping[int, str]:
    """Return the names of the steps in the former list of a database, by number. Raises Failure
    for a newer one.
    """
    if not session.has_table(FORMER_TABLE):
        return {}
    former: dict[int, str] = dict(session.run(f"SELECT number, name FROM {FORMER_TABLE}"))
    newest = max(former, default=0)
    if newest > LAST_FORMER_NUMBER:
        raise Failure(
            f"the database is newer than this program: it is at step {newest} of the former list, this program knows"
            f" {LAST_FORMER_NUMBER}; update shopwindow"
        )
    return former


def reached(session: Session) -> dict[str, int]:
    """Return the last step that the database has taken of each table."""
    return dict(
        session.run(f"SELECT name, max(step) FROM {STEPS_TABLE} GROUP BY name ORDER BY name")
    )


def refuse_newer(steps: Mapping[str, int], tables: TablesByName) -> None:
    """Raise Failure where a database has taken steps of a table that this program does not
    know.
    """
    for name, number in steps.items():
        table = tables.get(name)
        if table is not None and number > len(table.steps):
            raise Failure(
                f"the database is newer than this program: its table {name} is at step {number}, this program knows"
                f" {len(table.steps)}; update shopwindow"
            )


def missing(steps: Mapping[str, int], tables: TablesByName) -> list[str]:
    """Return the tables that are behind, as `bags is at step 0 of 1`."""
    return [
        f"{table.name} is at step {steps.get(table.name, 0)} of {len(table.steps)}"
        for table in tables.values()
        if steps.get(table.name, 0) < len(table.steps)
    ]


def left_alone(session: Session, tables: TablesByName) -> list[str]:
    """Return the names of tables that the database has and the Interface lacks. Nothing is done
    to them.
    """
    return [name for name in reached(session) if name not in tables]


def statements(sql: str) -> list[str]:
    """Return the statements of a step; none of them holds a semicolon within."""
    bare = re.sub(r"--[^\n]*", "", sql)
    return [statement.strip() for statement in bare.split(";") if statement.strip()]
