"""Sharing a promotion: what is taken, what is refused, how much of it; the mail that comes of it."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.databases import DOCUMENT, Letters, claimed
from harness.program import TABLET, XML, Database, Service, reasons, release_of_writes, said
from shopwindow.interface.declaring.mail import OUTBOX, ClaimedMail
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Failure
from shopwindow.retail.sharing.addresses import address, addresses
from shopwindow.shop import INTERFACE

Json = Any
PATH = "/v3/promotions/share"
SHARE = {"promoId": "7", "recipientEmailAddress": "bob@mail.example", "senderEmailAddress": "ann@mail.example"}
SETTINGS = {
    "fromAddress": "offers@shop.example",
    "fromName": "The Shop",
    "link": "https://www.shop.example/offers",
    "maxRecipients": 3,
    "limits": {
        "application": {"most": 8, "minutes": 60},
        "sender": {"most": 5, "minutes": 60},
        "recipient": {"most": 3, "minutes": 1440},
    },
}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_writes(tmp_path_factory.mktemp("share"), share=SETTINGS)


@pytest.fixture
def shop(dist: Path, database: Database) -> Service:
    return Service(dist, database)


def waiting(service: Service) -> list[ClaimedMail]:
    """The mails of the outbox, by recipient. They wait on."""
    at = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)

    def all(tables: Tables) -> Iterator[ClaimedMail]:
        mails: list[ClaimedMail] = []
        while mail := tables[OUTBOX].claim(at, at + timedelta(hours=1)):
            mails.append(mail)
        for mail in mails:
            tables[OUTBOX].postpone(mail, at, "", deferred=False)
        yield from mails

    assert service.database is not None
    return sorted(service.database.write(lambda tables: list(all(tables))), key=lambda mail: mail.recipient)


# -- what is taken -----------------------------------------------------------------------------------------------


def test_a_shared_promotion_is_a_mail_in_the_outbox(shop: Service) -> None:
    answer = shop.post(PATH, {**SHARE, "senderName": "Ann", "message": "Look!\nHere.", "promoCode": "SAVE10"})
    assert (answer.status, said(answer), answer.headers["cache-control"]) == (200, {"success": True}, "no-store")
    (mail,) = waiting(shop)
    promotion = {
        "promotionName": "Promotion 7",
        "description": "About 7",
        "offerDescription": "",
        "promotionCode": "SAVE10",
        "legalDisclaimer": "",
        "effective": "2020-01-01",
        "expiry": "",
    }
    assert (mail.recipient, mail.deferred) == ("bob@mail.example", 0)
    assert json.loads(mail.document) == {
        "mailTemplate": "share",
        "from": {"address": "offers@shop.example", "name": "The Shop"},
        "sender": {"address": "ann@mail.example", "name": "Ann"},
        "message": "Look!\nHere.",
        "promotion": promotion,
        "coupon": None,
        "link": "https://www.shop.example/offers",
        "unsubscribe": "mailto:offers@shop.example?subject=stop",
    }


def test_a_request_in_xml_and_empty_texts_that_count_as_left_out(shop: Service) -> None:
    body = b"<share><promoId/><couponId>4001</couponId><promoCode/><senderName> </senderName><message></message>"
    body += b"<recipientEmailAddress>bob@mail.example</recipientEmailAddress>"
    body += b"<senderEmailAddress>ann@mail.example</senderEmailAddress></share>"
    answer = shop.ask(PATH, "POST", body, content_type=XML, accept=XML)
    assert (answer.status, answer.body.partition(b"\n")[2]) == (200, b"<response><success>true</success></response>")
    (mail,) = waiting(shop)
    document = json.loads(mail.document)
    assert (document["coupon"]["couponNumber"], document["sender"]["name"]) == ("4001", "")


def test_each_recipient_gets_a_mail_of_their_own_and_once(shop: Service) -> None:
    many = "Bob@Mail.Example , eve@b\u00fccher.example,Bob@mail.example"
    assert shop.post(PATH, {**SHARE, "promoId": 7, "recipientEmailAddress": many}).status == 200
    mails = waiting(shop)
    assert [mail.recipient for mail in mails] == ["Bob@mail.example", "eve@xn--bcher-kva.example"]
    assert len({mail.id for mail in mails}) == 2


def test_a_repeated_request_sends_one_mail(shop: Service) -> None:
    answers = [shop.post(PATH, SHARE, idempotency_key="k") for _ in range(3)]
    assert ([answer.status for answer in answers], len(waiting(shop))) == ([200] * 3, 1)


# -- what is refused ---------------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Json], int, str]] = [
    ({"recipientEmailAddress": None}, 400, "recipientEmailAddress: is missing"),
    ({"senderEmailAddress": None}, 400, "senderEmailAddress: is missing"),
    ({"promoId": None}, 400, "promoId: one of promoId, couponId is required"),
    ({"promoId": ""}, 400, "promoId: one of promoId, couponId is required"),
    ({"promoId": "seven"}, 400, "promoId: "),
    ({"channel": "PRINT"}, 400, "channel: 'PRINT' is not one of the allowed values; allowed: SITE, MOBILE"),
    ({"channel": ""}, 200, ""),
    ({"channel": "site"}, 200, ""),
    ({"channel": "", "promoId": "8"}, 404, "channel: the promotion is not for SITE"),
    ({"more": "x"}, 400, "more: "),
    ({"message": "x" * 2001}, 400, "message: "),
    ({"message": 5}, 400, "message: "),
    ({"senderName": "x" * 101}, 400, "senderName: "),
    ({"senderName": "Ann\r\nBcc: eve@mail.example"}, 400, "senderName: must be of characters that print, in one line"),
    ({"senderName": "Ann\u202e"}, 400, "senderName: "),
    ({"senderEmailAddress": "ann"}, 400, "senderEmailAddress: must be an e-mail address, not 'ann'"),
    ({"senderEmailAddress": "ann@mail.example\r\nBcc: eve@mail.example"}, 400, "senderEmailAddress: must be an"),
    ({"senderEmailAddress": "Ann <ann@mail.example>"}, 400, "senderEmailAddress: must be an e-mail address"),
    ({"senderEmailAddress": "ann@localhost"}, 400, "senderEmailAddress: must be an e-mail address"),
    ({"senderEmailAddress": "\u00e4nn@mail.example"}, 400, "senderEmailAddress: must be an e-mail address"),
    ({"senderEmailAddress": "a@mail.example,b@mail.example"}, 400, "senderEmailAddress: must be an e-mail address"),
    ({"recipientEmailAddress": "bob@mail.example,"}, 400, "recipientEmailAddress: must be an e-mail address, not ''"),
    ({"recipientEmailAddress": "bob@mail.example;eve@mail.example"}, 400, "recipientEmailAddress: must be an"),
    ({"recipientEmailAddress": "=?utf-8?q?b?=@mail.example"}, 400, "recipientEmailAddress: must be an e-mail address"),
    ({"recipientEmailAddress": "bob@mail.example\n"}, 200, ""),  # blanks around an address are none of it
    (
        {"recipientEmailAddress": "b@mail.example," * 3 + "c@mail.example"},
        400,
        "recipientEmailAddress: must be at most 3",
    ),
    ({"promoCode": "OTHER"}, 400, "promoCode: is not the code of the promotion"),
    ({"promoId": "99"}, 404, "promoId: there is no such promotion"),
    ({"promoId": "0"}, 404, "promoId: there is no such promotion"),
    ({"promoId": "9"}, 404, "promoId: ended on 2020-12-31"),
    ({"promoId": "10"}, 404, "promoId: begins on 2999-01-01 only"),
    ({"promoId": "8"}, 404, "channel: the promotion is not for SITE"),
    ({"promoId": "8", "channel": "MOBILE"}, 200, ""),
    ({"promoId": None, "couponId": "4009"}, 404, "couponId: there is no such coupon"),
    ({"promoId": None, "couponId": "4002"}, 404, "couponId: ended on 2020-12-31"),
    ({"promoId": "7", "couponId": "4001"}, 404, "couponId: there is no such coupon"),
    ({"promoId": "11", "couponId": 4001}, 200, ""),
    ({"promoId": "12"}, 200, ""),  # the promotion goes on; its coupon is not what is shared
]


@pytest.mark.parametrize(("change", "status", "detail"), REFUSED)
def test_what_is_taken_and_what_is_refused(
    dist: Path, database: Database, change: dict[str, Json], status: int, detail: str
) -> None:
    shop = Service(dist, database)
    body = {name: value for name, value in {**SHARE, **change}.items() if value is not None}
    answer = shop.post(PATH, body)
    told = said(answer).get("errorDetail", [""])
    assert (answer.status, [text for text in told if text.startswith(detail)]) == (status, told)
    assert len(waiting(shop)) == (1 if status == 200 else 0)


def test_every_fault_is_told_at_once(shop: Service) -> None:
    body = {"recipientEmailAddress": "bob", "senderEmailAddress": "ann", "senderName": "\t\x0b"}
    status, details = reasons(shop.post(PATH, {**body, "senderName": "a\tb"}))
    assert (status, len(details)) == (400, 4)


def test_a_day_is_one_of_the_sites_zone(tmp_path: Path, database: Database) -> None:
    """The promotion's only day is today in the zone where it is latest, or earliest."""
    from zoneinfo import ZoneInfo

    from harness.content import promotion
    from harness.content import write as write_documents

    statuses = []
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # 25 hours apart: never the same day
        folder = tmp_path / zone.replace("/", "-")
        today = datetime.now(ZoneInfo(zone)).date().isoformat()
        only_today = {"promotions/today.yaml": promotion(77, effective=today, expiry=today)}
        write_documents(folder / "content", only_today)
        for site_zone in (zone, "Pacific/Pago_Pago" if "Kiri" in zone else "Pacific/Kiritimati"):
            shop = Service(release_of_writes(folder, time_zone=site_zone), database)
            statuses.append(shop.post(PATH, {**SHARE, "promoId": "77"}).status)
    assert statuses == [200, 404, 200, 404]


