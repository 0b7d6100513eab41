"""The processes of `shopwindow serve`: who is started, who is replaced, who ends, and with which status."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from harness.program import PHONE, release_of_writes, shopwindow
from harness.servers import (
    ADDRESS,
    Server,
    answers,
    environment,
    free_port,
    handed,
    in_a_group,
    lives,
    opted_in,
    own_server,
    under_load,
)
from harness.waits import PATIENCE, awaited
from shopwindow.service.processors import processors

KEY = {"x-svc-webservice-client-id": PHONE}
PROMOTIONS = "/v2/promotions"
ENDED = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of small content, with an application whose key is PHONE."""
    return release_of_writes(tmp_path_factory.mktemp("processes"))


# -- one service on an address -----------------------------------------------------------------------------------


def test_a_second_service_on_the_port_is_refused_in_a_sentence_and_touches_no_database(
    out: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.sqlite"
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        address = f"{ADDRESS}:{server.port}"
        ran = shopwindow("serve", "--out", out, "--bind", address, "--admin", "", "--database", f"sqlite:///{other}")
        assert answers(server)
    said = f"shopwindow: {address} cannot be listened at: Address already in use: is the service running already?\n"
    assert (ran.status, ran.err, other.exists()) == (4, said, False)


# -- the end -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ENDED, ids=lambda number: number.name)
def test_a_signal_to_the_whole_group_is_a_normal_end(out: Path, tmp_path: Path, number: signal.Signals) -> None:
    with in_a_group(tmp_path / "server", out, "--workers", "2") as server, under_load(server.port):
        awaited(lambda: len(server.workers()) == 2)
        workers = server.workers()
        os.killpg(server.process.pid, number)
        assert server.process.wait(PATIENCE) == 0
        assert [lives(worker) for worker in workers] == [False, False]
        said = server.err.read_text() + server.out.read_text()
    assert [word for word in ("Unexpected", "Traceback", "killed", "another") if word in said] == []


def test_signals_that_come_again_and_again_are_a_normal_end_too(out: Path, tmp_path: Path) -> None:
    with in_a_group(tmp_path / "server", out, "--workers", "2") as server:
        for _ in range(5):
            for number in ENDED:
                with suppress(ProcessLookupError):
                    os.killpg(server.process.pid, number)
            time.sleep(0.02)
        assert server.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("delay", [0.0, 0.3, 0.6, 0.9, 1.2, 1.5])
def test_a_service_that_is_still_starting_ends_when_it_is_asked_to(out: Path, tmp_path: Path, delay: float) -> None:
    command = [sys.executable, "-m", "shopwindow", "serve", "--out", str(out), "--bind", f"{ADDRESS}:{free_port()}"]
    command += ["--admin", "", "--database", f"sqlite:///{tmp_path}/store.sqlite", "--log-dir", "", "--workers", "2"]
    with (tmp_path / "stderr").open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr, env=environment(), start_new_session=True)
        try:
            awaited((tmp_path / "store.sqlite").exists)
            time.sleep(delay)
            os.killpg(process.pid, signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
    assert "Traceback" not in (tmp_path / "stderr").read_text()


STOPPED = """
import os, signal, sys, threading
from shopwindow.service.serve import Service


class Nothing:
    def beat(self):
        return True


def make():
    begun = set()

    def stop(frame, event, argument):
        name = frame.f_code.co_name
        if event == "call" and name == sys.argv[1] and name not in begun:
            begun.add(name)
            os.kill(0 if sys.argv[2] == "group" else os.getpid(), signal.SIGTERM)

    threading.Thread(target=threading.Event().wait, daemon=True).start()
    sys.setprofile(stop)
    return Nothing()


def end(arbiter, worker):
    os.kill(arbiter.pid, signal.SIGTERM)


Service(make, bind=["127.0.0.1:0"], workers=1, child_exit=end).run()
"""
"""A service that is stopped as its worker begins to call a function, by that one's name: the group of its processes, or
the worker alone, after whose end the service ends as well.

As ours does, the worker has threads of its own by then: the kernel hands a signal to any that does not block it.
"""


@pytest.mark.parametrize("function", ["asyncio_run", "_serve", "serve", "capture_signals", "startup", "main_loop"])
@pytest.mark.parametrize("whom", ["group", "worker"])
def test_a_stop_while_a_worker_begins_to_serve_is_silent(function: str, whom: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", STOPPED, function, whom],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        start_new_session=True,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


LOADING = """
import os, signal, time
from shopwindow.service.serve import Service


def make():
    os.killpg(0, signal.SIGTERM)
    time.sleep(60)


def end(arbiter, worker):
    os.kill(arbiter.pid, signal.SIGTERM)


Service(make, bind=["127.0.0.1:0"], workers=1, child_exit=end).run()
"""


def test_a_worker_that_is_still_loading_a_release_ends_at_once() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADING],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=20,  # after 30 s it would be killed
        start_new_session=True,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_workers_end_with_a_parent_that_is_killed_alone(out: Path, tmp_path: Path) -> None:
    with in_a_group(tmp_path / "server", out, "--workers", "2") as server:
        awaited(lambda: len(server.workers()) == 2)
        workers = server.workers()
        silent = socket.create_connection((ADDRESS, server.port), timeout=PATIENCE)  # a worker waits for its request
        time.sleep(0.2)
        server.process.kill()
        server.process.wait(PATIENCE)
        with silent:
            awaited(lambda: not any(lives(worker) for worker in workers), lambda: workers)
        assert not answers(server)


# -- workers that are not well -----------------------------------------------------------------------------------


def test_a_worker_that_is_killed_is_started_again(out: Path, tmp_path: Path) -> None:
    with in_a_group(tmp_path / "server", out, "--workers", "1") as server:
        killed = []
        for _ in range(2):
            (worker,) = server.workers()
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)
            awaited(lambda worker=worker: server.workers() not in ([], [worker]))  # type: ignore[misc]
            assert answers(server)
        lines = [json.loads(line) for line in server.err.read_text().splitlines()]
    said = [line["message"] for line in lines if line["level"] == "error"]
    assert said == [f"Worker (pid:{worker}) was sent SIGKILL! Perhaps out of memory?" for worker in killed]


