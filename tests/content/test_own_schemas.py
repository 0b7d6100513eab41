"""Schemas that a content folder brings: their own faults have places, and none of them stops or stretches a check."""

import gc
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.content import ROOT, check, edit, write_files
from harness.program import Schemas
from shopwindow.content.schemas.own_schemas import MAX_SCHEMA_BYTES, Own, WritingOut
from shopwindow.problems import Problem, pointer_text
from shopwindow.shop import INTERFACE


def own(folder: Path) -> Schemas:
    return Schemas(ROOT / "schemas").under(folder / "schemas")


def schema_problems(folder: Path, text: str, name: str = "event.json") -> list[Problem]:
    """What a check of a content folder says that brings a schema."""
    write_files(folder, {f"schemas/{name}": text})
    checked = check(folder, own(folder), INTERFACE, jobs=1)
    assert (checked.documents is None) == bool(checked.problems)
    return checked.problems


def quick(limit: float = 5.0) -> Callable[[], None]:
    """Fails where more processor time was used since than a loaded machine explains; hostile schemas took a minute."""
    started = time.process_time()

    def done() -> None:
        assert time.process_time() - started < limit

    return done


ENDLESS = "the schema refers to itself, without end"

# A schema, and the line, column and pointer of its one fault with what is said of it.
FAULTS: list[tuple[str, str, str, str]] = [
    ("{", "1:2", "", "no JSON: "),
    ("[]", "1:1", "", "the schema is no JSON object"),
    ('{\n "type": "text"}', "2:10", "type", "'text' is not valid"),
    ('{\n "properties": []}', "2:16", "properties", "[] is not of type"),
    ('{"properties": {"id":\n  {"enum": []}}}', "2:12", "properties/id/enum", "an empty list, which no value is in"),
    ('{"properties":\n  {"name": {"minLength": -1}}}', "2:26", "properties/name/minLength", "-1 is less"),
    ('{"$schema": "http://json-schema.org/draft-07/schema#"}', "1:13", "$schema", "the dialect http://json-"),
    ('{"$ref": "shop.json"}', "1:10", "$ref", "the $ref 'shop.json' leads nowhere"),
    ('{"$ref": "#/properties",\n "properties": {}}', "1:10", "$ref", "the $ref '#/properties' leads nowhere"),
    ('{"$ref": "http://shop.example/a.json"}', "1:10", "$ref", "the $ref 'http://shop.example/a.json' leads nowhere"),
    ('{"$ref": "#"}', "1:1", "", ENDLESS),
    ('{"$defs": {"a": {"allOf":\n [{"$ref": "#/$defs/a"}]}},\n "$ref": "#/$defs/a"}', "1:1", "", ENDLESS),
    ('{"$dynamicRef": "#a"}', "1:17", "$dynamicRef", "$dynamicRef, which is not read here"),
    ('{"properties": {"id": {"$id": "x"}}}', "1:31", "properties/id/$id", "$id within a schema"),
    ('{"items": {"$schema": "x"}}', "1:23", "items/$schema", "$schema within a schema"),
    ('{"x-allowed": 5}', "1:15", "x-allowed", "x-allowed that is no text"),
    ('{"type": "object",\n "type": "object"}', "2:2", "type", "the key 'type' a second time"),
    ('{"pattern": "("}', "1:13", "pattern", "the pattern '(' cannot be read"),
    ('{"pattern": "^(?=a)b"}', "1:13", "pattern", "the pattern '^(?=a)b' cannot be read"),
    ('{"pattern": "(a)\\\\1"}', "1:13", "pattern", "the pattern '(a)\\\\1' cannot be read"),
    ('{"pattern": "(?:a{1,1000}){1,50}"}', "1:13", "pattern", "the pattern '(?:a{1,1000}){1,50}' is too large"),
    (
        '{"patternProperties": {"(": true}}',
        "1:29",
        "patternProperties/(",
        "the pattern '(' cannot be read",
    ),
    (json.dumps({"pattern": "a" * 5000}), "1:13", "pattern", "the pattern 'aaaaaaaaaaaa"),
]


@pytest.mark.parametrize(("text", "place", "pointer", "words"), FAULTS, ids=[text[:40] for text, *_ in FAULTS])
def test_a_fault_of_a_schema_is_a_problem_at_its_place(
    minimal: Path, text: str, place: str, pointer: str, words: str
) -> None:
    (problem,) = schema_problems(minimal, text)
    assert problem.place is not None
    assert (problem.path, f"{problem.place.line}:{problem.place.column}") == ("schemas/event.json", place)
    assert pointer_text(problem.pointer) == pointer
    assert problem.found.startswith(words)
    assert problem.allowed


def test_faults_of_schemas_and_of_documents_are_said_together(minimal: Path) -> None:
    edit(minimal, ("events/one.yaml", "id: 5\n", "id: five\n"))
    write_files(minimal, {"schemas/store.json": '{"enum": []}'})
    paths = [problem.path for problem in schema_problems(minimal, '{"type": 5}')]
    assert sorted(paths) == ["events/one.yaml", "schemas/event.json", "schemas/store.json"]


