"""Others are served soon, whatever many clients do: measured while nothing else runs."""

import json
import resource
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.program import Answer
from harness.servers import ADDRESS, AS_INSTALLED, Server, own_server
from harness.waits import awaited
from servers.test_intake import COSTLY, HALF, KEY, MIB, OPT_IN, PROMOTIONS, TYPE, Watched, statuses

pytestmark = pytest.mark.alone

SOON_SECONDS = 0.5
"""Within which others are served meanwhile."""

CLOSED_SECONDS = 30
"""Within which a connection of a client that does nothing is closed or answered 408."""


def is_soon(longest: Callable[[], float]) -> bool:
    """Whether the longest wait is short in one of three tries.

    The machine holds a process up once in a while, and a fault of ours comes each time.
    """
    return any(longest() < SOON_SECONDS for _ in range(3))


def test_others_are_served_while_1800_clients_do_nothing(tmp_path: Path, out: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        server.ask(PROMOTIONS, KEY)
        assert is_soon(lambda: longest_beside_1800_clients(server))


def longest_beside_1800_clients(server: Server) -> float:
    """How long others waited at most while 1,800 clients did nothing, all of which came to their end."""
    waited: list[float] = []
    with ExitStack() as stack:
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
            for ask in (
                ("GET", f"{PROMOTIONS}?x={time.monotonic_ns()}", KEY, None),
                ("POST", OPT_IN, {**KEY, **TYPE}, body),
            ):
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
    return max(waited)


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

    with own_server(tmp_path / "server", out, "--workers", "1") as server, ThreadPoolExecutor(32) as pool:
        (worker,) = server.workers()
        server.ask(PROMOTIONS, KEY)
        answers = [pool.submit(post, server) for _ in range(32)]
        number = 0
        while not all(answer.done() for answer in answers):
            number += 1
            started = time.monotonic()
            assert server.ask(f"{PROMOTIONS}?x={number}", KEY).status == 200
            waited.append(time.monotonic() - started)
        awaited(lambda: resident(worker) < 200 * MIB, lambda: resident(worker) / MIB)
        statuses = {answer.result().status for answer in answers}
    third_longest = sorted(waited)[-3]  # if a body kept others waiting, each of the 32 would
    assert (statuses, third_longest < 1) == ({400}, True), third_longest


def test_the_first_search_for_a_place_waits_for_nothing_to_be_loaded(out: Path, tmp_path: Path) -> None:
    assert is_soon(lambda: first_search(out, tmp_path))


def first_search(out: Path, tmp_path: Path) -> float:
    """How long a service that has just started takes to find the stores at a place."""
    with own_server(tmp_path / "server", out, "--workers", "1", **AS_INSTALLED) as server:
        began = time.monotonic()
        found = server.ask("/store/v2/stores?searchAddress=Davie,%20FL", KEY)
        took = time.monotonic() - began
    assert found.status == 200, found
    return took
