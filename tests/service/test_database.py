"""The database on both engines: what its tables promise, actions in one transaction, retries, steps to a new form."""

import fcntl
import os
import random
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.databases import (
    ANSWER,
    NOW,
    RETRY,
    STORED_RESPONSES,
    Engine,
    Retry,
    begun,
    choose,
    declared,
    forget,
    history,
    prune,
)
from harness.program import Database
from harness.waits import PATIENCE
from shopwindow.interface.declaring.operation import Outcome
from shopwindow.interface.declaring.table import Tables, written
from shopwindow.problems import Failure, Refusal
from shopwindow.retail.bags.table import BAGS, Line
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.shop import INTERFACE

DAY = timedelta(hours=24)
MOMENT = timedelta(milliseconds=1)


def current(database: Database, device: str) -> str | None:
    return database.read(lambda shop: shop[CONSENTS].current("phone", device))


def test_of_two_choices_at_one_instant_the_one_that_is_written_last_counts(database: Database) -> None:
    for choice in ("IN", "OUT", "IN"):
        choose(database, "a", choice, user=f"u{choice}")
        assert current(database, "a") == choice
    choose(database, "a", "OUT", at=NOW - MOMENT)
    assert current(database, "a") == "IN"
    assert len(history(database)) == 4


# -- one transaction an action -----------------------------------------------------------------------------------


def test_what_was_written_is_there_for_another_process(engine: Engine, database: Database) -> None:
    choose(database, "a", "OUT", "u")
    other = engine.open()
    assert (history(other), current(other, "a")) == ([("a", "OUT", "u")], "OUT")
    other.close()


def test_a_refusal_rolls_back_what_its_action_wrote_and_nothing_else(database: Database) -> None:
    def refused(shop: Tables) -> None:
        shop[CONSENTS].record("phone", "refused", "IN", None, NOW, "key")
        raise Refusal("invalid")

    def act(number: int) -> None:
        if number % 3:
            choose(database, str(number), key=str(number))
        else:
            with pytest.raises(Refusal):
                database.write(refused)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(act, range(90)))
    assert sorted(history(database)) == sorted((str(number), "IN", None) for number in range(90) if number % 3)


def test_a_fault_of_one_action_is_raised_to_it_alone(database: Database) -> None:
    def faulty(shop: Tables) -> None:
        shop[CONSENTS].record("phone", "x", "IN", None, NOW, "same key")

    database.write(faulty)

    def act(number: int) -> bool:
        try:
            database.write(faulty) if number % 2 else choose(database, str(number))
        except Refusal:
            raise
        except Exception:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(act, range(20))) == [True, False] * 10
    assert len(history(database)) == 11


def test_the_error_of_another_file_is_of_its_action_alone(database: Database, tmp_path: Path) -> None:
    """As that of the catalog's index, which an action may read: it says nothing about the database."""
    other = tmp_path / "index.sqlite"
    other.write_bytes(b"no database" * 1000)

    def foreign(shop: Tables) -> None:
        with closing(sqlite3.connect(other)) as index:
            index.execute("SELECT name FROM sqlite_schema")

    for use in (database.write, database.read):
        with pytest.raises(sqlite3.DatabaseError, match="not a database"):
            use(foreign)
    choose(database, "after")
    assert len(history(database)) == 1


def test_an_action_that_hides_its_own_error_costs_nobody_else(database: Database) -> None:
    """PostgreSQL refuses whatever comes after an error, and then COMMIT takes back all of it without another."""
    choose(database, "x", key="same key")

    def hiding(shop: Tables) -> None:
        with suppress(Exception):
            shop[CONSENTS].record("phone", "x", "IN", None, NOW, "same key")

    def act(number: int) -> None:
        try:
            database.write(hiding) if number % 2 else choose(database, str(number), key=str(number))
        except Refusal:
            raise
        except Exception:
            if number % 2 == 0:
                raise

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(40)))
    assert sorted(device for device, _, _ in history(database)) == sorted(["x", *map(str, range(0, 40, 2))])


NOT_UNIQUE = {"IntegrityError", "UniqueViolation"}
OUTCOMES = {
    "stores": {"returned"},
    "stores, reads": {"returned"},
    "fails": NOT_UNIQUE,
    "fails, reads": NOT_UNIQUE,
    "hides": NOT_UNIQUE,
    "refuses": {"Refusal"},
    "faults": {"ZeroDivisionError"},
}


