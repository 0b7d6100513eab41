"""A JSON scalar as an editor writes it in YAML: without quotes where that is safe.

Text stands without quotes where every reader of YAML takes it for this very text, so
`yes`, `1.10` and `02116` have quotes.
"""

import re

import orjson

from shopwindow.content.reading.yaml import Json

_PLAIN = re.compile(
    r"[A-Za-z_/](?:[A-Za-z0-9 .,'()&/_+-]*[A-Za-z0-9.)])?"  # words
    r"|[12][0-9]{3}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2})?"  # a day, or a time of it
    r"|[0-2][0-9]:[0-5][0-9]"  # a time
    r"|https?://[A-Za-z0-9./?=_-]*[A-Za-z0-9/=]"
)
"""Text that needs no quotes, on the safe side."""

_AMBIGUOUS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
"""Plain text that one YAML reader or another takes for something else."""

_TRUTH = ("TRUE", "FALSE")
"""Truth that is text (interface W3). Content has it without quotes."""


def scalar(value: Json, *, in_brackets: bool = False) -> str:
    """Return a key, a text, a number, true, false or null as YAML writes it.

    ``in_brackets``: it is an entry of a list in brackets, where a comma ends it.
    """
    is_plain = (
        isinstance(value, str)
        and _PLAIN.fullmatch(value)
        and (value in _TRUTH or value.casefold() not in _AMBIGUOUS)
        and not (in_brackets and "," in value)
    )
    return value if is_plain else quoted(value)


def quoted(value: Json) -> str:
    """Return a scalar as JSON, which puts text in quotes that looks like a number."""
    return orjson.dumps(value).decode()
