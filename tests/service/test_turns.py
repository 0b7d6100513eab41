"""Whoever waits to write is answered once: in whatever order they come, give up, hand on the lead, and fail."""

import fcntl
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from harness.content import ROOT, examples
from harness.servers import environment
from harness.waits import PATIENCE, awaited
from shopwindow.edge.rules import SERVICE_TIMEOUT_SECONDS
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Refusal
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.service import journal
from shopwindow.service.database.database import OUTCOME_UNKNOWN, Database, Load, Meter
from shopwindow.service.database.engine import DATABASE_SECONDS, Lost, OutcomeUnknown, Transaction
from shopwindow.service.database.sqlite import SQLite
from shopwindow.service.database.tables import declared
from shopwindow.service.database.turns import BATCH_ACTIONS, LOOK_SECONDS, Turns, Waiting
from shopwindow.shop import INTERFACE

AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
TABLES = declared(INTERFACE.tables)


def opened(folder: Path, **options: Any) -> Database:
    """A SQLite database in a folder."""
    database = Database(SQLite(folder / "store.sqlite"), TABLES, **options)
    database.migrate()
    return database


def choose(database: Database, device: str) -> str:
    """Opt a device in; what the client would be refused with, or nothing."""
    try:
        database.write(lambda shop: shop[CONSENTS].record("phone", device, "IN", None, AT, device))
    except Refusal as refusal:
        return str(refusal.faults[0])
    return ""


def devices(database: Database) -> list[str]:
    return sorted(choice.device for choice in database.read(lambda shop: shop[CONSENTS].history("")))


# -- the queue, step by step -------------------------------------------------------------------------------------


