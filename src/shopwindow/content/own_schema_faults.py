"""What is wrong with the schemas that a content folder brings, each fault at its place
in its file.

Editors write these schemas, so nothing in them may stop a check or make it endless.
Three rules see to that. A pattern must be one that the linear engine can run, so that
no text takes longer than in proportion to its length. The number of schemas that look
at one value is bounded, however `$ref`s multiply (`references`). And every file, and
all of them together, have a size.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from shopwindow.content.own_schemas import (
    ALLOWED_AT_KEYWORD,
    DIALECT,
    Own,
    subschemas,
    without_line_end,
)
from shopwindow.content.references import References
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, Problem, cut

MAX_SCHEMAS = 5_000
"""Subschemas in all own files: twenty times those of the program, and counted within a
second.
"""

MAX_PATTERNS = 1_000
PATTERN_BYTES = 512 * 1024
"""Memory of one compiled pattern, of which `^.{1,255}$` needs half. MAX_PATTERNS of
them take half a GiB at the very most.
"""

LONGEST_PATTERN = 4_096
_UNREAD = {
    "$dynamicRef": "$ref",
    "$recursiveRef": "$ref",
    "$anchor": 'the name under $defs, as in "#/$defs/day"',
    "$dynamicAnchor": 'the name under $defs, as in "#/$defs/day"',
}
"""Keywords that would lead to other schemas, and are not followed here, with what to
write in their place.
"""


def faults(
    own: Mapping[str, Own], others: Mapping[str, Json], base: str, *, whole: bool
) -> Iterator[Problem]:
    """Yield everything that is wrong with own schemas.

    ``own``: by file name; ``others``: the program's, likewise. ``base``: the URI below
    which names stand. ``whole``: every own file could be read; otherwise references are
    not checked, since they may lead to a file that could not.
    """
    patterns = 0
    shipped = frozenset(_patterns_in(list(others.values())))
    places: dict[str, set[Pointer]] = {}
    for file in own.values():
        wrong = list(_by_dialect(file))
        yield from wrong
        if wrong:
            continue
        by_place = dict(subschemas(file.schema, ()))
        places[file.name] = set(by_place)
        for pointer, schema in by_place.items():
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
        yield from References(own, files, base, places).faults()


def _patterns_in(schema: Json) -> Iterator[str]:
    """Yield every text under `pattern`, at any depth."""
    if isinstance(schema, dict) and isinstance(schema.get("pattern"), str):
        yield schema["pattern"]
    parts: Iterable[Json] = schema if isinstance(schema, list) else ()
    if isinstance(schema, dict):
        parts = schema.values()
    for part in parts:
        yield from _patterns_in(part)


def _by_dialect(file: Own) -> Iterator[Problem]:
    """Yield what JSON Schema itself refuses in a schema, once for each place."""
    dialect = file.schema.get("$schema", DIALECT)
    if dialect not in (DIALECT, DIALECT + "#"):
        found = f"the dialect {cut(str(dialect))}"
        yield file.problem(
            "schema.dialect", ("$schema",), found, f'"{DIALECT}", or no $schema'
        )
        return
    reported: set[Pointer] = set()
    for error in _metaschema().iter_errors(file.schema):
        pointer = tuple(error.instance_path)
        if pointer in reported:
            continue
        reported.add(pointer)
        keyword = next(
            (str(step) for step in reversed(pointer) if isinstance(step, str)), ""
        )
        allowed = ALLOWED_AT_KEYWORD.get(keyword, "what JSON Schema 2020-12 says")
        found = f"{cut(error.message, 120)}" + f" (under {cut(keyword)})" * bool(
            keyword
        )
        yield file.problem("schema.keyword", pointer, found, allowed)


@cache
def _metaschema() -> Any:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator({"$ref": DIALECT})


def _by_rules(
    file: Own, pointer: Pointer, schema: Mapping[str, Any], shipped: frozenset[str]
) -> Iterator[Problem]:
    """Yield where a schema breaks the rules that this program adds to JSON Schema.

    ``shipped``: the program's own patterns, three of which look ahead. They are
    admitted, because a copy of a schema of the program may hold them.
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
                "schema.keyword",
                (*pointer, key),
                f"{key}, which is not read here",
                instead,
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
            "schema.keyword",
            (*pointer, "x-allowed"),
            "x-allowed that is no text",
            "text",
        )
    patterns: list[tuple[Pointer, str]] = (
        [(("pattern",), schema["pattern"])] if "pattern" in schema else []
    )
    patterns += [
        (("patternProperties", name), name)
        for name in schema.get("patternProperties", ())
    ]
    for way, pattern in patterns:
        if pattern not in shipped and (wrong := _pattern_fault(pattern)):
            yield file.problem("schema.pattern", (*pointer, *way), *wrong)


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
    pattern = without_line_end(pattern)

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
