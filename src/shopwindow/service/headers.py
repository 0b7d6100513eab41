"""Header fields as a client sent them → those that are believed, by name.

CGI and WSGI name a field HTTP_X_FORWARDED_FOR, whether it was `X-Forwarded-For` or
`X_Forwarded_For`. A proxy sets the first, and lets the second of a client through, which then
overrides it. So nginx drops names with underscores, and gunicorn and waitress do; Granian's
WSGI interface does not, and its environ no longer tells them apart. This function is for
interfaces that hand on the names themselves, such as RSGI and ASGI.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^`|~-]+")
"""A field's name (RFC 9110 §5.6.2) without underscores."""

_SEPARATORS = {"cookie": "; "}
"""What stands between the values of a field that came more than once, unless it is a comma (RFC
9113 §8.2.3).
"""


@lru_cache(maxsize=256)
def _believed_name(name: bytes) -> str | None:
    """A name in lower case; None for one that is not believed. Clients send the same few names
    again and again.
    """
    text = name.decode("latin-1")
    return text.lower() if _NAME.fullmatch(text) else None


def believed(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Fields by their name in lower case, without those whose name has an underscore or is
    none.

    Args:
        fields: names and values in the order in which they came, as they came.

    Returns:
        The values; those of one name in one text, in their order (RFC 9110 §5.3). So what a proxy appended to a list
        stays behind what a client wrote in a field of its own.
    """
    merged: dict[str, str] = {}
    for name, value in fields:
        lower = _believed_name(name)
        if lower is None:
            continue
        text = value.decode("latin-1")
        if lower in merged:
            text = f"{merged[lower]}{_SEPARATORS.get(lower, ', ')}{text}"
        merged[lower] = text
    return merged
