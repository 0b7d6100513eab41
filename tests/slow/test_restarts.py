"""The service stopped, reloaded and restarted, again and again and under load: it ends well, and no answer is lost."""

import os
import signal
import socket
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.program import release_of_writes
from harness.servers import ADDRESS, Notified, Server, answers, handed, in_a_group, under_load
from harness.waits import PATIENCE, awaited

ANSWERS = 3000


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of small content, with an application whose key is PHONE."""
    return release_of_writes(tmp_path_factory.mktemp("restarts"))


def test_a_new_service_takes_over_a_socket_that_systemd_keeps_before_the_old_one_ends(
    out: Path, tmp_path: Path
) -> None:
    processes = []
    with socket.create_server((ADDRESS, 0), backlog=1024) as listener:
        port = listener.getsockname()[1]
        server = Server(port, 0, handed(listener, out, tmp_path), tmp_path / "stdout", tmp_path / "stderr")
        processes.append(server.process)
        try:
            assert answers(server)
            with under_load(port) as load:
                for number in range(4):
                    path = str(tmp_path / f"notify-{number}")
                    with Notified(path) as systemd:
                        processes.append(handed(listener, out, tmp_path, NOTIFY_SOCKET=path))
                        assert systemd.next().startswith("READY=1\n")
                    processes[-2].terminate()
                    assert processes[-2].wait(PATIENCE) == 0
                awaited(lambda: load.has_answered(ANSWERS))
        finally:
            end_all(processes)
    assert (load.lost, {*load.statuses}) == ([], {200})


def test_a_restart_loses_no_answer_while_systemd_keeps_the_socket(out: Path, tmp_path: Path) -> None:
    """`systemctl restart`: the new service is started once the old one has ended. Until then clients wait."""
    processes = []
    with socket.create_server((ADDRESS, 0), backlog=1024) as listener:
        port = listener.getsockname()[1]
        server = Server(port, 0, handed(listener, out, tmp_path), tmp_path / "stdout", tmp_path / "stderr")
        processes.append(server.process)
        try:
            assert answers(server)
            with under_load(port) as load:
                for _ in range(4):
                    processes[-1].terminate()
                    assert processes[-1].wait(PATIENCE) == 0
                    processes.append(handed(listener, out, tmp_path))
                    goal = len(load.statuses) + ANSWERS // 4
                    awaited(lambda goal=goal: load.has_answered(goal))  # type: ignore[misc]
        finally:
            end_all(processes)
    assert (load.lost, {*load.statuses}) == ([], {200})


def end_all(processes: "list[subprocess.Popen[bytes]]") -> None:
    """Kill what is left of some services."""
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)


def test_twenty_of_twenty_stops_are_a_normal_end(out: Path, tmp_path: Path) -> None:
    ends: Counter[int] = Counter()
    said = ""
    for number in range(20):
        with in_a_group(tmp_path / str(number), out, "--workers", "2") as server, under_load(server.port):
            time.sleep(0.05 * number)
            os.killpg(server.process.pid, (signal.SIGTERM, signal.SIGINT)[number % 2])
            ends[server.process.wait(PATIENCE)] += 1
            said += server.err.read_text()
    assert ends == {0: 20}
    assert [word for word in ("Unexpected", "Traceback", "killed", "another") if word in said] == []
