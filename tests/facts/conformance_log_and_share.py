"""The conformance table's rows of the mobile log and of sharing: requests, what is owed to them, what they leave."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from facts.conformance import CHALLENGE, CODES, JSON, KEY, NO_KEY, PAGE, XML, Case, _headers, json_bytes, xml
from harness.program import PHONE, SILENT, TABLET

Json = Any
LOG, SHARE = "v2/utility/mobilelog", "v3/promotions/share"
MAX_BODY = 1024 * 1024
SETTINGS: dict[str, Json] = {
    "origins": [PAGE],
    "share": {
        "maxRecipients": 3,
        "limits": {"address": {"most": 100, "minutes": 60}, "sender": {"most": 3, "minutes": 60}},
    },
}
ALL_CODES = {
    **CODES,
    "not_found": (404, 409, "No data for search criteria"),
    "too_many": (429, 429, "Too many requests"),
}


@dataclass(frozen=True)
class Action:
    """A request with its answer, and how many lines or mails it leaves."""

    case: Case
    kept: int = 0

    def __str__(self) -> str:
        return f"{self.case} {(self.case.data or b'')[:60]!r}"


def _case(
    target: str,
    method: str,
    status: int,
    value: Json,
    root: str,
    accept: str,
    data: bytes | None,
    sent: Mapping[str, str],
    more: Mapping[str, str],
) -> Case:
    body = json_bytes(value) if accept == JSON else xml(value if root == "response" else value[root], root)
    headers = _headers(body, accept, None, **more)
    if method == "HEAD":
        body = b""
    given = {KEY: PHONE, "accept": accept, **({"content-type": JSON} if data is not None else {}), **sent}
    kept = {name: text for name, text in given.items() if text}
    return Case(target, status, body, headers, kept, method, data, value=value, root=root)


def done(
    target: str,
    value: Json,
    root: str,
    kept: int,
    method: str = "POST",
    data: bytes | None = None,
    content_type: str = "",
    key: str = PHONE,
) -> Iterator[Action]:
    """An action that is done, in both formats."""
    sent = {KEY: key, **({"content-type": content_type} if content_type else {})}
    for accept in (JSON, XML):
        yield Action(_case(target, method, 200, value, root, accept, data, sent, {}), kept)


def refused(
    code: str,
    target: str,
    *details: str,
    data: bytes | None = None,
    method: str = "POST",
    sent: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> Iterator[Action]:
    """An action that is refused, in both formats."""
    status, number, message = ALL_CODES[code]
    value = {"errorCode": number, "message": message, "errorDetail": list(details) or [NO_KEY], "success": False}
    more = {**(CHALLENGE if code == "no_key" else {}), **(more or {})}
    for accept in (JSON, XML):
        yield Action(_case(target, method, status, value, "response", accept, data, sent or {}, more))


# -- the rows ----------------------------------------------------------------------------------------------------

ENTRY = {"deviceId": "d-1", "platform": "iPhone", "logLevel": "ERROR", "logMessage": "It broke."}
QUERY = "deviceId=d-1&platform=iPhone&logLevel=ERROR&logMessage=It%20broke."
WRITTEN, REFUSED = {"logPostResponse": {"success": True}}, {"logPostResponse": {"success": False}}
ROOT = "logPostResponse"
LETTER = {"promoId": "7", "recipientEmailAddress": "bob@mail.example", "senderEmailAddress": "ann@mail.example"}
LEVELS = "must be one of ERROR, INFO, DEBUG, WARN, not"
BOTH = "must be application/json or application/xml, in UTF-8, not"


def table() -> list[Action]:
    """Every row."""
    parts = (_log_by_query, _log_by_body, _shares, _shares_refused, _limited)
    rows = [row for part in parts for row in part()]
    for target, good in ((LOG, {"entry": ENTRY}), (SHARE, LETTER)):
        rows += _bodies(target, json_bytes(good))
    return rows


def _log_by_query() -> Iterator[Action]:
    other = QUERY.replace("It%20broke.", "%0A%7C%01%F0%9F%8D%B0")
    for query in (
        QUERY,
        QUERY.replace("ERROR", "Error"),
        f"{QUERY}&svcUid=&timestamp=",
        f"{QUERY}&svcUid=u%7C1&unknown=x",
        other,
    ):
        yield from done(f"{LOG}?{query}", WRITTEN, ROOT, 1, "GET")
    yield from done(f"{LOG}/?{QUERY}&timestamp=2026-11-24T12:00:00.5-05:00", WRITTEN, ROOT, 1, "GET")
    yield from done(f"{LOG}?{QUERY}".replace("ERROR", "DEBUG"), REFUSED, ROOT, 0, "GET")
    yield from done(f"{LOG}?{QUERY}".replace("ERROR", "DEBUG"), WRITTEN, ROOT, 1, "GET", key=TABLET)
    yield from done(f"{LOG}?{QUERY}", REFUSED, ROOT, 0, "GET", key=SILENT)
    missing = [f"{name}: is required" for name in ("deviceId", "platform", "logLevel", "logMessage")]
    yield from refused("invalid", LOG, *missing, method="GET")
    for query, detail in (
        (f"{QUERY}&svcUid=a&svcUid=b", "svcUid: is given more than once"),
        (QUERY.replace("ERROR", "eror"), f"logLevel: {LEVELS} 'eror'; did you mean ERROR?"),
        (QUERY.replace("d-1", "x" * 201), "deviceId: must be text of 1 to 200 characters, not of 201"),
        (QUERY.replace("iPhone", ""), "platform: is required"),
        (QUERY.replace("iPhone", "i" * 41), "platform: must be text of 1 to 40 characters, not of 41"),
        (f"{QUERY}&timestamp=x", "timestamp: must be an instant, such as 2026-11-27T06:00:00-05:00, not 'x'"),
    ):
        yield from refused("invalid", f"{LOG}?{query}", detail, method="GET")
    allowed = {"allow": "GET, OPTIONS, POST"}
    for method in ("HEAD", "PUT", "PATCH", "DELETE"):
        words = f"method: must be GET, OPTIONS, POST, not {method}"
        yield from refused("method", f"{LOG}?{QUERY}", words, method=method, more=allowed)
    yield from refused("no_key", f"{LOG}?{QUERY}", method="GET", sent={KEY: ""})


def _log_by_body() -> Iterator[Action]:
    nasty = {**ENTRY, "logMessage": "a|b\n\u202e\u2028", "svcUid": "u"}
    for value, number in (({"entry": ENTRY}, 1), ({"entry": [ENTRY]}, 1), ({"entry": [ENTRY, nasty, ENTRY]}, 3)):
        yield from done(LOG, WRITTEN, ROOT, number, data=json_bytes(value))
        if isinstance(value["entry"], list):  # in XML one is as good as a list of one
            yield from done(LOG, WRITTEN, ROOT, number, data=xml(value, "any"), content_type=XML)
    yield from done(LOG, WRITTEN, ROOT, 1, data=xml(ENTRY, "entry"), content_type=f"{XML}; charset=utf-8")
    yield from done(LOG, WRITTEN, ROOT, 1, data=json_bytes({"entry": {**ENTRY, "logMessage": "\x00"}}))
    yield from done(LOG, REFUSED, ROOT, 0, data=json_bytes({"entry": [ENTRY] * 4}))
    yield from done(LOG, REFUSED, ROOT, 0, data=json_bytes({"entry": [ENTRY, {**ENTRY, "logLevel": "INFO"}]}))
    yield from done(LOG, WRITTEN, ROOT, 2000, data=json_bytes({"entry": [ENTRY] * 2000}), key=TABLET)
    yield from done(LOG, REFUSED, ROOT, 0, data=json_bytes({"entry": [ENTRY] * 2001}), key=TABLET)
    two = {"deviceId": "d", "platform": "p", "logLevel": "WARN"}
    details = ("entry/1/logMessage: is missing",)
    yield from refused("invalid", LOG, *details, data=json_bytes({"entry": [ENTRY, two]}))
    yield from refused("invalid", LOG, *details, data=xml({"entry": [ENTRY, two]}, "any"), sent={"content-type": XML})


def _shares() -> Iterator[Action]:
    """Each from another sender, for one may send three mails an hour."""
    values: tuple[dict[str, str], ...] = (
        {},
        {"channel": "SITE", "promoCode": "SAVE10", "senderName": "Ann \u00c5", "message": "x\ny" * 500},
        {"promoCode": "", "senderName": "", "message": "", "couponId": ""},
        {"promoId": "8", "channel": "MOBILE"},
        {"promoId": "11", "couponId": "4001"},
    )
    for number, value in enumerate(values):
        for kind, encoded in ((JSON, json_bytes), (XML, lambda letter: xml(letter, "share"))):
            who = f"s{number}-{kind[12:]}@mail.example"
            letter = {**LETTER, **value, "senderEmailAddress": who, "recipientEmailAddress": f"to-{who}"}
            yield from done(SHARE, {"success": True}, "response", 1, data=encoded(letter), content_type=kind)
    some = {**LETTER, "promoId": 7, "recipientEmailAddress": "a@mail.example, b@mail.example,A@mail.example"}
    for who, row in zip(("x", "y"), done(SHARE, {"success": True}, "response", 2), strict=True):
        data = json_bytes({**some, "senderEmailAddress": f"{who}@mail.example"})
        headers = {**row.case.sent, "content-type": JSON}
        yield Action(Case(**{**vars(row.case), "data": data, "sent": headers}), 2)


def _shares_refused() -> Iterator[Action]:
    for change, detail in (
        ({"promoId": "99"}, "promoId: there is no such promotion"),
        ({"promoId": "9"}, "promoId: ended on 2020-12-31"),
        ({"promoId": "10"}, "promoId: begins on 2999-01-01 only"),
        ({"promoId": "8"}, "channel: the promotion is not for SITE"),
        ({"couponId": "4009"}, "couponId: there is no such coupon"),
        ({"promoId": "12", "couponId": "4002"}, "couponId: ended on 2020-12-31"),
    ):
        yield from refused("not_found", SHARE, detail, data=json_bytes({**LETTER, **change}))
        sent = {"content-type": XML}
        yield from refused("not_found", SHARE, detail, data=xml({**LETTER, **change}, "share"), sent=sent)
    for change, detail in (
        ({"promoId": ""}, "promoId: one of promoId, couponId is required"),
        ({"promoCode": "OTHER"}, "promoCode: is not the code of the promotion"),
        ({"senderName": "a\nb"}, "senderName: must be of characters that print, in one line"),
        (
            {"recipientEmailAddress": ",".join(["b@mail.example"] * 4)},
            "recipientEmailAddress: must be at most 3 addresses, not 4",
        ),
    ):
        yield from refused("invalid", SHARE, detail, data=json_bytes({**LETTER, **change}))
    allowed = {"allow": "OPTIONS, POST"}
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        words = f"method: must be OPTIONS, POST, not {method}"
        yield from refused("method", SHARE, words, method=method, more=allowed)


def _limited() -> Iterator[Action]:
    """Three mails of one sender, and the fourth."""
    many = {**LETTER, "senderEmailAddress": "much@mail.example"}
    three = json_bytes({**many, "recipientEmailAddress": "c@mail.example,d@mail.example,e@mail.example"})
    yield next(done(SHARE, {"success": True}, "response", 3, data=three))
    words = "senderEmailAddress: at most 3 mails in 60 minutes for one sender"
    yield from refused("too_many", SHARE, words, data=json_bytes(many), more={"retry-after": "3600"})


def _bodies(target: str, good: bytes) -> Iterator[Action]:
    """What is wrong with any body, and who may not send one."""
    for kind in ("", "text/plain", "application/json; charset=latin-1", "application/jsonx"):
        if kind:
            yield from refused(
                "media_type", target, f"Content-Type: {BOTH} {kind}", data=good, sent={"content-type": kind}
            )
        else:
            words = "Content-Type: must be application/json or application/xml; it is missing"
            yield from refused("media_type", target, words, data=good, sent={"content-type": ""})
    too_large = b" " * MAX_BODY + good
    yield from refused("too_large", target, f"body: must have at most {MAX_BODY} bytes", data=too_large)
    yield from refused("no_key", target, data=good, sent={KEY: "x" * 24})
    twice = b'{"a": 1, "a": 2}'
    yield from refused("invalid", target, "body: the key 'a' stands in one object twice", data=twice)
    yield from refused("invalid", target, "body: must be an object", data=b"[]")
    bomb = b'<!DOCTYPE a [<!ENTITY b "' + b"x" * 1000 + b'"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'
    outside = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'
    words = "body: a document type declaration, which is not allowed"
    for data in (bomb, outside):
        yield from refused("invalid", target, words, data=data, sent={"content-type": XML})
    unknown = "body: <any> holds <other>, which is not known here"
    yield from refused("invalid", target, unknown, data=b"<any><other/></any>", sent={"content-type": XML})


UNREADABLE = (b"{", b'{"a": NaN}', b'{"a": "\\ud800"}', b"\xff", b"[" * 2000, json.dumps({"entry": 1}).encode()[:-1])
"""Bodies that are no JSON; what is said of them is the reader's."""
