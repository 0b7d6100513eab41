"""Every XML file of the sample release says what dicttoxml says of the same answer; all XML is as lxml writes it."""

import logging
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from facts.witness import canonical, witnessed
from harness.answers import decoded
from harness.content import Shape, examples
from harness.program import Schemas, manifest
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.shape import SchemaFiles
from shopwindow.interface.declaring.collections import schemas_with
from shopwindow.interface.formats import RESPONSE_FORMATS, XML
from shopwindow.release.stored import interface_of
from shopwindow.shop import INTERFACE

# interface W1.1: the root of each operation's answer
ROOTS = {
    "mobileapp": "response",
    "events_v1": "events",
    "events_v2": "response",
    "stores": "stores",
    "stores_by_location": "stores",
    "promotions_v2": "response",
    "promotions_v3": "response",
    "promotions_sorted": "response",
    "category_index": "response",
    "category": "response",
    "brand_index": "response",
    "product_v3": "response",
    "product_v4": "response",
    "banner": "response",
    "banner_by_id": "response",
}


@pytest.fixture(scope="module")
def release(sample_out: Path) -> Path:
    """A release of the sample content."""
    return sample_out / "current"


@pytest.mark.parametrize(
    ("value", "xml"),
    [
        ({}, b"<r></r>"),
        ({"a": "x", "b": {"c": 1}}, b"<r><a>x</a><b><c>1</c></b></r>"),
        ({"a": ["x", "y"], "b": []}, b"<r><a>x</a><a>y</a></r>"),
        ({"a": [{"b": True}, {}]}, b"<r><a><b>true</b></a><a></a></r>"),
        ({"a": [""], "n": 40.7536}, b"<r><a></a><n>40.7536</n></r>"),
        ({"a": "<&>"}, b"<r><a>&lt;&amp;&gt;</a></r>"),
    ],
)
def test_the_witness_repeats_the_element_of_an_array(value: dict[str, Any], xml: bytes) -> None:
    assert witnessed(value, "r") == b'<?xml version="1.0" encoding="UTF-8" ?>' + xml


def test_the_witness_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    witnessed({"secret": "value"}, "r")
    assert caplog.text == ""


def test_every_xml_file_is_canonically_what_the_witness_writes(release: Path) -> None:
    differing, operations = [], set()
    for entry in manifest(release)["files"]:
        if entry["mediaType"] == XML.media_type:
            operations.add(entry["operation"])
            path = release / "files" / entry["path"]
            value = orjson.loads(path.with_suffix(".json").read_bytes())
            root = ROOTS[entry["operation"]]
            told = witnessed(value if root == "response" else value[root], root)
            if canonical(path.read_bytes()) != canonical(told):
                differing.append(entry["path"])
    assert (differing, operations) == ([], set(ROOTS))


def test_json_and_xml_of_one_call_are_one_value(release: Path, schemas: Schemas) -> None:
    answers: dict[str, list[bytes]] = {}
    interface = interface_of(release, INTERFACE)
    all_schemas, operations = schemas_with(schemas, interface), {each.name: each for each in interface.operations}
    for entry in manifest(release)["files"]:
        format = next(format for format in RESPONSE_FORMATS if format.media_type == entry["mediaType"])
        response = operations[entry["operation"]].response
        data = (release / "files" / entry["path"]).read_bytes()
        value = decoded(format, data, all_schemas.shape(f"responses/{response}.json"))
        stem = entry["path"].removesuffix(format.extension)
        answers.setdefault(stem, []).append(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    assert [stem for stem, spoken in answers.items() if len(spoken) != 2 or spoken[0] != spoken[1]] == []


_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,5}", fullmatch=True)
_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"))
_SCALARS = st.one_of(
    _TEXTS,
    st.text(st.sampled_from("\t\n\r&<>\"' \x85\u2028")),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
_OBJECTS = st.recursive(
    st.dictionaries(_NAMES, _SCALARS, max_size=4),
    lambda inner: st.dictionaries(
        _NAMES, st.one_of(_SCALARS, inner, st.lists(inner, max_size=3), st.lists(_SCALARS, max_size=3)), max_size=4
    ),
    max_leaves=12,
)


@settings(max_examples=examples(400), deadline=None)
@given(_OBJECTS)
def test_xml_is_written_as_lxml_would_write_it(value: Json) -> None:
    def fill(parent: etree._Element, part: Json) -> None:
        for key, item in part.items():
            for entry in item if isinstance(item, list) else [item]:
                child = etree.SubElement(parent, key)
                if isinstance(entry, dict):
                    fill(child, entry)
                else:
                    child.text = entry if isinstance(entry, str) else orjson.dumps(entry).decode()

    root = etree.Element("response")
    fill(root, value)
    written = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    assert XML.encode(value, Shape(SchemaFiles({}), "", {"type": "object"})) == written
