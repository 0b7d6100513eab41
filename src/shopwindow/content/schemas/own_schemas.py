"""The schemas that a content folder brings: read, checked, and written out.

Editors write these schemas, so nothing in them may stop a check or make it endless.
Therefore each `$ref` is replaced by what it names. A schema that refers to itself has no
end and is refused; where schemas refer to others again and again, they grow, and are
refused once there are more than MAX_SCHEMAS subschemas. So nothing multiplies where a
value is checked.
A pattern must be one that the linear engine can run, whose time grows with the text.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import orjson

from shopwindow.content.reading import feed, yaml
from shopwindow.content.reading.listing import LINK, link_fault
from shopwindow.content.reading.yaml import Json, Malformed, Spot
from shopwindow.content.schemas.shape import SchemaFiles
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Place, Pointer, Problem, cut

DIALECT = "https://json-schema.org/draft/2020-12/schema"

MAX_SCHEMA_BYTES = 4 * 1024 * 1024
"""Bytes of one file. An enum of 200,000 words fits; to check so much once takes two
seconds.
"""

MAX_SCHEMAS = 5_000
"""Subschemas of all files once their references are written out: twenty times those of
the program.
"""

MAX_OBJECTS = 2 * MAX_SCHEMAS
"""Objects in one file, which jsonschema judges within five seconds. A subschema is one,
and so is what stands under `properties`.
"""

MAX_PATTERNS = 1_000
PATTERN_BYTES = 512 * 1024
"""Memory of one compiled pattern, of which `^.{1,255}$` needs half. MAX_PATTERNS of
them take half a GiB at the very most.
"""

LONGEST_PATTERN = 4_096

NOT_BEFORE_A_LINE_END = r"(?!\n)$"
"""How the program's own patterns end, for readers whose `$` also matches before a line
end. JSON Schema's does not, and the linear engine has no look-ahead.
"""

_SINGLE = (
    *("not", "if", "then", "else", "items", "contains", "additionalProperties"),
    *("propertyNames", "unevaluatedProperties", "unevaluatedItems"),
)
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas")
_APART = ("$defs", "definitions")
_DROPPED = ("$id", "$schema", "$comment", *_APART)
_ANNOTATIONS = ("description", "title", "default", "examples", "x-allowed")

_NUMBERS = ("Length", "Items", "Properties", "Contains")
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
    **{
        f"{end}{of}": "a whole number, 0 or more"
        for end in ("min", "max")
        for of in _NUMBERS
    },
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "a number"
    ),
    **dict.fromkeys(_LISTED, "a list of at least one schema"),
}

_UNREAD = {
    "$dynamicRef": "$ref",
    "$recursiveRef": "$ref",
    "$anchor": 'the name under $defs, as in "#/$defs/day"',
    "$dynamicAnchor": 'the name under $defs, as in "#/$defs/day"',
}
"""Keywords that would lead to other schemas, and are not followed here, with what to
write in their place.
"""


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
        place = yaml.place_at(self.spots, pointer) or Place(1, 1, 1, 2)
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
    wanted = "a JSON Schema, which is one JSON object"
    try:
        text = yaml.decode(data)
        schema = orjson.loads(text)
        # Raises for keys that stand twice, too large numbers and too many levels.
        spots = feed.locate_text(text)
    except orjson.JSONDecodeError as error:
        place = Place(error.lineno, error.colno, error.lineno, error.colno + 1)
        return refused(f"no JSON: {error.msg}", wanted, place)
    except Malformed as fault:
        return fault.problem(path)
    if not isinstance(schema, dict):
        return refused("the schema is no JSON object", wanted)
    return Own(name, path, text, schema, spots)


# -- faults ----------------------------------------------------------------------------


def subschemas(
    schema: Json, pointer: Pointer = ()
) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield a schema and all schemas in it, with their places, except `true` and
    `false`.
    """
    if not isinstance(schema, dict):
        return
    yield pointer, schema
    for key, part in schema.items():
        inner: Iterable[tuple[Any, Json]] = ()
        if key in _SINGLE:
            yield from subschemas(part, (*pointer, key))
        elif key in _LISTED:
            inner = enumerate(part)
        elif key in (*_NAMED, *_APART):
            inner = part.items()
        for step, below in inner:
            yield from subschemas(below, (*pointer, key, step))


