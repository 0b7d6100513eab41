"""The schemas of the OpenAPI document: every object under a name, all else in place.

How this works. Generators of clients make a type of each named component. They follow a
reference to a component, most of them fail at a reference into one, and where an object
has no name they invent one. So each object with listed properties becomes a component,
and each text, number, list or open map is written where it is used. Only what a
response or a body needs is taken over: of a schema for editors that lends a response
one definition, just that definition.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple
from urllib.parse import quote, unquote, urldefrag, urljoin

from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import BASE, Schemas
from shopwindow.content.schemas.shape import Shape

_REFERENCE = "#/components/schemas/"

_KEYWORDS_OF_FILES = ("$id", "$schema", "$defs", "examples")
"""Keywords at the top of a file that mean nothing in a component. Its examples stand
beside the response or the body.
"""

_WITH_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties"})
_WITH_SCHEMAS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_WITH_SCHEMA = frozenset({"items", "additionalProperties", "propertyNames", "not"})
"""Keywords whose values are schemas: in an object, in a list, or one alone."""

_OWN_KEYWORDS = frozenset({"x-allowed", "x-any-character", "x-ignored", "x-single"})
"""Keywords that steer messages about content, and how the service reads a body."""

_OF_VALUES = frozenset({"enum", "const"})
"""Keywords that list values. At a boolean they are left out: generators of clients make
texts of them, and refuse a true for not being "true".
"""


class _SchemaAddress(NamedTuple):
    """Where a schema stands: a file below schemas/, and a pointer into it."""

    file: str
    pointer: str = ""

    def below(self, *steps: str) -> "_SchemaAddress":
        """Return the address of a part of the schema."""
        escaped = [step.replace("~", "~0").replace("/", "~1") for step in steps]
        return _SchemaAddress(self.file, "/".join([self.pointer, *map(quote, escaped)]))


class Components:
    """The components that have been referred to so far, in ``schemas`` by name."""

    def __init__(self, files: Schemas) -> None:
        self.schemas: dict[str, Json] = {}
        self._files = files
        self._names: dict[_SchemaAddress, str] = {}

    def reference(self, file: str, pointer: str = "") -> Json:
        """Return what stands for a schema where it is used.

        Args:
            file: its file below schemas/, such as responses/stores.json.
            pointer: the way to it within the file, as a JSON Pointer; empty: the whole.

        Returns:
            A reference to a component; the schema itself where it is no object.
        """
        return self._use(_SchemaAddress(file, pointer))

    def shape(self, file: str) -> Shape:
        """Return the shape of a file's schema, which decides on the root of its XML."""
        return self._files.shape(file)

    def examples(self, file: str) -> Sequence[Json]:
        """Return the examples of a whole response or body that its file holds."""
        examples: Sequence[Json] = self._files[file].get("examples", ())
        return examples

    def name(self, file: str) -> str:
        """Return the name of the component that a file's whole schema is."""
        return self._names[_SchemaAddress(file)]

    def _use(self, address: _SchemaAddress, name: str = "") -> Json:
        """Return what stands for the schema at an address.

        ``name``: what an object is called that has no name of its own.
        """
        schema, place = self._at(address), address
        beside: Json = {}
        while "$ref" in schema:
            place = _target(schema["$ref"], place.file)
            beside = {**schema, **beside}
            schema, name = self._at(place), ""
        beside.pop("$ref", None)
        if schema.get("type") != "object" or "properties" not in schema:
            return self._placed({**schema, **beside}, place, name)
        return {"$ref": _REFERENCE + self._component(place, schema, name), **beside}

    def _component(self, place: _SchemaAddress, schema: Json, name: str) -> str:
        """Return the name of the component that is the object at an address."""
        if place not in self._names:
            unused = self._unused(name or _name(place))
            self._names[place] = unused
            self.schemas[unused] = {}  # an object may refer to itself
            self.schemas[unused] = self._placed(schema, place, unused)
        return self._names[place]

    def _at(self, address: _SchemaAddress) -> Json:
        """Return the schema at an address, without the keywords of its file."""
        schema: Json = self._files.written(address.file)
        for step in address.pointer.split("/")[1:]:
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            schema = schema[int(step) if isinstance(schema, list) else step]
        return {
            key: part for key, part in schema.items() if key not in _KEYWORDS_OF_FILES
        }

    def _placed(self, schema: Json, place: _SchemaAddress, name: str) -> Json:
        """Return a schema as it stands in the document, with its parts.

        ``name``: of the component that it is, or of the object that stands in it.
        """
        left_out = _OWN_KEYWORDS
        if schema.get("type") == "boolean":
            left_out |= _OF_VALUES
        value = {key: part for key, part in schema.items() if key not in left_out}
        for keyword in _WITH_SCHEMAS_BY_NAME & value.keys():
            value[keyword] = {
                key: self._use(place.below(keyword, key), name + _capitalized(key))
                for key in value[keyword]
            }
        for keyword in _WITH_SCHEMA & value.keys():
            if isinstance(value[keyword], dict):
                value[keyword] = self._use(place.below(keyword), name)
        for keyword in _WITH_SCHEMAS & value.keys():
            value[keyword] = [
                self._use(place.below(keyword, str(number)), name)
                for number in range(len(value[keyword]))
            ]
        return _accepted(value)

    def _unused(self, name: str) -> str:
        """Return a name that no component has yet: the name, or with a number."""
        numbered = (f"{name}{number}" for number in count(2))
        names = chain([name], numbered)
        return next(unused for unused in names if unused not in self.schemas)


