"""The headers of a response: its type and how long caches may store it, whether the client
has it already, and what a browser needs to hand it to a page of another origin (Fetch
§3.2).
"""

from collections.abc import Collection

from shopwindow.interface.answering.answer import (
    API_KEY_HEADER,
    REPLAYED_HEADER,
    Response,
    cache_control,
)
from shopwindow.interface.answering.validators import etag
from shopwindow.interface.declaring.routes import METHODS
from shopwindow.interface.request import Request
from shopwindow.service.codings import plain_tag
from shopwindow.service.message import REQUEST_ID_HEADER, TRACEPARENT_HEADER

AWAITED_SECONDS = 60.0
"""How long after its last instant a release's responses are not stored: the next one
becomes current within a second, and large ones take some more to be loaded.
"""

PREFLIGHT_SECONDS = 600
"""How long a browser may store the response to a preflight: the most that WebKit
allows.
"""

EXPOSED_HEADERS = f"ETag, {REPLAYED_HEADER}, Retry-After, {REQUEST_ID_HEADER}"
"""Headers that a page's script may read, beside the few that the Fetch standard allows
all.
"""

ALLOWED_HEADERS = (
    f"{API_KEY_HEADER}, Accept, Content-Type, If-None-Match, If-Match, Idempotency-Key,"
    f" {REQUEST_ID_HEADER}, {TRACEPARENT_HEADER}"
)
"""Headers that a page's script may send: all that the service reads of a request."""


def with_common_headers(
    response: Response, varies: str, stale: int | None = None
) -> Response:
    """Add the headers that do not depend on who asks: type, caching and, of what caches
    may store, the ETag.

    ``varies``: the headers on which responses depend. ``stale``: see `cache_control`.
    """
    status, media_type, body, lifetime, own = response
    if lifetime is not None:
        own = (("ETag", etag(body)), *own)
    common = (
        ("Content-Type", media_type),
        ("Cache-Control", cache_control(lifetime, stale)),
        ("Vary", varies),
    )
    return Response(status, media_type, body, lifetime, common + own)


def not_beyond(left: float, response: Response) -> Response:
    """Return a response that no cache stores beyond the instant at which content changes
    by itself, which comes in ``left`` seconds.

    Some time after it, the lifetime is the operation's again: whoever should have moved
    to the next release has not, nobody knows when somebody will, and caches that store
    nothing would send every read to this service until then.
    """
    lifetime = response.lifetime
    if lifetime is None or left >= lifetime or left < -AWAITED_SECONDS:
        return response
    shorter = max(0, int(left))
    headers = tuple(
        (name, text.replace(cache_control(lifetime), cache_control(shorter)))
        for name, text in response.headers
    )
    return response._replace(lifetime=shorter, headers=headers)


def not_modified(response: Response, request: Request) -> Response:
    """Return 304 where the client has this response already, in any form (RFC 9110
    §13.1.2).

    A response that no cache may store stays as it is: a bag's ETag stands for the state
    of the bag, not for the prices, the format and the options of this response.
    """
    condition = request.headers.get("if-none-match")
    if condition is None or response.lifetime is None:
        return response
    headers = dict(response.headers)
    tag = plain_tag(headers["ETag"])
    tags = [plain_tag(part) for part in condition.split(",")]
    if {"*", tag}.isdisjoint(tags):
        return response
    del headers["Content-Type"]
    headers.pop("Content-Encoding", None)
    return response._replace(status=304, body=b"", headers=tuple(headers.items()))


def options(allowed: str) -> Response:
    """Return the response to OPTIONS, which needs no key; ``allowed``: the methods of
    the path; empty: nothing is said about the path.
    """
    allow = (("Allow", allowed),) if allowed else ()
    headers = (*allow, ("Cache-Control", "no-store"))
    return Response(204, "", b"", headers=headers)


def with_cors(
    response: Response, request: Request, origins: Collection[str]
) -> Response:
    """Add what a browser needs to hand the response to a page of one of the listed
    ``origins``.
    """
    origin = request.headers.get("origin", "")
    if origin not in origins:
        return response
    headers = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": EXPOSED_HEADERS,
    }
    if request.method == "OPTIONS":
        headers |= {
            "Access-Control-Allow-Methods": ", ".join(METHODS),
            "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
            "Vary": "Origin",
        }
    return response._replace(headers=(*response.headers, *headers.items()))
