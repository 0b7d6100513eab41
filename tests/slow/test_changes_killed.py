"""`catalog import --changes` killed at any moment, and on a full disk; of a file and of a folder."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from children import ends_with_us
from releases import shopwindow
from shopwindow.catalog.feed_files import FeedFiles
from shopwindow.catalog.marks import FeedMarks
from test_changes import brand, changes, marked
from test_changes_in_folders import parts

COUNT = 4000
KILLS = 12

Files = dict[str, bytes]


def one_file(folder: Path) -> Path:
    return marked(folder, *map(brand, range(1, COUNT)))


def several_files(folder: Path) -> Path:
    a, b, c = ([brand(number) for number in range(first, COUNT, 3)] for first in (1, 2, 3))
    return parts(folder, {"a.jsonl": a, "b.jsonl.gz": b, "c.jsonl.zst": c})


def content_of(feed: Path) -> Files:
    """The bytes of each file."""
    files = FeedFiles(feed)
    return {name: (files.root / name).read_bytes() for name in files.names()}


@pytest.mark.parametrize("created", [one_file, several_files])
def test_a_command_that_is_killed_leaves_one_of_two_feeds_with_its_mark(
    tmp_path: Path, created: Callable[[Path], Path]
) -> None:
    feed = created(tmp_path)
    upserts = [{"upsert": brand(number, "New")} for number in range(1, COUNT + 9, 2)]
    (tmp_path / "c.jsonl").write_bytes(changes(*upserts))
    before = content_of(feed)
    arguments = ["catalog", "import", "--changes", "c.jsonl", "--out", str(feed.relative_to(tmp_path))]

    def started() -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "shopwindow", *arguments]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, preexec_fn=ends_with_us)

    begun = time.monotonic()
    whole = started()
    assert whole.wait() == 0
    takes = time.monotonic() - begun
    after = content_of(feed)
    assert after.keys() == before.keys()
    assert all(after[name] != before[name] for name in before)

    moments = random.Random(20261122)
    for _ in range(KILLS):
        for name, data in before.items():
            (FeedFiles(feed).root / name).write_bytes(data)
        process = started()
        time.sleep(moments.uniform(0, takes))
        process.send_signal(signal.SIGKILL)
        process.wait()
        current = content_of(feed), FeedMarks(feed).current()[-1]
        assert current in ((before, "m1"), (after, "m2"))
    assert shopwindow(*arguments, cwd=tmp_path).status == 0
    assert (content_of(feed), FeedMarks(feed).current()[-1]) == (after, "m2")
    assert not list(feed.parent.glob(".*.changing"))


@pytest.mark.parametrize(
    ("most", "changed"), [(0, COUNT), (4096, COUNT), (60_000, 3)], ids=["nothing", "a page", "a part of the feed"]
)
@pytest.mark.parametrize("created", [one_file, several_files])
def test_a_full_disk_is_a_sentence_and_the_feed_is_as_it_was(
    tmp_path: Path, created: Callable[[Path], Path], most: int, changed: int
) -> None:
    feed = created(tmp_path)
    out = str(feed.relative_to(tmp_path))
    before = content_of(feed)
    upserts = [{"upsert": brand(number, "N")} for number in range(1, changed)]
    (tmp_path / "c.jsonl").write_bytes(changes(*upserts))

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = [sys.executable, "-m", "shopwindow", "catalog", "import", "--changes", "c.jsonl", "--out", out]
    # Python would cut off the files of compiled modules, too, and others would read these.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, preexec_fn=full, check=False
    )
    assert (ran.returncode, ran.stdout) == (4, "")
    assert ran.stderr.startswith("shopwindow: ")
    assert f"{out} is as it was" in ran.stderr
    assert (content_of(feed), FeedMarks(feed).current()) == (before, ("m1",))
    assert not list(feed.parent.glob(".*.changing"))
