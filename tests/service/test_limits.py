"""How much one address and one application may write: opt-ins, log lines, new bags; by the database's time."""

import contextlib
import itertools
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.databases import Engine, open_database, prune
from harness.program import PHONE, TABLET, Answer, Database, Service, reasons, release_of_writes, said
from harness.waits import PATIENCE, awaited
from shopwindow.interface.declaring.limits import origins
from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.interface.declaring.operation import Rate
from shopwindow.interface.declaring.table import Tables, microseconds
from shopwindow.problems import Refusal
from shopwindow.service.allowances import MAX_RATE_NAMES, Allowances
from shopwindow.service.database.database import Meter
from shopwindow.service.database.rates import RATES as RATES_TABLE
from shopwindow.service.database.rates import Charge
from shopwindow.service.database.turns import completed
from shopwindow.shop import INTERFACE

Json = Any
OPT_INS, LOG, BAGS = "/v2/utility/mobileoptinout", "/v2/utility/mobilelog", "/order/v1/bags"
KEY = "x-svc-webservice-client-id"
NOW = datetime(2026, 11, 24, 17, tzinfo=UTC)


def limits(address: int = 1000, application: int = 1000) -> Json:
    rates = {"address": {"most": address, "minutes": 10}, "application": {"most": application, "minutes": 60}}
    return {"optIns": rates, "logLines": rates, "newBags": rates}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with five from an address and eight of an application."""
    return release_of_writes(tmp_path_factory.mktemp("narrow"), limits=limits(5, 8))


@pytest.fixture
def shop(narrow: Path, database: Database, tmp_path: Path) -> Service:
    return Service(narrow, database, tmp_path / "log")


def opt_in(shop: Service, address: str = "192.0.2.1", key: str = PHONE, **headers: str) -> Answer:
    body = {"deviceID": "d", "optInOrOptOut": "IN"}
    return shop.post(OPT_INS, body, x_forwarded_for=address, x_svc_webservice_client_id=key, **headers)


def log(shop: Service, address: str = "192.0.2.1", key: str = PHONE, message: str = "m", lines: int = 1) -> Answer:
    entry = {"deviceId": "d", "platform": "p", "logLevel": "ERROR", "logMessage": message}
    body = {"entry": [entry] * lines}
    return shop.post(LOG, body, x_forwarded_for=address, x_svc_webservice_client_id=key)


def bag(shop: Service, address: str = "192.0.2.1", key: str = PHONE) -> Answer:
    body = {"item": {"quantity": 1, "upcId": 1}}
    return shop.post(BAGS, body, x_forwarded_for=address, x_svc_webservice_client_id=key)


WRITES: dict[str, Callable[..., Answer]] = {"opt-ins": opt_in, "log lines": log, "new bags": bag}


@pytest.mark.parametrize("what", WRITES)
def test_an_address_is_refused_what_is_beyond_its_limit_and_others_are_not(shop: Service, what: str) -> None:
    write = WRITES[what]
    answers = [write(shop) for _ in range(7)]
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 2
    refused = answers[-1]
    assert reasons(refused) == (429, [f"rate: at most 5 {what} from one address in 10 minutes"])
    assert 110 <= int(refused.headers["retry-after"]) <= 120
    assert write(shop, "192.0.2.2").status == 200


@pytest.mark.parametrize("what", WRITES)
def test_an_application_is_refused_what_is_beyond_its_limit_wherever_it_comes_from(shop: Service, what: str) -> None:
    write = WRITES[what]
    statuses = [write(shop, f"192.0.2.{number}").status for number in range(10)]
    assert statuses == [200] * 8 + [429] * 2
    assert reasons(write(shop, "192.0.2.77")) == (429, [f"rate: at most 8 {what} of one application in 60 minutes"])
    assert write(shop, "192.0.2.78", TABLET).status == 200


def test_an_address_that_is_refused_uses_up_nothing_of_the_application(shop: Service) -> None:
    assert Counter(opt_in(shop).status for _ in range(50)) == {200: 5, 429: 45}
    assert [opt_in(shop, "192.0.2.2").status for _ in range(4)] == [200] * 3 + [429]


def test_a_network_of_ipv6_is_one_address_and_a_site_has_eight_times_as_much(
    tmp_path: Path, database: Database
) -> None:
    shop = Service(release_of_writes(tmp_path, limits=limits(2)), database)
    within = [opt_in(shop, f"2001:db8::{number:x}").status for number in range(1, 5)]
    assert within == [200, 200, 429, 429]
    statuses = [opt_in(shop, f"2001:db8:0:{number:x}::1").status for number in range(1, 20)]
    assert statuses == [200] * 14 + [429] * 5
    assert opt_in(shop, "2001:db8:1::1").status == 200
    assert reasons(opt_in(shop, "2001:db8:0:77::1"))[1] == ["rate: at most 16 opt-ins from one network in 10 minutes"]


def test_an_address_is_what_it_stands_for() -> None:
    one = [("192.0.2.1", 1)]
    names = {text: [tuple(each) for each in origins(text)] for text in ("192.0.2.1", "::ffff:192.0.2.1", "", "x")}
    assert names == {"192.0.2.1": one, "::ffff:192.0.2.1": one, "": [("", 1)], "x": [("x", 1)]}
    of_ipv6 = [("2001:db8:1:2::/64", 1), ("2001:db8:1::/48", 8)]
    assert [tuple(each) for each in origins("2001:db8:1:2::3%eth0")] == of_ipv6


def test_each_line_of_a_batch_counts_and_a_long_one_by_its_kibibytes(shop: Service) -> None:
    assert [log(shop, lines=3).status, log(shop, lines=3).status, log(shop, lines=2).status] == [200, 429, 200]
    assert [log(shop, "192.0.2.2", message="x" * 2048).status for _ in range(2)] == [200, 429]
    shown = shop.ask(f"{LOG}?deviceId=d&platform=p&logLevel=ERROR&logMessage=m", x_forwarded_for="192.0.2.1")
    assert shown.status == 429


def test_what_costs_more_than_a_rate_takes_all_of_it_and_no_more(shop: Service) -> None:
    assert log(shop, lines=20).status == 200
    refused = log(shop, "192.0.2.77")
    assert reasons(refused) == (429, ["rate: at most 8 log lines of one application in 60 minutes"])
    assert int(refused.headers["retry-after"]) <= 60 * 60 // 8


def test_who_has_to_wait_is_refused_without_a_question_to_the_database(shop: Service) -> None:
    assert [opt_in(shop).status for _ in range(6)] == [200] * 5 + [429]
    assert shop.database is not None
    shop.database.close()
    refused = opt_in(shop)
    assert reasons(refused) == (429, ["rate: at most 5 opt-ins from one address in 10 minutes"])
    assert 110 <= int(refused.headers["retry-after"]) <= 120
    assert opt_in(shop, "192.0.2.2").status == 503


def test_refused_requests_store_nothing(shop: Service) -> None:
    for _ in range(20):
        opt_in(shop)
        bag(shop)
    assert shop.database is not None
    rows = shop.database.read(
        lambda tables: [
            tables[OUTBOX]._run(f"SELECT count(*) FROM {table}")[0][0] for table in ("consent_history", "bags")
        ]
    )
    assert rows == [5, 5]


def test_additions_to_a_bag_count_where_their_answer_is_stored(shop: Service) -> None:
    guid = said(bag(shop))["bag"]["bagGUID"]
    body = {"item": {"quantity": 1, "upcId": 2}}
    target = f"{BAGS}?bagGuid={guid}"
    plain = [shop.post(target, body, x_forwarded_for="192.0.2.1").status for _ in range(8)]
    stored = [shop.post(target, body, x_forwarded_for="192.0.2.1", idempotency_key=f"k{n}").status for n in range(6)]
    assert (plain, stored) == ([200] * 8, [200] * 4 + [429] * 2)


def test_a_repeated_request_gets_its_answer_beyond_the_limit(shop: Service) -> None:
    assert opt_in(shop, idempotency_key="k").status == 200
    assert Counter(opt_in(shop).status for _ in range(9)) == {200: 4, 429: 5}
    assert (opt_in(shop, idempotency_key="k").status, opt_in(shop, idempotency_key="other").status) == (200, 429)


@pytest.mark.parametrize("most", [5, 640])
def test_processes_that_share_a_database_share_the_limit(engine: Engine, tmp_path: Path, most: int) -> None:
    """Each stands for a process: it has its own connection and memory."""
    dist = release_of_writes(tmp_path, limits=limits(most))
    engine_database = engine.open()
    engine_database.migrate()
    databases = [engine_database, engine.open(), engine.open()]
    try:
        shops = [Service(dist, database) for database in databases]
        admitted: Counter[int] = Counter()

        def ask(shop: Service) -> None:
            for _ in range(most // 2 + 20):
                admitted[opt_in(shop).status] += 1

        threads = [threading.Thread(target=ask, args=(shop,)) for shop in shops]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for database in databases:
            database.close()
    refilled = 30 * most // 600 + 1  # of a test that takes half a minute
    assert most <= admitted[200] <= most + (refilled if most > 5 else 0)
    assert set(admitted) == {200, 429}


def test_the_names_of_rates_tell_no_address(shop: Service) -> None:
    opt_in(shop)
    assert shop.database is not None
    names = shop.database.read(lambda tables: [name for (name,) in tables[OUTBOX]._run("SELECT name FROM rates")])
    assert (len(names), {len(name) for name in names}) == (2, {64})
    assert {character for name in names for character in name} <= set("0123456789abcdef")


def test_a_service_without_a_database_limits_its_log_by_itself(narrow: Path, tmp_path: Path) -> None:
    shop = Service(narrow, None, tmp_path / "log")
    assert [log(shop).status for _ in range(7)] == [200] * 5 + [429] * 2


def test_a_log_goes_on_while_the_database_is_away(narrow: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.sqlite").mkdir()  # which no database can be opened at
    database = open_database(f"sqlite:///{tmp_path}/folder.sqlite", INTERFACE.tables)
    try:
        shop = Service(narrow, database, tmp_path / "log")
        assert [log(shop).status for _ in range(7)] == [200] * 5 + [429] * 2
    finally:
        database.close()


def test_without_settings_an_address_may_do_what_its_customers_need(tmp_path: Path, database: Database) -> None:
    shop = Service(release_of_writes(tmp_path), database)
    assert Counter(opt_in(shop).status for _ in range(800))[429] > 0
    assert Counter(opt_in(shop, "192.0.2.2").status for _ in range(100)) == {200: 100}


def test_of_too_many_names_a_process_forgets_the_one_that_was_used_longest_ago() -> None:
    allowances, rate = Allowances(), Rate(2, 10)

    def is_admitted(name: str) -> bool:
        try:
            allowances.take([Charge(name, rate, 1, "lines")])
        except Refusal:
            return False
        return True

    assert [is_admitted(name) for name in ("used", "left", "left", "used")] == [True] * 4
    assert all(is_admitted(str(number)) for number in range(MAX_RATE_NAMES - 2))
    assert [is_admitted(name) for name in ("used", "left")] == [False, False]
    assert is_admitted("one more")
    assert [is_admitted(name) for name in ("used", "left")] == [False, True]


# -- the arithmetic ----------------------------------------------------------------------------------------------

RATES = st.builds(Rate, st.integers(1, 10_000_000), st.integers(1, 1440))
STEPS = st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 50)), max_size=40)


def charge(rate: Rate, cost: int) -> Charge:
    return Charge("name", rate, min(cost, rate.most), "writes")


@given(RATES, STEPS)
def test_in_any_time_no_more_is_admitted_than_the_limit_and_what_came_back(
    rate: Rate, steps: list[tuple[int, int]]
) -> None:
    now, full_at, admitted = 0, 0, 0
    for pause, cost in steps:
        now += pause
        wanted = charge(rate, cost)
        if not wanted.wait(full_at - now):
            full_at = max(full_at, now) + wanted.price
            admitted += wanted.cost
        came_back = now * rate.most / (rate.minutes * 60e6)
        assert admitted <= rate.most + came_back + len(steps)  # each taking rounds down by less than one


@given(RATES, st.integers(1, 100))
def test_who_waits_as_long_as_is_said_is_admitted(rate: Rate, cost: int) -> None:
    everything, one = charge(rate, rate.most), charge(rate, cost)
    assert everything.wait(0) == 0
    wait = one.wait(everything.price)
    assert wait > 0
    assert one.wait(everything.price - wait * 1_000_000) == 0


class Sizes(Meter):
    """How many actions each transaction stored."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def wrote(self, actions: int, seconds: float) -> None:
        self.seen.append(actions)


