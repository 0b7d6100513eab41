"""Reads one line of a `.jsonl` feed as JSON, as strictly as YAML is read.

`load` is fast, for a feed may have millions of lines: it uses Python's JSON decoder and
records no positions. Where a problem must be reported, `locate` reads the same line
again and records where each value stands. It refuses the same lines, so `load` leaves
it to `locate` to say what is wrong, and where.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import NoReturn

import orjson

from shopwindow.content.reading import yaml
from shopwindow.content.reading.syntax import LINE_END
from shopwindow.content.reading.yaml import Json, Malformed, Spot
from shopwindow.problems import Place, Pointer


def load(line: bytes, number: int) -> Json:
    """Return the value of line ``number``, counted from 1.

    Raises Malformed where the line is no JSON, has a key twice, a number too large or a
    lone surrogate, or is nested too deeply.
    """
    text = _text(line, number)
    try:
        value = _DECODER.decode(text.strip(_JSON_SPACES))
        orjson.dumps(value)  # refuses lone surrogates
    except json.JSONDecodeError as error:
        column = error.pos + 1 + len(text) - len(text.lstrip(_JSON_SPACES))
        spot = Place(number, column, number, column + 1)
        found = f"no JSON: {_JSON_MESSAGES.get(error.msg, error.msg)}"
        raise Malformed("feed.syntax", found, "one JSON object a line", spot) from None
    except (_UnfitJson, RecursionError, TypeError):
        locate(line, number)  # raises Malformed, with what is wrong and where
        raise

    brackets = text.count("{") + text.count("[")
    if brackets > yaml.MAX_NESTING and _depth(value) > yaml.MAX_NESTING:
        locate(line, number)
    return value


_JSON_MESSAGES = {
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
"""The messages of Python's JSON decoder, in an editor's words."""


def _depth(value: Json) -> int:
    """Return how many levels of lists and objects lie below a value."""
    items: Iterable[Json] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list):
        items = value
    inner = [item for item in items if item.__class__ in (dict, list)]
    return max((_depth(item) + 1 for item in inner), default=0)


def _text(line: bytes, number: int) -> str:
    """Return a line as text. Raises Malformed, with the line's number in the feed."""
    try:
        return yaml.decode(line).rstrip("\r\n")
    except Malformed as fault:
        place = fault.place._replace(line=number, end_line=number)
        raise replace(fault, place=place) from None


class _UnfitJson(ValueError):
    """JSON that is refused here; `locate` says what is wrong and where."""


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
_JSON_SPACES = " \t\r\n"
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
"""A text in quotes, a sign, or else a number or a word."""


def locate(line: bytes, number: int) -> dict[Pointer, Spot]:
    """Return where every value of line ``number`` stands.

    The line must be JSON. Raises Malformed where `load` refuses it all the same.
    """
    return _located(
        _text(line, number),
        lambda start, end: Place(number, start + 1, number, end + 1),
    )


class FeedSpots(Mapping[Pointer, Spot]):
    """Where every value of a feed stands, by the documents' numbers.

    A line is looked through once a value in it is asked for: that takes a millisecond,
    and of thousands of lines a few are asked for.
    """

    def __init__(self, text: str) -> None:
        lines = self._lines = dict(enumerate(_documents(text)))
        self._spots = cache(lambda index: locate(*lines[index]))

    def __getitem__(self, pointer: Pointer) -> Spot:
        index, *within = pointer or (None,)
        return self._spots(index)[tuple(within)]

    def __iter__(self) -> Iterator[Pointer]:
        for index in self._lines:
            yield from ((index, *pointer) for pointer in self._spots(index))

    def __len__(self) -> int:
        return sum(len(self._spots(index)) for index in self._lines)


def _documents(text: str) -> Iterator[tuple[bytes, int]]:
    """Yield the lines of a feed that hold a document, each with its number."""
    for number, line in enumerate(text.split("\n"), 1):
        with suppress(Malformed):
            if line.strip():
                load(line.encode(), number)
                yield line.encode(), number


def locate_text(text: str) -> dict[Pointer, Spot]:
    """Return where every value of a JSON text of several lines stands.

    Raises Malformed as `locate` does.
    """
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    def place(start: int, end: int) -> Place:
        first = bisect_right(starts, start) - 1
        last = bisect_right(starts, end) - 1
        column, end_column = start - starts[first] + 1, end - starts[last] + 1
        return Place(first + 1, column, last + 1, end_column)

    return _located(text, place)


def _located(text: str, place: Callable[[int, int], Place]) -> dict[Pointer, Spot]:
    """Return where every value of a JSON text stands.

    ``place`` makes a Place from two offsets: where something starts, and where it ends.
    The nested functions take the tokens of the text one after another.
    """
    spots: dict[Pointer, Spot] = {}
    tokens = _TOKEN.finditer(text)

    def refuse(
        rule: str, found: str, allowed: str, token: re.Match[str], pointer: Pointer
    ) -> NoReturn:
        raise Malformed(rule, found, allowed, place(*token.span()), pointer)

    def quoted(token: re.Match[str], pointer: Pointer) -> str:
        try:
            return str(orjson.loads(token[0]))
        except orjson.JSONDecodeError:
            found = "a lone surrogate, which is no character"
            refuse("yaml.surrogate", found, "whole characters", token, pointer)

    def value(first: re.Match[str], pointer: Pointer, key: Place | None) -> None:
        last = first
        if first[0] in "{[":
            if len(pointer) > yaml.MAX_NESTING:
                refuse("yaml.depth", yaml.TOO_DEEP, "fewer levels", first, pointer[:1])
            last = members(first[0], pointer)
        elif first[0].startswith('"'):
            quoted(first, pointer)
        elif refused := _refused_atom(first[0]):
            refuse(*refused, first, pointer)
        spots[pointer] = Spot(place(first.start(), last.end()), key)

    def members(bracket: str, pointer: Pointer) -> re.Match[str]:
        """Take what stands behind a bracket, and return the one that closes it."""
        count = 0
        names: set[str] = set()
        while (token := next(tokens))[0] not in "}]":
            if token[0] == ",":
                continue
            if bracket == "{":
                name = quoted(token, pointer)
                below = (*pointer, name)
                if name in names:
                    found = f"the key {name!r} a second time"
                    refuse("yaml.duplicate", found, "each key once", token, below)
                names.add(name)
                next(tokens)  # the colon
                value(next(tokens), below, place(*token.span()))
            else:
                value(token, (*pointer, count), None)
            count += 1
        return token

    value(next(tokens), (), None)
    return spots


def _refused_atom(atom: str) -> tuple[str, str, str] | None:
    """Return why a number or a word is refused; None where it is not.

    The three texts are the rule, what was found and what is allowed.
    """
    if atom.startswith(("NaN", "Infinity", "-Infinity")):
        return "feed.syntax", f"{atom}, which is not JSON", "JSON's numbers"
    try:
        _DECODER.decode(atom)
    except _UnfitJson:
        return "yaml.number", *yaml.too_large(atom)
    return None
