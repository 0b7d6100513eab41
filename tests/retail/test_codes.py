"""Single-use codes: their spelling, the one order that wins each, guessing, and the commands; on both engines."""

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.content import Json
from harness.databases import Engine, prune
from harness.program import (
    JSON,
    NOW,
    ORDERS,
    SECRET,
    SECRET_TEXT,
    XML,
    Database,
    Shopping,
    moment_of,
    release_of_codes,
    shopping,
    shopwindow,
)
from shopwindow.interface.declaring.limits import LIMITS, Limit
from shopwindow.interface.declaring.secret import read_secret
from shopwindow.problems import Failure, Refusal
from shopwindow.retail.codes.issuing import CodesExist, keep, read_lines
from shopwindow.retail.codes.table import SINGLE_USE_CODES
from shopwindow.retail.codes.text import ALPHABET, digest, mark, new_code, spelling
from shopwindow.service.message import proxies

SUPC = "v3/order/supc"
ORDER = {"orderNumber": "1001", "reservationId": "R7"}


# -- codes as text -----------------------------------------------------------------------------------------------


def test_a_code_is_sixteen_characters_that_no_one_confuses_in_groups_of_four() -> None:
    codes = {new_code(os.urandom) for _ in range(100)}
    assert {
        re.fullmatch(r"(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}", code) is not None for code in codes
    } == {True}
    assert (len(ALPHABET), set("ILOU") & set(ALPHABET)) == (32, set())


def test_every_character_of_a_code_is_as_likely_as_any_other() -> None:
    counted = dict.fromkeys(ALPHABET, 0)
    for byte in range(256):
        counted[new_code(lambda number, byte=byte: bytes([byte] * number))[0]] += 1  # type: ignore[misc]
    assert set(counted.values()) == {8}


SAME = ("7K3M-Q9TA", "7k3mq9ta", " 7K3M Q9TA ", "7-K-3-M-Q-9-T-A", "7K3M\u2013Q9TA", "7K3M\u00a0Q9TA\n")
ALIKE = ("O0-IL1", "00111", "oo i l 1", "0O11I")
OTHERS = ("7K3M-Q9TB", "7K3MQ9T", "7K3M.Q9TA", "7K3M_Q9TA", "\uff17K3MQ9TA", "")


def test_case_blanks_hyphens_and_look_alikes_tell_no_code_from_another() -> None:
    assert {spelling(code) for code in SAME} == {"7K3MQ9TA"}
    assert {spelling(code) for code in ALIKE} == {"00111"}
    assert "7K3MQ9TA" not in {spelling(code) for code in OTHERS}


@given(st.text(max_size=40), st.text(max_size=40))
def test_digests_are_equal_exactly_when_spellings_are(one: str, other: str) -> None:
    assert spelling(spelling(one)) == spelling(one) or not one.isascii()
    assert (digest(one, SECRET) == digest(other, SECRET)) == (spelling(one) == spelling(other))


def test_a_digest_tells_nothing_without_the_secret() -> None:
    assert digest("A", SECRET) != digest("A", SECRET + b"x")
    assert len({mark(SECRET), mark(SECRET + b"x"), digest("which secret is it?", SECRET)}) == 3


@pytest.mark.parametrize("text", [None, "", "   ", "x" * 31, f"  {'x' * 31}\n"])
def test_a_missing_or_short_secret_is_refused_with_words_that_say_what_to_do(text: str | None) -> None:
    with pytest.raises(
        ValueError, match=r"(missing|short, 31 characters): set .*SHOPWINDOW_CODE_SECRET.*32 characters"
    ):
        read_secret(text)


def test_a_secret_may_end_with_a_line_end() -> None:
    assert read_secret(f"{SECRET_TEXT}\n") == SECRET


# -- the operation -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_codes(tmp_path_factory.mktemp("codes"))


@pytest.fixture
def shop(database: Database, out: Path) -> Shopping:
    """A shop with one code of each promotion: CODE-0001 of promotion 1, and so on; CODE-0009 of one that is gone."""
    for number in (1, 2, 3, 4, 9):
        keep(database, {number: [digest(f"CODE-000{number}", SECRET)]}, SECRET, NOW)
    return shopping(database, out)


