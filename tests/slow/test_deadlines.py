"""What goes on until a deadline is over: a job, a reader of the database, clients and workers that say nothing."""

import fcntl
import os
import signal
import socket
import sqlite3
import struct
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from harness.databases import Engine, choose
from harness.program import shopwindow
from harness.servers import ADDRESS, Server, count_connections, handed, lives, own_server, printed, stands_still
from harness.waits import PATIENCE, awaited
from service.test_templates import HTML, TEXT, expect_problem
from shopwindow.service.documentation import REDOC_FOLDER
from slow.test_observed import metrics, ready


def test_a_person_is_forgotten_while_somebody_reads_and_that_is_said(tmp_path: Path) -> None:
    sqlite = Engine("sqlite", f"sqlite:///{tmp_path / 'store' / 'shop.sqlite'}")
    database = sqlite.open()
    database.migrate()
    choose(database, "device", user="PersonToForget")
    choose(database, "another")
    with closing(sqlite3.connect(tmp_path / "store" / "shop.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM consents").fetchall()
        ran = shopwindow("optins", "forget", "--database", sqlite.url, "--user", "PersonToForget")
        assert (ran.status, ran.err.startswith("somebody reads ")) == (0, True)
    database.close()


def test_a_command_whose_turn_does_not_come_says_so(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    sqlite = Engine("sqlite", f"sqlite:///{path}")
    sqlite.open().close()
    assert shopwindow("migrate", "--database", sqlite.url).status == 0
    with path.with_name("shop.sqlite.lock").open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        ran = shopwindow("optins", "forget", "--database", sqlite.url, "--user", "PersonToForget")
    line = ran.err.splitlines()[-1]
    assert (ran.status, line) == (4, "shopwindow: the database cannot be written to now; nothing of this step was done")


@pytest.mark.alone
def test_connections_on_which_nothing_comes_are_closed(out: Path, tmp_path: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        idle = [socket.create_connection((ADDRESS, server.admin), timeout=PATIENCE) for _ in range(3)]
        idle[0].sendall(b"GET /healthz HT")
        started = time.monotonic()
        statuses = [server.told(path).status for path in ("/healthz", "/readyz", "/metrics")]
        waited = time.monotonic() - started
        ended = [connection.recv(1) for connection in idle]
        for connection in idle:
            connection.close()
        assert (statuses, waited < 4, ended) == ([200] * 3, True, [b""] * 3)
        assert "Traceback" not in server.err.read_text()


@pytest.mark.alone
def test_a_connection_on_which_a_refused_body_never_ends_is_closed(out: Path, tmp_path: Path) -> None:
    head = b"POST /v2/utility/mobileoptinout HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    with (
        own_server(tmp_path / "server", out, "--workers", "1") as server,
        socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client,
    ):
        client.sendall(head)
        assert client.recv(65536).startswith(b"HTTP/1.1 401 ")
        started = time.monotonic()
        with suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() < started + 30:
                client.sendall(b"x")
                time.sleep(0.5)
    assert 12 < time.monotonic() - started < 20


PAGE = b"GET /docs/redoc.standalone.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""Asks for a mebibyte, and needs no key."""


@pytest.fixture
def far(out: Path, tmp_path: Path) -> Iterator[int]:
    """The port of a service to which the way is long and narrow: systems hold little of what is on it."""
    with socket.create_server((ADDRESS, 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        service = handed(listener, out, tmp_path)
        port: int = listener.getsockname()[1]
    try:
        awaited(lambda: b"listens" in (tmp_path / "stderr").read_bytes())
        yield port
        assert "Traceback" not in (tmp_path / "stderr").read_text()
    finally:
        service.terminate()
        service.wait(PATIENCE)


def asks(port: int, times: int) -> socket.socket:
    """A client that has asked for the page, so many times in a row."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(PATIENCE)
    client.connect((ADDRESS, port))
    client.sendall(times * PAGE)
    return client


@pytest.mark.parametrize("times", [1, 3])
def test_a_client_that_reads_nothing_is_not_waited_for(far: int, times: int) -> None:
    with asks(far, times), asks(far, times):
        awaited(lambda: count_connections(far)["open"] == 2)
        awaited(lambda: count_connections(far)["open"] == 0)


def test_a_client_that_reads_slowly_gets_all(far: int) -> None:
    """Which takes longer than a client may be silent."""
    length = (REDOC_FOLDER / "redoc.standalone.js").stat().st_size
    came, started = 0, time.monotonic()
    with asks(far, 1) as client:
        while came < length:
            read = client.recv(65536)
            assert read, came
            came += len(read)
            time.sleep(max(0.0, started + came / 40_000 - time.monotonic()))
    assert time.monotonic() - started > 25


def test_a_client_that_leaves_before_its_answers_leaves_no_trace(far: int) -> None:
    with asks(far, 3) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it ends with a reset
        client.recv(1)
    awaited(lambda: count_connections(far)["open"] == 0)


def answers_again(server: Server) -> bool:
    with suppress(OSError, HTTPException):
        return ready(server)[0] == 200
    return False


@pytest.mark.alone
def test_a_service_whose_workers_answer_nothing_says_nothing_until_one_is_replaced(out: Path, tmp_path: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        awaited(lambda: ready(server)[0] == 200)
        (worker,) = server.workers()
        os.kill(worker, signal.SIGSTOP)
        awaited(lambda: stands_still(worker))
        # another worker says so, once that one has been replaced; a connection that that one has taken ends with it
        awaited(lambda: answers_again(server))
        assert not lives(worker)
        operations = {line["operation"] for line in printed(server, "request")}
        assert operations <= {"options"}  # the harness's own; what the admin address asks is in no log
        assert [name for name in metrics(server) if name.startswith('shopwindow_requests_total{operation="none')] == []


def test_a_template_with_one_long_step_is_ended(minimal: Path) -> None:
    text = TEXT + "{% set a = 9 ** (9 ** 9) %}"
    expect_problem(minimal, text, HTML, "share.txt", "takes too much time for one mail")
