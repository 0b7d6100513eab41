"""Tables are values: what the engine does with rows follows from what each Table says, for tables of any Interface."""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.databases import (
    ENGINE_TABLES,
    STORED_RESPONSES,
    By,
    Engine,
    declared,
    forget,
    left_alone,
    open_database,
    prune,
    reached,
    statements,
)
from harness.program import Database, shopwindow
from shopwindow.interface.declaring.table import Aging, Personal, Session, Table, Tables
from shopwindow.problems import Failure
from shopwindow.retail.bags.table import BAGS
from shopwindow.service.database.database import OutOfUse
from shopwindow.shop import INTERFACE

NOW = datetime(2026, 11, 24, 17, tzinfo=UTC)
ALL = declared(INTERFACE.tables)

PERSON: dict[By, str] = {"device": "DeviceOfThePerson", "user": "4711"}
"""Texts that every table can have in its columns; a guest user is a number."""

ANOTHER: dict[By, str] = {"device": "another device", "user": "4712"}


# -- rows of any table, from what its SQL says ---------------------------------------------------------------------


def columns() -> dict[str, dict[str, str]]:
    """The columns of all SQL tables of all Tables, with their types."""
    found = {}
    for table in ALL.values():
        for step in table.steps:
            for statement in statements(step):
                if match := re.match(r"CREATE TABLE (\w+) \((.*)\)", statement, re.DOTALL):
                    names = re.findall(r"(?:^|,)\s*([a-z_]+) (TEXT|INTEGER|BIGINT)\b", match[2])
                    found[match[1]] = dict(names)
    return found


def plant(database: Database, rows: str, number: int, **values: object) -> None:
    """A row of an SQL table with these values, and others that no other row has."""
    kinds = columns()[rows]
    row = {name: values.get(name, f"{number}" if kind == "TEXT" else number) for name, kind in kinds.items()}
    sql = f"INSERT INTO {rows} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    database.write(lambda tables: tables.session.run(sql, *row.values()))


def count(database: Database, rows: str, **values: object) -> int:
    where = " AND ".join(f"{name} = ?" for name in values)
    sql = f"SELECT count(*) FROM {rows} WHERE {where}"
    return int(database.read(lambda tables: tables.session.run(sql, *values.values()))[0][0])


PERSONAL = [personal for table in ALL.values() for personal in table.personal]
AGING = [aging for table in ALL.values() for aging in table.aging]


def named(personal: Personal, person: dict[By, str]) -> dict[str, object]:
    """The values of a row that is a person's by each column that can say so."""
    named = {by: personal.column(by) for by in person}
    return {column.name: column.value(person[by]) for by, column in named.items() if column}


# -- a person ------------------------------------------------------------------------------------------------------


def test_whoever_is_forgotten_is_forgotten_in_every_table_that_has_a_persons_rows(database: Database) -> None:
    assert len(PERSONAL) > 2
    for number, personal in enumerate(PERSONAL):
        plant(database, personal.rows, 2 * number, **named(personal, PERSON))
        plant(database, personal.rows, 2 * number + 1, **named(personal, ANOTHER))
    forget(database, "device", PERSON["device"], NOW, "1")
    left = {each.rows: count(database, each.rows, **named(each, PERSON)) for each in PERSONAL}
    assert left == {each.rows: 0 if each.device else 1 for each in PERSONAL}
    forget(database, "user", PERSON["user"], NOW, "2")
    left = {each.rows: count(database, each.rows, **named(each, PERSON)) for each in PERSONAL}
    assert left == {each.rows: 0 for each in PERSONAL}
    others = {each.rows: count(database, each.rows, **named(each, ANOTHER)) for each in PERSONAL}
    assert others == {each.rows: 1 for each in PERSONAL}


def test_every_column_that_names_a_device_or_user_belongs_to_rows_that_are_a_persons() -> None:
    naming = {rows for rows, kinds in columns().items() if {"device", "user_id"} & kinds.keys()}
    assert naming == {personal.rows for personal in PERSONAL}


def test_an_answer_that_names_a_guest_goes_with_the_bag_and_no_other(database: Database) -> None:
    (column,) = (personal.user for personal in BAGS.personal if personal.user)
    for user in (22, 222):
        plant(database, "retries", user, outcome=f'{{"value":{{{column.quoted.format(user)}}}}}')
    plant(database, "bags", 1, user_id=22)
    plant(database, "bag_lines", 5, bag="1")
    reported = {personal.called: 0 for personal in PERSONAL if personal.called}
    two = (STORED_RESPONSES, BAGS)
    (answers,), (bags,) = ([each.called for each in table.personal if each.called] for table in two)
    assert forget(database, "user", "22", NOW, "1") == {**reported, answers: 1, bags: 1}
    assert [count(database, "retries", idempotency_key=str(user)) for user in (22, 222)] == [0, 1]
    assert count(database, "bag_lines", bag="1") == 0