def put(shop: Shopping, code: str, order: str = "1001", reservation: Json = "R7", **more: Json) -> str:
    """What is said to an order that expires a code: `success`, or the reason."""
    body = {"promoCode": code, "orderNumber": order, "reservationId": reservation}
    try:
        outcome = shop.act("PUT", SUPC, body, **more)
    except Refusal as refusal:
        return ", ".join(map(str, refusal.faults))
    assert outcome.value == {"success": True}
    return "success"


def kept(shop: Shopping) -> list[tuple[int, int, int]]:
    """Of each promotion: how many codes were issued, and used."""
    issues = shop.database.read(lambda verbs: verbs[SINGLE_USE_CODES].report())
    return [(each.promotion, each.issued, each.used) for each in issues]


FRESH = [(1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0), (9, 1, 0)]


def test_the_first_order_wins_and_may_ask_again(shop: Shopping) -> None:
    asked = [("1001", "R7"), ("1001", "R7"), ("1002", "R7"), ("1001", "R8"), ("1001", "R7")]
    said = [put(shop, "CODE-0001", order, reservation) for order, reservation in asked]
    assert said == ["success", "success", "SUPC_USED", "SUPC_USED", "success"]
    assert kept(shop) == [(1, 1, 1), *FRESH[1:]]


def test_a_code_may_be_spelt_in_any_way(shop: Shopping) -> None:
    assert [put(shop, code) for code in ("code0001", " Code 0001 ", "c-o-d-e-o-o-o-l")] == ["success"] * 3


def test_a_reservation_is_the_same_as_a_number_and_as_text(shop: Shopping) -> None:
    assert [put(shop, "CODE-0001", reservation=each) for each in (7, "7", "07")] == ["success", "success", "SUPC_USED"]


def test_a_code_of_another_application_is_used_alike(shop: Shopping) -> None:
    asked = [("1001", "phone"), ("1001", "tablet"), ("1002", "tablet")]
    said = [put(shop, "CODE-0001", order, application=name) for order, name in asked]
    assert said == ["success", "success", "SUPC_USED"]


def test_a_code_holds_only_on_its_promotions_days_each_with_a_reason_of_its_own(shop: Shopping) -> None:
    said = {f"CODE-000{number}": put(shop, f"CODE-000{number}") for number in (2, 3, 9)}
    assert said == {
        "CODE-0002": "PROMOTION_EXPIRED",
        "CODE-0003": "PROMOTION_NOT_STARTED",
        "CODE-0009": "PROMOTION_WITHDRAWN",
    }
    assert kept(shop) == FRESH


@pytest.mark.parametrize(
    ("at", "said"),
    [  # promotion 4: 24 to 30 November in New York, five hours behind UTC
        ("2026-11-24T04:59:59.999999+00:00", "PROMOTION_NOT_STARTED"),
        ("2026-11-24T05:00:00+00:00", "success"),
        ("2026-12-01T04:59:59.999999+00:00", "success"),
        ("2026-12-01T05:00:00+00:00", "PROMOTION_EXPIRED"),
        ("2026-11-24T14:00:00+10:00", "PROMOTION_NOT_STARTED"),
    ],
)
def test_days_are_those_of_the_sites_zone_and_both_ends_are_included(shop: Shopping, at: str, said: str) -> None:
    assert put(shop, "CODE-0004", at=datetime.fromisoformat(at)) == said


def test_the_order_that_has_a_code_is_told_so_when_the_promotion_is_over(shop: Shopping) -> None:
    late = NOW + timedelta(days=30)
    assert put(shop, "CODE-0004") == "success"
    assert (put(shop, "CODE-0004", at=late), put(shop, "CODE-0004", "2", at=late)) == ("success", "SUPC_USED")