class Interleavings(RuleBasedStateMachine):
    """Every step of `Turns`, in any order in which the threads of requests may take them."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = Turns()
        self.queued: list[Waiting] = []
        self.batch: list[Waiting] = []
        self.leader: Waiting | None = None
        self.woken: list[Waiting] = []
        self.expected: list[Waiting] = []

    @rule(number=st.sampled_from([1, 2, 5, BATCH_ACTIONS]))
    def come(self, number: int) -> None:
        for _ in range(number):
            waiting = Waiting(lambda tables: None)
            self.turns.join(waiting, partial(self.woken.append, waiting))
            self.queued.append(waiting)
            if self.leader is None:
                self.leader = waiting
                self.expected.append(waiting)
            assert waiting.leads == (waiting is self.leader)

    @rule()
    def give_up(self) -> None:
        """Whoever waits has waited for too long, but for who leads, and whose work has been taken."""
        late = [waiting for waiting in self.queued if waiting is not self.leader]
        assert self.turns.dismiss(-1.0) == late
        self.queued = [waiting for waiting in self.queued if waiting is self.leader]

    @rule()
    def be_in_time(self) -> None:
        assert self.turns.dismiss(PATIENCE) == []

    @precondition(lambda self: self.leader)
    @rule()
    def take(self) -> None:
        """It is called again where the transaction is tried again."""
        number = BATCH_ACTIONS - len(self.batch)
        self.batch += self.queued[:number]
        del self.queued[:number]
        assert self.turns.take() == self.batch

    @precondition(lambda self: self.leader and self.leader not in self.queued)
    @rule()
    def hand_on(self) -> None:
        """Whoever leads has taken its own work before: `take` comes first, also where the turn does not come."""
        self.turns.hand_on()
        self.expected += [waiting for waiting in self.batch if waiting is not self.leader]
        self.batch = []
        self.leader = self.queued[0] if self.queued else None
        if self.leader:
            self.expected.append(self.leader)

    @invariant()
    def each_is_woken_once_as_it_has_its_answer_or_leads(self) -> None:
        assert self.woken == self.expected

    @invariant()
    def somebody_leads_as_long_as_somebody_waits(self) -> None:
        leaders = [waiting for waiting in self.queued if waiting.leads]
        assert leaders == [waiting for waiting in self.queued if waiting is self.leader]
        assert bool(self.leader) or not (self.queued or self.batch)

    @invariant()
    def it_says_who_waits(self) -> None:
        assert self.turns.waiting() == [*self.batch, *self.queued]


TestInterleavings = Interleavings.TestCase


# -- threads on an engine that fails as it is told -----------------------------------------------------------------


class Written(list[int]):
    """A transaction without a database: what its actions wrote."""

    failed: Exception | None = None

    def run(self, sql: str, *values: Any) -> list[Any]:
        return []


class Scripted:
    """An Engine without a database. Each transaction does what the next word of a script says; then all succeed.

    ``stored``: what committed transactions wrote, and those of which nobody knows.
    """

    def __init__(self, script: list[str]) -> None:
        self.script = iter(script)
        self.stored: list[int] = []
        self.is_taken = threading.Lock()

    def begin(self) -> None:
        pass

    @contextmanager
    def turn(self, until: float) -> Iterator[Transaction]:
        what = next(self.script, "stores")
        assert self.is_taken.acquire(blocking=False), "two transactions at once"
        try:
            if what == "away":
                raise Lost("the database is away", passes=True)
            if what == "waits":
                time.sleep(0.06)  # longer than anybody's patience
            written = Written()
            yield written
            if what == "slow":
                time.sleep(0.06)
            if what == "lost":
                raise Lost("the transaction is rolled back", passes=True)
            if what == "full":
                raise Lost("the disk is full", passes=False)
            if what == "bug":
                raise RuntimeError("a bug")
            if what != "unknown, not stored":
                self.stored += written
            if what.startswith("unknown"):
                raise OutcomeUnknown("the connection broke", passes=True)
        finally:
            self.is_taken.release()

    @contextmanager
    def reading(self, until: float) -> Iterator[Transaction]:
        yield Written()

    def now(self) -> datetime:
        return AT

    def close(self) -> None:
        pass


WORDS = ("stores", "away", "waits", "slow", "lost", "full", "bug", "unknown, stored", "unknown, not stored")


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12), st.integers(1, 12))
def test_whoever_writes_is_answered_once_whatever_fails(script: list[str], writers: int) -> None:
    """Each is stored once, refused and not stored, or has an answer that says that nobody knows."""
    engine = Scripted(script)
    database = Database(engine, TABLES, patience=0.03)

    def write(number: int) -> str:
        def work(tables: Tables) -> int:
            session: Any = tables.session
            session.append(number)
            return number

        try:
            return "stored" if database.write(work) == number else "another's"
        except Refusal as refusal:
            return str(refusal.faults[0].message)

    is_over = threading.Event()

    def dismiss() -> None:
        while not is_over.wait(0.01):
            database.refuse_late()

    with ThreadPoolExecutor(writers + 1) as pool:
        dismissing = pool.submit(dismiss)
        answers = list(pool.map(write, range(writers), timeout=PATIENCE))
        is_over.set()
        dismissing.result(PATIENCE)
    for number, answer in enumerate(answers):
        times = engine.stored.count(number)
        if answer == "stored":
            assert times == 1
        elif answer == "the database cannot be written to now":
            assert times == 0
        else:
            assert (answer, times <= 1) == (OUTCOME_UNKNOWN, True)
    while next(engine.script, None):
        pass
    assert (database.write(lambda tables: "led"), database.load()) == ("led", Load())
    database.close()


class Counted(Meter):
    """What a database has reported."""

    actions = failures = 0

    def wrote(self, actions: int, seconds: float) -> None:
        self.actions += actions

    def failed(self) -> None:
        self.failures += 1


@pytest.mark.parametrize(
    ("what", "event", "message"),
    [
        ("full", "database_unavailable", "the database cannot be written to now"),
        ("unknown, stored", "write_unknown", OUTCOME_UNKNOWN),
    ],
)
def test_whoever_shares_a_transaction_that_fails_has_a_line_of_the_log(
    capfd: pytest.CaptureFixture[str], what: str, event: str, message: str
) -> None:
    meter = Counted()
    database = Database(Scripted(["takes the steps", "stores", what]), TABLES, meter)
    inside = threading.Event()

    def slow(shop: Tables) -> None:
        inside.set()
        awaited(lambda: database.load().waiting == 4)

    def refused(id: str) -> str:
        journal.request.set({"requestId": id})
        with pytest.raises(Refusal) as refusal:
            database.write(lambda shop: None)
        return refusal.value.faults[0].message

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(database.write, slow)
        assert inside.wait(PATIENCE)
        told = list(pool.map(refused, "abc", timeout=PATIENCE))
        first.result(PATIENCE)
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert told == [message] * 3
    assert sorted((line["event"], line["requestId"]) for line in logged) == [(event, id) for id in "abc"]
    assert (meter.actions, meter.failures) == (1, 3)
    database.close()


# -- real files ----------------------------------------------------------------------------------------------------


def test_a_write_is_answered_before_nginx_gives_up() -> None:
    assert 2 * DATABASE_SECONDS + LOOK_SECONDS < SERVICE_TIMEOUT_SECONDS


def test_who_waits_behind_a_transaction_that_does_not_end_is_answered(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Who comes later is refused, and stored nowhere. Who shares the transaction is answered once it ends."""
    database = opened(tmp_path, patience=0.4)
    inside, shared, go = threading.Event(), threading.Event(), threading.Event()

    def slow(shop: Tables) -> None:
        inside.set()
        shared.wait(PATIENCE)

    def stuck(shop: Tables) -> None:
        inside.set()
        go.wait(PATIENCE)

    def timed(work: Any, id: str = "another") -> tuple[str, float]:
        journal.request.set({"requestId": id})
        started = time.monotonic()
        try:
            database.write(work)
        except Refusal as refusal:
            return str(refusal.faults[0]), time.monotonic() - started
        return "", 0.0

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(timed, slow)
        assert inside.wait(PATIENCE)
        inside.clear()
        leads, shares = pool.submit(timed, stuck), pool.submit(timed, lambda shop: None)
        awaited(lambda: database.load().waiting >= 3)
        shared.set()
        assert (first.result(PATIENCE), inside.wait(PATIENCE)) == (("", 0.0), True)
        behind = pool.submit(timed, lambda shop: None, "behind")
        refused, early = behind.result(PATIENCE)
        load = database.load()
        go.set()
        assert (leads.result(PATIENCE), shares.result(PATIENCE)) == (("", 0.0), ("", 0.0))
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [(line["event"], line["requestId"]) for line in logged] == [("database_unavailable", "behind")]
    assert refused == "service: the database cannot be written to now"
    assert (0.4 <= early < PATIENCE, load.waiting, load.oldest > 0.4) == (True, 2, True)
    assert (choose(database, "after"), database.load()) == ("", Load())
    database.close()


