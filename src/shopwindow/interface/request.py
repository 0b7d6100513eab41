"""A Request: what a client sends, below the base URL, and how its path and query are
quoted.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

from shopwindow.problems import Fault

SAFE = ",()"
"""What the canonical spelling leaves as it is, beside letters, digits and `-._~`."""


def quoted(text: str, safe: str) -> str:
    """Return a text percent-encoded. Most texts are numbers and names, which need none."""
    return text if text.isascii() and text.isalnum() else _percent_encoded(text, safe)


_percent_encoded = lru_cache(maxsize=256)(quote)


class Request(NamedTuple):
    """An HTTP request below the base URL: ``path`` decoded, without its first slash;
    header names in lower case.
    """

    path: str
    query: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    method: str = "GET"
    length: int = 0
    """Bytes of the body, as its Content-Length says; of a chunked one as many as were
    received.
    """
    body: bytes = b""
    """The body, where the method has one and it is not too large."""
    address: str = ""
    """The client's."""
    malformed: Fault | None = None
    """Why the message is answered with 400, whatever it asks for (RFC 9112)."""

    @property
    def target(self) -> str:
        path = quoted(self.path, SAFE + "/")
        return f"{path}?{self.query}" if self.query else path
