"""Facts about the edge as operators have it: nginx's own user and its limits."""

import os
import pwd
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from harness import servers
from harness.content import ROOT
from harness.program import NO_LIMITS, Answer, built, nginx_configuration, program_schemas
from harness.servers import ask
from harness.waits import PATIENCE, awaited
from shopwindow.edge.nginx import EdgeLimits

SAMPLE = ROOT / "content"
SCHEMAS = program_schemas()
HOST, ORDERS = "api.larkspurvane.example", "orders.larkspurvane.example"
KEY_HEADER = "x-svc-webservice-client-id"
KEYS = SAMPLE / "sample-keys.txt"
KEY = next(line.split()[1] for line in KEYS.read_text().splitlines() if line.startswith("iphone"))
FILE, LIVE = "/v2/promotions", "/nothing/here"


@pytest.fixture(scope="module")
def public() -> Iterator[Path]:
    """A folder that every user may look into, which pytest's own are not; the release in it is as a build leaves it."""
    folder = Path(tempfile.mkdtemp(prefix="shopwindow-test-"))
    folder.chmod(0o755)
    mask = os.umask(0o077)  # as root's may be: what nginx reads must not depend on it
    try:
        (folder / "dist").mkdir(mode=0o755)
        (folder / "dist").chmod(0o755)  # as systemd-tmpfiles makes it
        built(SAMPLE, folder / "dist")
        yield folder
    finally:
        os.umask(mask)
        shutil.rmtree(folder)


def edge(folder: Path, service: str, port: int, limits: EdgeLimits = NO_LIMITS) -> str:
    return nginx_configuration(folder / "dist", {KEY: "iphone"}, service, f"{servers.ADDRESS}:{port}", limits)


def get(port: int, target: str, host: str = HOST, **headers: str) -> Answer:
    connection = HTTPConnection(servers.ADDRESS, port, timeout=PATIENCE)
    try:
        return ask(connection, target, {"Host": host, KEY_HEADER: KEY, **headers})
    finally:
        connection.close()


# -- nginx's own user --------------------------------------------------------------------------------------------


def www_data() -> str:
    """The user that nginx's workers are on Debian. Skips where this is not root, who alone can make them that."""
    if os.geteuid() != 0:
        pytest.skip("only root starts nginx as another user")
    try:
        return pwd.getpwnam("www-data").pw_name
    except KeyError:
        pytest.skip("there is no user www-data here")


def test_nginx_as_its_own_user_serves_every_read_from_files(public: Path) -> None:
    port = servers.free_port()
    with (
        servers.echo() as service,
        servers.running_nginx(public / "nginx", edge(public, service, port), port, user=www_data()),
    ):
        for target, name in (
            ("/v2/promotions", "v2/promotions.json"),
            ("/v2/utility/mobileapp", "v2/utility/mobileapp/iphone.json"),
            ("/store/v1/events?storeId=301", "store/v1/events;storeId=301.json"),
        ):
            answer = get(port, target)
            assert (answer.status, answer.body) == (200, (public / "dist/current/files" / name).read_bytes()), target
            assert "service" not in answer.headers


def test_a_file_that_nginx_may_not_read_is_an_error_and_stands_in_the_log(public: Path) -> None:
    """It is there, so the service must not answer in its place as if nothing were wrong."""
    port = servers.free_port()
    folder = public / "nginx-denied"
    files = (public / "dist/current/files").resolve()
    with (
        servers.echo() as service,
        servers.running_nginx(folder, edge(public, service, port), port, user=www_data()),
    ):
        assert get(port, FILE).status == 200
        files.chmod(0o700)
        try:
            denied, xml = get(port, FILE), get(port, FILE, Accept="application/xml")
        finally:
            files.chmod(0o755)
        gone = get(port, "/store/v2/stores/999999")
    assert (denied.status, xml.status) == (500, 500)
    assert b'"errorCode":500' in denied.body
    assert b"<errorCode>500</errorCode>" in xml.body
    assert denied.headers["cache-control"] == "no-store"
    assert gone.told["target"] == "/store/v2/stores/999999"  # 404 at the edge is the service's to answer
    log = (folder / "error.log").read_text()
    assert log.count("Permission denied") == 2
    assert "promotions.json" in log
    assert "999999" not in log


