"""Requests as clients send them: each form means what its canonical spelling means, and each fault has a name."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from harness.content import Json, examples
from harness.program import Database, Service, service
from shopwindow.interface.declaring.kinds import Texts, list_items, list_order
from shopwindow.interface.declaring.operation import Call, FromContent, Operation
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.shop import INTERFACE

BAGS = "/order/v1/bags"
ITEM = {"upcId": 5, "quantity": 1}


@pytest.fixture
def shop(tmp_path: Path, database: Database) -> Service:
    return service(tmp_path, database)


# -- lists -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a,b", ["a", "b"]),
        ("a (b, c),d", ["a (b, c)", "d"]),
        ("((a,b),c),d", ["((a,b),c)", "d"]),
        ("1(2,3),4(5,6)", ["1(2,3)", "4(5,6)"]),
        (",", ["", ""]),
        # parentheses that do not match are plain characters
        ("a (b,c", ["a (b", "c"]),
        ("a),(b,c", ["a)", "(b", "c"]),
    ],
)
def test_a_list_is_not_split_within_parentheses(text: str, items: list[str]) -> None:
    assert list_items(text) == items


@settings(max_examples=examples(300))
@given(st.lists(st.text("ab(),", max_size=5), min_size=1, max_size=4))
def test_the_items_of_a_list_come_back_from_its_canonical_text(parts: list[str]) -> None:
    items = sorted(set(list_items(",".join(parts))), key=list_order)
    assert sorted(set(list_items(",".join(items))), key=list_order) == items


def test_texts_with_commas_in_parentheses_are_one_question_whatever_their_order() -> None:
    kind = Texts()
    assert kind.parse("b (1, 2),a") == kind.parse("a , b (1, 2),a") == ("a", "b (1, 2)")
    assert kind.format(kind.parse("b (1, 2),a")) == "a,b (1, 2)"


# -- words and empty values --------------------------------------------------------------------------------------

CALLS = [
    ("v3/promotions?show=COUPONS,Promotions&channel=site", "v3/promotions?show=promotions,coupons&channel=SITE"),
    ("v3/promotions?show=&global=&promocode=&callback=", "v3/promotions"),
    ("store/v2/stores?feature=bops,Restaurant&_limit=", "store/v2/stores?feature=BOPS,RESTAURANT"),
    (
        "v3/catalog/category/1/browseproducts?sortby=NewArrivals",
        "v3/catalog/category/1/browseproducts?sortby=newarrival",
    ),
    ("v4/catalog/search?searchphrase=a&facetexpandall=TRUE", "v4/catalog/search?searchphrase=a&facetexpandall=true"),
    ("v4/catalog/search?searchphrase=a&sortorderby=newness", "v4/catalog/search?searchphrase=a&sortorderby=NEWNESS"),
    ("v3/catalog/product/1?imagequality=180", "v3/catalog/product/1?imagequality=100"),
    ("v3/catalog/product/1?SHOW=x&imagequality=", "v3/catalog/product/1"),
]


@pytest.mark.parametrize(("sent", "canonical"), CALLS)
def test_a_request_means_what_its_canonical_spelling_means(sent: str, canonical: str) -> None:
    def bound(target: str) -> Call:
        path, _, query = target.partition("?")
        return bind(Request(path, query), "phone", INTERFACE)

    assert bound(sent) == bound(canonical)
    assert bound(bound(sent).target) == bound(canonical)


# -- bodies ------------------------------------------------------------------------------------------------------

XSI = b'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"'
BODIES = {
    "text/xml": ("text/xml; charset=utf-8", b"<item><upcId>5</upcId><quantity>1</quantity></item>"),
    "attributes of xsi": (
        "application/xml",
        b'<?xml version="1.0"?><item ' + XSI + b' xsi:type="Item"><upcId xsi:type="xsd:int">5</upcId>'
        b'<quantity>1</quantity><promocode xsi:nil="true"/></item>',
    ),
    "comments": (
        "application/xml",
        b"<!-- a --><?pi a?><item><!-- b --><upcId><!-- c -->5</upcId><quantity>1<?pi?></quantity></item><!-- d -->",
    ),
    "a byte order mark, XML": ("application/xml", b"\xef\xbb\xbf<item><upcId>5</upcId><quantity>1</quantity></item>"),
    "a byte order mark, JSON": ("application/json", b"\xef\xbb\xbf" + json.dumps({"item": ITEM}).encode()),
    "what has no effect": (
        "application/json",
        json.dumps(
            {
                "item": {
                    **ITEM,
                    "pWPIndicator": True,
                    "promocode": "X",
                    "promotionid": 7,
                    "recipientemail": "a@mail.example",
                    "message": "Hi",
                    "registryID": "",
                }
            }
        ).encode(),
    ),
    "what has no effect, XML": (
        "text/xml",
        b"<item><upcId>5</upcId><quantity>1</quantity><message>Hi</message><pWPIndicator>Y</pWPIndicator></item>",
    ),
}


@pytest.mark.parametrize("form", BODIES)
def test_a_body_is_read_as_clients_write_it(shop: Service, form: str) -> None:
    media_type, body = BODIES[form]
    answer = shop.ask(BAGS, "POST", body, content_type=media_type)
    assert answer.status == 200, answer.body
    bag = json.loads(answer.body)["bag"]
    assert [(item["upcId"], item["quantity"]) for item in bag["items"]] == [(5, 1)]
    assert b"Hi" not in answer.body


@pytest.mark.parametrize(
    ("media_type", "body", "fault"),
    [
        ("application/xml", b'<item lang="en"><upcId>5</upcId></item>', "body: <item> has attributes, which are not"),
        (
            "text/xml",
            b'<item xmlns:x="http://x.example" x:type="a"><upcId>5</upcId></item>',
            "body: <item> has attributes, which are not",
        ),
        ("text/xml", b"<!DOCTYPE item><item/>", "body: a document type declaration"),
        ("application/json", b"\xef\xbb\xbf\xef\xbb\xbf{}", "body: no JSON"),
        ("application/json", b'{"item": {"upcId": 5, "quantity": 1, "coupon": ""}}', "item/0/coupon: "),
        ("application/json", b'{"item": {"upcId": 5, "quantity": "", "message": "a"}}', "item/0/quantity: "),
    ],
)
def test_any_other_body_is_refused_with_what_is_wrong(shop: Service, media_type: str, body: bytes, fault: str) -> None:
    answer = shop.ask(BAGS, "POST", body, content_type=media_type)
    details = json.loads(answer.body)["errorDetail"]
    assert (answer.status, any(text.startswith(fault) for text in details)) == (400, True), details


def test_an_empty_property_is_absent_and_a_word_has_any_case(shop: Service) -> None:
    for value in ({"svcUID": ""}, {}):
        body = {"deviceID": "D1", "optInOrOptOut": "in", **value}
        assert shop.post("/v2/utility/mobileoptinout", body, idempotency_key="k").status == 200
    answer = shop.post("/v2/utility/mobileoptinout", {"deviceID": "", "optInOrOptOut": "maybe"})
    assert json.loads(answer.body)["errorDetail"] == [
        "deviceID: nothing is written here; allowed: some text",
        "optInOrOptOut: 'maybe' is not one of the allowed values; allowed: IN, OUT",
    ]


# -- every fault has a name --------------------------------------------------------------------------------------

NAMED = re.compile(r"[A-Za-z_][\w/.-]*: \S")


def bad_requests(operation: Operation) -> Iterator[dict[str, Any]]:
    """Requests of an operation with something wrong in them, each as arguments of ``ask``."""
    path = "/" + re.sub(r"\{\w+\}", "9", operation.path)
    method, host = operation.method, {"host": "orders.shop.example"} if operation.order_host else {}
    yield {"target": path, "method": "TRACE", **host}
    yield {"target": f"{path}/a/b/c/d", "method": method, **host}
    yield {"target": f"{path}?{'x' * 8193}", "method": method, **host}
    yield {"target": path, "method": method, "accept": "text/html", **host}
    yield {"target": path, "method": method, "x_svc_webservice_client_id": "", **host}
    yield {"target": re.sub(r"\{\w+\}", "x", f"/{operation.path}"), "method": method, **host}
    names = [name for name in operation.in_query if name != "callback"]
    for texts in ("", "\x00", "-1", "x" * 2000, "(", "2026-02-30"):
        query = "&".join(f"{name}={texts}" for name in names)
        yield {"target": f"{path}?{query}", "method": method, **host}
        yield {"target": f"{path}?{query}&{query}", "method": method, **host}
    for body in (b"", b"{", b"[]", b"{}", b'{"x": 1}', b'{"item": [{}]}', b"\xff", b'{"a": 1, "a": 2}', b"[" * 100):
        if operation.body:
            yield {"target": path, "method": method, "body": body, **host}
            yield {"target": path, "method": method, "body": body, "content_type": "text/plain", **host}
            yield {"target": path, "method": method, "body": body or b" ", "content_type": "application/xml", **host}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Service:
    """A service without a database."""
    return service(tmp_path_factory.mktemp("reader"))


@pytest.mark.parametrize("operation", INTERFACE.operations, ids=lambda operation: operation.name)
@pytest.mark.parametrize("accept", ["application/json", "application/xml"])
def test_every_fault_begins_with_the_name_of_what_it_is_about(
    reader: Service, operation: Operation, accept: str
) -> None:
    refused = 0
    for request in bad_requests(operation):
        answer = reader.ask(**{"accept": accept, **request})
        if answer.status == 200:
            continue
        refused += 1
        if answer.headers["content-type"] == "application/json":
            value: Json = json.loads(answer.body)
        else:
            root = etree.fromstring(answer.body)
            value = {name: [element.text for element in root.findall(name)] for name in ("errorDetail", "errorMessage")}
        unnamed = [text for text in value.get("errorDetail", ()) if not NAMED.match(text)]
        assert (unnamed, "errorDetail" in value or "errorMessage" in value) == ([], True), (request, answer)
    assert refused >= 5


# -- the log -----------------------------------------------------------------------------------------------------

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
NO_TRACES = (
    "",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    TRACE.upper(),
    f"{TRACE}-x",
)


def test_ignored_names_tell_no_calls_apart() -> None:
    call = bind(Request("v2/promotions"), "phone", INTERFACE)
    assert isinstance(call.operation.source, FromContent)
    assert replace(call, ignored=("X",)) == call