class Interrupted(BaseException):
    """As Ctrl-C is."""


def test_an_interruption_in_the_lead_is_of_who_leads(tmp_path: Path) -> None:
    database = opened(tmp_path)

    def interrupted(shop: Tables) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        database.write(interrupted)
    assert (choose(database, "after"), database.load()) == ("", Load())
    database.close()


def test_a_process_that_does_not_end_its_turn_costs_others_their_patience(tmp_path: Path) -> None:
    database, other = opened(tmp_path), opened(tmp_path, patience=0.3)
    inside, go = threading.Event(), threading.Event()

    def stuck(shop: Tables) -> None:
        inside.set()
        go.wait(PATIENCE)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(database.write, stuck)
        assert inside.wait(PATIENCE)
        refused = [choose(other, str(number)) for number in range(3)]
        go.set()
        first.result(PATIENCE)
    assert refused == ["service: the database cannot be written to now"] * 3
    assert (choose(other, "after"), devices(database)) == ("", ["after"])
    database.close()
    other.close()


def test_who_is_next_is_not_overtaken_by_a_process_that_writes_without_a_pause(tmp_path: Path) -> None:
    database, other = opened(tmp_path), opened(tmp_path)
    inside, go = threading.Event(), threading.Event()
    turns: list[str] = []

    def stuck(shop: Tables) -> None:
        inside.set()
        go.wait(PATIENCE)

    def is_taken() -> bool:
        with (tmp_path / "store.sqlite.next").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(database.write, stuck)]
        assert inside.wait(PATIENCE)
        waiting.append(pool.submit(other.write, lambda shop: turns.append("other")))
        awaited(is_taken)
        waiting.append(pool.submit(database.write, lambda shop: turns.append("the first again")))
        awaited(lambda: database.load().waiting == 2)
        go.set()
        for each in waiting:
            each.result(PATIENCE)
    assert turns == ["other", "the first again"]
    database.close()
    other.close()


FAULTY_METRICS = """
import os, shutil, sys
from datetime import UTC, datetime
from pathlib import Path
from shopwindow.service import metrics
from shopwindow.service.logfile import LogFile
from shopwindow.interface.declaring.operation import LogKeeping
from shopwindow.service.database.database import open_database
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.shop import INTERFACE

metrics.open_files()
shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"])
child = os.fork()  # which has to open metric files of its own, and cannot
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
database = open_database(f"sqlite:///{sys.argv[1]}/store.sqlite", INTERFACE.tables)
database.migrate()
for number in range(3):
    database.write(lambda shop: shop[CONSENTS].record("phone", f"{number}", "IN", None, datetime.now(UTC), f"{number}"))
LogFile(Path(sys.argv[1])).write(["a line"], LogKeeping())
LogFile(Path(sys.argv[1])).count_refused("phone", "level", 1)
database.close()
"""


def test_metrics_that_cannot_be_counted_cost_no_write_and_are_reported_once(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    env = environment(PROMETHEUS_MULTIPROC_DIR=str(counts))
    command = [sys.executable, "-c", FAULTY_METRICS, str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 0, done.stderr
    assert [(line["event"], line["what"].split(";")[0]) for line in lines] == [("fault", "metrics cannot be counted")]
    database = opened(tmp_path)
    assert (devices(database), (tmp_path / "mobile.log").read_text()) == (["0", "1", "2"], "a line\n")
    database.close()


def test_standard_error_that_cannot_be_written_costs_no_write(tmp_path: Path) -> None:
    script = (
        "import sys, resource\n"
        "from test_turns import *\n"
        "database = opened(Path(sys.argv[1]))\n"
        "import os; os.close(2)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
        "said = [choose(database, '1'), choose(database, '2')]\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "said.append(choose(database, '3'))\n"
        "print(said)\n"
    )
    env = environment()
    env["PYTHONPATH"] += f":{ROOT / 'tests'}:{ROOT / 'tests/service'}"
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE)
    refused = "service: the database cannot be written to now"
    assert done.stdout == f"{[refused, refused, '']}\n"
