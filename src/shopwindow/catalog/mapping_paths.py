"""Paths in a mapping file: where a value stands in a row, such as `a.b[0].c`."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shopwindow.catalog.mapping_checks import UnusableMapping
from shopwindow.content.finding import shown
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer

FeedRow = Any
"""A row as its feed has it: most often an object."""

_STEP_OF_A_ROW = re.compile(r"([^.\[\]]+)|\[(-?[0-9]+)?\]")


def path(text: Json, pointer: Pointer) -> Callable[[FeedRow], Json]:
    """Return the function that follows a path, such as `a.b[0].c`, in a row.

    `[]` goes to every item of a list. Raises UnusableMapping.
    """
    steps = _STEP_OF_A_ROW.findall(text) if isinstance(text, str) else []
    rebuilt = "".join(
        f".{name}" if name else f"[{index}]" for name, index in steps
    ).removeprefix(".")
    if not steps or rebuilt != text:
        raise UnusableMapping(
            pointer,
            f"{shown(text)} is not a path",
            "names with dots between them; [0], [-1] or [] for lists",
        )
    return lambda row: _follow(row, steps)


def _follow(value: Json, steps: Sequence[tuple[str, str]]) -> Json:
    for number, (name, index) in enumerate(steps):
        if name:
            value = value.get(name) if isinstance(value, dict) else None
        elif not isinstance(value, list):
            return None
        elif index:
            place = int(index)
            value = value[place] if -len(value) <= place < len(value) else None
        else:
            items = [_follow(item, steps[number + 1 :]) for item in value]
            return [item for item in items if not is_empty(item)] or None
        if value is None:
            return None
    return value


def is_empty(value: Json) -> bool:
    """Whether a value says nothing, and the property is left out. 0 and false say
    something.
    """
    return value is None or value == "" or value == [] or value == {}


def all_of(text: Json, pointer: Pointer) -> Callable[[FeedRow], Json]:
    """Return the function that follows a path, or that returns a list for several of
    them.
    """
    if isinstance(text, list):
        follows = [path(part, (*pointer, index)) for index, part in enumerate(text)]
        return lambda row: [follow(row) for follow in follows]
    return path(text, pointer)


def rows_in(value: Json, where: str) -> Iterator[FeedRow]:
    """Yield the rows of a file that is one value: the list at the path ``where``, or
    itself.

    Raises UnusableMapping.
    """
    rows = path(where, ("rows",))(value) if where else value
    if not isinstance(rows, list):
        raise UnusableMapping(
            ("rows",),
            f"there is {shown(rows)} in the file where the rows should be",
            "a path to a list",
        )
    yield from rows