def test_without_settings_the_mail_is_from_the_base_host(tmp_path: Path, database: Database) -> None:
    shop = Service(release_of_writes(tmp_path), database)
    assert shop.post(PATH, SHARE).status == 200
    (mail,) = waiting(shop)
    assert json.loads(mail.document)["from"] == {"address": "no-reply@api.shop.example", "name": ""}


def test_a_service_without_a_store_answers_503(dist: Path) -> None:
    assert Service(dist).post(PATH, SHARE).status == 503


# -- how much ----------------------------------------------------------------------------------------------------


def to(*recipients: str, sender: str = "ann@mail.example") -> dict[str, str]:
    return {**SHARE, "recipientEmailAddress": ",".join(recipients), "senderEmailAddress": sender}


def numbered(count: int, of: str = "r") -> list[str]:
    return [f"{of}{number}@mail.example" for number in range(count)]


def test_a_sender_may_send_so_many(shop: Service) -> None:
    assert shop.post(PATH, to(*numbered(3))).status == 200
    refused = shop.post(PATH, to(*numbered(3, "s")))  # two of them would be too many: none is sent
    words = ["senderEmailAddress: at most 5 mails in 60 minutes for one sender"]
    assert (reasons(refused), 3500 < int(refused.headers["retry-after"]) <= 3600) == ((429, words), True)
    assert shop.post(PATH, to(*numbered(2, "s"))).status == 200
    assert shop.post(PATH, to("t@mail.example", sender="ANN@mail.example")).status == 429
    assert len(waiting(shop)) == 5


