"""Header fields: which of those that a client sent are believed.

CGI and WSGI name a field HTTP_X_FORWARDED_FOR, whether it was sent as `X-Forwarded-For`
or as `X_Forwarded_For`. A proxy sets the first. If it lets a client's second one
through, that one overrides the first. So nginx, gunicorn and waitress drop names with
underscores. This module is for interfaces that pass on the names themselves, such as
ASGI.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

_TRUSTED_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^`|~-]+")
"""A field's name (RFC 9110 §5.6.2) without underscores."""

_SEPARATORS = {"cookie": "; "}
"""Between the values of a field that was sent more than once. Other fields have a comma
(RFC 9110 §5.3, RFC 9113 §8.2.3).
"""


@lru_cache(maxsize=256)
def _believed_name(name: bytes) -> str | None:
    """Return a name in lower case, or None for one that is not believed.

    The cache pays because clients send the same few names again and again.
    """
    text = name.decode("latin-1")
    return text.lower() if _TRUSTED_NAME.fullmatch(text) else None


def believed(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return fields by their name in lower case, without those that are not believed.

    Args:
        fields: names and values in the order in which they came, as they came.

    Returns:
        Values by name. Several of one name are joined in their order (RFC 9110 §5.3), so what a
        proxy appends to a list stays behind what the client sent.
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