def test_a_text_that_names_a_person_is_no_pattern(database: Database) -> None:
    for number, text in enumerate(("a_c", "abc", "a%", "axx", "!", "a!_c")):
        plant(database, "retries", number, outcome=f"<{text}>")
    removed = [
        database.write(lambda tables, text=text: tables[STORED_RESPONSES].remove_naming(f"<{text}>"))  # type: ignore[misc]
        for text in ("a_c", "a%", "a!_c")
    ]
    assert removed == [1, 1, 1]


# -- age -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aging", AGING, ids=lambda aging: aging.rows)
def test_what_ages_out_is_removed_when_its_time_has_come_and_no_sooner(database: Database, aging: Aging) -> None:
    condition = re.fullmatch(r"(\w+) = '(\w+)'", aging.where)
    more: dict[str, object] = {condition[1]: condition[2]} if condition else {}
    for number, seconds in enumerate((-1, 1)):
        instant = NOW - aging.lifetime + timedelta(seconds=seconds)
        plant(database, aging.rows, number, **{aging.column: aging.stored(instant)}, **more)
    if condition:
        plant(database, aging.rows, 2, **{aging.column: aging.stored(NOW - aging.lifetime - timedelta(days=1))})
    removed = dict(prune(database, NOW))
    assert removed == {each.called: int(each is aging) for each in AGING}
    kinds = columns()[aging.rows]
    name = next(name for name in kinds if name not in (aging.column, *more))
    left = [count(database, aging.rows, **{name: str(n) if kinds[name] == "TEXT" else n}) for n in range(3)]
    assert left == [0, 1, int(bool(condition))]


def test_an_operator_says_how_long_rows_are_kept_by_the_name_that_their_table_gives(
    engine: Engine, database: Database
) -> None:
    now = datetime.now(UTC)
    (aging,) = BAGS.aging
    plant(database, "bags", 1, changed=aging.stored(now - timedelta(days=40)))
    options = ", ".join(sorted({each.option for each in AGING if each.option}))
    pruned = ("maintain", "prune-database", "--log-dir", "", "--database", engine.url)
    assert " bags 0," in shopwindow(*pruned).out
    refused = shopwindow(*pruned, "--rows", "loans=30")
    words = f"--rows loans=…: no rows go by that name; allowed: {options}"
    assert (refused.status, refused.out.partition(" (")[0]) == (4, f"prune-database: failed: {words}")
    assert [shopwindow(*pruned, "--rows", text).status for text in ("bags", "=3", "bags=0", "bags=x")] == [2] * 4
    assert " bags 1," in shopwindow(*pruned, "--rows", "bags=30").out


# -- tables of another interface -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loans:
    """The verbs of a library's table."""

    session: Session

    def add(self, book: str, reader: str) -> None:
        self.session.run("INSERT INTO loans (book, reader) VALUES (?, ?)", book, reader)


LOANS = Table("loans", ("CREATE TABLE loans (book TEXT NOT NULL PRIMARY KEY, reader TEXT NOT NULL)",), Loans)


def open_with(engine: Engine, *tables: Table[Any]) -> Database:
    return open_database(engine.url, tables)


@pytest.fixture
def library(engine: Engine) -> Iterator[Database]:
    database = open_with(engine, LOANS)
    database.migrate()
    yield database
    database.close()


def test_a_database_holds_what_its_interface_lists_and_the_engines_own(library: Database) -> None:
    library.write(lambda tables: tables[LOANS].add("Emma", "r1"))
    assert library.read(lambda tables: tables.session.run("SELECT * FROM loans")) == [("Emma", "r1")]
    assert library.read(lambda tables: reached(tables.session)) == {
        **{table.name: len(table.steps) for table in ENGINE_TABLES},
        "loans": 1,
    }
    assert dict(prune(library, NOW)) == {aging.called: 0 for table in ENGINE_TABLES for aging in table.aging}
    assert forget(library, "user", "r1", NOW, "1") == {"kept answers": 0}


def test_an_action_reaches_no_table_that_the_interface_does_not_list(library: Database) -> None:
    with pytest.raises(LookupError, match="does not list the table bags"):
        library.read(lambda tables: tables[BAGS])
    same_name = Table("loans", LOANS.steps, Loans)
    with pytest.raises(LookupError, match="does not list the table loans"):
        library.read(lambda tables: tables[same_name])


