"""Shared promotions are no relay: who is counted first, what one client can use up, what is a link."""

import re
from collections import Counter
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.databases import Letters, claimed, statements
from harness.program import Answer, Database, Request, Service, answered, reasons, release_of_writes, served
from shopwindow.interface.declaring.limits import LIMITS, keyed
from shopwindow.interface.declaring.mail import OUTBOX, unlinked
from shopwindow.shop import INTERFACE

Json = Any
PATH = "/v3/promotions/share"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release whose site.yaml says nothing of sharing."""
    return release_of_writes(tmp_path_factory.mktemp("share"))


@pytest.fixture
def shop(dist: Path, database: Database) -> Service:
    return Service(dist, database)


def share(shop: Service, number: int, address: str = "192.0.2.1", recipients: int = 1) -> Answer:
    """A mail or several to people whom nobody has written to yet, from a sender of its own."""
    to = ",".join(f"r{number}-{each}@mail.example" for each in range(recipients))
    body = {"promoId": "7", "recipientEmailAddress": to, "senderEmailAddress": f"s{number}@mail.example"}
    return shop.post(PATH, body, x_forwarded_for=address)


def test_an_address_sends_ten_mails_an_hour_whatever_sender_it_names(shop: Service) -> None:
    answers = [share(shop, number) for number in range(12)]
    assert [answer.status for answer in answers] == [200] * 10 + [429] * 2
    assert reasons(answers[-1]) == (429, ["rate: at most 10 mails in 60 minutes for one address"])
    assert 3500 < int(answers[-1].headers["retry-after"]) <= 3600
    assert share(shop, 20, "192.0.2.2").status == 200


def test_each_recipient_of_a_request_counts(shop: Service) -> None:
    assert [share(shop, 1, recipients=8).status, share(shop, 2, recipients=3).status] == [200, 429]
    assert share(shop, 3, recipients=2).status == 200


def test_one_client_cannot_switch_the_feature_off_for_others(tmp_path: Path, database: Database) -> None:
    limits = {"application": {"most": 30, "minutes": 60}}
    shop = Service(release_of_writes(tmp_path, share={"limits": limits}), database)
    assert Counter(share(shop, number).status for number in range(60)) == {200: 10, 429: 50}
    assert [share(shop, 100 + number, f"192.0.2.{10 + number}").status for number in range(20)] == [200] * 20
    words = "rate: at most 30 mails in 60 minutes for one application"
    assert reasons(share(shop, 200, "192.0.2.99")) == (429, [words])


def test_a_site_of_ipv6_sends_eight_times_as_many(shop: Service) -> None:
    statuses = [share(shop, number, f"2001:db8:0:{number:x}::1", recipients=10).status for number in range(10)]
    assert statuses == [200] * 8 + [429] * 2
    assert share(shop, 50, "2001:db8:1::1").status == 200


def test_digests_of_mail_addresses_are_keyed(dist: Path, database: Database) -> None:
    """Whoever has the database and no secret cannot try addresses on it; another secret makes other digests."""
    from hashlib import sha256

    body = b'{"promoId":"7","recipientEmailAddress":"bob@mail.example","senderEmailAddress":"ann@mail.example"}'
    sent = {"x-svc-webservice-client-id": "PhonePhonePhonePhone1234", "content-type": "application/json"}
    names = []
    for secret in (b"a secret of thirty-two characters", b"another one of thirty-two letters", b""):
        service = served(dist, database, secret=secret)
        assert answered(service, Request(PATH, sent, "POST", body)).status == 200
        names.append({name for (name,) in database.read(lambda shop: shop[OUTBOX]._run("SELECT name FROM limits"))})
    first, both, all_names = names
    assert (len(first), len(both), len(all_names)) == (4, 8, 12)
    assert keyed("share recipient bob@mail.example", b"a secret of thirty-two characters") in first
    plain = {sha256(text.encode()).hexdigest() for text in ("bob@mail.example", "share recipient bob@mail.example")}
    assert [name for name in all_names if any(each in name for each in plain)] == []


def test_migrating_forgets_digests_that_were_not_keyed(database: Database) -> None:
    """The step that brings keyed digests removes what was counted before: it is the second."""
    step = LIMITS.steps[1]
    assert "DELETE FROM limits" in step
    database.write(lambda shop: shop[OUTBOX]._run("INSERT INTO limits (name, times, at) VALUES ('share x', '', 'z')"))
    for statement in statements(step)[-1:]:
        database.write(lambda shop, statement=statement: shop[OUTBOX]._run(statement))  # type: ignore[misc]
    assert database.read(lambda shop: shop[OUTBOX]._run("SELECT count(*) FROM limits")) == [(0,)]


# -- links -------------------------------------------------------------------------------------------------------

TEXTS = {
    "See https://evil.example/win?a=b": "See https: //evil. example/win?a=b",
    "www.evil.example": "www. evil. example",
    "Evil。example or evil．example": "Evil。 example or evil． example",
    "javascript:alert(1) TEL:5550199": "javascript: alert(1) TEL: 5550199",
    "4.4ever.example": "4.4ever. example",
    "http://203.0.113.7/": "http: //203.0.113.7/",
    "10.50 at 10:30. Really: yes... (ok.)": "10.50 at 10:30. Really: yes... (ok.)",
}


def test_what_would_be_a_link_in_peoples_text_is_none_and_the_rest_stays() -> None:
    assert {text: unlinked(text) for text in TEXTS} == TEXTS


LINK = re.compile(r"(?i)[a-z][a-z0-9+.-]*:[^\s\d]|[a-z]:\d|[^\s.][.\u3002\uff0e\uff61][^\W\d_]")
"""What a mail program might make a link of: a scheme with something behind it, a dot with letters on both sides."""


@given(st.text(alphabet="aZ9.:/@-。\u00e4 \n", max_size=40))
def test_whatever_people_write_nothing_of_it_is_a_link(text: str) -> None:
    assert LINK.findall(unlinked(text)) == []
    assert unlinked(text).replace(" ", "") == text.replace(" ", "")
    assert unlinked(unlinked(text)) == unlinked(text)


def test_a_mail_has_no_link_but_the_shops_own() -> None:
    document = {
        "from": {"address": "offers@shop.example", "name": "The Shop"},
        "sender": {"address": "www.evil.example/a@mail.example", "name": "https://evil.example/name"},
        "message": "Win at https://evil.example/win and www.evil.example\n<a href='//evil.example'>evil.example</a>",
        "promotion": {
            **dict.fromkeys(("description", "offerDescription", "promotionCode", "legalDisclaimer", "expiry"), ""),
            "promotionName": "Ten off",
            "effective": "2026-11-27",
        },
        "coupon": None,
        "link": "https://www.shop.example/offers",
        "unsubscribe": "https://www.shop.example/stop",
    }
    message = message_from_bytes(Letters(INTERFACE).encoded(claimed(document))[1], policy=default)
    parts = [message["Subject"], *(part.get_content() for part in message.iter_parts())]
    for part in parts:
        assert re.findall(r"(?:https?://|www\.)[^\s\"<]*evil[^\s\"<]*|evil\.example", part) == []
    assert "https: //evil. example/win" in parts[1]
    assert re.findall(r'href="([^"]*)"', parts[2]) == [document["link"], document["unsubscribe"]]
    assert message["Reply-To"].addresses[0].addr_spec == "www.evil.example/a@mail.example"
