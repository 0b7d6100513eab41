"""Every XML file of the sample release says what dicttoxml says of the same answer."""

import logging
from pathlib import Path
from typing import Any

import orjson
import pytest

from releases import SAMPLE, built, manifest
from vitrine.content.schema import Schemas
from vitrine.interface.formats import FORMATS, XML
from witness import canonical, witnessed

# wire shapes §1: the root of each operation's answer
ROOTS = {
    "mobileapp": "response",
    "events_v1": "events",
    "events_v2": "response",
    "stores": "stores",
    "stores_by_location": "stores",
    "promotions_v2": "response",
    "promotions_v3": "response",
    "promotions_sorted": "response",
}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the sample content."""
    out = tmp_path_factory.mktemp("dist")
    built(SAMPLE, out)
    return out / "current"


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
    for entry in manifest(release)["files"]:
        format = next(format for format in FORMATS if format.media_type == entry["mediaType"])
        response = "stores" if entry["operation"].startswith("stores") else entry["operation"]
        data = (release / "files" / entry["path"]).read_bytes()
        value = format.decode(data, schemas.shape(f"responses/{response}.json"))
        stem = entry["path"].removesuffix(format.extension)
        answers.setdefault(stem, []).append(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    assert [stem for stem, spoken in answers.items() if len(spoken) != 2 or spoken[0] != spoken[1]] == []