def faults(file: Own, shipped: frozenset[str]) -> Iterator[Problem]:
    """Yield what is wrong with an own schema by itself.

    ``shipped``: the program's own patterns, three of which look ahead. They are
    admitted, because a copy of a schema of the program may hold them.
    """
    dialect = file.schema.get("$schema", DIALECT)
    if dialect not in (DIALECT, DIALECT + "#"):
        found = f"the dialect {cut(str(dialect))}"
        allowed = f'"{DIALECT}", or no $schema'
        yield file.problem("schema.dialect", ("$schema",), found, allowed)
    elif file.text.count("{") > MAX_OBJECTS:
        found = f"the schema holds more than {MAX_OBJECTS:,} objects"
        yield file.problem("schema.size", (), found, "less in one file")
    else:
        for fault in schema_faults(file.schema, shipped):
            yield file.problem(*fault)


SchemaFault = tuple[str, Pointer, str, str]
"""What is wrong with a schema: the rule, the place in it, what is found there, and what
is allowed.
"""


def schema_faults(
    schema: Json, shipped: frozenset[str] = frozenset()
) -> Iterator[SchemaFault]:
    """Yield what is wrong with a schema that an editor wrote; ``shipped`` is as for
    `faults`.
    """
    if not _metaschema().is_valid(schema):
        yield from _by_metaschema(schema)
        return
    for pointer, part in subschemas(schema):
        yield from _by_rules(pointer, part)
        named = part.get("patternProperties", ())
        patterns: dict[Pointer, str] = {
            ("patternProperties", one): one for one in named
        }
        if "pattern" in part:
            patterns["pattern",] = part["pattern"]
        for place, pattern in patterns.items():
            if pattern not in shipped and (fault := _pattern_fault(pattern)):
                yield "schema.pattern", (*pointer, *place), *fault


def _by_metaschema(schema: Json) -> Iterator[SchemaFault]:
    """Yield what JSON Schema itself refuses in a schema, once for each place."""
    from jsonschema import Draft202012Validator

    judge = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    refused = [*judge.iter_errors(schema)]
    errors = {tuple(one.absolute_path): one for one in reversed(refused)}
    for pointer, error in errors.items():
        keyword = next(
            (step for step in reversed(pointer) if isinstance(step, str)), ""
        )
        allowed = ALLOWED_AT_KEYWORD.get(keyword, "what JSON Schema 2020-12 says")
        under = f" (under {cut(keyword)})" * bool(keyword)
        found = f"{cut(error.message, 120)}{under}"
        yield "schema.keyword", pointer, found, allowed


@cache
def _metaschema() -> Any:
    """Return a judge that is there at once: jsonschema takes 0.1 s to be imported, which
    is worth it for its words about a schema that is at fault.
    """
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator({"$ref": DIALECT})


def _by_rules(pointer: Pointer, schema: Mapping[str, Any]) -> Iterator[SchemaFault]:
    """Yield where a schema breaks the rules that this program adds to JSON Schema."""
    rule = "schema.keyword"
    if schema.get("enum") == []:
        found = "an empty list, which no value is in"
        yield "schema.enum", (*pointer, "enum"), found, "at least one value"
    for key in schema:
        place = (*pointer, key)
        if key in _UNREAD:
            yield rule, place, f"{key}, which is not read here", _UNREAD[key]
        if pointer and key in ("$id", "$schema"):
            yield rule, place, f"{key} within a schema", "a file for each schema"
    if not isinstance(schema.get("x-allowed", ""), str):
        yield rule, (*pointer, "x-allowed"), "x-allowed that is no text", "text"


def _pattern_fault(pattern: str) -> tuple[str, str] | None:
    """Return what is found and what is allowed where the linear engine cannot run a
    pattern.
    """
    from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

    shown = f"the pattern {cut(pattern)!r}"
    if len(pattern) > LONGEST_PATTERN:
        return (
            f"{shown} has {len(pattern):,} characters",
            f"at most {LONGEST_PATTERN:,}",
        )

    def compiles(limit: int) -> bool:
        try:
            Draft202012Validator(
                {"pattern": _linear(pattern)},
                pattern_options=RegexOptions(size_limit=limit),
            )
        except (ValidationError, ValueError):
            return False
        return True

    if compiles(PATTERN_BYTES):
        return None
    if compiles(16 * PATTERN_BYTES):
        return (
            f"{shown} is too large once its repetitions are written out",
            "maxLength for how long a text may be",
        )
    allowed = "a regular expression without (?=…), (?!…), (?<…) and \\1, whose time grows with the text alone"
    return f"{shown} cannot be read", allowed


def _linear(pattern: str) -> str:
    cut_off = pattern.removesuffix(NOT_BEFORE_A_LINE_END)
    return cut_off if cut_off == pattern else f"{cut_off}$"


# -- written out -----------------------------------------------------------------------


class _Endless(Exception):
    """What is found where a schema cannot be written out."""


