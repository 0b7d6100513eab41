"""The conformance table of codes and bags: requests in turn, with the answers owed to them, written out by hand.

A script is a few requests to one store, in JSON and then in XML. What the service draws by lot, such as a bag's GUID,
stands in braces and is learnt from the answer that tells it first.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from facts.conformance import CHALLENGE, NO_KEY, json_bytes, xml
from harness.program import JSON, KEY, ORDERS, PHONE, TABLET, XML

Json = Any
VARY = "Accept, Accept-Encoding, x-svc-webservice-client-id"
OTHER_GUID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Step:
    """A request, and what is owed: the answer's status, value and further headers.

    ``body`` is a value, written in the script's format, or bytes; ``root`` the element around it in XML. ``tag`` is the
    ETag. ``only``: in this format alone.
    """

    method: str
    target: str
    body: Json = None
    status: int = 200
    value: Json = None
    sent: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    root: str = "response"
    body_root: str = "request"
    tag: str | None = None
    only: str = ""


@dataclass(frozen=True)
class Script:
    """Steps in turn. ``codes``: those issued before, with their promotions; ``state``: what is kept in the end."""

    name: str
    steps: Sequence[Step]
    codes: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The codes that have an order then, with it and its reservation."""
    lines: Sequence[tuple[int, int, int]] = ()
    """Sequence number, upcId and quantity of every item of the script's first bag then."""


def filled(value: Json, known: Mapping[str, Json]) -> Json:
    """A value with what is known in place of the braces; alone, it keeps its type."""
    if isinstance(value, dict):
        return {key: filled(each, known) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(each, known) for each in value]
    if isinstance(value, bytes):
        return filled(value.decode(), known).encode() if b"{run}" in value else value
    if not isinstance(value, str):
        return value
    for name, each in known.items():
        if value == f"{{{name}}}":
            return each
        value = value.replace(f"{{{name}}}", str(each))
    return value


def data_of(step: Step, media_type: str, known: Mapping[str, Json]) -> bytes | None:
    """The bytes of a step's body."""
    body = filled(step.body, known)
    if body is None or isinstance(body, bytes):
        return body
    return json.dumps(body).encode() if media_type == JSON else xml(body, step.body_root)


def answer_of(step: Step, media_type: str, known: Mapping[str, Json]) -> tuple[int, dict[str, str], bytes]:
    """What is owed to a step."""
    value = filled(step.value, known)
    if media_type == JSON:
        body = json_bytes(value)
    else:
        body = xml(value if step.root == "response" else value[step.root], step.root)
    headers = {"content-type": media_type, "cache-control": "no-store", "vary": VARY, "content-length": str(len(body))}
    if step.method == "HEAD":
        body = b""
    headers |= {} if step.tag is None else {"etag": filled(step.tag, known)}
    return step.status, headers | dict(step.headers), body


def scripts() -> list[Script]:
    """Every script."""
    return [*_codes(), *_bags()]


# -- failures ----------------------------------------------------------------------------------------------------

_CODES = {
    "invalid": (400, 400, "The request is not valid"),
    "no_key": (401, 401, "The API key is missing or unknown"),
    "no_mapping": (404, 101, "There is no mapping for request"),
    "not_found": (404, 409, "No data for search criteria"),
    "method": (405, 102, "The method is not allowed for this path"),
    "not_acceptable": (406, 103, "None of the accepted formats is available"),
    "precondition": (412, 412, "It was changed meanwhile"),
    "too_large": (413, 104, "The body is too large"),
    "media_type": (415, 106, "The body's Content-Type is missing or not supported"),
    "repeated": (422, 422, "The Idempotency-Key was used for another request"),
}


def failed(code: str, method: str, target: str, body: Json, *details: str, **more: Any) -> Step:
    """A step that fails in the general form."""
    status, number, message = _CODES[code]
    said = list(details) or [NO_KEY]
    if code == "no_key":
        more["headers"] = CHALLENGE
    value = {"errorCode": number, "message": message, "errorDetail": said, "success": False}
    return Step(method, target, body, status, value, **more)


