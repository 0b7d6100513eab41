"""What operators see: readiness asks a worker, every line is of one kind, and what a killed worker counted stays."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson
import pytest

from facts.conformance import PHONE
from harness.content import as_content, as_value
from harness.databases import Engine
from harness.program import admin_of, called, current, served
from harness.servers import ADDRESS, Server, environment, own_server, printed
from harness.waits import PATIENCE, awaited
from shopwindow import library
from shopwindow.service.message import begin_request
from shopwindow.shop import INTERFACE

KEY = {"x-svc-webservice-client-id": PHONE}
EVENTS = "/store/v1/events?storeId=1"


def ready(server: Server) -> tuple[int, dict[str, Any]]:
    came = server.told("/readyz")
    return came.status, json.loads(came.body)


def metrics(server: Server) -> dict[str, float]:
    lines = server.told("/metrics").body.decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


# -- metrics -----------------------------------------------------------------------------------------------------

EXPECTED = {
    'shopwindow_build_info{python="…",sqlite="…",version="…"}',
    "shopwindow_database_queue",
    "shopwindow_database_queue_oldest_seconds",
    "shopwindow_database_up",
    "shopwindow_database_wal_bytes",
    'shopwindow_disk_free_bytes{folder="database"}',
    'shopwindow_disk_free_bytes{folder="log"}',
    'shopwindow_disk_free_bytes{folder="releases"}',
    'shopwindow_disk_free_inodes{folder="database"}',
    'shopwindow_disk_free_inodes{folder="log"}',
    'shopwindow_disk_free_inodes{folder="releases"}',
    "shopwindow_last_build_success",
    "shopwindow_last_build_timestamp_seconds",
    "shopwindow_mails_oldest_seconds",
    'shopwindow_release_info{id="…"}',
    "shopwindow_release_load_failures_total",
    "shopwindow_release_overdue_seconds",
    "shopwindow_threads_busy",
    'shopwindow_worker_release_loaded_seconds{pid="…"}',
    'shopwindow_workers{state="behind"}',
    'shopwindow_workers{state="current"}',
    'shopwindow_workers{state="without"}',
}


def missing(found: Iterable[str]) -> set[str]:
    """What is expected and not among these names of metrics."""
    return EXPECTED - {re.sub(r'\b(id|pid|python|sqlite|version)="[^"]*"', r'\1="…"', name) for name in found}


def test_every_metric_is_there_with_a_sensible_value(out: Path, tmp_path: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "2") as server:
        awaited(lambda: not missing(metrics(server)), lambda: missing(metrics(server)))
        awaited(lambda: metrics(server)['shopwindow_workers{state="current"}'] == 2)
        found = metrics(server)
    assert (found["shopwindow_database_up"], found["shopwindow_last_build_success"]) == (1, 1)


def test_what_a_killed_worker_counted_goes_on_counting_and_it_counts_as_none(out: Path, tmp_path: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        for _ in range(7):
            assert server.ask(EVENTS, KEY).status == 200
        name = 'shopwindow_requests_total{operation="events_v1",status="200"}'
        seconds = 'shopwindow_request_seconds_count{operation="events_v1"}'
        awaited(lambda: (metrics(server).get(name), metrics(server).get(seconds)) == (7, 7))
        (worker,) = server.workers()
        os.kill(worker, signal.SIGKILL)
        awaited(lambda: server.workers() not in ([], [worker]))
        awaited(lambda: ready(server)[0] == 200)
        assert server.ask(EVENTS, KEY).status == 200
        awaited(lambda: (metrics(server).get(name), metrics(server).get(seconds)) == (8, 8))
        assert metrics(server)['shopwindow_workers{state="current"}'] == 1


def test_counts_of_ended_processes_add_up(tmp_path: Path, out: Path) -> None:
    script = (
        "import os, sys\n"
        "from shopwindow.service import metrics\n"
        "metrics.count_log_lines(int(sys.argv[1]))\n"
        "metrics.count_log_refused('phone', 'level', 2)\n"
        "metrics.DatabaseMeter().wrote(3, 0.02)\n"
        "os._exit(0)\n"
    )
    for number in (1, 10, 100):
        command = [sys.executable, "-c", script, str(number)]
        subprocess.run(command, env=environment(PROMETHEUS_MULTIPROC_DIR=str(tmp_path)), check=True)
    told = admin_of(served(out), out, tmp_path).answer("/metrics").body.decode().splitlines()
    counted = "shopwindow_log_lines_total 111.0"
    refused = 'shopwindow_log_refused_total{application="phone",reason="level"} 6.0'
    seconds = 'shopwindow_database_write_seconds_bucket{le="0.03"} 3.0'
    assert {counted, refused, seconds} <= set(told)


def test_checks_tell_one_by_one_and_together(tmp_path: Path, out: Path) -> None:
    database = Engine("sqlite", f"sqlite:///{tmp_path}/store.sqlite").open()
    database.migrate()
    admin = admin_of(served(out, database), out, tmp_path)

    def told(path: str) -> tuple[int, Any]:
        response = admin.answer(path)
        return response.status, orjson.loads(response.body)

    assert told("/checks/queue") == (200, {"ok": True, "waiting": 0, "oldest": 0.0})
    assert told("/checks/release") == (200, {"ok": True, "current": current(out), "id": current(out), "fault": ""})
    assert told("/checks/database") == (200, {"ok": True, "fault": "", "database": True})
    status, every = told("/checks")
    assert (status, {name: check["ok"] for name, check in every.items()}) == (
        200,
        {"release": True, "database": True, "queue": True},
    )
    goes_on = threading.Event()
    held = threading.Thread(target=database.write, args=(lambda tables: goes_on.wait(20),))
    held.start()
    awaited(lambda: told("/checks/queue")[0] == 503)
    goes_on.set()
    held.join()
    assert admin.answer("/else").status == 404
    database.close()


# -- request ids and lines ---------------------------------------------------------------------------------------


def request_id(server: Server, given: str | None, path: str = EVENTS) -> str:
    """X-Request-Id of an answer."""
    headers = {**KEY, **({"X-Request-Id": given} if given is not None else {})}
    with closing(HTTPConnection(ADDRESS, server.port, timeout=PATIENCE)) as connection:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        return response.headers["X-Request-Id"] or ""


SANE = ["7", "req-1.2_3", "7d444840-9dc0-11d1-b245-5ffdce74fad2", "Root=1-67891233-abcdef012345678912345678", "a" * 128]
NOT_SANE = [
    "",
    "_underscore",
    "a" * 129,
    "with blank in it",
    'a"quoted"one',
    "caf\u00e9caf\u00e9",
    "<script>",
    "-dash-first",
]


def test_a_sane_id_comes_back_and_any_other_is_replaced() -> None:
    assert [begin_request({"x-request-id": given}) for given in SANE] == SANE
    fresh = [begin_request(headers) for headers in ({}, *({"x-request-id": given} for given in NOT_SANE))]
    assert [re.fullmatch("[0-9a-f]{32}", id) is not None for id in fresh] == [True] * len(fresh)
    assert len(set(fresh)) == len(fresh)


def test_an_answer_and_its_line_have_one_id(out: Path, tmp_path: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        ids = [request_id(server, given, path) for given in (*SANE, None) for path in (EVENTS, EVENTS, "/nowhere")]
        awaited(lambda: {*ids} <= {line["requestId"] for line in printed(server, "request")})
    assert [ids[3 * number] for number in range(len(SANE))] == SANE
    assert len(set(ids[-3:])) == 3


def test_all_that_a_service_prints_is_lines_of_one_kind(out: Path, tmp_path: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        assert request_id(server, None)
        (worker,) = server.workers()
        os.kill(worker, signal.SIGKILL)
        awaited(lambda: server.workers() not in ([], [worker]))
    lines = [*server.out.read_text().splitlines(), *server.err.read_text().splitlines()]
    names = [set(json.loads(line)) for line in lines]
    assert names
    assert [each for each in names if not {"time", "level", "event"} <= each] == []


def test_a_traceback_is_a_line_with_the_id_of_its_request(out: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = library.released_content(INTERFACE, out)
    spoilt = as_content({**as_value(content), "promotions": [{"promoId": 12}]})  # what no check lets through
    answer = called(served(out, content=spoilt), "/v2/promotions", {**KEY, "X-Request-Id": "of-the-client"})
    (line,) = [json.loads(text) for text in capfd.readouterr().err.splitlines()]
    assert (answer.status, line["level"], line["event"], line["requestId"]) == (
        500,
        "error",
        "fault",
        "of-the-client",
    )
    assert ("Traceback (most recent call last)" in line["traceback"], "KeyError" in line["message"]) == (True, True)