def test_a_code_comes_from_the_body_or_failing_that_from_the_cookie(shop: Shopping) -> None:
    body = {**ORDER, "status": "EXPIRE"}
    cookies = ("supc=CODE-0001", 'a="b; supc=x"; supc="code 0001"', "{x}=[1]; é;;=; supc=CODE-0001; supc=other")
    answers = [shop.ask("PUT", f"/{SUPC}", body, {"host": ORDERS, "cookie": cookie}) for cookie in cookies]
    assert [(answer.status, answer.body) for answer in answers][::2] == [(200, b'{"success":true}')] * 2
    own = shop.ask("PUT", f"/{SUPC}", {**body, "promoCode": "CODE-0002"}, {"host": ORDERS, "cookie": "supc=CODE-0001"})
    assert reason(own.body) == "PROMOTION_EXPIRED"
    for cookie in ("", "other=CODE-0001", "SUPC=CODE-0001", "supc", "supc="):
        answer = shop.ask("PUT", f"/{SUPC}", body, {"host": ORDERS, "cookie": cookie})
        assert (answer.status, reason(answer.body).partition(";")[0]) in ((400, "promoCode: is missing"), EMPTY)


EMPTY = (400, "promoCode: nothing is written here")


def reason(body: bytes) -> str:
    message = json.loads(body)["errorMessage"]
    assert message.startswith("Error processing request: ")
    return str(message.removeprefix("Error processing request: "))


# -- guessing ----------------------------------------------------------------------------------------------------


def test_twenty_wrong_codes_a_minute_and_then_none_is_looked_at(shop: Shopping) -> None:
    at = [NOW + timedelta(seconds=second) for second in range(20)]
    said = [put(shop, f"WRONG-{number}", at=moment) for number, moment in enumerate(at)]
    assert said == ["INVALID_CODE"] * 20
    late = NOW + timedelta(seconds=59)
    with pytest.raises(Refusal) as refused:
        shop.act("PUT", SUPC, {"promoCode": "CODE-0001", **ORDER}, at=late)
    assert (refused.value.code, refused.value.headers) == ("too_many", (("Retry-After", "1"),))
    assert put(shop, "CODE-0001", at=late, address="192.0.2.2") == "success"
    assert put(shop, "CODE-0001", at=late, application="tablet") == "success"
    # the window slides: one minute after the first there is room for one, and for one only
    room = NOW + timedelta(seconds=60)
    assert [put(shop, "WRONG", at=room), put(shop, "WRONG", at=room)] == ["INVALID_CODE", "TOO_MANY_INVALID_CODES"]
    assert put(shop, "CODE-0001", at=NOW + timedelta(seconds=61)) == "success"


def test_right_codes_and_other_refusals_are_not_counted(shop: Shopping) -> None:
    for _ in range(30):
        assert put(shop, "CODE-0001") == "success"
        assert put(shop, "CODE-0001", "2") == "SUPC_USED"
        assert put(shop, "CODE-0002") == "PROMOTION_EXPIRED"
    assert put(shop, "WRONG") == "INVALID_CODE"


def test_a_network_of_ipv6_is_one_guesser(shop: Shopping) -> None:
    said = [put(shop, "WRONG", address=f"2001:db8::{number:x}") for number in range(21)]
    assert said == ["INVALID_CODE"] * 20 + ["TOO_MANY_INVALID_CODES"]
    assert put(shop, "WRONG", address="2001:db8:0:1::1") == "INVALID_CODE"
    assert put(shop, "WRONG", address="::ffff:192.0.2.1") == "INVALID_CODE"


