"""Clients that ask a service for as long as a test lasts, and count what is lost."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, RemoteDisconnected

from actions import PHONE
from nginx import ADDRESS, ask

KEY = {"x-svc-webservice-client-id": PHONE}
TARGET = "/v2/promotions"
CLIENTS = 6


@dataclass
class Load:
    """Clients that ask until the test ends: what they were answered, and what they lost."""

    port: int
    stop: threading.Event = field(default_factory=threading.Event)
    statuses: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def once(self) -> None:
        """A connection for each request. Whatever does not come back is lost."""
        while not self.stop.is_set():
            connection = HTTPConnection(ADDRESS, self.port, timeout=60)
            try:
                self.statuses.append(ask(connection, TARGET, KEY).status)
            except (OSError, HTTPException) as error:
                self.lost.append(repr(error))
            finally:
                connection.close()

    def kept(self) -> None:
        """One connection for many requests.

        A server may close it between two of them, and a request that was on its way then is sent again on another
        (RFC 9110 §9.2.2), once. That is what nginx does with a connection to its upstream, too.
        """
        connection, used = HTTPConnection(ADDRESS, self.port, timeout=60), False
        while not self.stop.is_set():
            try:
                self.statuses.append(ask(connection, TARGET, KEY).status)
                used = True
                continue
            except (RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
                if not used:
                    self.lost.append(repr(error))
            except (OSError, HTTPException) as error:
                self.lost.append(repr(error))
            connection.close()
            connection, used = HTTPConnection(ADDRESS, self.port, timeout=60), False
        connection.close()

    def has_answered(self, number: int) -> bool:
        return len(self.statuses) >= number


@contextmanager
def under_load(port: int) -> Iterator[Load]:
    """Half of the clients make a connection for each request, half keep theirs."""
    load = Load(port)
    work = [load.once, load.kept] * (CLIENTS // 2)
    threads = [threading.Thread(target=ask_on, daemon=True) for ask_on in work]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.stop.set()
        for thread in threads:
            thread.join(90)
