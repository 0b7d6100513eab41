"""The schema of a collection's documents: resolved for a release, and refused where
answers by it would not be the same in JSON and XML.

It must keep what every answer keeps (interface W1.2, W1.3 and W1.5): one JSON type at
each place, no array directly in an array, names that XML can hold. `as_served` leaves out what no
answer shows, and `as_written` adds what editors may write.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import BASE
from shopwindow.problems import Pointer

SCALARS = ("string", "integer", "number", "boolean")

NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_.-]*$"
"""What a key of an answer looks like (interface W1.5)."""

_COLLECTION_NAME = re.compile(NAME_PATTERN.strip("^$"), re.ASCII)

PUBLISH = "publish"
"""The engine's property, which may stand in every document and stands in no answer."""


def as_served(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema of documents as answers show them."""
    properties = {
        name: part for name, part in schema["properties"].items() if name != PUBLISH
    }
    shown = {**schema, "properties": properties}
    if PUBLISH in schema.get("required", ()):
        shown["required"] = [name for name in schema["required"] if name != PUBLISH]
    return shown


ShapeFault = tuple[Pointer, str, str]
"""A place in a schema, what is found there, and what is allowed."""


def document_faults(schema: Mapping[str, Any]) -> Iterator[ShapeFault]:
    """Yield why a schema cannot be that of a collection's documents."""
    if schema.get("type") != "object":
        yield (
            ("type",) if "type" in schema else (),
            "documents that are no objects",
            '"type": "object"',
        )
    elif not schema.get("properties"):
        yield (
            (),
            "documents without any property",
            '"properties", with the name and schema of each',
        )
    else:
        yield from _shape_faults(schema, ())


def _shape_faults(schema: Json, pointer: Pointer) -> Iterator[ShapeFault]:
    """Yield where a schema admits values that XML cannot hold, or a decoder cannot tell
    apart.
    """
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind not in (*SCALARS, "object", "array"):
        allowed = "exactly one of object, array, string, integer, number, boolean (interface W1.3)"
        where = pointer if kind is None else (*pointer, "type")
        yield (
            where,
            "no type" if kind is None else f"the type {orjson.dumps(kind).decode()}",
            allowed,
        )
    elif kind == "object":
        yield from _object_faults(schema, pointer)
    elif kind == "array":
        yield from _array_faults(schema, pointer)


def _object_faults(schema: Mapping[str, Any], pointer: Pointer) -> Iterator[ShapeFault]:
    if "patternProperties" in schema:
        found = "patternProperties, by which a place may have several types"
        yield (
            (*pointer, "patternProperties"),
            found,
            "additionalProperties with one schema (interface W1.3)",
        )
    for name, below in schema.get("properties", {}).items():
        where = (*pointer, "properties", name)
        if not _COLLECTION_NAME.fullmatch(name):
            allowed = "letters, digits, _ . and -, beginning with a letter or _ (interface W1.5)"
            yield where, f"the name {name!r}, which XML cannot hold", allowed
        yield from _shape_faults(below, where) if pointer or name != PUBLISH else ()
        is_array = isinstance(below, dict) and below.get("type") == "array"
        if (
            is_array
            and name not in schema.get("required", ())
            and not below.get("minItems")
        ):
            allowed = '"minItems": 1, or its name among those that are required (interface W1.2)'
            yield (
                where,
                "an array that may be empty or missing, which XML cannot tell apart",
                allowed,
            )
    more = schema.get("additionalProperties", True)
    where = (
        (*pointer, "additionalProperties")
        if "additionalProperties" in schema
        else pointer
    )
    if more is True or more == {}:
        allowed = '"additionalProperties": false, or one schema (interface W1.3)'
        yield where, "an object whose other properties may be anything", allowed
    elif more is not False:
        yield from _shape_faults(more, where)


def _array_faults(schema: Mapping[str, Any], pointer: Pointer) -> Iterator[ShapeFault]:
    items = schema.get("items")
    where = (*pointer, "items") if "items" in schema else pointer
    if "prefixItems" in schema:
        found = "prefixItems, by which items have several types"
        yield (
            (*pointer, "prefixItems"),
            found,
            "items with one schema (interface W1.3)",
        )
    if isinstance(items, dict) and items.get("type") == "array":
        yield (
            where,
            "an array directly in an array",
            "items that are objects or scalars (interface W1.2)",
        )
    elif items is None:
        yield (
            where,
            "an array whose items may be anything",
            "items with one schema (interface W1.3)",
        )
    else:
        yield from _shape_faults(items, where)


def as_written(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a collection's documents as editors write them.

    They may have `publish`, and all their names must be such that XML can hold.
    """
    named: dict[str, Any] = _with_names(schema)
    publish = {"$ref": f"{BASE}publish.json"}
    return {**named, "properties": {**named["properties"], PUBLISH: publish}}


def _with_names(schema: Json) -> Any:
    """Return a schema that requires names which XML can hold of every object with free
    names (interface W1.5).
    """
    if not isinstance(schema, dict):
        return schema
    named = dict(schema)
    if "properties" in named:
        named["properties"] = {
            name: _with_names(part) for name, part in named["properties"].items()
        }
    if "items" in named:
        named["items"] = _with_names(named["items"])
    if isinstance(named.get("additionalProperties"), dict):
        named["additionalProperties"] = _with_names(named["additionalProperties"])
        names = {
            "pattern": NAME_PATTERN,
            "x-allowed": "letters, digits, _ . and -, beginning with a letter or _",
        }
        named["propertyNames"] = (
            {**names, "allOf": [named["propertyNames"]]}
            if "propertyNames" in named
            else names
        )
    return named
