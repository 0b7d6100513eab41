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
from harness.servers import ADDRESS, Server, answers, ask, environment, in_a_group, lives, stands_still
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
        assert f"WORKER TIMEOUT (pid:{worker})" in server.err.read_text()
        awaited(lambda: len(server.workers()) == 1)  # the parent has looked at its end


def test_a_worker_whose_threads_all_stand_still_ends_with_its_tracebacks_and_is_replaced(
    out: Path, tmp_path: Path
) -> None:
    """The mobile log hangs, as it does on a disk that is about to die: somebody holds its lock."""
    entry = {"deviceId": "d", "platform": "p", "logLevel": "ERROR", "logMessage": "It broke."}
    body = json.dumps({"entry": entry}).encode()
    lock = tmp_path / "server/log/mobile.lock"

    def post(_: int) -> int:
        connection = HTTPConnection(ADDRESS, server.port, timeout=PATIENCE)
        headers = {**KEY, "content-type": "application/json"}
        try:
            return ask(connection, "/v2/utility/mobilelog", headers, "POST", body).status
        except (OSError, HTTPException):  # not acknowledged: the app sends it again
            return 0

    with in_a_group(tmp_path / "server", out, "--workers", "1", "--threads", "2") as server:
        (worker,) = server.workers()
        lock.parent.mkdir(exist_ok=True)
        with lock.open("ab") as held, ThreadPoolExecutor(2) as pool:
            fcntl.flock(held, fcntl.LOCK_EX)
            began = time.monotonic()
            posts = pool.map(post, range(2))
            awaited(lambda: not lives(worker))
            took = time.monotonic() - began
            fcntl.flock(held, fcntl.LOCK_UN)
            assert list(posts) == [0, 0]
            awaited(lambda: reads(server))
        said = server.err.read_text()
    assert took > 10  # a write that waits for its database is refused after 10 s, before that
    assert ("Timeout (0:00:10)!" in said and "Thread 0x" in said, "logfile.py" in said) == (True, True)


def test_a_worker_whose_event_loop_stands_still_ends_with_its_tracebacks_and_is_replaced(
    out: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "stands"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(STANDS)
    path = os.pathsep.join((str(folder), environment()["PYTHONPATH"]))
    with in_a_group(tmp_path / "server", out, "--workers", "1", PYTHONPATH=path) as server:
        (worker,) = server.workers()
        awaited(lambda: not lives(worker))
        assert answers(server)
        said = server.err.read_text()
    assert ("Timeout (0:00:10)!" in said, "in stand_still" in said) == (True, True)


STANDS = """
import asyncio, os, time
from uvicorn.server import Server

def stand_still():
    time.sleep(60)

on_tick, marker = Server.on_tick, __file__ + ".once"

async def once(self, counter):
    if counter == 30 and not os.path.exists(marker):
        open(marker, "w").close()
        stand_still()
    return await on_tick(self, counter)

Server.on_tick = once
"""
"""What the interpreter imports at its start: the first worker's loop stands still after three seconds."""
