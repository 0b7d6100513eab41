"""What no client sends by mistake: every write answers 4xx, soon, in its own form, and nothing is written."""

import gc
import json
import re
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from lxml import etree

from harness.content import ROOT
from harness.databases import ENGINES, Engine, declared, engine_of
from harness.program import (
    JSON,
    NOW,
    ORDERS,
    PHONE,
    SECRET,
    XML,
    Database,
    Shopping,
    called,
    release_of_codes,
    shopping,
)
from shopwindow.interface.declaring.operation import Operation
from shopwindow.interface.declaring.table import Tables
from shopwindow.retail.bags.table import BAGS, Bag, Line
from shopwindow.retail.codes.issuing import keep
from shopwindow.retail.codes.text import digest
from shopwindow.shop import INTERFACE

MIB = 1024 * 1024
WRITES = [operation for operation in INTERFACE.operations if operation.body]
GUID = "00000000-0000-4000-8000-000000000001"
TABLES = [
    name
    for table in declared(INTERFACE.tables).values()
    for step in table.steps
    for name in re.findall(r"CREATE TABLE (\w+)", step)
]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(request, request.param, tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="module")
def shop(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shopping]:
    """A shop with a code and a bag."""
    database = engine.open()
    database.migrate()
    keep(database, {1: [digest("CODE", SECRET)]}, SECRET, NOW)

    database.write(lambda shop: shop[BAGS].put(_made(shop), [Line(1, 5, 2)]))
    shop = shopping(database, release_of_codes(tmp_path_factory.mktemp("bad")))
    for operation in WRITES:  # the first refusal of each loads what explains
        refused(shop, operation, b'{"a":1}', JSON, JSON)
    gc.freeze()  # as the service does once it has loaded a release
    yield shop
    gc.unfreeze()
    database.close()


def _made(shop: Tables) -> Bag:
    made = shop[BAGS].make("phone", GUID, 1, 2, NOW)
    assert made
    return made


def everything(database: Database) -> list[Any]:
    """All rows of all tables."""

    def rows(shop: Any) -> list[Any]:
        return [sorted(shop[BAGS]._run(f"SELECT * FROM {table}"), key=repr) for table in TABLES]

    return database.read(rows)


def target(operation: Operation) -> str:
    path = operation.path.replace("{bagGuid}", GUID).replace("{sequenceNumber}", "1")
    return f"/{path}" + ("?bagId=1" if operation.name == "bag_add" else "")


def repeated(part: bytes, head: bytes, tail: bytes, size: int = MIB, between: bytes = b"") -> bytes:
    """As much of ``part`` as fits; `%d` in it is a number that counts up."""
    count = (size - len(head) - len(tail)) // (len(part) + len(between) + 6)
    parts = [part.replace(b"%d", b"%d" % number) for number in range(count)]
    return head + between.join(parts) + tail


