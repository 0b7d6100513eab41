"""By what client, proxy and our log lines speak of the same request: its id, and the
trace that it is a part of.
"""

import re
from random import randbytes

HEADER, ENVIRON = "X-Request-Id", "HTTP_X_REQUEST_ID"
"""The header's name, and its name in the WSGI environment."""

ACCEPTED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=+/@-]{0,127}")
"""An id that is taken from a client. Any other value is replaced by a new id.

It has at most 128 characters: UUIDs (36), W3C trace parents (55) and AWS trace ids (up
to 75) fit, and a line of the log stays short. None of the characters must be quoted in
a header, a line of JSON, a shell or a search, and none separates fields. nginx's
configuration has the same expression.
"""

TRACEPARENT, TRACEPARENT_ENVIRON = "traceparent", "HTTP_TRACEPARENT"
"""The header of W3C Trace Context, and its name in the WSGI environment."""

_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
"""Version, trace, parent and flags (W3C Trace Context §3.2.2). A version of the future
may have more after these; then we do not know what the line says.
"""


def of(header: str | None) -> str:
    """Return the id in a request's header, or a new one of 32 hexadecimal digits.

    An id is no secret, so `random` is good enough. os.urandom would give up the
    interpreter's lock at each request, and the event loop then waits behind a thread
    that computes.
    """
    if header is not None and ACCEPTED_ID.fullmatch(header):
        return header
    return randbytes(16).hex()


def trace_of(header: str | None) -> str | None:
    """Return a request's traceparent; None where it has none, or a malformed one."""
    if header is not None and _TRACEPARENT.fullmatch(header):
        return header
    return None
