"""What is wrong with the schemas that a content folder brings, each fault at its place in its
file.

Editors write these schemas, so nothing in them may stop a check or make it endless. Three rules
see to that. A pattern must be one that the linear engine knows, so that no text takes longer
than its length. A schema may lead to a bounded number of others for one value, however its
`$ref`s multiply. And a file has a size.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import orjson

from shopwindow.content import feed, yaml
from shopwindow.content.yaml import Json, Malformed, Spot
from shopwindow.problems import Place, Pointer, Problem, cut, nearest

DIALECT = "https://json-schema.org/draft/2020-12/schema"

MAX_SCHEMA_BYTES = 4 * 1024 * 1024
"""Of one file: an enum of 200,000 words fits; to look at as much once takes two seconds."""

MAX_SCHEMAS = 5_000
"""Subschemas in all own files: twenty times those of the program, and counted in a second."""

MAX_EVALUATIONS = 100_000
"""Subschemas that may look at one value and what it holds: 2 ms of jsonschema-rs's time."""

MAX_PATTERNS = 1_000
PATTERN_BYTES = 512 * 1024
"""Memory of one compiled pattern: `^.{1,255}$` needs half of it. 1,000 of them take half a GiB
at the very most.
"""

LONGEST_PATTERN = 4_096

NOT_BEFORE_A_LINE_END = r"(?!\n)$"
"""How the program's own patterns end, for readers whose `$` matches before a line end too. JSON
Schema's does not.
"""

# Where a schema holds others. Those of the first three look at the same value as the schema
# does.
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

