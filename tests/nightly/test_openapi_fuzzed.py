"""The service against its OpenAPI document: what schemathesis generates finds no fault."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from facts.conformance import PHONE
from harness.content import Json
from harness.databases import open_database
from harness.program import Application, served, shopwindow
from shopwindow.shop import INTERFACE

KEY = {"x-svc-webservice-client-id": PHONE, "Accept-Encoding": "identity"}  # its WSGI client decodes nothing


@pytest.fixture(scope="module")
def document(out: Path) -> Json:
    """What `shopwindow schemas --openapi` prints."""
    ran = shopwindow("schemas", "--openapi", "--out", out)
    assert (ran.status, ran.err) == (0, "")
    return json.loads(ran.out)


@pytest.fixture(scope="module")
def service(out: Path) -> Iterator[Application]:
    database = open_database(f"sqlite:///{out}/store.sqlite", INTERFACE.tables)
    database.migrate()
    yield served(out, database, out / "log")
    database.close()


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def test_no_generated_request_finds_a_server_error_or_an_undocumented_status(
    document: Json, service: Application
) -> None:
    schema = schemathesis.openapi.from_dict({**document, "servers": [{"url": "/"}]})
    schema.app = service
    statuses: dict[int, int] = {}

    for result in schema.get_all_operations():
        operation = cast(Any, result).ok()
        for mode in schemathesis.GenerationMode:
            run(operation.as_strategy(generation_mode=mode), service, statuses)
    assert (sum(statuses.values()) > 300, {200, 400} <= set(statuses)) == (True, True)


ORDERS = "orders.shop.example"


ON_THE_ORDER_HOST = {f"/{operation.path}" for operation in INTERFACE.operations if operation.order_host}


def run(strategy: Any, service: Application, statuses: dict[int, int]) -> None:
    """Some dozens of requests of one operation, in turn as JSON and XML."""

    @hypothesis.settings(
        max_examples=int(os.environ.get("SHOPWINDOW_FUZZ_EXAMPLES", "24")),
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy, hypothesis.strategies.sampled_from(["application/json", "application/xml"]))
    def checked(case: Any, accept: str) -> None:
        host = {"Host": ORDERS} if case.operation.path in ON_THE_ORDER_HOST else {}
        case.query.pop("callback", None)  # the answer is a script then, which the document has in words alone
        response = case.call(app=service, headers={**KEY, "Accept": accept, **host})
        statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
        masked = [response_schema_conformance] if "_fields" in case.query else []  # exempt from `required`
        case.validate_response(response, checks=[check for check in CHECKS if check not in masked])

    checked()
