"""What is noted of requests: counted and written together, and nothing lost when a service ends."""

import json
import os
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from sqlite3 import sqlite_version
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from harness.databases import Engine
from harness.program import admin_of, called, current, point, served
from harness.run import apart
from harness.servers import noted
from shopwindow.interface.answering.answer import Response
from shopwindow.release import pull_notes
from shopwindow.release.pull_notes import PullNote
from shopwindow.service.admin import Admin
from shopwindow.service.metrics import Durations, Metrics
from shopwindow.service.running import Backstage
from shopwindow.service.serving import Exchange
from shopwindow.service.watch import Watch
from shopwindow.service.wsgi import Front
from shopwindow.shop import INTERFACE

THREE = ("M0", "M1", "M2")


def test_a_forked_process_notes_for_itself_and_nothing_twice(tmp_path: Path) -> None:
    expected = {"M": [0, 1], **{method: [*range(3)] for method in THREE}}
    assert noted(tmp_path / "metrics", "workers forked afterwards", 3) == expected


@given(st.lists(st.floats(0, 5) | st.sampled_from([0.1, 0.2, 0.3])))
def test_values_put_in_together_are_those_put_in_one_by_one(values: list[float]) -> None:
    registries = CollectorRegistry(), CollectorRegistry()
    together = Durations("seconds", "Seconds.", registry=registries[0], buckets=(0.1, 0.2, 1))
    apart = Histogram("seconds", "Seconds.", registry=registries[1], buckets=(0.1, 0.2, 1))
    together.observe_all(values)
    for value in values:
        apart.observe(value)
    told = [
        {(sample.name, sample.labels.get("le")): sample.value for family in each.collect() for sample in family.samples}
        for each in registries
    ]
    for name in ("seconds_created", "seconds_sum"):
        for each in told:
            each.pop((name, None))
    assert told[0] == told[1]
    assert registries[0].get_sample_value("seconds_sum") == pytest.approx(sum(values))


@apart
def test_a_method_that_is_none_is_told_as_other(capfd: pytest.CaptureFixture[str]) -> None:
    metrics = Metrics()
    for method in ("GET", "BREW" * 4, "caf\u00e9", "\udcff"):
        metrics.note(Exchange(Response(405, "application/json", b"{}")), method, 0.0004321)
    metrics.flush()
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(line["method"], line["status"], line["bytes"], line["ms"]) for line in lines] == [
        ("GET", 405, 2, 0.432),
        *[("other", 405, 2, 0.432)] * 3,
    ]


@apart
def test_a_note_holds_no_body(capfd: pytest.CaptureFixture[str]) -> None:
    metrics, body = Metrics(), b"{%s}" % (b" " * 1000)
    before = sys.getrefcount(body)
    metrics.note(Exchange(Response(200, "application/json", body)), "GET", 0.001)
    assert sys.getrefcount(body) == before
    metrics.flush()
    assert json.loads(capfd.readouterr().out)["bytes"] == 1002


# -- servers -----------------------------------------------------------------------------------------------------


def answered(admin: Admin, path: str) -> tuple[int, Any]:
    """The status and the JSON that the admin address says."""
    response = admin.answer(path)
    return response.status, json.loads(response.body)


@apart
def test_a_link_to_no_release_costs_what_is_said_of_the_release_alone(tmp_path: Path) -> None:
    point(tmp_path, "0" * 64)
    said: list[str] = []
    watch = Watch(tmp_path, INTERFACE, report=said.append)
    front = Front(watch, fault=watch.fault)
    admin = admin_of(front, tmp_path, tmp_path)
    path = tmp_path / "releases" / ("0" * 64) / "manifest.json"
    fault = f"{path}: cannot be read as a manifest: [Errno 2] No such file or directory: '{path}'"
    assert answered(admin, "/readyz") == (503, {"ready": False, "id": ""})
    behind = {"ok": False, "current": "0" * 64, "id": "", "fault": fault}
    assert answered(admin, "/checks/release") == (503, behind)
    metrics = admin.answer("/metrics")
    assert (metrics.status, b"shopwindow_disk_free_bytes" in metrics.body) == (200, True)
    stays = "the release that current leads to cannot be served, there is none yet"
    assert said == [f"{stays}: {fault}"]


def test_a_file_of_counts_in_which_nothing_stands_yet_counts_nothing(tmp_path: Path) -> None:
    """prometheus_client creates it empty; a worker that is killed then leaves it so."""
    (tmp_path / f"counter_{os.getpid()}.db").touch()
    front = Front(lambda: None)
    assert admin_of(front, tmp_path, tmp_path).answer("/metrics").status == 200