def test_actions_that_share_a_turn_are_decided_as_one_after_the_other(engine: Engine) -> None:
    """Among them are some that fail once they have taken, and give that back."""
    rates, writers, each = {"one": Rate(60, 30), "other": Rate(40, 60)}, 16, 320
    sizes = Sizes()
    database = open_database(engine.url, INTERFACE.tables, sizes)
    database.migrate()
    ran: list[tuple[dict[str, Charge], datetime, bool, tuple[str, int] | None]] = []
    clock = itertools.count()

    def write(number: int) -> None:
        drawn = random.Random(number)
        for _ in range(each):
            charges = {name: charge(rates[name], drawn.choice((1, 1, 5, 50))) for name in drawn.sample([*rates], 2)}
            fails = drawn.random() < 0.3

            def act(tables: Tables, charges: dict[str, Charge] = charges, fails: bool = fails) -> None:
                at = NOW + timedelta(seconds=11 * next(clock))
                refused = tables[RATES_TABLE].take(charges, at)
                answer = refused and (next(name for name in charges if charges[name] is refused[0]), refused[1])
                ran.append((charges, at, fails, answer))
                if refused or fails:
                    raise Refusal("invalid")

            with contextlib.suppress(Refusal):
                completed(database.writing(act, charges), database.refuse_late)

    with ThreadPoolExecutor(writers + 1) as pool:
        first = pool.submit(database.write, lambda tables: awaited(lambda: database.load().waiting > writers))
        for done in [pool.submit(write, number) for number in range(writers)]:
            done.result(PATIENCE)
        first.result(PATIENCE)

    full_at, outcomes = {"one": 0, "other": 0}, Counter[str]()
    for charges, moment, fails, answer in ran:
        at = microseconds(moment)
        left = [(name, max(0, full_at[name] - at)) for name in charges]
        refused = next(((name, time) for name, time in left if charges[name].wait(time)), None)
        assert answer == refused
        if not refused and not fails:
            full_at |= {name: max(full_at[name], at) + wanted.price for name, wanted in charges.items()}
        outcomes[refused[0] if refused else "failed" if fails else "taken"] += 1
    rows = database.read(lambda tables: tables.session.run("SELECT name, full_at FROM rates"))
    database.close()
    assert (dict(rows), sum(outcomes.values()), max(sizes.seen) >= writers) == (full_at, writers * each, True)
    assert min(outcomes[name] for name in ("one", "other", "failed", "taken")) > 100, outcomes


