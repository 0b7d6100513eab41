"""Facts about runs that nobody holds any more: their builders were killed."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shopwindow.cluster import holders
from shopwindow.cluster.holders import HOLDER, SILENT_SECONDS, Holder, is_abandoned, this_process
from shopwindow.content.listing import below
from shopwindow.delivery.passing import TargetObjects
from shopwindow.delivery.targets import parse


@pytest.fixture(scope="module")
def gone() -> Holder:
    """A process that was killed."""
    script = (
        "import os, sys; from shopwindow.cluster.holders import this_process;"
        "sys.stdout.buffer.write(this_process().encoded()); sys.stdout.flush(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == -9
    return Holder(**json.loads(done.stdout))


def elsewhere() -> Holder:
    """A process of another machine, with the number of this one."""
    return replace(this_process(), machine="another")


def test_a_process_of_this_machine_decides_by_being_there(gone: Holder) -> None:
    now, long_ago = 0.0, SILENT_SECONDS * 2.0
    here = this_process()
    assert not is_abandoned(here.encoded(), long_ago)
    assert is_abandoned(gone.encoded(), now)
    same_number = replace(here, started=here.started - 1)
    assert is_abandoned(same_number.encoded(), now)
    assert not is_abandoned(replace(here, process=1, started=holders._start_of(1) or 0).encoded(), long_ago)


def test_a_process_that_has_ended_is_gone_though_its_parent_has_not_taken_note() -> None:
    script = (
        "import os, sys; from shopwindow.cluster.holders import this_process;"
        "sys.stdout.buffer.write(this_process().encoded()); sys.stdout.close()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout
        written = process.stdout.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_abandoned(written, 0)


@pytest.mark.parametrize(
    "written",
    [None, b"", b'{"token": "t', b"[]", b"{}", b'{"token": "t", "machine": "another", "process": 1, "started": 1}'],
)
def test_of_any_other_holder_the_silence_decides(written: bytes | None) -> None:
    assert not is_abandoned(written, SILENT_SECONDS)
    assert is_abandoned(written, SILENT_SECONDS + 1)


def test_folders_that_nobody_holds_are_removed(tmp_path: Path, gone: Holder) -> None:
    folders = {
        "shopwindow-own": this_process(),
        "shopwindow-here": this_process(),
        "shopwindow-gone": gone,
        "shopwindow-elsewhere": elsewhere(),
        "shopwindow-silent": elsewhere(),
        "of-somebody-else": gone,
    }
    for name, holder in folders.items():
        (tmp_path / name / "rows").mkdir(parents=True)
        (tmp_path / name / "rows" / "1").touch()
        (tmp_path / name / HOLDER).write_bytes(holder.encoded())
    own = tmp_path / "shopwindow-own"
    days = (own / HOLDER).stat().st_mtime - SILENT_SECONDS - 10
    for path in ("", HOLDER, "rows/1", "rows"):
        os.utime(tmp_path / "shopwindow-silent" / path, (days, days))
        if path != "rows/1":  # somebody goes on writing there
            os.utime(tmp_path / "shopwindow-elsewhere" / path, (days, days))
    assert holders.clear_folders(tmp_path, own) == ["shopwindow-gone", "shopwindow-silent"]
    left = {name.partition("/")[0] for name in below(tmp_path)}
    assert left == folders.keys() - {"shopwindow-gone", "shopwindow-silent"}


def test_objects_that_nobody_holds_are_removed(tmp_path: Path, gone: Holder) -> None:
    objects = TargetObjects(parse(f"file://{tmp_path}"))
    for name, holder in {"own": this_process(), "here": this_process(), "gone": gone, "silent": elsewhere()}.items():
        objects.create(f"shopwindow-{name}/{HOLDER}", holder.encoded())
        objects.create(f"shopwindow-{name}/rows", name.encode())
    objects.create("releases/1/manifest.json", b"{}")
    days = (tmp_path / "shopwindow-own" / HOLDER).stat().st_mtime - SILENT_SECONDS - 10
    for name in (HOLDER, "rows"):
        os.utime(tmp_path / "shopwindow-silent" / name, (days, days))
    assert holders.clear_objects(objects, "shopwindow-own") == ["shopwindow-gone", "shopwindow-silent"]
    assert sorted(key for key, _ in objects.listing("")) == [
        "releases/1/manifest.json",
        "shopwindow-here/holder",
        "shopwindow-here/rows",
        "shopwindow-own/holder",
        "shopwindow-own/rows",
    ]
