"""A line of the mobile log, from which every value can be read back exactly
(interface 2.3).

A line has six parts between pipes, whatever its values hold. Each value is escaped as
inside the quotes of a JSON string, and so are the pipe and all that does not print. In
platform and device id the space is escaped too, because it stands between them.
"""

import json

from shopwindow.content.reading.yaml import Json

_LINE_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def log_line(timestamp: str, application: str, entry: Json) -> str:
    """Return the line of an entry, without a line end.

    ``timestamp`` is UTC, ISO 8601 with milliseconds. ``entry`` is as clients send it;
    its `svcUid` may be missing, and is empty then.
    """
    platform = _escaped(entry["platform"]).replace(" ", "\\u0020")
    device = _escaped(entry["deviceId"]).replace(" ", "\\u0020")
    return (
        f"{timestamp}"
        f"|clientApp={_escaped(application)}"
        f"|deviceId {platform} {device}"
        f"|svcUid={_escaped(entry.get('svcUid', ''))}"
        f"|logLevel={_escaped(entry['logLevel'])}"
        f"|logMessage={_escaped(entry['logMessage'])}"
    )


def _escaped(text: str) -> str:
    """Return a text as it stands in a line.

    `isprintable` is false for control characters, for those that turn or hide text, and
    for every space but the plain one.
    """
    if text.isprintable() and not ("|" in text or "\\" in text or '"' in text):
        return text  # nearly every text: one look instead of one at each character
    return "".join(
        [
            char if char.isprintable() and char not in '|\\"' else _escape(char)
            for char in text
        ]
    )


def _escape(char: str) -> str:
    if char in _LINE_ESCAPES:
        return _LINE_ESCAPES[char]
    return f"\\u{ord(char):04x}" if char.isascii() else json.dumps(char)[1:-1]
