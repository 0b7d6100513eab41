"""PostgreSQL is often on another host: what a turn costs is how often it waits for an answer from there."""

import select
import socket
import socketserver
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from harness.databases import PostgresServer, choose
from harness.waits import PATIENCE, awaited
from shopwindow.interface.declaring.table import Tables
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


def test_twenty_actions_that_ask_for_nothing_take_few_round_trips(postgresql: PostgresServer) -> None:
    """Savepoints, and what returns nothing, go along with the next statement that returns something."""
    lent = postgresql.lend()
    parts = urlsplit(lent.url)
    inside, go = threading.Event(), threading.Event()

    def blocked(shop: Tables) -> None:
        inside.set()
        go.wait(PATIENCE)

    with Turnarounds((parts.hostname or "", parts.port or 0)) as proxy, ThreadPoolExecutor(22) as pool:
        pool.submit(proxy.serve_forever)
        port = proxy.server_address[1]
        database = open_database(lent.url.replace(f":{parts.port}/", f":{port}/"), INTERFACE.tables)
        choose(database, "first")  # the first turn of a process has no pipeline
        first = pool.submit(database.write, blocked)
        assert inside.wait(PATIENCE)
        waiting = [pool.submit(choose, database, str(number)) for number in range(20)]
        awaited(lambda: database.load().waiting == 21)
        before = proxy.count
        go.set()
        for each in (first, *waiting):
            each.result(PATIENCE)
        spent = proxy.count - before
        database.close()
        proxy.shutdown()
    postgresql.take_back(lent)
    assert spent <= 10


@pytest.mark.parametrize("use", ["read", "write"])
def test_what_is_under_way_when_the_network_cuts_a_connection_is_tried_again(
    postgresql: PostgresServer, use: str
) -> None:
    lent = postgresql.lend()
    parts = urlsplit(lent.url)
    attempts: list[int] = []

    with Turnarounds((parts.hostname or "", parts.port or 0)) as proxy, ThreadPoolExecutor(4) as pool:
        pool.submit(proxy.serve_forever)
        port = proxy.server_address[1]
        database = open_database(lent.url.replace(f":{parts.port}/", f":{port}/"), INTERFACE.tables)
        choose(database, "first")

        def work(shop: Tables) -> int:
            attempts.append(len(attempts))
            if len(attempts) == 1:
                proxy.cut()
            return len(shop[CONSENTS].history(""))

        try:
            assert (getattr(database, use)(work), attempts) == (1, [0, 1])
        finally:
            database.close()
            proxy.shutdown()
    postgresql.take_back(lent)
