"""The lines of the service's log: a JSON object each, with `time`, `level` and `event`.

Requests and mails go to standard output, everything else to standard error. A line that
cannot be written (a full disk, a reader that has gone) is lost. Writing one never
raises, so nobody fails because of a line.

`request` names the request that the current thread answers: each line and traceback has
the id that the response has in X-Request-Id.
"""

import os
import traceback
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from logging import ERROR, Formatter, LogRecord
from types import MappingProxyType
from typing import Any

import orjson

OUT, ERR = 1, 2
"""The file descriptors of standard output and standard error. Python's own files
buffer, and raise while the interpreter ends.
"""

MAX_MESSAGE = 16 * 1024
"""Characters of a message or a traceback. journald cuts a line at 48 KiB (LineMax=),
and a line that is cut is not JSON.
"""

request: ContextVar[Mapping[str, str]] = ContextVar(
    "request", default=MappingProxyType({})
)
"""What a line has of the request that the current thread or task answers: `requestId`,
and `traceparent` where it is a part of a trace (service.message); nothing between
requests.
"""


def info(event: str, message: str) -> None:
    """Write a line about something that went as it should."""
    write(ERR, "info", event, {"message": message})


def error(event: str, message: str) -> None:
    """Write a line about something that an operator should look at."""
    write(ERR, "error", event, {"message": message})


def failure(cause: BaseException, **fields: str) -> None:
    """Write a line about a fault of this program, with its traceback and more
    ``fields``.
    """
    message = f"{type(cause).__name__}: {cause}"
    more = {"message": message, **fields, "traceback": _traceback(cause)}
    write(ERR, "error", "fault", more)


def _traceback(cause: BaseException) -> str:
    return "".join(traceback.format_exception(cause))[-MAX_MESSAGE:]


def write(file: int, level: str, event: str, fields: Mapping[str, Any]) -> None:
    """Write a line to a file descriptor. Never raises."""
    with suppress(OSError, ValueError, TypeError):
        os.write(file, encoded(level, event, fields) + b"\n")


def encoded(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    """Return a line without its end, as bytes."""
    texts = {
        name: _text(field) if isinstance(field, str) else field
        for name, field in fields.items()
    }
    return orjson.dumps(line(level, event) | texts, default=str)


def line(level: str, event: str) -> dict[str, Any]:
    """Return what every line has: the time, and the request that is being answered."""
    now = datetime.now(UTC)
    return {"time": now, "level": level, "event": event, **request.get()}


def _text(text: str) -> str:
    """Return a text that JSON can hold, cut at MAX_MESSAGE: a path may be no UTF-8."""
    return text[:MAX_MESSAGE].encode(errors="backslashreplace").decode()


class Lines(Formatter):
    """Formats what others log with Python's `logging`, such as gunicorn and uvicorn."""

    def format(self, record: LogRecord) -> str:
        """Return a record as a line, without its end."""
        level = "error" if record.levelno >= ERROR else record.levelname.lower()
        fields = {"message": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            fields["traceback"] = _traceback(record.exc_info[1])
        return encoded(level, record.name, fields).decode()


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
    "loggers": {"gunicorn.error": {"handlers": ["console"], "propagate": False}},
}
"""For `logging.config.dictConfig`, and gunicorn's ``logconfig_dict``, whose loggers
uvicorn's worker takes over.
"""