def test_whatever_actions_do_in_one_turn_each_has_its_own_outcome(database: Database) -> None:
    """In a pipeline an error comes later than its statement: with the next rows, of whichever action, or at the end."""
    taken = "INSERT INTO table_steps (name, step) VALUES ('retries', 1)"
    choose(database, "x", key="first")

    def act(number: int) -> str:
        does = random.choice([*OUTCOMES])

        def work(shop: Tables) -> str:
            shop[CONSENTS].record("phone", str(number), "IN", None, NOW, str(number))
            if does == "hides":
                with suppress(Exception):
                    shop.session.run(taken)
            elif does.startswith("fails"):
                shop.session.run(taken)
            if does.endswith("reads"):
                assert shop[CONSENTS].current("phone", str(number)) == "IN"
            if does == "refuses":
                raise Refusal("invalid")
            if does == "faults":
                raise ZeroDivisionError
            return "returned"

        try:
            outcome = database.write(work)
        except Exception as error:
            outcome = type(error).__name__
        assert outcome in OUTCOMES[does]
        return str(number) if outcome == "returned" else ""

    with ThreadPoolExecutor(16) as pool:
        stored = {*pool.map(act, range(120), timeout=PATIENCE)} - {""}
    assert {device for device, _, _ in history(database)} == {"x", *stored}


def test_a_reader_writes_nothing(database: Database, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refusal, match="the database cannot be read now"):
        database.read(lambda shop: shop[CONSENTS].record("phone", "x", "IN", None, NOW, "key"))
    assert re.search(r"cannot be read: .*(readonly|read-only)", capfd.readouterr().err)
    assert history(database) == []


def test_a_reader_sees_one_state(engine: Engine, database: Database) -> None:
    choose(database, "a")

    def look(shop: Tables) -> tuple[int, int]:
        before = len(shop[CONSENTS].history(""))
        choose(database, "b")
        return before, len(shop[CONSENTS].history(""))

    assert (database.read(look), len(history(database))) == ((1, 1), 2)


def test_actions_that_read_before_they_write_do_as_if_one_came_after_the_other(engine: Engine) -> None:
    """Each appends the number of choices that it finds: none finds the same, on connections of three processes."""
    databases = [engine.open() for _ in range(3)]
    databases[0].migrate()

    def count(shop: Tables) -> None:
        number = len(shop[CONSENTS].history("", limit=1000))
        shop[CONSENTS].record("phone", f"{number:03}", "IN", None, NOW, f"{number:03}")

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda number: databases[number % 3].write(count), range(60)))
    assert [device for device, _, _ in history(databases[0])] == [f"{number:03}" for number in range(60)]
    for database in databases:
        database.close()


def test_a_closed_database_refuses_and_what_waited_was_done(engine: Engine) -> None:
    database = engine.open()
    database.migrate()
    with ThreadPoolExecutor(32) as pool:
        started = threading.Event()

        def slow(shop: Tables) -> None:
            shop[CONSENTS].current("phone", "a")
            started.set()
            time.sleep(0.2)

        first = pool.submit(database.write, slow)
        started.wait()
        rest = [pool.submit(choose, database, str(number)) for number in range(20)]
        time.sleep(0.05)
        database.close()
        first.result()
        told = [future.exception() for future in rest]
    assert all(error is None or isinstance(error, Refusal) for error in told)
    with pytest.raises(Refusal) as refused:
        choose(database, "late")
    with pytest.raises(Refusal):
        history(database)
    assert refused.value.code == "unavailable"
    other = engine.open()
    assert len(history(other)) == told.count(None)
    other.close()


def test_texts_are_kept_as_they_are_however_many_are_written_together(database: Database) -> None:
    texts = [
        "1",
        "1.0",
        "null",
        "true",
        "[]",
        '"',
        "'",
        "\\",
        "\\u0000",
        "ü€😀",
        " ",
        "?",
        "%s",
        "x" * 5000,
        "\n\u2028",
    ]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda text: choose(database, text, user=text), texts * 3, timeout=PATIENCE))
    assert sorted(history(database)) == sorted((text, "IN", text) for text in texts * 3)


def test_of_choices_of_one_device_at_once_each_is_history_and_the_latest_counts(database: Database) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: choose(database, "a", f"{number:02}", at=NOW + number * MOMENT), range(48)))
    assert current(database, "a") == "47"
    assert [choice for _, choice, _ in history(database)] == [f"{number:02}" for number in range(48)]


