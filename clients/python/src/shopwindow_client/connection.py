"""The connection to one service: its address, an application's key, and how often a request is repeated."""

import time
from collections.abc import Mapping
from typing import Any

import httpx

from shopwindow_client.refusals import Unreachable, refused

KEY_HEADER = "x-svc-webservice-client-id"

ATTEMPTS = 3
"""Requests in a row for one answer: enough for a service that restarts, few for a phone's battery."""

FIRST_WAIT = 0.5
"""Seconds before the second attempt; twice that before the third."""

LONGEST_WAIT = 10.0
"""Seconds. Where Retry-After asks for more, the caller decides whether to wait."""

TEMPORARY = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""

Query = Mapping[str, str | int | float]


class Connection:
    """Sends the requests of one application.

    Args:
        base_url: the address of the interface.
        key: the application's API key.
        timeout: seconds for one attempt.
        transport: how requests are sent; None: over the network.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        timeout: float,
        transport: httpx.BaseTransport | None,
    ) -> None:
        headers = {KEY_HEADER: key, "Accept": "application/json"}
        address = base_url.rstrip("/") + "/"
        self._http = httpx.Client(
            base_url=address, headers=headers, timeout=timeout, transport=transport
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request, again where that is safe, and return the answer: its status is 200 or 304.

        A GET is repeated, and so is any request that has an Idempotency-Key. Raises Refused or Unreachable.
        """
        sent = dict(headers or {})
        may_repeat = method == "GET" or "Idempotency-Key" in sent
        attempts = ATTEMPTS if may_repeat else 1
        wait = FIRST_WAIT
        for remaining in reversed(range(attempts)):
            try:
                response = self._http.request(
                    method, path, params=query, json=body, headers=sent
                )
            except httpx.TransportError as error:
                if not remaining:
                    raise Unreachable(f"{method} {path}: {error}") from error
                time.sleep(wait)
            else:
                if response.status_code in (200, 304):
                    return response
                refusal = refused(response)
                asked_to_wait = max(wait, refusal.retry_after or 0)
                if (
                    response.status_code not in TEMPORARY
                    or not remaining
                    or asked_to_wait > LONGEST_WAIT
                ):
                    raise refusal
                time.sleep(asked_to_wait)
            wait *= 2
        raise AssertionError("the last attempt returns or raises")