class WritingOut:
    """Writes the references of own schemas out.

    ``own``: the own files by name; ``files``: these and the program's. ``base``: the
    URI below which names stand.
    """

    def __init__(
        self, own: Mapping[str, Own], files: Mapping[str, Json], base: str
    ) -> None:
        self._own, self._files, self._base = own, files, base
        self._uris = SchemaFiles({base + name: files[name] for name in files})
        self._left, self._patterns_left = MAX_SCHEMAS, MAX_PATTERNS

    @property
    def names(self) -> set[str]:
        """The names of own files, and of the program's that lead to one."""
        leads = {
            name: {
                self._file_of(name, part["$ref"])
                for _, part in subschemas(schema)
                if "$ref" in part
            }
            for name, schema in self._files.items()
        }
        names = set(self._own)
        while (
            more := {name for name in leads if not names.isdisjoint(leads[name])}
            - names
        ):
            names |= more
        return names

    def _file_of(self, name: str, ref: str) -> str:
        return urldefrag(urljoin(self._base + name, ref))[0].removeprefix(self._base)

    def written_out(self, name: str) -> Json | list[Problem]:
        """Return the schema of a file without references, or what is wrong with them."""
        dangling = [*self._dangling(name)]
        if dangling:
            return dangling
        try:
            return self._schema(self._files[name], name, (self._base + name,))
        except _Endless as end:
            allowed = f"at most {MAX_SCHEMAS:,} subschemas, and a $ref to another schema than the one around it"
            if name not in self._own:  # the program's one that refers to itself
                return None
            file = self._own[name]
            return [file.problem("schema.size", (), str(end), allowed)]

    def _dangling(self, name: str) -> Iterator[Problem]:
        """Yield the `$ref`s of a file that lead nowhere, or to what is no schema. Those
        of a program's schema lead to what an own file in its place lacks.
        """
        for pointer, schema in subschemas(self._files[name]):
            ref = schema.get("$ref")
            if ref is None or isinstance(self._target(name, ref)[1], dict | bool):
                continue
            if name not in self._own:
                file = self._own[self._file_of(name, ref)]
                found = f"the schema {name} refers to {ref!r}, which is missing here"
                allowed = "what the program's schema of that name has under $defs"
                yield file.problem("schema.ref", (), found, allowed)
                continue
            file = self._own[name]
            defined = [f"#/$defs/{key}" for key in file.schema.get("$defs", {})]
            found = f"the $ref {cut(ref)!r} leads nowhere"
            yield file.problem(
                "schema.ref",
                (*pointer, "$ref"),
                found,
                ALLOWED_AT_KEYWORD["$ref"],
                nearest(ref, defined),
            )

    def _target(self, name: str, ref: str) -> tuple[str, Json]:
        """Return the address that a `$ref` in a file names, and the schema there."""
        address = urljoin(self._base + name, ref)
        file = self._file_of(name, ref)
        try:
            _, schema = self._uris.target(address)
        except (LookupError, TypeError):
            return address, None
        is_schema = any(part is schema for _, part in subschemas(self._files[file]))
        return address.removesuffix("#"), schema if is_schema else None

    def _schema(self, schema: Json, file: str, within: tuple[str, ...]) -> Json:
        """Return a schema of a file without references. ``within``: the addresses that
        led here. Raises _Endless.
        """
        if not isinstance(schema, dict):
            return schema
        self._left -= 1
        self._patterns_left -= ("pattern" in schema) + len(
            schema.get("patternProperties", ())
        )
        if min(self._left, self._patterns_left) < 0:
            what = (
                f"{MAX_SCHEMAS:,} subschemas"
                if self._left < 0
                else f"{MAX_PATTERNS:,} patterns"
            )
            raise _Endless(
                f"here schemas multiply: more than {what}, once references are written out"
            )
        out = {
            key: self._part(key, part, file, within)
            for key, part in schema.items()
            if key not in _DROPPED and key != "$ref"
        }
        if "$ref" not in schema:
            return out
        address, target = self._target(file, schema["$ref"])
        if address in within:
            raise _Endless("the schema refers to itself, without end")
        name = self._file_of(file, schema["$ref"])
        referred = self._schema(target, name, (*within, address))
        if not isinstance(referred, dict):
            return {**out, "allOf": [*out.get("allOf", ()), referred]}
        merged = {**referred, **out}
        # Where both say something under one keyword, both must hold.
        if any(key in referred for key in out if key not in _ANNOTATIONS):
            merged["allOf"] = [*out.get("allOf", ()), referred]
        return merged

    def _part(self, key: str, part: Json, file: str, within: tuple[str, ...]) -> Json:
        if key in _NAMED:
            return {
                name: self._schema(each, file, within) for name, each in part.items()
            }
        if key in _LISTED:
            return [self._schema(each, file, within) for each in part]
        if key == "pattern":
            return _linear(part)
        return self._schema(part, file, within) if key in _SINGLE else part