def declined(status: int, reason: str, body: Json = None, method: str = "PUT", **more: Any) -> Step:
    """A step that fails in the form of single-use codes."""
    value = {"success": False, "errorMessage": f"Error processing request: {reason}", "errorCode": status}
    if status == 401:
        more["headers"] = CHALLENGE
    sent = {"Host": ORDERS, **more.pop("sent", {})}
    return Step(method, more.pop("target", SUPC), body, status, value, sent, **more)


# -- single-use codes --------------------------------------------------------------------------------------------

SUPC = "v3/order/supc"
DONE = {"success": True}
LIVE, OVER, TO_COME, GONE = 1, 2, 3, 99
"""Promotions of the shop."""
GUESSING = "R-{run}"
"""The reservation of wrong codes: of one that all runs share, more would come in a minute than are admitted."""


def order(code: str | None, number: str = "1001", reservation: Json = "R7", **more: Json) -> Json:
    named = {} if code is None else {"promoCode": code}
    return {**named, "orderNumber": number, "reservationId": reservation, **more}


def expired(body: Json, **more: Any) -> Step:
    return Step(
        "PUT", more.pop("target", SUPC), body, value=DONE, sent={"Host": ORDERS, **more.pop("sent", {})}, **more
    )


def _codes() -> Iterator[Script]:
    a, b, c = "AAAA-{run}-0001", "BBBB-{run}-0002", "CCCC-{run}-0003"
    yield Script(
        "a code is expired once",
        (
            expired(order(a)),
            expired(order(a)),
            expired(order(a.lower().replace("-", " "), status="EXPIRE")),
            declined(400, "SUPC_USED", order(a, "1002")),
            declined(400, "SUPC_USED", order(a, "1001", "R8")),
            expired(order(a), target=f"{SUPC}/"),
            expired(order(a), target=f"{SUPC}?unknown=1"),
        ),
        {a: LIVE, b: LIVE},
        {a: ("1001", "R7")},
    )
    yield Script(
        "a reservation is the same as text and as a number",
        (
            expired(order(a, reservation=7)),
            expired(order(a, reservation="7")),
            declined(400, "SUPC_USED", order(a, reservation="07")),
            expired(order(b, "<&>\r\n", "\u00e9\u2028\U0001f370")),
            expired(order(b, "<&>\r\n", "\u00e9\u2028\U0001f370")),
            declined(400, "SUPC_USED", order(b, "<&>\r\n", "e\u2028\U0001f370")),
        ),
        {a: LIVE, b: LIVE},
        {a: ("1001", "7"), b: ("<&>\r\n", "\u00e9\u2028\U0001f370")},
    )
    yield Script(
        "reasons",
        (
            declined(400, "INVALID_CODE", order("NONE-{run}", reservation=GUESSING)),
            declined(400, "PROMOTION_EXPIRED", order(a)),
            declined(400, "PROMOTION_NOT_STARTED", order(b)),
            declined(400, "PROMOTION_WITHDRAWN", order(c)),
        ),
        {a: OVER, b: TO_COME, c: GONE},
    )
    yield Script(
        "the cookie",
        (
            expired(order(None), sent={"Cookie": f"a=b; supc={b}; c"}),
            expired(order(None), sent={"Cookie": f'supc="{b}"; supc={a}'}),
            declined(400, "promoCode: is missing", order(None), sent={"Cookie": f"SUPC={b}"}),
            declined(400, "INVALID_CODE", order("NONE-{run}", reservation=GUESSING), sent={"Cookie": f"supc={b}"}),
        ),
        {a: LIVE, b: LIVE},
        {b: ("1001", "R7")},
    )
    yield Script("codes: failures have the operation's own form", tuple(_declined(a)), {a: LIVE})
    there = {"Host": ORDERS}
    unmapped = "path: is not one of the interface"
    elsewhere = (
        f"path: is one of the order host's (order_base_url in site.yaml); send it there, with the header Host: {ORDERS}"
    )
    yield Script(
        "each host has its operations",
        (
            failed("no_mapping", "PUT", SUPC, order(a), elsewhere),
            failed("no_mapping", "PUT", f"{SUPC}/", order(a), elsewhere),
            failed("no_mapping", "GET", SUPC, None, elsewhere),
            failed("no_mapping", "PUT", f"{SUPC}/x", order(a), unmapped),
            failed("no_key", "PUT", SUPC, order(a), sent={KEY: ""}),
            failed("no_mapping", "GET", "v2/promotions", None, unmapped, sent=there),
            failed("no_mapping", "POST", "order/v1/bags", added((5, 1)), unmapped, sent=there),
            failed("no_mapping", "PUT", "v3/order/supc/x", order(a), unmapped, sent=there),
            failed("no_mapping", "PUT", "v3/order", order(a), unmapped, sent=there),
            failed("no_key", "GET", "v3/order", None, sent={**there, KEY: "x"}),
        ),
        {a: LIVE},
    )


