"""A PostgreSQL server that restarts, stays away, falls silent or takes no writes."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.databases import FAST, IMMEDIATE, PostgresServer, begun, choose, history, open_database, postgresql_server
from harness.program import PHONE, Database, release_of_writes
from harness.servers import opted_in, own_server
from harness.waits import PATIENCE, awaited
from shopwindow.problems import Refusal
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.service.database.database import TRY_AGAIN_SECONDS
from shopwindow.service.database.postgresql import MAX_READERS
from shopwindow.shop import INTERFACE

PROMOTIONS, KEY = "/v2/promotions", {"x-svc-webservice-client-id": PHONE}


@pytest.fixture
def restarting() -> Any:
    with postgresql_server({"fsync": "off"}) as server:
        yield server


def test_requests_wait_while_the_server_restarts(restarting: PostgresServer) -> None:
    database = open_database(restarting.url(), INTERFACE.tables)
    database.migrate()
    failures: list[BaseException] = []
    kept: list[str] = []
    stop = threading.Event()

    def write(name: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            device = f"{name} {number}"
            try:
                choose(database, device)
            except BaseException as error:
                failures.append(error)
            else:
                kept.append(device)

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for how in (FAST, IMMEDIATE):
        time.sleep(0.3)
        restarting.stop(how)
        time.sleep(0.5)
        restarting.start()
    before = len(kept)
    awaited(lambda: len(kept) > before)
    stop.set()
    for thread in threads:
        thread.join()
    found = set(_devices(database))
    database.close()
    assert [error for error in failures if not isinstance(error, Refusal)] == []
    assert len(failures) < 40  # those whose COMMIT was under way; the rest waited
    assert set(kept) - found == set()


def _devices(database: Database) -> list[str]:
    found: list[str] = []
    place = ("", "")
    while page := database.read(lambda shop, place=place: shop[CONSENTS].history(*place)):  # type: ignore[misc]
        found += [choice.device for choice in page]
        place = page[-1].at, page[-1].id
    return found


def test_a_connection_that_breaks_while_the_form_is_read_is_no_lack_of_steps(restarting: PostgresServer) -> None:
    """Its user may write, and may not make tables: who tried would be refused for that."""
    import psycopg

    made = open_database(restarting.url(), INTERFACE.tables)
    made.migrate()
    made.close()
    with psycopg.connect(restarting.url(), autocommit=True) as server, ThreadPoolExecutor(1) as pool:
        server.execute("CREATE ROLE writer LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO writer")
        database = open_database(restarting.url().replace("shopwindow@", "writer@"), INTERFACE.tables)
        with psycopg.connect(restarting.url()) as holding:
            holding.execute("LOCK TABLE table_steps")
            written = pool.submit(choose, database, "a")
            waits = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted"
            awaited(lambda: server.execute(waits).fetchall() == [(True,)])
        assert (written.result(PATIENCE), history(database)) == (None, [("a", "IN", None)])
        database.close()


@pytest.mark.alone
def test_a_server_that_stays_away_is_told_in_bounded_time_and_found_again(restarting: PostgresServer) -> None:
    database = open_database(restarting.url(), INTERFACE.tables)
    database.migrate()
    choose(database, "before")
    restarting.stop()
    seconds = [_seconds_of_refusal(lambda number=number: choose(database, str(number))) for number in range(3)]  # type: ignore[misc]
    assert (seconds[0] < 15, max(seconds[1:]) < 3, "database" in database.fault()) == (True, True, True)
    restarting.start()
    _choose_once_found(database)
    assert history(database)[-1][0] in ("after", "before")
    database.close()


def _choose_once_found(database: Database) -> None:
    def chosen() -> bool:
        with suppress(Refusal):
            choose(database, "after")
            return True
        return False

    awaited(chosen)


def _seconds_of_refusal(act: Callable[[], Any]) -> float:
    started = time.monotonic()
    with pytest.raises(Refusal) as refused:
        act()
    assert (refused.value.code, refused.value.headers) == ("unavailable", (("Retry-After", "1"),))
    return time.monotonic() - started


@pytest.mark.alone
def test_a_server_that_falls_silent_is_told_in_bounded_time_and_found_again(restarting: PostgresServer) -> None:
    """Its kernel goes on: connections stay, and new ones are taken."""
    database = open_database(restarting.url(), INTERFACE.tables)
    database.migrate()
    told: list[tuple[str, float]] = []

    def timed(name: str, act: Callable[[], Any]) -> None:
        started = time.monotonic()
        try:
            act()
        except Refusal as refusal:
            told.append((f"{name}: {refusal.faults[0]}", time.monotonic() - started))

    acts: dict[str, Callable[[], Any]] = {
        "adds": lambda: choose(database, "a"),
        "writes": lambda: begun(database),
        "reads": lambda: history(database),
    }
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(database.read, [lambda shop: time.sleep(0.5)] * 3))  # a connection each
        with restarting.frozen():
            for _ in range(2):
                list(pool.map(timed, acts, acts.values(), timeout=PATIENCE))
            assert "database" in database.fault()
    away = {"adds": "written to", "reads": "read", "writes": "written to"}
    refused = [f"{name}: service: the database cannot be {what} now" for name, what in away.items()]
    first, later = told[:3], told[3:]
    assert sorted(name for name, _ in first) == refused
    assert sorted(name for name, _ in later) == refused
    assert (max(seconds for _, seconds in first) < 20, max(seconds for _, seconds in later) < 8) == (True, True)
    _choose_once_found(database)
    database.close()


@pytest.mark.alone
def test_idle_connections_to_a_server_that_has_restarted_cost_one_try(restarting: PostgresServer) -> None:
    database = open_database(restarting.url(), INTERFACE.tables)
    database.migrate()
    with ThreadPoolExecutor(MAX_READERS) as pool:
        list(pool.map(database.read, [lambda shop: time.sleep(1)] * MAX_READERS))  # a connection each
    restarting.stop()
    restarting.start()
    started = time.monotonic()
    assert history(database) == []
    assert time.monotonic() - started < MAX_READERS * TRY_AGAIN_SECONDS
    database.close()


@pytest.mark.parametrize(("server", "session"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_a_session_has_its_own_limits_and_waits_for_the_disk_at_least(
    restarting: PostgresServer, server: str, session: str
) -> None:
    names = ("statement_timeout", "idle_in_transaction_session_timeout", "synchronous_commit")
    restarting.stop()
    restarting.settings = {**restarting.settings, **dict(zip(names, ("30s", "0", server), strict=True))}
    restarting.start()
    database = open_database(restarting.url(), INTERFACE.tables)
    for use in (database.write, database.read):
        rows = use(lambda shop: [shop.session.run(f"SELECT current_setting('{name}')") for name in names])
        assert rows == [[("10s",)], [("10s",)], [(session,)]]
    database.close()


@pytest.mark.alone
def test_those_who_wait_for_a_table_that_somebody_has_locked_are_refused_together(restarting: PostgresServer) -> None:
    """Not one after the other, each when its own statement has taken too long."""
    import psycopg

    database = open_database(restarting.url(), INTERFACE.tables)
    choose(database, "before")
    with psycopg.connect(restarting.url()) as holding, ThreadPoolExecutor(8) as pool:
        holding.execute("LOCK TABLE consents, consent_history")
        seconds = pool.map(lambda name: _seconds_of_refusal(lambda: choose(database, name)), "abcdefgh")
        assert max(seconds) < 25
    choose(database, "after")
    assert sorted(device for device, *_ in history(database)) == ["after", "before"]
    database.close()


@pytest.mark.alone
@pytest.mark.parametrize("is_standby", [False, True])
def test_a_server_that_takes_no_writes_is_a_refusal_until_it_does(restarting: PostgresServer, is_standby: bool) -> None:
    database = open_database(restarting.url(), INTERFACE.tables)
    database.migrate()
    choose(database, "before")
    restarting.stop()
    if is_standby:
        (restarting.folder / "data" / "standby.signal").touch()
    else:
        restarting.settings = {**restarting.settings, "default_transaction_read_only": "on"}
    restarting.start()
    assert _seconds_of_refusal(lambda: choose(database, "a")) < 5
    assert _seconds_of_refusal(lambda: begun(database)) < 5
    assert history(database) == [("before", "IN", None)]
    restarting.stop()
    (restarting.folder / "data" / "standby.signal").unlink(missing_ok=True)
    restarting.settings = {}
    restarting.start()
    choose(database, "after")
    assert {device for device, _, _ in history(database)} == {"before", "after"}
    database.close()


# -- a service that starts without it -----------------------------------------------------------------------------


def test_a_service_starts_without_its_database_server_answers_reads_and_uses_it_once_it_is_there(
    tmp_path: Path,
) -> None:
    out = release_of_writes(tmp_path)
    with postgresql_server({"fsync": "off"}) as database:
        url = database.url()
        database.stop()
        with own_server(tmp_path / "server", out, "--workers", "1", "--database", url) as server:
            assert (server.ask(PROMOTIONS, KEY).status, opted_in(server)) == (200, 503)
            said = server.err.read_text()
            assert "reads are answered, writes are refused, and it is tried again" in said
            database.start()
            awaited(lambda: opted_in(server) == 200)
