"""A required key under another name is one problem at that key, which says what is missing."""

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from harness.content import ROOT, Shape, check, declared
from harness.program import Schemas, program_schemas
from shopwindow.content.check.records import streamed
from shopwindow.content.reading.yaml import at
from shopwindow.problems import Pointer
from shopwindow.shop import INTERFACE

SCHEMAS = program_schemas()
OTHER = "zzz"

Place = tuple[str, Pointer]
"""A schema, and the way to a required key: 0 for a position, * for any key."""


def required(shape: Shape | None, way: Pointer = ()) -> Iterator[Pointer]:
    """The ways to all required keys, in a category two levels deep."""
    if shape is None or way.count("categories") > 2:
        return
    yield from ((*way, key) for key in shape.required)
    for name in shape.properties:
        yield from required(shape.property(name), (*way, name))
    if isinstance(shape.keyword("additionalProperties"), dict):
        yield from required(shape.property("*"), (*way, "*"))
    yield from required(shape.items, (*way, 0))


def present(shape: Shape | None, value: Any, way: Pointer = (), at: Pointer = ()) -> Iterator[tuple[Pointer, Pointer]]:
    """The ways to the required keys that a document has, and where it has them."""
    if shape is None:
        return
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        yield from (((*way, key), (*at, key)) for key in shape.required if key in value)
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for step, part in parts:
        is_named = step in shape.properties
        below = shape.property(step) if isinstance(step, str) else shape.items
        general = 0 if isinstance(step, int) else step if is_named else "*"
        yield from present(below, part, (*way, general), (*at, step))


def documents() -> Iterator[tuple[str, Any]]:
    """The sample's documents, layers merged, with the names of their schemas."""
    sample = ROOT / "content"
    known = declared(sample, INTERFACE, Schemas(ROOT / "schemas").under(sample / "schemas"))
    checked = check(sample, known.schemas, known.interface)
    assert checked.documents is not None
    for kind in INTERFACE.kinds:
        files = [source for source in checked.sources if source.kind.name == kind.name and kind.streamed]
        names = checked.documents.site.value["names"]
        of_files = (document.value for file in files for document, _ in streamed(sample, file, names))
        values = [document.value for document in checked.documents.of(kind.name)]
        for value in (*values, *of_files):
            yield kind.schema, value


PRESENT: dict[Place, tuple[Any, Pointer]] = {
    (schema, way): (value, where)
    for schema, value in documents()
    for way, where in present(SCHEMAS.shape(schema), value)
}


def test_the_sample_has_every_required_key() -> None:
    assert PRESENT.keys() == {
        (kind.schema, way) for kind in INTERFACE.kinds for way in required(SCHEMAS.shape(kind.schema))
    }


@pytest.mark.parametrize(("schema", "way"), PRESENT, ids=[f"{name} {'/'.join(map(str, way))}" for name, way in PRESENT])
def test_a_required_key_under_another_name_is_one_problem_that_says_which(schema: str, way: Pointer) -> None:
    value, (*around, key) = PRESENT[schema, way]
    value = copy.deepcopy(value)
    holder = at(value, tuple(around))
    holder[OTHER] = holder.pop(key)
    findings = [finding for finding in SCHEMAS.findings(schema, value) if not finding.follows]
    assert [(finding.pointer, finding.found, finding.nearest) for finding in findings] == [
        ((*around, OTHER), f"'{OTHER}' is not known here, and {key!r} is missing", key)
    ]
