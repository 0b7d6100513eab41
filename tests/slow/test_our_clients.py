"""The clients in clients/ against the running service: both do the same, also where the service is away or repeats."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.browser import npm_installed
from harness.content import SAMPLE
from harness.program import shopwindow
from harness.servers import ADDRESS, Server, free_port, own_server
from harness.waits import PATIENCE
from shopwindow_client import Client, Refused, Unreachable

CLIENTS = Path(__file__).parents[2] / "clients"

TYPESCRIPT = "typescript@5.9.3"
"""From npm: what package.json of the client names."""

PATH = "poorNetwork/poorWifiMaxSecsLatency"


@pytest.fixture(scope="module")
def server(sample_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("service")
    assert shopwindow("migrate", "--database", f"sqlite:///{folder}/store.sqlite").status == 0
    with own_server(folder, sample_out, "--workers", "1") as running:
        yield running


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    return f"http://{ADDRESS}:{server.port}"


def key() -> str:
    return (SAMPLE / "sample-keys.txt").read_text().split()[1]


class Answers(httpx.BaseTransport):
    """Sends requests on, but loses or replaces the first answers."""

    def __init__(self, *first: httpx.Response | None) -> None:
        self.first = list(first)
        self.sent: list[httpx.Request] = []
        self.network = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        if self.first and self.first[0] is not None:
            answer = self.first.pop(0)
            assert answer is not None
            return answer
        response = self.network.handle_request(request)
        response.read()
        if self.first:
            self.first.pop(0)
            raise httpx.ReadError("the answer is lost")
        return response


EXPECTED: dict[str, Any] = {
    "configuration": [True, False, False, True, None],
    "stores": [4001],
    "refused": [400, 400, True],
    "key": [401, 401, True],
    "away": "unreachable",
    "bag": [[[2], True], [[3], True], [[5], True], [[], True]],
    "late": [412, 412, True],
    "log": [2, 0, 0],
}
"""What both clients find; of the configuration's value only whether it is the served one."""


def outcome(work: Any) -> Any:
    try:
        return work()
    except Refused as refusal:
        return [refusal.status, refusal.code, refusal.request_id != ""]
    except Unreachable:
        return "unreachable"


def latency(address: str) -> Any:
    """The value of the configuration, as the service has it."""
    response = httpx.get(f"{address}/v2/utility/mobileapp", headers={"x-svc-webservice-client-id": key()})
    return response.json()["poorNetwork"]["poorWifiMaxSecsLatency"]


def test_the_python_client_reads_changes_and_logs(address: str, tmp_path: Path) -> None:
    with Client(address, key(), copies=tmp_path) as client:
        first, again = client.configuration(), client.configuration()
        added = client.bags.add({7001001: 2})
        more = client.bags.add({7001001: 1}, added.guid, etag=added.etag)
        changed = client.bags.set_quantity(more, more.items[0], 5, etag=more.etag)
        late = outcome(lambda: client.bags.set_quantity(more, more.items[0], 1, etag=more.etag))
        removed = client.bags.remove(changed, changed.items[0])
        log = client.logger("7c1e0b52-phone", "iPhone")
        log.log("ERROR", "one")
        log.log("ERROR", "two")
        stores = client.read("store/v2/stores", {"storeNumber": 4001})["stores"]["store"]
        assert {
            "configuration": [
                first[PATH] == latency(address),
                first.is_copy,
                again.is_copy,
                first.etag == again.etag,
                outcome(lambda: first.value.get("none")),
            ],
            "stores": [store["storeNumber"] for store in stores],
            "refused": outcome(lambda: client.read("store/v1/events")),
            "key": outcome(lambda: Client(address, "none").configuration()),
            "away": outcome(lambda: Client(f"http://{ADDRESS}:{free_port()}", key()).configuration()),
            "bag": [
                [[item.quantity for item in bag.items], bag.guid == added.guid]
                for bag in (added, more, changed, removed)
            ],
            "late": late,
            "log": [log.flush(), log.dropped, log.flush()],
        } == EXPECTED


def test_the_typescript_client_does_the_same(address: str, tmp_path: Path) -> None:
    compiler = npm_installed(tmp_path, TYPESCRIPT) / ".bin" / "tsc"
    project = CLIENTS / "typescript"
    compiled = subprocess.run([compiler, "-p", project, "--outDir", tmp_path / "dist"], capture_output=True, text=True)
    assert (compiled.returncode, compiled.stdout) == (0, "")
    (tmp_path / "dist" / "package.json").write_text('{"type": "module"}')
    driver = Path(__file__).parent.parent / "drivers" / "of_our_typescript_client.mjs"
    command = ["node", str(driver), str(tmp_path / "dist"), address, key(), f"http://{ADDRESS}:{free_port()}"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    printed["configuration"][0] = printed["configuration"][0] == latency(address)
    assert printed == EXPECTED


def test_the_copy_of_the_configuration_is_read_where_the_service_is_away(address: str, tmp_path: Path) -> None:
    unavailable = [httpx.Response(503, json={"errorCode": 202, "message": "The service is not available"})] * 3
    answers = Answers()
    with Client(address, key(), copies=tmp_path, transport=answers) as client:
        first = client.configuration()
        answers.first = list(unavailable)
        copy = client.configuration()
    assert (copy.value, copy.is_copy, first.is_copy, len(answers.sent)) == (first.value, True, False, 4)


def test_a_damaged_copy_is_no_copy(address: str, tmp_path: Path) -> None:
    with Client(address, key(), copies=tmp_path) as client:
        first = client.configuration()
        (file,) = tmp_path.iterdir()
        file.write_text('{"etag"')
        assert client.configuration() == first


def test_an_addition_whose_answer_is_lost_is_done_once(address: str) -> None:
    answers = Answers(None)
    with Client(address, key(), transport=answers) as client:
        bag = client.bags.add({7001001: 2})
    keys = {request.headers["Idempotency-Key"] for request in answers.sent}
    assert ([item.quantity for item in bag.items], len(answers.sent), len(keys)) == ([2], 2, 1)


def test_a_change_without_a_key_is_not_repeated(address: str) -> None:
    answers = Answers()
    with Client(address, key(), transport=answers) as client:
        bag = client.bags.add({7001001: 2})
        answers.first = [None]
        sent = len(answers.sent)
        with pytest.raises(Unreachable):
            client.bags.set_quantity(bag, bag.items[0], 3)
        assert ([item.quantity for item in client.bags.get(bag.guid).items], len(answers.sent) - sent) == ([3], 2)


def test_entries_wait_where_the_service_is_away_and_are_stored_once(address: str, server: Server) -> None:
    away = [httpx.Response(503, json={})] * 3
    answers = Answers(*away)
    with Client(address, key(), transport=answers) as client:
        log = client.logger("a-phone-that-waits", "iPhone")
        log.log("ERROR", "waited")
        with pytest.raises(Refused):
            log.flush()
        answers.first = [None]  # stored, and the answer is lost
        assert (log.flush(), log.dropped) == (1, 0)
    lines = (server.out.parent / "log" / "mobile.log").read_text().splitlines()
    assert [line.rpartition("|")[2] for line in lines if "a-phone-that-waits" in line.replace("\\u0020", " ")] == [
        "logMessage=waited"
    ]


def test_an_entry_that_the_service_refuses_does_not_hold_up_the_others(address: str) -> None:
    with Client(address, key()) as client:
        log = client.logger("", "iPhone")
        log.log("ERROR", "from no phone")
        with pytest.raises(Refused) as refused:
            log.flush()
        assert (refused.value.status, log.dropped, log.flush()) == (400, 1, 0)