def _declined(code: str) -> Iterator[Step]:
    good = order(code)
    yield declined(401, NO_KEY, good, sent={KEY: ""})
    yield declined(401, NO_KEY, good, sent={KEY: "x" * 24})
    yield declined(401, NO_KEY, None, "GET", sent={KEY: ""})
    for method in ("GET", "POST", "DELETE", "PATCH"):
        said = f"method: must be OPTIONS, PUT, not {method}"
        yield declined(405, said, None, method, headers={"allow": "OPTIONS, PUT"})
    accepted = "Accept: must admit application/json or application/xml, not 'text/html'"
    yield declined(406, accepted, good, sent={"accept": "text/html"}, only=JSON)
    allowed = "Content-Type: must be application/json or application/xml, in UTF-8, not"
    yield declined(415, f"{allowed} text/plain", good, sent={"content-type": "text/plain"})
    yield declined(
        415, f"{allowed} application/json; charset=latin-1", good, sent={"content-type": f"{JSON}; charset=latin-1"}
    )
    yield declined(
        415, "Content-Type: must be application/json or application/xml; it is missing", good, sent={"content-type": ""}
    )
    yield declined(413, "body: must have at most 1048576 bytes", b" " * 1_048_577)
    yield declined(414, "query: must have at most 8192 bytes, not 8193", good, target=f"{SUPC}?{'x' * 8193}")
    missing = "body: is missing; it holds promoCode, orderNumber, reservationId, status"
    yield declined(400, missing, sent={"content-type": ""})
    yield declined(400, missing, b"")
    yield declined(400, "promoCode: is missing; orderNumber: is missing; reservationId: is missing", {})
    yield declined(400, "orderNumber: is missing; reservationId: is missing", {"promoCode": code})
    empty = "nothing is written here; allowed: some text"
    yield declined(400, f"promoCode: {empty}", order(""))
    used = "status: 'USED' is not one of the allowed values; allowed: EXPIRE"
    yield declined(400, used, order(code, status="USED"))
    long = "x" * 101
    yield declined(
        400, f"orderNumber: '{'x' * 58}\u2026 is too long: 101 characters; allowed: at most 100", order(code, long)
    )
    yield declined(
        400, "body: the key 'promoCode' stands in one object twice", b'{"promoCode":"A","promoCode":"B"}', only=JSON
    )
    yield declined(400, "body: must be an object", b"[]", only=JSON)
    number = 'orderNumber: 7 is not text; allowed: text: put it in quotes, "7"'
    yield declined(400, number, order(code, 7), only=JSON)  # type: ignore[arg-type]
    barred = "orderNumber: the character U+0001, which XML cannot carry, in JSON neither"
    yield declined(400, barred, order(code, "R\x01"), only=JSON)
    lost = "body: the number 18446744073709551616 has more digits than readers keep; it may be sent as text"
    yield declined(400, lost, b'{"reservationId":18446744073709551616}', only=JSON)
    fraction = 'reservationId: 7.5 is not text; allowed: text: put it in quotes, "7.5"'
    yield declined(400, fraction, order(code, reservation=7.5), only=JSON)
    known = "promoCode, orderNumber, reservationId, status"
    yield declined(400, f"more: 'more' is not known here; allowed: {known}", order(code, more=1), only=JSON)
    yield declined(400, "body: <request> holds <more>, which is not known here", order(code, more="1"), only=XML)
    twice = b"<a><promoCode>A</promoCode><promoCode>B</promoCode></a>"
    yield declined(400, "body: <a> holds <promoCode> twice", twice, only=XML)
    doctype = b'<!DOCTYPE a [<!ENTITY b "c">]><a><promoCode>&b;</promoCode></a>'
    yield declined(400, "body: a document type declaration, which is not allowed", doctype, only=XML)
    yield declined(400, "body: <a> has attributes, which are not allowed", b'<a b="c"/>', only=XML)


