"""The catalog's conformance table, in process; and what no table can say: that its answers are of their schemas."""

from pathlib import Path

import orjson
import pytest

from facts.conformance import Case
from facts.conformance_catalog import table
from harness.answers import decoded
from harness.program import Answer, Application, Request, Schemas, answered, served
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.interface.request import Request as Called
from shopwindow.shop import INTERFACE

TABLE = table()


@pytest.fixture(scope="module")
def service(out: Path) -> Application:
    return served(out)


def test_every_case(service: Application) -> None:
    found = []
    for case in TABLE:
        came = answered(service, Request(f"/{case.target}", case.sent, case.method, case.data or b""))
        if came != Answer(case.status, dict(case.headers), case.body):
            found.append((str(case), case.body.decode()[:3000], came.body.decode()[:3000]))
    assert found == []


def told(case: Case, schemas: Schemas) -> tuple[str, bytes]:
    """What a case's body is of by its operation's schema, decoded."""
    path, _, _ = case.target.partition("?")
    schema = INTERFACE.routes.route(Called(path))[0].schema
    format = next(each for each in RESPONSE_FORMATS if each.media_type == case.headers["content-type"])
    return schema, orjson.dumps(decoded(format, case.body, schemas.shape(schema)))


def test_json_and_xml_say_the_same_and_what_the_schema_says(schemas: Schemas) -> None:
    answers = [case for case in TABLE if case.status == 200 and case.value is not None and "_fields" not in case.target]
    pairs = [(told(one, schemas), told(other, schemas)) for one, other in zip(answers[::2], answers[1::2], strict=True)]
    unlike = [one for one, other in pairs if one != other]
    bad = [schema for (schema, data), _ in pairs if not schemas.valid(schema, orjson.loads(data))]
    assert (unlike, bad, len(pairs) > 200) == ([], [], True)
