"""The id of a request, by which a client, a proxy and our log lines speak of the same one."""

import re
from random import randbytes

HEADER, ENVIRON = "X-Request-Id", "HTTP_X_REQUEST_ID"

SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=+/@-]{7,127}")
"""A client's id that is taken over.

It has 8 to 128 characters: fewer tell no two requests apart, and UUIDs (36), W3C trace parents
(55) and AWS trace ids (up to 75) are shorter than that; a line of the log stays short. None of
the characters has to be quoted in a header, a line of JSON, a shell or a search, and none
separates fields. Anything else is not worth repeating, and gets a new id.
"""


def of(given: str | None) -> str:
    """The id that a client or a proxy gave a request, or a new one of 32 hexadecimal digits.

    An id is no secret, so `random` is good enough. os.urandom would give up the interpreter's
    lock at each request, and the event loop then waits behind a thread that computes.
    """
    if given is not None and SANE.fullmatch(given):
        return given
    return randbytes(16).hex()