# -- bags --------------------------------------------------------------------------------------------------------

BAGS = "order/v1/bags"
ITEMS = "order/v1/bags/{guid}/items"


def added(*each: tuple[Json, Json]) -> Json:
    return {"item": [{"upcId": upc, "quantity": quantity} for upc, quantity in each]}


def changed(*each: tuple[Json, Json, Json]) -> Json:
    return {"item": [{"sequenceNumber": number, "upcId": upc, "quantity": quantity} for number, upc, quantity in each]}


def bag(revision: int, *lines: tuple[int, int, int]) -> dict[str, Json]:
    """What a bag's answer says, and its ETag, from sequence numbers, upcIds and quantities."""
    items = [{"sequenceNumber": number, "quantity": quantity, "upcId": upc} for number, upc, quantity in lines]
    value = {
        "bagId": "{bag}",
        "bagGUID": "{guid}",
        "owner": {"userId": "{user}"},
        "bagSummary": {"itemCount": sum(quantity for _, _, quantity in lines)},
        **({"items": items} if items else {}),
    }
    return {"value": {"bag": value}, "root": "bag", "tag": f'"{{guid}}-{revision}"'}


def _bags() -> Iterator[Script]:
    yield Script(
        "a bag of a guest",
        (
            Step("POST", BAGS, added((5, 2), (7, 1)), **bag(1, (1, 5, 2), (2, 7, 1))),
            Step("GET", f"{BAGS}?bagGuid={{guid}}", **bag(1, (1, 5, 2), (2, 7, 1))),
            Step("HEAD", f"{BAGS}?bagGuid={{guid}}", **bag(1, (1, 5, 2), (2, 7, 1))),
            Step("GET", f"{BAGS}/?bagId={{bag}}&x=1", **bag(1, (1, 5, 2), (2, 7, 1))),
            Step("GET", f"{BAGS}?userId={{user}}&bagOptions=INCLUDE_PRODUCTINFO", **bag(1, (1, 5, 2), (2, 7, 1))),
            Step("GET", f"{BAGS}?userId={{user}}&bagId=&bagOptions=include_saved_bag", **bag(1, (1, 5, 2), (2, 7, 1))),
            Step("POST", f"{BAGS}?bagGuid={{guid}}", added((5, 1)), **bag(2, (1, 5, 3), (2, 7, 1))),
            Step(
                "POST",
                f"{BAGS}?userId={{user}}",
                added(("9", "4"), ("7", "1")),
                **bag(3, (1, 5, 3), (2, 7, 2), (3, 9, 4)),
            ),
            Step("POST", f"{BAGS}?bagId={{bag}}", added((9, 1), (9, 1)), **bag(4, (1, 5, 3), (2, 7, 2), (3, 9, 6))),
            Step("PATCH", ITEMS, changed((3, 9, 1), (1, 5, 0)), **bag(5, (2, 7, 2), (3, 9, 1))),
            Step("PATCH", f"{ITEMS}/", changed(("2", "7", "5")), **bag(6, (2, 7, 5), (3, 9, 1))),
            Step("DELETE", f"{ITEMS}/3", {"deleteitemsrequest": {"upcid": 9}}, **bag(7, (2, 7, 5))),
            Step("POST", f"{BAGS}?bagGuid={{guid}}", added((5, 1)), **bag(8, (2, 7, 5), (4, 5, 1))),
            Step("DELETE", f"{ITEMS}/2", **bag(9, (4, 5, 1))),
            Step("DELETE", f"{ITEMS}/4", **bag(10)),
            Step("GET", f"{BAGS}?bagId={{bag}}", **bag(10)),
            Step("POST", f"{BAGS}?bagId={{bag}}", added((4, 2)), **bag(11, (5, 4, 2))),
        ),
        lines=[(5, 4, 2)],
    )
    one = {"item": {"upcId": 5, "quantity": 2}}
    yield Script(
        "one item may stand alone",
        (
            Step("POST", BAGS, one, **bag(1, (1, 5, 2))),
            Step("PATCH", ITEMS, {"item": {"sequenceNumber": 1, "upcId": 5, "quantity": 3}}, **bag(2, (1, 5, 3))),
            Step(
                "POST",
                f"{BAGS}?bagGuid={{guid}}",
                b'{"item":{"upcId":"5","quantity":"1"}}',
                only=JSON,
                **bag(3, (1, 5, 4)),
            ),
            Step(
                "POST",
                f"{BAGS}?bagGuid={{guid}}",
                b"<item><upcId>5</upcId><quantity>1</quantity></item>",
                only=XML,
                **bag(3, (1, 5, 4)),
            ),
        ),
        lines=[(1, 5, 4)],
    )
    yield Script("bags: what is declined changes nothing", tuple(_declined_bags()), lines=[(1, 5, 2), (2, 7, 1)])
    yield Script("bags: preconditions", tuple(_conditions()), lines=[(1, 5, 3)])


