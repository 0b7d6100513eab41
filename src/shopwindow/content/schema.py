"""The JSON Schemas, compiled once: is a value valid, what is wrong with it, what does a
property mean.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import orjson

from shopwindow.content import own_schemas
from shopwindow.content.explaining import Enough, counted, explaining, extras, matcher
from shopwindow.content.listing import below
from shopwindow.content.own_schemas import Own
from shopwindow.content.yaml import Json
from shopwindow.problems import LONGEST, Failure, Pointer, Problem, cut, nearest, pointer_text

BASE = "https://shopwindow.example/schemas/"

SITE_SCHEMA, PARTS = "site.json", "site/"
"""The schema of site.yaml, and the folder of the parts that families add to it."""

OF_A_FILE = ("$schema", "$id", "description", "type")
"""What each part says of itself alone, and is not merged."""

_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
LAYOUTS = {
    "object": "lines of `key: value` below, indented",
    "array": "entries in brackets, `[a, b]`, or below with `- `",
}
"""How YAML writes what is wanted: advice for editors, not for who sends JSON."""

_FORMATS = {
    "date": "a day as YYYY-MM-DD",
    "date-time": "a time as YYYY-MM-DDTHH:MM:SS+HH:MM",
    "uri": "a URL",
}
# Keyword → what was found ({0} is the value, {1} its size), what is allowed instead ({0} is the
# keyword's value).
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
_LEAST = {
    "minLength": "some text",
    "minItems": "at least {0} in the list",
    "minProperties": "at least {0} of its keys",
}


MAX_FINDINGS = 10_000
"""Of one document: ten times what `check` prints of all, unless it is asked for more. Beyond,
each costs 1 ms alike.
"""

_MOST_CHOICES = 40
"""Allowed values or names that a message lists: a few lines of a terminal."""

_MOST_COMPARED = 1000
"""Words that are compared with a misspelt one: 20 ms, where a schema may allow 200,000."""

_LONGEST_ABOUT = 1000
"""Characters of a description that a message repeats: the program's own have 300 at most."""

NOTHING = "nothing is written here"
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


NumberAt = Callable[[Pointer], str | None]
"""How the number at a place is written; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong in one document, not yet located in a file.

    ``on_key``: the key is the fault, not the value. ``missing``: the key that is missing at
    ``pointer``. ``beside``: another place that has to do with it, whose file ``found`` ends
    with: the file, the document's number in a list or feed, and the pointer.
    """

    rule: str
    pointer: Pointer
    found: str
    allowed: str = ""
    about: str = ""
    nearest: str = ""
    on_key: bool = False
    missing: str | None = None
    beside: tuple[str, int | None, Pointer] | None = None


def shown(value: Json, limit: int = LONGEST) -> str:
    """A value as a message quotes it: text in quotes, anything else as JSON, cut to a line."""
    if isinstance(value, str):
        text = repr(value)
    elif isinstance(value, dict):
        return "an object"
    elif isinstance(value, list):
        return "a list"
    else:
        text = orjson.dumps(value).decode()
    return cut(text, limit)


class Shape:
    """One place of a schema, `$ref` followed: what a decoder or a message needs to know about
    it.
    """

    def __init__(self, schemas: "Schemas", base: str, schema: Mapping[str, Any]) -> None:
        self._schemas = schemas
        merged: dict[str, Any] = dict(schema)
        while "$ref" in merged:
            uri = urljoin(base, merged.pop("$ref"))
            base, target = schemas.target(uri)
            merged = {**target, **merged}
        self._base = base
        self._schema = merged
        self._known: dict[str, Shape | None] = {}

    @property
    def type(self) -> str:
        """The one JSON type of this place."""
        kind = self._schema.get("type", "object" if "properties" in self._schema else "string")
        return str(kind[0] if isinstance(kind, list) else kind)

    @property
    def description(self) -> str:
        return cut(str(self._schema.get("description", "")), _LONGEST_ABOUT)

    def keyword(self, name: str) -> Any:
        """What the schema says under a keyword at this place, or None."""
        return self._schema.get(name)

    @property
    def properties(self) -> tuple[str, ...]:
        return tuple(self._schema.get("properties", ()))

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(self._schema.get("required", ()))

    def property(self, name: str) -> "Shape | None":
        """The place below ``name``, if the schema has one."""
        if name not in self._known:
            schema = self._schema.get("properties", {}).get(
                name, self._schema.get("additionalProperties")
            )
            self._known[name] = (
                Shape(self._schemas, self._base, schema) if isinstance(schema, dict) else None
            )
        return self._known[name]

    @cached_property
    def items(self) -> "Shape | None":
        """The place of an array's items."""
        schema = self._schema.get("items")
        return Shape(self._schemas, self._base, schema) if isinstance(schema, dict) else None

    def at(self, pointer: Pointer) -> "Shape | None":
        """The place that ``pointer`` leads to."""
        shape: Shape | None = self
        for step in pointer:
            if shape is None:
                return None
            shape = shape.items if isinstance(step, int) else shape.property(step)
        return shape


