"""A test run that is interrupted or killed leaves no server behind, and no process that commands were forked from."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from facts.conformance import AT, documents
from harness.content import write_files
from harness.databases import required_postgresql as postgresql_required
from harness.program import built
from harness.run import MEMORY, NAME, run_name
from harness.servers import required_nginx as nginx_required
from harness.waits import PATIENCE, awaited

TESTS = Path(__file__).parent.parent
STARTING = """
import os
import time
from pathlib import Path
from harness.databases import postgresql_server
from harness.commands import forked
from harness.servers import free_port, own_server, running_nginx

def test_that_is_cut_off(tmp_path):
    port = free_port()
    listening = "server {{ listen 127.0.0.1:%d; return 204; }}" % port
    with (
        own_server(tmp_path / "own_server", Path({out!r}), "--workers", "2"),
        running_nginx(tmp_path / "nginx", listening, port),
        postgresql_server({{"fsync": "off"}}),
    ):
        assert forked(["releases", "--out", {out!r}], str(tmp_path), os.environ).status == 0
        Path({begun!r}).touch()
        time.sleep(600)
"""


def descendants(pid: int) -> dict[Path, bytes]:
    """What a process has started, and what that has: the folder of each in /proc, and when it began."""
    found = {}
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread that started them has ended
            for child in children.read_text().split():
                folder = Path(f"/proc/{child}")
                found[folder] = began(folder)
                found |= descendants(int(child))
    return found


def began(folder: Path) -> bytes:
    """When a process began, in ticks since the machine did; nothing where it has ended."""
    try:
        _, _, rest = (folder / "stat").read_bytes().rpartition(b")")
    except OSError:
        return b""
    state, *fields = rest.split()
    return b"" if state == b"Z" else fields[18]


def command_line(folder: Path) -> bytes:
    """What a process was started as; nothing where it has ended."""
    with suppress(OSError):
        return (folder / "cmdline").read_bytes()
    return b""


def interruptible() -> None:
    """A shell starts what runs in the background with SIGINT ignored, and whatever that starts inherits it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform != "linux", reason="no other system ends a process with the one that started it")
@pytest.mark.parametrize("workers", ["0", "1"], ids=["in one process", "in parallel"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_no_process_outlives_a_run_that_is_cut_off(tmp_path: Path, how: signal.Signals, workers: str) -> None:
    nginx_required()
    postgresql_required()
    out, begun = tmp_path / "dist", tmp_path / "begun"
    built(write_files(tmp_path / "content", documents()), out, at=AT)
    test = tmp_path / "tests" / "test_cut_off.py"
    test.parent.mkdir()
    test.write_text(STARTING.format(out=str(out), begun=str(begun)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    command += ["-n", workers, "--rootdir", str(test.parent), "--basetemp", str(tmp_path / "base"), str(test)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    name = f"{run_name()}-{os.getpid()}-cut-off"
    environment = {**kept, "PYTHONPATH": str(TESTS), NAME: name}
    with (tmp_path / "printed").open("wb") as printed:
        run = subprocess.Popen(
            command, stdout=printed, stderr=printed, env=environment, cwd=test.parent, preexec_fn=interruptible
        )
    try:
        awaited(lambda: begun.exists() or run.poll() is not None, (tmp_path / "printed").read_text)
        assert begun.exists(), (tmp_path / "printed").read_text()
        started = descendants(run.pid)
        commands = b"".join(map(command_line, started))
        assert [name for name in (b"serve", b"nginx", b"postgres", b"commands.py") if name not in commands] == []
        run.send_signal(how)
        run.wait(PATIENCE)
    finally:
        run.kill()
        run.wait(PATIENCE)

    def left() -> list[Path]:
        return [folder for folder, since in started.items() if since and began(folder) == since]

    awaited(lambda: not left(), left)
    for folder in MEMORY.glob(f"{name}-*"):  # of a server that could not delete it
        shutil.rmtree(folder)
