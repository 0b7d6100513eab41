"""Facts about the edge: a real nginx that runs by its rules over a real release."""

import gzip
import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from edge.test_edge_rules import (
    ANDROID,
    HOST,
    IPHONE,
    IPHONE_NEXT,
    KEY_HEADER,
    OTHER_SPELLINGS,
    SAMPLE,
    SCHEMAS,
    changed,
    content,
    out,
    rules_of,
)
from harness import servers
from harness.program import Answer, Content, Releases, built, for_nginx, manifest
from harness.servers import ask, ask_raw
from harness.waits import PATIENCE
from shopwindow.edge.rules import SERVICE_TIMEOUT_SECONDS, Rules, rules
from shopwindow.interface.answering.validators import etag
from shopwindow.shop import INTERFACE

__all__ = ["content", "out"]

ORDERS = "orders.larkspurvane.example"
VARY = "Accept, Accept-Encoding, x-svc-webservice-client-id, Origin"
NO_STORE = {"cache-control": "no-store", "vary": VARY}

Json = Any


@dataclass(frozen=True)
class Edge:
    """A running nginx, and one connection to it."""

    port: int
    connection: HTTPConnection

    def __call__(self, target: str, method: str = "GET", body: bytes | None = None, /, **headers: str) -> Answer:
        """Ask with the iPhone's key on the base host unless told otherwise; `_` in a name stands for `-`."""
        given = {"Host": HOST, KEY_HEADER: IPHONE}
        given |= {KEY_HEADER if name == "key" else name.replace("_", "-"): value for name, value in headers.items()}
        return ask(self.connection, target, {name: value for name, value in given.items() if value}, method, body)


KEYS = {IPHONE: "iphone", IPHONE_NEXT: "iphone", ANDROID: "android"}


@contextmanager
def serving(
    folder: Path, rules: Rules, out: Path, service: str, keys: Mapping[str, str] = KEYS, timeout: int = 20
) -> Iterator[Edge]:
    """An nginx that waits ``timeout`` seconds for the service."""
    servers.required_nginx()
    port = servers.free_port()
    files, listen = out / "current" / "files", f"{servers.ADDRESS}:{port}"
    connection = HTTPConnection(servers.ADDRESS, port, timeout=PATIENCE)
    text = for_nginx(rules, keys, files, service, listen)
    text = text.replace(f"_timeout {SERVICE_TIMEOUT_SECONDS}s;", f"_timeout {timeout}s;")
    with servers.running_nginx(folder, text, port):
        yield Edge(port, connection)
        connection.close()


