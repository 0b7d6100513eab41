"""How requests come in: connections that say nothing, bodies that do not come, bytes that are no HTTP/1.1."""

import json
import re
import select
import selectors
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from facts.conformance import PHONE
from harness.program import program_schemas, release_of_writes
from harness.servers import ADDRESS, Server, count_connections, own_server
from harness.waits import PATIENCE, awaited
from shopwindow.interface.request import Request
from shopwindow.interface.requests.body import read
from shopwindow.problems import Fault
from shopwindow.shop import INTERFACE

KEY = {"x-svc-webservice-client-id": PHONE}
PROMOTIONS, OPT_IN = "/v2/promotions", "/v2/utility/mobileoptinout"
TYPE = {"content-type": "application/json"}
MIB = 1024 * 1024

CLOSED_SECONDS = 30
"""Within which a connection of a client that does nothing is closed or answered 408."""


@pytest.fixture(scope="module")
def server(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One worker that serves it."""
    with own_server(tmp_path_factory.mktemp("server"), out, "--workers", "1") as server:
        yield server


def head(line: str, *more: str, key: str = PHONE, host: str = "localhost") -> bytes:
    """The head of a request. ``host`` empty: without that line."""
    lines = [line, f"X-Svc-Webservice-Client-Id: {key}", *([f"Host: {host}"] if host else []), *more, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def sent(server: Server, data: bytes, seconds: float = PATIENCE) -> bytes:
    """All that comes back until the connection is closed, or nothing more comes for ``seconds``."""
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        came = b""
        with suppress(TimeoutError, ConnectionResetError, BrokenPipeError):
            client.sendall(data)
            while more := client.recv(65536):
                came += more
                client.settimeout(seconds)
        return came


def statuses(came: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", came)]


HEAD = 64 * 1024
"""Bytes of a head that are taken."""


def padded(size: int, target: str = PROMOTIONS, last: str = "Connection: close") -> bytes:
    """A head of so many bytes."""
    line = f"GET {target} HTTP/1.1"
    return head(line, f"X: {'a' * (size - len(head(line, 'X: ', last)))}", last)


HALF = head(f"POST {OPT_IN} HTTP/1.1", "Content-Type: application/json", "Content-Length: 1000") + b"{"


# -- clients that do nothing -------------------------------------------------------------------------------------


@dataclass
class Watched:
    """Connections that do nothing; when each of them came to its end, and with what."""

    clients: Sequence[socket.socket]
    ended: dict[socket.socket, tuple[float, bytes]] = field(default_factory=dict)

    def watch(self, seconds: float) -> None:
        with selectors.DefaultSelector() as selector:
            for client in self.clients:
                client.setblocking(False)
                selector.register(client, selectors.EVENT_READ, (client, bytearray()))
            started = time.monotonic()
            while selector.get_map() and time.monotonic() < started + seconds:
                for event, _ in selector.select(0.2):
                    client, so_far = event.data
                    try:
                        data = client.recv(65536)
                    except ConnectionResetError:
                        data = b""
                    so_far.extend(data)
                    if not data:
                        self.ended[client] = time.monotonic() - started, bytes(so_far)
                        selector.unregister(client)


def test_others_are_served_while_clients_do_nothing(server: Server) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection((ADDRESS, server.port))) for _ in range(60)]
        for client in clients[:30]:
            client.sendall(HALF)
        body = json.dumps({"deviceID": "device", "optInOrOptOut": "IN"}).encode()
        for number in range(5):
            assert server.ask(f"{PROMOTIONS}?x={number}", KEY).status == 200
            assert server.ask(OPT_IN, {**KEY, **TYPE}, "POST", body).status == 200


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
"""How a connection of HTTP/2 begins: a fixed text, and SETTINGS without any (RFC 9113 §3.4)."""


def test_http_2_is_not_spoken(server: Server) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection((ADDRESS, server.port))) for _ in range(60)]
        for client in clients:
            client.sendall(PREFACE)
        assert server.ask(PROMOTIONS, KEY).status == 200
        watched = Watched(clients)
        watched.watch(20)
    assert ({tuple(statuses(came)) for _, came in watched.ended.values()}, len(watched.ended)) == ({(400,)}, 60)


def test_connections_beyond_the_limit_are_closed(tmp_path: Path, out: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "1", "--clients", "20") as server:
        awaited(lambda: count_connections(server.port) == {"open": 0, "waiting": 0})
        with ExitStack() as stack:
            for _ in range(40):
                client = stack.enter_context(socket.create_connection((ADDRESS, server.port)))
                with suppress(ConnectionResetError, BrokenPipeError):
                    client.sendall(HALF)
            awaited(lambda: count_connections(server.port) == {"open": 20, "waiting": 0})
        awaited(lambda: count_connections(server.port) == {"open": 0, "waiting": 0})
        assert server.ask(PROMOTIONS, KEY).status == 200


# -- what is answered before the body --------------------------------------------------------------------------

LENGTH = "Content-Length: 1000"
JSON_TYPE = "Content-Type: application/json"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (head(f"POST {OPT_IN} HTTP/1.1", LENGTH, JSON_TYPE, key="unknown"), 401),
        (head("POST /v2/nothing HTTP/1.1", LENGTH, JSON_TYPE), 404),
        (head(f"POST {PROMOTIONS} HTTP/1.1", LENGTH, JSON_TYPE), 405),
        (head(f"POST {OPT_IN} HTTP/1.1", LENGTH, JSON_TYPE, "Accept: text/plain"), 406),
        (head(f"POST {OPT_IN} HTTP/1.1", "Content-Length: 1048577", JSON_TYPE), 413),
        (head(f"POST {OPT_IN} HTTP/1.1", LENGTH), 415),
        (head(f"POST {OPT_IN} HTTP/1.1", LENGTH, "Content-Type: text/plain"), 415),
        (head(f"POST {OPT_IN}?x={'y' * 9000} HTTP/1.1", LENGTH, JSON_TYPE), 414),
        (head(f"GET {PROMOTIONS} HTTP/1.1", LENGTH, JSON_TYPE), 200),
        (head(f"OPTIONS {PROMOTIONS} HTTP/1.1", LENGTH), 204),
    ],
)
def test_what_the_head_decides_waits_for_no_body(server: Server, data: bytes, status: int) -> None:
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        client.sendall(data)
        came = client.recv(65536)
    assert statuses(came) == [status]


def test_a_client_that_waits_to_be_told_sends_its_body_only_where_it_is_wanted(server: Server) -> None:
    expects = ("Content-Length: 2", JSON_TYPE, "Expect: 100-continue")
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        client.sendall(head(f"POST {OPT_IN} HTTP/1.1", *expects))
        first = client.recv(65536)
        client.sendall(b"{}")
        second = client.recv(65536)
    refused = sent(server, head(f"POST {OPT_IN} HTTP/1.1", *expects, key="unknown"), 0.5)
    assert (first, statuses(second), statuses(refused)) == (b"HTTP/1.1 100 Continue\r\n\r\n", [400], [401])


def test_a_response_is_one_packet(server: Server) -> None:
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        client.sendall(head(f"GET {PROMOTIONS} HTTP/1.1", "Connection: close"))
        came = b"".join(iter(lambda: client.recv(65536), b""))
        information = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    (packets,) = struct.unpack_from("I", information, 152)  # linux/tcp.h: tcp_info.tcpi_data_segs_in
    assert (statuses(came), packets) == ([200], 1)


def test_a_connection_stays_good_after_a_body_that_nobody_wanted(server: Server) -> None:
    unwanted = head(f"POST {OPT_IN} HTTP/1.1", "Content-Length: 100000", JSON_TYPE, key="unknown") + bytes(100_000)
    last = head(f"GET {PROMOTIONS} HTTP/1.1", "Connection: close")
    assert statuses(sent(server, unwanted + unwanted + last)) == [401, 401, 200]


@pytest.mark.parametrize(
    ("name", "status"),
    [("X-Y", 200), ("x_y", 200), ("na me", 400), ("", 400), ("X-Y ", 400), ("x(y", 400), ("x\0y", 400)],
)
def test_a_field_whose_name_is_no_token_is_malformed(server: Server, name: str, status: int) -> None:
    asked = head(f"GET {PROMOTIONS} HTTP/1.1", f"{name}: x", "Connection: close")
    assert statuses(sent(server, asked)) == [status]


@pytest.mark.parametrize(("length", "is_closed"), [(2 * MIB, False), (2 * MIB + 1, True)])
def test_a_connection_is_closed_on_which_more_than_2_mebibytes_would_come_that_nobody_wants(
    server: Server, length: int, is_closed: bool
) -> None:
    came = sent(server, head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, f"Content-Length: {length}"), 0.5)
    assert (statuses(came), b"\r\nconnection: close\r\n" in came) == ([413], is_closed)


@pytest.mark.parametrize("length", [MIB + 1, 3 * MIB])
def test_a_body_without_a_length_is_refused_once_it_is_too_large(server: Server, length: int) -> None:
    data = head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Transfer-Encoding: chunked")
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        client.sendall(data)
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(length // 65536 + 1):
                client.sendall(b"10000\r\n" + bytes(65536) + b"\r\n")
        came = client.recv(65536)
    assert statuses(came) == [413]


@pytest.mark.parametrize(
    "data",
    [
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, LENGTH) + b'{"deviceID":"a","optInOrOptOut":"IN"}',
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Transfer-Encoding: chunked")
        + b'25\r\n{"deviceID":"a","optInOrOptOut":"IN"}\r\n',
    ],
)
def test_a_body_that_was_cut_off_is_refused_though_it_could_be_read(server: Server, data: bytes) -> None:
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        came = b"".join(iter(lambda: client.recv(65536), b""))
    assert (statuses(came), b"body: ended early; it may be sent again" in came) == ([400], True)


def test_beyond_48_large_bodies_a_further_one_is_refused_until_one_has_ended(server: Server) -> None:
    large = head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Content-Length: 200000") + bytes(100_000)
    with ExitStack() as stack:

        def begun() -> socket.socket:
            client = stack.enter_context(socket.create_connection((ADDRESS, server.port), timeout=PATIENCE))
            client.sendall(large)
            return client

        held = [begun() for _ in range(49)]
        (refused,), _, _ = select.select(held, [], [], PATIENCE)
        held.remove(refused)
        came = refused.recv(65536)
        assert (statuses(came), b"\r\nretry-after: " in came) == ([503], True)
        body = json.dumps({"deviceID": "device", "optInOrOptOut": "IN"}).encode()
        assert server.ask(OPT_IN, {**KEY, **TYPE}, "POST", body).status == 200
        held[0].sendall(bytes(100_000))
        assert statuses(held[0].recv(65536)) == [400]
        assert select.select([*held, begun()], [], [], 0.5) == ([], [], [])


def test_requests_in_a_row_are_answered_in_their_order(server: Server) -> None:
    body = b'{"deviceID":"a","optInOrOptOut":"IN"}'
    post = head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, f"Content-Length: {len(body)}") + body
    get, lost = head(f"GET {PROMOTIONS} HTTP/1.1"), head("GET /nowhere HTTP/1.1")
    last = head(f"OPTIONS {PROMOTIONS} HTTP/1.1", "Connection: close")
    assert statuses(sent(server, post + get + lost + post + get + last)) == [200, 200, 404, 200, 200, 204]


def test_a_client_that_reads_no_answers_is_asked_for_no_more_requests(server: Server) -> None:
    """Else a worker would hold a large answer for each of its small requests."""
    ask = padded(HEAD, "/openapi.json", "Accept: */*")
    with socket.create_connection((ADDRESS, server.port), timeout=3) as client, pytest.raises(TimeoutError):
        client.sendall(500 * ask)
    assert server.ask(PROMOTIONS, KEY).status == 200


# -- messages that two servers may read differently ------------------------------------------------------------

CHUNKED = b"3\r\nabc\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Transfer-Encoding: gzip, chunked") + CHUNKED,
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Transfer-Encoding: gzip", "Transfer-Encoding: chunked") + CHUNKED,
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Transfer-Encoding: gzip") + CHUNKED,
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Transfer-Encoding: chunked", "Content-Length: 3") + CHUNKED,
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Content-Length: 3", "Content-Length: 4") + b"abcd",
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Content-Length: +3") + b"abc",
        head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, "Transfer-Encoding: chunked") + b"zz\r\n",
        head(f"GET {PROMOTIONS} HTTP/1.1", "Host: other.example"),
        head(f"GET {PROMOTIONS} HTTP/1.1", "Host: localhost"),
        head(f"GET {PROMOTIONS} HTTP/1.1", host=""),
        head(f"GET {PROMOTIONS} HTTP/1.1", "X: a", " b"),
        head(f"GET {PROMOTIONS} HTTP/1.1", "X : a"),
        head(f"GET {PROMOTIONS} HTTP/1.1", "X: a\0b"),
        head(f"GET {PROMOTIONS} HTTP/3.0"),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_a_message_that_servers_read_differently_is_refused(server: Server, data: bytes) -> None:
    assert statuses(sent(server, data, 0.5)) == [400]


def test_http_1_0_needs_no_host(server: Server) -> None:
    assert statuses(sent(server, head(f"GET {PROMOTIONS} HTTP/1.0", host=""))) == [200]


@pytest.mark.parametrize(("size", "status"), [(HEAD, 200), (HEAD + 1, 431), (500_000, 431)])
def test_a_head_of_more_than_64_kibibytes_is_refused(server: Server, size: int, status: int) -> None:
    data = padded(size)
    assert len(data) == size
    # It would be 408 when the time for a head is over. Nothing comes where our system resets first.
    assert statuses(sent(server, data)) in ([status], [] if size > 2 * HEAD else [status])


def test_a_head_that_never_ends_is_refused_however_little_comes_at_a_time(server: Server) -> None:
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        client.sendall(f"GET {PROMOTIONS} HTTP/1.1\r\nX: ".encode())
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(70):
                client.sendall(bytes(1024).replace(b"\0", b"a"))
        came = client.recv(65536)
    assert statuses(came) == [431]


@pytest.mark.parametrize(
    ("begun", "more"), [("0\r\n", "a: b\r\n"), ("1;", "ab")], ids=["trailers", "a chunk's extension"]
)
def test_what_surrounds_a_body_and_never_ends_is_cut_off(server: Server, begun: str, more: str) -> None:
    """The parser would hold all of it, and nobody needs a key to send it."""
    endless = more.encode() * (2**26 // len(more))
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        client.sendall(head("POST /nothing HTTP/1.1", "Transfer-Encoding: chunked", key="unknown") + begun.encode())
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            client.sendall(endless)


def test_a_large_body_behind_its_head_is_no_large_head(server: Server) -> None:
    body = b'{"deviceID":"a","optInOrOptOut":"' + b"x" * 300_000 + b'"}'
    length = f"Content-Length: {len(body)}"
    data = head(f"POST {OPT_IN} HTTP/1.1", JSON_TYPE, length, "Connection: close") + body
    assert statuses(sent(server, data)) == [400]


def test_an_upgrade_that_is_not_offered_changes_nothing(server: Server) -> None:
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    first = head(f"GET {PROMOTIONS} HTTP/1.1", *upgrade)
    with socket.create_connection((ADDRESS, server.port), timeout=PATIENCE) as client:
        client.sendall(first)
        came = client.recv(65536)
        time.sleep(0.2)
        client.sendall(head(f"GET {PROMOTIONS} HTTP/1.1", "Connection: close"))
        came += b"".join(iter(lambda: client.recv(65536), b""))
    assert statuses(came) == [200, 200]


def test_who_the_client_is_only_our_own_list_of_proxies_says(tmp_path: Path) -> None:
    """uvicorn would believe X-Forwarded-For from loopback, whatever the list is."""
    rate = {"address": {"most": 1, "minutes": 60}, "application": {"most": 1000, "minutes": 60}}
    out = release_of_writes(tmp_path, limits={"optIns": rate, "logLines": rate, "newBags": rate})
    body = json.dumps({"deviceID": "device", "optInOrOptOut": "IN"}).encode()
    with own_server(tmp_path / "server", out, "--workers", "1", SHOPWINDOW_TRUSTED_PROXIES="198.51.100.0/24") as server:
        clients = [{**KEY, **TYPE, "X-Forwarded-For": f"192.0.2.{number}"} for number in range(2)]
        came = [server.ask(OPT_IN, client, "POST", body).status for client in clients]
    assert came == [200, 429]


def test_a_header_with_an_underscore_is_another_header(server: Server) -> None:
    data = head(
        f"GET {PROMOTIONS} HTTP/1.1", f"X_Svc_Webservice_Client_Id: {PHONE}", "Connection: close", key="unknown"
    )
    assert statuses(sent(server, data)) == [401]


# -- bodies that cost ------------------------------------------------------------------------------------------


def repeated(part: bytes, before: bytes, after: bytes) -> bytes:
    """As much of ``part`` as fits into a body."""
    number = (MIB - len(before) - len(after)) // (len(part) + 1)
    return before + b",".join([part] * number) + after


LINE = b'{"deviceId":"a","platform":"p","logLevel":"INFO","logMessage":"m"}'
COSTLY = {
    "items": ("bag_add", repeated(b'{"upcId":1,"quantity":1}', b'{"item":[', b"]}")),
    "wrong items": ("bag_add", repeated(b'{"upcId":"x"}', b'{"item":[', b"]}")),
    "names": ("bag_add", b"{" + b",".join(b'"n%d":1' % number for number in range(90_000)) + b"}"),
    "levels": ("bag_add", repeated(b'{"upcId":' * 20 + b"1" + b"}" * 20, b'{"item":{"upcId":[', b"]}}")),
    "a wrong line after many": ("mobilelog_batch", repeated(LINE, b'{"entry":[', b',{"deviceId":1}]}')),
    "wrong lines": ("mobilelog_batch", repeated(b'{"deviceId":1}', b'{"entry":[', b"]}")),
    "an unknown list": ("share", repeated(b'{"a":1}', b'{"x":[', b"]}")),
}


READING = {"mobilelog_batch": 80}
"""So many times as long as taking a body's JSON apart it may take; others 5. There is no limit to lines in a body."""


@pytest.mark.parametrize("name", COSTLY)
def test_a_body_of_a_mebibyte_is_refused_in_little_more_than_it_takes_to_read_it(name: str) -> None:
    wanted, data = COSTLY[name]
    operation = next(operation for operation in INTERFACE.operations if operation.name == wanted)
    request = Request("", "", TYPE, "POST", len(data), data)
    schemas = program_schemas()
    schemas.findings(operation.request_schema, {})
    taken, numbers = [], set()
    for _ in range(3):  # the least of them: collecting garbage of other tests takes time, too
        faults: list[Fault] = []
        started = time.thread_time()
        json.loads(data)
        read_at = time.thread_time()
        read(request, operation, schemas, None, faults)
        taken.append((time.thread_time() - read_at) / (read_at - started))
        numbers.add(len(faults))
    assert (numbers <= set(range(1, 52)), min(taken) < READING.get(wanted, 5)) == (True, True)


def test_a_wrong_item_is_named_at_its_own_place() -> None:
    operation = next(operation for operation in INTERFACE.operations if operation.name == "mobilelog_batch")
    lines = [json.loads(LINE) for _ in range(400)]
    lines[77]["platform"] = ""
    lines[399] = {"deviceId": "a"}
    data = json.dumps({"entry": lines}).encode()
    faults: list[Fault] = []
    read(Request("", "", TYPE, "POST", len(data), data), operation, program_schemas(), None, faults)
    assert sorted(str(fault) for fault in faults) == [
        "entry/399/logLevel: is missing",
        "entry/399/logMessage: is missing",
        "entry/399/platform: is missing",
        "entry/77/platform: nothing is written here; allowed: some text",
    ]