class Schemas:
    """All schemas of some folders, by file name.

    A later folder's file stands on top of an earlier one's: what both say holds, but for the
    keys that the earlier one does not know. Whoever looks at a document then finds in it what
    the program's own schema promises.

    site.yaml's schema is put together from site.json and a part for each family,
    site/<family>.json. Of the first folder's parts only those of ``families`` count; None: all.

    The first folder is the program's, and so are those ``brought`` by an Interface, whose files
    take the place of the first one's; faults in them are a Failure. Later ones are editors':
    ``problems`` holds what is wrong there. While there is anything, documents are checked by
    the program's schemas alone.
    """

    def __init__(
        self,
        folders: Iterable[Path],
        brought: Iterable[Path] = (),
        families: Collection[str] | None = None,
    ) -> None:
        self._files: dict[str, Any] = {}
        self._below: Schemas | None = None
        self.problems: tuple[Problem, ...] = ()
        digest = sha256()
        for folder in folders:
            if self._files:
                self._lay_on_top(folder, digest)
                continue
            self._take(folder, digest, families)
            for brought_folder in brought:
                self._take(brought_folder, digest, None)
            self._merge_parts(folder)
        self.digest = digest.hexdigest()
        self._fast: dict[str, Any] = {}
        self._slow: dict[str, Any] = {}
        self._shapes: dict[str, Shape] = {}

    def _take(self, folder: Path, digest: Any, families: Collection[str] | None) -> None:
        """Take the schemas of a folder that a programmer wrote, without the parts of other families.

        Raises Failure for a family that has no part.
        """
        names = below(folder, ".json")
        if families is not None:
            parts = {f"{PARTS}{family}.json" for family in families}
            if missing := sorted(parts.difference(names)):
                raise Failure(
                    f"{folder / missing[0]}: is not there, and the interface names its family"
                )
            names = [name for name in names if not name.startswith(PARTS) or name in parts]
        for name in names:
            path = folder / name
            data = _bytes(path)
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
            self._files[name] = _schema(path, data) | {"$id": BASE + name}

    def _merge_parts(self, folder: Path) -> None:
        """Merge the families' parts of site.yaml's schema, site/<family>.json, into the
        engine's, site.json.

        What each part says stands in the merged schema at the same place, so its references are
        as if it stood in site.json. Raises Failure where two parts say something else at one
        place.
        """
        parts = [name for name in self._files if name.startswith(PARTS)]
        whole = self._files.get(SITE_SCHEMA, {})
        for name in parts:
            part = {
                key: said for key, said in self._files.pop(name).items() if key not in OF_A_FILE
            }
            whole = _merged(whole, part, f"{folder / name}", ())
        if parts:
            self._files[SITE_SCHEMA] = whole

    def _lay_on_top(self, folder: Path, digest: Any) -> None:
        """Take the schemas of a folder of one's own, if all of them are without fault."""
        read = [own_schemas.read(folder, name) for name in below(folder, ".json")]
        own = {file.name: file for file in read if isinstance(file, Own)}
        problems = [file for file in read if isinstance(file, Problem)]
        files = {
            name: own_schemas.linear(file.schema) | {"$id": BASE + name}
            for name, file in own.items()
        }
        problems += own_schemas.faults(own, self._files, BASE, whole=not problems)
        for name, file in own.items():
            data = file.text.encode()
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
        if problems:
            self.problems = (*self.problems, *problems)
        elif files:
            self._below = self._opened()
            self._files = self._files | files

    def with_files(self, files: Mapping[str, Any], state: bytes) -> "Schemas":
        """Return these schemas with others that stand in no folder, by file name; they replace
        those of their names.

        ``state`` is all that they were made from, and goes into the digest.
        """
        more = Schemas(())
        more._files = self._files | {
            name: {**schema, "$id": BASE + name} for name, schema in files.items()
        }
        more._below, more.problems = self._below, self.problems
        more.digest = sha256(self.digest.encode() + state).hexdigest()
        return more

    def _opened(self) -> "Schemas":
        """The same schemas, in which an object may have keys that they do not know."""
        opened = Schemas(())
        opened._files, opened._below = _open(self._files), self._below
        return opened

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._files))

    def __getitem__(self, name: str) -> Any:
        return self._files[name]

    def target(self, uri: str) -> tuple[str, Any]:
        """The base URI and the schema that an absolute ``$ref`` names."""
        base, fragment = urldefrag(uri)
        schema = self._files[base.removeprefix(BASE)]
        for step in filter(None, fragment.split("/")):
            schema = schema[step.replace("~1", "/").replace("~0", "~")]
        return base, schema

    def shape(self, name: str) -> Shape:
        if name not in self._shapes:
            self._shapes[name] = Shape(self, BASE + name, self._files[name])
        return self._shapes[name]

    def shapes(self, name: str) -> tuple[Shape, ...]:
        """Return the place of a whole document in each schema that holds for it: in a content
        folder's own, and below that in the program's.
        """
        upper = (self.shape(name),)
        if self._below is None or name not in self._below._files:
            return upper
        return (*upper, *self._below.shapes(name))

    def about(self, name: str, pointer: Pointer) -> str:
        """The description of a place, or of the nearest place around it that has one."""
        return _about(self.shape(name), pointer)

    def valid(self, name: str, value: Json) -> bool:
        """Whether ``value`` satisfies the schema ``name``, formats included. About 1 µs for a
        small record.
        """
        return bool(self.validator(name).is_valid(value)) and (
            self._below is None or self._below.admits(name, value)
        )

    def admits(self, name: str, value: Json) -> bool:
        """Whether there is no schema ``name`` that refuses ``value``."""
        return name not in self._files or self.valid(name, value)

    def checker(self, name: str) -> Callable[[Json], bool]:
        """`valid` of one schema, as fast as it can be had."""
        is_valid: Callable[[Json], bool] = self.validator(name).is_valid
        return is_valid if self._below is None else partial(self.valid, name)

    def validator(self, name: str) -> Any:
        """The compiled jsonschema-rs validator of the schema ``name``, without regard to one
        that stands below it.
        """
        if name not in self._fast:
            from jsonschema_rs import Draft202012Validator

            schema = self._files[name]
            try:
                self._fast[name] = Draft202012Validator(
                    schema, registry=self._registry, validate_formats=True
                )
            except ValueError as error:
                raise Failure(
                    f"the schema {name} is no JSON Schema: {str(error).splitlines()[0]}"
                ) from None
            if self._below and name in self._below._files:
                self._below.validator(
                    name
                )  # compiled now, for processes that are forked from this one
        return self._fast[name]

    @cached_property
    def _registry(self) -> Any:
        from jsonschema_rs import Registry

        return Registry([(BASE + name, schema) for name, schema in self._files.items()])

    def explainer(self, name: str) -> Any:
        """The jsonschema validator of the schema ``name``: slower by two orders, and it says
        what is wrong where.
        """
        if name not in self._slow:
            from referencing import Registry
            from referencing.jsonschema import DRAFT202012

            files = {key: _without_dialect(schema) for key, schema in self._files.items()}
            resources = [
                (BASE + key, DRAFT202012.create_resource(schema))
                for key, schema in files.items()
            ]
            registry: Any = Registry().with_resources(resources)
            self._slow[name] = explaining()(files[name], registry=registry)
        return self._slow[name]

    def findings(
        self,
        name: str,
        value: Json,
        limit: int | None = MAX_FINDINGS,
        written: NumberAt = lambda pointer: None,
    ) -> list[Finding]:
        """Everything that is wrong with ``value`` by the schema ``name``; nothing exactly when
        it is valid.

        ``limit``: no more than so many are looked for, of those at least one. ``written``: how
        a number is written at its place, where that is known; 5.10 is a number that nobody
        shows so.

        JSON Schema takes 7.0 for an integer; answers would then say 7.0 where apps read 7, so
        it is a finding here.
        """
        found = self._findings(name, value, limit, written)
        if self._below and name in self._below._files:
            places = {(finding.pointer, finding.missing) for finding in found}
            more = self._below.findings(name, value, limit, written)
            found += [
                finding for finding in more if (finding.pointer, finding.missing) not in places
            ]
        return found

    def _findings(
        self, name: str, value: Json, limit: int | None, written: NumberAt
    ) -> list[Finding]:
        shape = self.shape(name)
        fractions = list(islice(_fractions(shape, value, (), written), limit))
        if self.validator(name).is_valid(value):
            return fractions
        found: dict[Any, Finding] = {}
        explained = self._explained(name, value, shape, written)
        for finding in (
            *fractions,
            *islice(explained, limit),
        ):  # of two keywords that want the same the first
            wanted = finding.allowed or finding.found
            found.setdefault(
                (finding.pointer, finding.missing, finding.on_key, wanted), finding
            )
        return list(found.values())

    def _explained(
        self, name: str, value: Json, shape: Shape, written: NumberAt
    ) -> Iterator[Finding]:
        """What is wrong by the explainer; and by the fast validator, in its own words, what
        only that refuses.
        """
        silent = True
        try:
            with counted():
                for error in self.explainer(name).iter_errors(value):
                    for finding in _explain(error, shape, written):
                        silent = False
                        yield finding
        except Enough:
            found = "there is more to look at here than is explained at once"
            yield Finding(
                "schema.budget", (), found, "what is said of it mended first; then check again"
            )
        if not (silent or self._unevaluated):
            return
        for error in islice(self.validator(name).iter_errors(value), MAX_FINDINGS):
            pointer = tuple(error.instance_path)
            if silent or str([*error.schema_path, ""][-2]).startswith("unevaluated"):
                yield Finding(
                    "schema.other", pointer, error.message[:200], about=_about(shape, pointer)
                )

    @cached_property
    def _unevaluated(self) -> bool:
        """Whether a schema may say `unevaluatedProperties` or `unevaluatedItems`, of which the
        explainer is silent.
        """
        return any(b'"unevaluated' in orjson.dumps(schema) for schema in self._files.values())


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise Failure(f"{path}: a schema is a file")
        return path.read_bytes()
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror}") from None


