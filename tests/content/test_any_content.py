"""Nothing that an editor writes ends in a traceback: any value anywhere is content, or a problem with a place."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.content import MINIMAL, SITE, check, examples, write_files
from harness.program import program_schemas
from shopwindow.cli import report
from shopwindow.cli.report import ProblemReport
from shopwindow.content.reading import yaml
from shopwindow.problems import Pointer
from shopwindow.shop import INTERFACE

UPC = "036000291452"
PRODUCT = {
    "id": 501,
    "name": "Boot",
    "description": "A boot.",
    "typeName": "SHOE",
    "brand": "Cobbold",
    "categories": [1],
    "images": {"primary": "a.jpg"},
    "colors": [{"id": 1, "name": "Jet", "normal": "BLACK"}],
    "price": {
        "regular": {"low": 100, "high": 120},
        "sale": 90,
        "finalPrice": {"value": 80, "display": "Show", "promotions": [8]},
    },
    "upcs": [{"upc": UPC, "sku": 9001, "color": 1, "price": {"regular": 100, "sale": 90}}],
    "promotions": [8],
    "updated": "2026-11-20T06:00:00-05:00",
}
COLLECTION = {name: value for name, value in PRODUCT.items() if name != "upcs"}
REVIEW = {"id": "r1", "product": 501, "rating": 5, "title": "Dry", "text": "Feet.", "date": "2026-10-01", "name": "A"}
SETTINGS = {"image_url": "https://i.example", "product_url": "https://www.example/p?ID={id}"}
CHILD = {"id": 2, "name": "Boots", "url": "https://www.example/boots"}

DOCUMENTS: dict[str, Any] = {
    **{path: yaml.load(text) for path, text in MINIMAL.items()},
    "site.yaml": {**yaml.load(SITE), "catalog": SETTINGS},
    "apps/_base.yaml": {"config": {"configVersion": "2"}},
    "catalog/categories.yaml": [{"id": 1, "name": "Shoes", "url": "https://www.example/s", "categories": [CHILD]}],
    "catalog/brands.yaml": [{"name": "Cobbold", "id": 7, "url": "https://www.example/cobbold"}],
    "catalog/products.yaml": [PRODUCT, {**COLLECTION, "id": 502, "members": [501]}],
    "catalog/inventory.jsonl": {"upc": UPC, "site": 3, "stores": {"100": 2}},
    "catalog/reviews.yaml": [{**REVIEW, "recommended": True}],
    "catalog/recommendations.yaml": [{"product": 501, "products": [502]}],
    "catalog/synonyms.yaml": [["sofa", "couch"]],
    "contracts/old.yaml": {
        "app": "one",
        "version": "2.0",
        "reads": [{"request": "v2/utility/mobileapp", "fields": [{"path": "appLayout[]", "enum": ["shop"]}]}],
    },
}
"""A document of every kind."""

SCHEMAS = program_schemas()

VALUES: list[Any] = [
    None,
    True,
    0,
    -1.5,
    10**17,
    "",
    "x",
    "{{ www }}",
    "2026-02-30",
    [],
    {},
    [[]],
    [{}],
    [None],
    {"a": [1]},
]

json_values = st.recursive(
    st.sampled_from(VALUES) | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)


def looked_at(folder: Path, files: dict[str, Any]) -> set[str]:
    """The files that a check finds something in; every problem has its words and its place, in every format."""
    write_files(folder, {path: json.dumps(value, ensure_ascii=False) + "\n" for path, value in files.items()})
    checked = check(folder, SCHEMAS, INTERFACE)
    assert (checked.documents is None) == bool(checked.problems)
    assert [problem for problem in checked.problems if not (problem.found and problem.place)] == []
    assert all(form(ProblemReport(checked, folder)) for form in report.REPORT_FORMATS.values() if checked.problems)
    return {problem.path for problem in checked.problems}


def test_every_kind_has_a_document_here(tmp_path: Path) -> None:
    folders = {kind.folder for kind in INTERFACE.kinds}
    assert {folder for folder in folders if not any(path.startswith(folder) for path in DOCUMENTS)} == set()
    assert looked_at(tmp_path, DOCUMENTS) <= {"apps/_base.yaml"}  # which nobody builds on


@pytest.mark.parametrize("value", VALUES, ids=json.dumps)
def test_any_value_may_stand_where_a_document_should(tmp_path: Path, value: Any) -> None:
    files = {**DOCUMENTS, **{path: value for path in DOCUMENTS if path != "site.yaml"}}
    empty = set(DOCUMENTS) if value == [] else set()  # a list of no documents, where a list may be
    assert looked_at(tmp_path, files) >= set(files) - {"site.yaml"} - empty
    assert "site.yaml" in looked_at(tmp_path, {**DOCUMENTS, "site.yaml": value})


@settings(
    max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.data())
def test_any_value_may_stand_at_any_place(data: st.DataObject) -> None:
    files = json.loads(json.dumps(DOCUMENTS))
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), min_size=1, max_size=4)):
        place = data.draw(st.sampled_from(list(places(files[path]))))
        files[path] = replaced(files[path], place, data.draw(json_values))
    with TemporaryDirectory() as folder:
        looked_at(Path(folder), files)


def places(value: Any, pointer: Pointer = ()) -> Iterator[Pointer]:
    """The way to every value within a value."""
    yield pointer
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*pointer, step))


def replaced(value: Any, pointer: Pointer, new: Any) -> Any:
    """A value with another one at a place."""
    if not pointer:
        return new
    inner = value
    for step in pointer[:-1]:
        inner = inner[step]
    inner[pointer[-1]] = new
    return value
