"""The id of a request, by which client, proxy and our log lines speak of the same
request.
"""

import re
from random import randbytes

HEADER, ENVIRON = "X-Request-Id", "HTTP_X_REQUEST_ID"
"""The header's name, and its name in the WSGI environment."""

ACCEPTED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=+/@-]{7,127}")
"""An id that is taken from a client. Any other value is replaced by a new id.

It has 8 to 128 characters. Fewer would not distinguish requests; UUIDs (36), W3C trace
parents (55) and AWS trace ids (up to 75) fit, and a line of the log stays short. None
of the characters must be quoted in a header, a line of JSON, a shell or a search, and
none separates fields.
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
