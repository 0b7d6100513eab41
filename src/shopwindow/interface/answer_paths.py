"""Paths, by which a contract names values of a JSON answer.

A path is names with dots between them: `config.poorNetwork.poorWifiMaxSecsLatency`. `[]`
stands for every item of a list, `*` for every value of an object: `events[].id`,
`featureConfig.*.landingUrl`. A name that has a dot, a bracket, a quote, a star or a space in it
stands in quotes, and a backslash before a quote or a backslash there: `prices."4.99".text`.

There are no positions of lists: an order may change without breaking anybody. So a path
means a set of values, and two lists with the same items give the same set.
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.shape import Shape
from shopwindow.problems import Pointer


class Every(Enum):
    """A step of a path to everything that a list or an object holds."""

    ITEM = "[]"
    VALUE = "*"


PathStep = str | Every
"""A step of a path: a name, or every item or value."""

PathSteps = tuple[PathStep, ...]

MOST_STEPS = 40
"""PathSteps of a path. The deepest answer of the department store needs 8."""

PATH_FORM = 'names with dots between them, [] for items, * for values: events[].id, sections.*.title, "a.b".c'
"""What a path looks like, for messages."""

_BARE = r'[^\s.\[\]*"]+'
_QUOTED_NAME = r'"(?:[^"\\]|\\["\\])+"'
_PATH_STEP = re.compile(
    rf"(?P<dot>\.)?(?:(?P<name>{_BARE}|{_QUOTED_NAME})|(?P<value>\*))|\[\]"
)
_ESCAPED = re.compile(r'\\(["\\])')
_ENTIRELY_BARE = re.compile(_BARE)

_OPEN_KEYWORDS = frozenset(("allOf", "anyOf", "oneOf", "if", "patternProperties"))
"""Keywords under which a place may have more properties than it lists."""


def parse(text: str) -> PathSteps:
    """Return the steps of a path.

    Raises ValueError, whose message continues a sentence that begins with the path.
    """
    steps: list[PathStep] = []
    at = 0
    while at < len(text):
        match = _PATH_STEP.match(text, at)
        # A name or a star stands behind a dot, except in the beginning.
        is_step = match is not None and (
            match[0] == "[]" or bool(match["dot"]) == bool(steps)
        )
        if match is None or not is_step:
            raise ValueError(f"cannot be read from character {at + 1} on")
        if match["name"]:
            steps.append(_unquoted(match["name"]))
        else:
            steps.append(Every.VALUE if match["value"] else Every.ITEM)
        at = match.end()
    if not steps:
        raise ValueError("has no step")
    if len(steps) > MOST_STEPS:
        raise ValueError(f"has {len(steps)} steps, and at most {MOST_STEPS} are read")
    return tuple(steps)


def _unquoted(name: str) -> str:
    return _ESCAPED.sub(r"\1", name[1:-1]) if name.startswith('"') else name


def text_of(steps: Iterable[PathStep]) -> str:
    """Return the text of a path, the reverse of `parse`."""
    text = ""
    for step in steps:
        if step is Every.ITEM:
            text += step.value
        else:
            text += ("." if text else "") + _name(step)
    return text


def _name(step: PathStep) -> str:
    if isinstance(step, Every):
        return step.value
    if _ENTIRELY_BARE.fullmatch(step):
        return step
    escaped = step.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Reached(NamedTuple):
    """Where a path leads in one answer.

    ``pointer``: the way to ``value``. ``left``: the steps that lead no further from
    there; () where the whole path could be walked.
    """

    pointer: Pointer
    value: Json
    left: PathSteps


def walk(answer: Json, steps: PathSteps) -> Iterator[Reached]:
    """Yield every value that a path leads to, and every place from which it leads no
    further.

    Nothing is yielded below a list or an object that is empty.
    """
    reached: list[tuple[Pointer, Json]] = [((), answer)]
    for number, step in enumerate(steps):
        below: list[tuple[Pointer, Json]] = []
        for pointer, value in reached:
            if step is Every.ITEM and isinstance(value, list):
                below += [((*pointer, at), item) for at, item in enumerate(value)]
            elif step is Every.VALUE and isinstance(value, dict):
                below += [((*pointer, key), item) for key, item in value.items()]
            elif isinstance(step, str) and isinstance(value, dict) and step in value:
                below.append(((*pointer, step), value[step]))
            else:
                yield Reached(pointer, value, steps[number:])
        reached = below
    for pointer, value in reached:
        yield Reached(pointer, value, ())


class Unknown(NamedTuple):
    """A step that no answer can have: its number, and the names that stand there.

    Without names the place is no object, or no list where the step is `[]`.
    """

    number: int
    names: tuple[str, ...]


def unknown(shape: Shape, steps: PathSteps) -> Unknown | None:
    """Return the first step of a path that a response's schema does not admit, or None.

    Where a schema leaves open what stands at a place, any path may lead on.
    """
    place: Shape | None = shape
    for number, step in enumerate(steps):
        if place is None or _is_open(place):
            return None
        if step is Every.ITEM:
            if not _may_be(place, "array"):
                return Unknown(number, ())
            place = place.items
            continue
        if not _may_be(place, "object"):
            return Unknown(number, ())
        if step is Every.VALUE:
            return _unknown_below_any(place, number, steps)
        listed = step in place.properties
        if not listed and place.keyword("additionalProperties") is False:
            return Unknown(number, place.properties)
        place = place.property(step)
    return None


def _unknown_below_any(place: Shape, number: int, steps: PathSteps) -> Unknown | None:
    """Return what `unknown` does behind a `*`: None where one property admits the rest."""
    if place.keyword("additionalProperties") is not False:
        return None
    rest = steps[number + 1 :]
    first: Unknown | None = None
    for name in place.properties:
        inner = place.property(name)
        found = unknown(inner, rest) if inner is not None else None
        if found is None:
            return None
        first = first or Unknown(number + 1 + found.number, found.names)
    return first


def _is_open(place: Shape) -> bool:
    """Return whether a place may hold more than its own keywords say."""
    is_typed = "type" in place.schema or bool(place.properties)
    return not is_typed or not _OPEN_KEYWORDS.isdisjoint(place.schema)


def _may_be(place: Shape, type: str) -> bool:
    stated = place.keyword("type") or "object"
    return type in stated if isinstance(stated, list) else type == stated
