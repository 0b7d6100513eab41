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


def malformed(hosts: int, version: str, coding: str, path: str) -> Fault | None:
    """Return why a message must be answered with 400, though many parsers let it pass.

    ``hosts`` is the number of Host lines, ``version`` is as in `HTTP/1.1`, ``coding``
    is Transfer-Encoding, or empty, and ``path`` is as it was sent. Two servers in a row
    that read such a message differently take parts of one body for requests of their
    own (request smuggling).
    """
    if hosts > 1 or (hosts == 0 and version == "HTTP/1.1"):  # RFC 9112 §3.2
        return Fault("Host", f"must be given exactly once, not {hosts} times")
    if coding and coding.strip().lower() != "chunked":
        # RFC 9112 §6.1: we decode no other coding
        return Fault("Transfer-Encoding", f"must be chunked, not {coding[:100]}")
    return unreadable("path", path)


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

    ``path`` is decoded, ``sent_path`` is not; both begin with a slash. ``peer`` is the
    address that connected, and ``version`` and ``hosts`` are as for `malformed`. A
    Content-Length that is no number counts as none, for servers refuse it (RFC 9112
    §6.3).
    """
    length = headers.get("content-length", "")
    is_number = length.isascii() and length.isdecimal()
    coding = headers.get("transfer-encoding", "")
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
        malformed(hosts, version, coding, sent_path),
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
