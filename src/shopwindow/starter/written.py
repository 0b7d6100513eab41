"""A JSON value as an editor writes it in YAML: lines of `key: value`, plain text where
it can be.
"""

import re
from collections.abc import Iterator

import orjson

from shopwindow.content.reading.yaml import Json

_SAFE_TEXT = re.compile(r"[A-Za-z_](?:[A-Za-z0-9 .,'()&/_+-]*[A-Za-z0-9.)])?")
"""Text that needs no quotes, on the safe side: no colon, no `#`, no bracket."""

_TIME = re.compile(
    r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2})?|[0-2][0-9]:[0-5][0-9]"
)
_WRITTEN_URL = re.compile(r"https?://[A-Za-z0-9./?=_-]*[A-Za-z0-9/=]")
_SAFE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_AMBIGUOUS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
"""Plain text that one YAML reader or another takes for something else."""

MAX_FLOW = 60
"""Characters of a list in brackets: beyond, each entry has a line of its own."""

INDENT = "  "


def scalar(value: Json) -> str:
    """Return a text, a number, true, false or null as YAML writes it."""
    if not isinstance(value, str):
        return orjson.dumps(value).decode()
    is_plain = _SAFE_TEXT.fullmatch(value) and value.casefold() not in _AMBIGUOUS
    if is_plain or _TIME.fullmatch(value) or _WRITTEN_URL.fullmatch(value):
        return value
    return quoted(value)


def quoted(text: str) -> str:
    """Return a text in quotes, for where it looks like a number and is none."""
    return orjson.dumps(text).decode()


def key(name: str) -> str:
    """Return a key as YAML writes it."""
    if _SAFE_KEY.fullmatch(name) and name.casefold() not in _AMBIGUOUS:
        return name
    return orjson.dumps(name).decode()


def flow(value: Json) -> str | None:
    """Return a list of scalars, or an empty value, in brackets; None where that is too
    long.
    """
    if value == {}:
        return "{}"
    if not isinstance(value, list) or any(
        isinstance(item, dict | list) for item in value
    ):
        return None
    text = "[" + ", ".join(map(scalar, value)) + "]"
    return text if len(text) <= MAX_FLOW else None


def entry(name: str, value: Json) -> Iterator[str]:
    """Yield the lines of a key with its value."""
    if not isinstance(value, dict | list):
        yield f"{key(name)}: {scalar(value)}"
    elif (short := flow(value)) is not None:
        yield f"{key(name)}: {short}"
    else:
        yield f"{key(name)}:"
        for line in lines(value):
            yield INDENT + line


def lines(value: Json) -> Iterator[str]:
    """Yield the lines of a value that stands by itself."""
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from entry(name, part)
    elif isinstance(value, list) and value:
        for item in value:
            short = flow(item)
            first, *more = [short] if short is not None else lines(item)
            yield f"- {first}"
            yield from (INDENT + line for line in more)
    else:
        yield flow(value) or scalar(value)