def test_rows_that_say_nothing_any_more_are_pruned(database: Database) -> None:
    for name in ("a", "b"):
        at = NOW + timedelta(minutes=5 * (name == "b"))
        charges = {name: charge(Rate(4, 4), 4)}
        taking = database.writing(lambda shop, at=at, all=charges: shop[RATES_TABLE].take(all, at), charges)  # type: ignore[misc]
        assert completed(taking, database.refuse_late) is None
    pruned = [
        dict(prune(database, at))["used-up rates"]
        for at in (NOW, NOW + timedelta(minutes=4), NOW + timedelta(minutes=9))
    ]
    assert pruned == [0, 1, 1]


# -- time --------------------------------------------------------------------------------------------------------


class Host:
    """The clocks of the host that is at work: the time of day is off by so many seconds."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.off = 0

    def time(self) -> float:
        return time.time() + self.off


@pytest.fixture
def off(postgresql: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Database, Database]]:
    """Two hosts of one PostgreSQL database, whose clocks are a day apart."""
    from shopwindow.service.database import postgresql_connection

    host = Host()
    monkeypatch.setattr(postgresql_connection, "time", host)
    url = postgresql.create_database()
    ahead, behind = (open_database(url, INTERFACE.tables) for _ in range(2))
    host.off = 43_200
    ahead.migrate()
    host.off = -43_200
    yield ahead, behind
    ahead.close()
    behind.close()


def test_hosts_whose_clocks_differ_share_limits_and_answers_by_the_databases_time(
    off: tuple[Database, Database], narrow: Path
) -> None:
    assert abs(off[0].now() - off[1].now()) < timedelta(minutes=1)  # the second opens its first connection
    one, other = (Service(narrow, database) for database in off)
    assert opt_in(one, idempotency_key="k").status == 200
    assert [opt_in(shop).status for shop in (one, other, one, other)] == [200] * 4
    assert [opt_in(shop).status for shop in (one, other)] == [429] * 2
    assert opt_in(other, idempotency_key="k").status == 200  # stored a moment ago, and not tomorrow or yesterday


def test_a_lease_of_a_mail_holds_on_a_host_whose_clock_is_ahead(off: tuple[Database, Database]) -> None:
    ahead, behind = off
    ahead.write(lambda shop: shop[OUTBOX].add("m", "share", "bob@mail.example", {}, ahead.now()))
    at = behind.now() + timedelta(minutes=1)  # each may be off by half of a round trip
    assert behind.write(lambda shop: shop[OUTBOX].claim(at, at + timedelta(minutes=15))) is not None
    now = ahead.now()
    assert not ahead.read(lambda shop: shop[OUTBOX].is_due(now))


def test_a_host_that_is_off_says_so_once_and_at_the_start(capfd: pytest.CaptureFixture[str], off: Any) -> None:
    def reported() -> list[tuple[str, Any]]:
        lines = [orjson.loads(line) for line in capfd.readouterr().err.splitlines()]
        messages = "\n".join(line["message"] for line in lines if line["event"] == "clock")
        line = r"^the clock of this host is ([\d.]+) s (ahead of|behind) the database's; "
        found = re.findall(line, messages, re.MULTILINE)
        return [(side, pytest.approx(float(seconds), abs=5)) for seconds, side in found]

    assert reported() == [("ahead of", 43_200)]  # by the migration
    off[0].now()
    off[1].now()
    assert reported() == [("behind", 43_200)]


def test_a_host_that_is_right_says_nothing(capfd: pytest.CaptureFixture[str], database: Database) -> None:
    assert abs(database.now() - datetime.now(UTC)) < timedelta(minutes=1)
    assert capfd.readouterr().err == ""


def test_bodies_of_refusals_are_errors_of_the_interface(shop: Service) -> None:
    for _ in range(6):
        answer = opt_in(shop)
    body = orjson.loads(answer.body)
    assert (sorted(body), body["success"]) == (["errorCode", "errorDetail", "message", "success"], False)
