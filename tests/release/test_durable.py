"""What is acknowledged is on disk before: seen by strace, which tells a process's system calls in their order."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.servers import environment

LOG = """
import os, sys
from pathlib import Path
from shopwindow.interface.declaring.operation import LogKeeping
from shopwindow.service.logfile import LogFile
log = LogFile(Path(sys.argv[1]))
for _ in range(2):
    log.write(["a line"], LogKeeping(durable={durable}))
    os.write(1, b"acknowledged")
"""
STORE = """
import os, sys
from datetime import UTC, datetime
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.service.database.database import open_database
from shopwindow.shop import INTERFACE
database = open_database(f"sqlite:///{sys.argv[1]}/store.sqlite", INTERFACE.tables)
database.migrate()
for key in ("1", "2"):
    database.write(lambda shop: shop[CONSENTS].record("phone", "device", "IN", None, datetime.now(UTC), key))
    os.write(1, b"acknowledged")
os._exit(0)
"""


def traced(script: str, folder: Path, file: str) -> list[str]:
    """What was done to a file in a folder, in turn: written, synced; and acknowledged."""
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("strace is not there, or may not trace")
    seen = folder / "seen"
    folder.joinpath("kept").mkdir()
    calls = ["-f", "-y", "-e", "trace=write,pwrite64,fsync,fdatasync", "-o", str(seen)]
    command = [strace, *calls, sys.executable, "-c", script, str(folder / "kept")]
    subprocess.run(command, env=environment(), check=True, capture_output=True)
    done = []
    for line in seen.read_text().splitlines():
        if '"acknowledged"' in line:
            done.append("acknowledged")
        elif re.search(rf"(?:write|pwrite64)\([0-9]+<[^>]*/{file}>", line):
            done.append("written")
        elif re.search(rf"sync\([0-9]+<[^>]*/{file}>", line):
            done.append("synced")
    return [each for number, each in enumerate(done) if each != done[number - 1] or number == 0]


def test_a_line_of_the_log_is_synced_before_it_is_acknowledged(tmp_path: Path) -> None:
    assert traced(LOG.format(durable=True), tmp_path, r"mobile\.log") == ["written", "synced", "acknowledged"] * 2


def test_a_log_that_is_flushed_to_the_system_is_not_synced(tmp_path: Path) -> None:
    assert traced(LOG.format(durable=False), tmp_path, r"mobile\.log") == ["written", "acknowledged"] * 2


def test_a_transaction_is_synced_before_it_is_acknowledged(tmp_path: Path) -> None:
    done = traced(STORE, tmp_path, r"store\.sqlite-wal")
    assert done[-6:] == ["written", "synced", "acknowledged"] * 2