def test_rows_that_no_engine_keeps_are_a_fault_of_their_action_alone(database: Database) -> None:
    def act(number: int) -> bool:
        try:
            choose(database, str(number), user=object() if number % 4 == 3 else None)  # type: ignore[arg-type]
        except Refusal:
            raise
        except Exception:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(act, range(48), timeout=PATIENCE)) == [True, True, True, False] * 12
    assert len(history(database)) == 36


def test_of_actions_done_together_each_sees_those_before_it(database: Database) -> None:
    """Some only add, some look first, some fail after they have added: as if one came after the other."""
    seen: list[tuple[int, int]] = []

    def act(number: int) -> None:
        def work(shop: Tables) -> int:
            if number % 4 == 1:
                return len(shop[CONSENTS].history("", limit=1000))
            shop[CONSENTS].record("phone", str(number), "IN", None, NOW, str(number))
            if number % 4 == 2:
                raise Refusal("invalid")
            return len(shop[CONSENTS].history("", limit=1000)) if number % 4 == 3 else -1

        with suppress(Refusal):
            seen.append((number, database.write(work)))

    with ThreadPoolExecutor(24) as pool:
        list(pool.map(act, range(120)))
    kept = {str(number) for number in range(120) if number % 4 in (0, 3)}
    assert {device for device, _, _ in history(database)} == kept
    assert len({count for number, count in seen if number % 4 == 3}) == 30
    assert all(0 <= count <= 60 for number, count in seen if number % 4)


# -- choices -----------------------------------------------------------------------------------------------------


def test_the_current_choice_is_the_latest_whichever_was_written_last(database: Database) -> None:
    choose(database, "a", "OUT", at=NOW + MOMENT)
    choose(database, "a", "IN", at=NOW)
    choose(database, "b", "IN", at=NOW)
    choose(database, "b", "OUT", at=NOW + MOMENT)
    assert (current(database, "a"), current(database, "b"), current(database, "c")) == ("OUT", "OUT", None)
    assert len(history(database)) == 4


