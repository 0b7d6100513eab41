"""Writes that were acknowledged are kept: the service stops under load, its disk is full, its database is away."""

import json
import resource
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from facts.conformance import PHONE
from harness.databases import ENGINES, Engine, choose, devices_of, engine_of, post, postgresql_server
from harness.servers import Server, own_server
from harness.waits import PATIENCE, awaited
from shopwindow.service.database.sqlite import BUSY_MILLISECONDS


@pytest.mark.parametrize("engine_name", ENGINES)
def test_a_service_that_is_stopped_loses_nothing_that_it_acknowledged(
    request: pytest.FixtureRequest, engine_name: str, out: Path, tmp_path: Path
) -> None:
    engine = engine_of(request, engine_name, tmp_path)
    acknowledged: list[str] = []
    told: Counter[str] = Counter()
    stop = threading.Event()

    def hammer(server: Server, name: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            device = f"{name} {number}"
            try:
                answer = post(server, device)
            except (OSError, HTTPException) as error:
                told[type(error).__name__] += 1
                if isinstance(error, ConnectionRefusedError):
                    return
                continue
            told[str(answer.status)] += 1
            if answer.status == 200:
                acknowledged.append(device)

    options = ("--workers", "2", "--database", engine.url)
    with own_server(tmp_path / "server", out, *options) as server:
        threads = [threading.Thread(target=hammer, args=(server, number)) for number in range(24)]
        for thread in threads:
            thread.start()
        awaited(lambda: len(acknowledged) > 100)
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    found = devices_of(engine)
    assert [device for device in acknowledged if found[device] != 1] == []
    gone = {"ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError", "RemoteDisconnected"}
    assert told.keys() <= {"200", "503", *gone}
    assert sum(found.values()) - len(acknowledged) <= 24


def metric(server: Server, name: str) -> float:
    lines = server.told("/metrics").body.decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


def test_a_store_that_cannot_grow_is_a_503_and_a_metric_until_it_can(out: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: the system refuses to write, and later no more."""
    engine = Engine("sqlite", f"sqlite:///{tmp_path / 'store.sqlite'}")
    with own_server(
        tmp_path / "server", out, "--workers", "1", "--database", engine.url, SHOPWINDOW_ACCESS_LOG="0"
    ) as server:
        assert post(server, "before").status == 200
        (worker,) = server.workers()
        unlimited = resource.prlimit(worker, resource.RLIMIT_FSIZE)
        resource.prlimit(worker, resource.RLIMIT_FSIZE, ((tmp_path / "store.sqlite-wal").stat().st_size, unlimited[1]))
        refused = [post(server, f"refused {number}") for number in range(5)]
        assert {(answer.status, answer.headers.get("retry-after")) for answer in refused} == {(503, "1")}
        assert json.loads(refused[0].body)["errorDetail"] == ["service: the database cannot be written to now"]
        resource.prlimit(worker, resource.RLIMIT_FSIZE, unlimited)
        awaited(lambda: post(server, "after").status == 200)
        assert metric(server, "shopwindow_database_failures_total") >= 5
        assert metric(server, "shopwindow_database_write_seconds_count") >= 2
        assert metric(server, "shopwindow_database_batch_actions_count") >= 2
    assert devices_of(engine) == Counter(["before", "after"])


def test_a_full_disk_is_a_503_until_there_is_space(out: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    engine = Engine("sqlite", f"sqlite:///{disk / 'store.sqlite'}")
    try:
        with own_server(tmp_path / "server", out, "--workers", "2", "--database", engine.url) as server:
            assert post(server, "before").status == 200
            with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
                while ballast.write(bytes(512)):
                    pass
            statuses = [post(server, f"{number} {'x' * 150}").status for number in range(100)]
            assert statuses[-1] == 503
            (disk / "ballast").unlink()
            awaited(lambda: post(server, "after").status == 200)
        found = devices_of(engine)
        assert (found["after"], sum(found.values())) == (1, 2 + statuses.count(200))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_service_whose_database_server_is_away_says_so_and_finds_it_again(out: Path, tmp_path: Path) -> None:
    with postgresql_server({"fsync": "off"}) as database:
        options = ("--workers", "1", "--database", database.url())
        with own_server(tmp_path / "server", out, *options) as server:
            assert (post(server).status, server.told("/readyz").status) == (200, 200)
            database.stop()
            answer = post(server)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert server.told("/checks/database").status == 503
            assert server.told("/readyz").status == 200  # which says that reads are answered
            assert server.ask("/v2/promotions", {"x-svc-webservice-client-id": PHONE}).status == 200
            assert metric(server, "shopwindow_database_failures_total") >= 1
            database.start()
            awaited(lambda: post(server).status == 200)
            awaited(lambda: server.told("/checks/database").status == 200)


def test_a_write_waits_while_another_program_has_the_sqlite_file(tmp_path: Path) -> None:
    """Longer than SQLite itself waits for a lock."""
    engine = Engine("sqlite", f"sqlite:///{tmp_path}/store.sqlite")
    database = engine.open()
    database.migrate()
    with (
        closing(sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)) as shell,
        ThreadPoolExecutor(1) as pool,
    ):
        shell.execute("BEGIN IMMEDIATE")
        written = pool.submit(choose, database, "a")
        time.sleep(BUSY_MILLISECONDS / 1000 + 1)
        assert not written.done()
        shell.execute("ROLLBACK")
        written.result(PATIENCE)
    database.close()
    assert devices_of(engine) == {"a": 1}
