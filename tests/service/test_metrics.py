"""What is noted of requests: counted and written together, and nothing lost when a service ends."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from harness.program import Schemas, Watch, called
from harness.servers import noted
from shopwindow.interface.answer import Response
from shopwindow.service.admin import Admin, behind
from shopwindow.service.metrics import Durations, Metrics
from shopwindow.service.serving import Exchange, load
from shopwindow.service.worker_notes import WorkerNote, WorkerNotes
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


# -- servers -----------------------------------------------------------------------------------------------------


def test_the_worker_that_is_behind_tells_what_is_served_and_one_that_has_ended_nothing(tmp_path: Path) -> None:
    workers, ended = WorkerNotes(tmp_path), subprocess.Popen(["true"])
    ended.wait()
    told = {ended.pid: ("a", 1.0, ""), os.getppid(): ("c", 3.0, ""), os.getpid(): ("b", 2.0, "c cannot be read")}
    before = workers.running()
    for process, (id, loaded, fault) in told.items():
        note = {"id": id, "loaded": loaded, "fault": fault}
        (tmp_path / f"worker-{process}").write_text(json.dumps(note))
    assert (before, behind(workers.running())) == ([], WorkerNote(os.getpid(), "b", 2.0, "c cannot be read", {}))
    workers.record_release(None, "d\udcff is not there")
    assert behind(workers.running()) == WorkerNote(os.getpid(), "", 0.0, "d\\udcff is not there", {})


def test_a_note_that_says_no_time_costs_the_age_alone(tmp_path: Path, out: Path, schemas: Schemas) -> None:
    kept = Path(shutil.copytree(out, tmp_path / "dist", symlinks=True))
    serving = load(kept, INTERFACE, schemas)
    WorkerNotes(tmp_path).record_release(serving, "")
    (kept / "releases" / serving.id / "build.json").write_text('{"format":1,"built":"x"}')
    came = called(Admin(kept, tmp_path), "/readyz", {})
    assert (came.status, json.loads(came.body)) == (200, {"ready": True, "id": serving.id, "age": None})


def test_a_pointer_of_a_later_format_costs_what_is_told_of_the_release_alone(tmp_path: Path) -> None:
    (tmp_path / "current.json").write_text('{"format":2}')
    said: list[str] = []
    Watch(tmp_path, INTERFACE, report=said.append, on_change=WorkerNotes(tmp_path).record_release)
    admin = Admin(tmp_path, tmp_path, None, lambda: {"waiting": 3})
    ready, metrics = (called(admin, path, {}) for path in ("/readyz", "/metrics"))
    fault = f"{tmp_path}/current.json: format 2; this program reads up to 1: update it"
    lines = [line for line in metrics.body.decode().splitlines() if line[0] != "#"]
    assert (ready.status, json.loads(ready.body)) == (503, {"ready": False, "release": fault})
    assert metrics.status == 200
    assert {'shopwindow_mails{state="waiting"} 3.0', 'shopwindow_workers{state="without"} 1.0'} <= set(lines)
    stays = "the release that current leads to cannot be served, there is none yet"
    assert said == [f"{stays}: {fault}"]


def test_a_file_of_counts_in_which_nothing_stands_yet_counts_nothing(tmp_path: Path) -> None:
    """prometheus_client creates it empty; a worker that is killed then leaves it so."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    beginning, left = (tmp_path / f"counter_{process}.db" for process in (os.getpid(), ended.pid))
    beginning.touch()
    left.touch()
    admin = Admin(tmp_path, tmp_path)
    assert called(admin, "/metrics", {}).status == 200
    admin.observe()
    assert sorted(tmp_path.iterdir()) == [beginning]


def test_an_admin_address_that_was_stopped_leaves_the_files_of_workers_alone(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = tmp_path / f"counter_{ended.pid}.db"
    left.touch()
    admin = Admin(tmp_path, tmp_path)
    admin.stop()
    admin.observe()
    assert list(tmp_path.iterdir()) == [left]
