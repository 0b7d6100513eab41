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

from shopwindow.content.documents.finding import Finding, listing_of
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.shape import SchemaFiles, Shape
from shopwindow.did_you_mean import nearest
from shopwindow.problems import cut


class Every(Enum):
    """A step of a path to everything that a list or an object holds."""

    ITEM = "[]"
    VALUE = "*"


PathStep = str | Every
"""A step of a path: a name, or every item or value."""

PathSteps = tuple[PathStep, ...]

PATH_RULE = "contract.path"

PATH_FORM = 'names with dots between them, [] for items, * for values: events[].id, sections.*.title, "a.b".c'
"""What a path looks like, for messages."""

ANYTHING = Shape(SchemaFiles({}), "", {})
"""A place of which no schema says anything."""

_NAME = r'[^\s.\[\]*"]+|"(?:[^"\\]|\\.)+"'
_PATH_STEP = re.compile(rf"{_NAME}|\*|\[\]")
_PATH = re.compile(rf"(?:{_NAME}|\*|\[\])(?:\.(?:{_NAME}|\*)|\[\])*")
_BARE = re.compile(r'[^\s.\[\]*"]+')

_OPEN_KEYWORDS = frozenset(("allOf", "anyOf", "oneOf", "if", "patternProperties"))
"""Keywords under which a place may have more properties than it lists."""


class Unusable(Exception):
    """What a contract names cannot be meant. ``finding`` says why, at no place yet."""

    def __init__(self, rule: str, found: str, allowed: str, nearest: str = "") -> None:
        super().__init__(found)
        self.finding = Finding(rule, (), found, allowed, nearest=nearest)


def parse(text: str) -> PathSteps:
    """Return the steps of a path. Raises Unusable."""
    match = _PATH.match(text)
    end = match.end() if match else 0
    if not match or end < len(text):
        found = f"the path {cut(text)!r} cannot be read from character {end + 1} on"
        raise Unusable(PATH_RULE, found, PATH_FORM)
    return tuple(map(_step, _PATH_STEP.findall(text)))


def _step(text: str) -> PathStep:
    if text.startswith('"'):
        return str(orjson.loads(text))
    return {each.value: each for each in Every}.get(text, text)


def text_of(steps: Iterable[PathStep]) -> str:
    """Return the text of a path, the reverse of `parse`."""
    text = ""
    for step in steps:
        if isinstance(step, Every):
            name = step.value
        else:
            is_bare = _BARE.fullmatch(step)
            name = step if is_bare else orjson.dumps(step).decode()
        text += name if step is Every.ITEM or not text else f".{name}"
    return text


def reached(answer: Json, steps: PathSteps) -> list[Json]:
    """Return every value of an answer that a path leads to."""
    values = [answer]
    for step in steps:
        values = [part for value in values for part in _parts(value, step)]
    return values


def _parts(value: Json, step: PathStep) -> Iterable[Json]:
    match value, step:
        case list(), Every.ITEM:
            return value
        case dict(), Every.VALUE:
            return value.values()
        case dict(), str() if step in value:
            return [value[step]]
    return ()


def optional_steps(place: Shape, steps: PathSteps) -> tuple[bool, ...]:
    """Return for each step of a path whether an answer may lack what it leads to.

    ``place`` is that of the answer. Where a schema leaves open what stands at a place,
    any path may lead on. Raises Unusable where no answer has what the path leads to.
    """
    optional: list[bool] = []
    places = [place]
    for number, step in enumerate(steps):
        if any(map(_is_open, places)):
            break
        type = "array" if step is Every.ITEM else "object"
        # One type, or a list of types: a name of a type is part of no other.
        around = [each for each in places if type in (each.keyword("type") or "object")]
        places = [below for each in around for below in _below(each, step)]
        if not places:
            names = dict.fromkeys(name for each in around for name in each.properties)
            above = text_of(steps[:number]) or "the answer"
            allowed = listing_of(names) or "[] behind a list; nothing behind a value"
            name = text_of((step,))
            raise Unusable(
                PATH_RULE,
                f"{above} has no {cut(name)!r}",
                allowed,
                nearest(name, names),
            )
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
    is_typed = "type" in place.schema or place.properties
    return not is_typed or not _OPEN_KEYWORDS.isdisjoint(place.schema)
