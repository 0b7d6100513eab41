"""Paths, by which a contract names values of a JSON answer.

A path is names with dots between them: `config.poorNetwork.poorWifiMaxSecsLatency`. `[]`
stands for every item of a list, `*` for every value of an object: `events[].id`,
`featureConfig.*.landingUrl`. A name that has a dot, a bracket, a quote, a star or a space in it
is a string of JSON, in quotes: `prices."4.99".text`.

There are no positions of lists: an order may change without breaking anybody. So a path
means a set of values, and two lists with the same items give the same set.
"""

import re
from collections.abc import Iterable
from enum import Enum

import orjson

from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.shape import Shape


class Every(Enum):
    """A step of a path to everything that a list or an object holds."""

    ITEM = "[]"
    VALUE = "*"


PathStep = str | Every
"""A step of a path: a name, or every item or value."""

PathSteps = tuple[PathStep, ...]

MOST_STEPS = 40
"""Steps of a path. The deepest answer of the department store needs 8."""

PATH_FORM = 'names with dots between them, [] for items, * for values: events[].id, sections.*.title, "a.b".c'
"""What a path looks like, for messages."""

ANYTHING = Shape(lambda uri: ("", {}), "", {})
"""A place of which no schema says anything."""

_NAME = r'[^\s.\[\]*"]+|"(?:[^"\\]|\\.)+"'
_PATH_STEP = re.compile(rf"{_NAME}|\*|\[\]")
_PATH = re.compile(rf"(?:(?:{_NAME}|\*|\[\])(?:\.(?:{_NAME}|\*)|\[\])*)?")
_BARE = re.compile(r'[^\s.\[\]*"]+')

_EVERY = frozenset(step.value for step in Every)

_OPEN_KEYWORDS = frozenset(("allOf", "anyOf", "oneOf", "if", "patternProperties"))
"""Keywords under which a place may have more properties than it lists."""


def parse(text: str) -> PathSteps:
    """Return the steps of a path.

    Raises ValueError, whose message continues a sentence that begins with the path.
    """
    match = _PATH.match(text)
    end = match.end() if match else 0
    if end < len(text):
        raise ValueError(f"cannot be read from character {end + 1} on")
    steps = tuple(map(_step, _PATH_STEP.findall(text)))
    if not steps:
        raise ValueError("has no step")
    if len(steps) > MOST_STEPS:
        raise ValueError(f"has {len(steps)} steps, and at most {MOST_STEPS} are read")
    return steps


def _step(text: str) -> PathStep:
    if text.startswith('"'):
        name: str = orjson.loads(text)
        return name
    return Every(text) if text in _EVERY else text


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
    return step if _BARE.fullmatch(step) else orjson.dumps(step).decode()


def reached(answer: Json, steps: PathSteps) -> list[Json]:
    """Return every value of an answer that a path leads to."""
    values = [answer]
    for step in steps:
        values = [part for value in values for part in _parts(value, step)]
    return values


def _parts(value: Json, step: PathStep) -> Iterable[Json]:
    if step is Every.ITEM:
        return value if isinstance(value, list) else ()
    by_name = value if isinstance(value, dict) else {}
    if step is Every.VALUE:
        return by_name.values()
    return [by_name[step]] if step in by_name else ()


class NoSuchPlace(Exception):
    """No answer can have what a path leads to.

    ``number``: of the step that leads nowhere. ``names``: those that may stand there;
    without any the place is no object, or no list where the step is `[]`.
    """

    def __init__(self, number: int, names: tuple[str, ...] = ()) -> None:
        super().__init__(number, names)
        self.number, self.names = number, names


def optional_steps(place: Shape, steps: PathSteps) -> tuple[bool, ...]:
    """Return for each step of a path whether an answer may lack what it leads to.

    ``place`` is that of the answer. Where a schema leaves open what stands at a place,
    any path may lead on. Raises NoSuchPlace.
    """
    optional: list[bool] = []
    places = [place]
    for number, step in enumerate(steps):
        if any(map(_is_open, places)):
            break
        type = "array" if step is Every.ITEM else "object"
        around = [each for each in places if _may_be(each, type)]
        places = [below for each in around for below in _below(each, step)]
        if not places:
            names = dict.fromkeys(name for each in around for name in each.properties)
            raise NoSuchPlace(number, tuple(names))
        is_name = isinstance(step, str)
        optional.append(is_name and any(step not in each.required for each in around))
    return (*optional, *[True] * (len(steps) - len(optional)))


def _below(place: Shape, step: PathStep) -> list[Shape]:
    """Return the places that a step leads to."""
    if step is Every.ITEM:
        return [place.items or ANYTHING]
    names = (*place.properties, step.value) if isinstance(step, Every) else (step,)
    is_closed = place.keyword("additionalProperties") is False
    listed = [name for name in names if name in place.properties or not is_closed]
    return [place.property(name) or ANYTHING for name in listed]


def _is_open(place: Shape) -> bool:
    """Return whether a place may hold more than its own keywords say."""
    is_typed = "type" in place.schema or bool(place.properties)
    return not is_typed or not _OPEN_KEYWORDS.isdisjoint(place.schema)


def _may_be(place: Shape, type: str) -> bool:
    stated = place.keyword("type") or "object"
    return type in stated if isinstance(stated, list) else type == stated
