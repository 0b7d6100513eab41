"""Characters that JSON text may hold and XML may not (XML 1.0 §2.2)."""

import re

from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer

XML_TEXT = "text without control characters"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def not_xml(value: Json, pointer: Pointer = ()) -> list[tuple[Pointer, str, bool]]:
    """Each text that XML cannot carry: where it stands, what was found, and whether it
    is a key.
    """
    struck: list[tuple[Pointer, str, bool]] = []
    if isinstance(value, dict):
        for key, item in value.items():
            struck += [
                (where, found, True)
                for where, found, _ in not_xml(key, (*pointer, key))
            ]
            struck += not_xml(item, (*pointer, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            struck += not_xml(item, (*pointer, index))
    elif isinstance(value, str) and (match := _NOT_XML.search(value)):
        struck.append(
            (
                pointer,
                f"the character U+{ord(match.group()):04X}, which XML cannot carry",
                False,
            )
        )
    return struck