def _schema(path: Path, data: bytes) -> Any:
    try:
        schema = orjson.loads(data)
    except ValueError as error:
        raise Failure(f"{path}: the schema is no JSON: {error}") from None
    if not isinstance(schema, dict):
        raise Failure(f"{path}: the schema is no JSON object")
    return schema


def _merged(one: Any, other: Any, source: str, pointer: Pointer) -> Any:
    """Return two parts of a schema as one; ``source`` is the file of the second. Raises Failure
    where they differ.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        merged = dict(one)
        for key, said in other.items():
            merged[key] = (
                _merged(one[key], said, source, (*pointer, key)) if key in one else said
            )
        return merged
    if one != other:
        raise Failure(
            f"{source}: {pointer_text(pointer)} stands in another part of site.yaml's schema already"
        )
    return one


def _open(schema: Any) -> Any:
    """A schema without its word that an object may have no other keys."""
    if isinstance(schema, list):
        return [_open(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _open(part)
        for key, part in schema.items()
        if key != "additionalProperties" or part is not False
    }


def _without_dialect(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without `$schema`, by which jsonschema would choose another class than ours."""
    return {key: part for key, part in schema.items() if key != "$schema"}


def _fractions(
    shape: Shape | None, value: Json, pointer: Pointer, written: NumberAt
) -> Iterator[Finding]:
    """Whole numbers that are written with a fraction of zero."""
    if shape is None:
        return
    if isinstance(value, float) and shape.type == "integer" and value.is_integer():
        allowed = "a whole number without a fraction" + (
            f": {value:.0f}" if abs(value) < 1e15 else ""
        )
        found = f"{written(pointer) or shown(value)} has a fraction"
        yield Finding("schema.fraction", pointer, found, allowed, shape.description)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _fractions(shape.property(key), item, (*pointer, key), written)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _fractions(shape.items, item, (*pointer, index), written)


