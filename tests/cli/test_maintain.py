"""Facts about `shopwindow maintain`: each job once, however often a timer comes; a line each; none stops another."""

import fcntl
import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.program import Ran, Releases, build, current, shopwindow
from shopwindow.problems import Failure
from shopwindow.service import maintenance
from shopwindow.service.maintenance import MAINTENANCE_JOBS

LINE = re.compile(r"([a-z-]+): (done|not due|not set up|failed): .+ \([0-9]+\.[0-9] s\)")


def maintain(folder: Path, *more: str | Path, env: Mapping[str, str] | None = None) -> Ran:
    """In a folder with content/, without anything that the test's own environment says."""
    ours = {"SHOPWINDOW_DATABASE": f"sqlite:///{folder}/store/shopwindow.sqlite", "SHOPWINDOW_SMTP_HOST": ""}
    ours |= {"SHOPWINDOW_LOG_DIR": f"{folder}/store/log", "SHOPWINDOW_BACKUPS": ""}
    return shopwindow("maintain", *more, cwd=folder, env={**ours, **(env or {})})


def outcomes(ran: Ran) -> dict[str, str]:
    """Job → outcome, where every line is a report."""
    lines = ran.out.splitlines()
    matches = [LINE.fullmatch(line) for line in lines]
    assert all(matches), ran
    return {match[1]: match[2] for match in matches if match}


@pytest.fixture
def shop(minimal: Path) -> Path:
    """A folder with small content, a release of it and an empty database."""
    folder = minimal.parent
    assert build(minimal, folder / "dist", at=_now()).status == 0
    ran = shopwindow("migrate", "--database", f"sqlite:///{store_of(folder)}", cwd=folder)
    assert ran.status == 0, ran
    return folder


def store_of(folder: Path) -> Path:
    (folder / "store").mkdir(exist_ok=True)
    return folder / "store/shopwindow.sqlite"


def never_ending(folder: Path, job: str) -> Path:
    """A folder for PYTHONPATH that lets the process of a job sleep."""
    slow = folder / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(f"import sys, time\nif sys.orig_argv[3] == {job!r}: time.sleep(600)\n")
    return slow


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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


def test_a_build_is_due_once_next_change_has_passed(minimal: Path) -> None:
    out = minimal.parent / "dist"
    last_year = (datetime.now(UTC) - timedelta(days=400)).isoformat(timespec="seconds")
    assert build(minimal, out, at=last_year).status == 0
    overdue = Releases(out).manifest(current(out)).next_change
    assert datetime.fromisoformat(overdue) < datetime.now(UTC)
    ran = maintain(minimal.parent, "build")
    assert outcomes(ran) == {"build": "done"}
    assert datetime.fromisoformat(Releases(out).manifest(current(out)).next_change) > datetime.now(UTC)
    assert outcomes(maintain(minimal.parent, "build")) == {"build": "not due"}


def test_without_a_release_there_is_one_afterwards(minimal: Path) -> None:
    ran = maintain(minimal.parent, "build", "prune")
    assert outcomes(ran) == {"build": "done", "prune": "done"}
    assert current(minimal.parent / "dist")


def test_always_looks_at_the_content_each_time(shop: Path) -> None:
    first = current(shop / "dist")
    store = next((shop / "content/stores").iterdir())
    store.write_text(store.read_text() + "\n# a remark\n")
    assert outcomes(maintain(shop, "build", "--build", "always")) == {"build": "done"}
    assert current(shop / "dist") == first  # a remark changes no byte
    (shop / "content/stores/broken.yaml").write_text("storeId: [")
    assert outcomes(maintain(shop, "build", "--build", "always")) == {"build": "failed"}


def test_a_job_that_fails_stops_no_other(shop: Path) -> None:
    (shop / "content/stores/broken.yaml").write_text("storeId: [")
    (shop / "copies").write_text("a file where a folder should be")
    ran = maintain(shop, "--build", "always", "--backups", "copies")
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
    assert current(shop / "dist")


def test_a_pinned_release_is_no_failure(shop: Path) -> None:
    out, first = shop / "dist", current(shop / "dist")
    store = shop / "content/stores/one.yaml"
    store.write_text(store.read_text().replace("name: First", "name: Second"))
    assert outcomes(maintain(shop, "build", "--build", "always")) == {"build": "done"}
    assert current(out) != first
    assert shopwindow("rollback", "--out", out).status == 0
    store.write_text(store.read_text().replace("name: Second", "name: Third"))
    ran = maintain(shop, "build", "--build", "always")
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


def test_a_job_that_takes_too_long_is_ended(shop: Path) -> None:
    ran = maintain(shop, "prune", "mail", "--timeout", "1", env={"PYTHONPATH": str(never_ending(shop, "prune"))})
    assert outcomes(ran) == {"prune": "failed", "mail": "not set up"}
    assert "not done after 1 s" in ran.out


def test_two_runs_take_turns(shop: Path) -> None:
    plan = maintenance.Plan(shop / "content", shop / "dist", "", "", "", "", wait=0.5)
    with open(shop / "dist/.maintain", "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Failure, match=r"another `shopwindow maintain` is not done after 0\.5 s; nothing was done"):
            list(maintenance.maintain(plan, ("prune",), datetime.now(UTC)))
    assert [report.failed for report in maintenance.maintain(plan, ("prune",), datetime.now(UTC))] == [False]


def test_a_password_is_in_no_argument(shop: Path) -> None:
    """What a job's process is called with can be read by every user of the host."""
    spy = shop / "spy"
    spy.mkdir()
    (spy / "sitecustomize.py").write_text(f"import sys\nopen({str(shop / 'seen')!r}, 'a').write(repr(sys.orig_argv))\n")
    env = {"SHOPWINDOW_DATABASE": "postgresql://shopwindow:s3cret@127.0.0.1:1/x", "PYTHONPATH": str(spy)}
    ran = maintain(shop, "prune-database", env=env)
    assert outcomes(ran) == {"prune-database": "failed"}
    assert "prune-database" in (shop / "seen").read_text()
    assert "s3cret" not in (shop / "seen").read_text() + ran.out + ran.err


def test_what_came_of_the_jobs_is_kept_for_prometheus(shop: Path) -> None:
    file = shop / "shopwindow.prom"
    assert maintain(shop, "prune", "mail", "--metrics", str(file)).status == 0
    (shop / "copies").write_text("")
    assert maintain(shop, "backup", "--backups", "copies", "--metrics", str(file)).status == 4
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    values = dict(line.rsplit(" ", 1) for line in lines)
    instant = values.pop('shopwindow_job_last_success_timestamp_seconds{task="prune"}')
    assert abs(int(instant) - datetime.now(UTC).timestamp()) < 300
    assert values == {
        'shopwindow_job_failed{task="prune"}': "0",
        'shopwindow_job_failed{task="mail"}': "0",
        'shopwindow_job_failed{task="backup"}': "1",
    }
    assert oct(os.stat(file).st_mode & 0o777) == "0o644"
