"""The mobile log keeps what it acknowledged: under several writers, kills, limits of size and full disks."""

import json
import multiprocessing
import resource
import subprocess
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from harness.program import PHONE, LogFile, entry_of, release_of_writes
from harness.servers import metric, own_server
from shopwindow.interface.declaring.operation import LogKeeping
from shopwindow.problems import Refusal

PATH = "/v2/utility/mobilelog"


ENTRY = {"deviceId": "d-1", "platform": "iPhone", "logLevel": "ERROR", "logMessage": "It broke."}


texts = st.text(st.characters() | st.sampled_from('|\\"\n\r\u2028\u202e \t=\x00\ud800'), max_size=30)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_writes(tmp_path_factory.mktemp("mobilelog"))


KEPT = LogKeeping()


def numbered(folder: Path) -> list[str]:
    """All lines of all files, each of which is whole."""
    texts = [path.read_text() for path in sorted(folder.glob("mobile*.log"))]
    assert [text for text in texts if text and not text.endswith("\n")] == []
    return [line for text in texts for line in text.split("\n")[:-1]]


def write_and_tell(folder: Path, process: int, told: Connection, most: int, max_bytes: int) -> None:
    """Write numbered lines from four threads; tell each one that was acknowledged."""
    log, lock = LogFile(folder), threading.Lock()

    def work(thread: int) -> None:
        for number in range(most):
            line = f"{process}-{thread}-{number} {'x' * 500}"
            log.write([line], LogKeeping(max_bytes=max_bytes))
            with lock:
                told.send_bytes(line.encode())

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told.close()


def started(folder: Path, process: int, most: int, max_bytes: int) -> tuple[Any, Connection]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    made = context.Process(target=write_and_tell, args=(folder, process, there, most, max_bytes))
    made.start()
    there.close()
    return made, here


def acknowledged(pipe: Connection) -> list[str]:
    found = []
    try:
        while True:
            found.append(pipe.recv_bytes().decode())
    except EOFError:
        return found


def test_several_processes_share_a_file_that_is_rotated_under_them(tmp_path: Path) -> None:
    writers = [started(tmp_path, process, 100, 20_000) for process in range(3)]
    told = [line for _, pipe in writers for line in acknowledged(pipe)]
    for process, _ in writers:
        process.join()
    assert (len(told), sorted(numbered(tmp_path))) == (1200, sorted(told))
    assert len(list(tmp_path.glob("mobile*.log"))) > 10


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    for run in range(4):
        writers = [started(tmp_path, 10 * run + process, 100_000, 50_000) for process in range(2)]
        heard: list[list[str]] = [[], []]
        threads = [
            threading.Thread(target=lambda into, pipe: into.extend(acknowledged(pipe)), args=(into, pipe))
            for into, (_, pipe) in zip(heard, writers, strict=True)
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.6 + 0.13 * run)
        for process, _ in writers:
            process.kill()
            process.join()
        for thread in threads:
            thread.join()
        LogFile(tmp_path).write(["after"], KEPT)
        lines = numbered(tmp_path)
        assert set(heard[0] + heard[1]) <= set(lines)
        assert len(set(lines) - {"after"}) == len(lines) - lines.count("after")


def fill(folder: Path, told: Connection) -> None:
    """Write until nothing more fits into a file, tell what was acknowledged; then make room."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
    log = LogFile(folder)
    for number in range(60):
        try:
            log.write([f"{number} {'x' * 300}"], KEPT)
            told.send_bytes(f"{number} {'x' * 300}".encode())
        except Refusal as refusal:
            told.send_bytes(f"refused {refusal.code}".encode())
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    log.write(["room again"], KEPT)
    told.close()


def test_where_no_more_can_be_written_nothing_is_acknowledged_and_no_line_is_half(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=fill, args=(tmp_path, there))
    process.start()
    there.close()
    told = acknowledged(here)
    process.join()
    kept = [line for line in told if not line.startswith("refused")]
    assert (len(kept), told.count("refused unavailable")) == (32, 28)
    assert numbered(tmp_path) == [*kept, "room again"]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Any:
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_a_503_and_a_metric_and_loses_nothing_acknowledged(
    dist: Path, tmp_path: Path, tiny_disk: Path
) -> None:
    kept = 0
    options = ("--workers", "2", "--log-dir", str(tiny_disk))
    with own_server(tmp_path / "server", dist, *options, TMPDIR=str(tiny_disk)) as server:
        body, headers = json.dumps({"entry": [{**ENTRY, "logMessage": "x" * 4000}] * 3}).encode(), dict[str, str]()
        headers = {"x-svc-webservice-client-id": PHONE, "content-type": "application/json"}
        statuses = []
        for _ in range(40):
            answer = server.ask(PATH, headers, "POST", body)
            statuses.append(answer.status)
            kept += answer.status == 200
        assert set(statuses) == {200, 503}
        assert (statuses[-1], answer.headers["retry-after"]) == (503, "5")
        assert metric(server, "shopwindow_log_failures_total") == statuses.count(503)
        assert metric(server, "shopwindow_log_lines_total") == 3 * kept
    lines = (tiny_disk / "mobile.log").read_text().splitlines()
    assert [len(entry_of(line).log_message) for line in lines] == [4000] * 3 * kept
