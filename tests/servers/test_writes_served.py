"""Writes over HTTP, on both engines, with several processes: retries, stopping, a full disk, a server out of reach."""

import json
import os
import socket
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from facts.conformance import PHONE, TABLET
from harness.databases import ENGINES, PATH, Engine, devices_of, engine_of, post
from harness.program import shopwindow
from harness.servers import ADDRESS, Server, free_port, gunicorn, own_server
from harness.waits import PATIENCE
from shopwindow.cli.options import DEFAULT_DATABASE

SUCCESS = b'{"success":true}'


@pytest.fixture(scope="module", params=ENGINES)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(request, request.param, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def server(shared: Engine, out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Three processes on one store, which was not there before."""
    options = ("--workers", "3", "--database", shared.url)
    with own_server(tmp_path_factory.mktemp("server"), out, *options) as server:
        yield server


# -- retries -----------------------------------------------------------------------------------------------------


def test_a_request_repeated_under_its_key_is_done_once_and_answered_alike(server: Server, shared: Engine) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: post(server, "once", headers={"Idempotency-Key": "once"}), range(48)))
    assert {(answer.status, answer.body) for answer in answers} == {(200, SUCCESS)}
    assert devices_of(shared)["once"] == 1


def test_many_keys_at_once_are_each_done_once(server: Server, shared: Engine) -> None:
    names = [f"key {number}" for number in range(60)]
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda name: post(server, name, headers={"Idempotency-Key": name}), names * 4))
    assert {answer.status for answer in answers} == {200}
    found = devices_of(shared)
    assert [found[name] for name in names] == [1] * 60


def test_without_a_key_each_request_is_another(server: Server, shared: Engine) -> None:
    assert [post(server, "twice").status for _ in range(2)] == [200, 200]
    assert devices_of(shared)["twice"] == 2


def test_another_body_under_a_key_is_a_422(server: Server, shared: Engine) -> None:
    first, second = (post(server, "other", choice, {"Idempotency-Key": "other"}) for choice in ("IN", "OUT"))
    assert (first.status, second.status, json.loads(second.body)["errorCode"]) == (200, 422, 422)
    assert devices_of(shared)["other"] == 1


def test_a_path_with_a_slash_at_its_end_is_the_same_request(server: Server, shared: Engine) -> None:
    key = {"Idempotency-Key": "slash"}
    answers = [post(server, "slash", choice, key, path=path) for choice in ("IN", "OUT") for path in (PATH, f"{PATH}/")]
    assert [answer.status for answer in answers] == [200, 200, 422, 422]
    assert devices_of(shared)["slash"] == 1


def test_a_4xx_is_not_kept(server: Server) -> None:
    key = {"Idempotency-Key": "corrected"}
    assert [post(server, "corrected", choice, key).status for choice in ("MAYBE", "IN", "OUT")] == [400, 200, 422]


def test_a_key_belongs_to_an_application(server: Server, shared: Engine) -> None:
    key = {"Idempotency-Key": "of two"}
    answers = [post(server, f"of {owner}", headers=key, key=owner) for owner in (PHONE, TABLET)]
    assert [answer.status for answer in answers] == [200, 200]


@pytest.mark.parametrize("key", ["", "x" * 256, "ünï"])
def test_a_key_that_is_none_is_a_400(server: Server, key: str) -> None:
    assert post(server, headers={"Idempotency-Key": key}).status == 400


def test_a_body_that_breaks_off_is_refused_though_it_is_whole_by_itself(server: Server, shared: Engine) -> None:
    body = json.dumps({"deviceID": "cut", "optInOrOptOut": "IN"}).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nx-svc-webservice-client-id: {PHONE}\r\n"
    with socket.create_connection((ADDRESS, server.port), PATIENCE) as connection:
        connection.sendall(
            f"{head}Content-Type: application/json\r\nContent-Length: {len(body) + 9}\r\n\r\n".encode() + body
        )
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    said = b"body: ended early; it may be sent again"
    assert (answer.split()[1], said in answer, devices_of(shared)["cut"]) == (b"400", True, 0)


# -- what cannot be written --------------------------------------------------------------------------------------


def test_a_newer_store_is_refused_in_one_sentence(out: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    assert shopwindow("migrate", "--database", url).status == 0
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute("INSERT INTO table_steps (name, step) VALUES ('bags', 9999)")
    expected = "the database is newer than this program: its table bags is at step 9999, this program knows "
    serve = ["serve", "--out", out, "--bind", f"{ADDRESS}:{free_port()}", "--admin", ""]
    for command in (serve, ["migrate"], ["codes", "report"], ["optins", "export"]):
        ran = shopwindow(*command, "--database", url)
        assert (ran.status, ran.err.startswith("shopwindow: "), ran.err.count(expected), ran.err.count("\n")) == (
            4,
            True,
            1,
            1,
        )


def test_any_server_brings_a_database_to_this_programs_form_when_it_is_first_used(
    engine: Engine, out: Path, tmp_path: Path
) -> None:
    with gunicorn(tmp_path / "server", out, SHOPWINDOW_DATABASE=engine.url) as server:
        answers = [post(server), post(server, headers={"Idempotency-Key": "k"})]
        assert [each.status for each in answers] == [200] * 2
        assert shopwindow("migrate", "--database", engine.url).out == "nothing to do\n"


def test_the_default_store_is_made_where_the_service_starts(out: Path, tmp_path: Path) -> None:
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        with own_server(tmp_path / "server", out, "--workers", "1", SHOPWINDOW_DATABASE=DEFAULT_DATABASE) as server:
            assert post(server).status == 200
    finally:
        os.chdir(before)
    assert (tmp_path / "store" / "shopwindow.sqlite").stat().st_size > 0