def _declined_bags() -> Iterator[Step]:
    now = bag(1, (1, 5, 2), (2, 7, 1))
    yield Step("POST", BAGS, added((5, 2), (7, 1)), **now)
    # which bag
    yield failed("invalid", "GET", BAGS, None, "userId: one of userId, bagId, bagGuid is required")
    two = "bagId: only one of userId, bagId, bagGuid may be given, not bagId and bagGuid"
    yield failed("invalid", "GET", f"{BAGS}?bagGuid={{guid}}&bagId={{bag}}", None, two)
    yield failed("invalid", "POST", f"{BAGS}?bagGuid={{guid}}&bagId={{bag}}", added((5, 1)), two)
    number = "must be a whole number from 1 to 9007199254740991, not"
    yield failed("invalid", "GET", f"{BAGS}?bagId=0", None, f"bagId: {number} '0'")
    yield failed("invalid", "GET", f"{BAGS}?userId=9007199254740992", None, f"userId: {number} '9007199254740992'")
    guid = "bagGuid: must be a GUID such as 9f1c2e7a-5b0d-4c3e-8a6f-0d1e2f3a4b5c, not 'x'"
    yield failed("invalid", "GET", f"{BAGS}?bagGuid=x", None, guid)
    yield failed("invalid", "PATCH", f"{BAGS}/x/items", changed((1, 5, 1)), guid)
    yield failed("invalid", "DELETE", f"{BAGS}/{{guid}}/items/0", None, f"sequenceNumber: {number} '0'")
    option = "bagOptions: must be one of INCLUDE_PRODUCTINFO, INCLUDE_SAVED_BAG, not 'ALL'"
    yield failed("invalid", "GET", f"{BAGS}?bagGuid={{guid}}&bagOptions=ALL", None, option)
    for name in ("bagGuid={guid}", "bagId={bag}", "userId={user}"):
        none = name.replace("=", ": there is no bag ") + " of this application"
        yield failed("not_found", "GET", f"{BAGS}?{name}", None, none, sent={KEY: TABLET})
        yield failed("not_found", "POST", f"{BAGS}?{name}", added((5, 1)), none, sent={KEY: TABLET})
    none = f"bagGuid: there is no bag {OTHER_GUID} of this application"
    yield failed("not_found", "GET", f"{BAGS}?bagGuid={OTHER_GUID}", None, none)
    yield failed("not_found", "PATCH", f"{BAGS}/{OTHER_GUID}/items", changed((1, 5, 1)), none)
    yield failed("not_found", "DELETE", f"{BAGS}/{OTHER_GUID}/items/1", None, none)
    yield failed("no_key", "POST", BAGS, added((5, 1)), sent={KEY: ""})
    yield failed("no_key", "GET", f"{BAGS}?bagGuid={{guid}}", None, sent={KEY: PHONE.lower()})
    # which item
    holds = "it holds 1, 2"
    yield failed(
        "invalid", "PATCH", ITEMS, changed((1, 5, 9), (3, 9, 1)), f"item/1/sequenceNumber: 3 is not in the bag; {holds}"
    )
    yield failed("invalid", "PATCH", ITEMS, changed((2, 5, 1)), "item/0/upcId: item 2 of the bag is 7, not 5")
    twice = "item/1/sequenceNumber: 1 stands in the request twice"
    yield failed("invalid", "PATCH", ITEMS, changed((1, 5, 1), (1, 5, 2)), twice)
    yield failed("not_found", "DELETE", f"{ITEMS}/3", None, f"sequenceNumber: 3 is not in the bag; {holds}")
    wrong = "deleteitemsrequest/upcid: item 2 of the bag is 7, not 5"
    yield failed("invalid", "DELETE", f"{ITEMS}/2", {"deleteitemsrequest": {"upcid": 5}}, wrong)
    # how many
    yield failed(
        "invalid",
        "POST",
        f"{BAGS}?bagId={{bag}}",
        added((7, 1), (5, 98)),
        "item: 100 pieces of upcId 5; allowed: at most 99 in a bag",
    )
    yield failed(
        "invalid", "PATCH", ITEMS, changed((2, 7, 100)), "item: 100 pieces of upcId 7; allowed: at most 99 in a bag"
    )
    small = "item/0/quantity: 0 is too small; allowed: at least 1"
    yield failed("invalid", "POST", BAGS, added((5, 0)), small)
    text = "item/0/quantity: 'many' is not a whole number; allowed: a whole number"
    yield failed("invalid", "POST", BAGS, added((5, "many")), text)
    # bodies, methods, formats
    yield failed("invalid", "POST", BAGS, None, "body: is missing; it holds item", sent={"content-type": ""})
    yield failed("invalid", "POST", BAGS, b"", "body: is missing; it holds item")
    yield failed("invalid", "POST", BAGS, {}, "item: is missing")
    yield failed(
        "invalid",
        "POST",
        BAGS,
        b'{"item":[]}',
        "item: nothing is written here; allowed: at least 1 in the list",
        only=JSON,
    )
    key = "body: the key 'upcId' stands in one object twice"
    yield failed("invalid", "POST", BAGS, b'{"item":{"upcId":5,"upcId":5,"quantity":1}}', key, only=JSON)
    lang = b'<item xml:lang="en"><upcId>5</upcId><quantity>1</quantity></item>'
    yield failed("invalid", "POST", BAGS, lang, "body: <item> has attributes, which are not allowed", only=XML)
    mixed = b"<item>x<upcId>5</upcId><quantity>1</quantity></item>"
    yield failed("invalid", "POST", BAGS, mixed, "body: <item> holds text beside elements", only=XML)
    methods = "GET, HEAD, OPTIONS, POST"
    allow = {"headers": {"allow": methods}}
    yield failed("method", "PUT", BAGS, added((5, 1)), f"method: must be {methods}, not PUT", **allow)
    yield failed("method", "DELETE", BAGS, None, f"method: must be {methods}, not DELETE", **allow)
    yield failed(
        "method", "GET", ITEMS, None, "method: must be OPTIONS, PATCH, not GET", headers={"allow": "OPTIONS, PATCH"}
    )
    yield failed(
        "method",
        "POST",
        f"{ITEMS}/1",
        None,
        "method: must be DELETE, OPTIONS, not POST",
        headers={"allow": "DELETE, OPTIONS"},
    )
    plain = "Content-Type: must be application/json or application/xml, in UTF-8, not text/plain"
    yield failed("media_type", "PATCH", ITEMS, changed((1, 5, 1)), plain, sent={"content-type": "text/plain"})
    yield failed("too_large", "POST", BAGS, b" " * 1_048_577, "body: must have at most 1048576 bytes")
    accept = "Accept: must admit application/json or application/xml, not 'text/html'"
    yield failed("not_acceptable", "POST", BAGS, added((5, 1)), accept, sent={"accept": "text/html"}, only=JSON)
    unmapped = "path: is not one of the interface"
    yield failed("no_mapping", "PATCH", f"{ITEMS}/1/2", changed((1, 5, 1)), unmapped)
    yield Step("GET", f"{BAGS}?bagGuid={{guid}}", **now)


