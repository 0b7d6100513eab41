"""`shopwindow serve`: releases switched under load, draining, the admin address, the access log, other servers."""

import json
import os
import shutil
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from catalog.test_catalog_content import FILES, SMALL
from facts.conformance import AT, CODES, OLD_TABLET, PHONE, TABLET, documents, error, json_bytes, xml
from harness.catalogs import CATALOG
from harness.content import app, as_content, as_value, edit, small, write_files
from harness.content import write as write_documents
from harness.program import Answer, Releases, Watch, built, called, current, point, served, shopwindow
from harness.run import apart, made_by
from harness.servers import (
    ADDRESS,
    AS_INSTALLED,
    Server,
    ask,
    ask_raw,
    free_port,
    metric,
    own_server,
    printed,
    running,
)
from harness.waits import PATIENCE, awaited
from shopwindow import library
from shopwindow.cli import main
from shopwindow.cli.service import serve
from shopwindow.interface.answering.answer import Response
from shopwindow.interface.formats import accepted_formats
from shopwindow.problems import Failure
from shopwindow.release.verify import require_intact
from shopwindow.service.message import MAX_BODY
from shopwindow.service.serving import CacheKey, Exchange, ResponseCache
from shopwindow.service.wsgi import MAX_UNWANTED
from shopwindow.shop import INTERFACE

KEY = {"x-svc-webservice-client-id": PHONE}
CONFIGURATION, PROMOTIONS = "/v2/utility/mobileapp", "/v2/promotions"