def _about(shape: Shape, pointer: Pointer) -> str:
    """The description of a place, or of the nearest place around it that has one."""
    for length in range(len(pointer), 0, -1):
        place = shape.at(pointer[:length])
        if place is not None and place.description:
            return place.description
    return ""


def _explain(error: Any, shape: Shape, written: NumberAt) -> Iterator[Finding]:
    """One error of jsonschema in an editor's words."""
    keyword, value, instance = error.validator, error.validator_value, error.instance
    pointer: Pointer = tuple(error.absolute_path)
    seen = (isinstance(instance, float) and cut(written(pointer) or "")) or shown(instance)
    schema = error.schema if isinstance(error.schema, dict) else {}
    in_name = "propertyNames" in error.absolute_schema_path
    where = (*pointer, instance) if in_name and isinstance(instance, str) else pointer
    about = _about(shape, pointer)
    rule = f"schema.{keyword or 'false'}"
    if keyword == "type":
        if "enum" not in schema:  # which says what is allowed
            named = schema.get("x-allowed", "")
            yield _wrong_type(pointer, instance, seen, value, shape.at(pointer), named, about)
    elif keyword in ("required", "dependentRequired"):
        for name in _missing(keyword, value, instance):
            about = _about(shape, (*pointer, name))
            allowed = _wanted(shape.at((*pointer, name)))
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
        known = tuple(schema.get("properties", ()))
        allowed = _listed(known) or "nothing"
        for name in extras(schema, instance):
            found = f"{shown(name)} is not known here"
            yield Finding(
                rule, (*pointer, name), found, allowed, about, _nearest(name, known), True
            )
    elif keyword in ("enum", "const"):
        choices = value if keyword == "enum" else [value]
        close = _nearest(instance if isinstance(instance, str) else seen, choices)
        allowed = _listed(choices)
        found = NOTHING if instance == "" else f"{seen} is not one of the allowed values"
        yield Finding(rule, where, found, allowed, about, close, in_name)
    elif keyword in ("pattern", "format"):
        allowed = schema.get("x-allowed") or _FORMATS.get(
            str(value), f"text of the form {cut(str(value), 200)}"
        )
        found = NOTHING if instance == "" else f"{seen} {_misfit(instance, value)}"
        yield Finding(rule, where, found, allowed, about, on_key=in_name)
    elif keyword == "uniqueItems":
        second = _second(instance)
        found = f"{shown(instance[second[0]]) if second else 'an entry'} stands in the list a second time"
        yield Finding(rule, (*pointer, *second), found, "each entry once", about)
    elif keyword in _BOUND_WORDS:
        found, allowed = _BOUND_WORDS[keyword]
        named, empty = schema.get("x-allowed"), instance in ("", [], {}) and keyword in _LEAST
        if empty:
            found, allowed = NOTHING, _LEAST[keyword]
        allowed = allowed.format(value)
        if named:
            allowed = named if empty else f"{named}, {allowed}"
        size = f"{len(instance):,}" if isinstance(instance, (str, list, dict)) else ""
        yield Finding(rule, where, found.format(seen, size), allowed, about, on_key=in_name)
    elif (
        keyword is None or value == {}
    ):  # `false` and `not: {}`: whatever stands here is too much
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


