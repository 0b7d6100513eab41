"""An Idempotency-Key holds for who sent it: a device, a user, a bag's owner, a sender of mails, or else an address."""

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.databases import forget
from harness.program import (
    PHONE,
    TABLET,
    Database,
    Service,
    called,
    reasons,
    release_of_writes,
    said,
    served,
)
from harness.waits import awaited
from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.interface.declaring.operation import FromStore, Outcome
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.shop import INTERFACE

Json = Any
OPT_INS, LOG, BAGS = "/v2/utility/mobileoptinout", "/v2/utility/mobilelog", "/order/v1/bags"
SHARE = "/v3/promotions/share"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_writes(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def shop(dist: Path, database: Database, tmp_path: Path) -> Service:
    return Service(dist, database, tmp_path / "log")


def post(shop: Service, target: str, body: Json, address: str = "192.0.2.1", key: str = "same") -> tuple[int, Json]:
    answer = shop.post(target, body, x_forwarded_for=address, idempotency_key=key)
    return answer.status, said(answer)


def new_bag(shop: Service, address: str) -> str:
    status, body = post(shop, BAGS, {"item": {"quantity": 1, "upcId": 1}}, address)
    assert status == 200
    return str(body["bag"]["bagGUID"])


def test_two_phones_that_send_the_same_key_get_two_bags(shop: Service) -> None:
    bags = [new_bag(shop, address) for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1", "2001:db8::1", "2001:db8::2")]
    one, other, again, six, same_network = bags
    assert (one == again, six == same_network, len({one, other, six})) == (True, True, 3)


def test_a_device_has_its_answer_wherever_it_repeats_its_request(shop: Service) -> None:
    choices = [("d1", "192.0.2.1"), ("d1", "192.0.2.2"), ("d2", "192.0.2.1")]
    assert [post(shop, OPT_INS, choice(device), address)[0] for device, address in choices] == [200] * 3
    assert shop.database is not None
    history = shop.database.read(lambda tables: tables[CONSENTS].history(""))
    assert sorted(each.device for each in history) == ["d1", "d2"]


def choice(device: str, which: str = "IN") -> Json:
    return {"deviceID": device, "optInOrOptOut": which}


def test_another_body_under_a_key_is_refused_of_its_sender_alone(shop: Service) -> None:
    asked = [choice("d1"), choice("d1", "OUT"), choice("d2", "OUT")]
    assert [post(shop, OPT_INS, body)[0] for body in asked] == [200, 422, 200]


def test_additions_to_a_bag_are_its_owners_wherever_they_come_from(shop: Service) -> None:
    guid = new_bag(shop, "192.0.2.1")
    target, body = f"{BAGS}?bagGuid={guid}", {"item": {"quantity": 1, "upcId": 2}}
    counts = [
        post(shop, target, body, address, "add")[1]["bag"]["bagSummary"]["itemCount"]
        for address in ("192.0.2.1", "192.0.2.7")
    ]
    assert counts == [2, 2]


def test_a_senders_mails_are_sent_once_wherever_the_request_is_repeated(shop: Service) -> None:
    def share(sender: str, address: str) -> int:
        body = {"promoId": "7", "recipientEmailAddress": "bob@mail.example", "senderEmailAddress": sender}
        return post(shop, SHARE, body, address)[0]

    asked = [("ann@mail.example", "192.0.2.1"), ("ann@mail.example", "192.0.2.2"), ("eve@mail.example", "192.0.2.1")]
    assert [share(*each) for each in asked] == [200] * 3
    assert shop.database is not None
    assert shop.database.read(lambda tables: tables[OUTBOX].counts())["waiting"] == 2


def test_entries_of_a_log_are_the_devices_that_all_of_them_name(shop: Service, tmp_path: Path) -> None:
    def log(*devices: str, address: str = "192.0.2.1") -> int:
        entries = [{"deviceId": device, "platform": "p", "logLevel": "ERROR", "logMessage": "m"} for device in devices]
        return post(shop, LOG, {"entry": entries}, address)[0]

    assert [log("d1", "d1"), log("d1", "d1", address="192.0.2.2"), log("d2"), log("d1", "d2")] == [200] * 4
    lines = b"".join(file.read_bytes() for file in (tmp_path / "log").iterdir()).splitlines()
    assert len(lines) == 5


def test_the_database_does_not_tell_whose_key_it_was_by_address(shop: Service) -> None:
    new_bag(shop, "192.0.2.1")
    assert shop.database is not None
    ((key,),) = shop.database.read(lambda tables: tables[OUTBOX]._run("SELECT idempotency_key FROM retries"))
    sender, _, own = key.partition(" ")
    assert (len(sender), own, "192.0.2.1" in key) == (64, "same", False)


def test_what_a_device_was_answered_is_forgotten_with_it(shop: Service) -> None:
    post(shop, OPT_INS, choice("d1"))
    assert shop.database is not None
    now = shop.database.now()
    gone = forget(shop.database, "device", "d1", now, "k")
    assert (gone["choices"], gone["kept answers"]) == (1, 1)


def test_a_key_of_one_application_is_not_anothers(shop: Service) -> None:
    assert post(shop, OPT_INS, choice("d1"))[0] == 200
    answer = shop.post(OPT_INS, choice("d1", "OUT"), x_svc_webservice_client_id=TABLET, idempotency_key="same")
    assert answer.status == 200


def test_a_key_at_another_path_is_another_and_a_slash_at_the_end_makes_none(shop: Service) -> None:
    entry = {"deviceId": "d1", "platform": "p", "logLevel": "ERROR", "logMessage": "m"}
    asked = [(OPT_INS, choice("d1")), (LOG, {"entry": [entry]}), (f"{OPT_INS}/", choice("d1"))]
    answers = [shop.post(target, body, idempotency_key="same") for target, body in asked]
    assert [(each.status, each.headers.get("idempotent-replayed")) for each in answers] == [
        (200, None),
        (200, None),
        (200, "true"),
    ]


def test_an_answer_that_is_given_again_is_marked(shop: Service) -> None:
    asked = ((BAGS, {"item": {"quantity": 1, "upcId": 1}}), (OPT_INS, choice("d1")))
    for target, body in asked:
        first, second = [shop.post(target, body, idempotency_key="same") for _ in range(2)]
        assert (first.status, second.status, first.body) == (200, 200, second.body)
        assert [answer.headers.get("idempotent-replayed") for answer in (first, second)] == [None, "true"]
    again = shop.post(OPT_INS, choice("d1"))
    assert "idempotent-replayed" not in again.headers


def test_a_refusal_is_performed_again_under_its_key(dist: Path, database: Database) -> None:
    """An action may refuse a request and keep what it wrote, such as a count."""
    attempts = []

    def refuse(*arguments: object) -> Outcome:
        attempts.append(arguments)
        return Outcome(refusal=Refusal("invalid", Fault("deviceID", f"attempt {len(attempts)}")))

    operations = tuple(
        replace(each, source=FromStore(refuse)) if each.path == OPT_INS.removeprefix("/") else each
        for each in INTERFACE.operations
    )
    shop = served(dist, database, interface=replace(INTERFACE, operations=operations))
    headers = {"x-svc-webservice-client-id": PHONE, "content-type": "application/json", "idempotency-key": "k"}
    answers = [called(shop, OPT_INS, headers, "POST", orjson.dumps(choice("d"))) for _ in range(2)]
    assert [reasons(answer) for answer in answers] == [(400, [f"deviceID: attempt {number}"]) for number in (1, 2)]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="Linux lists who waits for a lock")
def test_lines_of_the_log_are_written_while_others_write_to_the_database(shop: Service, tmp_path: Path) -> None:
    assert post(shop, OPT_INS, choice("first"))[0] == 200
    entry = {"deviceId": "d", "platform": "p", "logLevel": "ERROR", "logMessage": "m"}
    assert post(shop, LOG, {"entry": entry}, key="before")[0] == 200
    with (tmp_path / "log/mobile.lock").open() as lock, ThreadPoolExecutor() as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        logged = pool.submit(post, shop, LOG, {"entry": entry}, key="meanwhile")
        try:
            awaited(lambda: f"-> FLOCK  ADVISORY  WRITE {os.getpid()} " in Path("/proc/locks").read_text())
            assert post(shop, OPT_INS, choice("second"))[0] == 200
            assert not logged.done()
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
        assert logged.result()[0] == 200
    assert post(shop, LOG, {"entry": entry}, key="meanwhile")[0] == 200
    assert len((tmp_path / "log/mobile.log").read_text().splitlines()) == 2
