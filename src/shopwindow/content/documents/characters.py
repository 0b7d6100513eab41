"""Characters that JSON text may hold and XML may not (XML 1.0 §2.2)."""

import re

from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.yaml import Json, walked
from shopwindow.problems import Pointer

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def not_xml(value: Json) -> list[Finding]:
    """Return a finding for each text that XML cannot carry, keys included."""
    texts: list[tuple[Pointer, str, bool]] = []
    for pointer, part in walked(value):
        if isinstance(part, str):
            texts.append((pointer, part, False))
        elif isinstance(part, dict):
            texts += [((*pointer, key), key, True) for key in part]
    return [
        Finding(
            "text.xml",
            pointer,
            f"the character U+{ord(match[0]):04X}, which XML cannot carry",
            "text without control characters",
            on_key=on_key,
        )
        for pointer, text, on_key in texts
        if (match := _NOT_XML.search(text))
    ]


_SUSPECT_BYTES = (b"\\", b"\xef")
"""One of these is in any match of _SUSPECT. Single bytes are searched fastest."""


_SUSPECT = re.compile(rb"\\u00[01]|\\[bf]|\xef\xbf[\xbe\xbf]")
"""Signs in JSON bytes of characters that XML 1.0 §2.2 cannot hold."""


def may_break_xml(data: bytes) -> bool:
    """Return whether JSON bytes may hold what XML cannot; `not_xml` looks exactly."""
    return any(sign in data for sign in _SUSPECT_BYTES) and bool(_SUSPECT.search(data))
