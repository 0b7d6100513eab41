"""A restore that is killed at each of its steps."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from harness.databases import NOW, Engine, backed_up, choose, devices


@pytest.fixture
def sqlite(tmp_path: Path) -> Engine:
    return Engine("sqlite", f"sqlite:///{tmp_path / 'store' / 'shop.sqlite'}")


KILLED = """
import os, signal, sys
from pathlib import Path
from shopwindow.service.database.sqlite_file import restore
from shopwindow.service.database.tables import declared
from shopwindow.shop import INTERFACE

copy, path, steps = Path(sys.argv[1]), Path(sys.argv[2]), iter(range(int(sys.argv[3])))


def kill(event, arguments):
    if event in ("os.rename", "os.link", "os.remove") and next(steps, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(kill)
restore(copy, path, declared(INTERFACE.tables))
"""
"""Killed before a step that changes a folder, by its number."""


def test_a_restore_that_is_killed_leaves_a_whole_store(sqlite: Engine, tmp_path: Path) -> None:
    database = sqlite.open()
    database.migrate()
    choose(database, "a")
    path = tmp_path / "store" / "shop.sqlite"
    copy = backed_up(sqlite.url, tmp_path / "copies")
    choose(database, "b", at=NOW + timedelta(days=1))
    database.close()
    found: list[list[str]] = []
    for steps in range(20):
        command: list[str | Path] = [sys.executable, "-c", KILLED, copy, path, str(steps)]
        status = subprocess.run(command).returncode
        assert (status in (0, -signal.SIGKILL), path.exists()) == (True, True)
        found.append(devices(sqlite.url))
        if not status:
            break
    assert (found[0], found[-1], {*map(tuple, found)}) == (["a", "b"], ["a"], {("a", "b"), ("a",)})
