"""Facts about full file systems: what is full is called by its name, be it TMPDIR, a disk, or a disk's inodes."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.content import ROOT
from harness.program import Ran
from shopwindow.content.reading.scratch import ADVICE, NO_ROOM, scratch
from shopwindow.problems import Failure, exhausted

CATALOG = ROOT / "content"


def small(folder: Path, options: str, fill: str, *command: str | Path, cache: str | None = None) -> Ran:
    """Run a command in a mount namespace where ``folder`` is a small file system of its own; ``fill`` runs before it.

    TMPDIR lies there, and ``cache`` below it is the user's: rows of the catalog that it does not take go to TMPDIR.
    Skips where no file system may be mounted.
    """
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root mounts a small file system")
    folder.mkdir(parents=True, exist_ok=True)
    mounted = f"mount -t tmpfs -o {options},mode=1777 none {folder} && {{ {fill}; }} || exit 99"
    script = f'{mounted}; exec "$@"'
    line = ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-m", "shopwindow", *map(str, command)]
    env = {**os.environ, "TMPDIR": str(folder)}
    if cache:
        env["XDG_CACHE_HOME"] = str(folder / cache)
    done = subprocess.run(line, capture_output=True, text=True, env=env)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr}")
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Content whose catalog is too large to be looked at in memory: 20,000 reviews more."""
    content = Path(shutil.copytree(CATALOG, tmp_path / "content"))
    reviews = content / "catalog/reviews.jsonl"
    review = json.loads(reviews.read_text().splitlines()[0])
    with open(reviews, "a") as file:
        file.writelines(json.dumps({**review, "id": f"LV{number}"}) + "\n" for number in range(100_000, 120_000))
    return content


FULL = "dd if=/dev/zero of=$TMPDIR/filled bs=1k count=10000 2>/dev/null; true"
"""A file that takes all the room that there is."""
NEARLY = "dd if=/dev/zero of=$TMPDIR/filled bs=1k count=900 2>/dev/null; true"


@pytest.mark.parametrize("fill", [FULL, NEARLY])
@pytest.mark.parametrize("command", ["check", "build"])
def test_a_full_tmpdir_is_called_by_its_name(large: Path, tmp_path: Path, command: str, fill: str) -> None:
    more = ["--out", str(tmp_path / "dist")] if command == "build" else []
    ran = small(tmp_path / "tmp", "size=1m", fill, command, "--content", large, *more, cache="cache")
    assert ran.status == 4, ran
    assert ran.err.startswith(f"shopwindow: TMPDIR, {tmp_path}/tmp: the disk is full; nothing was done.")
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "dist/current").exists()


def test_a_tmpdir_without_inodes_is_called_so(large: Path, tmp_path: Path) -> None:
    options = "size=50m,nr_inodes=3"
    ran = small(tmp_path / "tmp", options, "true", "check", "--jobs", "2", "--content", large, cache="cache")
    assert ran.status == 4, ran
    assert ran.err.startswith(f"shopwindow: TMPDIR, {tmp_path}/tmp: no inodes are left")


@pytest.mark.parametrize("number", NO_ROOM)
def test_a_tmpdir_that_takes_no_folder_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    parent = tempfile.gettempdir()  # it took a file once, as a process that goes on for days has seen

    def refuse(path: str, *mode: int) -> None:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(Failure, match=f"^TMPDIR, {parent}: ") as refused, scratch():
        pass
    assert ADVICE in str(refused.value)


def test_releases_without_inodes_are_called_so(tmp_path: Path) -> None:
    out = tmp_path / "disk/dist"
    ran = small(tmp_path / "disk", "size=50m,nr_inodes=40", "true", "build", "--content", CATALOG, "--out", out)
    assert ran.status == 4, ran
    assert "no inodes are left: there is room on the disk, but for no more files" in ran.err
    assert "nothing was published" in ran.err


def test_a_full_disk_of_releases_is_called_so(tmp_path: Path) -> None:
    out = tmp_path / "disk/dist"
    ran = small(tmp_path / "disk", "size=300k", "true", "build", "--content", CATALOG, "--out", out)
    assert ran.status == 4, ran
    assert "the disk is full; nothing was published" in ran.err


def test_where_there_is_room_nothing_is_exhausted(tmp_path: Path) -> None:
    assert exhausted(tmp_path / "not/there/yet") is None