def _name(address: _SchemaAddress) -> str:
    """Return what the object at an address is called, by its file and its last step.

    `StoresStore` is the store of responses/stores.json, `SupcRequest` the body in
    requests/supc.json.
    """
    *folders, stem = address.file.removesuffix(".json").split("/")
    words = [*folders, stem]
    if folders == ["requests"]:
        words = [stem, "request"]
    elif folders[:1] == ["responses"]:
        words = [stem]
    if address.pointer:
        words.append(address.pointer.rpartition("/")[2])
    return "".join(map(_capitalized, words))


def _target(reference: str, file: str) -> _SchemaAddress:
    """Return the address that a reference in a file leads to."""
    whole, pointer = urldefrag(urljoin(BASE + file, reference))
    return _SchemaAddress(whole.removeprefix(BASE), pointer)


def _capitalized(name: str) -> str:
    """`events_v1` → `EventsV1`, `finalPrice` → `FinalPrice`."""
    words = "".join(char if char.isalnum() else " " for char in name).split()
    return "".join(word[0].upper() + word[1:] for word in words)


def _accepted(schema: Json) -> Json:
    """Return a place of a request's schema as clients may write it.

    Where `body.coerced` accepts several types and makes one of them, several stand
    here.
    """
    description = (
        {"description": schema["description"]} if "description" in schema else {}
    )
    not_plain = (*_OTHER_SPELLINGS, "description")
    plain = {key: part for key, part in schema.items() if key not in not_plain}
    others = [
        other(plain)
        for keyword, other in _OTHER_SPELLINGS.items()
        if schema.get(keyword)
    ]
    return {**description, "anyOf": [plain, *others]} if others else schema


_DIGIT_PATTERNS: Mapping[bool, str] = {
    True: "^[1-9][0-9]{0,15}$",
    False: "^(0|[1-9][0-9]{0,15})$",
}
"""A whole number as text, by whether it is above 0."""

_OTHER_SPELLINGS: Mapping[str, Callable[[Json], Json]] = {
    "x-textual": lambda schema: {
        "type": "string",
        "pattern": _DIGIT_PATTERNS[bool(schema["minimum"])],
    },
    "x-numeric": lambda schema: {"type": "integer"},
}
"""Keyword of a request's schema → the other spelling that it admits. The service also
takes one object for a list of one (`x-single`), which the document leaves out: several
generators of clients send nothing where a list or an object may stand.
"""