def _conditions() -> Iterator[Step]:
    first, second, third = bag(1, (1, 5, 1)), bag(2, (1, 5, 2)), bag(3, (1, 5, 3))
    target = f"{BAGS}?bagGuid={{guid}}"
    yield failed(
        "precondition", "POST", BAGS, added((5, 1)), "If-Match: is *, but there is no bag yet", sent={"If-Match": "*"}
    )
    yield Step("POST", BAGS, added((5, 1)), sent={"Idempotency-Key": "{run}"}, **first)
    replayed = {"idempotent-replayed": "true"}
    yield Step("POST", BAGS, added((5, 1)), sent={"Idempotency-Key": "{run}"}, headers=replayed, **first)
    used = "Idempotency-Key: was used with another body; use a new key for another request"
    yield failed("repeated", "POST", BAGS, added((5, 2)), used, sent={"Idempotency-Key": "{run}"})
    for known in ('"{guid}-1"', 'W/"{guid}-1"', "*", '"x", "{guid}-1"', '"{guid}-2"'):
        yield Step("GET", target, sent={"If-None-Match": known}, **first)
    yield Step("POST", target, added((5, 1)), sent={"If-Match": '"{guid}-1"'}, **second)
    at = 'but the bag is at "{guid}-2"'
    for wrong in ('"{guid}-1"', 'W/"{guid}-2"', '"{guid}"', '"x", W/"{guid}-2"'):
        told = f"If-Match: is {wrong}, {at}"
        yield failed("precondition", "POST", target, added((5, 1)), told, sent={"If-Match": wrong})
        yield failed("precondition", "PATCH", ITEMS, changed((1, 5, 9)), told, sent={"If-Match": wrong})
        yield failed("precondition", "DELETE", f"{ITEMS}/1", None, told, sent={"If-Match": wrong})
        yield failed("precondition", "GET", target, None, told, sent={"If-Match": wrong})
    yield Step("GET", target, sent={"If-Match": "*"}, **second)
    yield Step("PATCH", ITEMS, changed((1, 5, 3)), sent={"If-Match": '"x" , "{guid}-2"'}, **third)
