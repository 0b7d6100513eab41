"""By what client, proxy and our log lines speak of the same request: its id, and the
trace that it is a part of.
"""

import re
from collections.abc import Mapping
from random import randbytes

from shopwindow.service import journal

HEADER = "X-Request-Id"

ACCEPTED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=+/@-]{0,127}")
"""An id that is taken from a client. Any other value is replaced by a new id.

It has at most 128 characters: UUIDs (36), W3C trace parents (55) and AWS trace ids (up
to 75) fit, and a line of the log stays short. None of the characters must be quoted in
a header, a line of JSON, a shell or a search, and none separates fields. nginx's
configuration has the same expression.
"""

TRACEPARENT = "traceparent"
"""The header of W3C Trace Context."""

_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
"""Version, trace, parent and flags (W3C Trace Context §3.2.2). A version of the future
may have more after these; then we do not know what the line says.
"""


def begin(headers: Mapping[str, str]) -> str:
    """Have the log name a request in each line from now on; return the request's id.

    Without one in its headers, whose names are in lower case, it gets a new one of 32
    hexadecimal digits. An id is no secret, so `random` is good enough. os.urandom would
    give up the interpreter's lock at each request, and the event loop then waits behind
    a thread that computes.
    """
    sent = headers.get(_ID, "")
    id = sent if ACCEPTED_ID.fullmatch(sent) else randbytes(16).hex()
    trace = headers.get(TRACEPARENT, "")
    journal.request_id.set(id)
    journal.traceparent.set(trace if _TRACEPARENT.fullmatch(trace) else None)
    return id


_ID = HEADER.lower()
