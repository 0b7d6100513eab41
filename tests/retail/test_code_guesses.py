"""Guesses of single-use codes: by address and network, of an application together, at a server of the shop's own."""

import json
import os
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.program import (
    KEY,
    NOW,
    ORDERS,
    PHONE,
    SECRET,
    SECRET_TEXT,
    TABLET,
    Database,
    Shopping,
    moment_of,
    release_of_codes,
    shopping,
    shopwindow,
)
from shopwindow.interface.declaring.limits import LIMITS, Limit
from shopwindow.problems import Refusal
from shopwindow.retail.codes.issuing import keep
from shopwindow.retail.codes.operations import MAX_WRONG_CODES, WRONG_CODES_SECONDS
from shopwindow.retail.codes.table import SINGLE_USE_CODES
from shopwindow.retail.codes.text import bits, digest, new_code
from shopwindow.service.message import believed

Json = Any
SUPC = "v3/order/supc"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_codes(tmp_path_factory.mktemp("codes"))


@pytest.fixture
def shop(database: Database, out: Path) -> Shopping:
    """A shop with twenty codes, RIGHT-0 to RIGHT-19."""
    keep(database, {1: [digest(f"RIGHT-{number}", SECRET) for number in range(20)]}, SECRET, NOW)
    return shopping(database, out)


def guess(shop: Shopping, code: str = "WRONG", address: str = "192.0.2.1", **more: Any) -> str:
    """What is said to a code: `success`, or the reason."""
    body = {"promoCode": code, "orderNumber": "1001", "reservationId": "R7"}
    try:
        shop.act("PUT", SUPC, body, address=address, **more)
    except Refusal as refusal:
        return ", ".join(map(str, refusal.faults))
    return "success"


def test_a_site_of_ipv6_is_wrong_eight_times_as_often_as_a_network(shop: Shopping) -> None:
    said = Counter(guess(shop, address=f"2001:db8:0:{number:x}::1") for number in range(170))
    assert said == {"INVALID_CODE": 160, "TOO_MANY_INVALID_CODES": 10}
    assert guess(shop, "RIGHT-0", "2001:db8:0:ffff::1") == "TOO_MANY_INVALID_CODES"
    assert guess(shop, "RIGHT-0", "2001:db8:1::1") == "success"


def test_all_guesses_of_an_application_slow_down_together(shop: Shopping) -> None:
    """An address that has done nothing yet is wrong twenty times, then five times, then once in ten minutes."""
    fill(shop, 180)
    assert [guess(shop, address="192.0.2.1") for _ in range(21)].count("INVALID_CODE") == 20
    assert [guess(shop, address="192.0.2.2") for _ in range(9)].count("INVALID_CODE") == 5
    fill(shop, 800)
    assert [guess(shop, address="192.0.2.3") for _ in range(9)].count("INVALID_CODE") == 1
    assert guess(shop, "RIGHT-0", "192.0.2.3") == "TOO_MANY_INVALID_CODES"
    assert guess(shop, "RIGHT-0", "192.0.2.4") == "success"
    assert [guess(shop, address="192.0.2.3", application="tablet") for _ in range(9)] == ["INVALID_CODE"] * 9
    later = NOW + timedelta(seconds=WRONG_CODES_SECONDS + 1)
    assert [guess(shop, address="192.0.2.3", at=later) for _ in range(9)] == ["INVALID_CODE"] * 9


def fill(shop: Shopping, number: int) -> None:
    """Count so many wrong codes of the application, as if each came from an address of its own."""
    limit, now = Limit("wrong codes of phone", MAX_WRONG_CODES, WRONG_CODES_SECONDS), moment_of(NOW)
    shop.database.write(lambda verbs: [verbs[LIMITS].count(limit, now) for _ in range(number)])


def test_beyond_the_last_limit_no_address_is_answered_but_the_shops_own_server(shop: Shopping) -> None:
    fill(shop, MAX_WRONG_CODES)
    assert guess(shop, "RIGHT-0", "192.0.2.4") == "TOO_MANY_INVALID_CODES"
    assert guess(shop, "RIGHT-0", "192.0.2.4", application="tablet") == "success"
    assert at_the_shops_server(shop, "RIGHT-1", "R1") == 200