def test_the_history_comes_in_pages_from_an_instant_on(database: Database) -> None:
    for number in range(5):
        choose(database, str(number), at=NOW + number // 2 * MOMENT, key=str(number))
    pages, place = [], (written(NOW + MOMENT), "")
    while page := database.read(lambda shop, place=place: shop[CONSENTS].history(*place, limit=2)):  # type: ignore[misc]
        pages.append([choice.device for choice in page])
        place = page[-1].at, page[-1].id
    assert pages == [["2", "3"], ["4"]]


def removed(answers: int, choices: int, bags: int) -> dict[str, int]:
    tables = declared(INTERFACE.tables).values()
    others = {each.called: 0 for table in tables for each in table.personal if each.called}
    return {**others, "kept answers": answers, "choices": choices, "bags": bags}


def test_a_person_is_forgotten_with_the_answers_kept_for_them(database: Database) -> None:
    choose(database, "a", user="u")
    choose(database, "b", user="u")
    choose(database, "c")
    for device, user in (("a", "u"), ("c", None)):
        retry = Retry(("phone", "POST", "path", device), "digest", device, user)
        begun(database, retry=retry)
    assert forget(database, "user", "u", NOW, "1") == removed(1, 2, 0)
    assert history(database) == [("c", "IN", None)]
    assert (current(database, "a"), current(database, "b"), current(database, "c")) == (None, None, "IN")
    assert forget(database, "device", "c", NOW, "2") == removed(1, 1, 0)
    assert forget(database, "device", "c", NOW, "3") == removed(0, 0, 0)


def test_a_guest_user_is_forgotten_with_their_bag_and_its_kept_answers(database: Database) -> None:
    guids = {user: f"{user:08}-0000-4000-8000-000000000000" for user in (71, 72, 711)}
    for user, guid in guids.items():
        retry = Retry(("phone", "POST", "order/v1/bags", guid), "digest")

        def made(shop: Tables, user: int = user, guid: str = guid, retry: Retry = retry) -> None:
            bag = shop[BAGS].make("phone", guid, user + 1000, user, NOW)
            assert bag
            shop[BAGS].put(bag, [Line(1, 5, 2)])
            shop[STORED_RESPONSES].store(retry, Outcome({"bag": {"bagId": 1, "owner": {"userId": user}}}), NOW)

        database.write(made)
    assert forget(database, "device", "71", NOW, "1") == removed(0, 0, 0)
    assert forget(database, "user", "71", NOW, "2") == removed(1, 0, 1)
    assert forget(database, "user", "7" * 17, NOW, "3") == removed(0, 0, 0)
    rows = [
        database.read(lambda shop, sql=sql: sorted(shop.session.run(sql)))  # type: ignore[misc]
        for sql in ("SELECT user_id FROM bags", "SELECT bag FROM bag_lines", "SELECT idempotency_key FROM retries")
    ]
    left = [(guids[711],), (guids[72],)]
    assert rows == [[(72,), (711,)], sorted(left), sorted(left)]


# -- retries -----------------------------------------------------------------------------------------------------


def test_the_first_answer_is_given_again(database: Database) -> None:
    assert [begun(database), begun(database), begun(database, NOW + DAY - MOMENT)] == [None, ANSWER, ANSWER]


def test_a_key_is_new_again_after_a_day_though_nothing_was_pruned(database: Database) -> None:
    assert [begun(database), begun(database, NOW + DAY), begun(database, NOW + DAY)] == [None, None, ANSWER]


@pytest.mark.parametrize("change", [*enumerate(("tablet", "PUT", "v3", "Key"))])
def test_the_same_key_elsewhere_is_another(database: Database, change: tuple[int, str]) -> None:
    place, value = change
    scope = list(RETRY.scope)
    scope[place] = value
    assert [begun(database), begun(database, retry=Retry(tuple(scope), "digest"))] == [None, None]  # type: ignore[arg-type]


def test_a_request_whose_answer_a_former_version_has_not_stored_is_the_first(database: Database) -> None:
    begun(database, retry=Retry(RETRY.scope, "of another body"))
    database.write(lambda shop: shop.session.run("UPDATE retries SET outcome = ''"))
    assert [begun(database), begun(database)] == [None, ANSWER]


def test_another_request_under_a_key_is_refused(database: Database) -> None:
    from dataclasses import replace

    begun(database)
    with pytest.raises(Refusal) as refused:
        begun(database, retry=replace(RETRY, digest="other"))
    assert refused.value.code == "repeated_otherwise"
    assert begun(database, NOW + DAY, replace(RETRY, digest="other")) is None


def test_a_second_request_waits_for_the_first(engine: Engine, database: Database) -> None:
    other = engine.open()
    began = threading.Event()

    def first(shop: Tables) -> Outcome | None:
        known = shop[STORED_RESPONSES].find(RETRY, NOW)
        began.set()
        time.sleep(0.3)
        shop[STORED_RESPONSES].store(RETRY, ANSWER, NOW)
        return known

    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(database.write, first)
        began.wait()
        second = pool.submit(begun, other)
        assert (running.result(), second.result()) == (None, ANSWER)
    other.close()


def test_a_second_request_is_the_first_where_that_one_was_refused(engine: Engine, database: Database) -> None:
    other = engine.open()
    began = threading.Event()

    def first(shop: Tables) -> None:
        shop[STORED_RESPONSES].store(RETRY, ANSWER, NOW)
        began.set()
        time.sleep(0.2)
        raise Refusal("invalid")

    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(database.write, first)
        began.wait()
        assert pool.submit(begun, other).result() is None
        assert isinstance(running.exception(), Refusal)
    other.close()


def test_answers_are_pruned_when_their_keys_are_new_again(database: Database) -> None:
    retries = [Retry(("phone", "POST", "v2/path", str(number)), "digest") for number in range(1200)]
    for number, retry in enumerate(retries):
        begun(database, NOW + number * MOMENT, retry)
    assert dict(prune(database, NOW + DAY + 999 * MOMENT))["kept answers"] == 1000
    assert dict(prune(database, NOW + DAY + 999 * MOMENT))["kept answers"] == 0
    assert begun(database, NOW + DAY, retries[1100]) == ANSWER


# -- steps to a new form -----------------------------------------------------------------------------------------


def test_a_fresh_database_is_brought_to_this_programs_form_once(engine: Engine) -> None:
    database = engine.open()
    first, second = database.migrate(), database.migrate()
    database.close()
    assert (first[0], second) == ("retries 1", [])


def test_sqlite_keeps_the_choices_and_their_history_in_one_tree_each(tmp_path: Path) -> None:
    database = Engine("sqlite", f"sqlite:///{tmp_path / 'store.sqlite'}").open()
    database.migrate()
    trees = "SELECT name FROM sqlite_schema WHERE tbl_name LIKE 'consent%' ORDER BY name"
    assert database.read(lambda shop: shop.session.run(trees)) == [("consent_history",), ("consents",)]
    database.close()


def test_programs_that_start_together_take_each_step_once(engine: Engine) -> None:
    databases = [engine.open() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda database: database.migrate(), databases))
    assert sorted(map(bool, done)) == [False] * 5 + [True]
    for database in databases:
        database.close()


