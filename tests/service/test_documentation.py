"""What the service answers at /openapi.json and /docs, and who gets it: everybody, without a key."""

import gzip
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.content import SAMPLE
from harness.program import Answer, Application, built, called, copied, current_loaded, served, shopwindow
from shopwindow.edge import openapi
from shopwindow.interface.declaring.routes import OPEN_PATHS
from shopwindow.interface.request import Request
from shopwindow.service.documentation import MAKERS_IMAGE, REDOC_FOLDER
from shopwindow.service.exchange import at_once
from shopwindow.service.serving import Exchange
from shopwindow.shop import INTERFACE

HEADER = "x-svc-webservice-client-id"
KEY = (SAMPLE / "sample-keys.txt").read_text().split()[1]
ORDERS = "orders.larkspurvane.example"


@pytest.fixture(scope="module")
def service(sample_out: Path) -> Application:
    """The service with its documentation."""
    return served(sample_out, describe=openapi.document)


@pytest.fixture(scope="module")
def silent(sample_out: Path) -> Application:
    """The same without documentation."""
    return served(sample_out)


def facts(answer: Answer) -> tuple[int, str, str, str]:
    return (answer.status, *(answer.headers.get(name, "") for name in ("content-type", "cache-control", "vary")))


def test_the_document_is_the_one_that_the_command_prints(service: Application, sample_out: Path) -> None:
    answer = called(service, "openapi.json", {})
    printed = shopwindow("schemas", "--openapi", "--out", sample_out)
    assert facts(answer) == (200, "application/json", "max-age=300", "Accept-Encoding, Origin")
    assert json.loads(answer.body) == json.loads(printed.out)


def test_the_page_loads_the_vendored_redoc_with_the_document(service: Application) -> None:
    answer = called(service, "docs", {})
    assert facts(answer) == (200, "text/html; charset=utf-8", "max-age=300", "Accept-Encoding, Origin")
    assert '<redoc spec-url="/openapi.json"></redoc>\n<script src="/docs/redoc.standalone.js"></script>' in (
        answer.body.decode()
    )
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert (policy["default-src"], policy["script-src"], policy["style-src"]) == ("'none'", "'self'", "'unsafe-inline'")
    assert re.findall(r"(?:https?:)?//", answer.body.decode()) == []

    script = called(service, "docs/redoc.standalone.js", {})
    assert facts(script) == (200, "text/javascript; charset=utf-8", "max-age=86400", "Accept-Encoding, Origin")
    vendored = (REDOC_FOLDER / "redoc.standalone.js").read_bytes()
    assert vendored.count(MAKERS_IMAGE) == 1  # a Redoc without it needs nothing in its place
    assert script.body == vendored.replace(MAKERS_IMAGE, b"data:,")
    notices = called(service, "docs/redoc.standalone.js.LICENSE.txt", {})
    assert (notices.status, b"Licensed under MIT" in notices.body) == (200, True)


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_an_answer_is_the_same_with_a_slash_a_query_a_key_and_any_accept(service: Application, path: str) -> None:
    plain = called(service, path, {})
    others = [
        called(service, f"{path}/", {}),
        called(service, f"{path}?x=1&x=2", {}),
        called(service, f"{path}?x={'y' * 9000}", {}),
        called(service, path, {HEADER: KEY}),
        called(service, path, {HEADER: "x" * 24, "Accept": "text/html"}),
    ]
    assert (plain.status, others) == (200, [plain] * 5)


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_who_has_it_already_gets_304_whatever_the_coding(service: Application, path: str) -> None:
    plain = called(service, path, {})
    coded = called(service, path, {"Accept-Encoding": "gzip"})
    tags = plain.headers["etag"], coded.headers["etag"]
    answers = [called(service, path, {"If-None-Match": tag, "Accept-Encoding": "gzip"}) for tag in (*tags, '"other"')]
    assert [(each.status, each.body) for each in answers] == [(304, b""), (304, b""), (200, coded.body)]


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_head_has_the_headers_of_get_and_no_body(service: Application, path: str) -> None:
    got, head = called(service, path, {}), called(service, path, {}, "HEAD")
    assert (head.status, head.headers, head.body) == (200, got.headers, b"")


def test_what_is_long_is_compressed_as_other_answers_are(service: Application) -> None:
    for path in ("openapi.json", "docs/redoc.standalone.js"):
        plain = called(service, path, {})
        coded = called(service, path, {"Accept-Encoding": "gzip"})
        assert (coded.headers["content-encoding"], gzip.decompress(coded.body)) == ("gzip", plain.body)
        assert coded.headers["etag"] == plain.headers["etag"][:-1] + '-gz"'
    assert "content-encoding" not in called(service, "docs", {"Accept-Encoding": "gzip"}).headers


