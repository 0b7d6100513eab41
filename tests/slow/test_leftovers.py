"""A run of tests that leaves a process, a port or a file in memory fails at its end, and says which."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from harness.content import ROOT
from harness.run import MEMORY

LEAVES = """
import socket, subprocess
from pathlib import Path
from harness.run import MEMORY, run_name
from harness.waits import awaited

left = []

def test_what_passes_and_leaves_much():
    process = subprocess.Popen(["sleep", "600"])
    awaited(Path(f"/proc/{process.pid}/cmdline").read_bytes)  # its name is there a moment after it
    left.append(process)
    left.append(socket.create_server(("127.0.0.1", 0)))
    (MEMORY / f"{run_name()}-left").touch()
"""


def test_a_run_that_leaves_a_process_a_port_and_a_file_fails_and_names_each(tmp_path: Path) -> None:
    (tmp_path / "test_leaves.py").write_text(LEAVES)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-p", "conftest", "-n", "0"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path / "test_leaves.py")]
    # a run of its own, and no part of the worker that it is started by
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**ours, "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    said = done.stdout
    files = re.findall(rf"^{MEMORY}/shopwindow-tests-\d+-left$", said, re.MULTILINE)
    for file in files:
        Path(file).unlink()
    processes = re.findall(r"^(\d+) sleep 600$", said, re.MULTILINE)
    for process in map(int, processes):  # a child of ours, since the run that started it has ended
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(process, 0)
    assert (done.returncode, "1 passed" in said, "FAILED: this run has left" in said) == (1, True, True), said
    assert (len(files), len(processes)) == (1, 1), said
    assert re.search(r"^port \d+$", said, re.MULTILINE), said