def figures(admin: Admin) -> set[str]:
    """The names of the service's metrics that a scrape has."""
    lines = admin.answer("/metrics").body.decode().splitlines()
    return {line.split("{")[0].split(" ")[0] for line in lines if line.startswith("shopwindow_")}


DISKS = {"shopwindow_build_info", "shopwindow_disk_free_bytes", "shopwindow_disk_free_inodes"}
LAST_BUILD = {"shopwindow_last_build_success", "shopwindow_last_build_timestamp_seconds"}
PULLS = {"shopwindow_pull_success", "shopwindow_pull_faults_total"}
PULLED = {"shopwindow_pull_last_success_timestamp_seconds", "shopwindow_pull_age_seconds"}


def test_what_cannot_be_read_costs_its_own_figures_alone(tmp_path: Path) -> None:
    never = PullNote(source="https://releases.shop.example", kind="source", fault="refused", since="2026-11-28")
    admin = admin_of(Front(lambda: None), tmp_path, tmp_path / "shared")
    assert figures(admin) == DISKS
    pull_notes.write(tmp_path, never)
    (tmp_path / "last-build.json").write_text('{"status": "SUCCESS", "ended": "yesterday"}')
    assert figures(admin) == DISKS | PULLS | {"shopwindow_last_build_success"}
    pull_notes.write(tmp_path, replace(never, succeeded="2026-11-27T06:00:00+00:00"))
    (tmp_path / "last-build.json").write_text('{"status": "SUCCESS", "ended": "2026-11-27T06:00:00+00:00"}')
    assert figures(admin) == DISKS | LAST_BUILD | PULLS | PULLED
    (tmp_path / "pulled.json").write_text("[]")
    assert figures(admin) == DISKS | LAST_BUILD


def test_an_upgrade_of_what_is_installed_is_seen_once_the_service_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = admin_of(Front(lambda: None), tmp_path, tmp_path / "shared")
    labels = f'python="{python_version()}",sqlite="{sqlite_version}",version="{version("shopwindow")}"'
    newer = tmp_path / "shopwindow-99.dist-info"
    newer.mkdir()
    (newer / "METADATA").write_text("Metadata-Version: 2.1\nName: shopwindow\nVersion: 99\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert version("shopwindow") == "99"
    assert f"shopwindow_build_info{{{labels}}} 1.0" in admin.answer("/metrics").body.decode()


def test_a_database_that_has_gone_since_it_was_asked_costs_the_mails_alone(tmp_path: Path) -> None:
    database = Engine("sqlite", f"sqlite:///{tmp_path}/store.sqlite").open()
    database.migrate()
    admin = admin_of(Front(lambda: None, backstage=Backstage(database)), tmp_path, tmp_path / "shared")
    mails = {"shopwindow_mails", "shopwindow_mails_ended_total", "shopwindow_mails_oldest_seconds"}
    assert figures(admin) == DISKS | {"shopwindow_database_up"} | mails
    database.close()  # it answers no read any more
    assert figures(admin) == DISKS | {"shopwindow_database_up"}


def test_any_server_that_calls_the_service_can_ask_whether_it_is_ready(tmp_path: Path, out: Path) -> None:
    ready = called(served(out), "/readyz", {})
    assert (ready.status, json.loads(ready.body)) == (200, {"ready": True, "id": current(out)})
    assert called(served(out), "/healthz", {}).body == b"ok\n"
    none = called(Front(lambda: None), "/readyz", {})
    assert (none.status, json.loads(none.body)) == (503, {"ready": False, "id": ""})
    assert called(served(out), "/readyz", {"X-Forwarded-For": "192.0.2.1"}).status == 401


def test_a_server_that_hands_on_what_is_no_text_of_bytes_gets_a_500(
    out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """PEP 3333 asks for texts whose characters are bytes."""
    service = served(out)

    def server(environ: dict[str, Any], start_response: Any) -> Any:
        return service({**environ, "PATH_INFO": "/v2/caf\u20ac"}, start_response)

    came = called(server, "/", {"X-Request-Id": "of-a-test", "Accept": "application/json"})
    (line,) = map(json.loads, capfd.readouterr().err.splitlines())
    assert (came.status, line["event"], line["requestId"]) == (500, "fault", "of-a-test")
