"""Many clients at once, several processes, both engines: codes have one winner, limits are exact, bags lose nothing."""

import json
import multiprocessing
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.content import Json
from harness.databases import ENGINES, Engine, engine_of
from harness.program import KEY, ORDERS, PHONE, SECRET, SECRET_TEXT, TABLET, release_of_codes
from harness.servers import ADDRESS, Server, own_server
from shopwindow.retail.codes.issuing import keep
from shopwindow.retail.codes.table import SINGLE_USE_CODES as CODES_TABLE
from shopwindow.retail.codes.text import digest

CLIENTS = 64

CODES = int(os.environ.get("SHOPWINDOW_RACES", "10")) * 40
"""Each is wanted by every client: 25,600 requests to either database."""

RACERS = 4
"""Processes that the clients are spread over: one could not keep the service busy."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_codes(tmp_path_factory.mktemp("races"))


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(request, request.param, tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="module")
def server(engine: Engine, out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Three processes of the service on one store."""
    options = ("--workers", "3", "--threads", "16", "--database", engine.url)
    env = {"SHOPWINDOW_CODE_SECRET": SECRET_TEXT, "SHOPWINDOW_ACCESS_LOG": "0"}
    with own_server(tmp_path_factory.mktemp("own_server"), out, *options, **env) as server:
        yield server


