"""PostgreSQL is often on another host: what a turn costs is how often it waits for an answer from there."""

import select
import socket
import socketserver
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from harness.databases import NOW, PostgresServer, choose, history
from harness.program import Database
from harness.waits import PATIENCE, awaited
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Refusal
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.service.database.database import open_database
from shopwindow.shop import INTERFACE


class Turnarounds(socketserver.ThreadingTCPServer):
    """A proxy before a server. It counts how often a client sends something after an answer: its round trips."""

    def __init__(self, server: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.server = server
        self.count = 0
        self.clients: list[socket.socket] = []

    def cut(self) -> None:
        """End all connections, as a network does: the server gives no reason."""
        while self.clients:
            self.clients.pop().shutdown(socket.SHUT_RDWR)


class _Handler(socketserver.BaseRequestHandler):
    server: Turnarounds

    def handle(self) -> None:
        client, was_answered = self.request, True
        self.server.clients.append(client)
        with socket.create_connection(self.server.server) as answering:
            while True:
                for each in select.select([client, answering], [], [])[0]:
                    data = each.recv(65536)
                    if not data:
                        return
                    self.server.count += each is client and was_answered
                    was_answered = each is answering
                    (answering if each is client else client).sendall(data)


@contextmanager
def proxied(server: PostgresServer) -> Iterator[tuple[Database, Turnarounds]]:
    """A database behind a proxy. Something was written already: the first turn of a connection has no pipeline."""
    lent = server.lend()
    parts = urlsplit(lent.url)
    with Turnarounds((parts.hostname or "", parts.port or 0)) as proxy, ThreadPoolExecutor(1) as pool:
        pool.submit(proxy.serve_forever)
        port = proxy.server_address[1]
        database = open_database(lent.url.replace(f":{parts.port}/", f":{port}/"), INTERFACE.tables)
        try:
            choose(database, "first")
            yield database, proxy
        finally:
            database.close()
            proxy.shutdown()
    server.take_back(lent)


def together(database: Database, proxy: Turnarounds, act: Callable[[int], object], numbers: Collection[int]) -> int:
    """Write actions in one turn, for which all wait behind another. Return the round trips of both turns."""
    inside, go = threading.Event(), threading.Event()

    def blocked(shop: Tables) -> None:
        inside.set()
        go.wait(PATIENCE)

    with ThreadPoolExecutor(21) as pool:
        writing: list[Future[object]] = [pool.submit(database.write, blocked)]
        assert inside.wait(PATIENCE)
        writing += [pool.submit(act, number) for number in numbers]
        awaited(lambda: database.load().waiting == len(writing))
        before = proxy.count
        go.set()
        for each in writing:
            each.result(PATIENCE)
    return proxy.count - before


def test_twenty_actions_that_ask_for_nothing_take_few_round_trips(postgresql: PostgresServer) -> None:
    """Savepoints, and what returns nothing, go along with the next statement that returns something."""
    with proxied(postgresql) as (database, proxy):
        assert together(database, proxy, lambda number: choose(database, str(number)), range(20)) <= 10


def test_actions_that_are_refused_cost_the_others_of_their_turn_no_second_try(postgresql: PostgresServer) -> None:
    """A ROLLBACK takes no statement from the connection that is prepared: those that follow may name it already."""
    ran: list[int] = []

    def act(number: int) -> None:
        def work(shop: Tables) -> None:
            ran.append(number)
            shop[CONSENTS].record("phone", str(number), "IN", None, NOW, str(number))
            assert shop[CONSENTS].current("phone", str(number)) == "IN"
            if number % 2:
                raise Refusal("invalid")

        with suppress(Refusal):
            database.write(work)

    with proxied(postgresql) as (database, proxy):
        for first in (0, 20, 40):
            together(database, proxy, act, range(first, first + 20))
        opened = len(proxy.clients)
        kept = sorted(int(device) for device, _, _ in history(database) if device != "first")
    assert (kept, sorted(ran), opened) == ([*range(0, 60, 2)], [*range(60)], 2)


def test_a_read_that_asks_once_takes_three_round_trips(postgresql: PostgresServer) -> None:
    with proxied(postgresql) as (database, proxy):
        history(database)
        before = proxy.count
        for _ in range(5):
            history(database)
        assert proxy.count - before == 15


@pytest.mark.parametrize("use", ["read", "write"])
def test_what_is_under_way_when_the_network_cuts_a_connection_is_tried_again(
    postgresql: PostgresServer, use: str
) -> None:
    attempts: list[int] = []

    with proxied(postgresql) as (database, proxy):

        def work(shop: Tables) -> int:
            attempts.append(len(attempts))
            if len(attempts) == 1:
                proxy.cut()
            return len(shop[CONSENTS].history(""))

        assert (getattr(database, use)(work), attempts) == (1, [0, 1])
