"""One line of a `.jsonl` feed → JSON value, with the same strictness as YAML; positions
on demand.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import NoReturn

import orjson

from shopwindow.content import yaml
from shopwindow.content.syntax import LINE_END
from shopwindow.content.yaml import Json, Malformed, Spot
from shopwindow.problems import Place, Pointer


def load(line: bytes, number: int) -> Json:
    """The value of line ``number``. Raises Malformed: no JSON, a key twice, a number
    too large, a lone surrogate.
    """
    text = _text(line, number)
    try:
        value = _DECODER.decode(text.strip(_BLANKS))
        orjson.dumps(value)  # refuses lone surrogates
    except json.JSONDecodeError as error:
        column = error.pos + 1 + len(text) - len(text.lstrip(_BLANKS))
        spot = Place(number, column, number, column + 1)
        found = f"no JSON: {_JSON_FAULTS.get(error.msg, error.msg)}"
        raise Malformed("feed.syntax", found, "one JSON object a line", spot) from None
    except (_UnfitJson, RecursionError, TypeError):
        locate(line, number)  # which says what is wrong where
        raise
    if (
        text.count("{") + text.count("[") > yaml.MAX_NESTING
        and _depth(value) > yaml.MAX_NESTING
    ):
        locate(line, number)
    return value


_JSON_FAULTS = {
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing here",
    "Expecting ':' delimiter": "a colon is missing here",
    "Expecting ',' delimiter": "a comma, or the end of the list or object, is missing here",
    "Expecting value": "a value is missing here",
    "Extra data": "something stands after the object",
    "Unterminated string starting at": "a text without its closing quote",
    "Invalid control character at": "a control character in a text",
    "Invalid \\escape": "a backslash before what it cannot stand before",
    "Invalid \\uXXXX escape": "\\u without four hexadecimal digits",
    "Illegal trailing comma before end of object": "a comma before the end of the object",
    "Illegal trailing comma before end of array": "a comma before the end of the list",
}
"""What Python's reader says, in an editor's words."""


def _depth(value: Json) -> int:
    """How many levels deep a value is: hundreds of variants in a row are none."""
    items = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    )
    return max(
        (_depth(item) + 1 for item in items if item.__class__ in (dict, list)),
        default=0,
    )


def _text(line: bytes, number: int) -> str:
    try:
        return yaml.decode(line).rstrip("\r\n")
    except Malformed as fault:
        column = fault.place.column
        raise Malformed(
            fault.rule,
            fault.found,
            fault.allowed,
            Place(number, column, number, column + 1),
        ) from None


class _UnfitJson(ValueError):
    """JSON that is not for us; `locate` finds out what and where."""


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _UnfitJson
    return value


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > yaml.MAX_INTEGER_DIGITS:
        raise _UnfitJson
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        raise _UnfitJson
    return number


def _constant(text: str) -> NoReturn:
    raise _UnfitJson


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)
_JSON_SPACE = re.compile(r"[ \t\r\n]*")
_BLANKS = " \t\r\n"
_ATOM = re.compile(r"[^\s,\]}]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def locate(line: bytes, number: int) -> dict[Pointer, Spot]:
    """Where every value of a line stands. Raises Malformed, like `load`, but for what
    is no JSON at all.
    """
    return _located(
        _text(line, number),
        lambda start, end: Place(number, start + 1, number, end + 1),
    )


def locate_text(text: str) -> dict[Pointer, Spot]:
    """Where every value of a JSON text of many lines stands. Raises Malformed as
    `locate` does.
    """
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    def place(start: int, end: int) -> Place:
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end) - 1
        return Place(
            first + 1, start - starts[first] + 1, last + 1, end - starts[last] + 1
        )

    return _located(text, place)


def _located(text: str, place: Callable[[int, int], Place]) -> dict[Pointer, Spot]:
    """Where every value of a JSON text stands; ``place`` makes places of where
    something starts and ends.
    """
    spots: dict[Pointer, Spot] = {}

    def skip(position: int) -> int:
        match = _JSON_SPACE.match(text, position)
        return match.end() if match else position

    def refuse(
        rule: str, found: str, allowed: str, start: int, end: int, pointer: Pointer
    ) -> NoReturn:
        raise Malformed(rule, found, allowed, place(start, end), pointer)

    def quoted(start: int, pointer: Pointer) -> tuple[str, int]:
        content, end = scanstring(text, start + 1, True)
        if _SURROGATE.search(content):
            refuse(
                "yaml.surrogate",
                "a lone surrogate, which is no character",
                "whole characters",
                start,
                end,
                pointer,
            )
        return content, end

    def value(position: int, pointer: Pointer, key: Place | None) -> int:
        start = position = skip(position)
        if text[position] == '"':
            _, position = quoted(position, pointer)
        elif text[position] in "{[":
            if len(pointer) > yaml.MAX_NESTING:
                found = f"nested more than {yaml.MAX_NESTING} levels deep"
                refuse(
                    "yaml.depth", found, "fewer levels", start, start + 1, pointer[:1]
                )
            position = members(position, pointer)
        else:
            match = _ATOM.match(text, position)
            position = match.end() if match else position + 1
            if fault := _unfit(text[start:position]):
                refuse(*fault, start, position, pointer)
        spots[pointer] = Spot(place(start, position), key)
        return position

    def members(position: int, pointer: Pointer) -> int:
        is_object, count = text[position] == "{", 0
        names: set[str] = set()
        position = skip(position + 1)
        while text[position] not in "}]":
            if is_object:
                name, end = quoted(position, pointer)
                key = place(position, end)
                if name in names:
                    found = f"the key {name!r} a second time"
                    refuse(
                        "yaml.duplicate",
                        found,
                        "each key once",
                        position,
                        end,
                        (*pointer, name),
                    )
                names.add(name)
                position = value(skip(end) + 1, (*pointer, name), key)
            else:
                position = value(position, (*pointer, count), None)
            count += 1
            position = skip(position)
            if text[position] == ",":
                position = skip(position + 1)
        return position + 1

    value(0, (), None)
    return spots


def _unfit(atom: str) -> tuple[str, str, str] | None:
    """What is wrong with a number or a word: rule, what was found, what is allowed."""
    if atom in ("NaN", "Infinity", "-Infinity"):
        return "feed.syntax", f"{atom}, which is not JSON", "JSON's numbers"
    if atom.lstrip("-").isdigit():
        fits = len(atom.lstrip("-")) <= yaml.MAX_INTEGER_DIGITS
    else:
        fits = atom in ("true", "false", "null") or abs(float(atom)) != float("inf")
    shown = atom if len(atom) <= 24 else f"{atom[:20]}… ({len(atom)} characters)"
    allowed = f"at most {yaml.MAX_INTEGER_DIGITS} digits; text in quotes"
    return (
        None if fits else ("yaml.number", f"the number {shown} is too large", allowed)
    )