def _wanted(place: Shape | None) -> str:
    """What may stand at a place where nothing does."""
    if place is None:
        return ""
    named, choices = place.keyword("x-allowed"), place.keyword("enum")
    return str(named or (choices and _listed(choices)) or _TYPES.get(place.type, ""))


def _listed(choices: Sequence[Json]) -> str:
    """Values or names by comma, as many as a message may hold."""
    text = ", ".join(cut(str(choice)) for choice in choices[:_MOST_CHOICES])
    return text + f", … ({len(choices):,} in all)" * (len(choices) > _MOST_CHOICES)


def _nearest(word: str, choices: Sequence[Json]) -> str:
    """The choice that is most like a word; of very many, among those that begin like it."""
    words = [str(choice) for choice in choices if not isinstance(choice, (dict, list))]
    if len(words) > _MOST_COMPARED:
        start = word[:2].casefold()
        words = [choice for choice in words if choice[:2].casefold() == start][:_MOST_COMPARED]
    return nearest(word, words)


def _wrong_type(
    pointer: Pointer,
    instance: Json,
    seen: str,
    types: Json,
    place: Shape | None,
    named: str,
    about: str,
) -> Finding:
    names: list[str] = types if isinstance(types, list) else [types]
    kind, wanted = " or ".join(_TYPES.get(name, name) for name in names), names[0]
    found = NOTHING if instance == "" else f"{seen} is not {kind}"
    allowed = f"{kind}: {LAYOUTS[wanted]}" if wanted in LAYOUTS else kind
    named = named or str((place and place.keyword("x-allowed")) or "")
    return Finding(
        "schema.type",
        pointer,
        found,
        _advice(instance, seen, wanted, place) or named or allowed,
        about,
    )