@pytest.mark.parametrize("kind", ["application", "sender"])
def test_more_recipients_than_could_ever_be_sent_to_are_too_many(tmp_path: Path, database: Database, kind: str) -> None:
    settings = {"maxRecipients": 30, "limits": {kind: {"most": 2, "minutes": 60}}}
    shop = Service(release_of_writes(tmp_path, share=settings), database)
    words = ["recipientEmailAddress: must be at most 2 addresses, not 3"]
    assert reasons(shop.post(PATH, to(*numbered(3)))) == (400, words)
    assert shop.post(PATH, to(*numbered(2))).status == 200


def test_a_recipient_gets_so_many_whoever_sends_them(shop: Service) -> None:
    for sender in numbered(3, "s"):
        assert shop.post(PATH, to("bob@mail.example", sender=sender)).status == 200
    refused = shop.post(PATH, to("BOB@mail.example", sender="last@mail.example"), x_svc_webservice_client_id=TABLET)
    words = ["recipientEmailAddress: at most 3 mails in 1440 minutes for one recipient"]
    assert (reasons(refused), int(refused.headers["retry-after"]) > 86000) == ((429, words), True)


def test_an_application_may_send_so_many(shop: Service) -> None:
    for number in range(8):
        assert shop.post(PATH, to(f"r{number}@mail.example", sender=f"s{number}@mail.example")).status == 200
    refused = shop.post(PATH, to("r@mail.example", sender="s@mail.example"))
    assert reasons(refused) == (429, ["rate: at most 8 mails in 60 minutes for one application"])
    assert shop.post(PATH, to("r@mail.example"), x_svc_webservice_client_id=TABLET).status == 200


