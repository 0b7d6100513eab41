"""The steps of a mapping: each makes one value of another, such as a number of a text.

`MAPPING_STEPS` has them by the names that a mapping file gives them. A step is read
once, with its argument, and carried out for every row. All of it is pure.
"""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TypeVar

from shopwindow.catalog.mapping_checks import (
    UnusableMapping,
    require_number,
    require_type,
)
from shopwindow.catalog.rules import check_digit
from shopwindow.content.finding import shown
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, nearest

MAX_NUMBER_DIGITS = 15
"""Digits of an id that is made of a text: it stays below 2**53, which JSON numbers hold
exactly.
"""


_Entry = TypeVar("_Entry")

MappingStep = Callable[[Json], Json]
"""Changes a value. Raises ValueError for one that it cannot change."""


def _split(argument: Json, pointer: Pointer) -> MappingStep:
    mark = require_type(
        argument, str, pointer, 'the text between the parts, such as ","'
    )
    return lambda value: [
        part.strip() for part in str(value).split(mark) if part.strip()
    ]


def _replaced(argument: Json, pointer: Pointer) -> MappingStep:
    """One value for another. `else` stands for all others, and `else: null` leaves them
    out.
    """
    require_type(
        argument, dict, pointer, "an object: what the feed says, and what we say"
    )
    table = {key: item for key, item in argument.items() if key != "else"}

    def step(value: Json) -> Json:
        key = value if isinstance(value, str) else shown(value)
        if key in table:
            return table[key]
        if "else" in argument:
            return argument["else"]
        close = nearest(key, table)
        meant = f"; did you mean {close}?" if close else ""
        raise ValueError(
            f"{shown(value)} is not in the map; it has {', '.join(table) or 'nothing'}{meant}"
        )

    return step


def _named(
    name: Json, table: Mapping[str, _Entry], kind: str, pointer: Pointer
) -> _Entry:
    """Return what a table has under a name. Raises UnusableMapping for any other name.

    ``kind``: what the table holds, for people.
    """
    if isinstance(name, str) and name in table:
        return table[name]
    close = nearest(str(name), table)
    raise UnusableMapping(
        pointer, f"{shown(name)} is no {kind}", ", ".join(table), close
    )


def _read_as(argument: Json, pointer: Pointer) -> MappingStep:
    return _named(argument, _CONVERSIONS, "type", pointer)


def _integer(value: Json) -> Json:
    if isinstance(value, bool) or not re.fullmatch(
        r"-?[0-9]{1,15}(\.0*)?", str(value).strip()
    ):
        raise ValueError(f"{shown(value)} is not a whole number")
    return int(float(str(value)))


def _decimal(value: Json) -> Json:
    text = re.sub(r"^[$€£]\s*|(?<=[0-9]),(?=[0-9]{3}(?:\D|$))", "", str(value).strip())
    if isinstance(value, bool) or not re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]+)?", text):
        raise ValueError(f"{shown(value)} is not a number")
    number = float(text)
    return int(number) if number.is_integer() else number


def _truth(value: Json) -> Json:
    word = str(value).strip().lower()
    if word not in ("true", "false", "yes", "no", "y", "n", "1", "0"):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return word in ("true", "yes", "y", "1")


def _text(value: Json) -> Json:
    return value if isinstance(value, str) else shown(value, 10_000)


_CONVERSIONS: Mapping[str, MappingStep] = {
    "integer": _integer,
    "number": _decimal,
    "boolean": _truth,
    "text": _text,
}


def _identified(argument: Json, pointer: Pointer) -> MappingStep:
    """A whole number made of a text, the same for the same text in any feed, on any
    day.
    """
    digits = require_number(argument, pointer, 6, MAX_NUMBER_DIGITS)
    return lambda value: 1 + _hashed(value) % (10**digits - 1)


def _barcode(argument: Json, pointer: Pointer) -> MappingStep:
    """An EAN-13 made of a text. It begins with 2: GS1 leaves those numbers to each
    retailer.
    """
    if argument is not True:
        raise UnusableMapping(pointer, f"{shown(argument)} is not true", "true")

    def step(value: Json) -> Json:
        body = f"2{_hashed(value) % 10**11:011}"
        return body + check_digit(body)

    return step


def _hashed(value: Json) -> int:
    return int.from_bytes(sha256(str(value).encode()).digest()[:8])


def _styled(argument: Json, pointer: Pointer) -> MappingStep:
    style = _named(argument, _TEXT_STYLES, "style", pointer)
    return lambda value: style(str(value))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


_TEXT_STYLES: Mapping[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
    "slug": _slug,
    "line": lambda text: " ".join(text.split()),
}


def _filled(argument: Json, pointer: Pointer) -> MappingStep:
    if not isinstance(argument, str) or argument.count("{}") != 1:
        raise UnusableMapping(
            pointer,
            f"{shown(argument)} has no place for the value",
            "a text with {} in it, once",
        )
    return lambda value: argument.replace("{}", str(value))


def _cut(argument: Json, pointer: Pointer) -> MappingStep:
    length = require_number(argument, pointer, 1)
    return lambda value: (
        value if len(str(value)) <= length else str(value)[: length - 1].rstrip() + "…"
    )


def _listed(argument: Json, pointer: Pointer) -> MappingStep:
    if argument is not True:
        raise UnusableMapping(pointer, f"{shown(argument)} is not true", "true")
    return lambda value: (
        list(dict.fromkeys(value)) if isinstance(value, list) else [value]
    )


MAPPING_STEPS: Mapping[str, Callable[[Json, Pointer], MappingStep]] = {
    "split": _split,
    "map": _replaced,
    "as": _read_as,
    "id": _identified,
    "barcode": _barcode,
    "style": _styled,
    "template": _filled,
    "cut": _cut,
    "list": _listed,
}
"""The steps by their names in a mapping; each takes its argument and the pointer to it.
"""