def test_what_the_programs_schemas_refer_to_is_missed_in_ones_own(minimal: Path) -> None:
    found = {problem.found for problem in schema_problems(minimal, "{}", "store.json")}
    assert "the schema catalog/review.json refers to '../store.json#/$defs/day', which is missing here" in found


def test_a_schema_needs_no_dialect(minimal: Path) -> None:
    assert schema_problems(minimal, '{"properties": {"id": {"maximum": 4}}}') != []
    (problem,) = schema_problems(minimal, '{"properties": {"id": {"maximum": 4}}}')
    assert (problem.path, problem.found, problem.allowed) == ("events/one.yaml", "5 is too large", "at most 4")


def test_schemas_are_regular_files_of_a_size(minimal: Path) -> None:
    (minimal / "schemas" / "store.json").mkdir(parents=True)
    (minimal / "schemas" / "app.json").symlink_to("/dev/zero")
    with open(minimal / "schemas" / "site.json", "wb") as file:
        file.truncate(MAX_SCHEMA_BYTES + 1)
    done = quick()
    found = {problem.path: problem.found for problem in schema_problems(minimal, "{}")}
    done()
    assert found == {
        "schemas/app.json": "a link out of the content folder, to '/dev/zero'",
        "schemas/site.json": "the schema is too large",
        "schemas/store.json": "not a file",
    }


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("../../outside.json", "a link out of the content folder, to "),
        ("gone.json", "a link to 'gone.json', which does not exist"),
        ("app.json", "a link to 'app.json', which does not exist"),
        ("../events", "a link to a folder"),
    ],
)
def test_a_schema_is_a_link_to_a_file_of_the_content_folder_at_most(minimal: Path, target: str, found: str) -> None:
    write_files(minimal.parent, {"outside.json": '{"secret": 1}'})
    assert schema_problems(minimal, "{}") == []
    (minimal / "schemas/app.json").symlink_to(target)
    (problem,) = schema_problems(minimal, "{}")
    assert (problem.rule, problem.path, problem.pointer) == ("tree.link", "schemas/app.json", ())
    assert problem.found.startswith(found)
    (minimal / "schemas/app.json").unlink()
    (minimal / "schemas/app.json").symlink_to("event.json")
    assert schema_problems(minimal, "{}") == []


# -- patterns ----------------------------------------------------------------------------------------------------

