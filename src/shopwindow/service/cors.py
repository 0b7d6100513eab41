"""Requests of web pages from other origins: OPTIONS, and the headers that a browser needs
(Fetch §3.2).
"""

from collections.abc import Sequence

from shopwindow.interface.answering.answer import (
    API_KEY_HEADER,
    REPLAYED_HEADER,
    Response,
)
from shopwindow.interface.declaring.routes import METHODS
from shopwindow.interface.request import Request
from shopwindow.service.message import REQUEST_ID_HEADER, TRACEPARENT_HEADER
from shopwindow.service.serving import Serving

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


def options(methods: Sequence[str]) -> Response:
    """Return the response to OPTIONS, which needs no key; ``methods``: those of the
    path, or none where nothing is said about the path.
    """
    headers = [("Cache-Control", "no-store")]
    if methods:
        headers.insert(0, ("Allow", ", ".join(methods)))
    return Response(204, "", b"", headers=tuple(headers))


def with_cors(response: Response, request: Request, serving: Serving) -> Response:
    """Add what a browser needs to hand the response to a page of a listed origin (Fetch
    §3.2).
    """
    origin = request.headers.get("origin")
    if origin is None or origin not in serving.origins:
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
