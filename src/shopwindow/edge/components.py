"""The schemas of the OpenAPI document: every object under a name, all else in place.

How this works. Generators of clients make a type of each named component. They follow a
reference to a component, most of them fail at a reference into one, and where an object
has no name they invent one. So each object with listed properties becomes a component,
and each text, number, list or open map is written where it is used. Only what a
response or a body needs is taken over: of a schema for editors that lends a response
one definition, just that definition.

A body is described as strictly as it is judged. An answer is described openly: a client
that an app shipped years ago meets members and words that came later. So no object of an
answer is closed, and a list of words is a text whose description names them.
"""

from itertools import chain, count
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import BASE, Schemas
from shopwindow.interface.formats import GENERAL_ROOT, JSON, XML, root_name

_REFERENCE = "#/components/schemas/"

_LEFT_OUT = ("$id", "$schema", "$defs", "examples", "title")
"""Keywords at the top of a file that mean nothing in a component. Its examples stand
beside the response or the body. A title is for editors: generators of clients would
name classes by it.
"""

_WITH_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties"})
_WITH_SCHEMAS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_WITH_SCHEMA = frozenset({"items", "additionalProperties", "propertyNames", "not"})
"""Keywords whose values are schemas: in an object, in a list, or one alone."""

_OWN_KEYWORDS = "x-"
"""How keywords begin that steer messages about content, and how the service reads a body. It
admits other spellings, such as a number as text. The document names the plain one:
generators of clients send nothing where one of several types may stand.
"""

_OF_VALUES = frozenset({"enum", "const"})
"""Keywords that list values. At a boolean they are left out: generators of clients make
texts of them, and refuse a true for not being "true".
"""

_MOST_OF_32_BITS = 2**31 - 1
"""The largest whole number of the type that generators make without a format."""


class _SchemaAddress(NamedTuple):
    """Where a schema stands: a file below schemas/, and the steps into it.

    ``of_body``: it describes a part of a body, not of an answer.
    """

    file: str
    steps: tuple[str, ...] = ()
    of_body: bool = False

    def below(self, *steps: str) -> "_SchemaAddress":
        """Return the address of a part of the schema."""
        return self._replace(steps=(*self.steps, *steps))


class Components:
    """The components that have been referred to so far, in ``schemas`` by name.

    ``files``: the schemas that they are made of.
    """

    def __init__(self, files: Schemas) -> None:
        self.schemas: dict[str, Json] = {}
        self.files = files
        self._names: dict[_SchemaAddress, str] = {}

    def media(self, file: str, *, of_body: bool = False) -> dict[str, Json]:
        """Return an answer, or a body, in both formats, which have one schema.

        It is a reference to a component, or the schema itself where it is no object.

        Args:
            file: the file below schemas/, such as responses/stores.json.
            of_body: it describes a body, not an answer.
        """
        schema = self._use(_SchemaAddress(file, of_body=of_body))
        root = root_name(self.files.shape(file))
        if of_body and root == GENERAL_ROOT:
            root = "request"
        media: dict[str, Json] = {
            JSON.media_type: {"schema": schema},
            XML.media_type: {"schema": {**schema, "xml": {"name": root}}},
        }
        if examples := self.files[file].get("examples"):
            media[JSON.media_type]["example"] = examples[0]
        return media

    def name_of_body(self, file: str) -> str:
        """Return the name of the component that a body's whole schema is."""
        return self._names[_SchemaAddress(file, of_body=True)]

    def _use(self, address: _SchemaAddress, name: str = "") -> Json:
        """Return what stands for the schema at an address.

        ``name``: what an object is called that has no name of its own.
        """
        schema, place = self._at(address), address
        beside: Json = {}
        while "$ref" in schema:
            place = _target(schema["$ref"], place)
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
        schema: Json = self.files.written(address.file)
        for step in address.steps:
            schema = schema[int(step) if isinstance(schema, list) else step]
        return {key: part for key, part in schema.items() if key not in _LEFT_OUT}

    def _placed(self, schema: Json, place: _SchemaAddress, name: str) -> Json:
        """Return a schema as it stands in the document, with its parts.

        ``name``: of the component that it is, or of the object that stands in it.
        """
        left_out = _OF_VALUES if schema.get("type") == "boolean" else ()
        if not place.of_body:
            schema = _opened(schema)
        value = {
            key: part
            for key, part in schema.items()
            if key not in left_out and not key.startswith(_OWN_KEYWORDS)
        }
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
        return wide(value)

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
    words += address.steps[-1:]
    return "".join(map(_capitalized, words))


def _target(reference: str, place: _SchemaAddress) -> _SchemaAddress:
    """Return the address that a reference at another address leads to."""
    file, pointer = urldefrag(urljoin(BASE + place.file, reference))
    steps = [
        step.replace("~1", "/").replace("~0", "~")
        for step in unquote(pointer).split("/")[1:]
    ]
    return place._replace(file=file.removeprefix(BASE), steps=tuple(steps))


def _capitalized(name: str) -> str:
    """`events_v1` → `EventsV1`, `finalPrice` → `FinalPrice`."""
    words = "".join(char if char.isalnum() else " " for char in name).split()
    return "".join(word[0].upper() + word[1:] for word in words)


def _opened(schema: Json) -> Json:
    """Return a schema of an answer as one that holds for later programs too.

    An object may get members, and a list of words may grow.
    """
    schema = dict(schema)
    if schema.get("additionalProperties") is False:
        del schema["additionalProperties"]
    if schema.get("type") == "string" and "enum" in schema:
        words = ", ".join(schema.pop("enum"))
        about = schema.get("description", "")
        schema["description"] = f"{about} Words so far: {words}.".strip()
    return schema


def wide(schema: Json) -> Json:
    """Return a schema that says where a whole number needs 64 bits.

    Without a format, generators of clients make an integer of 32 bits of it.
    """
    is_integer = schema.get("type") == "integer"
    if is_integer and schema.get("maximum", _MOST_OF_32_BITS + 1) > _MOST_OF_32_BITS:
        return {**schema, "format": "int64"}
    return schema
