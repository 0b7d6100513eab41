"""Facts about `shopwindow maintain`: each job once, however often a timer comes; a line each; none stops another."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.program import Ran, Releases, build, current, shopwindow
from harness.servers import environment
from shopwindow.cli.maintain import MAINTENANCE_JOBS

LINE = re.compile(r"([a-z-]+): (done|not due|not set up|failed): .+ \([0-9]+\.[0-9] s\)")


def maintain(folder: Path, *more: str | Path, env: Mapping[str, str] | None = None) -> Ran:
    """In a folder with content/, without anything that the test's own environment says."""
    ours = {"SHOPWINDOW_DATABASE": f"sqlite:///{folder}/store/shopwindow.sqlite", "SHOPWINDOW_SMTP": ""}
    ours |= {"SHOPWINDOW_LOG_DIR": f"{folder}/store/log", "SHOPWINDOW_BACKUPS": ""}
    return shopwindow("maintain", *more, cwd=folder, env={**ours, **(env or {})})


def outcomes(ran: Ran) -> dict[str, str]:
    """Job → outcome, where every line is a report, or of the log of mails."""
    lines = [line for line in ran.out.splitlines() if not line.startswith("{")]
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches), ran
    return {match[1]: match[2] for match in matches if match}


@pytest.fixture
def shop(minimal: Path) -> Path:
    """A folder with small content, a release of it and an empty database."""
    return begun(minimal, datetime.now(UTC))


@pytest.fixture
def overdue(minimal: Path) -> Path:
    """The same, where the content has changed by itself since."""
    return begun(minimal, datetime.now(UTC) - timedelta(days=400))


def begun(content: Path, built: datetime) -> Path:
    folder = content.parent
    assert build(content, folder / "dist", at=built.isoformat(timespec="seconds")).status == 0
    ran = shopwindow("migrate", "--database", f"sqlite:///{store_of(folder)}", cwd=folder)
    assert ran.status == 0, ran
    return folder


def store_of(folder: Path) -> Path:
    (folder / "store").mkdir(exist_ok=True)
    return folder / "store/shopwindow.sqlite"


def test_the_help_lists_the_jobs_that_there_are() -> None:
    printed = shopwindow("maintain", "--help").out
    assert re.findall("^  ([a-z-]+)   *[a-z]", printed, re.MULTILINE) == list(MAINTENANCE_JOBS)


def test_every_job_is_reported_in_a_line(shop: Path) -> None:
    days = {f"{datetime.now(UTC):%Y-%m-%d}"}
    ran = maintain(shop, "--backups", "copies")
    days.add(f"{datetime.now(UTC):%Y-%m-%d}")
    assert (ran.status, ran.err) == (0, "")
    assert outcomes(ran) == {
        "build": "not due",
        "mail": "not set up",
        "backup": "done",
        "prune": "done",
        "prune-database": "done",
    }
    (copy,) = (shop / "copies").iterdir()
    assert copy.name in {f"shopwindow-{day}.sqlite" for day in days}
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_second_run_changes_nothing(shop: Path) -> None:
    maintain(shop, "--backups", "copies")
    before = current(shop / "dist"), sorted(path.name for path in (shop / "copies").iterdir())
    again = maintain(shop, "--backups", "copies")
    assert again.status == 0
    assert (current(shop / "dist"), sorted(path.name for path in (shop / "copies").iterdir())) == before
    assert len(Releases(shop / "dist").history()) == 1


def test_a_build_is_due_once_next_change_has_passed(overdue: Path) -> None:
    out = overdue / "dist"
    assert Releases(out).next_change(current(out)) < datetime.now(UTC)
    assert outcomes(maintain(overdue, "build")) == {"build": "done"}
    assert Releases(out).next_change(current(out)) > datetime.now(UTC)
    assert outcomes(maintain(overdue, "build")) == {"build": "not due"}


def test_no_build_ends_what_was_built_ahead(minimal: Path) -> None:
    out, now = minimal.parent / "dist", datetime.now(UTC)
    start = (now - timedelta(days=9)).isoformat(timespec="seconds")
    assert build(minimal, out, "--ahead", "20", at=start).status == 0
    releases = Releases(out)
    chain = releases.chain()  # a release for each week, which has opening hours of its own
    first, *_, last = (releases.next_change(link.id) for link in chain.links)
    assert first < now < last
    assert outcomes(maintain(minimal.parent, "build")) == {"build": "not due"}
    assert releases.chain() == chain


