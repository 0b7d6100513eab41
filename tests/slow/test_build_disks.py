"""Builds on disks that are full or read-only, and several at once: each succeeds, or is refused and changes nothing."""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.content import AT, SAMPLE, small, store, write
from harness.program import aged, build, built, copied, current, shopwindow


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """A small content folder, whose files were last changed an hour ago."""
    return aged(write(tmp_path / "content", small()))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "dist"


def state(out: Path) -> dict[str, tuple[int, int, int]]:
    """Everything in an output directory but the cache, the lock and the last build's note: inode, size and time."""
    found = {}
    for path in out.rglob("*"):
        name = path.relative_to(out).as_posix()
        if not name.startswith((".cache", ".lock", "last-build.json")):
            stat = path.lstat()
            found[name] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return found


def test_of_two_builds_at_once_each_succeeds_or_is_refused(content: Path, out: Path) -> None:
    id = built(content, out)
    write(content, {"stores/one.yaml": store(1, name="Edited")})
    command = [sys.executable, "-m", "shopwindow", "build", "--content", str(content), "--out", str(out), "--at", AT]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    statuses = {process.wait() for process in running}
    assert (0 in statuses, statuses <= {0, 4}, current(out) == id) == (True, True, False)
    assert shopwindow("verify", "--out", out).status == 0
    assert not (out / ".staging").exists()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB, where this process may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=755", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("this process may not mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


FREE = [0, 4, 8, 16, 32, 64, 128, 256]
"""Room left on the disk, in KiB: the build runs out of it at different steps."""


def test_a_full_disk_is_a_clear_error_and_changes_nothing(content: Path, disk: Path) -> None:
    out = disk / "dist"
    first = built(content, out)
    before = state(out)
    changed = copied(SAMPLE, content.parent / "sample")
    told = {}
    for free in FREE:
        with open(disk / "filler", "wb") as filler:
            room = os.statvfs(disk)
            filler.write(b"\0" * (room.f_bavail * room.f_frsize - free * 1024))
        ran = build(changed, out)
        told[free] = (ran.status, "the disk is full; nothing was published" in ran.err, state(out) == before)
        (disk / "filler").unlink()
    assert told == dict.fromkeys(FREE, (4, True, True))
    assert shopwindow("verify", first, "--out", out).status == 0
    assert built(changed, out) != first
    assert not (out / ".staging").exists()


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_file_that_may_not_grow_is_a_clear_error_and_changes_nothing(content: Path, out: Path) -> None:
    built(content, out)
    before = state(out)
    command = [sys.executable, "-m", "shopwindow", "build", "--content", str(SAMPLE), "--out", str(out), "--at", AT]
    # Python would cut off the files of compiled modules, too, and others would read these.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, preexec_fn=limited)
    assert (ran.returncode, state(out)) == (4, before)
    words = "a file would be larger than this process may write; nothing was published"
    assert words in ran.stderr, ran.stderr


def test_a_read_only_file_system_is_a_clear_error(content: Path, disk: Path) -> None:
    out = disk / "dist"
    first = built(content, out)
    before = state(out)
    write(content, {"stores/one.yaml": store(1, name="Edited")})
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    ran = [build(content, out), shopwindow("activate", "--latest", "--out", out), build(content, disk / "new")]
    assert [one.status for one in ran] == [4, 4, 4]
    words = re.compile("read-only file system|the file system is read-only", re.IGNORECASE)
    assert [one.err for one in ran if not words.search(one.err)] == []
    assert (current(out), state(out)) == (first, before)