def test_no_more_than_that_however_many_ask_at_once(shop: Service) -> None:
    statuses: list[int] = []

    def ask(number: int) -> None:
        statuses.append(shop.post(PATH, to(*numbered(2, f"r{number}-"), sender=f"s{number}@mail.example")).status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(statuses), len(waiting(shop))) == ([200] * 4 + [429] * 12, 8)


def test_the_limits_keep_no_address(shop: Service) -> None:
    assert shop.post(PATH, SHARE).status == 200
    assert shop.database is not None
    rows = shop.database.read(lambda tables: tables[OUTBOX]._run("SELECT name FROM limits"))
    assert (len(rows), [name for (name,) in rows if "@" in name]) == (4, [])


# -- addresses ---------------------------------------------------------------------------------------------------


@given(st.text(st.characters() | st.sampled_from('@.,\r\n <>"\\\0'), max_size=40))
def test_an_address_has_one_spelling_and_nothing_that_a_header_would_read_otherwise(text: str) -> None:
    try:
        found = address(text)
    except ValueError:
        return
    assert (address(found), found.isascii(), found.isprintable(), " " in found) == (found, True, True, False)


def test_addresses_are_told_apart_without_case() -> None:
    assert addresses("a@b.example, A@B.EXAMPLE", 2) == ["A@b.example"]


# -- the mail ----------------------------------------------------------------------------------------------------

LETTERS = Letters(INTERFACE)