def at_the_shops_server(shop: Shopping, code: str, reservation: str, forwarded: str = "", key: str = PHONE) -> int:
    """The status of a request from loopback, which is trusted unless it is said otherwise."""
    import io

    body = json.dumps({"promoCode": code, "orderNumber": "1001", "reservationId": reservation}).encode()
    environ = {
        "REQUEST_METHOD": "PUT",
        "PATH_INFO": f"/{SUPC}",
        "QUERY_STRING": "",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_HOST": ORDERS,
        f"HTTP_{KEY.upper().replace('-', '_')}": key,
        "wsgi.input": io.BytesIO(body),
        **({"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {}),
    }
    statuses: list[str] = []
    shop.app(environ, lambda status, headers: statuses.append(status))
    return int(statuses[0].split()[0])


def test_wrong_codes_of_one_customer_do_not_lock_out_the_next_at_the_shops_own_server(shop: Shopping) -> None:
    assert [at_the_shops_server(shop, f"WRONG-{number}", "R1") for number in range(20)] == [400] * 20
    assert at_the_shops_server(shop, "RIGHT-0", "R1") == 429
    assert at_the_shops_server(shop, "RIGHT-0", "R2") == 200


def test_a_server_that_forwards_its_customers_addresses_has_them_counted_one_by_one(shop: Shopping) -> None:
    for number in range(20):
        assert at_the_shops_server(shop, "WRONG", f"R{number}", "192.0.2.1") == 400
    assert at_the_shops_server(shop, "RIGHT-0", "R50", "192.0.2.1") == 429
    assert at_the_shops_server(shop, "RIGHT-0", "R50", "192.0.2.2") == 200
    assert at_the_shops_server(shop, "RIGHT-0", "R50", "192.0.2.1", TABLET) == 200


def test_a_client_cannot_say_that_it_is_trusted(shop: Shopping) -> None:
    said = [at_the_shops_server(shop, "WRONG", f"R{number}", "127.0.0.1, 192.0.2.1") for number in range(21)]
    assert said == [400] * 20 + [429]


def test_the_database_holds_no_address_of_who_was_wrong(shop: Shopping) -> None:
    guess(shop)
    names = shop.database.read(
        lambda verbs: [name for (name,) in verbs[SINGLE_USE_CODES]._run("SELECT name FROM limits")]
    )
    assert (len(names), {len(name) for name in names}) == (2, {64})


# -- fields with underscores -------------------------------------------------------------------------------------


def test_fields_with_underscores_are_dropped_and_one_name_is_one_field() -> None:
    fields = [
        (b"x-forwarded-for", b"192.0.2.1"),
        (b"x_forwarded_for", b"127.0.0.1"),
        (b"x-svc_webservice-client-id", b"forged"),
        (b"x-svc-webservice-client-id", b"key"),
        (b"x-forwarded-for", b"192.0.2.2"),
        (b"cookie", b"a=1"),
        (b"cookie", b"b=2"),
        (b"accept", b""),
    ]
    assert believed(fields) == {
        "x-forwarded-for": "192.0.2.1, 192.0.2.2",
        "x-svc-webservice-client-id": "key",
        "cookie": "a=1; b=2",
        "accept": "",
    }


# -- codes that somebody may guess -------------------------------------------------------------------------------


def test_bits_count_what_chance_had_a_part_in() -> None:
    random = [new_code(os.urandom) for _ in range(100)]
    counted_up = [f"SUMMER-{number:06}" for number in range(100)]
    assert round(bits(random)) == 81
    assert round(bits(counted_up)) == round(2 * 3.3219)
    assert round(bits(["1234567890"])) == 33
    assert round(bits([f"WINTER{code}" for code in random])) == 81
    assert bits(["A", "ABCDEFGHIJKLMNOPQRST"]) < 6  # the shortest of them is what somebody guesses


@pytest.mark.parametrize(("length", "warns"), [(8, True), (11, True), (12, False), (16, False)])
def test_an_import_warns_of_codes_below_sixty_bits_and_imports_them(
    out: Path, tmp_path: Path, length: int, warns: bool
) -> None:
    codes = [new_code(os.urandom).replace("-", "")[:length] for _ in range(50)]
    (tmp_path / "codes.txt").write_text("\n".join(codes))
    database = f"sqlite:///{tmp_path}/store.sqlite"
    command = ["codes", "add", str(tmp_path / "codes.txt"), "--promotion", "1", "--database", database]
    ran = shopwindow(*command, "--out", out, env={"SHOPWINDOW_CODE_SECRET": SECRET_TEXT})
    assert (ran.status, ran.out) == (0, "imported 50 codes of promotion 1\n")
    assert ran.err.startswith("shopwindow: the codes of promotion 1 hold at most ") is warns
    assert ("bits of chance, fewer than 60: somebody may guess them" in ran.err) is warns