def test_a_newer_database_is_refused_while_what_serves_goes_on(engine: Engine, database: Database) -> None:
    newer = "INSERT INTO table_steps (name, step) VALUES ('codes', 9999)"
    database.write(lambda shop: shop.session.run(newer))
    other = engine.open()
    words = "newer than this program: its table codes is at step 9999, this program knows 1"
    with pytest.raises(Failure, match=words):
        other.migrate()
    assert other.fault() == f"the database is {words}; update shopwindow"
    with pytest.raises(Refusal, match="the database cannot be written to now"):
        choose(other, "b")
    other.close()
    choose(database, "a")
    assert (history(database), database.fault()) == ([("a", "IN", None)], "")


def test_a_database_whose_tables_have_gone_has_a_fault(database: Database) -> None:
    choose(database, "a")
    assert database.fault() == ""
    database.write(lambda shop: shop.session.run("DROP TABLE table_steps"))
    assert "table_steps" in database.fault()


@pytest.mark.parametrize("use", ["write", "read", "fault"])
def test_a_database_is_brought_to_this_programs_form_when_it_is_first_used(engine: Engine, use: str) -> None:
    database = engine.open()
    uses: dict[str, Callable[[], Any]] = {
        "write": lambda: choose(database, "a"),
        "read": lambda: history(database),
        "fault": database.fault,
    }
    assert (uses[use](), database.migrate()) == ({"write": None, "read": [], "fault": ""}[use], [])
    database.close()


def test_programs_that_use_a_fresh_database_together_all_write(engine: Engine) -> None:
    databases = [engine.open() for _ in range(4)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: choose(databases[number % 4], str(number)), range(16)))
    assert sorted(device for device, _, _ in history(databases[0])) == sorted(map(str, range(16)))
    for database in databases:
        database.close()


# -- PostgreSQL restarted ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list what a process has open")
def test_a_file_that_is_no_database_is_left_open_by_no_refused_write(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    database = Engine("sqlite", f"sqlite:///{path}").open()
    for file in tmp_path.glob("store.sqlite*"):
        file.unlink()
    path.write_bytes(b"no database" * 100)

    def opened() -> int:
        files = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
        return files.count(str(path))

    before, refusals = opened(), []
    for number in range(3):
        with pytest.raises(Refusal) as refusal:
            choose(database, f"device-{number}")
        refusals.append(refusal)  # with their tracebacks, and all that these refer to
    assert opened() == before
    database.close()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list what a process has open")
def test_a_lock_file_that_cannot_be_opened_leaves_no_other_open(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite.next").mkdir()
    database = Engine("sqlite", f"sqlite:///{tmp_path}/store.sqlite").open()

    def opened() -> list[str]:
        files = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
        return [file for file in files if file.startswith(str(tmp_path))]

    for number in range(3):
        with pytest.raises(Refusal):
            choose(database, f"device-{number}")
    assert opened() == []
    database.close()


def test_a_process_that_is_next_and_does_not_go_on_holds_up_nobody(tmp_path: Path) -> None:
    """As one that is stopped (SIGSTOP) while it waits for its turn."""
    database = Engine("sqlite", f"sqlite:///{tmp_path}/store.sqlite").open()
    choose(database, "before")
    with (tmp_path / "store.sqlite.next").open() as stopped:
        fcntl.flock(stopped, fcntl.LOCK_EX)
        choose(database, "meanwhile")
    assert [device for device, *_ in history(database)] == ["before", "meanwhile"]
    database.close()


def test_a_statement_may_begin_in_lower_case(database: Database) -> None:
    """As one of a company's own table."""
    update = "update rates set full_at = 1 where name = 'n' returning name"
    insert = "insert into rates (name, full_at) values ('n', 0)"

    def work(tables: Tables) -> list[Any]:
        run = tables.session.run
        return [*run(insert), *run("select name from rates"), *run(update)]

    assert database.write(work) == [("n",), ("n",)]
