"""What only a started service shows: codings on the wire, lines of its log, mail, its health check."""

import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import brotli
import orjson

from cli.test_maintain import maintain, outcomes, store_of
from cli.test_maintain import shop as maintained
from delivery.test_signed import Shop, frozen, shop
from deploy.test_deploy import DEPLOY
from harness.databases import DOCUMENT, open_database
from harness.mails import mail_server
from harness.program import PHONE, SILENT
from harness.servers import follower, free_port, metric, own_server, printed
from harness.waits import PATIENCE, awaited
from interface.test_requests_as_sent import NO_TRACES, TRACE
from retail.test_mobilelog import ENTRY, dist, get, numbered
from service.test_codings import KEY, LARGE
from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.shop import INTERFACE

__all__ = ["dist", "maintained", "shop"]


def test_a_server_sends_the_coding_that_a_client_accepts(out: Path, tmp_path: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        plain, packed = (server.ask(LARGE, {**KEY, **each}) for each in ({}, {"Accept-Encoding": "gzip, deflate, br"}))
        again = server.ask(LARGE, {**KEY, "If-None-Match": packed.headers["etag"]})
        head = server.ask(LARGE, {**KEY, "Accept-Encoding": "br"}, "HEAD")
    assert (packed.headers["content-encoding"], brotli.decompress(packed.body)) == ("br", plain.body)
    assert (again.status, again.headers["etag"]) == (304, plain.headers["etag"])
    assert head.headers["content-length"] == packed.headers["content-length"]


def test_a_line_has_the_trace_the_ignored_names_and_what_a_callback_was_refused(out: Path, tmp_path: Path) -> None:
    key = {"x-svc-webservice-client-id": PHONE}
    asked = {
        "traced": ("/v2/promotions", {"traceparent": TRACE}),
        **{f"untraced-{number}": ("/v2/promotions", {"traceparent": text}) for number, text in enumerate(NO_TRACES)},
        "filtered": ("/v4/catalog/search?searchphrase=coat&SPECIAL_OFFERS=Sale&lower=x&NEW_ONE=1", {}),
        "script": ("/store/v1/events?callback=cb", {}),
        "plain": ("/store/v1/events", {}),
    }
    with own_server(tmp_path / "server", out, "--workers", "1") as server:
        for id, (target, headers) in asked.items():
            assert server.ask(target, {**key, **headers, "X-Request-Id": id}).status < 500

        def lines() -> dict[str, Any]:
            return {line["requestId"]: line for line in printed(server, "request")}

        awaited(lambda: asked.keys() <= lines().keys())
        found = lines()
    extra = {id: {name: found[id].get(name) for name in ("traceparent", "ignored", "refused")} for id in asked}
    nothing = {"traceparent": None, "ignored": None, "refused": None}
    assert extra == {
        **dict.fromkeys(asked, nothing),
        "traced": {**nothing, "traceparent": TRACE},
        "filtered": {**nothing, "ignored": extra["filtered"]["ignored"]},
        "script": {**nothing, "refused": 400},
    }
    assert (found["script"]["status"], found["plain"]["status"]) == (200, 400)


def test_the_service_writes_below_its_log_directory_and_counts(dist: Path, tmp_path: Path) -> None:
    with own_server(tmp_path / "server", dist, "--workers", "2", "--log-dir", str(tmp_path / "logs")) as server:
        for key in (PHONE, SILENT):
            for _ in range(5):
                assert server.ask(get(**ENTRY), {"x-svc-webservice-client-id": key}).status == 200
        awaited(lambda: metric(server, "shopwindow_log_lines_total") == 5)
        refused = metric(server, "shopwindow_log_refused_total", application="silent", reason="disabled")
        assert (refused, len(numbered(tmp_path / "logs"))) == (5, 5)


def test_a_service_that_verifies_says_what_is_frozen_and_serves_on(shop: Shop) -> None:
    first = shop.publish()
    root = ("--root", str(shop.keys / "root.json"))
    pull = follower(shop.work / "pull", shop.host.out, f"file://{shop.work}/target", *root, "--every", "0.1")
    options = ("--workers", "1", "--database", "")
    with pull, own_server(shop.work / "server", shop.host.out, *options) as server:
        awaited(lambda: server.told("/readyz").status == 200)
        frozen(shop)
        awaited(lambda: server.told("/checks/pull").status == 503)
        assert orjson.loads(server.told("/checks/pull").body)["kind"] == "expired"
        assert orjson.loads(server.told("/readyz").body) == {"ready": True, "id": first}
        assert (metric(server, "shopwindow_pull_faults_total", kind="expired") or 0) > 0
        assert metric(server, "shopwindow_pull_faults_total", kind="unsigned") == 0
        second = shop.publish("Second")
        awaited(lambda: orjson.loads(server.told("/readyz").body)["id"] == second)
        awaited(lambda: metric(server, "shopwindow_pull_success") == 1)


def test_the_container_file_has_a_health_check_that_works(tmp_path: Path) -> None:
    """The command, carried out by this interpreter against a service with and without life in it."""
    (found,) = re.findall(r"HEALTHCHECK .*\\\n    CMD (\[.*\])", (DEPLOY / "Containerfile").read_text())
    command = [sys.executable, *json.loads(found)[1:]]
    admin = free_port()
    command[-1] = command[-1].replace("127.0.0.1:8001", f"127.0.0.1:{admin}")
    serve = ["serve", "--out", str(tmp_path / "dist"), "--bind", f"127.0.0.1:{free_port()}", "--workers", "1"]
    options = ["--admin", f"127.0.0.1:{admin}", "--database", "", "--log-dir", ""]
    assert subprocess.run(command, capture_output=True).returncode == 1
    service = subprocess.Popen([sys.executable, "-m", "shopwindow", *serve, *options], stderr=subprocess.DEVNULL)
    try:
        awaited(lambda: subprocess.run(command, capture_output=True).returncode == 0)
    finally:
        service.terminate()
        service.wait(PATIENCE)
    assert subprocess.run(command, capture_output=True).returncode == 1


def test_mail_that_is_due_is_sent(maintained: Path) -> None:
    database = open_database(f"sqlite:///{store_of(maintained)}", INTERFACE.tables)
    id = os.urandom(16).hex()
    database.write(lambda shop: shop[OUTBOX].add(id, "share", "ann@mail.example", DOCUMENT, datetime.now(UTC)))
    database.close()
    with mail_server() as server:
        env = {"SHOPWINDOW_SMTP": f"smtp+plain://127.0.0.1:{server.port}"}
        assert outcomes(maintain(maintained, "mail", env=env)) == {"mail": "done"}
    assert [recipient for recipient, _ in server.taken] == ["ann@mail.example"]


def test_the_unit_has_started_once_a_worker_answers_whatever_it_says(tmp_path: Path) -> None:
    unit = (DEPLOY / "systemd/shopwindow.service").read_text()
    (line,) = re.findall("^ExecStartPost=(.*)$", unit, re.MULTILINE)
    command, admin = line.replace("/opt/shopwindow/bin/python", sys.executable).split(" ${SHOPWINDOW_ADMIN}")
    (tmp_path / "dist").mkdir()
    with own_server(tmp_path / "server", tmp_path / "dist", "--workers", "1") as server:
        assert server.told("/readyz").status == 503
        answered = subprocess.run([*shlex.split(command), f"127.0.0.1:{server.admin}"], timeout=PATIENCE)
    silent = subprocess.run([*shlex.split(command), f"127.0.0.1:{server.admin}"], capture_output=True, timeout=PATIENCE)
    assert (admin, answered.returncode, silent.returncode) == ("", 0, 1)
