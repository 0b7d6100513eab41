"""The message that carries a request: what it must be, whatever it asks for, and how far
its header fields are believed.

CGI and WSGI name a field HTTP_X_FORWARDED_FOR, whether it was sent as `X-Forwarded-For`
or as `X_Forwarded_For`. A proxy sets the first. If it lets a client's second one
through, that one overrides the first. So nginx, gunicorn and waitress drop names with
underscores. `believed` is for interfaces that pass on the names themselves, such as
ASGI. `Proxies` says how far X-Forwarded-For is believed. By an id, and the trace that it
is a part of, client, proxy and our log lines speak of the same request.

`exchange` says when the sizes are checked.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from random import randbytes

from shopwindow.interface.formats import MEDIA_TYPES
from shopwindow.interface.request import Request, unreadable
from shopwindow.problems import Failure, Fault, Refusal
from shopwindow.service import journal

MAX_QUERY = 8 * 1024
"""Bytes of a query. RFC 9112 §3 recommends that everybody support request lines of
8,000.
"""

MAX_BODY = 1024 * 1024
"""Bytes of a body: nginx's default (client_max_body_size). Apps send less than 64 KiB.
"""


_LENGTH = re.compile(r"[0-9]{1,18}")
"""A Content-Length: of 18 digits, it fits in 64 bits, as servers count."""


# -- its header fields -----------------------------------------------------------------


_SEPARATORS = {"cookie": "; "}
"""Between the values of a field that was sent more than once. Other fields have a comma
(RFC 9110 §5.3, RFC 9113 §8.2.3).
"""


def believed(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return fields by their name, without those that have underscores in it.

    Args:
        fields: names in lower case and values, in the order in which they came.

    Returns:
        Values by name. Several of one name are joined in their order (RFC 9110 §5.3), so what a
        proxy appends to a list stays behind what the client sent.
    """
    merged: dict[str, str] = {}
    for name, value in fields:
        if b"_" in name:
            continue
        key, text = name.decode("latin-1"), value.decode("latin-1")
        if key in merged:
            text = f"{merged[key]}{_SEPARATORS.get(key, ', ')}{text}"
        merged[key] = text
    return merged


# -- its client ------------------------------------------------------------------------


LOOPBACK = "127.0.0.0/8,::1"
"""The proxies that are trusted unless others are named."""


@dataclass(frozen=True)
class Proxies:
    """The networks of proxies that are trusted to name their client."""

    networks: tuple[IPv4Network | IPv6Network, ...]

    def client(self, peer: str, forwarded: str) -> str:
        """Return the client's address.

        ``peer`` is the address that connected, ``forwarded`` the value of
        X-Forwarded-For. Each proxy appends the address of its own peer, so the list is
        read from its end, for as long as the address that appended is trusted. What is
        further left may be invented by the client.
        """
        address = peer
        for text in reversed(forwarded.split(",")):
            previous = _address(text)
            if previous is None or not self.trusts(address):
                break
            address = str(previous)
        return address

    def trusts(self, text: str) -> bool:
        """Return whether an address is in one of the networks, or is that of a Unix
        socket.

        A text that is no address stands for a Unix socket: only this host can use that.
        """
        address = _address(text)
        return address is None or any(address in network for network in self.networks)


def proxies(text: str) -> Proxies:
    """Parse addresses and networks, such as `127.0.0.0/8,10.1.2.3`. Raises Failure."""
    parts = text.replace(",", " ").split()
    try:
        return Proxies(tuple(ip_network(part, strict=False) for part in parts))
    except ValueError as error:
        raise Failure(
            f"SHOPWINDOW_TRUSTED_PROXIES: {error}; it lists addresses and networks: {LOOPBACK}"
        ) from None


@lru_cache(
    maxsize=1024
)  # requests come from the same few proxies, and parsing takes 3 µs
def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address with or without a port; return None for anything else.

    An IPv4 address that is mapped into IPv6 (::ffff:10.0.0.1) is returned as IPv4.
    """
    bare = text.strip().strip('"')
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return (
        (address.ipv4_mapped or address)
        if isinstance(address, IPv6Address)
        else address
    )


# -- its id ---------------------------------------------------------------------------


REQUEST_ID_HEADER = "X-Request-Id"

ACCEPTED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=+/@-]{0,127}")
"""An id that is taken from a client. Any other value is replaced by a new id.

It has at most 128 characters: UUIDs (36), W3C trace parents (55) and AWS trace ids (up
to 75) fit, and a line of the log stays short. None of the characters must be quoted in
a header, a line of JSON, a shell or a search, and none separates fields. nginx's
configuration has the same expression.
"""

TRACEPARENT_HEADER = "traceparent"
"""The header of W3C Trace Context."""

_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
"""Version, trace, parent and flags (W3C Trace Context §3.2.2). A version of the future
may have more after these; then we do not know what the line says.
"""


def begin_request(headers: Mapping[str, str]) -> str:
    """Have the log name a request in each line from now on; return the request's id.

    Without one in its headers, whose names are in lower case, it gets a new one of 32
    hexadecimal digits. An id is no secret, so `random` is good enough. os.urandom would
    give up the interpreter's lock at each request, and the event loop then waits behind
    a thread that computes.
    """
    sent = headers.get("x-request-id", "")
    id = sent if ACCEPTED_ID.fullmatch(sent) else randbytes(16).hex()
    trace = headers.get(TRACEPARENT_HEADER, "")
    members = {"requestId": id}
    if _TRACEPARENT.fullmatch(trace):
        members["traceparent"] = trace
    journal.request.set(members)
    return id


# -- what it must be -------------------------------------------------------------------


def head(
    *,
    method: str,
    path: str,
    sent_path: str,
    query: str,
    version: str,
    peer: str,
    headers: Mapping[str, str],
    trusted: Proxies,
) -> Request:
    """Return a request by its head, without a body.

    ``path`` is decoded, ``sent_path`` is not; both begin with a slash. ``version`` is as
    in `HTTP/1.1`, and ``peer`` is the address that connected. Of several Host lines
    ``headers`` has the values joined by commas, which no host name contains. A
    Content-Length that is no number counts as none, for servers refuse it (RFC 9112
    §6.3).

    What many parsers let pass is malformed here, and must be answered with 400: two
    servers in a row that read such a message differently take parts of one body for
    requests of their own (request smuggling).
    """
    length = headers.get("content-length", "")
    coding = headers.get("transfer-encoding", "")
    malformed = unreadable("path", sent_path)
    hosts = 1 + headers["host"].count(",") if "host" in headers else 0
    if hosts > 1 or (hosts == 0 and version == "HTTP/1.1"):  # RFC 9112 §3.2
        malformed = Fault("Host", f"must be one host, not {hosts}")
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
        int(length) if _LENGTH.fullmatch(length) else 0,
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
