"""A line of the mobile log, from which every value can be read back exactly
(interface 2.3).

A line has six parts between pipes, whatever its values hold. Each value is escaped as
inside the quotes of a JSON string, and so are the pipe and all that does not print. In
platform and device id the space is escaped too, because it stands between them.
"""

import json
from dataclasses import dataclass

_LINE_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class LogEntry:
    """One entry of the log.

    ``timestamp`` is UTC, ISO 8601 with milliseconds. ``svc_uid`` is empty if there is
    no user.
    """

    timestamp: str
    client_app: str
    platform: str
    device_id: str
    svc_uid: str
    log_level: str
    log_message: str


def write(entry: LogEntry) -> str:
    """Return the line of an entry, without a line end."""
    platform = _escaped(entry.platform).replace(" ", "\\u0020")
    device = _escaped(entry.device_id).replace(" ", "\\u0020")
    return (
        f"{entry.timestamp}"
        f"|clientApp={_escaped(entry.client_app)}"
        f"|deviceId {platform} {device}"
        f"|svcUid={_escaped(entry.svc_uid)}"
        f"|logLevel={_escaped(entry.log_level)}"
        f"|logMessage={_escaped(entry.log_message)}"
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