_ALLOWED = {
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
_ALLOWED |= dict.fromkeys(
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
_ALLOWED |= dict.fromkeys(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "a number"
)
_ALLOWED |= dict.fromkeys(_SAME_LISTED, "a list of at least one schema")

_UNREAD = {
    "$dynamicRef": "$ref",
    "$recursiveRef": "$ref",
    "$anchor": 'the name under $defs, as in "#/$defs/day"',
    "$dynamicAnchor": 'the name under $defs, as in "#/$defs/day"',
}
"""Keywords that a reader of schemas would have to follow, and none here does. What to write in
their place.
"""

Node = tuple[str, Pointer]
"""A subschema: the name of its file, and where it stands there."""


@dataclass(frozen=True)
class Own:
    """One own schema file that is JSON. ``path`` is as problems name it."""

    name: str
    path: str
    text: str
    schema: dict[str, Any]

    def problem(
        self, rule: str, pointer: Pointer, found: str, allowed: str, close: str = ""
    ) -> Problem:
        spot = yaml.spot(_spots(self.text), pointer)
        place = spot.value if spot else Place(1, 1, 1, 2)
        return Problem(rule, self.path, found, place, pointer, allowed, nearest=close)


@cache
def _spots(text: str) -> Mapping[Pointer, Spot]:
    return feed.locate_text(text)


def read(folder: Path, name: str) -> Own | Problem:
    """The schema in one file, or what keeps it from being one. Its `$id` is not looked at."""
    path, start = f"{folder.name}/{name}", Place(1, 1, 1, 2)

    def refused(found: str, allowed: str, place: Place = start) -> Problem:
        return Problem("schema.file", path, found, place, (), allowed)

    file = folder / name
    try:
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
        _spots(text)  # keys that stand twice, numbers beyond all sense, 64 levels
    except orjson.JSONDecodeError as error:
        place = Place(error.lineno, error.colno, error.lineno, error.colno + 1)
        return refused(
            f"no JSON: {error.msg}", "a JSON Schema, which is one JSON object", place
        )
    except Malformed as fault:
        return Problem(fault.rule, path, fault.found, fault.place, fault.pointer, fault.allowed)
    if not isinstance(schema, dict):
        return refused(
            "the schema is no JSON object", "a JSON Schema, which is one JSON object"
        )
    return Own(name, path, text, schema)


def linear(schema: Json) -> Json:
    """A schema whose patterns end in `$` where they end in `(?!\\n)$`, which only the program's
    engine would know.
    """
    if isinstance(schema, list):
        return [linear(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {}
    for key, part in schema.items():
        is_pattern = key == "pattern" and isinstance(part, str)
        changed[key] = _without_line_end(part) if is_pattern else linear(part)
    return changed


def _without_line_end(pattern: str) -> str:
    return pattern.removesuffix(NOT_BEFORE_A_LINE_END) + "$" * pattern.endswith(
        NOT_BEFORE_A_LINE_END
    )


def faults(
    own: Mapping[str, Own], others: Mapping[str, Json], base: str, *, whole: bool
) -> Iterator[Problem]:
    """Everything that is wrong with own schemas.

    ``own``: by file name. ``others``: the program's, likewise. ``base``: the URI that names
    stand below. ``whole``: whether every own file could be read; else nothing is said of where
    references lead.
    """
    patterns = 0
    shipped = frozenset(_patterns_in(list(others.values())))
    places: dict[str, set[Pointer]] = {}
    for file in own.values():
        wrong = list(_by_dialect(file))
        yield from wrong
        if wrong:
            continue
        subschemas = dict(_subschemas(file.schema, ()))
        places[file.name] = set(subschemas)
        for pointer, schema in subschemas.items():
            yield from _by_rules(file, pointer, schema, shipped)
            patterns += ("pattern" in schema) + len(schema.get("patternProperties", ()))
    total = sum(map(len, places.values()))
    for count, most, what in (
        (total, MAX_SCHEMAS, "subschemas"),
        (patterns, MAX_PATTERNS, "patterns"),
    ):
        if count > most:
            largest = max(own.values(), key=lambda file: len(file.text))
            found = f"the content folder's schemas hold {count:,} {what}"
            yield largest.problem("schema.size", (), found, f"at most {most:,}")
            return
    if whole and len(places) == len(own):
        files = {**others, **{name: file.schema for name, file in own.items()}}
        yield from _References(own, files, base, places).faults()


def _patterns_in(schema: Json) -> Iterator[str]:
    """Every text under `pattern`, however deep."""
    if isinstance(schema, dict) and isinstance(schema.get("pattern"), str):
        yield schema["pattern"]
    parts = (
        schema.values()
        if isinstance(schema, dict)
        else schema
        if isinstance(schema, list)
        else ()
    )
    for part in parts:
        yield from _patterns_in(part)


def _by_dialect(file: Own) -> Iterator[Problem]:
    """What JSON Schema itself says of a schema."""
    said = file.schema.get("$schema", DIALECT)
    if said not in (DIALECT, DIALECT + "#"):
        found = f"the dialect {cut(str(said))}"
        yield file.problem("schema.dialect", ("$schema",), found, f'"{DIALECT}", or no $schema')
        return
    told: set[Pointer] = set()
    for error in _metaschema().iter_errors(file.schema):
        pointer = tuple(error.instance_path)
        if pointer in told:
            continue
        told.add(pointer)
        keyword = next((str(step) for step in reversed(pointer) if isinstance(step, str)), "")
        allowed = _ALLOWED.get(keyword, "what JSON Schema 2020-12 says")
        found = f"{cut(error.message, 120)}" + f" (under {cut(keyword)})" * bool(keyword)
        yield file.problem("schema.keyword", pointer, found, allowed)


@cache
def _metaschema() -> Any:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator({"$ref": DIALECT})


def _subschemas(schema: Json, pointer: Pointer) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """A schema and all those in it, with their places; `true` and `false` say nothing more."""
    if not isinstance(schema, dict):
        return
    yield pointer, schema
    for way, part, _ in _parts(schema):
        yield from _subschemas(part, (*pointer, *way))


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[Pointer, Json, str | None]]:
    """The schemas directly in a schema: the way to each, and which part of the value it looks
    at.

    That is None for the value itself, "" for what nothing looks at without a `$ref`.
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


def _by_rules(
    file: Own, pointer: Pointer, schema: Mapping[str, Any], shipped: frozenset[str]
) -> Iterator[Problem]:
    """What we ask of a schema beyond JSON Schema.

    ``shipped``: the program's own patterns, three of which look ahead. A copy of its schema may
    hold them.
    """
    if schema.get("enum") == []:
        yield file.problem(
            "schema.enum",
            (*pointer, "enum"),
            "an empty list, which no value is in",
            "at least one value",
        )
    for key, instead in _UNREAD.items():
        if key in schema:
            yield file.problem(
                "schema.keyword", (*pointer, key), f"{key}, which is not read here", instead
            )
    for key in ("$id", "$schema"):
        if pointer and key in schema:
            yield file.problem(
                "schema.keyword",
                (*pointer, key),
                f"{key} within a schema",
                "a file for each schema",
            )
    if not isinstance(schema.get("x-allowed", ""), str):
        yield file.problem(
            "schema.keyword", (*pointer, "x-allowed"), "x-allowed that is no text", "text"
        )
    patterns: list[tuple[Pointer, str]] = (
        [(("pattern",), schema["pattern"])] if "pattern" in schema else []
    )
    patterns += [
        (("patternProperties", name), name) for name in schema.get("patternProperties", ())
    ]
    for way, pattern in patterns:
        if pattern not in shipped and (wrong := _pattern_fault(pattern)):
            yield file.problem("schema.pattern", (*pointer, *way), *wrong)


def _pattern_fault(pattern: str) -> tuple[str, str] | None:
    """What was found and what is allowed, where the linear engine cannot run a pattern."""
    from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

    shown = f"the pattern {cut(pattern)!r}"
    if len(pattern) > LONGEST_PATTERN:
        return f"{shown} has {len(pattern):,} characters", f"at most {LONGEST_PATTERN:,}"
    pattern = _without_line_end(pattern)

    def compiles(limit: int) -> bool:
        try:
            Draft202012Validator(
                {"pattern": pattern}, pattern_options=RegexOptions(size_limit=limit)
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


class _References:
    """Where `$ref`s lead, and how many schemas look at one value because of them."""

    def __init__(
        self,
        own: Mapping[str, Own],
        files: Mapping[str, Json],
        base: str,
        places: Mapping[str, set[Pointer]],
    ) -> None:
        self._own, self._files, self._base, self._places = own, files, base, places

    def faults(self) -> Iterator[Problem]:
        wrong = [*self._dangling(), *self._lost()]
        yield from wrong
        if wrong:
            return
        order, rings = self._ordered()
        for name, pointer in rings:
            found = "the schema refers to itself for the same value, without end"
            yield self._own[name].problem(
                "schema.ref", pointer, found, "a $ref to another schema"
            )
        if rings:
            return
        seen = self._evaluations(order)
        over = [
            (count, node)
            for node, count in seen.items()
            if count > MAX_EVALUATIONS and node[0] in self._own
        ]
        if over:
            count, (name, pointer) = min(
                over, key=lambda entry: (entry[0], len(entry[1][1]), str(entry[1]))
            )
            found = "here schemas multiply: too many of them look at one value" + (
                f" ({count:,})" if count < 10**15 else ""
            )
            allowed = f"at most {MAX_EVALUATIONS:,}; each $ref once for a value, also in schemas that hold themselves"
            yield self._own[name].problem("schema.size", pointer, found, allowed)

    # -- where they lead -----------------------------------------------------------------------

    def target(self, name: str, ref: str) -> Node | None:
        """The subschema that a `$ref` in a file names; None where there is none."""
        uri, fragment = urldefrag(urljoin(self._base + name, ref))
        file = uri.removeprefix(self._base)
        if file not in self._files or (fragment and not fragment.startswith("/")):
            return None
        schema = self._files[file]
        pointer: Pointer = ()
        for step in unquote(fragment).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if (
                isinstance(schema, list)
                and step.isascii()
                and step.isdigit()
                and int(step) < len(schema)
            ):
                pointer, schema = (*pointer, int(step)), schema[int(step)]
            elif isinstance(schema, dict) and step in schema:
                pointer, schema = (*pointer, step), schema[step]
            else:
                return None
        if not isinstance(schema, dict) or (
            file in self._places and pointer not in self._places[file]
        ):
            return None
        return file, pointer

    def _dangling(self) -> Iterator[Problem]:
        """Own `$ref`s that lead nowhere, or to what is no schema."""
        for name, file in self._own.items():
            for pointer, schema in _subschemas(file.schema, ()):
                if "$ref" in schema and self.target(name, schema["$ref"]) is None:
                    defined = [f"#/$defs/{key}" for key in file.schema.get("$defs", {})]
                    found = f"the $ref {cut(schema['$ref'])!r} leads nowhere"
                    close = nearest(schema["$ref"], defined[:1000])
                    yield file.problem(
                        "schema.ref", (*pointer, "$ref"), found, _ALLOWED["$ref"], close
                    )

    def _lost(self) -> Iterator[Problem]:
        """What the program's schemas refer to in a file that an own one takes the place of."""
        for name, schema in self._files.items():
            if name in self._own:
                continue
            for _, part in _subschemas(schema, ()):
                ref = part.get("$ref")
                if ref is not None and self.target(name, ref) is None:
                    file = self._own.get(urldefrag(urljoin(name, ref))[0])
                    if file is not None:
                        found = f"the schema {name} refers to {ref!r}, which is missing here"
                        yield file.problem(
                            "schema.ref",
                            (),
                            found,
                            "what the program's schema of that name has under $defs",
                        )

    # -- how many look at one value ------------------------------------------------------------

    def _at(self, node: Node) -> dict[str, Any]:
        schema: Any = self._files[node[0]]
        for step in node[1]:
            schema = schema[step]
        return schema if isinstance(schema, dict) else {}

    @cache  # noqa: B019  # lives as long as one look at the schemas
    def _ways(self, node: Node) -> tuple[tuple[Node, str | None], ...]:
        """The schemas that a schema leads to, each with the part of the value that it looks at."""
        name, pointer = node
        schema = self._at(node)
        ways = [
            ((name, (*pointer, *way)), label) for way, _, label in _parts(schema) if label != ""
        ]
        if "$ref" in schema and (target := self.target(name, schema["$ref"])):
            ways.append((target, None))
        return tuple(ways)

    def _ordered(self) -> tuple[list[Node], list[Node]]:
        """All schemas that own ones lead to, each behind those that look at the same value; and
        rings of such.
        """
        roots = [(name, pointer) for name in self._own for pointer in self._places[name]]
        roots.sort(
            key=lambda node: (len(node[1]), str(node))
        )  # places are a set: its order is another in each process
        order: list[Node] = []
        rings: list[Node] = []
        state: dict[Node, int] = {}  # 1: begun, 2: done
        later = [*roots]
        while later:
            stack = [later.pop()]
            while stack:
                node = stack[-1]
                if node not in state:
                    state[node] = 1
                    for target, label in self._ways(node):
                        if label is not None:
                            later += [target] * (target not in state)
                        elif state.get(target) == 1:
                            rings.append(node)
                        elif target not in state:
                            stack.append(target)
                    continue
                stack.pop()
                if state[node] == 1:
                    state[node] = 2
                    order.append(node)
        return order, [node for node in rings if node[0] in self._own]

    def _evaluations(self, order: Iterable[Node]) -> dict[Node, int]:
        """How many schemas look at a value and what it holds, by the schema that looks first.

        Of what a value holds, that part counts at which most of them look, level by level down
        to the deepest that a document may have.
        """
        here: dict[Node, int] = {}
        below: dict[Node, dict[str, Counter[Node]]] = {}
        for node in order:
            count, parts = 1, dict[str, Counter[Node]]()
            for target, label in self._ways(node):
                if label is not None:
                    parts.setdefault(label, Counter())[target] += 1
                    continue
                count += here[target]
                for inner, targets in below[target].items():
                    parts.setdefault(inner, Counter()).update(targets)
            here[node], below[node] = count, parts
        total = dict(here)
        for _ in range(yaml.MAX_NESTING):
            deeper = {node: here[node] + _most(parts, total) for node, parts in below.items()}
            if deeper == total or any(count > MAX_EVALUATIONS for count in deeper.values()):
                return deeper
            total = deeper
        return total


def _most(parts: Mapping[str, Counter[Node]], total: Mapping[Node, int]) -> int:
    """The largest number of schemas that look at one part of a value.

    Those for any name look at each name, beside those for just it.
    """
    counts = {
        label: sum(times * total[node] for node, times in targets.items())
        for label, targets in parts.items()
    }
    named = max(
        (count for label, count in counts.items() if label.startswith("properties/")), default=0
    )
    of_items = sum(counts.get(label, 0) for label in ("items", "contains", "unevaluatedItems"))
    for_any = sum(
        count
        for label, count in counts.items()
        if label.startswith("patternProperties/")
        or label in ("additionalProperties", "unevaluatedProperties", "propertyNames")
    )
    return max(named + for_any, of_items)
