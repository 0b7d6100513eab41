"""The message that carries a request: what it must be, whatever it asks for.

Each check is for the head alone, but for the last one. `exchange` says when each is
taken.
"""

from collections.abc import Mapping

from shopwindow.interface.formats import MEDIA_TYPES
from shopwindow.interface.request import Request, unreadable
from shopwindow.problems import Fault, Refusal
from shopwindow.service.proxies import Proxies

MAX_QUERY = 8 * 1024
"""Bytes of a query. RFC 9112 §3 recommends that everybody support request lines of
8,000.
"""

MAX_BODY = 1024 * 1024
"""Bytes of a body: nginx's default (client_max_body_size). Apps send less than 64 KiB.
"""


MAX_LENGTH_DIGITS = 18
"""Digits of a Content-Length: a length of 18 digits fits in 64 bits, as servers count.
"""


def head(
    *,
    method: str,
    path: str,
    sent_path: str,
    query: str,
    version: str,
    hosts: int,
    peer: str,
    headers: Mapping[str, str],
    trusted: Proxies,
) -> Request:
    """Return a request by its head, without a body.

    ``path`` is decoded, ``sent_path`` is not; both begin with a slash. ``version`` is as
    in `HTTP/1.1`, ``hosts`` is the number of Host lines, and ``peer`` the address that
    connected. A Content-Length that is no number counts as none, for servers refuse it
    (RFC 9112 §6.3).

    What many parsers let pass is malformed here, and must be answered with 400: two
    servers in a row that read such a message differently take parts of one body for
    requests of their own (request smuggling).
    """
    length = headers.get("content-length", "")
    is_number = length.isascii() and length.isdecimal()
    coding = headers.get("transfer-encoding", "")
    malformed = unreadable("path", sent_path)
    if hosts > 1 or (hosts == 0 and version == "HTTP/1.1"):  # RFC 9112 §3.2
        malformed = Fault("Host", f"must be given exactly once, not {hosts} times")
    elif coding and coding.strip().lower() != "chunked":
        # RFC 9112 §6.1: we decode no other coding
        words = f"must be chunked, not {coding[:100]}"
        malformed = Fault("Transfer-Encoding", words)
    if "x-forwarded-for" in headers:
        peer = trusted.client(peer, headers["x-forwarded-for"])
    return Request(
        path.removeprefix("/"),
        query,
        headers,
        method,
        int(length) if is_number and len(length) <= MAX_LENGTH_DIGITS else 0,
        b"",
        peer,
        malformed,
    )


def check_sizes(request: Request) -> None:
    """Refuse a query or a body that is too large, and a body without a Content-Type."""
    query_size = len(request.query.encode())
    if query_size > MAX_QUERY:
        allowed = f"must have at most {MAX_QUERY} bytes, not {query_size}"
        raise Refusal("uri_too_long", Fault("query", allowed))
    if request.length > MAX_BODY:
        allowed = f"must have at most {MAX_BODY} bytes"
        raise Refusal("too_large", Fault("body", allowed))
    if request.length and not request.headers.get("content-type"):
        missing = f"must be {MEDIA_TYPES}; it is missing"
        raise Refusal("media_type", Fault("Content-Type", missing))


def check_body_complete(request: Request) -> None:
    """Refuse a body that ended early (RFC 9112 §8: the message is incomplete)."""
    received = len(request.body)
    if request.method not in ("GET", "HEAD") and received < request.length:
        ended = f"ended after {received} of {request.length} bytes"
        raise Refusal("invalid", Fault("body", ended))
