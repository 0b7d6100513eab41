"""The XML Schemas of the answers: libxml2 takes them; the sample's files are valid, and what is wrong is not."""

from itertools import chain
from pathlib import Path

import pytest
from lxml import etree

from releases import shopwindow
from shopwindow.content.schema import Schemas
from shopwindow.interface.answer import refuse
from shopwindow.interface.formats import XML
from shopwindow.problems import Fault, Refusal
from shopwindow.release.prerender import planned_answers, planned_operations
from shopwindow.service.serving import load
from shopwindow.shop import INTERFACE


@pytest.fixture(scope="module")
def printed(sample_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `shopwindow edge xsd` writes."""
    folder = tmp_path_factory.mktemp("xsd") / "schemas"
    ran = shopwindow("edge", "xsd", folder, "--out", sample_out)
    assert (ran.status, ran.err) == (0, "")
    return folder


@pytest.fixture(scope="module")
def compiled(printed: Path) -> dict[str, etree.XMLSchema]:
    """Name of a response → its schema, as libxml2 reads it."""
    return {file.stem: etree.XMLSchema(etree.parse(file)) for file in printed.iterdir()}


def test_every_response_has_a_schema(compiled: dict[str, etree.XMLSchema]) -> None:
    responses = {operation.response.replace("/", ".") for operation in INTERFACE.operations}
    assert set(compiled) == {*responses, "error", "supc_failure", "collections.banner"}


@pytest.fixture(scope="module")
def responses(sample_out: Path, schemas: Schemas) -> dict[Path, str]:
    """XML file of the sample's release → the response that it is."""
    serving = load(sample_out, INTERFACE, schemas)
    files = sample_out / "current" / "files"
    answers = chain.from_iterable(planned_answers(planned_operations(serving.interface, serving.content)))
    return {
        files / str(call.filename()): answer.operation.response.replace("/", ".")
        for answer in answers
        for call in answer.calls(XML)
    }


def test_every_xml_file_of_the_sample_is_valid(
    sample_out: Path, responses: dict[Path, str], compiled: dict[str, etree.XMLSchema]
) -> None:
    files = set((sample_out / "current" / "files").rglob("*.xml"))
    invalid = [file for file in files if not compiled[responses[file]].validate(etree.parse(file))]
    assert (len(files) > 100, invalid) == (True, [])


def test_the_general_error_is_valid_and_no_answer_of_another_operation(
    compiled: dict[str, etree.XMLSchema], schemas: Schemas
) -> None:
    refused = refuse(Refusal("no_data", (Fault("productId", "there is no product 1"),)), XML, schemas)
    error = etree.fromstring(refused.body)
    assert [name for name, schema in compiled.items() if schema.validate(error)] == ["error"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("<id>1</id>", "<id>one</id>"),
        ("<id>1</id>", "<id>0</id>"),
        ("<id>1</id>", "<id>1</id><surprise/>"),
        ("<id>1</id>", '<id colour="red">1</id>'),
        ("<attribute><name>A</name></attribute>", "<attribute/>"),
        ("<attribute><name>A</name></attribute>", "<attribute><name></name></attribute>"),
        ("<events>", "<stores>"),
    ],
)
def test_what_an_answer_never_says_is_invalid(compiled: dict[str, etree.XMLSchema], right: str, wrong: str) -> None:
    answer = (
        "<events><event><id>1</id><name>Sale</name><locationNumber>3</locationNumber>"
        "<attributes><attribute><name>A</name></attribute></attributes></event></events>"
    )
    broken = answer.replace(right, wrong)
    if wrong.startswith("<stores"):
        broken = broken.replace("</events>", "</stores>")
    schema = compiled["events_v1"]
    assert (schema.validate(etree.fromstring(answer)), schema.validate(etree.fromstring(broken))) == (True, False)