def letter(letters: Letters = LETTERS, **changes: Json) -> EmailMessage:
    mail = claimed({**DOCUMENT, **changes})
    sender, data = letters.encoded(mail)
    assert (sender, data.isascii()) == ("offers@shop.example", True)
    assert letters.encoded(mail) == (sender, data)
    assert [line for line in data.split(b"\r\n") if len(line) > 998 or b"\n" in line] == []
    message = message_from_bytes(data, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def test_the_headers_of_a_mail() -> None:
    headers = {name: str(value) for name, value in letter().items()}
    reply_to = headers.pop("Reply-To")
    assert headers == {
        "From": '"Caf\u00e9 \u6771\u4eac, Inc." <offers@shop.example>',
        "To": "bob@mail.example",
        "Subject": 'Ann "O" <x@y. example>, \u00c5sa shares with you: Winter <sale>',
        "Date": "Tue, 24 Nov 2026 17:00:00 +0000",
        "Message-ID": "<0123456789abcdef0123456789abcdef@shop.example>",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "List-Id": "<share.shop.example>",
        "List-Unsubscribe": "<https://www.shop.example/stop>",
        "MIME-Version": "1.0",
        "Content-Type": 'multipart/alternative; boundary="=0123456789abcdef0123456789abcdef="',
    }
    assert reply_to == '"Ann \\"O\\" <x@y.example>, \u00c5sa" <ann@mail.example>'


def test_a_mail_says_the_same_in_text_and_html_and_html_is_escaped() -> None:
    message = letter()
    parts = [message.get_body((kind,)) for kind in ("plain", "html")]
    text, html = [part.get_content().replace("\r\n", "\n") for part in parts if part is not None]
    assert "> <b>Look</b> & see:\n> https: //mail. example/?a=1&b=2\n\nWinter <sale>\n" in text
    assert "Code: SAVE10\nFrom November 20, 2026 to December 24, 2026.\n" in text
    assert "&lt;b&gt;Look&lt;/b&gt; &amp; see:<br>\nhttps: //mail. example/?a=1&amp;b=2\n" in html
    assert "Winter &lt;sale&gt;" in html


pieces = st.sampled_from(["=?utf-8?q?x=0ABcc:_eve@x.example?=", "=0A", "=?", "?=", "<eve@x.example>,", "a" * 70, " "])
names = st.lists(pieces | st.text(st.characters().filter(str.isprintable) | st.sampled_from('",<>@()\\;: =?_')))


ANN, LONG = "ann@mail.example", f"{'a' * 60}@{'m' * 60}.example"


@given(names.map(lambda parts: "".join(parts)[:100].strip()), st.text(max_size=300), st.sampled_from([ANN, LONG]))
@example("=?utf-8?q?Hi=0AContent-Type:text/html=0A=0A<a_href=3D//evil.example>Win!</a><!--?=", "", ANN)
@example("=?utf-8?q?Hi=0AContent-Type:text/html=0A=0A<a_href=3D//evil.example>Win!</a><!--?=", "", LONG)
@example("a" * 70 + " <eve@x.example>, Bob", "", ANN)
@example("\U0001f600" * 100, "", LONG)
def test_no_name_and_no_message_makes_a_header_or_another_address(name: str, message: str, address: str) -> None:
    sender = {"address": address, "name": name}
    made = letter(sender=sender, message=message.replace("\ud800", ""))
    assert [each.addr_spec for each in made["Reply-To"].addresses] == [address]
    words, reply_to = parseaddr(dict(made.raw_items())["Reply-To"])
    assert (str(make_header(decode_header(words))), reply_to) == (name, address)
    said = INTERFACE.mail["share"].letter({**DOCUMENT, "sender": sender}).variables["sender"]
    subject = f"{said['name'] or said['address']} shares with you: Winter <sale>"
    assert str(made["Subject"]) == " ".join(subject.split())[:200]
    assert [each.addr_spec for each in made["To"].addresses] == ["bob@mail.example"]
    assert (list(made.keys()), len(list(made.iter_parts()))) == (list(letter().keys()), 2)


def test_a_content_folders_own_template_comes_first(tmp_path: Path) -> None:
    (tmp_path / "share.txt").write_text("Subject:  For\u00a0you \n\nHello {{ sender.name }}.\n")
    letters = Letters(INTERFACE, [tmp_path, tmp_path / "nowhere"])
    own = letter(letters)
    assert str(own["Subject"]) == "For you"
    text, _ = own.iter_parts()
    assert text.get_content().strip() == 'Hello Ann "O" <x@y. example>, \u00c5sa.'


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("Hello\n", "must begin with a line `Subject: "),
        ("Subject: {{ sender.nam }}\n", "no attribute 'nam'"),
        ("Subject: {% if %}\n", "TemplateSyntaxError"),
        ("Subject: {{ ''.__class__.__mro__ }}\n", "SecurityError"),
    ],
)
def test_a_template_that_is_wrong_is_told_before_anything_is_sent(tmp_path: Path, template: str, reason: str) -> None:
    (tmp_path / "share.txt").write_text(template)
    with pytest.raises(Failure) as failure:
        Letters(INTERFACE, [tmp_path])
    assert reason in str(failure.value)