def test_without_a_release_there_is_one_afterwards(minimal: Path) -> None:
    ran = maintain(minimal.parent, "build", "prune")
    assert outcomes(ran) == {"build": "done", "prune": "done"}
    assert current(minimal.parent / "dist")


def test_a_job_that_fails_stops_no_other(overdue: Path) -> None:
    (overdue / "content/stores/broken.yaml").write_text("storeId: [")
    (overdue / "copies").write_text("a file where a folder should be")
    ran = maintain(overdue, "--backups", "copies")
    assert ran.status == 4
    assert outcomes(ran) == {
        "build": "failed",
        "mail": "not set up",
        "backup": "failed",
        "prune": "done",
        "prune-database": "done",
    }
    assert "broken.yaml" in ran.out.splitlines()[0]
    assert "broken.yaml" in ran.err  # and all that it said
    assert current(overdue / "dist")


def test_a_pinned_release_is_no_failure(overdue: Path) -> None:
    out, first = overdue / "dist", current(overdue / "dist")
    store = overdue / "content/stores/one.yaml"
    store.write_text(store.read_text().replace("name: First", "name: Second"))
    assert outcomes(maintain(overdue, "build")) == {"build": "done"}
    assert current(out) != first
    assert shopwindow("rollback", "--out", out).status == 0
    store.write_text(store.read_text().replace("name: Second", "name: Third"))
    ran = maintain(overdue, "build")
    assert (ran.status, outcomes(ran)) == (0, {"build": "done"})
    assert current(out) == first


def test_old_backups_go_and_other_files_stay(shop: Path) -> None:
    copies = shop / "copies"
    copies.mkdir()
    for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
        (copies / f"shopwindow-{day}.sqlite").write_bytes(b"")
    (copies / "shopwindow-before-the-move.sqlite").write_bytes(b"")
    before = {path.name for path in copies.iterdir()}
    assert maintain(shop, "backup", "--backups", "copies", "--copies", "2").status == 0
    after = {path.name for path in copies.iterdir()}
    assert before - after == {"shopwindow-2026-01-01.sqlite", "shopwindow-2026-01-02.sqlite"}
    assert len(after - before) == 1


def test_what_another_run_is_at_is_left_to_it(overdue: Path) -> None:
    with Releases(overdue / "dist").lock():
        ran = maintain(overdue, "build", "prune", "prune-database")
    assert (ran.status, ran.err) == (0, "")
    assert outcomes(ran) == {"build": "not due", "prune": "not due", "prune-database": "done"}
    assert "another build or activation is at work" in ran.out.splitlines()[0]


def test_a_fault_of_the_program_stops_no_other_job(overdue: Path) -> None:
    """Such as one in an interface of somebody's own: here a rule cannot be asked."""
    (overdue / "faulty.py").write_text(
        "from dataclasses import replace\nfrom shopwindow.shop import INTERFACE\n"
        "def find(*arguments):\n    raise KeyError('a fault of ours')\n"
        "INTERFACE = replace(INTERFACE, rules=(replace(INTERFACE.rules[0], find=find), *INTERFACE.rules[1:]))\n"
    )
    command = [sys.executable, "-m", "shopwindow", "maintain", "build", "prune"]
    env = environment(PYTHONPATH=str(overdue), SHOPWINDOW_INTERFACE="faulty:INTERFACE")
    done = subprocess.run(command, cwd=overdue, env=env, capture_output=True, text=True)
    ran = Ran(done.returncode, done.stdout, done.stderr)
    assert (ran.status, outcomes(ran)) == (4, {"build": "failed", "prune": "done"})
    assert "a fault of ours" in ran.out.splitlines()[0]
    assert "Traceback" in ran.err


def test_no_line_has_the_databases_password(shop: Path) -> None:
    env = {"SHOPWINDOW_DATABASE": "postgresql://shopwindow:s3cret@127.0.0.1:1/x"}
    ran = maintain(shop, "prune-database", env=env)
    assert outcomes(ran) == {"prune-database": "failed"}
    assert "s3cret" not in ran.out + ran.err
