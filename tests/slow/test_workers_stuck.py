"""Workers that stand still: others take their place, and readiness says what is wrong."""

import fcntl
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from harness.program import PHONE, release_of_writes
from harness.servers import ADDRESS, Server, answers, ask, in_a_group, lives, stands_still
from harness.waits import PATIENCE, awaited

KEY = {"x-svc-webservice-client-id": PHONE}
PROMOTIONS = "/v2/promotions"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of small content, with an application whose key is PHONE."""
    return release_of_writes(tmp_path_factory.mktemp("stuck"))


def reads(server: Server) -> bool:
    """Whether a request is answered that a thread must work on, because no answer to it is in a cache."""
    connection = HTTPConnection(ADDRESS, server.port, timeout=2)
    try:
        return ask(connection, f"{PROMOTIONS}?promoid={time.monotonic_ns()}", KEY).status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def test_a_worker_that_stands_still_is_replaced(out: Path, tmp_path: Path) -> None:
    with in_a_group(tmp_path / "server", out, "--workers", "1") as server:
        (worker,) = server.workers()
        os.kill(worker, signal.SIGSTOP)
        awaited(lambda: stands_still(worker))  # a thread that still runs might accept the next connection
        assert answers(server)  # it waits to be accepted, for the next worker
        awaited(lambda: not lives(worker))
        said = f"worker 1 (process {worker}) has answered nothing for 5 s; another takes its place"
        assert said in server.err.read_text()
        awaited(lambda: len(server.workers()) == 1)  # the parent has looked at its end


def test_a_worker_whose_threads_all_stand_still_is_replaced_and_still_answers_what_it_has_begun(
    out: Path, tmp_path: Path
) -> None:
    """The mobile log hangs, as it does on a disk that is about to die: somebody holds its lock."""
    entry = {"deviceId": "d", "platform": "p", "logLevel": "ERROR", "logMessage": "It broke."}
    body = json.dumps({"entry": entry}).encode()
    lock = tmp_path / "server/log/mobile.lock"

    def post(_: int) -> int:
        connection = HTTPConnection(ADDRESS, server.port, timeout=PATIENCE)
        headers = {**KEY, "content-type": "application/json"}
        return ask(connection, "/v2/utility/mobilelog", headers, "POST", body).status

    with in_a_group(tmp_path / "server", out, "--workers", "1", "--threads", "2") as server:
        (worker,) = server.workers()
        lock.parent.mkdir(exist_ok=True)
        with lock.open("ab") as held, ThreadPoolExecutor(2) as pool:
            fcntl.flock(held, fcntl.LOCK_EX)
            posts = pool.map(post, range(2))
            awaited(lambda: not reads(server))
            awaited(lambda: reads(server))  # not what the first worker has accepted
            fcntl.flock(held, fcntl.LOCK_UN)
            assert list(posts) == [200, 200]
        awaited(lambda: not lives(worker))
        said = server.err.read_text()
    assert f"worker 1 (process {worker}) has answered nothing for 5 s; another takes its place" in said
    assert ("Current thread" in said or "Thread 0x" in said, "logfile.py" in said or "journal" in said) == (True, True)
