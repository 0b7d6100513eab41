"""What a schema refuses, in an editor's words.

jsonschema says which keyword refused which value. `explained` makes that a Finding:
what was found, what is allowed, the nearest allowed value where it may be a typing
error, and what to write instead where that can be guessed. A schema's own `x-allowed`
is preferred to anything that could be derived from its keywords.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from shopwindow.content import meant
from shopwindow.content.explaining import extras, fits
from shopwindow.content.finding import NOTHING, Finding, NumberAt, shown
from shopwindow.content.shape import Shape
from shopwindow.content.suggesting import TYPES, listed, suggested, wanted_at
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, cut, nearest

LAYOUTS = {
    "object": "lines of `key: value` below, indented",
    "array": "entries in brackets, `[a, b]`, or below with `- `",
}
"""How YAML writes what is wanted. This is advice for editors; a client that sends JSON
gets none of it.
"""

_FORMAT_WORDS = {
    "date": "a day as YYYY-MM-DD",
    "date-time": "a time as YYYY-MM-DDTHH:MM:SS+HH:MM",
    "uri": "a URL",
}
_BOUND_WORDS = {
    "minimum": ("{0} is too small", "at least {0}"),
    "maximum": ("{0} is too large", "at most {0}"),
    "exclusiveMinimum": ("{0} is too small", "more than {0}"),
    "exclusiveMaximum": ("{0} is too large", "less than {0}"),
    "minLength": ("{0} is too short", "at least {0} characters"),
    "maxLength": ("{0} is too long: {1} characters", "at most {0}"),
    "minItems": ("a list of {1} is too short", "at least {0}"),
    "maxItems": ("a list of {1} is too long", "at most {0}"),
    "minProperties": ("an object of {1} keys is too small", "at least {0}"),
    "maxProperties": ("an object of {1} keys is too large", "at most {0}"),
}
"""Keyword → what was found ({0} is the value, {1} its size), and what is allowed
instead ({0} is the keyword's value).
"""

_LEAST = {
    "minLength": "some text",
    "minItems": "at least {0} in the list",
    "minProperties": "at least {0} of its keys",
}
"""Keyword → what is wanted where an editor wrote nothing at all."""

_MOST_COMPARED = 1000
"""Words that are compared with a misspelled one. A thousand take 20 ms, and a schema
may allow 200,000.
"""

_DAY_FORM = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def fractions(
    shape: Shape | None, value: Json, pointer: Pointer, written: NumberAt
) -> Iterator[Finding]:
    """Yield where a whole number is written with a fraction of zero."""
    if shape is None:
        return
    if isinstance(value, float) and shape.type == "integer" and value.is_integer():
        allowed = "a whole number without a fraction" + (
            f": {value:.0f}" if abs(value) < 1e15 else ""
        )
        found = f"{written(pointer) or shown(value)} has a fraction"
        yield Finding(
            "schema.fraction",
            pointer,
            found,
            allowed,
            shape.description,
            meant=int(value) if abs(value) < 1e15 else None,
        )
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from fractions(shape.property(key), item, (*pointer, key), written)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from fractions(shape.items, item, (*pointer, index), written)


def about_of(shape: Shape, pointer: Pointer) -> str:
    """Return the description of a place, or of the nearest around it that has one."""
    for length in range(len(pointer), 0, -1):
        place = shape.at(pointer[:length])
        if place is not None and place.description:
            return place.description
    return ""


def explained(error: Any, shape: Shape, written: NumberAt) -> Iterator[Finding]:
    """Yield one error of jsonschema in an editor's words.

    ``shape``: the place of the whole document. ``written`` returns how a number is
    written.
    """
    keyword, value, instance = error.validator, error.validator_value, error.instance
    pointer: Pointer = tuple(error.absolute_path)
    seen = (isinstance(instance, float) and cut(written(pointer) or "")) or shown(
        instance
    )
    schema = error.schema if isinstance(error.schema, dict) else {}
    in_name = "propertyNames" in error.absolute_schema_path
    where = (*pointer, instance) if in_name and isinstance(instance, str) else pointer
    about = about_of(shape, pointer)
    rule = f"schema.{keyword or 'false'}"
    if keyword == "type":
        if "enum" not in schema:  # which says what is allowed
            named = schema.get("x-allowed", "")
            finding = _wrong_type(
                pointer, instance, seen, value, shape.at(pointer), named, about, written
            )
            certain = _meant_type(value, instance, written(pointer), shape.at(pointer))
            yield replace(finding, meant=certain)
    elif keyword in ("required", "dependentRequired"):
        for name in _missing(keyword, value, instance):
            about = about_of(shape, (*pointer, name))
            allowed = wanted_at(shape.at((*pointer, name)))
            yield Finding(
                rule,
                pointer,
                f"{shown(name)} is missing",
                allowed,
                about,
                on_key=True,
                missing=name,
            )
    elif keyword == "additionalProperties":
        names = tuple(schema.get("properties", ()))
        free = [name for name in names if name not in instance]
        allowed = listed(names) or "nothing"
        for name in extras(schema, instance):
            found = f"{shown(name)} is not known here"
            yield Finding(
                rule,
                (*pointer, name),
                found,
                allowed,
                about,
                _nearest(name, free) or _nearest(name, names),
                True,
                meant=_meant_key(name, instance[name], names, shape.at(pointer)),
            )
    elif keyword in ("enum", "const"):
        choices = value if keyword == "enum" else [value]
        close = _nearest(instance if isinstance(instance, str) else seen, choices)
        allowed = listed(choices)
        found = (
            NOTHING if instance == "" else f"{seen} is not one of the allowed values"
        )
        certain = None if in_name else meant.choice(instance, choices)
        yield Finding(rule, where, found, allowed, about, close, in_name, meant=certain)
    elif keyword in ("pattern", "format"):
        allowed = schema.get("x-allowed") or _FORMAT_WORDS.get(
            str(value), f"text of the form {cut(str(value), 200)}"
        )
        found = NOTHING if instance == "" else f"{seen} {_misfit(instance, value)}"
        day = meant.day(instance) if isinstance(instance, str) else None
        is_certain = (
            day is not None
            and not in_name
            and fits(keyword, value, day)
            and meant.fits(day, shape.at(pointer))
        )
        yield Finding(
            rule,
            where,
            found,
            allowed,
            about,
            on_key=in_name,
            meant=day if is_certain else None,
        )
    elif keyword == "uniqueItems":
        second = _second(instance)
        found = f"{shown(instance[second[0]]) if second else 'an entry'} stands in the list a second time"
        yield Finding(rule, (*pointer, *second), found, "each entry once", about)
    elif keyword in _BOUND_WORDS:
        found, allowed = _BOUND_WORDS[keyword]
        named, empty = (
            schema.get("x-allowed"),
            instance in ("", [], {}) and keyword in _LEAST,
        )
        if empty:
            found, allowed = NOTHING, _LEAST[keyword]
        allowed = allowed.format(value)
        if named:
            allowed = named if empty else f"{named}, {allowed}"
        size = f"{len(instance):,}" if isinstance(instance, (str, list, dict)) else ""
        yield Finding(
            rule, where, found.format(seen, size), allowed, about, on_key=in_name
        )
    elif keyword is None or value == {}:
        # `false` and `not: {}`: whatever stands here is too much.
        yield Finding(
            rule,
            pointer,
            f"{shown(pointer[-1] if pointer else instance)} may not stand here",
            str(schema.get("x-allowed", "")),
            about,
            "",
            True,
        )
    else:
        yield Finding(
            rule,
            where,
            str(error.message)[:200],
            str(schema.get("x-allowed", "")),
            about,
            on_key=in_name,
        )


def _nearest(word: str, choices: Sequence[Json]) -> str:
    """Return the choice that is most like a word; of very many, one that begins like
    it.
    """
    words = [str(choice) for choice in choices if not isinstance(choice, (dict, list))]
    if len(words) > _MOST_COMPARED:
        start = word[:2].casefold()
        words = [choice for choice in words if choice[:2].casefold() == start][
            :_MOST_COMPARED
        ]
    return nearest(word, words)


def _wrong_type(
    pointer: Pointer,
    instance: Json,
    seen: str,
    types: Json,
    place: Shape | None,
    named: str,
    about: str,
    written: NumberAt,
) -> Finding:
    names: list[str] = types if isinstance(types, list) else [types]
    kind, wanted = " or ".join(TYPES.get(name, name) for name in names), names[0]
    found = NOTHING if instance == "" else f"{seen} is not {kind}"
    allowed = f"{kind}: {LAYOUTS[wanted]}" if wanted in LAYOUTS else kind
    named = named or str((place and place.keyword("x-allowed")) or "")
    return Finding(
        "schema.type",
        pointer,
        found,
        suggested(instance, wanted, place, pointer, written) or named or allowed,
        about,
    )


def _meant_type(
    types: Json, instance: Json, written: str | None, place: Shape | None
) -> Json:
    """Return the value that is meant by one of the wrong type; None: nobody can say."""
    if not isinstance(types, str):
        return None
    return meant.of_type(types, instance, written, place)


def _meant_key(
    name: str, value: Json, names: Sequence[str], place: Shape | None
) -> str | None:
    """Return the key that is meant by an unknown one, if it may hold the value."""
    key = meant.key(name, names)
    inner = place.property(key) if place and key else None
    wanted = inner.keyword("type") if inner else None
    is_near = (
        meant.may_hold(inner, value)
        or _meant_type(wanted, value, str(value), inner) is not None
    )
    return key if is_near else None


def _misfit(text: Json, wanted: Json) -> str:
    if wanted == "date" and isinstance(text, str) and _DAY_FORM.fullmatch(text):
        return "does not exist in the calendar"
    return "does not have the right form"


def _second(items: list[Json]) -> Pointer:
    """Return where the first item stands that equals one before it."""
    seen: set[bytes] = set()
    for index, item in enumerate(items):
        written = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        if written in seen:
            return (index,)
        seen.add(written)
    return ()  # 1 and 1.0, which are equal in JSON Schema and not in JSON text


def _missing(keyword: str, value: Any, instance: Any) -> list[str]:
    """Return the keys that an object lacks by `required` or `dependentRequired`."""
    if keyword == "required":
        return [name for name in value if name not in instance]
    return [
        name
        for key, names in value.items()
        if key in instance
        for name in names
        if name not in instance
    ]