def test_a_service_without_the_right_secret_does_not_call_codes_wrong(
    database: Database, out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = "SHOPWINDOW_CODE_SECRET is missing, or not the one that the database's single-use codes were issued under"
    for secret in (b"", b"y" * 32):
        shop = shopping(database, out, secret=secret)
        assert put(shop, "CODE-0001") == "INVALID_CODE"  # the database has none yet
    keep(database, {1: [digest("CODE-0001", SECRET)]}, SECRET, NOW)
    for secret in (b"", b"y" * 32):
        shop = shopping(database, out, secret=secret)
        with pytest.raises(Failure, match=f"^{words}$"):
            put(shop, "CODE-0001")
        answer = shop.ask("PUT", f"/{SUPC}", {"promoCode": "CODE-0001", **ORDER}, {"host": ORDERS})
        assert (answer.status, reason(answer.body)) == (500, "SYSTEM_ERROR")
        line = json.loads(capfd.readouterr().err)
        assert (line["level"], line["event"], line["message"]) == ("error", "setup", words)


@pytest.mark.parametrize(
    ("address", "forwarded", "client"),
    [
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "10.0.0.1, 198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7"),
        ("127.0.0.1", "198.51.100.7, 2001:db8::1", "2001:db8::1"),
        ("127.0.0.1", "10.0.0.1, 127.0.0.2", "10.0.0.1"),
        ("127.0.0.1", "unknown", "127.0.0.1"),
        ("127.0.0.1", " , ", "127.0.0.1"),
        ("::ffff:127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("", "198.51.100.7", "198.51.100.7"),
        ("198.51.100.7", "203.0.113.9", "198.51.100.7"),
        ("198.51.100.7", "127.0.0.1", "198.51.100.7"),
    ],
)
def test_the_address_is_the_last_that_a_believed_proxy_forwarded(
    address: str, forwarded: str | None, client: str
) -> None:
    assert proxies("127.0.0.0/8, 10.0.0.1/8,::1").client(address, forwarded or "") == client


# -- every failure in its own form -------------------------------------------------------------------------------

GOOD = {"promoCode": "CODE-0001", **ORDER}
FAILURES: dict[str, tuple[str, str, Json, dict[str, str], int, str]] = {
    "no key": (
        "PUT",
        SUPC,
        GOOD,
        {"x-svc-webservice-client-id": ""},
        401,
        "x-svc-webservice-client-id: is missing, or holds no key that is in use",
    ),
    "no key, another method": (
        "GET",
        SUPC,
        None,
        {"x-svc-webservice-client-id": "x"},
        401,
        "x-svc-webservice-client-id: is missing, or holds no key that is in use",
    ),
    "method": ("POST", SUPC, GOOD, {}, 405, "method: must be OPTIONS, PUT, not POST"),
    "method, slash": ("DELETE", f"{SUPC}/", None, {}, 405, "method: must be OPTIONS, PUT, not DELETE"),
    "no body": ("PUT", SUPC, None, {}, 400, "body: is missing; it holds promoCode, orderNumber, reservationId, status"),
    "an empty body": ("PUT", SUPC, {}, {}, 400, "promoCode: is missing; orderNumber: is missing; reservationId: is"),
    "media type": ("PUT", SUPC, GOOD, {"content-type": "text/plain"}, 415, "Content-Type: must be application/json"),
    "too large": ("PUT", SUPC, b" " * 1_048_577, {}, 413, "body: must have at most 1048576 bytes"),
    "address": ("PUT", f"{SUPC}?{'x' * 8193}", GOOD, {}, 414, "query: must have at most 8192 bytes, not 8193"),
    "no JSON": ("PUT", SUPC, b"{", {}, 400, "body: no JSON"),
    "no order": ("PUT", SUPC, {"promoCode": "A"}, {}, 400, "orderNumber: is missing; reservationId: is missing"),
    "status": ("PUT", SUPC, {**GOOD, "status": "USED"}, {}, 400, "status: 'USED' is not one of the allowed values"),
    "unknown": ("PUT", SUPC, {**GOOD, "promoCode": "WRONG"}, {}, 400, "INVALID_CODE"),
}


@pytest.mark.parametrize("media_type", [JSON, XML])
@pytest.mark.parametrize("case", FAILURES)
def test_every_failure_has_the_form_of_single_use_codes(shop: Shopping, case: str, media_type: str) -> None:
    method, target, body, headers, status, said = FAILURES[case]
    answer = shop.ask(method, f"/{target}", body, {"host": ORDERS, "accept": media_type, **headers})
    assert (answer.status, answer.headers["content-type"], answer.headers["cache-control"]) == (
        status,
        media_type,
        "no-store",
    )
    if media_type == JSON:
        assert list(json.loads(answer.body)) == ["success", "errorMessage", "errorCode"]
        assert reason(answer.body).startswith(said)
        assert (json.loads(answer.body)["success"], json.loads(answer.body)["errorCode"]) == (False, status)
    else:
        text = answer.body.decode()
        assert f"<success>false</success><errorMessage>Error processing request: {said}" in text
        assert text.endswith(f"<errorCode>{status}</errorCode></response>")
    assert kept(shop) == FRESH


def test_what_accept_does_not_admit_is_refused_in_that_form(shop: Shopping) -> None:
    answer = shop.ask("PUT", f"/{SUPC}", GOOD, {"host": ORDERS, "accept": "text/html"})
    assert (answer.status, reason(answer.body)[:7]) == (406, "Accept:")


def test_a_fault_of_ours_is_a_system_error(out: Path, tmp_path: Path) -> None:
    database = Engine("sqlite", f"sqlite:///{tmp_path / 'store.sqlite'}").open()
    database.write(lambda tables: tables.session.run("DROP TABLE codes"))
    answer = shopping(database, out).ask("PUT", f"/{SUPC}", GOOD, {"host": ORDERS})
    assert (answer.status, reason(answer.body)) == (500, "SYSTEM_ERROR")
    database.close()


def test_two_codes_of_one_request_cannot_be(shop: Shopping) -> None:
    for body in (
        b'{"promoCode":"CODE-0001","promoCode":"CODE-0001","orderNumber":"1","reservationId":"1"}',
        b'{"promoCode":"CODE-0001","orderNumber":"1","reservationId":"1","more":1}',
        b'{"promoCode":["CODE-0001"],"orderNumber":"1","reservationId":"1"}',
        b'{"promoCode":"CODE-0001","orderNumber":"1","reservationId":1.5}',
        b'{"promoCode":"CODE-0001","orderNumber":"1","reservationId":true}',
        b'{"promoCode":"CODE-0001","orderNumber":1,"reservationId":"1"}',
        b'{"promoCode":"CODE-0001","orderNumber":"","reservationId":"1"}',
    ):
        answer = shop.ask("PUT", f"/{SUPC}", body, {"host": ORDERS})
        assert (answer.status, json.loads(answer.body)["success"]) == (400, False)
    assert kept(shop) == FRESH


# -- the order host ----------------------------------------------------------------------------------------------

BASE, OTHER = "https://api.shop.example", "https://orders.shop.example"


@pytest.mark.parametrize(
    ("base", "order", "asked", "statuses"),
    [
        (
            BASE,
            OTHER,
            [
                ("orders.shop.example", ""),
                ("Orders.Shop.Example.:443", ""),
                ("api.shop.example", ""),
                ("else.example", ""),
            ],
            [(200, 404), (200, 404), (404, 200), (404, 200)],
        ),
        (
            f"{BASE}/a",
            f"{OTHER}/o",
            [("orders.shop.example", "/o"), ("orders.shop.example", "/a")],
            [(200, 404), (404, 404)],
        ),
        (f"{BASE}/a", f"{BASE}/o", [("api.shop.example", "/o"), ("api.shop.example", "/a")], [(200, 404), (404, 200)]),
        (BASE, f"{BASE}/order", [("api.shop.example", "/order"), ("api.shop.example", "")], [(200, 404), (404, 200)]),
        (f"{BASE}/api", BASE, [("api.shop.example", "/api"), ("api.shop.example", "")], [(404, 200), (200, 404)]),
        (BASE, BASE, [("api.shop.example", ""), ("else.example", "")], [(200, 200), (200, 200)]),
        (f"{BASE}/x", f"{BASE}/x", [("api.shop.example", "/x"), ("api.shop.example", "")], [(200, 200), (404, 404)]),
        (
            f"{BASE}:81",
            f"{BASE}:82",
            [("api.shop.example:82", ""), ("api.shop.example:81", "")],
            [(200, 404), (404, 200)],
        ),
    ],
)
def test_codes_are_expired_at_order_base_url_and_everything_else_is_at_base_url(
    tmp_path: Path, base: str, order: str, asked: list[tuple[str, str]], statuses: list[tuple[int, int]]
) -> None:
    database = Engine("sqlite", f"sqlite:///{tmp_path / 'store.sqlite'}").open()
    database.migrate()
    keep(database, {1: [digest("CODE-0001", SECRET)]}, SECRET, NOW)
    shop = shopping(database, release_of_codes(tmp_path, base_url=base, order_base_url=order))
    answered = []
    for host, path in asked:
        put = shop.ask("PUT", f"{path}/{SUPC}", GOOD, {"host": host})
        post = shop.ask("POST", f"{path}/order/v1/bags", {"item": {"upcId": 1, "quantity": 1}}, {"host": host})
        promotions = shop.ask("GET", f"{path}/v2/promotions", None, {"host": host})
        assert promotions.status == post.status
        answered.append((put.status, post.status))
    database.close()
    assert answered == statuses


# -- the store's verbs -------------------------------------------------------------------------------------------


def test_codes_that_are_there_already_are_all_named_and_none_is_kept(database: Database) -> None:
    first = [digest(str(number), SECRET) for number in range(1200)]
    keep(database, {1: first}, SECRET, NOW)
    more = [digest(str(number), SECRET) for number in range(1100, 2400)]
    with pytest.raises(CodesExist) as known:
        keep(database, {2: more}, SECRET, NOW)
    assert known.value.digests == set(first[1100:])
    report = database.read(lambda shop: shop[SINGLE_USE_CODES].report())
    assert [(each.promotion, each.issued) for each in report] == [(1, 1200)]


def test_a_store_keeps_to_one_secret(database: Database) -> None:
    keep(database, {1: [digest("A", SECRET)]}, SECRET, NOW)
    with pytest.raises(Failure, match="is not the one that the database's codes were issued under"):
        keep(database, {1: [digest("B", b"y" * 32)]}, b"y" * 32, NOW)


def test_limits_of_different_names_and_sizes_do_not_meet(database: Database) -> None:
    def counted(name: str, limit: int, seconds: int, at: datetime) -> int:
        return database.write(lambda shop: shop[LIMITS].count(Limit(name, limit, seconds), moment_of(at)))

    assert [counted("a", 2, 10, NOW) for _ in range(3)] == [0, 0, 10]
    longest = 43_200 * 60  # of schemas/site.json, 30 days
    assert [counted("b", 1, longest, NOW) for _ in range(2)] == [0, longest]
    assert counted("a", 2, 10, NOW + timedelta(seconds=9.5)) == 1
    assert counted("a", 2, 10, NOW + timedelta(seconds=10)) == 0
    assert [counted("d", 3, 10, NOW + timedelta(seconds=second)) for second in (0, 2, 4)] == [0, 0, 0]
    assert counted("d", 2, 10, NOW + timedelta(seconds=5)) == 7  # it was lowered: the second of three must go, too
    now = moment_of(NOW)
    waits = database.read(lambda shop: [shop[LIMITS].wait(Limit(name, 1, longest), now) for name in ("a", "b", "c")])
    assert waits == [longest + 10, longest, 0]
    kept = NOW + timedelta(seconds=longest)
    instants = (kept, kept + timedelta(days=1, seconds=5))
    gone = [dict(prune(database, at))["counted attempts"] for at in instants]
    assert (gone, database.read(lambda shop: shop[LIMITS].wait(Limit("b", 1, longest), now))) == ([0, 2], 0)


# -- the commands ------------------------------------------------------------------------------------------------


@pytest.fixture
def command(engine: Engine, out: Path) -> Callable[..., Json]:
    """`shopwindow codes …` on an engine, with the secret in the environment."""
    database = engine.open()
    database.migrate()
    database.close()

    def run(*arguments: str, secret: str = SECRET_TEXT, of_release: bool = True) -> Json:
        where = ("--out", str(out)) if of_release else ()
        env = {"SHOPWINDOW_CODE_SECRET": secret}
        return shopwindow("codes", *arguments, *where, "--database", engine.url, env=env)

    return run


def test_issued_codes_are_printed_once_and_work(command: Callable[..., Json], engine: Engine, out: Path) -> None:
    ran = command("add", "--promotion", "1", "--count", "25")
    codes = ran.out.splitlines()
    assert (ran.status, ran.err, len(set(codes))) == (0, "issued 25 codes of promotion 1\n", 25)
    assert {re.fullmatch(r"[0-9A-Z]{4}(-[0-9A-Z]{4}){3}", code) is not None for code in codes} == {True}
    database = engine.open()
    shop, later = shopping(database, out), datetime.now(UTC) + timedelta(seconds=10)  # by any clock
    said = [put(shop, code.lower(), str(number), at=later) for number, code in enumerate(codes[:3])]
    stored = str(database.read(lambda verbs: [verbs[SINGLE_USE_CODES].find(digest(code, SECRET)) for code in codes]))
    database.close()
    assert said == ["success"] * 3
    assert [code for code in codes if code in stored or spelling(code) in stored] == []
    report = json.loads(command("report", "--format", "json", of_release=False).out)
    assert [(each["promotion"], each["issued"], each["used"]) for each in report] == [(1, 25, 3)]
    assert report[0]["first_issued"] <= report[0]["last_issued"] <= report[0]["first_used"] <= report[0]["last_used"]
    text = command("report", of_release=False).out.splitlines()
    assert text[0].split("  ")[0] == "promotion"
    assert text[1].split()[:3] == ["1", "25", "3"]


@pytest.mark.parametrize(
    ("arguments", "secret", "status", "said"),
    [
        (("--promotion", "1", "--count", "1"), "", 4, "the secret of single-use codes is missing: set"),
        (("--promotion", "1", "--count", "1"), "short", 4, "the secret of single-use codes is short, 5 characters"),
        (("--promotion", "77", "--count", "1"), SECRET_TEXT, 4, "the current release in {out} has no such promotion"),
        (("--promotion", "1", "--count", "0"), SECRET_TEXT, 2, "0 is not in the range"),
        (("--promotion", "x", "--count", "1"), SECRET_TEXT, 2, "'x' is not a valid integer range"),
        (("--count", "1"), SECRET_TEXT, 2, "name a FILE of codes, or say with --promotion and --count which"),
    ],
)
def test_nothing_is_issued_for_nothing(
    command: Callable[..., Json], out: Path, arguments: tuple[str, ...], secret: str, status: int, said: str
) -> None:
    ran = command("add", *arguments, secret=secret)
    assert (ran.status, ran.out, said.format(out=out) in ran.err) == (status, "", True)
    assert json.loads(command("report", "--format", "json", of_release=False).out) == []


def test_a_promotion_that_says_nothing_of_single_use_is_warned_of(command: Callable[..., Json]) -> None:
    ran = command("add", "--promotion", "5", "--count", "1")
    assert (ran.status, ran.err.splitlines()[0]) == (
        0,
        "shopwindow: promotion 5 does not say `singleUse: true` in content",
    )


def test_codes_made_elsewhere_are_imported_all_or_none(
    command: Callable[..., Json], engine: Engine, out: Path, tmp_path: Path
) -> None:
    file = tmp_path / "codes.txt"
    file.write_bytes("\ufeffSUMMER-1\r\n\r\n  summer-2\t\nSOMMER-3".encode())
    ran = command("add", str(file), "--promotion", "1")
    assert (ran.status, ran.out) == (0, "imported 3 codes of promotion 1\n")
    assert ran.err.startswith("shopwindow: the codes of promotion 1 hold at most 31 bits")
    assert ran.err.count("\n") == 1
    file.write_text("WINTER-1\nSUMMER-2\nWINTER-2\nsummer1\n")
    ran = command("add", str(file), "--promotion", "1")
    assert (ran.status, ran.err) == (1, "2 bad lines; nothing is imported\n")
    assert ran.out == f"{file}:2: the database has this code already\n{file}:4: the database has this code already\n"
    database = engine.open()
    shop = shopping(database, out)
    said = [put(shop, code, at=datetime.now(UTC)) for code in ("SUMMER 1", "summer-2", "S0MMER3", "WINTER-1")]
    database.close()
    assert said == ["success", "success", "success", "INVALID_CODE"]


def test_bad_lines_are_named_by_their_numbers(command: Callable[..., Json], tmp_path: Path) -> None:
    file = tmp_path / "codes.txt"
    file.write_bytes(b"GOOD-1\ntwo words\n\nb\xe4d\ngood1\n-\n" + b"x" * 101 + b"\nO-K\n0K\n<a>\n")
    ran = command("add", str(file), "--promotion", "1")
    form = "allowed: letters and digits, with hyphens between them"
    same = "case and hyphens mean nothing, and O is 0, I and L are 1"
    assert (ran.status, ran.out.splitlines()) == (
        1,
        [
            f"{file}:2: 'two words' is no code; {form}",
            f"{file}:4: 'b\\\\xe4d' is no code; {form}",
            f"{file}:5: the same code as in line 1; {same}",
            f"{file}:6: '-' is no code; {form}",
            f"{file}:7: a code of 101 characters is too long; allowed: at most 100",
            f"{file}:9: the same code as in line 8; {same}",
            f"{file}:10: '<a>' is no code; {form}",
        ],
    )
    assert json.loads(command("report", "--format", "json", of_release=False).out) == []


def test_without_a_promotion_each_line_says_its_own(
    command: Callable[..., Json], engine: Engine, out: Path, tmp_path: Path
) -> None:
    file = tmp_path / "codes.txt"
    file.write_text("1 SUMMER-1\n4, WINTER-1\n4;WINTER-2\n\n1\t  12345\n")
    ran = command("add", str(file))
    said = "imported 2 codes of promotion 1\nimported 2 codes of promotion 4\n"
    assert (ran.status, ran.out) == (0, said)
    assert {line.partition(" hold ")[0].rpartition(" ")[0] for line in ran.err.splitlines()} == {
        "shopwindow: the codes of promotion"
    }
    issues = json.loads(command("report", "--format", "json", of_release=False).out)
    assert [(issue["promotion"], issue["issued"]) for issue in issues] == [(1, 2), (4, 2)]
    database = engine.open()
    shop = shopping(database, out)
    assert [put(shop, code, at=datetime.now(UTC)) for code in ("12345", "SUMMER-1")] == ["success", "success"]
    database.close()


def test_a_line_that_says_no_promotion_of_the_release_is_bad(
    command: Callable[..., Json], out: Path, tmp_path: Path
) -> None:
    file = tmp_path / "codes.txt"
    file.write_text("1 GOOD-1\nGOOD-2\n77 GOOD-3\n1 GOOD 4\n4 good1\n0 GOOD-5\n")
    ran = command("add", str(file))
    unsaid = "allowed: a promoId, a comma or space, and the code; or --promotion ID, which says it for all lines"
    known = "those with single-use codes are 1, 2, 3, 4"
    assert (ran.status, ran.err) == (1, "5 bad lines; nothing is imported\n")
    assert ran.out.splitlines() == [
        f"{file}:2: 'GOOD-2' does not say its promotion; {unsaid}",
        f"{file}:3: promotion 77: the current release in {out} has no such promotion; {known}",
        f"{file}:4: 'GOOD 4' is no code; allowed: letters and digits, with hyphens between them",
        f"{file}:5: the same code as in line 1; case and hyphens mean nothing, and O is 0, I and L are 1",
        f"{file}:6: '0 GOOD-5' does not say its promotion; {unsaid}",
    ]
    assert json.loads(command("report", "--format", "json", of_release=False).out) == []


def test_a_file_without_codes_imports_none() -> None:
    assert read_lines(b"\n \r\n") == ({}, {})


def test_serve_refuses_a_short_secret(out: Path) -> None:
    short = shopwindow("serve", "--out", out, env={"SHOPWINDOW_CODE_SECRET": "short"})
    assert (short.status, "is short, 5 characters" in short.err) == (2, True)
