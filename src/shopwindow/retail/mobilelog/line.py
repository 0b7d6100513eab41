"""A line of the mobile log (interface 2.3): written and read back, exactly."""

import json
import re
from dataclasses import dataclass

_LINE_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LINE_PATTERN = re.compile(
    r"(?P<timestamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z)"
    r"\|clientApp=(?P<client_app>[^|]*)\|deviceId (?P<platform>[^| ]*) (?P<device_id>[^| ]*)"
    r"\|svcUid=(?P<svc_uid>[^|]*)\|logLevel=(?P<log_level>[^|]*)\|logMessage=(?P<log_message>[^|]*)",
    re.ASCII,
)


@dataclass(frozen=True)
class LogEntry:
    """One entry. ``timestamp`` is UTC, ISO 8601 with milliseconds; ``svc_uid`` is empty where
    there is no user.
    """

    timestamp: str
    client_app: str
    platform: str
    device_id: str
    svc_uid: str
    log_level: str
    log_message: str


def write(entry: LogEntry) -> str:
    """The line, without its end: always six parts, whatever the values hold.

    Each value stands as inside the quotes of a JSON string, with all that does not print
    escaped and the pipe, too; in platform and device id also the blank, which parts them.
    """
    platform, device = (
        _escaped(text).replace(" ", "\\u0020") for text in (entry.platform, entry.device_id)
    )
    return (
        f"{entry.timestamp}|clientApp={_escaped(entry.client_app)}|deviceId {platform} {device}"
        f"|svcUid={_escaped(entry.svc_uid)}|logLevel={_escaped(entry.log_level)}|logMessage={_escaped(entry.log_message)}"
    )


def read(line: str) -> LogEntry:
    """The entry that a line was written of. Raises ValueError for what is no such line."""
    match = _LINE_PATTERN.fullmatch(line)
    if match is None:
        raise ValueError("not the six parts of a log entry")
    timestamp, *values = match.groups()
    return LogEntry(timestamp, *(_unescaped(value) for value in values))


def _escaped(text: str) -> str:
    """``isprintable`` is false for controls, for what turns or hides text, and for every blank
    but the plain one.
    """
    if text.isprintable() and not ("|" in text or "\\" in text or '"' in text):
        return text
    return "".join(
        [char if char.isprintable() and char not in '|\\"' else _escape(char) for char in text]
    )


def _escape(char: str) -> str:
    return _LINE_ESCAPES.get(char) or (
        f"\\u{ord(char):04x}" if char.isascii() else json.dumps(char)[1:-1]
    )


def _unescaped(value: str) -> str:
    text: str = json.loads(f'"{value}"')
    return text
