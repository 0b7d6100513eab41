"""A Request is what a client sends to a URL below the base URL."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

from shopwindow.problems import Fault

SAFE = ",()"
"""Characters that the canonical URL does not encode, beside letters, digits, `-._~`."""


def quoted(text: str, safe: str) -> str:
    """Return a text percent-encoded, except letters, digits, `-._~` and ``safe``."""
    if text.isascii() and text.isalnum():  # as most texts are: numbers and names
        return text
    return _percent_encoded(text, safe)


_percent_encoded = lru_cache(maxsize=256)(quote)


_UNREADABLE = re.compile(r"%(?:00|(?![0-9A-Fa-f]{2})[\s\S]{0,2})")
"""An escape that no two servers read alike: of NUL, which ends a text in C, or without
two hexadecimal digits (RFC 3986 §2.1). nginx refuses both in a path.
"""


def unreadable(where: str, escaped: str) -> Fault | None:
    """Return why a path or a query, as it was sent, has an escape that cannot be read."""
    match = _UNREADABLE.search(escaped) if "%" in escaped else None
    if match is None:
        return None
    allowed = "must have two hexadecimal digits after each %, and not %00"
    return Fault(where, f"{allowed}; {match[0]!r} was found")


class Request(NamedTuple):
    """An HTTP request.

    ``path`` is what follows the base URL and its slash, decoded. ``query`` is not
    decoded. The names of ``headers`` are in lower case.
    """

    path: str
    query: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    method: str = "GET"
    length: int = 0
    """Bytes of the body: its Content-Length; for a chunked one, the bytes received."""
    body: bytes = b""
    """The body, where the method has one and it is not too large."""
    address: str = ""
    """The client's network address."""
    malformed: Fault | None = None
    """Why the message gets 400, whatever its path (RFC 9112); None: it is right."""