def _advice(instance: Json, seen: str, wanted: str, place: Shape | None) -> str:
    """What to write in place of a value of the wrong type, where that can be guessed; nothing
    elsewhere.
    """
    text = instance if isinstance(instance, str) else seen
    if (
        not isinstance(instance, (str, int, float))
        or not 0 < len(text) <= LONGEST
        or seen.endswith("…")
    ):
        return ""
    if wanted == "string":
        return f'text: put it in quotes, "{text}"' if _fits(text, place) else ""
    if wanted == "array":
        items = place.items if place else None
        item = _as_part(instance, text, items)
        return f"a list: `[{item}]`" if item else f"a list; each entry: {_wanted(items)}"
    if wanted == "object" and place is not None and len(place.required) == 1:
        (name,) = place.required
        part = _as_part(instance, text, place.property(name))
        return f"an object: `{{{name}: {part}}}`" if part else ""
    if wanted == "boolean" and isinstance(instance, str) and text.lower() in ("true", "false"):
        return f"{_TYPES[wanted]}, in small letters and without quotes"
    if wanted in ("integer", "number") and isinstance(instance, str):
        return _as_number(text, wanted)
    return ""


def _as_part(instance: Json, text: str, place: Shape | None) -> str:
    """A scalar as it is written in a list or an object; nothing where it would be refused
    there, too.

    Truth in a list of texts is written TRUE and FALSE (wire shapes §3).
    """
    kind, is_number = (
        place.type if place else "",
        isinstance(instance, (int, float)) and not isinstance(instance, bool),
    )
    if kind == "string":
        text = text.upper() if isinstance(instance, bool) else text
        return "" if not _fits(text, place) else f'"{text}"' if is_number else text
    if kind in ("integer", "number"):
        return text if is_number or re.fullmatch("-?[0-9]{1,15}", text) else ""
    return text if not kind or (kind == "boolean" and isinstance(instance, bool)) else ""


def _fits(text: str, place: Shape | None) -> bool:
    """Whether a text, as far as can be told, is of the form that a place wants."""
    if place is None:
        return True
    choices, pattern, form = (
        place.keyword("enum"),
        place.keyword("pattern"),
        place.keyword("format"),
    )
    of_form = form is None or (form == "date" and _DAY.fullmatch(text) is not None)
    return (
        of_form and (not choices or text in choices) and (not pattern or matcher(pattern)(text))
    )


def _as_number(text: str, wanted: str) -> str:
    kind = _TYPES[wanted]
    if re.fullmatch(r"0+[0-9]+", text):
        return f"{kind}, without leading zeros: {int(text)}" if len(text) < 20 else kind
    if re.fullmatch(r"-?[0-9]{1,15}", text):
        return f"{kind}, without quotes: {text}"
    if wanted == "number" and re.fullmatch(r"-?[0-9]+,[0-9]+", text):
        return f"{kind}, with a decimal point: {text.replace(',', '.')}"
    return ""


def _misfit(text: Json, wanted: Json) -> str:
    if wanted == "date" and isinstance(text, str) and _DAY.fullmatch(text):
        return "does not exist in the calendar"
    return "does not have the right form"


def _second(items: list[Json]) -> Pointer:
    """Where the first item stands that stands before it already."""
    seen: set[bytes] = set()
    for index, item in enumerate(items):
        written = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        if written in seen:
            return (index,)
        seen.add(written)
    return ()  # 1 and 1.0, which JSON Schema holds for equal


def _missing(keyword: str, value: Any, instance: Any) -> list[str]:
    if keyword == "required":
        return [name for name in value if name not in instance]
    return [
        name
        for key, names in value.items()
        if key in instance
        for name in names
        if name not in instance
    ]