LAUGHS = b"<!DOCTYPE a [<!ENTITY a0 'ha'>" + b"".join(
    b"<!ENTITY a%d '%s'>" % (number, b"&a%d;" % (number - 1) * 10) for number in range(1, 12)
)
IN_XML = {
    "a billion laughs": LAUGHS + b"]><a>&a11;</a>",
    "a quadratic entity": b"<!DOCTYPE a [<!ENTITY b '" + b"x" * 50_000 + b"'>]><a>" + b"&b;" * 20_000 + b"</a>",
    "an external entity": b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a><item>&b;</item></a>",
    "a remote entity": b"<!DOCTYPE a [<!ENTITY b SYSTEM 'http://127.0.0.1:1/'>]><a>&b;</a>",
    "a remote DTD": b"<!DOCTYPE a SYSTEM 'http://127.0.0.1:1/a.dtd'><a/>",
    "a parameter entity": b"<!DOCTYPE a [<!ENTITY % b SYSTEM 'file:///etc/passwd'> %b;]><a/>",
    "an empty DTD": b"<!DOCTYPE a><a/>",
    "XInclude": b"<a xmlns:x='http://www.w3.org/2001/XInclude'><x:include href='file:///etc/passwd'/></a>",
    "a stylesheet": b"<?xml-stylesheet href='file:///etc/passwd'?><a/>",
    "deep elements": b"<a>" * (MIB // 3),
    "many elements": repeated(b"<a/>", b"<a>", b"</a>"),
    "many items": repeated(b"<item/>", b"<items>", b"</items>"),
    "many wrong items": repeated(b"<item><upcId>x</upcId></item>", b"<items>", b"</items>"),
    "many attributes": repeated(b" a%d='1'", b"<a", b"/>"),
    "many namespaces": repeated(b" xmlns:a%d='b'", b"<a", b"/>"),
    "a long text": b"<a><orderNumber>" + b"x" * (MIB - 100) + b"</orderNumber></a>",
    "a long name": b"<" + b"a" * (MIB - 10) + b"/>",
    "a long unknown name": b"<a><" + b"b" * (MIB - 20) + b"/></a>",
    "not closed": b"<a><item>",
    "two roots": b"<a/><b/>",
    "text alone": b"item",
    "nothing but blanks": b"  \n",
    "CDATA where elements are": b"<a><![CDATA[<item/>]]></a>",
    "a control character": b"<a><orderNumber>\x01</orderNumber></a>",
    "a control character by number": b"<a><orderNumber>&#1;</orderNumber></a>",
    "half of a surrogate": b"<a><orderNumber>&#xD800;</orderNumber></a>",
    "bytes that are no UTF-8": b"<a><orderNumber>\xff</orderNumber></a>",
    "an unknown encoding": b"<?xml version='1.0' encoding='x-none'?><a/>",
    "JSON": b'{"item": 1}',
    "not UTF-8 after all": "<?xml version='1.0' encoding='utf-16'?><a><b/></a>".encode("utf-16"),
}
IN_JSON = {
    "NaN": b'{"item":{"upcId":NaN,"quantity":1},"orderNumber":NaN,"deviceID":NaN}',
    "Infinity": b'{"item":{"upcId":Infinity,"quantity":1},"orderNumber":-Infinity}',
    "too large a number": b'{"item":{"upcId":1e999,"quantity":1},"orderNumber":1e999}',
    "a long number": b'{"item":{"upcId":' + b"9" * (MIB - 40) + b',"quantity":1}}',
    "a long number as text": b'{"item":{"upcId":"' + b"9" * (MIB - 40) + b'","quantity":1}}',
    "a key twice": b'{"orderNumber":"1","orderNumber":"1"}',
    "a key twice, far apart": repeated(b'"k%d":1', b"{", b',"k0":1}', between=b","),
    "many keys": repeated(b'"item%d":1', b"{", b"}", between=b","),
    "many items": repeated(b"{}", b'{"item":[', b"]}", between=b","),
    "many wrong items": repeated(b'{"upcId":"x","quantity":-1}', b'{"item":[', b"]}", between=b","),
    "many nulls": repeated(b"null", b'{"item":[', b"]}", between=b","),
    "deep lists": b'{"item":' + b"[" * (MIB - 20),
    "deep lists, closed": b'{"item":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
    "deep objects": b'{"item":' * (MIB // 8),
    "deep objects that are closed": b'{"item":' * 900 + b"1" + b"}" * 900,
    "a long key": b'{"' + b"k" * (MIB - 10) + b'":1}',
    "a long text": b'{"orderNumber":"' + b"x" * (MIB - 40) + b'"}',
    "half of a surrogate": b'{"promoCode":"\\ud800","orderNumber":"1","reservationId":"1","deviceID":"\\ud800"}',
    "half of a surrogate in UTF-8": b'{"orderNumber":"\xed\xa0\x80"}',
    "bytes that are no UTF-8": b'{"orderNumber":"\xff"}',
    "a control character": b'{"orderNumber":"\x01"}',
    "NUL": b'{"promoCode":"CODE\\u0000","orderNumber":"1","reservationId":"1","deviceID":"\\u0000"}',
    "NUL in a key": b'{"item\\u0000":1}',
    "what XML cannot carry": b'{"promoCode":"CODE","orderNumber":"\\uffff","reservationId":"1","deviceID":"\\uffff"}',
    "a byte order mark": b'\xef\xbb\xbf{"a":1}',
    "UTF-16": '{"item":1}'.encode("utf-16"),
    "a comment": b'{"item":1/**/}',
    "something after it": b'{"item":1} 2',
    "single quotes": b"{'item':1}",
    "null": b"null",
    "a list": b'[{"item":1}]',
    "a text": b'"item"',
    "a number": b"7",
    "an empty object": b"{}",
    "__proto__": b'{"__proto__":{"item":1}}',
    "wrong types": b'{"item":true,"orderNumber":[],"promoCode":{},"reservationId":null,"deleteitemsrequest":7}',
    "XML": b"<a/>",
}
TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonx",
    "json",
    "application/json; charset=utf-16",
    "application/json; charset=latin-1",
    "application/json; Charset=ISO-8859-1",
    "text/xml2",
    "application/json,application/xml",
)

HURRY_SECONDS = 0.5
"""Processor time that a body may take at most: these take up to 0.1 s, and twice as much beside other tests. What grows
by the square takes minutes.
"""


def of_wrong_shape(operation: Operation) -> dict[str, tuple[bytes, str]]:
    """1 MB of each wrong shape that a write's schema lets one think of, and its media type."""
    schema = json.loads((ROOT / "schemas" / operation.request_schema).read_bytes())
    bodies = {
        f"a list of {part.decode()} at the top": (repeated(part, b"[", b"]", between=b","), JSON)
        for part in (b"{}", b"[[]]", json.dumps(schema["examples"][0]).encode())
    }
    for name in schema["properties"]:
        for part in (b"{}", b"[[[[]]]]", b"1"):
            count = (MIB - 100) // (len(part) + 1)
            body = b'{"%s":[' % name.encode() + b",".join([part] * count) + b"]}"
            bodies[f"{name}: {count:,} of {part.decode()}"] = body, JSON
        item = _element(name, schema["examples"][0].get(name, ""))
        for part in (item, b"<%s><a/></%s>" % (name.encode(), name.encode())):
            count = min(20_000, (MIB - 100) // len(part))
            bodies[f"{count:,} times {part[:60].decode()}"] = b"<a>" + part * count + b"<b/></a>", XML
    return bodies


def _element(name: str, value: Any) -> bytes:
    """A value as an element; the first of a list."""
    if isinstance(value, list):
        return _element(name, value[0])
    inner = b"".join(map(_element, value, value.values())) if isinstance(value, dict) else str(value).encode()
    return b"<%s>%s</%s>" % (name.encode(), inner, name.encode())


def refused(shop: Shopping, operation: Operation, body: bytes, media_type: str, accept: str) -> tuple[int, bool]:
    """The status of an answer, and whether it came soon, in the right form, without repeating what was sent."""
    sent = {"content-type": media_type, "accept": accept, **({"host": ORDERS} if operation.order_host else {})}
    started = time.thread_time()
    answer = shop.ask(operation.method, target(operation), body, sent)
    soon = time.thread_time() - started < HURRY_SECONDS
    if accept == JSON:
        told = json.loads(answer.body)
        names, success = list(told), told["success"]
    else:
        root = etree.fromstring(answer.body)
        names, success = list(dict.fromkeys(each.tag for each in root)), root.findtext("success") != "false"
    form = ["success", "errorMessage", "errorCode"]
    if not operation.own_failures:
        form = ["errorCode", "message", "errorDetail", "success"]
    fits = names == form and success is False and len(answer.body) < 60_000 and b"root:" not in answer.body
    return answer.status, soon and fits and answer.headers["content-type"] == accept


@pytest.mark.parametrize("operation", WRITES, ids=lambda operation: operation.name)
def test_nothing_comes_of_bad_bodies(shop: Shopping, operation: Operation) -> None:
    before = everything(shop.database)
    sent = [(name, body, XML) for name, body in IN_XML.items()] + [(name, body, JSON) for name, body in IN_JSON.items()]
    answered = {
        (name, media_type): refused(shop, operation, body, media_type, accept)
        for (name, body, media_type), accept in zip(sent, [JSON, XML] * len(sent), strict=False)
    }
    odd = {case: told for case, told in answered.items() if told != (400, True)}
    assert (odd, everything(shop.database) == before) == ({}, True)


@pytest.mark.parametrize("operation", WRITES, ids=lambda operation: operation.name)
def test_a_megabyte_of_a_wrong_shape_is_refused_soon(shop: Shopping, operation: Operation) -> None:
    bodies = of_wrong_shape(operation)
    answered = {name: refused(shop, operation, body, media_type, JSON) for name, (body, media_type) in bodies.items()}
    assert {name: answer for name, answer in answered.items() if answer != (400, True)} == {}


def test_a_body_has_no_room_for_more_right_entries_than_the_log_takes() -> None:
    entries = json.loads((ROOT / "schemas" / "requests/mobilelog.json").read_bytes())["properties"]["entry"]
    shortest = dict.fromkeys(entries["items"]["required"], "x") | {"logLevel": "INFO"}
    assert len(json.dumps(shortest, separators=(",", ":")) + ",") * entries["maxItems"] > MIB


@pytest.mark.parametrize("operation", WRITES, ids=lambda operation: operation.name)
def test_a_body_of_another_type_is_not_read(shop: Shopping, operation: Operation) -> None:
    before = everything(shop.database)
    bodies = (b'{"item":{"upcId":5,"quantity":1}}', b"<a/>", b"upcId=5&quantity=1")
    told = {refused(shop, operation, body, each, accept) for body in bodies for each in TYPES for accept in (JSON, XML)}
    told.add(refused(shop, operation, b" " * (MIB + 1), JSON, JSON))
    assert (told, everything(shop.database) == before) == ({(415, True), (413, True)}, True)


class Gone:
    """A body whose client goes before its end: gunicorn raises such an error, others an error of their own."""

    def read(self, size: int) -> bytes:
        raise OSError("the client has gone")


CHUNKED, OF_NINE = {"HTTP_TRANSFER_ENCODING": "chunked"}, {"CONTENT_LENGTH": "9"}


@pytest.mark.parametrize(("way", "body"), [(CHUNKED, Gone()), (OF_NINE, Gone()), (OF_NINE, BytesIO(b"{}"))])
def test_a_body_that_its_server_cannot_read_is_refused_though_none_would_do(
    shop: Shopping, way: dict[str, str], body: Any
) -> None:
    before = everything(shop.database)

    def server(environ: dict[str, Any], start_response: Any) -> Any:
        return shop.app({**environ, **way, "wsgi.input": body}, start_response)

    sent = {"x-svc-webservice-client-id": PHONE, "content-type": JSON, "accept": JSON, "host": ORDERS}
    came = called(server, f"/order/v1/bags/{GUID}/items/1", sent, "DELETE")
    why = "body: ended early, or its chunks cannot be read; it may be sent again"
    told = came.status, json.loads(came.body)["errorDetail"]
    assert (told, everything(shop.database) == before) == ((400, [why]), True)