class Client:
    """A connection that is kept, and asks as fast as it is answered."""

    def __init__(self, port: int, host: str = "api.shop.example", key: str = PHONE) -> None:
        self._socket = socket.create_connection((ADDRESS, port), 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")
        self._head = f"Host: {host}\r\n{KEY}: {key}\r\n"

    def ask(self, method: str, target: str, body: Json = None, headers: str = "") -> tuple[int, dict[str, str], Json]:
        data = b"" if body is None else json.dumps(body).encode()
        typed = f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n" if data else ""
        self._socket.sendall(f"{method} {target} HTTP/1.1\r\n{self._head}{typed}{headers}\r\n".encode() + data)
        status = int(self._stream.readline().split()[1])
        found = {}
        while line := self._stream.readline().decode().strip():
            name, _, value = line.partition(":")
            found[name.lower()] = value.strip()
        return status, found, json.loads(self._stream.read(int(found["content-length"])))

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def together(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """What some functions return that are called at once, each in a thread of its own."""
    results: list[Any] = [None] * len(works)
    ready = threading.Barrier(len(works))

    def run(number: int) -> None:
        ready.wait()
        results[number] = works[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# -- single-use codes --------------------------------------------------------------------------------------------


def code(number: int) -> str:
    return f"RACE-{number:06}"


def race(port: int, orders: Sequence[int], answers: "multiprocessing.Queue[tuple[int, list[int], list[str]]]") -> None:
    """Some clients, each with an order that wants every code."""

    def want(order: int) -> tuple[int, list[int], list[str]]:
        won, others = [], []
        with closing(Client(port, ORDERS)) as client:
            for number in range(CODES):
                body = {"promoCode": code(number), "orderNumber": f"order-{order}", "reservationId": order}
                status, _, told = client.ask("PUT", "/v3/order/supc", body)
                if (status, told) == (200, {"success": True}):
                    won.append(number)
                elif (status, told["errorMessage"]) != (400, "Error processing request: SUPC_USED"):
                    others.append(f"{status} {told}")
        return order, won, others

    def work(order: int) -> Callable[[], tuple[int, list[int], list[str]]]:
        return lambda: want(order)

    for result in together([work(order) for order in orders]):
        answers.put(result)


def test_each_code_has_exactly_one_winner(engine: Engine, server: Server) -> None:
    database = engine.open()
    keep(database, {1: [digest(code(number), SECRET) for number in range(CODES)]}, SECRET, datetime.now(UTC))
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[tuple[int, list[int], list[str]]] = context.Queue()
    racers = [
        context.Process(target=race, args=(server.port, range(CLIENTS)[part::RACERS], answers))
        for part in range(RACERS)
    ]
    for racer in racers:
        racer.start()
    told = [answers.get(timeout=1200) for _ in range(CLIENTS)]
    for racer in racers:
        racer.join()
    assert [other for _, _, others in told for other in others] == []
    winners = {number: order for order, won, _ in told for number in won}
    assert (len(winners), sum(len(won) for _, won, _ in told)) == (CODES, CODES)
    kept = database.read(lambda shop: [shop[CODES_TABLE].find(digest(code(number), SECRET)) for number in range(CODES)])
    database.close()
    assert [each and (each.order, each.reservation) for each in kept] == [
        (f"order-{winners[number]}", str(winners[number])) for number in range(CODES)
    ]


def test_twenty_wrong_codes_a_minute_are_counted_exactly_across_processes(server: Server) -> None:
    def guess() -> list[int]:
        with closing(Client(server.port, ORDERS, TABLET)) as client:
            body = {"promoCode": "WRONG", "orderNumber": "1", "reservationId": "1"}
            return [client.ask("PUT", "/v3/order/supc", body)[0] for _ in range(5)]

    counted = Counter(status for statuses in together([guess] * 24) for status in statuses)
    assert counted == {400: 20, 429: 100}


# -- bags against a sequential oracle ----------------------------------------------------------------------------

MOST, WIDEST = 99, 100
EDITS = 80
Lines = tuple[tuple[int, int, int], ...]
"""Sequence number, upcId and quantity of each item of a bag."""


@dataclass(frozen=True)
class Asked:
    """A request about a bag and its answer: when it was sent and answered, and the revision that it tells."""

    method: str
    body: Any
    sent: float
    answered: float
    status: int
    revision: int
    lines: Lines


def expected(lines: Lines, last: int, asked: Asked) -> tuple[int, Lines, int]:
    """What a bag answers that holds these lines, by the words of the interface: status, its lines, its last number."""
    held = {sequence: (upc, quantity) for sequence, upc, quantity in lines}
    if asked.method == "GET":
        return 200, lines, last
    if asked.method == "POST":
        for upc, quantity in asked.body:
            sequence = next((number for number, (held_upc, _) in held.items() if held_upc == upc), 0)
            if not sequence:
                sequence = last = last + 1
            held[sequence] = (upc, held.get(sequence, (upc, 0))[1] + quantity)
    elif asked.method == "PATCH":
        for sequence, upc, quantity in asked.body:
            if held.get(sequence, (0, 0))[0] != upc:
                return 400, lines, last
            held[sequence] = (upc, quantity)
    else:
        sequence, upc = asked.body
        if sequence not in held:
            return 404, lines, last
        if held[sequence][0] != upc:
            return 400, lines, last
        del held[sequence]
    if any(quantity > MOST for _, quantity in held.values()) or len(held) > WIDEST:
        return 400, lines, last
    kept = sorted((sequence, upc, quantity) for sequence, (upc, quantity) in held.items() if quantity)
    return 200, tuple(kept), last


def edit(client: Client, guid: str, chance: random.Random, known: Lines) -> Asked:
    """One request of any kind, mostly about items that the bag held when this client saw it last."""
    method = chance.choice(("GET", "POST", "POST", "PATCH", "PATCH", "DELETE"))
    path = f"/order/v1/bags?bagGuid={guid}"
    body: Any = None
    data: Json = None

    def item() -> tuple[int, int]:
        """A sequence number and an upcId, which belong together or do not."""
        if known and chance.random() < 0.8:
            return chance.choice(known)[:2]
        return chance.randint(1, 40), chance.randint(1, 6)

    if method == "POST":
        body = [(chance.randint(1, 6), chance.randint(1, 15)) for _ in range(chance.randint(1, 3))]
        data = {"item": [{"upcId": upc, "quantity": quantity} for upc, quantity in body]}
    elif method == "PATCH":
        chosen = dict(item() for _ in range(chance.randint(1, 2)))
        body = [(sequence, upc, chance.randint(0, 9)) for sequence, upc in chosen.items()]
        names = ("sequenceNumber", "upcId", "quantity")
        data = {"item": [dict(zip(names, each, strict=True)) for each in body]}
        path = f"/order/v1/bags/{guid}/items"
    elif method == "DELETE":
        body = item()
        data = {"deleteitemsrequest": {"upcid": body[1]}}
        path = f"/order/v1/bags/{guid}/items/{body[0]}"
    sent = time.monotonic()
    status, headers, told = client.ask(method, path, data)
    answered = time.monotonic()
    revision = int(headers["etag"].strip('"').rpartition("-")[2]) if status == 200 else 0
    items = told["bag"].get("items", []) if status == 200 else []
    lines = tuple((each["sequenceNumber"], each["upcId"], each["quantity"]) for each in items)
    return Asked(method, body, sent, answered, status, revision, lines)


def test_changes_of_a_bag_are_as_if_they_came_one_after_another(server: Server) -> None:
    with closing(Client(server.port)) as client:
        made = [
            client.ask("POST", "/order/v1/bags", {"item": {"upcId": number, "quantity": 1}})[2]["bag"]
            for number in range(1, 4)
        ]

    def phone(seed: int, guid: str) -> list[Asked]:
        with closing(Client(server.port)) as client:
            chance, mine, known = random.Random(seed), [], ()  # type: tuple[random.Random, list[Asked], Lines]
            for _ in range(EDITS):
                mine.append(edit(client, guid, chance, known))
                known = mine[-1].lines or known
            return mine

    def work(seed: int) -> Callable[[], list[Asked]]:
        return lambda: phone(seed, made[seed % 3]["bagGUID"])

    found = together([work(seed) for seed in range(18)])
    for number, bag in enumerate(made):
        history = [asked for mine in found[number::3] for asked in mine]
        first: Lines = tuple((each["sequenceNumber"], each["upcId"], each["quantity"]) for each in bag["items"])
        linear(first, history)


def linear(first: Lines, history: Sequence[Asked]) -> None:
    """Every answer is that of a bag which is asked one request at a time, in an order that the clock does not deny."""
    writes = sorted(
        (asked for asked in history if asked.status == 200 and asked.method != "GET"), key=lambda a: a.revision
    )
    assert [asked.revision for asked in writes] == list(range(2, len(writes) + 2))  # nothing lost, nothing twice
    assert min(len(writes), len(history) - len(writes)) > 100
    states: list[tuple[Lines, int]] = [(), (first, 1)]  # type: ignore[list-item]
    for asked in writes:
        status, lines, last = expected(*states[-1], asked)
        assert (200, asked.lines) == (status, lines), asked
        states.append((lines, last))
    for asked in history:
        after = max((each.revision for each in writes if each.answered < asked.sent), default=1)
        before = min((each.revision - 1 for each in writes if each.sent > asked.answered), default=len(states) - 1)
        if asked.status != 200:  # declined in some state that it may have seen
            seen = [expected(*states[revision], asked)[0] for revision in range(after, before + 1)]
            assert asked.status in seen, asked
        elif asked.method == "GET":
            assert after <= asked.revision <= before, asked
            assert asked.lines == states[asked.revision][0], asked
        else:
            assert after < asked.revision <= before + 1, asked


def test_two_phones_that_both_add_lose_nothing(server: Server) -> None:
    with closing(Client(server.port)) as client:
        bag = client.ask("POST", "/order/v1/bags", {"item": {"upcId": 1, "quantity": 1}})[2]["bag"]
    target = f"/order/v1/bags?userId={bag['owner']['userId']}"

    def add() -> list[int]:
        with closing(Client(server.port)) as client:
            return [client.ask("POST", target, {"item": {"upcId": 1, "quantity": 1}})[0] for _ in range(7)]

    statuses = [status for mine in together([add] * 14) for status in mine]
    with closing(Client(server.port)) as client:
        _, headers, told = client.ask("GET", target)
    assert statuses == [200] * 98
    assert told["bag"]["items"] == [{"sequenceNumber": 1, "quantity": 99, "upcId": 1}]
    assert headers["etag"] == f'"{bag["bagGUID"]}-99"'


def test_of_two_phones_that_expect_the_same_bag_one_changes_it(server: Server) -> None:
    with closing(Client(server.port)) as client:
        guid = client.ask("POST", "/order/v1/bags", {"item": {"upcId": 1, "quantity": 1}})[2]["bag"]["bagGUID"]

    def change(quantity: int) -> Callable[[], list[int]]:
        def run() -> list[int]:
            body = {"item": {"sequenceNumber": 1, "upcId": 1, "quantity": quantity}}
            with closing(Client(server.port)) as client:
                return [
                    client.ask("PATCH", f"/order/v1/bags/{guid}/items", body, f'If-Match: "{guid}-{revision}"\r\n')[0]
                    for revision in range(1, 21)
                ]

        return run

    answers = together([change(quantity) for quantity in range(1, 9)])
    assert {status for mine in answers for status in mine} == {200, 412}
    with closing(Client(server.port)) as client:
        _, headers, _ = client.ask("GET", f"/order/v1/bags?bagGuid={guid}")
    revision = int(headers["etag"].strip('"').rpartition("-")[2])
    assert sum(mine.count(200) for mine in answers) == revision - 1
    assert [sum(mine[at] == 200 for mine in answers) for at in range(20)] == [1] * (revision - 1) + [0] * (
        21 - revision
    )