@pytest.mark.parametrize("path", OPEN_PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_another_method_is_refused_with_those_that_are_allowed(service: Application, path: str, method: str) -> None:
    answer = called(service, path, {"Accept": "application/xml"}, method, b"")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert f"must be GET, HEAD, OPTIONS, not {method}".encode() in answer.body
    assert called(service, path, {}, "OPTIONS").status == 204


@pytest.mark.parametrize("path", [*OPEN_PATHS, "docs/"])
@pytest.mark.parametrize("key", [KEY, "x" * 24, ""])
def test_without_documentation_its_paths_are_unknown_as_any_other(silent: Application, path: str, key: str) -> None:
    sent = {HEADER: key} if key else {}
    answer, unknown = called(silent, path, sent), called(silent, "nowhere", sent)
    assert (answer, answer.status) == (unknown, 404 if key == KEY else 401)


@pytest.mark.parametrize("target", ["docs/x", "docs//", "openapi.jso", "DOCS", "docs/redoc.LICENSE", "docs/../docs"])
def test_a_path_beside_them_needs_a_key(service: Application, target: str) -> None:
    assert called(service, target, {}) == called(service, "nowhere", {})


def test_options_names_methods_only_where_the_document_does(service: Application, silent: Application) -> None:
    paths = ("v2/promotions", "docs", "nowhere")
    allowed = [[called(each, path, {}, "OPTIONS").headers.get("allow") for path in paths] for each in (service, silent)]
    assert allowed == [["GET, HEAD, OPTIONS", "GET, HEAD, OPTIONS", None], [None, None, None]]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_log_calls_each_request_for_a_page_documentation(sample_out: Path, method: str) -> None:
    serving = replace(current_loaded(sample_out), describe=openapi.document)
    came = at_once(Request("docs", method=method, headers={"host": "x"}), serving)
    name = came.operation if isinstance(came, Exchange) else came.routed[0].name
    assert name == "documentation"


def test_the_order_host_has_no_documentation(service: Application) -> None:
    elsewhere = [called(service, path, {"Host": ORDERS}).status for path in OPEN_PATHS]
    assert elsewhere == [401] * 4


def test_it_stands_below_the_path_of_the_base_url(tmp_path: Path) -> None:
    content = copied(SAMPLE, tmp_path / "content")
    site = content / "site.yaml"
    text = site.read_text().replace("base_url: https://api.larkspurvane.example", "base_url: https://x.example/a%20b")
    site.write_text(text)
    built(content, tmp_path / "dist")
    service = served(tmp_path / "dist", describe=openapi.document)
    statuses = [called(service, path, {"Host": "x.example"}).status for path in ("a%20b/docs", "docs", "a%20bdocs")]
    page = called(service, "a%20b/docs", {"Host": "x.example"}).body.decode()
    assert statuses == [200, 401, 401]
    assert 'spec-url="/a%20b/openapi.json"' in page
    assert 'src="/a%20b/docs/redoc.standalone.js"' in page


def test_a_page_of_a_listed_origin_may_read_it(service: Application) -> None:
    page = "https://www.larkspurvane.example"
    answers = [called(service, "openapi.json", {"Origin": origin}) for origin in (page, "https://x.example")]
    assert [each.headers.get("access-control-allow-origin") for each in answers] == [page, None]


def test_a_release_is_described_once_however_many_ask_at_the_same_time(sample_out: Path) -> None:
    printed: list[int] = []

    def describe(*of: Any) -> dict[str, Any]:
        printed.append(1)
        return {"of": [type(each).__name__ for each in of]}

    service = served(sample_out, describe=describe)
    assert printed == []  # nothing is printed before anybody asks
    with ThreadPoolExecutor(16) as pool:
        asked = [{"Accept-Encoding": coding} for coding in ("gzip", "br", "", "zstd") * 4]
        answers = list(pool.map(partial(called, service, "openapi.json"), asked))
    assert ([each.status for each in answers], printed) == ([200] * 16, [1])
    assert answers[2].body == b'{"of":["Interface","Content","Schemas"]}'


def test_a_fault_of_ours_is_a_500_without_details_and_the_next_request_tries_again(
    sample_out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    faults = [RuntimeError("a detail")]

    def describe(*of: Any) -> Any:
        if faults:
            raise faults.pop()
        return openapi.document(*of)

    service = served(sample_out, describe=describe)
    answer = called(service, "openapi.json", {})
    assert (answer.status, json.loads(answer.body)["errorCode"], b"detail" in answer.body) == (500, 500, False)
    assert "a detail" in capfd.readouterr().err
    assert called(service, "openapi.json", {}).status == 200


def test_an_operation_of_such_a_path_comes_before(sample_out: Path) -> None:
    (promotions,) = [each for each in INTERFACE.operations if each.name == "promotions_v2"]
    own = replace(promotions, name="own_docs", path="docs")
    interface = replace(INTERFACE, operations=(*INTERFACE.operations, own))
    service = served(sample_out, interface=interface, describe=openapi.document)
    assert called(service, "docs", {}).status == 401
    assert called(service, "docs", {HEADER: KEY}).headers["content-type"] == "application/json"
    assert called(service, "openapi.json", {}).status == 200
