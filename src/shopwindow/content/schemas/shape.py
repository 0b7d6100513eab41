"""A Shape: what one place of a schema says, with its references followed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from shopwindow.problems import Pointer, cut

_LONGEST_ABOUT = 1000
"""Characters of a description that a message repeats. The program's own have 300 at
most.
"""


@dataclass(eq=False)
class SchemaFiles:
    """Schemas by the URIs of their files, to which references lead."""

    files: Mapping[str, Any]

    def target(self, uri: str) -> tuple[str, Any]:
        """Return the base URI and the schema that an absolute `$ref` names.

        Raises LookupError or TypeError where there is none.
        """
        base, fragment = urldefrag(uri)
        schema = self.files[base]
        for step in filter(None, unquote(fragment).split("/")):
            key: Any = step.replace("~1", "/").replace("~0", "~")
            is_position = isinstance(schema, list) and key.isdigit()
            schema = schema[int(key) if is_position else key]
        return base, schema

    @cached_property
    def registry(self) -> Any:
        from jsonschema_rs import Registry

        return Registry([*self.files.items()])


def validator(schema: Any, registry: Any = None) -> Any:
    """Return the compiled validator of a schema, which may refer to a ``registry``'s.

    Raises ValueError where it is no schema.
    """
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(schema, registry=registry, validate_formats=True)


class Shape:
    """One place of a schema: what a decoder or a message needs to know about it.

    ``files`` are what references lead to; ``base`` is the URI that those of ``schema``
    are relative to. Both attributes are those behind the references that stand in the
    place itself.
    """

    def __init__(
        self,
        files: SchemaFiles,
        base: str,
        schema: Mapping[str, Any],
    ) -> None:
        self.files = files
        merged: dict[str, Any] = dict(schema)
        while "$ref" in merged:
            uri = urljoin(base, merged.pop("$ref"))
            base, referred = files.target(uri)
            merged = {**referred, **merged}
        self.base = base
        self.schema = merged
        self._properties: dict[str, Shape | None] = {}

    @cached_property
    def type(self) -> str:
        """The one JSON type of this place; the first, where the schema allows several."""
        kind = self.schema.get(
            "type", "object" if "properties" in self.schema else "string"
        )
        return str(kind[0] if isinstance(kind, list) else kind)

    @property
    def description(self) -> str:
        return cut(str(self.schema.get("description", "")), _LONGEST_ABOUT)

    def admits(self, value: Any) -> bool:
        """Return whether a value satisfies the schema at this place."""
        return bool(self._validator.is_valid(value))

    @cached_property
    def _validator(self) -> Any:
        return validator(absolute(self.schema, self.base), self.files.registry)

    def keyword(self, name: str) -> Any:
        """Return what the schema says under a keyword at this place, or None."""
        return self.schema.get(name)

    @property
    def properties(self) -> tuple[str, ...]:
        return tuple(self.schema.get("properties", ()))

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(self.schema.get("required", ()))

    def property(self, name: str) -> "Shape | None":
        """Return the place below ``name``, if the schema has one."""
        if name not in self._properties:
            listed = self.schema.get("properties", {})
            if name not in listed:
                return self._other
            self._properties[name] = self._below(listed[name])
        return self._properties[name]

    @cached_property
    def _other(self) -> "Shape | None":
        """The place of each property that is not listed. Clients choose those names, so
        no memory of them is kept.
        """
        return self._below(self.schema.get("additionalProperties"))

    @cached_property
    def items(self) -> "Shape | None":
        """The place of an array's items, if the schema has one."""
        return self._below(self.schema.get("items"))

    def _below(self, schema: Any) -> "Shape | None":
        """Return the place of a subschema; None where it is missing, or true or false."""
        return (
            Shape(self.files, self.base, schema) if isinstance(schema, dict) else None
        )

    def at(self, pointer: Pointer) -> "Shape | None":
        """Return the place that ``pointer`` leads to, or None."""
        shape: Shape | None = self
        for step in pointer:
            if shape is None:
                return None
            shape = shape.items if isinstance(step, int) else shape.property(step)
        return shape


def placed(
    shape: Shape | None, value: Any, pointer: Pointer = ()
) -> Iterator[tuple[Pointer, Any, Shape]]:
    """Yield a value and every value in it, as far as the schema has a place for them:
    the pointer, the value, and the place.
    """
    if shape is None:
        return
    yield pointer, value, shape
    if isinstance(value, dict):
        for key, part in value.items():
            yield from placed(shape.property(key), part, (*pointer, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from placed(shape.items, part, (*pointer, index))


def absolute(schema: Any, base: str) -> Any:
    """Return a schema with references that hold anywhere."""
    if isinstance(schema, list):
        return [absolute(part, base) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: absolute(part, base) for key, part in schema.items() if key != "$id"}
    if isinstance(schema.get("$ref"), str):
        copy["$ref"] = urljoin(base, schema["$ref"])
    return copy
