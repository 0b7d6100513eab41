"""Lines for operators, all of one kind: a JSON object a line, with `time`, `level` and `event`.

Requests and mails are on standard output, everything else on standard error. A line that cannot
be written (a full disk, a reader that has gone) is lost, and nothing else: whoever writes one
must not fail because of it.

`request_id` is the request that the current thread answers; each line and traceback says it, as
the response does in X-Request-Id.
"""

import os
import traceback
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from logging import Formatter, LogRecord
from typing import Any, Literal

import orjson

Level = Literal["info", "warning", "error"]

OUT, ERR = 1, 2
"""Standard output and standard error. Python's own files would buffer, and raise when the
interpreter ends.
"""

MAX_MESSAGE = 16 * 1024
"""Characters of a message or a traceback: journald cuts a line at 48 KiB (LineMax=), and a cut
line is no JSON.
"""

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that the current thread answers; None outside of one."""


def info(event: str, message: str, **fields: Any) -> None:
    """Write a line about something that went as it should. ``fields``: more of it, as JSON
    takes it.
    """
    write(ERR, "info", event, {"message": message, **fields})


def error(event: str, message: str, **fields: Any) -> None:
    """Write a line about something that an operator should look at."""
    write(ERR, "error", event, {"message": message, **fields})


def failure(cause: BaseException, **fields: Any) -> None:
    """Write a line about a fault of this program, with its traceback."""
    lines = "".join(traceback.format_exception(cause))
    message = f"{type(cause).__name__}: {cause}"
    write(
        ERR, "error", "fault", {"message": message, **fields, "traceback": lines[-MAX_MESSAGE:]}
    )


def write(file: int, level: Level, event: str, fields: Mapping[str, Any]) -> None:
    """Write a line to a file descriptor. Never raises."""
    with suppress(OSError, ValueError, TypeError):
        line = encoded(level, event, fields)
        os.write(file, line)


def encoded(level: Level, event: str, fields: Mapping[str, Any]) -> bytes:
    """The line itself, with its end."""
    value: dict[str, Any] = {"time": instant(datetime.now(UTC)), "level": level, "event": event}
    id = request_id.get()
    if id is not None:
        value["requestId"] = id
    for name, field in fields.items():
        value[name] = _text(field) if isinstance(field, str) else field
    return orjson.dumps(value, default=str, option=orjson.OPT_APPEND_NEWLINE)


def instant(moment: datetime) -> str:
    """An instant as every line has it: RFC 3339, UTC, milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def _text(text: str) -> str:
    """A text that JSON takes: a path of the host may be no UTF-8."""
    return text[:MAX_MESSAGE].encode(errors="backslashreplace").decode()


class Lines(Formatter):
    """The same lines for whatever logs through Python's `logging`, such as Granian and
    psycopg_pool.
    """

    def format(self, record: LogRecord) -> str:
        """A record as a line, without its end."""
        level: Level = (
            "error" if record.levelno >= 40 else "warning" if record.levelno >= 30 else "info"
        )
        fields = {"message": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            fields["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))[
                -MAX_MESSAGE:
            ]
        return encoded(level, record.name, fields).decode().rstrip("\n")


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"()": Lines}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "lines",
            "stream": "ext://sys.stderr",
        }
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {"_granian": {"handlers": ["console"], "level": "INFO", "propagate": False}},
}
"""What `logging.config.dictConfig`, and Granian's ``log_dictconfig``, make such lines of."""
