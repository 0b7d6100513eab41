"""A service, as one application sees it: any read, the configuration, bags, the log."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from shopwindow_client.bags import Bags
from shopwindow_client.configuration import Configuration, Copy
from shopwindow_client.connection import TEMPORARY, Connection, Query
from shopwindow_client.log import Logger
from shopwindow_client.refusals import Refused, Unreachable


class Client:
    """A service, as one application sees it.

    Args:
        base_url: the address of the interface, such as https://api.example.com.
        key: the application's API key.
        copies: a folder for copies of the configuration, read where the service is away; None: none are written.
        timeout: seconds for one attempt.
        transport: how requests are sent; by default over the network.

    It may be used by several threads. `close` it, or use it in a `with` statement.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        copies: Path | None = None,
        timeout: float = 10,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(base_url, key, timeout, transport)
        self._copy = Copy(copies, base_url, key) if copies else None
        self.bags = Bags(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def read(self, path: str, query: Query | None = None) -> Any:
        """Return the answer to a read as a JSON value.

        Args:
            path: below the base address, such as store/v2/stores.
            query: its parameters, such as {"storeNumber": "4001"}.

        Raises Refused or Unreachable.
        """
        return self._connection.send("GET", path, query=query).json()

    def configuration(self) -> Configuration:
        """Return the application's configuration (v2/utility/mobileapp).

        It is asked for with the ETag of the copy, so an unchanged one costs a few bytes. Where the service is away,
        the copy is returned, and says so.

        Raises Refused; Unreachable where there is no copy either.
        """
        copy = self._copy.load() if self._copy else None
        headers = {"If-None-Match": copy.etag} if copy and copy.etag else {}
        try:
            response = self._connection.send(
                "GET", "v2/utility/mobileapp", headers=headers
            )
        except (Unreachable, Refused) as error:
            is_away = isinstance(error, Unreachable) or error.status in TEMPORARY
            if copy is None or not is_away:
                raise
            return copy
        if response.status_code == 304 and copy is not None:
            return Configuration(copy.value, copy.etag, is_copy=False)

        configuration = Configuration(
            response.json(), response.headers.get("ETag", ""), is_copy=False
        )
        if self._copy:
            self._copy.store(configuration)
        return configuration

    def logger(self, device_id: str, platform: str, user: str = "") -> Logger:
        """Return what collects entries of the mobile log and sends them in batches.

        Args:
            device_id: identifies the phone.
            platform: what the phone runs, such as iPhone.
            user: the retailer's user id; empty: there is none.
        """
        return Logger(self._connection, device_id, platform, user)
