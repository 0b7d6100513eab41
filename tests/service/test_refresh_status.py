"""The refresh status tells of the build of the release being served, and of a last build that failed."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from facts.conformance import AT, KEY, PHONE, documents
from harness.answers import decoded
from harness.content import edit, write_files
from harness.program import Application, Schemas, build, built, called, current, served
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.release.build_notes import at_work

Json = Any
SCHEMA = "responses/refresh_status.json"
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}\+00:00")


@pytest.fixture
def content(tmp_path: Path) -> Path:
    return write_files(tmp_path / "content", documents())


@pytest.fixture
def out(tmp_path: Path, content: Path) -> Path:
    built(content, tmp_path / "dist", at=AT)
    return tmp_path / "dist"


def told(asked: Application, schemas: Schemas) -> Json:
    """What it says, which both formats agree on, is of its schema and may not be kept."""
    values = []
    for format in RESPONSE_FORMATS:
        came = called(asked, "/v3/job/refreshjobstatus", {KEY: PHONE, "accept": format.media_type})
        assert (came.status, came.headers["cache-control"]) == (200, "no-store")
        values.append(decoded(format, came.body, schemas.shape(SCHEMA)))
    assert values[0] == values[1]
    assert schemas.valid(SCHEMA, values[0])
    return values[0]


def test_it_tells_when_the_release_being_served_was_built(out: Path, schemas: Schemas) -> None:
    value = told(served(out), schemas)
    start, end = value.pop("startTime"), value.pop("endTime")
    assert value == {"jobName": "shopwindow build", "status": "SUCCESS"}
    assert INSTANT.fullmatch(start)
    assert INSTANT.fullmatch(end)
    moments = [datetime.fromisoformat(each) for each in (start, end)]
    assert datetime.now(UTC) - timedelta(minutes=5) < moments[0] <= moments[1] < datetime.now(UTC)


def test_a_last_build_that_failed_shows_at_once_and_until_one_succeeds(
    content: Path, out: Path, schemas: Schemas
) -> None:
    asked, id = served(out), current(out)
    first = told(asked, schemas)
    store = content / "stores" / "all.yaml"
    text = store.read_text()
    store.write_text(text.replace('"Back Bay"', "7"))
    assert build(content, out, at=AT).status == 1
    failed = told(asked, schemas)
    start, end, execution, description = (
        failed.pop(name) for name in ("startTime", "endTime", "executionId", "exitDescription")
    )
    assert failed == {
        "jobName": "shopwindow build",
        "status": "FAILED",
        "instanceId": id,
        "exitCode": "FAILED",
        "clusterName": "shopwindow build",
    }
    assert (INSTANT.fullmatch(start) is not None, first["endTime"] <= start <= end) == (True, True)
    assert datetime.fromisoformat(execution) == datetime.fromisoformat(start)
    assert "1 problem" in description
    store.write_text(text.replace('"Back Bay"', '"Front Bay"'))
    built(content, out, at=AT)
    again = told(served(out), schemas)
    assert (again["status"], again["startTime"] > end, current(out) != id) == ("SUCCESS", True, True)
    assert told(asked, schemas) == first  # who still serves the first release tells of its build


def test_a_build_that_failed_outside_the_content_names_no_path_of_the_host(
    content: Path, out: Path, schemas: Schemas
) -> None:
    asked = served(out)
    content.rename(content.with_name("moved"))
    content.symlink_to(content)  # which the system refuses to follow
    ran = build(content, out, at=AT)
    assert (ran.status, str(content) in ran.err) == (4, True)
    failed = told(asked, schemas)
    words = "the build failed for a reason outside the content, which its output tells"
    assert (failed["status"], failed["exitDescription"]) == ("FAILED", words)
    assert str(content) in json.loads((out / "last-build.json").read_bytes())["description"]


AT_WORK = """
import sys, time
from datetime import UTC, datetime
from pathlib import Path
from shopwindow.release.build_notes import at_work
with at_work(Path(sys.argv[1]), datetime(2026, 11, 24, 17, tzinfo=UTC)):
    print("at work", flush=True)
    time.sleep(60)
"""


def test_a_build_that_is_killed_failed_until_one_succeeds(content: Path, out: Path, schemas: Schemas) -> None:
    asked, started = served(out), "2026-11-24T17:00:00.000+00:00"
    first = told(asked, schemas)
    with subprocess.Popen([sys.executable, "-c", AT_WORK, str(out)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert told(asked, schemas) == first  # it is still at work
        with pytest.raises(OSError, match="full"), at_work(out, datetime.now(UTC)):
            raise OSError("full")  # of another build, which leaves the note alone
        process.kill()
    value = told(asked, schemas)
    assert value == {
        "jobName": "shopwindow build",
        "startTime": started,
        "endTime": started,
        "status": "FAILED",
        "instanceId": current(out),
        "executionId": started,
        "exitCode": "FAILED",
        "exitDescription": "the build ended before it was done",
        "clusterName": "shopwindow build",
    }
    assert built(content, out, at=AT) == current(out)  # nothing to do, or the same again
    assert told(asked, schemas)["status"] == "SUCCESS"
    assert not (out / "building.json").exists()


def test_a_build_that_ends_leaves_no_note_of_being_at_work(tmp_path: Path, content: Path, out: Path) -> None:
    assert not (out / "building.json").exists()
    edit(content, ("stores/all.yaml", '"Back Bay"', "7"))
    assert build(content, out, at=AT).status == 1
    assert not (out / "building.json").exists()
    with pytest.raises(OSError, match="full"), at_work(out, datetime.now(UTC)):
        raise OSError("full")
    assert not (out / "building.json").exists()
    with at_work(tmp_path / "new", datetime.now(UTC)):
        assert (tmp_path / "new/building.json").exists()
    assert not (tmp_path / "new/building.json").exists()


def test_of_a_release_without_notes_the_times_are_the_beginning_of_time(out: Path, schemas: Schemas) -> None:
    note = out / "current" / "build.json"
    note.chmod(0o644)
    note.write_text(json.dumps({"built": "2026-11-24T17:00:00.123456+00:00"}))
    built_then = "2026-11-24T17:00:00.123+00:00"
    expected = {"jobName": "shopwindow build", "startTime": built_then, "endTime": built_then, "status": "SUCCESS"}
    assert told(served(out), schemas) == expected
    note.write_text("{}")
    never = "1970-01-01T00:00:00.000+00:00"
    assert told(served(out), schemas) == {**expected, "startTime": never, "endTime": never}


def test_it_may_be_asked_for_by_a_script(out: Path) -> None:
    came = called(served(out), "/v3/job/refreshjobstatus?callback=show", {KEY: PHONE})
    assert (came.status, came.body[:31]) == (200, b'/**/show({"jobName":"shopwindow')
