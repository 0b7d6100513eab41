"""Reads the schemas that a content folder brings, and walks through the schemas in
them.

What is wrong with them stands in `own_schema_faults`; where their references lead, in
`references`.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content import feed, yaml
from shopwindow.content.listing import LINK, link_fault
from shopwindow.content.yaml import Json, Malformed, Spot
from shopwindow.problems import Place, Pointer, Problem

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_SCHEMA_BYTES = 4 * 1024 * 1024
"""Bytes of one file. An enum of 200,000 words fits; to check so much once takes two
seconds.
"""

NOT_BEFORE_A_LINE_END = r"(?!\n)$"
"""How the program's own patterns end, for readers whose `$` also matches before a line
end. JSON Schema's does not.
"""

# The keywords below which a schema holds others. Those of the first three tuples look
# at the same value as the schema itself, those of the next two at parts of it, and
# those of the last at nothing unless a `$ref` names them.
_SAME = ("not", "if", "then", "else")
_SAME_LISTED = ("allOf", "anyOf", "oneOf")
_SAME_NAMED = ("dependentSchemas",)
_BELOW = (
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "contains",
    "unevaluatedItems",
)
_KEYWORDS_BY_PROPERTY = ("properties", "patternProperties")
_APART = ("$defs", "definitions")
ALLOWED_AT_KEYWORD = {
    "type": "object, array, string, integer, number, boolean, null, or a list of these",
    "enum": "a list of the allowed values",
    "required": "a list of names, each once",
    "properties": "an object: name and schema",
    "patternProperties": "an object: pattern and schema",
    "pattern": "a regular expression in quotes",
    "multipleOf": "a number above zero",
    "additionalProperties": "true, false or a schema",
    "items": "true, false or a schema",
    "uniqueItems": "true or false",
    "description": "text",
    "$ref": 'where another schema is, such as "#/$defs/day" or "store.json#/$defs/day"',
}

ALLOWED_AT_KEYWORD |= dict.fromkeys(
    (
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minContains",
        "maxContains",
    ),
    "a whole number, 0 or more",
)

ALLOWED_AT_KEYWORD |= dict.fromkeys(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "a number"
)

ALLOWED_AT_KEYWORD |= dict.fromkeys(_SAME_LISTED, "a list of at least one schema")


@dataclass(frozen=True)
class Own:
    """One file of an own schema, which is a JSON object.

    ``path``: as problems name it. ``spots``: where each part of it stands in the file.
    """

    name: str
    path: str
    text: str
    schema: dict[str, Any]
    spots: Mapping[Pointer, Spot]

    def problem(
        self, rule: str, pointer: Pointer, found: str, allowed: str, close: str = ""
    ) -> Problem:
        spot = yaml.spot(self.spots, pointer)
        place = spot.value if spot else Place(1, 1, 1, 2)
        return Problem(rule, self.path, found, place, pointer, allowed, nearest=close)


def read(folder: Path, name: str) -> Own | Problem:
    """Return the schema in one file, or the problem that there is none. Its `$id` is
    ignored.
    """
    path, start = f"{folder.name}/{name}", Place(1, 1, 1, 2)

    def refused(found: str, allowed: str, place: Place = start) -> Problem:
        return Problem("schema.file", path, found, place, (), allowed)

    file = folder / name
    try:
        root = os.path.realpath(folder.parent)
        if file.is_symlink() and (found := link_fault(str(file), root)):
            return Problem("tree.link", path, found, start, (), LINK)
        if not file.is_file():
            return refused(
                "not a file",
                "regular files; a schema's name ends in .json, a folder's does not",
            )
        with open(file, "rb") as stream:
            data = stream.read(MAX_SCHEMA_BYTES + 1)
    except OSError as error:
        return refused(f"cannot be read: {error.strerror}", "a readable file")
    if len(data) > MAX_SCHEMA_BYTES:
        return refused("the schema is too large", f"at most {MAX_SCHEMA_BYTES:,} bytes")
    try:
        text = yaml.decode(data)
        schema = orjson.loads(text)
        # Raises for keys that stand twice, too large numbers and too many levels.
        spots = feed.locate_text(text)
    except orjson.JSONDecodeError as error:
        place = Place(error.lineno, error.colno, error.lineno, error.colno + 1)
        return refused(
            f"no JSON: {error.msg}", "a JSON Schema, which is one JSON object", place
        )
    except Malformed as fault:
        return Problem(
            fault.rule, path, fault.found, fault.place, fault.pointer, fault.allowed
        )
    if not isinstance(schema, dict):
        return refused(
            "the schema is no JSON object", "a JSON Schema, which is one JSON object"
        )
    return Own(name, path, text, schema, spots)


def linear(schema: Json) -> Json:
    """Return a schema whose patterns end in `$` instead of NOT_BEFORE_A_LINE_END.

    The linear engine, which runs own patterns, has no look-ahead.
    """
    if isinstance(schema, list):
        return [linear(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {}
    for key, part in schema.items():
        is_pattern = key == "pattern" and isinstance(part, str)
        changed[key] = without_line_end(part) if is_pattern else linear(part)
    return changed


def without_line_end(pattern: str) -> str:
    return pattern.removesuffix(NOT_BEFORE_A_LINE_END) + "$" * pattern.endswith(
        NOT_BEFORE_A_LINE_END
    )


def subschemas(
    schema: Json, pointer: Pointer
) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield a schema and all schemas in it, with their places, except `true` and
    `false`.
    """
    if not isinstance(schema, dict):
        return
    yield pointer, schema
    for way, part, _ in parts(schema):
        yield from subschemas(part, (*pointer, *way))


def parts(schema: Mapping[str, Any]) -> Iterator[tuple[Pointer, Json, str | None]]:
    """Yield the schemas directly in a schema: the way to each, the schema, and a label.

    The label says which part of the value it looks at: None is the value itself, and ""
    nothing unless a `$ref` names the schema.
    """
    for key in _SAME:
        if key in schema:
            yield (key,), schema[key], None
    for key in _SAME_LISTED:
        for index, part in enumerate(schema.get(key, ())):
            yield (key, index), part, None
    for key in _SAME_NAMED:
        for name, part in schema.get(key, {}).items():
            yield (key, name), part, None
    for key in _BELOW:
        if key in schema:
            yield (key,), schema[key], key
    for index, part in enumerate(schema.get("prefixItems", ())):
        yield ("prefixItems", index), part, "items"
    for key in _KEYWORDS_BY_PROPERTY:
        for name, part in schema.get(key, {}).items():
            yield (key, name), part, f"{key}/{name}"
    for key in _APART:
        for name, part in schema.get(key, {}).items():
            yield (key, name), part, ""
