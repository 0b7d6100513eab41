"""The outbox's senders, with a real mail server: nothing promised is lost, and little is repeated."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from harness.databases import DOCUMENT, Engine, Letters, prune
from harness.mails import (
    DROP,
    DROP_AFTER_ACCEPTING,
    QUICK,
    MailServer,
    Patience,
    Sender,
    SmtpServer,
    certificate,
    command,
    counts,
    mail_server,
    plain,
    promise,
    sending,
    smtp_server,
    surroundings,
)
from harness.program import PHONE, Database, release_of_writes
from harness.servers import ADDRESS, environment, free_port, metric, own_server
from harness.waits import PATIENCE, awaited
from shopwindow.interface.declaring.mail import OUTBOX, ClaimedMail
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Failure
from shopwindow.service.mail.smtp import SMTP, Unreachable, deliver
from shopwindow.shop import INTERFACE

Json = Any


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


BOB, EVE = "bob@mail.example", "eve@mail.example"

# -- what a server may answer ------------------------------------------------------------------------------------


def test_what_is_accepted_is_sent_once_and_not_kept(database: Database, server: MailServer) -> None:
    promise(database, BOB, EVE)
    with sending(database, plain(server)):
        awaited(lambda: counts(database) == {"ended sent": 2})
    assert (sorted(to for to, _ in server.taken), set(server.ids().values())) == ([BOB, EVE], {1})


DEFERRED: list[tuple[str, list[str], int]] = [  # where, answers, attempts
    ("rcpt", ["450 greylisted"], 2),
    ("rcpt", ["451 no", "421 going down", "452 full"], 4),
    ("data", ["451 later"], 2),
    ("data", ["421 going down", "450 later"], 3),
    ("rcpt", [DROP], 2),
    ("data", [DROP, DROP, DROP, DROP, DROP, DROP], 7),  # not the mail's fault, however often
    ("rcpt", ["200 odd", "252 odd", "300 odd", "200 odd", "200 odd"], 6),  # nor is what no server may answer
]


@pytest.mark.parametrize(("where", "answers", "attempts"), DEFERRED)
def test_what_is_put_off_or_dropped_is_tried_again_until_it_is_sent(
    database: Database, server: MailServer, where: str, answers: list[str], attempts: int
) -> None:
    getattr(server, where)[BOB] = list(answers)
    promise(database, BOB, EVE)
    with sending(database, plain(server), senders=1):
        awaited(lambda: counts(database) == {"ended sent": 2})
    assert (server.seen.count(BOB), sorted(server.ids().values())) == (attempts, [1, 1])


@pytest.mark.parametrize(("where", "answer"), [("rcpt", "550 5.1.1 no such user"), ("data", "554 5.7.1 spam")])
def test_what_is_refused_for_good_is_dead_at_once_and_may_be_tried_again(
    engine: Engine, database: Database, server: MailServer, where: str, answer: str
) -> None:
    getattr(server, where)[BOB] = [answer]
    promise(database, BOB, EVE)
    with sending(database, plain(server)):
        awaited(lambda: counts(database) == {"dead": 1, "ended dead": 1, "ended sent": 1})
    listed = shopwindow_mail(engine, server, "--list-dead")
    (dead,) = map(json.loads, listed.stdout.splitlines())
    assert (dead["recipient"], dead["reason"], server.seen.count(BOB)) == (BOB, answer, 1)
    assert shopwindow_mail(engine, server, "--retry-dead", dead["id"]).stdout == "1 to be tried again\n"
    assert shopwindow_mail(engine, server, "mail").returncode == 0
    assert counts(database) == {"ended dead": 1, "ended sent": 2}


def test_pauses_between_tries_double_up_to_four_hours() -> None:
    pauses = [Patience().pause(attempt) / 60 for attempt in range(12)]
    usual = [1, 2, 4, 8, 16, 32, 64, 128, 240, 240, 240, 240]
    assert [0.75 <= pause / minutes <= 1.25 for pause, minutes in zip(pauses, usual, strict=True)] == [True] * 12


def test_what_is_put_off_too_often_is_dead_and_not_lost(database: Database, server: MailServer) -> None:
    server.rcpt[BOB] = ["450 never"] * 9
    promise(database, BOB)
    with sending(database, plain(server)):
        awaited(lambda: counts(database) == {"dead": 1, "ended dead": 1})
    assert server.seen.count(BOB) == QUICK.deferred
    assert database.write(lambda shop: shop[OUTBOX].retry(None, datetime.now(UTC))) == 1
    with sending(database, plain(server)):
        awaited(lambda: counts(database) == {"dead": 1, "ended dead": 2})


def test_a_connection_that_breaks_after_the_server_took_the_mail_shows_in_the_message_id(
    database: Database, server: MailServer
) -> None:
    server.data[BOB] = [DROP_AFTER_ACCEPTING]
    promise(database, BOB)
    with sending(database, plain(server)):
        awaited(lambda: counts(database) == {"ended sent": 1})
    assert list(server.ids().values()) == [2]
    assert server.taken[0] == server.taken[1]


def test_a_refusal_of_whom_the_mail_is_from_is_not_the_recipients(database: Database, server: MailServer) -> None:
    server.mail = ["550 not you", "530 log in", "451 later"]
    promise(database, BOB)
    with sending(database, plain(server)):
        awaited(lambda: counts(database) == {"ended sent": 1})


def test_while_no_server_is_there_mails_wait_and_no_attempt_counts(database: Database) -> None:
    port = free_port()
    promise(database, *(f"r{number}@mail.example" for number in range(5)))
    with sending(database, SmtpServer(ADDRESS, port, "smtp+plain")):
        time.sleep(1)
        assert counts(database) == {"waiting": 5}
        with mail_server(port) as server:
            awaited(lambda: counts(database) == {"ended sent": 5})
    assert set(server.ids().values()) == {1}


def test_a_server_that_is_slow_is_waited_for_no_longer_than_the_lease(database: Database, server: MailServer) -> None:
    server.delay = 5
    promise(database, BOB)
    with sending(database, plain(server), Patience(lease=0.8, first=0.05, poll=0.05)):
        awaited(lambda: len(server.seen) >= 3)
        server.delay = 0
        awaited(lambda: counts(database) == {"ended sent": 1})


# -- TLS and login -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("greeting", [b"2", b"220-wait\r\n"])
def test_a_server_whose_greeting_never_ends_is_waited_for_no_longer_than_the_lease(greeting: bytes) -> None:
    def greet(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client, suppress(OSError):
            while True:
                client.sendall(greeting)
                time.sleep(0.05)

    with socket.create_server((ADDRESS, 0)) as listener:
        greeter = Thread(target=greet, args=(listener,))
        greeter.start()
        server = SmtpServer(ADDRESS, listener.getsockname()[1], "smtp+plain")
        began = time.monotonic()
        with pytest.raises(Unreachable):
            deliver(server, "shop@mail.example", BOB, b"", began + 1)
        greeter.join(PATIENCE)
    assert time.monotonic() - began < 10


def test_a_mail_whose_deadline_has_passed_is_not_handed_over(server: MailServer) -> None:
    """As after the process was stopped for a while: another sender may have sent it."""
    with pytest.raises(Unreachable, match="too long"):
        deliver(plain(server), "shop@mail.example", BOB, b"Subject: x\r\n", time.monotonic() - 1)
    assert (server.seen, server.taken) == ([], [])


@pytest.mark.filterwarnings("ignore:Requiring AUTH")  # aiosmtpd's, of a login without TLS
@pytest.mark.parametrize("named", [{"user": "\u00fcser", "password": "p"}, {"host": "mail..example"}])
def test_a_setting_with_which_no_mail_can_be_sent_counts_against_none(
    database: Database, capfd: pytest.CaptureFixture[str], named: dict[str, Any]
) -> None:
    promise(database, BOB, EVE)
    with mail_server(login=("shop", "secret")) as server:
        wrong = replace(plain(server), **named)
        said = ""

        def is_reported() -> bool:
            nonlocal said
            said += capfd.readouterr().err
            return said.count('"fault"') >= 2

        with sending(database, wrong, replace(QUICK, lease=0.2, deferred=1)):
            awaited(is_reported)
        assert counts(database) == {"waiting": 2}
        time.sleep(0.2)
        known = replace(plain(server), user="shop", password="secret")
        assert Sender(database, known, Letters(INTERFACE), QUICK).send_what_is_due() == 2


def test_a_row_that_is_damaged_is_dead_and_keeps_nobody_waiting(database: Database, server: MailServer) -> None:
    now = datetime.now(UTC)

    def damage(shop: Tables) -> None:
        values = ("document = '['", "document = '[]'", "at = 'soon'", "recipient = 'eve@b\u00fccher.example'")
        for id, value in enumerate(values):
            shop[OUTBOX].add(str(id), "share", EVE, DOCUMENT, now - timedelta(minutes=1))
            shop.session.run(f"UPDATE outbox SET {value} WHERE id = ?", str(id))

    database.write(damage)
    promise(database, BOB)
    with sending(database, plain(server), senders=1):
        awaited(lambda: counts(database) == {"ended sent": 1, "dead": 4, "ended dead": 4})
    assert server.seen == [BOB]


@pytest.mark.filterwarnings("ignore:Requiring AUTH")  # aiosmtpd does not see the TLS that it is reached through
@pytest.mark.parametrize("tls", ["starttls", "implicit"])
def test_tls_and_a_login(database: Database, tmp_path: Path, tls: str) -> None:
    trust = certificate(tmp_path)
    with mail_server(tls=tls, trust=trust, login=("shop", "secret")) as server:
        scheme = {"starttls": "smtp", "implicit": "smtps"}[tls]
        known = SmtpServer(ADDRESS, server.port, scheme, "shop", "secret", str(trust[0]))
        others = [
            SmtpServer(ADDRESS, server.port, scheme, "shop", "wrong", str(trust[0])),
            SmtpServer(ADDRESS, server.port, scheme, "shop", "secret"),  # a certificate that nobody vouches for
            SmtpServer(ADDRESS, server.port, "smtp+plain"),
        ]
        promise(database, BOB)
        for other in others[: 3 if tls == "starttls" else 2]:
            with pytest.raises(Unreachable):
                Sender(database, other, Letters(INTERFACE), patience=QUICK).send_what_is_due()
            assert counts(database) == {"waiting": 1}
            time.sleep(2 * QUICK.poll)
        assert Sender(database, known, Letters(INTERFACE), patience=QUICK).send_what_is_due() == 1
    assert (counts(database), len(server.taken)) == ({"ended sent": 1}, 1)


NAMED = {
    "": None,
    "smtp://m": SmtpServer("m", 587),
    "smtps://m": SmtpServer("m", 465, "smtps"),
    "smtp+plain://m/": SmtpServer("m", 25, "smtp+plain"),
    "smtp://u:p%40%2f@m:2?ca=/etc/c.pem": SmtpServer("m", 2, "smtp", "u", "p@/", "/etc/c.pem"),
    "smtps://[::1]:465": SmtpServer("::1", 465, "smtps"),
}


def test_the_server_is_named_by_the_environment() -> None:
    assert {url: smtp_server({SMTP: url}) for url in NAMED} == NAMED
    assert smtp_server({}) is None


WRONG = (
    "m",
    "http://m",
    "smtp://",
    "smtp://m:x",
    "smtp://m:0",
    "smtp://m/x",
    "smtp://m#x",
    "smtp://m?tls=1",
    "smtp://m?=x",
    "smtp://m?ca=x&tls=1",
    "smtp+plain://u:s3cret@m",
    "smtp://u:s3cret@[::1",
    "smtp://u:s3/cret@m",
    "smtp://u:3/s3cret@m",
    "smtp://u:3#s3cret@m",
    "smtp://u:3?s3cret@m",
)


@pytest.mark.parametrize("url", WRONG)
def test_an_address_that_cannot_be_meant_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(Failure, match=f"^{SMTP} ") as refused:
        smtp_server({SMTP: url})
    assert "cret" not in str(refused.value)


def test_why_the_server_cannot_be_had_is_said_without_an_address(
    engine: Engine, database: Database, server: MailServer, tmp_path: Path
) -> None:
    missing = tmp_path / "missing.pem"
    server.mail = [f"451 nothing for {BOB}"]
    other = free_port()
    cases: list[tuple[str, int, str]] = [
        (f"smtp+plain://{ADDRESS}:{server.port}", server.port, "451 nothing for …"),
        (f"smtp://{ADDRESS}:{server.port}", server.port, "STARTTLS extension not supported by server."),
        (f"smtps://{ADDRESS}:{server.port}?ca={missing}", server.port, f"{SMTP}: ca={missing}: No such file"),
        (f"smtp+plain://{ADDRESS}:{other}", other, "[Errno 111] Connection refused"),
    ]
    for url, port, reason in cases:
        promise(database, BOB)
        env = {**surroundings(engine, server), SMTP: url}
        ran = subprocess.run(command("mail"), env=env, capture_output=True, text=True, timeout=PATIENCE)
        (first,) = ran.stderr.splitlines()
        line = json.loads(first)
        said = f"the mail server {ADDRESS}:{port} cannot be used: {reason}"
        assert (line["level"], line["event"], line["message"].startswith(said)) == ("error", "mail_server", True), first
        words = "mail: failed: what is due was not sent; the next run tries again"
        assert (ran.returncode, ran.stdout.splitlines()[-1].partition(" (")[0]) == (4, words)


# -- several senders, and their end ------------------------------------------------------------------------------


def shopwindow_mail(engine: Engine, server: MailServer, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*more), env=surroundings(engine, server), capture_output=True, text=True, timeout=PATIENCE, check=True
    )


def test_what_a_killed_sender_had_claimed_is_anothers_after_the_lease(database: Database) -> None:
    promise(database, BOB)
    now = datetime.now(UTC)

    def claim(later: float) -> ClaimedMail | None:
        at = now + timedelta(seconds=later)
        return database.write(lambda shop: shop[OUTBOX].claim(at, at + timedelta(seconds=10)))

    first = claim(0)
    assert first is not None
    assert [claim(later) is not None for later in (9, 10, 19)] == [False, True, False]
    database.write(partial(_late, first, now))  # the first wakes up: its word counts no more
    assert [claim(later) is not None for later in (19, 21)] == [False, True]


def _late(mail: ClaimedMail, now: datetime, shop: Tables) -> None:
    shop[OUTBOX].postpone(mail, now, "late", deferred=True)
    shop[OUTBOX].give_up(mail, "late")


def test_senders_claim_each_mail_once_and_the_one_that_has_been_due_longest_first(database: Database) -> None:
    now = datetime.now(UTC)
    ages = {"b": 5, "a": 9, "c": 1, "later": -60}

    def add(shop: Tables) -> None:
        for id, age in ages.items():
            shop[OUTBOX].add(id, "share", BOB, DOCUMENT, now - timedelta(seconds=age))

    database.write(add)
    claimed = [database.write(lambda shop: shop[OUTBOX].claim(now, now + timedelta(minutes=15))) for _ in range(4)]
    assert [mail.id if mail else None for mail in claimed] == ["a", "b", "c", None]


def test_dead_mails_are_pruned_by_age(database: Database) -> None:
    promise(database, BOB, EVE)
    now = datetime.now(UTC)
    for _ in (BOB, EVE):
        database.write(partial(_claim_and_give_up, now))
    pruned = [dict(prune(database, now + timedelta(days=days)))["dead mails"] for days in (29, 31)]
    assert (pruned, counts(database)) == ([0, 2], {"ended dead": 2})


def _claim_and_give_up(now: datetime, shop: Tables) -> None:
    mail = shop[OUTBOX].claim(now, now)
    assert mail is not None
    shop[OUTBOX].give_up(mail, "why")


# -- the whole way -----------------------------------------------------------------------------------------------


def test_a_promotion_shared_over_http_arrives_and_is_counted(
    tmp_path: Path, engine: Engine, server: MailServer
) -> None:
    out = release_of_writes(tmp_path, share={"fromAddress": "offers@shop.example", "fromName": "The Shop"})
    smtp = {SMTP: f"smtp+plain://{ADDRESS}:{server.port}"}
    server.rcpt[EVE] = ["550 no"]
    with own_server(tmp_path / "server", out, "--workers", "1", SHOPWINDOW_DATABASE=engine.url, **smtp) as service:
        body = {"couponId": "4001", "recipientEmailAddress": f"{BOB},{EVE}", "senderEmailAddress": "ann@mail.example"}
        headers = {"x-svc-webservice-client-id": PHONE, "content-type": "application/json"}
        answer = service.ask("/v3/promotions/share", headers, "POST", json.dumps(body).encode())
        assert (answer.status, json.loads(answer.body)) == (200, {"success": True})
        assert server.wait(1)
        ended, mails = "shopwindow_mails_ended_total", "shopwindow_mails"

        def counted() -> dict[str, float | None]:
            ways = {how: metric(service, ended, how=how) for how in ("sent", "dead")}
            return ways | {f"now {state}": metric(service, mails, state=state) for state in ("waiting", "dead")}

        awaited(lambda: counted() == {"sent": 1, "dead": 1, "now waiting": 0, "now dead": 1}, lambda: counted())
    ((recipient, data),) = server.taken
    assert (recipient, b"\r\nReply-To: ann@mail.example\r\n" in data) == (BOB, True)


def test_without_a_server_the_job_says_what_to_set(tmp_path: Path) -> None:
    given = environment(SHOPWINDOW_DATABASE=f"sqlite:///{tmp_path}/store.sqlite")
    ran = subprocess.run(command("mail"), env=given, capture_output=True, text=True)
    expected = "mail: not set up: SHOPWINDOW_SMTP names no mail server"
    assert (ran.returncode, ran.stdout.partition(" (")[0], ran.stderr) == (0, expected, "")
