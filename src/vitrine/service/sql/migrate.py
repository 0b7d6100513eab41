"""The steps that bring a database to this program's form: forward only, each in one transaction."""

import re
from functools import cache
from importlib import resources

from vitrine.problems import Failure
from vitrine.service.sql.session import Session

HOW_TO_MIGRATE = "`vitrine migrate` brings the store to this program's form"


@cache
def steps() -> tuple[tuple[int, str, str], ...]:
    """Number, name and SQL of every step, in order."""
    files = resources.files("vitrine.service.sql").joinpath("migrations").iterdir()
    return tuple(
        sorted(
            (int(match[1]), match[2], file.read_text(encoding="utf-8"))
            for file in files
            if (match := re.fullmatch(r"([0-9]{4})_([a-z0-9_]+)\.sql", file.name))
        )
    )


def migrate(session: Session) -> list[str]:
    """Take every step that the database lacks; their names. Raises Failure where it is newer than this program.

    The caller holds the database's lock and commits.
    """
    session.run("CREATE TABLE IF NOT EXISTS migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL)")
    before = level(session)
    done = []
    for number, name, sql in steps():
        if number > before:
            for statement in _statements(sql):
                session.run(statement)
            session.run("INSERT INTO migrations (number, name) VALUES (?, ?)", number, name)
            done.append(f"{number:04} {name}")
    return done


def reached(session: Session) -> int:
    """The last step that the database has taken."""
    ((number,),) = session.run("SELECT coalesce(max(number), 0) FROM migrations")
    return int(number)


def level(session: Session) -> int:
    """The last step that the database has taken. Raises Failure where this program does not know it."""
    number, known = reached(session), steps()[-1][0]
    if number > known:
        raise Failure(
            f"the database is newer than this program: it is at step {number}, this program knows {known};"
            " update vitrine"
        )
    return number


def _statements(sql: str) -> list[str]:
    """The statements of a step; none of them holds a semicolon within."""
    bare = re.sub(r"--[^\n]*", "", sql)
    return [statement.strip() for statement in bare.split(";") if statement.strip()]