EVIL = ["^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "^([a-zA-Z]+)*$", "^(.*a){20}$", "^((a*)*)*$"]


@pytest.mark.parametrize("pattern", EVIL)
def test_a_pattern_takes_no_longer_than_its_text(minimal: Path, pattern: str) -> None:
    """Python's `re` would take longer than the age of the universe."""
    edit(minimal, ("events/one.yaml", "The doors open.", "a" * 5000 + "!"))
    done = quick()
    (problem,) = schema_problems(minimal, json.dumps({"properties": {"shortDesc": {"pattern": pattern}}}))
    done()
    assert (pointer_text(problem.pointer), problem.allowed) == ("shortDesc", f"text of the form {pattern}")


def test_names_by_pattern_are_linear_too(minimal: Path) -> None:
    name = "a" * 5000 + "!"
    edit(minimal, ("events/one.yaml", "id: 5\n", f"id: 5\n? {name}\n: 1\n"))
    schema = {"patternProperties": {"^(a+)+$": True, "^id$": {"type": "string"}}, "additionalProperties": False}
    done = quick()
    found = {problem.found for problem in schema_problems(minimal, json.dumps(schema))}
    done()
    assert "5 is not text" in found
    assert any("aaaa" in words and words.endswith("is not known here") for words in found)
    schema = {"patternProperties": {"^(a+)+$": True}, "unevaluatedProperties": {"type": "string"}}
    schema |= {"propertyNames": {"pattern": "^(a+)+$"}}
    done = quick()
    assert schema_problems(minimal, json.dumps(schema))
    done()


def test_a_key_that_a_pattern_names_is_known(minimal: Path) -> None:
    write_files(minimal, {"schemas/event.json": '{"patternProperties": {"^x-": true}, "additionalProperties": false}'})
    found = own(minimal).findings("event.json", {"x-a": 1, "y": 2})
    assert [each.pointer for each in found if each.rule == "schema.additionalProperties"] == [("y",)]


def test_a_pattern_of_the_program_may_be_copied(minimal: Path) -> None:
    programs = json.loads((ROOT / "schemas" / "config.json").read_text())
    assert any("(?!" in text for text in re.findall(r'"pattern": "([^\n]*)"', json.dumps(programs, indent=1)))
    assert schema_problems(minimal, json.dumps(programs), "config.json") == []
    allowed = json.dumps({"properties": {"name": {"pattern": "^[A-Za-z ]+(?!\\n)$"}}})
    assert schema_problems(minimal, allowed) == []


# -- how much ----------------------------------------------------------------------------------------------------


def doubling(times: int, keyword: str = "allOf") -> dict[str, Any]:
    schemas: dict[str, Any] = {"a0": {"type": "object", "properties": {"id": {"type": "string"}}}}
    for number in range(1, times + 1):
        reference = {"$ref": f"#/$defs/a{number - 1}"}
        schemas[f"a{number}"] = {keyword: [reference, reference]}
    return {"$defs": schemas, "$ref": f"#/$defs/a{times}"}


MULTIPLYING: list[dict[str, Any]] = [
    doubling(25),
    doubling(25, "anyOf"),
    doubling(25, "oneOf"),
]


@pytest.mark.parametrize("schema", MULTIPLYING, ids=[json.dumps(schema)[:60] for schema in MULTIPLYING])
def test_schemas_that_multiply_are_refused(minimal: Path, schema: dict[str, Any]) -> None:
    done = quick()
    (problem,) = schema_problems(minimal, json.dumps(schema))
    done()
    assert problem.path == "schemas/event.json"
    assert problem.place is not None
    assert problem.found.startswith("here schemas multiply")


def test_a_schema_that_holds_itself_is_refused(minimal: Path) -> None:
    tree = {"$ref": "#/$defs/tree"}
    sides = {"type": "object", "properties": {"left": tree, "right": tree, "more": {"items": tree}}}
    schema = {"$defs": {"tree": {"anyOf": [sides, {"type": "integer"}]}}, "properties": {"id": tree}}
    (problem,) = schema_problems(minimal, json.dumps(schema))
    assert (problem.rule, problem.found) == ("schema.size", ENDLESS)


def test_schemas_of_several_files_multiply_together(minimal: Path) -> None:
    many = json.dumps({"properties": {f"k{number}": {} for number in range(1700)}})
    write_files(minimal, {f"schemas/{name}.json": many for name in ("one", "two")})
    assert [problem.rule for problem in schema_problems(minimal, many, "three.json")] == ["schema.size"]


def test_explaining_ends(minimal: Path) -> None:
    wrong = {"properties": {f"k{number}": {"type": "string"} for number in range(300)}}
    write_files(minimal, {"schemas/event.json": json.dumps({"items": {"allOf": [wrong] * 10}})})
    value = [{f"k{number}": "" for number in range(300)} for _ in range(300)] + [{"k1": 5}]
    done = quick(10)
    found = own(minimal).findings("event.json", value)
    done()
    assert [each.found for each in found] == ["5 is not text", "a list is not an object"]


def kept() -> Counter[type]:
    """How many objects this process has of each kind that looks at own schemas."""
    return Counter(type(each) for each in gc.get_objects() if isinstance(each, (Schemas, Own, WritingOut)))


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
def test_what_looks_at_own_schemas_is_freed_at_once_after_a_check(minimal: Path) -> None:
    """A preview checks at each save; schemas and compiled validators take some 8 MB, of which Python counts little."""
    before = kept()
    for number in range(3):
        assert schema_problems(minimal, json.dumps({"properties": {f"k{number}": {"type": "string"}}})) == []
        assert schema_problems(minimal, json.dumps({"properties": {f"k{number}": {"type": "text"}}})) != []
    edit(minimal, ("events/one.yaml", "The doors open.", "[]"))
    assert schema_problems(minimal, "{}") != []
    assert kept() == before


def test_what_only_the_fast_validator_looks_at_is_said(minimal: Path) -> None:
    schema = {"properties": {"id": {"minimum": 9}, "shortDesc": True}, "unevaluatedProperties": False}
    found = [problem.found for problem in schema_problems(minimal, json.dumps(schema))]
    assert any("Unevaluated" in words for words in found)
    assert "5 is too small" in found


def test_a_day_that_does_not_exist_is_named_as_that_whatever_else_the_schema_wants(minimal: Path) -> None:
    schema = {"properties": {"shortDesc": {"format": "date", "pattern": "^2026"}}}
    edit(minimal, ("events/one.yaml", "The doors open.", "'2026-02-30'"))
    (problem,) = schema_problems(minimal, json.dumps(schema))
    assert problem.found == "'2026-02-30' does not exist in the calendar"


def test_many_allowed_values_are_shortened(minimal: Path) -> None:
    choices = [f"choice {number}" for number in range(200_000)]
    schema: dict[str, Any] = {
        "properties": {"shortDesc": {"$ref": "#/$defs/choice"}, "other": {"$ref": "#/$defs/choice"}}
    }
    schema |= {"$defs": {"choice": {"enum": choices}}, "required": ["other"]}
    done = quick(10)
    edit(minimal, ("events/one.yaml", "The doors open.", "choice 12x"))
    missing, problem = schema_problems(minimal, json.dumps(schema))
    done()
    assert problem.allowed.startswith("choice 0, choice 1, ")
    assert problem.allowed.endswith(", … (200,000 in all)")
    assert missing.allowed == problem.allowed
    assert problem.nearest.startswith("choice 12")
    assert len(problem.allowed) < 1000
