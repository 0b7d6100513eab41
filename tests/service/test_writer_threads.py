"""What ends a writer thread costs its batch at most: a meter never does, and the next write finds a new thread."""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.content import ROOT
from harness.databases import declared
from harness.servers import environment
from harness.waits import PATIENCE, awaited
from shopwindow.edge.rules import SERVICE_TIMEOUT_SECONDS
from shopwindow.interface.table import Tables
from shopwindow.problems import Refusal
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.service.database.database import DATABASE_SECONDS, OUTCOME_UNKNOWN, Load
from shopwindow.service.database.sqlite import UNKNOWN_AFTER, WRITER_CHECK_SECONDS, SQLite
from shopwindow.shop import INTERFACE

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
TABLES = declared(INTERFACE.tables)


def choose(database: SQLite, device: str) -> str:
    """Opt a device in; what the client would be refused with, or nothing."""
    try:
        database.write(lambda shop: shop[CONSENTS].record("phone", device, "IN", None, AT, device))
    except Refusal as refusal:
        return str(refusal.faults[0])
    return ""


def devices(database: SQLite) -> list[str]:
    return sorted(choice.device for choice in database.read(lambda shop: shop[CONSENTS].history("")))


class Ending:
    """A meter that ends the thread which reports the first transaction to it."""

    def __init__(self) -> None:
        self.restarts = 0
        self.batches = 0

    def wrote(self, actions: int, seconds: float) -> None:
        self.batches += 1
        if self.batches == 1:
            raise SystemExit

    def failed(self, actions: int) -> None:
        pass

    def restarted(self) -> None:
        self.restarts += 1


@pytest.fixture
def ending(tmp_path: Path) -> tuple[SQLite, Ending]:
    meter = Ending()
    database = SQLite(tmp_path / "store.sqlite", TABLES, meter, patience=10 * PATIENCE)  # nobody waits for that here
    database.migrate()
    return database, meter


def test_a_writer_thread_that_ended_is_reported_and_another_one_writes(
    ending: tuple[SQLite, Ending], capfd: pytest.CaptureFixture[str]
) -> None:
    database, meter = ending
    said = [choose(database, name) for name in ("first", "second", "third")]
    assert (said, meter.restarts) == ([f"service: {OUTCOME_UNKNOWN}", "", ""], 1)
    assert devices(database) == ["first", "second", "third"]  # it was kept, which nobody could know
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert [line["event"] for line in lines] == ["writer_ended"]
    database.close()


def test_what_waits_when_a_writer_thread_ends_is_written_by_the_next_one(ending: tuple[SQLite, Ending]) -> None:
    database, meter = ending
    inside, go = threading.Event(), threading.Event()

    def slow(shop: Tables) -> None:
        inside.set()
        go.wait(PATIENCE)

    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(database.write, slow)
        assert inside.wait(PATIENCE)
        rest = [pool.submit(choose, database, f"{number}") for number in range(4)]
        awaited(lambda: database.load().waiting >= 5)
        go.set()
        assert [each.result(PATIENCE) for each in rest] == [""] * 4
        with pytest.raises(Refusal):
            first.result(PATIENCE)
    assert (devices(database), meter.restarts) == (["0", "1", "2", "3"], 1)
    database.close()


def test_a_write_is_answered_before_nginx_gives_up() -> None:
    assert UNKNOWN_AFTER * DATABASE_SECONDS + WRITER_CHECK_SECONDS < SERVICE_TIMEOUT_SECONDS


def test_who_waits_for_a_transaction_that_does_not_end_is_answered(tmp_path: Path) -> None:
    database = SQLite(tmp_path / "store.sqlite", TABLES, patience=0.4)
    database.migrate()
    inside, go = threading.Event(), threading.Event()

    def stuck(shop: Tables) -> None:
        inside.set()
        go.wait(PATIENCE)

    def timed(work: object) -> tuple[str, float]:
        started = time.monotonic()
        try:
            database.write(work)  # type: ignore[arg-type]
        except Refusal as refusal:
            return str(refusal.faults[0]), time.monotonic() - started
        return "", 0.0

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(timed, stuck)
        assert inside.wait(PATIENCE)
        second = pool.submit(timed, lambda shop: None)
        (refused, early), (unknown, late) = second.result(PATIENCE), first.result(PATIENCE)
        load = database.load()
        database._patience = 20
        go.set()
    assert (refused, unknown) == ("service: the database cannot be written to now", f"service: {OUTCOME_UNKNOWN}")
    assert (early >= 0.4, late >= 0.8, load.waiting, load.oldest > 0.7) == (True, True, 1, True)
    assert (choose(database, "after"), database.load()) == ("", Load())
    database.close()


FAULTY_METRICS = """
import os, shutil, sys
from datetime import UTC, datetime
from pathlib import Path
from shopwindow.interface.running import LogKeeping
from shopwindow.service import metrics
from shopwindow.service.database.opening import open_database
from shopwindow.service.logfile import LogFile
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
    database = SQLite(tmp_path / "store.sqlite", TABLES)
    assert (devices(database), (tmp_path / "mobile.log").read_text()) == (["0", "1", "2"], "a line\n")
    database.close()


def test_a_writer_that_cannot_be_started_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = SQLite(tmp_path / "store.sqlite", TABLES)
    database.migrate()

    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        assert (choose(database, "a"), database.load().waiting) == ("service: the database cannot be written to now", 0)
    assert choose(database, "a") == ""
    database.close()


def test_standard_error_that_cannot_be_written_costs_no_write(tmp_path: Path) -> None:
    script = (
        "import sys, resource\n"
        "from test_writer_threads import *\n"
        "database = SQLite(Path(sys.argv[1]) / 'store.sqlite', TABLES)\n"
        "database.migrate()\n"
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
