"""Characters that JSON text may hold and XML may not (XML 1.0 §2.2)."""

import re

from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Pointer

XML_TEXT = "text without control characters"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def not_xml(value: Json, pointer: Pointer = ()) -> list[tuple[Pointer, str, bool]]:
    """Return each text that XML cannot carry, keys included.

    Each entry has the text's pointer, the character in words, and whether the text is a
    key.
    """
    refused: list[tuple[Pointer, str, bool]] = []
    if isinstance(value, dict):
        for key, item in value.items():
            below = (*pointer, key)
            refused += [(place, words, True) for place, words, _ in not_xml(key, below)]
            refused += not_xml(item, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            refused += not_xml(item, (*pointer, index))
    elif isinstance(value, str) and (match := _NOT_XML.search(value)):
        character = f"U+{ord(match.group()):04X}"
        words = f"the character {character}, which XML cannot carry"
        refused.append((pointer, words, False))
    return refused


_SUSPECT_BYTES = (b"\\", b"\xef")
"""One of these is in any match of _SUSPECT. Single bytes are searched fastest."""


_SUSPECT = re.compile(rb"\\u00[01]|\\[bf]|\xef\xbf[\xbe\xbf]")
"""Signs in JSON bytes of characters that XML 1.0 §2.2 cannot hold."""


def may_break_xml(data: bytes) -> bool:
    """Return whether JSON bytes may hold what XML cannot; `not_xml` looks exactly."""
    return any(sign in data for sign in _SUSPECT_BYTES) and bool(_SUSPECT.search(data))