def test_the_verbs_of_a_transaction_are_made_once(library: Database) -> None:
    def work(tables: Tables) -> bool:
        return tables[LOANS] is tables[LOANS]

    assert library.read(work)


def test_two_tables_of_one_name_are_a_fault_of_the_interface(engine: Engine) -> None:
    with pytest.raises(ValueError, match="two tables are called limits"):
        open_with(engine, Table("limits", (), Loans))


def test_a_table_that_the_interface_lacks_is_left_alone_and_named(engine: Engine, library: Database) -> None:
    library.write(lambda tables: tables[LOANS].add("Emma", "r1"))
    first, second = (shopwindow("migrate", "--database", engine.url) for _ in range(2))
    named = "left alone: loans; the interface has no such tables\n"
    assert (first.status, first.out.endswith(named), "bags 1\n" in first.out) == (0, True, True)
    assert second.out == f"nothing to do\n{named}"
    assert library.read(lambda tables: tables.session.run("SELECT * FROM loans")) == [("Emma", "r1")]
    both = open_with(engine, *INTERFACE.tables, LOANS)
    assert both.read(lambda tables: left_alone(tables.session, both.tables)) == []
    assert both.migrate() == []
    both.close()


# -- steps ---------------------------------------------------------------------------------------------------------


def test_the_steps_of_one_migration_are_taken_all_or_none(engine: Engine) -> None:
    broken = Table("broken", ("CREATE TABLE whole (id INTEGER)", "CREATE TABLE ("), Loans)
    database = open_with(engine, LOANS, broken)
    with pytest.raises(OutOfUse):  # by which a service waits, and does not end
        database.migrate()
    engine_of_it, _, why = database.fault().partition(" cannot be migrated: ")
    assert (":" in engine_of_it, bool(why)) == (False, True)
    database.close()
    database = open_with(engine, LOANS)
    assert database.migrate() == [
        *(f"{table.name} {number}" for table in ENGINE_TABLES for number in range(1, len(table.steps) + 1)),
        "loans 1",
    ]
    database.close()


def test_a_table_takes_the_steps_that_it_lacks(engine: Engine, library: Database) -> None:
    library.write(lambda tables: tables[LOANS].add("Emma", "r1"))
    more = "ALTER TABLE loans ADD COLUMN due TEXT; UPDATE loans SET due = 'never'; -- a comment; with a semicolon"
    grown = open_with(engine, Table("loans", (*LOANS.steps, more), Loans))
    assert [grown.migrate(), grown.migrate()] == [["loans 2"], []]
    assert grown.read(lambda tables: tables.session.run("SELECT * FROM loans")) == [("Emma", "r1", "never")]
    library.write(lambda tables: tables[LOANS].add("Persuasion", "r1"))  # an older program goes on
    with pytest.raises(Failure, match="its table loans is at step 2, this program knows 1; update shopwindow"):
        library.migrate()
    grown.close()


# -- what a database lacks --------------------------------------------------------------------------------------------


def test_a_file_without_any_table_of_this_program_is_no_backup(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
    connection.close()
    url = f"sqlite:///{tmp_path / 'shop.sqlite'}"
    ran = shopwindow("restore", "--database", url, "--from", tmp_path / "other.sqlite")
    assert (ran.status, "is not a database of this program" in ran.err) == (4, True)


def test_commands_of_tables_that_the_interface_lacks_say_so(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "bare_interface.py").write_text(
        "from shopwindow.interface.declaring.interface import Interface\n"
        "INTERFACE = Interface('Bare', '1', kinds=(), operations=())\n"
    )
    path = {"PYTHONPATH": str(tmp_path)}
    chosen, database = ("--interface", "bare_interface:INTERFACE"), ("--database", engine.url)
    assert shopwindow(*chosen, "migrate", *database, env=path).status == 0
    needing = {
        ("optins", "export"): "consents",
        ("codes", "report"): "codes",
        ("maintain", "--list-dead"): "outbox",
    }
    for command, table in needing.items():
        words = f"this interface has no table {table}, which the command is about; --interface names another"
        assert shopwindow(*chosen, *command, *database, env=path).err == f"shopwindow: {words}\n"
    assert shopwindow(*chosen, "optins", "forget", "--user", "u", *database, env=path).out.startswith(
        "0 kept answers removed\n"
    )
    assert shopwindow(*chosen, "maintain", "prune-database", "--log-dir", "", *database, env=path).status == 0
    assert "consents 1\n" in shopwindow("migrate", "--database", engine.url).out