@pytest.fixture(scope="module")
def server(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two workers that serve them."""
    with own_server(tmp_path_factory.mktemp("server"), out, "--workers", "2", **AS_INSTALLED) as server:
        yield server


# -- switches ----------------------------------------------------------------------------------------------------


def test_a_key_is_withdrawn_by_a_release(tmp_path: Path) -> None:
    content, out = write_files(tmp_path / "content", documents()), tmp_path / "dist"
    built(content, out)
    with own_server(tmp_path / "server", out, "--workers", "1") as server:

        def statuses() -> list[int]:
            keys = (PHONE, TABLET, OLD_TABLET)
            return [server.ask(PROMOTIONS, {"x-svc-webservice-client-id": key}).status for key in keys]

        assert statuses() == [200, 200, 200]
        tablet = json.loads(documents()["apps/tablet.yaml"])
        write_documents(content, {"apps/tablet.yaml": {**tablet, "apiKeys": tablet["apiKeys"][:1]}})
        built(content, out)
        awaited(lambda: statuses() == [200, 200, 401])


@apart
def test_a_release_that_cannot_be_loaded_leaves_the_old_one(tmp_path: Path) -> None:
    content, out = write_documents(tmp_path / "content", small()), tmp_path / "dist"
    first = built(content, out)
    said: list[str] = []
    watch = Watch(out, INTERFACE, report=said.append)
    write_documents(content, {"apps/phone.yaml": app("phone", configVersion="9")})
    second = built(content, tmp_path / "elsewhere")
    damaged = out / "releases" / second
    damaged.mkdir()
    (damaged / "content.json").write_text('{"format":')
    Releases(out).link.unlink()
    Releases(out).link.symlink_to(f"releases/{second}")
    awaited(lambda: bool(said))
    serving = watch()
    assert (serving is not None and serving.id, len(said), current(out)) == (first, 1, second)


def test_a_release_that_is_not_yet_whole_is_served_once_it_is_and_readiness_tells_which_one_is(tmp_path: Path) -> None:
    content, made, out = write_documents(tmp_path / "content", small()), tmp_path / "made", tmp_path / "dist"
    ids = [built(content, made)]
    write_documents(content, {"apps/phone.yaml": app("phone", configVersion="9")})
    ids.append(built(content, made))
    out.mkdir()

    def readiness(server: Server) -> tuple[int, dict[str, Any]]:
        came = server.told("/readyz")
        return came.status, json.loads(came.body)

    def behind(server: Server) -> str:
        answer: str = json.loads(server.told("/checks/release").body)["fault"]
        return answer

    def fault(id: str) -> str:
        with pytest.raises(Failure) as raised:
            require_intact(Releases(out), id)
        return str(raised.value)

    def copy(id: str) -> None:
        shutil.copytree(made / "releases" / id, out / "copy")
        (out / "releases").mkdir(exist_ok=True)
        (out / "copy").rename(out / "releases" / id)

    def said(server: Server) -> int:
        return server.err.read_text().count("cannot be served")

    point(out, ids[0])
    with own_server(tmp_path / "server", out, "--workers", "2") as server:
        assert (readiness(server), behind(server)) == ((503, {"ready": False, "id": ""}), fault(ids[0]))
        awaited(lambda: said(server) == 2)
        copy(ids[0])
        awaited(lambda: 'shopwindow_workers{state="current"} 2.0' in server.told("/metrics").body.decode())
        point(out, ids[1])
        awaited(lambda: behind(server) == fault(ids[1]))
        assert readiness(server) == (200, {"ready": True, "id": ids[0]})
        awaited(lambda: said(server) == 4)  # the workers look at different moments
        copy(ids[1])
        awaited(lambda: readiness(server) == (200, {"ready": True, "id": ids[1]}))
        assert said(server) == 4  # of each once a worker, however often it was tried


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not list what a process has open")
@apart
def test_a_release_that_was_left_is_let_go(tmp_path: Path) -> None:
    content, out = write_files(tmp_path / "content", SMALL), tmp_path / "dist"
    ids = [built(content, out)]
    edit(content, (FILES["products"], "price: {regular: 150}", "price: {regular: 140}"))
    ids.append(built(content, out))
    watch = Watch(out, INTERFACE)

    def opened() -> list[str]:
        """The releases whose catalogs this process has open, an entry each time."""
        found = []
        for number in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):
                found.append(Path(os.readlink(f"/proc/self/fd/{number}")))
        return [path.parent.name for path in found if path.name == CATALOG.file and path.is_relative_to(out)]

    def alone(id: str) -> bool:
        return (serving := watch()) is not None and serving.id == id and opened() == [id]

    for id in ids * 2:
        point(out, id)
        awaited(partial(alone, id), lambda: opened())


def test_before_there_is_a_release_the_answer_is_503_and_then_it_serves(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    body = {
        "errorCode": 202,
        "message": "The service is not available",
        "errorDetail": ["service: no release is being served yet"],
        "success": False,
    }
    headers = {"cache-control": "no-store", "vary": "Accept, Accept-Encoding"}
    with own_server(tmp_path / "server", out, "--workers", "2") as server:
        for accept, said in (("application/json", json_bytes(body)), ("application/xml", xml(body, "response"))):
            typed = {"content-type": accept, **headers, "content-length": str(len(said))}
            assert server.ask(PROMOTIONS, {**KEY, "accept": accept}) == Answer(503, typed, said)
        ready = server.told("/readyz")
        is_ready, health = json.loads(ready.body), server.told("/healthz")
        assert (ready.status, is_ready, health.status) == (503, {"ready": False, "id": ""}, 200)
        built(write_files(tmp_path / "content", documents()), out, at=AT)
        awaited(lambda: all(server.ask(PROMOTIONS, KEY).status == 200 for _ in range(12)))
        awaited(lambda: server.told("/readyz").status == 200)  # the twelve may have been one worker's


# -- the cache ----------------------------------------------------------------------------------------------------


def answered(size: int) -> Exchange:
    return Exchange(Response(200, "application/json", bytes(size)), "promotions_v2", "phone")


def test_a_cache_stays_within_its_limit_by_dropping_the_oldest() -> None:
    cache, limit = ResponseCache(100_000), 100_000
    keys = [CacheKey(PROMOTIONS, f"promoid={number}", "json json", "phone") for number in range(100)]
    for key in keys:
        cache.add(key, answered(2000))
    known = [key for key in keys if cache.get(key)]
    assert (known, limit * 0.7 < len(known) * 2000 < limit) == (keys[-len(known) :], True)
    last = CacheKey(PROMOTIONS, "", "json json", "phone")
    cache.add(last, answered(limit // 16))
    assert [key for key in keys if cache.get(key)] == known
    assert cache.get(last) is None


def test_a_cached_response_is_looked_up_by_the_formats_that_accept_asks_for() -> None:
    accepts = {None: "json json", "*/*": "json json", f"application/json;x={'y' * 15_000}": "json json"}
    accepts |= {"text/html": "- -", "application/xml, application/json;q=0.5": "xml xml"}
    accepts |= {"application/*;q=0.1, application/xml;q=0.2": "xml xml", "text/javascript": "- json"}
    accepts |= {"text/javascript, application/xml;q=0.5": "xml json"}
    assert {accept: accepted_formats(accept).name for accept in accepts} == accepts


# -- the end -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_it_ends_and_leaves_nothing_behind(out: Path, tmp_path: Path, ended: signal.Signals) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with own_server(tmp_path / "server", out, "--workers", "1", TMPDIR=str(temporary)) as server:
        assert len(metrics_of(server)) == 1
        server.process.send_signal(ended)
        assert (server.process.wait(PATIENCE), list(temporary.iterdir()), metrics_of(server)) == (0, [], [])
        assert "Killing" not in server.out.read_text() + server.err.read_text()


def metrics_of(server: Server) -> list[Path]:
    """The folder of a service's metrics, where it lies in memory."""
    return made_by(server.process.pid)


SECOND = timedelta(seconds=1)
"""To which ages and the times of builds may be rounded."""


# -- the admin address -------------------------------------------------------------------------------------------


def test_health_and_readiness(server: Server, out: Path) -> None:
    assert server.told("/healthz").body == b"ok\n"
    ready = server.told("/readyz")
    assert (ready.status, json.loads(ready.body)) == (200, {"ready": True, "id": current(out)})
    assert [server.told(path).status for path in ("/", "/healthz/", "/v2/promotions")] == [404, 404, 404]


def test_connections_on_which_nothing_comes_keep_no_one_from_the_admin_address(server: Server) -> None:
    with ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection((ADDRESS, server.admin), timeout=PATIENCE)) for _ in range(3)
        ]
        idle[0].sendall(b"GET /healthz HT")
        assert [server.told(path).status for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3
    assert "Traceback" not in server.err.read_text()


def test_the_admin_address_may_be_of_ip_version_6(tmp_path: Path, out: Path) -> None:
    try:
        port = free_port(address="::1")
    except OSError:
        pytest.skip("the system has no loopback of IP version 6")
    with own_server(tmp_path / "server", out, "--workers", "1", "--admin", f"[::1]:{port}"):
        connection = HTTPConnection("::1", port, timeout=PATIENCE)
        assert ask(connection, "/healthz", {}).body == b"ok\n"
        connection.close()


def test_the_public_address_says_whether_it_is_ready_and_no_more(server: Server, out: Path) -> None:
    health, ready = server.ask("/healthz"), server.ask("/readyz")
    assert (health.status, health.body) == (200, b"ok\n")
    assert (ready.status, json.loads(ready.body)) == (200, {"ready": True, "id": current(out)})
    assert [server.ask(path, KEY).status for path in ("/metrics", "/checks")] == [404, 404]


def test_what_comes_through_a_proxy_is_not_told_whether_it_is_ready(server: Server) -> None:
    forwarded = {"X-Forwarded-For": "192.0.2.1"}
    statuses = [server.ask(path, {**key, **forwarded}).status for path in ("/healthz", "/readyz") for key in ({}, KEY)]
    assert statuses == [401, 404] * 2


def test_metrics_count_the_requests_of_all_workers(tmp_path: Path, out: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "2") as server:
        awaited(lambda: len(server.workers()) == 2)
        for _ in range(60):  # a connection each, so that both workers answer
            assert server.ask(PROMOTIONS, KEY).status == 200
        server.ask("/store/v1/events", KEY)
        server.ask("/nowhere", KEY)
        server.ask(PROMOTIONS)
        server.ask(PROMOTIONS, KEY, "POST")
        served = server.workers()
        counted = {
            ("promotions_v2", "200"): 60.0,
            ("events_v1", "400"): 1.0,
            ("none", "404"): 1.0,
            ("none", "401"): 1.0,
            ("none", "405"): 1.0,
        }
        name = "shopwindow_requests_total"

        def found() -> dict[tuple[str, str], float | None]:
            return {pair: metric(server, name, operation=pair[0], status=pair[1]) for pair in counted}

        def timed() -> float | None:
            return metric(server, "shopwindow_request_seconds_count", operation="promotions_v2")

        awaited(lambda: (found(), timed()) == (counted, 60))
        info = metric(server, "shopwindow_release_info", id=current(out))
    assert (info, len(served)) == (1, 2)


def test_a_release_past_its_next_change_is_overdue(tmp_path: Path) -> None:
    content, out = write_files(tmp_path / "content", documents()), tmp_path / "dist"
    built(content, out, at="2020-01-01T12:00:00Z")  # a Wednesday: Monday the 6th begins another week
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        before = datetime.now(UTC)
        overdue = metric(server, "shopwindow_release_overdue_seconds")
        after = datetime.now(UTC)
        asked = datetime(2020, 1, 6, 5, tzinfo=UTC) + timedelta(seconds=overdue or 0)
        assert before - SECOND < asked < after + SECOND
        built(content, out, at="2090-01-04T12:00:00Z")
        awaited(lambda: metric(server, "shopwindow_release_overdue_seconds") == 0)


# -- the access log ----------------------------------------------------------------------------------------------


def test_the_access_log_tells_operations_and_neither_keys_nor_queries(tmp_path: Path, out: Path) -> None:
    other = "SecretSecretSecretSecret"
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        awaited(lambda: len(printed(server)) > 0)  # what was asked to see whether it answers
        before = len(printed(server))
        server.ask("/store/v1/events?storeId=3&_fields=name", KEY)
        server.ask("/store/v2/stores?searchAddress=Boston,%20MA", {**KEY, "accept": "application/xml"}, "HEAD")
        server.ask(f"/v2/promotions?key={PHONE}", {"x-svc-webservice-client-id": other, "authorization": other})
        server.ask(f"/{PHONE}/nowhere", KEY)
        server.ask("/store/v2/stores/99999?callback=1", KEY, "OPTIONS")
        awaited(lambda: len(printed(server)) == before + 5)
        lines, text = printed(server)[before:], server.out.read_text() + server.err.read_text()
    told = [(line["method"], line["operation"], line["application"], line["status"]) for line in lines]
    # A line is written when its answer has been sent, by then perhaps beside the next one's.
    assert Counter(told) == Counter(
        [
            ("GET", "events_v1", "phone", 200),
            ("HEAD", "stores", "phone", 200),
            ("GET", "none", None, 401),
            ("GET", "none", "phone", 404),
            ("OPTIONS", "options", None, 204),
        ]
    )
    names = ["time", "level", "event", "requestId", "method", "operation", "application", "status", "bytes", "ms"]
    assert {tuple(line) for line in lines} == {tuple(names)}
    assert [line["operation"] for line in lines if not line["bytes"]] in ([], ["options"])
    assert [word for word in (PHONE, other, "storeId", "Boston", "_fields", "99999") if word in text] == []


def test_a_fault_of_ours_is_told_without_details_and_counted(out: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = library.released_content(INTERFACE, out)
    spoilt = as_content({**as_value(content), "promotions": [{"promoId": 12}]})  # what no check lets through
    came = called(served(out, content=spoilt), "/v2/promotions", {**KEY, "accept": "application/xml"})
    body = {
        "errorCode": 500,
        "message": "The service failed",
        "errorDetail": ["service: The service failed"],
        "success": False,
    }
    assert (came.status, came.body) == (500, xml(body, "response"))
    assert (came.headers["cache-control"], "KeyError" in capfd.readouterr().err) == ("no-store", True)


# -- options and other servers -----------------------------------------------------------------------------------


def test_every_option_is_an_environment_variable_too() -> None:
    named = {option.name: option.envvar for option in (*main.params, *serve.params) if option.envvar}
    names = (
        "interface",
        "out",
        "bind",
        "admin",
        "workers",
        "threads",
        "database",
        "log_dir",
        "templates",
        "docs",
    )
    assert named == {name: f"SHOPWINDOW_{name.upper()}" for name in names}


def test_the_environment_alone_starts_it(tmp_path: Path, out: Path) -> None:
    import sys

    port, admin = free_port(), free_port()
    environment = {
        "SHOPWINDOW_OUT": str(out),
        "SHOPWINDOW_BIND": f"{ADDRESS}:{port}",
        "SHOPWINDOW_ADMIN": f"{ADDRESS}:{admin}",
        "SHOPWINDOW_WORKERS": "2",
        "SHOPWINDOW_THREADS": "2",
        "SHOPWINDOW_ACCESS_LOG": "0",
    }
    with running(tmp_path, [sys.executable, "-m", "shopwindow", "serve"], port, admin, **environment) as server:
        answers = [server.ask(PROMOTIONS, KEY).status, server.told("/readyz").status]
        awaited(lambda: len(server.workers()) == 2)
        lines = printed(server)
    assert (answers, lines) == ([200, 200], [])


def test_it_says_where_it_answers(tmp_path: Path, out: Path) -> None:
    with own_server(tmp_path, out, "--workers", "1") as server:
        awaited(lambda: f"1 worker listens at {ADDRESS}:{server.port}" in server.err.read_text())


def test_without_an_admin_address_nobody_listens_there(tmp_path: Path, out: Path) -> None:
    import sys

    port = free_port()
    command = [sys.executable, "-m", "shopwindow", "serve", "--out", str(out), "--bind", f"{ADDRESS}:{port}"]
    with running(tmp_path, [*command, "--admin", "", "--workers", "1"], port) as server:
        assert server.ask(PROMOTIONS, KEY).status == 200


def test_an_empty_variable_says_that_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("admin", "database", "log_dir")
    for name in names:
        monkeypatch.setenv(f"SHOPWINDOW_{name.upper()}", "")
    told = serve.make_context("serve", []).params
    assert {name: told[name] for name in names} == dict.fromkeys(names, "")
    for name in names:
        monkeypatch.delenv(f"SHOPWINDOW_{name.upper()}")
    told = serve.make_context("serve", []).params
    assert all(told[name] for name in names)


@pytest.mark.parametrize("option", ["--bind", "--admin"])
def test_an_address_that_is_taken_is_said_in_a_sentence(tmp_path: Path, out: Path, option: str) -> None:
    with socket.create_server((ADDRESS, 0)) as taken:
        address = f"{ADDRESS}:{taken.getsockname()[1]}"
        free = {"--bind": f"{ADDRESS}:{free_port()}", "--admin": f"{ADDRESS}:{free_port()}"} | {option: address}
        more = ["--workers", "1", "--database", "", "--log-dir", ""]
        ran = shopwindow("serve", "--out", out, *(part for pair in free.items() for part in pair), *more)
    told = ran.err.splitlines()[-1]
    assert (ran.status, told.startswith(f"shopwindow: {address} cannot be listened at: Address already in use")) == (
        4,
        True,
    )


@pytest.mark.parametrize("options", [["--bind", "8000"], ["--admin", "x:y"], ["--bind", ":99999"], ["--workers", "0"]])
def test_wrong_use_is_said(options: list[str]) -> None:
    ran = shopwindow("serve", *options)
    assert (ran.status, "Error: " in ran.err) == (2, True)


# -- what no client library sends --------------------------------------------------------------------------------


def raw(server: Server, line: str, *headers: str) -> Answer:
    lines = [line, "Host: localhost", "Connection: close", *headers, "", ""]
    return ask_raw(server.port, "\r\n".join(lines).encode("latin-1"))


def test_odd_requests_are_answered_in_our_form(server: Server) -> None:
    key = f"X-Svc-Webservice-Client-Id: {PHONE}"
    unknown = (404, CODES["no_mapping"][1])
    asked = {
        "GET http://elsewhere.example/v2/promotions HTTP/1.1": (200, None),
        "GET //v2/promotions HTTP/1.1": unknown,
        "GET /v2//promotions HTTP/1.1": unknown,
        "GET /v2/./promotions HTTP/1.1": unknown,
        "GET /v2/x/../promotions HTTP/1.1": unknown,
        "GET * HTTP/1.1": unknown,
        "BREW /v2/promotions HTTP/1.1": (400, 400),
        "TRACE /v2/promotions HTTP/1.1": (405, 102),
        "get /v2/promotions HTTP/1.1": (400, 400),
        "GET /v2/promotions?promoid=%zz HTTP/1.1": (400, 400),
        "GET /v2/promotions%zz HTTP/1.1": (400, 400),
        "GET /v2/%0/promotions HTTP/1.1": (400, 400),
        "GET /v2/promotions%25zz HTTP/1.1": unknown,
        "GET /v2/promotions?%ff=%fe&promoid=5 HTTP/1.1": (200, None),
        "GET /v2/promotions?=&&=&promoid=5 HTTP/1.1": (200, None),
        "GET /store/v2/stores?searchAddress=\u00c3\u00a9 HTTP/1.1": (400, 400),
        "GET /v2/promotions?x=" + "\u00c3\u00a9" * 1365 + " HTTP/1.1": (200, None),
        "GET /v2/promotions?x=" + "\u00c3\u00a9" * 1366 + " HTTP/1.1": (414, 105),
    }
    told = {}
    for line in asked:
        came = raw(server, line, key)
        told[line] = came.status, json.loads(came.body).get("errorCode")
    assert told == asked


@pytest.mark.parametrize(
    ("method", "length", "status", "left"),
    [
        ("GET", 9, 200, 0),
        ("POST", MAX_BODY + 1, 405, 0),
        ("GET", MAX_UNWANTED, 413, 0),
        ("GET", MAX_UNWANTED + 1, 413, MAX_UNWANTED + 1),
    ],
)
def test_a_body_that_nobody_wants_is_read_unless_it_is_huge(
    out: Path, method: str, length: int, status: int, left: int
) -> None:
    service, streams = served(out), []

    def watched(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        streams.append(environ["wsgi.input"])
        return service(environ, start_response)

    came = called(watched, PROMOTIONS, {**KEY, "content-type": "application/json"}, method, bytes(length))
    assert (came.status, len(streams[0].read())) == (status, left)


def test_options_for_the_whole_server_is_answered(server: Server) -> None:
    came = raw(server, "OPTIONS * HTTP/1.1")
    assert (came.status, came.headers) == (204, {"cache-control": "no-store"})


def test_raw_utf_8_in_a_query_means_what_its_escapes_mean(server: Server) -> None:
    target = "/store/v2/stores?searchAddress=Caf"
    given = [f"{target}\u00c3\u00a9", f"{target}%C3%A9"]
    bodies = {raw(server, f"GET {each} HTTP/1.1", f"x-svc-webservice-client-id: {PHONE}").body for each in given}
    assert len(bodies) == 1


def test_a_key_that_is_sent_twice_is_none(server: Server) -> None:
    line = f"x-svc-webservice-client-id: {PHONE}"
    came = raw(server, "GET /v2/promotions HTTP/1.1", line, line, "Accept: application/json")
    assert (came.status, came.body) == (401, error("no_key", "", sent={}).body)


@apart
def test_a_missing_release_folder_is_no_reason_to_stop(tmp_path: Path) -> None:
    assert not os.path.exists(tmp_path / "dist")
    assert Watch(tmp_path / "dist", INTERFACE)() is None