# -- limits ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def limited(public: Path) -> Iterator[int]:
    """An nginx that lets a client send one request a second and four more; who the client is, a header says."""
    port = servers.free_port()
    real = f"set_real_ip_from {servers.ADDRESS};\nreal_ip_header X-Client;\n"
    with servers.echo() as service:
        text = real + edge(public, service, port, EdgeLimits(rate=1, burst=4, requests=0))
        with servers.running_nginx(public / "nginx-limited", text, port):
            yield port


MANY = 500
"""Requests of which one is refused, however slow the machine is: one a second is allowed, and four more."""


def statuses(port: int, client: str, number: int, target: str = LIVE) -> list[int]:
    return [get(port, target, **{"X-Client": client}).status for _ in range(number)]


def one_refused(port: int, clients: Iterable[str], target: str = LIVE, host: str = HOST) -> Answer:
    """Ask in a row until one is refused, which is sooner than a second has gone by for each; return that answer."""
    begin = time.monotonic()
    served = 0
    for client in clients:
        answer = get(port, target, host, **{"X-Client": client})
        if answer.status == 429:
            break
        assert answer.status == 203
        served += 1
    assert 5 <= served <= 5 + time.monotonic() - begin
    return answer


def test_a_client_that_asks_too_much_is_told_so_and_the_others_are_served(limited: int) -> None:
    refused = one_refused(limited, ["192.0.2.1"] * MANY)
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["cache-control"] == "no-store"
    assert b'"errorCode":429' in refused.body
    assert statuses(limited, "192.0.2.2", 3) == [203] * 3


def test_files_are_not_counted(limited: int) -> None:
    assert statuses(limited, "192.0.2.3", 40, FILE) == [200] * 40
    assert statuses(limited, "192.0.2.3", 1) == [203]


def test_an_ipv6_network_is_one_client(limited: int) -> None:
    """A client has 2^64 addresses for nothing (RFC 6177 gives it at least a /64)."""
    one_refused(limited, [f"2001:db8:0:1::{last:x}" for last in range(MANY)])
    assert statuses(limited, "2001:db8:0:2::1", 3) == [203] * 3


def test_the_order_host_answers_in_its_own_form(limited: int) -> None:
    refused = one_refused(limited, ["192.0.2.4"] * MANY, "/v3/order/supc", ORDERS)
    assert refused.headers["retry-after"] == "1"
    assert b'"errorMessage"' in refused.body
    assert b"429" in refused.body


def test_a_client_has_so_many_requests_at_work(public: Path) -> None:
    port = servers.free_port()
    with servers.mute() as service:  # it takes connections and answers none
        text = edge(public, service, port, EdgeLimits(rate=0, burst=0, requests=2))
        with servers.running_nginx(public / "nginx-busy", text, port):
            waiting: list[HTTPConnection] = []
            awaited(lambda: refused(port, waiting))
            assert (get(port, FILE).status, len(waiting) >= 2) == (200, True)
            for connection in waiting:
                connection.close()


def refused(port: int, waiting: list[HTTPConnection]) -> bool:
    """Whether one more request is answered 429; otherwise it waits with the others, whose connections stay open."""
    connection = HTTPConnection(servers.ADDRESS, port, timeout=1)
    try:
        return ask(connection, LIVE, {"Host": HOST, KEY_HEADER: KEY}).status == 429
    except TimeoutError:
        waiting.append(connection)
        return False


@pytest.mark.parametrize("limits", [NO_LIMITS, EdgeLimits(), EdgeLimits(rate=0), EdgeLimits(requests=0)])
def test_nginx_finds_no_fault_with_any_limits(public: Path, tmp_path: Path, limits: EdgeLimits) -> None:
    text = edge(public, "127.0.0.1:1", servers.free_port(), limits)
    assert servers.tested(tmp_path, text) == ""
    assert ("limit_req" in text) == bool(limits.rate)
    assert ("limit_conn" in text) == bool(limits.requests)
