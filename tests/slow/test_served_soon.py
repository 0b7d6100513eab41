"""Others are served soon, whatever many clients do: measured while nothing else runs."""

import json
import resource
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from conformance import PHONE
from nginx import ADDRESS, Answer
from served import AS_INSTALLED, Server, granian
from test_intake import COSTLY, HALF, KEY, MIB, OPT_IN, PREFACE, PROMOTIONS, TYPE, Watched, statuses

pytestmark = pytest.mark.alone

SOON_SECONDS = 0.5
"""Within which others are served meanwhile."""

CLOSED_SECONDS = 30
"""Within which a connection of a client that does nothing is closed or answered 408."""


def test_others_are_served_while_1800_clients_do_nothing(tmp_path: Path, out: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    waited: list[float] = []
    with granian(tmp_path / "server", out, "--workers", "1") as server, ExitStack() as stack:
        server.ask(PROMOTIONS, KEY)
        clients = [stack.enter_context(socket.create_connection((ADDRESS, server.port))) for _ in range(1800)]
        for client in clients[:300]:
            client.sendall(HALF)
        watched = Watched(clients)
        thread = threading.Thread(target=watched.watch, args=(CLOSED_SECONDS,))
        thread.start()
        number = 0
        while thread.is_alive():
            number += 1
            body = json.dumps({"deviceID": f"device-{number}", "optInOrOptOut": "IN"}).encode()
            for ask in (("GET", f"{PROMOTIONS}?x={number}", KEY, None), ("POST", OPT_IN, {**KEY, **TYPE}, body)):
                started = time.monotonic()
                assert server.ask(ask[1], ask[2], ask[0], ask[3]).status == 200
                waited.append(time.monotonic() - started)
            time.sleep(0.05)
        thread.join()
        half, silent = clients[:300], clients[300:]
        unended = [client for client in clients if client not in watched.ended]
        answers = {tuple(statuses(watched.ended[client][1])) for client in half if client in watched.ended}
        quiet = {watched.ended[client][1] for client in silent if client in watched.ended}
    assert (len(unended), answers, quiet) == (0, {(408,)}, {b""})
    assert max(waited) < SOON_SECONDS


def resident(process: int) -> int:
    """Bytes of memory that a process has (VmRSS)."""
    (line,) = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


def test_32_bodies_of_a_mebibyte_keep_nobody_waiting_and_their_memory_is_given_back(tmp_path: Path, out: Path) -> None:
    _, data = COSTLY["a wrong line after many"]
    waited: list[float] = []

    def post(server: Server) -> Answer:
        connection = server.connect()
        connection.timeout = 60
        connection.request("POST", "/v2/utility/mobilelog", data, {**KEY, **TYPE})
        response = connection.getresponse()
        return Answer(response.status, {}, response.read())

    with granian(tmp_path / "server", out, "--workers", "1") as server, ThreadPoolExecutor(32) as pool:
        (worker,) = server.workers()
        server.ask(PROMOTIONS, KEY)
        answers = [pool.submit(post, server) for _ in range(32)]
        number = 0
        while not all(answer.done() for answer in answers):
            number += 1
            started = time.monotonic()
            assert server.ask(f"{PROMOTIONS}?x={number}", KEY).status == 200
            waited.append(time.monotonic() - started)
        time.sleep(1)
        left = resident(worker)
        statuses = {answer.result().status for answer in answers}
    assert (statuses, max(waited) < 1, left < 200 * MIB) == ({400}, True, True), (max(waited), left / MIB)


def frame(kind: int, flags: int, stream: int, data: bytes) -> bytes:
    """A frame of HTTP/2 (RFC 9113 §4.1)."""
    return len(data).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + data


def half_sent(stream: int, key: str) -> bytes:
    """A stream that announces 1,000 bytes, and sends one."""
    fields = {":method": "POST", ":scheme": "http", ":path": OPT_IN, ":authority": "localhost"}
    fields |= {"x-svc-webservice-client-id": key, "content-type": "application/json", "content-length": "1000"}
    block = b"".join(
        b"\0" + bytes((len(name),)) + name.encode() + bytes((len(value),)) + value.encode()  # RFC 7541 §6.2.2
        for name, value in fields.items()
    )
    return frame(1, 4, stream, block) + frame(0, 0, stream, b"{")


@pytest.mark.parametrize("is_cut", [False, True])
def test_streams_of_http_2_that_stay_half_sent_hold_nobody_up(tmp_path: Path, out: Path, is_cut: bool) -> None:
    options = ("--workers", "1", "--threads", "8", "--http", "auto")
    with granian(tmp_path / "server", out, *options) as server, ExitStack() as stack:
        for _ in range(6):
            client = stack.enter_context(socket.create_connection((ADDRESS, server.port)))
            client.sendall(PREFACE + b"".join(half_sent(2 * number + 1, PHONE) for number in range(60)))
            time.sleep(0.1)
            if is_cut:
                client.close()
        waited = []
        for number in range(20):
            started = time.monotonic()
            body = json.dumps({"deviceID": f"device-{number}", "optInOrOptOut": "IN"}).encode()
            assert server.ask(OPT_IN, {**KEY, **TYPE}, "POST", body).status == 200
            waited.append(time.monotonic() - started)
    assert max(waited) < SOON_SECONDS


def test_the_first_search_for_a_place_waits_for_nothing_to_be_loaded(out: Path, tmp_path: Path) -> None:
    with granian(tmp_path / "server", out, "--workers", "1", **AS_INSTALLED) as server:
        began = time.monotonic()
        found = server.ask("/store/v2/stores?searchAddress=Davie,%20FL", KEY)
        took = time.monotonic() - began
    assert (found.status, took < 0.5) == (200, True), (found, took)