@pytest.fixture(scope="module")
def edge(out: Path, content: Content, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    """The edge in front of a stand-in for the service, which tells what it was asked."""
    with (
        servers.echo() as service,
        serving(tmp_path_factory.mktemp("nginx"), rules_of(out, content), out, service) as edge,
    ):
        yield edge


@pytest.fixture(scope="module")
def alone(out: Path, content: Content, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    """The edge without a service."""
    nowhere = f"{servers.ADDRESS}:{servers.free_port()}"
    with serving(tmp_path_factory.mktemp("nginx"), rules_of(out, content), out, nowhere) as edge:
        yield edge


def file(out: Path, name: str) -> bytes:
    return (out / "current" / "files" / name).read_bytes()


def served(body: bytes, media_type: str, lifetime: int, **more: str) -> Answer:
    """A file's answer."""
    headers = {
        "content-type": media_type,
        "content-length": str(len(body)),
        "etag": etag(body),
        "cache-control": f"max-age={lifetime}",
        "vary": VARY,
    }
    return Answer(200, headers | {name.replace("_", "-"): value for name, value in more.items()}, body)


def zipped(body: bytes, media_type: str, lifetime: int) -> Answer:
    """The answer that nginx compresses: its length is not known before, and its ETag is the weak form of the file's."""
    plain = served(body, media_type, lifetime)
    headers = {name: value for name, value in plain.headers.items() if name != "content-length"}
    headers |= {"content-encoding": "gzip", "transfer-encoding": "chunked", "etag": f"W/{etag(body)}"}
    return replace(plain, headers=headers)


def unzipped(answer: Answer) -> Answer:
    return replace(answer, body=gzip.decompress(answer.body))


def plain(answer: Answer) -> Answer:
    return unzipped(answer) if "content-encoding" in answer.headers else answer


def error(rules: Rules, code: str, format: str = "json", status: int | None = None, *, own: bool = False) -> Answer:
    """An error's answer; ``own``: in the form of single-use codes."""
    told = next(error for error in (rules.own_errors if own else rules.errors) if error.code == code)
    body = dict(told.bodies)[format].encode()
    headers = {"content-type": f"application/{format}", "content-length": str(len(body)), **NO_STORE}
    challenge = {"www-authenticate": rules.challenge} if code == "no_key" else {}
    return Answer(status or told.status, {**headers, **challenge}, body)


AWKWARD = "https://api.example/a$b'(c)*+;=~&!,%20%22%24%5C%7B%e2%82%ac"
LONG = "https://" + "long-label." * 20 + "example/" + "part/" * 20 + "end"


@pytest.mark.parametrize("listen", ["80", "127.0.0.1:80 default_server reuseport", "[::1]:80", "unix:/tmp/x.sock"])
@pytest.mark.parametrize("base", ["https://api.example", "https://api.example:8443/api", AWKWARD, LONG])
def test_nginx_finds_no_fault_with_a_configuration(content: Content, tmp_path: Path, base: str, listen: str) -> None:
    made = rules(INTERFACE, changed(content, base_url=base, order_base_url="https://api.example/orders"), SCHEMAS)
    files = Path('/srv/a "b" $c \\d/current/files')
    assert servers.tested(tmp_path, for_nginx(made, {}, files, "localhost:1", listen)) == ""


@pytest.mark.parametrize("base", [AWKWARD, LONG, "https://api.example/api"])
def test_a_base_path_is_honoured(content: Content, out: Path, tmp_path: Path, base: str) -> None:
    made = rules(INTERFACE, changed(content, base_url=base), SCHEMAS)
    links = tmp_path / "a $b \\ \"c'"
    links.symlink_to(out)
    path = urlsplit(base).path
    name = "store/v1/events;storeId=301.json"
    with servers.echo() as service, serving(tmp_path / "nginx", made, links, service) as edge:
        assert edge(f"{path}/store/v1/events?storeId=301").body == file(out, name)
        assert edge(f"{path}/v2/utility/mobileapp").body == file(out, "v2/utility/mobileapp/iphone.json")
        for target in ("/store/v1/events?storeId=301", f"{path}/v2/other", f"{path}x/v2/promotions"):
            assert edge(target).told["target"] == target


@pytest.mark.parametrize("format", ["json", "xml"])
def test_an_errors_body_may_hold_anything(content: Content, out: Path, tmp_path: Path, format: str) -> None:
    nasty = '"\'\\ \\n \\" $host ${host} $$1 {};#\n\r\n\té€ </response>'
    made = rules(INTERFACE, content, SCHEMAS)
    errors = tuple(replace(each, bodies=tuple((name, nasty + name) for name, _ in each.bodies)) for each in made.errors)
    made = replace(made, errors=errors)
    with serving(tmp_path, made, out, "127.0.0.1:1") as edge:
        assert edge("/v2/promotions", key="", Accept=f"application/{format}") == error(made, "no_key", format)


# -- files -------------------------------------------------------------------------------------------------------


def test_every_prerendered_file_is_served_byte_for_byte(edge: Edge, out: Path) -> None:
    keys = {None: IPHONE_NEXT, "iphone": IPHONE, "android": ANDROID}
    entries = manifest(out / "current")["files"]
    assert len(entries) > 200
    for entry in entries:
        url = urlsplit(entry["url"])
        target = f"{url.path}?{url.query}" if url.query else url.path
        asked: dict[str, str] = {"key": keys[entry.get("application")], "Accept": entry["mediaType"]}
        body = file(out, entry["path"])
        assert edge(target, **asked) == served(body, entry["mediaType"], entry["lifetime"])
        for more in ({}, {"Via": "1.1 cdn"}):
            answer = edge(target, **asked, Accept_Encoding="gzip, deflate, br", **more)
            if len(body) < 1024:
                assert answer == served(body, entry["mediaType"], entry["lifetime"])
            else:
                assert unzipped(answer) == zipped(body, entry["mediaType"], entry["lifetime"])


@pytest.mark.parametrize(("target", "name"), OTHER_SPELLINGS)
def test_other_spellings_are_served_from_the_one_file(edge: Edge, out: Path, target: str, name: str) -> None:
    assert edge(f"/{target}") == served(file(out, name), "application/json", 300)


def test_the_key_tells_the_application(edge: Edge, out: Path) -> None:
    found = [edge("/v2/utility/mobileapp", key=key).body for key in (IPHONE, IPHONE_NEXT, ANDROID)]
    iphone, android = (file(out, f"v2/utility/mobileapp/{name}.json") for name in ("iphone", "android"))
    assert found == [iphone, iphone, android]


def test_accept_tells_the_format(edge: Edge, out: Path, content: Content) -> None:
    bodies = {name: file(out, f"v2/promotions.{name}") for name in ("json", "xml")}
    for accept, format in rules(INTERFACE, content, SCHEMAS).accepts:
        for spelt in (accept, accept.title()):
            expected = served(bodies[format], f"application/{format}", 300)
            assert edge("/v2/promotions", Accept=spelt) == expected, spelt


def test_answers_say_how_stale_they_may_be(out: Path, content: Content, tmp_path: Path) -> None:
    nowhere = f"{servers.ADDRESS}:{servers.free_port()}"
    caching = "max-age=300, stale-while-revalidate=60, stale-if-error=60"
    with serving(tmp_path, rules_of(out, changed(content, stale=60)), out, nowhere) as edge:
        came = edge("/v2/promotions")
        assert (came.status, came.headers["cache-control"]) == (200, caching)
        assert came.body == file(out, "v2/promotions.json")
        same = edge("/v2/promotions", If_None_Match=came.headers["etag"])
        assert (same.status, same.headers["cache-control"]) == (304, caching)
        assert edge("/v2/nothing").headers["cache-control"] == "no-store"


def test_head_has_the_headers_of_get(edge: Edge, out: Path) -> None:
    body = file(out, "v2/promotions.xml")
    expected = replace(served(body, "application/xml", 300), body=b"")
    assert edge("/v2/promotions", "HEAD", Accept="application/xml") == expected


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("known", ["{}", "W/{}", '"other", {}', "*"])
def test_who_has_the_file_already_is_told_so(edge: Edge, out: Path, method: str, known: str) -> None:
    tag = etag(file(out, "v2/promotions.json"))
    headers = {"etag": tag, "cache-control": "max-age=300", "vary": VARY}
    for encoding in ("", "gzip"):
        asked = {"If_None_Match": known.format(tag), "Accept_Encoding": encoding}
        assert edge("/v2/promotions", method, **asked) == Answer(304, headers, b"")


def test_who_has_the_compressed_file_already_is_told_so(edge: Edge, out: Path) -> None:
    compressed = edge("/v2/promotions", Accept_Encoding="gzip")
    assert unzipped(compressed) == zipped(file(out, "v2/promotions.json"), "application/json", 300)
    for encoding in ("gzip", ""):
        asked = {"If_None_Match": compressed.headers["etag"], "Accept_Encoding": encoding}
        assert edge("/v2/promotions", **asked).status == 304


@pytest.mark.parametrize(
    "asked",
    [
        {"If_None_Match": '"other"'},
        {"If_Modified_Since": "Tue, 19 Jan 2038 03:14:07 GMT"},
        {"Range": "bytes=0-9"},
        {"Range": "bytes=999999-"},
    ],
)
def test_dates_and_ranges_mean_nothing(edge: Edge, out: Path, asked: dict[str, str]) -> None:
    assert edge("/v2/promotions", **asked) == served(file(out, "v2/promotions.json"), "application/json", 300)


# -- keys at the edge --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", "x" * 24, IPHONE.lower(), IPHONE.swapcase(), IPHONE[:-1], f"{IPHONE}, {ANDROID}"])
@pytest.mark.parametrize(
    "target", ["/v2/promotions", "/v2/utility/mobileapp", "/", "/.shopwindow/service", "/v9?callback"]
)
@pytest.mark.parametrize("accept", ["", "application/json", "application/xml", "text/plain"])
def test_an_unknown_key_is_refused(edge: Edge, content: Content, key: str, target: str, accept: str) -> None:
    expected = error(rules(INTERFACE, content, SCHEMAS), "no_key", "xml" if accept == "application/xml" else "json")
    assert edge(target, key=key, Accept=accept) == expected
    assert edge(target, "HEAD", key=key, Accept=accept) == replace(expected, body=b"")


@pytest.mark.parametrize(
    "key",
    [f"iphone {IPHONE}", f"iphone {IPHONE} {IPHONE}", f"~^{IPHONE}", ".*", "default", "$shopwindow_known", '"', "\\"],
)
def test_no_key_is_read_as_anything_but_a_key(edge: Edge, content: Content, key: str) -> None:
    assert edge("/v2/promotions", key=key) == error(rules(INTERFACE, content, SCHEMAS), "no_key")


def test_a_second_key_opens_nothing(edge: Edge, content: Content) -> None:
    line = f"{KEY_HEADER}: {{}}\r\n".format
    head = f"GET /v2/promotions HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n"
    answer = ask_raw(edge.port, f"{head}{line('x' * 24)}{line(IPHONE)}\r\n".encode())
    assert answer == error(rules(INTERFACE, content, SCHEMAS), "no_key")


def test_keys_that_differ_in_case_alone_are_different_keys(content: Content, out: Path, tmp_path: Path) -> None:
    keys = {IPHONE: "iphone", IPHONE.swapcase(): "android", ANDROID: "android"}
    with serving(tmp_path, rules(INTERFACE, content, SCHEMAS), out, "127.0.0.1:1", keys) as edge:
        found = [edge("/v2/utility/mobileapp", key=key).body for key in keys]
        iphone, android = (file(out, f"v2/utility/mobileapp/{name}.json") for name in ("iphone", "android"))
        assert found == [iphone, android, android]
        assert edge("/v2/utility/mobileapp", key=IPHONE.lower()).status == 401


# -- what goes to the service ------------------------------------------------------------------------------------

PASSED_ON: tuple[tuple[str, str, dict[str, str]], ...] = (
    *((method, "/v2/promotions", {"key": ""}) for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE")),
    ("GET", "/v2/promotions", {"key": "", "Origin": "https://www.larkspurvane.example"}),
    ("HEAD", "/v2/promotions", {"key": "", "Origin": "null"}),
    ("GET", "/v2/promotions", {"Origin": "https://www.larkspurvane.example"}),
    ("GET", "/v2/promotions", {"key": "", "Host": ORDERS}),
    ("GET", "/v2/promotions", {"Host": ORDERS}),
    ("GET", "/v2/promotions", {"Host": f"{ORDERS.upper()}:8443"}),
    ("POST", "/order/v3/supc/expire?a=%2F&b=//", {"Host": ORDERS, "key": "no"}),
    ("GET", "/v2/promotions", {"Accept": "text/html"}),
    ("GET", "/v2/promotions", {"Accept": "application/xml;q=0.9, application/json"}),
    ("GET", "/v2/promotions?callback=show", {}),
    ("GET", "/v2/promotions?", {}),
    ("GET", "/v3/promotions?show=promotions&promoid=1", {}),
    ("GET", "/store/v1/events?storeId=301&startDate=2026-12-01", {}),
    ("GET", "/store/v1/events?storeId=302,301", {}),
    ("GET", "/store/v1/events?storeId=999999", {}),
    ("HEAD", "/store/v1/events?storeId=999999", {"Accept": "application/xml"}),
    ("GET", "/store/v2/stores/999999", {}),
    ("GET", "/v2/utility/mobilelog", {}),
    ("GET", "/nothing/here", {}),
    ("GET", "/", {}),
    ("GET", "/v2/promotions", {"If-Match": '"other"'}),
    ("GET", "/v2/promotions", {"If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}),
)


@pytest.mark.parametrize(("method", "target", "headers"), PASSED_ON)
def test_what_is_not_the_edges_to_answer_goes_to_the_service(
    edge: Edge, method: str, target: str, headers: dict[str, str]
) -> None:
    answer = edge(target, method, **headers)
    assert (answer.status, answer.headers["service"]) == (203, "yes")
    assert answer.headers.keys() == {"service", "content-length"}
    if method != "HEAD":
        assert (answer.told["method"], answer.told["target"]) == (method, target)


def test_the_service_is_told_who_asks_and_whom(edge: Edge) -> None:
    asked = {
        "X-Request-Id": "r-1",
        "Accept": "text/html",
        "Host": f"{HOST}:8443",
        "X_Forwarded_For": "192.0.2.1",
        "Cookie": "supc=1",
    }
    headers = edge("/v2/promotions", "POST", b"x" * 1_900_000, **asked)
    assert headers.told["length"] == 1_900_000
    assert headers.told["headers"] == {
        "host": f"{HOST}:8443",
        "x-forwarded-for": f"192.0.2.1, {servers.ADDRESS}",
        "x-forwarded-proto": "http",
        "x-request-id": "r-1",
        "content-length": "1900000",
        "accept": "text/html",
        "cookie": "supc=1",
        KEY_HEADER: IPHONE,
    }


def test_every_answer_has_the_requests_id(edge: Edge) -> None:
    def id_of(target: str, key: str, given: str, **more: str) -> tuple[int, str]:
        headers = {KEY_HEADER: key, "Host": HOST, **({"X-Request-Id": given} if given else {}), **more}
        with closing(HTTPConnection(servers.ADDRESS, edge.port, timeout=PATIENCE)) as connection:
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            return response.status, response.headers["X-Request-Id"] or json.loads(response.read())["headers"][NAME]

    asked = [("/v2/promotions", IPHONE, {}, 200), ("/v2/promotions", IPHONE, {"If-None-Match": "*"}, 304)]
    asked += [("/v2/promotions", "x", {}, 401), ("/v2/promotions?promoid=1,2", IPHONE, {}, 203)]
    for target, key, more, status in asked:
        for given in ("7", "checkout-17", "a" * 128):
            assert id_of(target, key, given, **more) == (status, given)
        for odd in ("", "a b", "-x", "a" * 129):
            came, id = id_of(target, key, odd, **more)
            assert (came, re.fullmatch("[0-9a-f]{32}", id) is not None) == (status, True), id


NAME = "x-request-id"


def test_a_client_that_waits_to_be_asked_for_the_body_is_asked(edge: Edge) -> None:
    head = f"POST /v2/x HTTP/1.1\r\nHost: {HOST}\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n"
    assert ask_raw(edge.port, f"{head}\r\n{{}}".encode()).status == 100


def test_a_request_without_a_host_reaches_the_service_with_one(edge: Edge) -> None:
    answer = ask_raw(edge.port, f"GET /v2/promotions? HTTP/1.0\r\n{KEY_HEADER}: {IPHONE}\r\n\r\n".encode())
    assert answer.told["headers"]["host"] == HOST


NOT_SPELT_SO = (
    "/v2/promotions/",
    "/v2//promotions",
    "//v2/promotions",
    "/v2/./promotions",
    "/v2/x/../promotions",
    "/%76%32/promotions",
    "/v2%2Fpromotions",
    "/V2/promotions",
    "/v2/promotions.json",
    "/v2/promotions#x",
    "/v2/promotions%3F",
    "/store/v2/stores/../../../manifest.json",
    "/store/v2/stores/..%2f..%2f..%2fmanifest.json",
    "/store/v2/stores/..%5c..%5cmanifest.json",
    "/store/v2/stores/0301",
    "/store/v2/stores/10118%0a",
    "/store/v1/events?storeId=../../../manifest",
    "/store/v1/events?storeId=301%00",
    "/store/v1/events;storeId=301.json",
    "/.shopwindow/max-age=300/v2/promotions.json",
    "/.shopwindow//max-age=300/../max-age=300/v2/promotions.json",
    "/.shopwindow/max-age=300/../../content.json",
    "/.shopwindow/service",
    "/.shopwindow/no-key",
    "/.shopwindow/error.json",
    "/files/v2/promotions.json",
    "/manifest.json",
)


@pytest.mark.parametrize("target", NOT_SPELT_SO)
def test_nothing_but_the_literal_spelling_leads_to_a_file(edge: Edge, target: str) -> None:
    request = f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n{KEY_HEADER}: {IPHONE}\r\nConnection: close\r\n\r\n"
    answer = ask_raw(edge.port, request.encode())
    assert answer.told["target"] == target


# -- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accept", ["application/json", "application/xml", "text/html", ""])
def test_without_a_service_the_edge_says_so_and_serves_files(
    alone: Edge, content: Content, out: Path, accept: str
) -> None:
    format = "xml" if accept == "application/xml" else "json"
    expected = error(rules(INTERFACE, content, SCHEMAS), "unavailable", format)
    assert alone("/v2/utility/mobilelog", Accept=accept) == expected
    assert alone("/v2/utility/mobilelog", "POST", b"{}", key="", Accept=accept) == expected
    assert alone("/v2/promotions", Accept=accept, Origin="https://x.example") == expected
    assert alone("/store/v1/events?storeId=999999", Accept=accept) == expected
    assert alone("/v2/promotions").body == file(out, "v2/promotions.json")


@pytest.mark.parametrize("format", ["json", "xml"])
@pytest.mark.parametrize(
    ("said", "code"), [(b"", "bad_gateway"), (b"HTTP/1.1 200 OK\r\n\x00\r\n\r\n", "bad_gateway"), (None, "timeout")]
)
def test_a_service_that_fails_is_told_apart_from_none(
    content: Content, out: Path, tmp_path: Path, said: bytes | None, code: str, format: str
) -> None:
    made = rules(INTERFACE, content, SCHEMAS)
    patience = 1 if said is None else 20
    with servers.mute(said) as service, serving(tmp_path, made, out, service, timeout=patience) as edge:
        assert edge("/v2/utility/mobilelog", Accept=f"application/{format}") == error(made, code, format)


def head(line: str = "GET /v2/promotions HTTP/1.1", *headers: str) -> bytes:
    return "\r\n".join((line, f"Host: {HOST}", *headers, "", "")).encode()


REFUSED: dict[str, tuple[bytes, str, str, int]] = {
    "body too large": (head("POST /v2/x HTTP/1.1", "Content-Length: 2097153"), "too_large", "json", 413),
    "body too large, XML": (
        head("POST /v2/x HTTP/1.1", "Content-Length: 2097153", "Accept: application/xml"),
        "too_large",
        "xml",
        413,
    ),
    "path too long": (head(f"GET /{'a' * 20_000} HTTP/1.1"), "uri_too_long", "json", 414),
    "query too long": (head(f"GET /v2/promotions?{'a' * 20_000} HTTP/1.1"), "uri_too_long", "json", 414),
    "header too large": (head("GET / HTTP/1.1", f"X: {'a' * 20_000}"), "invalid", "json", 400),
    "header too large, XML": (
        head("GET / HTTP/1.1", "Accept: application/xml", f"X: {'a' * 20_000}"),
        "invalid",
        "xml",
        400,
    ),
    "headers too large": (head("GET / HTTP/1.1", *[f"X: {'a' * 15_000}"] * 5), "invalid", "json", 400),
    "no request": (b"what?\r\n\r\n", "invalid", "json", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", "invalid", "json", 400),
    "two hosts": (head("GET / HTTP/1.1", "Host: b"), "invalid", "json", 400),
    "a control character": (head("GET / HTTP/1.1", "X\x01: y"), "invalid", "json", 400),
    "a path above the root": (head("GET /../x HTTP/1.1"), "invalid", "json", 400),
    "a path with NUL": (head("GET /v2/promotions%00 HTTP/1.1"), "invalid", "json", 400),
    "a malformed escape": (head("GET /%zz HTTP/1.1"), "invalid", "json", 400),
    "an unknown coding": (head("POST / HTTP/1.1", "Transfer-Encoding: x"), "invalid", "json", 501),
    "an unknown version": (head("GET / HTTP/9.9"), "invalid", "json", 505),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_nginx_refuses_itself_has_our_form(edge: Edge, content: Content, case: str) -> None:
    sent, code, format, status = REFUSED[case]
    assert ask_raw(edge.port, sent) == error(rules(INTERFACE, content, SCHEMAS), code, format, status)


def test_headers_of_15_kilobytes_and_bodies_of_2_megabytes_pass(edge: Edge) -> None:
    assert edge(f"/v2/promotions?{'a' * 15_000}", X=f"{'a' * 15_000}").status == 203
    assert edge("/v2/x", "POST", b"x" * 2 * 1024 * 1024).told["length"] == 2 * 1024 * 1024


# -- the order host ----------------------------------------------------------------------------------------------

SUPC = "/v3/order/supc"


def own(status: int, reason: str, format: str) -> Answer:
    """A failure of the operation on single-use codes, by hand."""
    message = f"Error processing request: {reason}"
    body = f'{{"success":false,"errorMessage":"{message}","errorCode":{status}}}'
    if format == "xml":
        inner = f"<success>false</success><errorMessage>{message}</errorMessage><errorCode>{status}</errorCode>"
        body = f"<?xml version='1.0' encoding='UTF-8'?>\n<response>{inner}</response>"
    return Answer(
        status,
        {"content-type": f"application/{format}", "content-length": str(len(body)), **NO_STORE},
        body.encode(),
    )


@dataclass(frozen=True)
class Layout:
    """Where the order host is: settings of site.yaml, the Host that is asked for, the path before the operation's."""

    base_url: str
    order_base_url: str
    host: str
    path: str = ""


LAYOUTS = {
    "a host of its own": Layout("https://a.example", "https://orders.example", "orders.example"),
    "a host and a path": Layout("https://a.example/api", "https://orders.example/o", "orders.example", "/o"),
    "a path": Layout("https://a.example/api", "https://a.example/orders", "a.example", "/orders"),
    "a path below": Layout("https://a.example", "https://a.example/orders", "a.example", "/orders"),
    "the same URL": Layout("https://a.example/api", "https://a.example/api", "a.example", "/api"),
    "a port": Layout("https://a.example", "https://a.example:8443", "a.example"),
}


@pytest.fixture(scope="module", params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    return LAYOUTS[request.param]


def laid_out(content: Content, layout: Layout) -> Rules:
    return rules(INTERFACE, changed(content, base_url=layout.base_url, order_base_url=layout.order_base_url), SCHEMAS)


def fails(edge: Edge, layout: Layout) -> None:
    for end, format in (("", "json"), ("/", "xml"), ("?x=1", "json")):
        asked = {"Host": layout.host, "Accept": f"application/{format}"}
        assert edge(f"{layout.path}{SUPC}{end}", "PUT", b"{}", **asked) == own(500, "SYSTEM_ERROR", format)


def test_a_service_that_hangs_up_is_a_system_error_to_single_use_codes(
    content: Content, out: Path, tmp_path: Path, layout: Layout
) -> None:
    with servers.mute(b"") as service, serving(tmp_path, laid_out(content, layout), out, service) as edge:
        fails(edge, layout)


def test_a_service_that_says_nothing_is_a_system_error_to_single_use_codes(
    content: Content, out: Path, tmp_path: Path
) -> None:
    """Every layout at once, for nginx waits 3 s in each."""
    with servers.mute(None) as service, ExitStack() as stack, ThreadPoolExecutor(len(LAYOUTS)) as pool:
        edges = {}
        for number, (name, layout) in enumerate(LAYOUTS.items()):
            made = laid_out(content, layout)
            edges[name] = stack.enter_context(serving(tmp_path / str(number), made, out, service, timeout=1))
        for failing in [pool.submit(fails, edge, LAYOUTS[name]) for name, edge in edges.items()]:
            failing.result()


def test_the_order_host_goes_to_the_service_and_what_nginx_refuses_has_the_form_of_single_use_codes(
    content: Content, out: Path, tmp_path: Path, layout: Layout
) -> None:
    path = f"{layout.path}{SUPC}"
    with servers.echo() as service, serving(tmp_path, laid_out(content, layout), out, service) as edge:
        for method in ("PUT", "GET", "DELETE", "OPTIONS", "TRACE"):
            told = edge(path, method, Host=layout.host, key="").told
            assert (told["method"], told["target"], told["headers"]["host"]) == (method, path, layout.host)
        for format in ("json", "xml"):
            lines = (f"Host: {layout.host}", f"Accept: application/{format}", "Content-Length: 2097153", "", "")
            sent = "\r\n".join((f"PUT {path} HTTP/1.1", *lines)).encode()
            assert ask_raw(edge.port, sent) == own(413, "body: is larger than this host takes", format)
        base = urlsplit(layout.base_url).path
        other = (f"Host: {urlsplit(layout.base_url).hostname}", "Content-Length: 2097153", "", "")
        sent = "\r\n".join((f"PUT {base}/v2/x HTTP/1.1", *other)).encode()
        assert ask_raw(edge.port, sent) == error(laid_out(content, layout), "too_large")


def test_on_a_host_of_its_own_a_malformed_request_has_that_form_too(
    content: Content, out: Path, tmp_path: Path
) -> None:
    layout = LAYOUTS["a host of its own"]
    with servers.echo() as service, serving(tmp_path, laid_out(content, layout), out, service) as edge:
        for line in ("X\x01: y", "Transfer-Encoding: x", f"X: {'a' * 20_000}"):
            sent = "\r\n".join((f"PUT {SUPC} HTTP/1.1", f"Host: {layout.host}", line, "", "")).encode()
            assert ask_raw(edge.port, sent) == own(
                400, "head: the request line or a header is malformed or too large", "json"
            )


@pytest.mark.parametrize("listen", ["80", "127.0.0.1:80 default_server reuseport", "[::1]:80 ipv6only=on", "8443"])
def test_nginx_finds_no_fault_with_two_servers_of_an_address(
    content: Content, tmp_path: Path, layout: Layout, listen: str
) -> None:
    written = for_nginx(laid_out(content, layout), {}, Path("/files"), "localhost:1", listen)
    assert servers.tested(tmp_path, written) == ""


# -- release switches --------------------------------------------------------------------------------------------


@pytest.fixture
def twice(tmp_path: Path) -> tuple[Path, str, str]:
    """Two releases, the later one current. In texts of equal length their applications and promotions differ."""
    source, out = Path(shutil.copytree(SAMPLE, tmp_path / "content")), tmp_path / "dist"
    for path in [*source.glob("apps/*.yaml"), *source.glob("promotions/*.yaml")]:
        path.write_text(re.sub('(configVersion: "|promotionName: ).', r"\g<1>9", path.read_text()))
    first = built(source, out)
    shutil.rmtree(source)
    shutil.copytree(SAMPLE, source)
    return out, first, built(source, out)


def switch(out: Path, id: str, action: str) -> None:
    releases = Releases(out)
    with releases.lock():
        releases.activate(id, action, "test", datetime.now(UTC))


def test_a_changed_file_of_the_same_size_is_never_taken_for_the_old_one(
    twice: tuple[Path, str, str], content: Content, tmp_path: Path
) -> None:
    out, first, second = twice
    old, new = ((out / "releases" / id / "files" / "v2/promotions.json").read_bytes() for id in (first, second))
    assert (len(old), old != new) == (len(new), True)
    with serving(tmp_path / "nginx", rules(INTERFACE, content, SCHEMAS), out, "127.0.0.1:1") as edge:
        switch(out, first, "rollback")
        assert edge("/v2/promotions", If_None_Match=etag(old)).status == 304
        assert edge("/v2/promotions", If_None_Match=etag(new)) == served(old, "application/json", 300)
        switch(out, second, "switch")
        assert edge("/v2/promotions", If_None_Match=etag(old)) == served(new, "application/json", 300)
        assert edge("/v2/promotions", If_None_Match=etag(new)).status == 304


def load(
    edge: Edge, asked: Callable[[], tuple[str, dict[str, str]]], stop: threading.Event, seen: list[Answer]
) -> None:
    """Ask until told to stop, on a connection of its own."""
    mine = replace(edge, connection=HTTPConnection(servers.ADDRESS, edge.port, timeout=PATIENCE))
    while not stop.is_set():
        target, headers = asked()
        seen.append(mine(target, **headers))
    mine.connection.close()


def test_a_switch_and_a_rollback_under_load_fail_no_answer_and_mix_none(
    twice: tuple[Path, str, str], content: Content, tmp_path: Path
) -> None:
    out, first, second = twice
    names = {"/v2/utility/mobileapp": "v2/utility/mobileapp/iphone.json", "/v2/promotions": "v2/promotions.json"}
    whole = {(out / "releases" / id / "files" / name).read_bytes() for id in (first, second) for name in names.values()}
    asked = cycle([(target, {"Accept_Encoding": encoding}) for target in names for encoding in ("", "gzip")])
    stop, seen = threading.Event(), [[] for _ in range(4)]  # type: tuple[threading.Event, list[list[Answer]]]

    def answers() -> list[Answer]:
        return [answer for mine in seen for answer in mine]

    def bodies() -> set[bytes]:
        return {plain(answer).body for answer in answers()}

    with serving(tmp_path / "nginx", rules(INTERFACE, content, SCHEMAS), out, "127.0.0.1:1") as edge:
        threads = [threading.Thread(target=load, args=(edge, asked.__next__, stop, mine)) for mine in seen]
        for thread in threads:
            thread.start()
        begin = time.monotonic()
        while time.monotonic() < begin + 1 or (bodies() != whole and time.monotonic() < begin + PATIENCE):
            switch(out, first, "rollback")
            switch(out, second, "switch")
        stop.set()
        for thread in threads:
            thread.join()
    assert {answer.status for answer in answers()} == {200}
    assert bodies() == whole
    assert {"content-encoding" in answer.headers for answer in answers()} == {False, True}
    assert {answer.headers["etag"].removeprefix("W/") == etag(plain(answer).body) for answer in answers()} == {True}