def test_a_worker_that_is_killed_while_others_still_start_is_started_again(out: Path, tmp_path: Path) -> None:
    with in_a_group(tmp_path / "server", out, "--workers", "2") as server:
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        while not answers(server):
            assert server.process.poll() is None, server.err.read_text()


def test_a_service_with_an_address_of_no_database_says_so_in_one_line_and_ends(out: Path) -> None:
    addresses = ("--bind", f"{ADDRESS}:{free_port()}", "--admin", "")
    ran = shopwindow("serve", "--out", out, *addresses, "--database", "mysql://nowhere", "--log-dir", "")
    (line,) = ran.err.splitlines()
    assert (ran.status, line.startswith("shopwindow: --database mysql://…: must be sqlite:///PATH")) == (4, True)


# -- the socket of systemd ---------------------------------------------------------------------------------------


def longest_queue(listener: socket.socket) -> int:
    """How many connections may wait to be accepted: tcpi_sacked of a socket that listens (linux/tcp.h)."""
    number: int
    (number,) = struct.unpack_from("I", listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 64), 28)
    return number


def test_a_socket_that_systemd_listens_on_is_taken_as_it_is_and_left_open(out: Path, tmp_path: Path) -> None:
    with socket.create_server((ADDRESS, 0), backlog=4096) as listener:
        longest = longest_queue(listener)
        process = handed(listener, out, tmp_path)
        server = Server(listener.getsockname()[1], 0, process, tmp_path / "stdout", tmp_path / "stderr")
        try:
            assert (answers(server), longest_queue(listener)) == (True, longest)
            process.terminate()
            assert process.wait(PATIENCE) == 0
            socket.create_connection((ADDRESS, server.port), PATIENCE).close()  # systemd goes on listening
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)


# -- the database ------------------------------------------------------------------------------------------------


def test_a_service_starts_without_its_database_file_and_uses_it_once_it_may(out: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.write_text("a file where a folder should be")
    with own_server(
        tmp_path / "server", out, "--workers", "1", "--database", f"sqlite:///{place}/store.sqlite"
    ) as server:
        assert (server.ask(PROMOTIONS, KEY).status, opted_in(server)) == (200, 503)
        said = server.err.read_text()
        assert (str(place) in said, "Traceback" in said) == (True, False)
        place.unlink()
        awaited(lambda: opted_in(server) == 200)


# -- how many ----------------------------------------------------------------------------------------------------

HERE = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
GROUPS: dict[str, tuple[dict[str, str], int]] = {
    "none": ({}, HERE),
    "version 2, no limit": (
        {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"},
        HERE,
    ),
    "version 2": ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n"}, 1),
    "version 2, a half more": (
        {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n"},
        min(2, HERE),
    ),
    "version 2, of a group above": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
            "sys/fs/cgroup/a/cpu.max": "100000 100000\n",
        },
        1,
    ),
    "version 2, in a container": (
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 100000\n"},
        1,
    ),
    "version 1": (
        {
            "proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/a\n",
            "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "60000\n",
            "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
        },
        HERE,
    ),
}
"""Files as cgroups(7) and the kernel's documentation describe them, and the processors that they leave."""


@pytest.mark.parametrize("name", GROUPS)
def test_workers_are_counted_by_the_quota_of_the_cgroup(tmp_path: Path, name: str) -> None:
    files, number = GROUPS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert processors(tmp_path) == number
