"""`catalog import --changes` killed at any moment, on a full disk, on a terminal."""

import os
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from children import ends_with_us
from releases import shopwindow
from shopwindow.catalog.marks import FeedMarks
from test_changes import ONE, OUT, brand, changes, marked

BRANDS = 4000
KILLS = 12


def test_a_command_that_is_killed_leaves_one_of_two_feeds_with_its_mark(tmp_path: Path) -> None:
    feed = marked(tmp_path, *map(brand, range(1, BRANDS)))
    upserts = [{"upsert": brand(number, "New")} for number in range(1, BRANDS, 2)]
    (tmp_path / "c.jsonl").write_bytes(changes(*upserts))
    before = feed.read_bytes()
    arguments = ["catalog", "import", "--changes", "c.jsonl", "--out", OUT]

    def started() -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "shopwindow", *arguments]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, preexec_fn=ends_with_us)

    begun = time.monotonic()
    whole = started()
    assert whole.wait() == 0
    takes = time.monotonic() - begun
    after = feed.read_bytes()
    assert after != before

    moments = random.Random(20261122)
    for _ in range(KILLS):
        feed.write_bytes(before)
        process = started()
        time.sleep(moments.uniform(0, takes))
        process.send_signal(signal.SIGKILL)
        process.wait()
        current = feed.read_bytes(), FeedMarks(feed).current()[-1]
        assert current in ((before, "m1"), (after, "m2"))
    assert shopwindow(*arguments, cwd=tmp_path).status == 0
    assert (feed.read_bytes(), FeedMarks(feed).current()[-1]) == (after, "m2")
    assert not list(feed.parent.glob(".*.changing"))


@pytest.mark.parametrize("most", [0, 4096, 200_000], ids=["nothing", "a page", "a part of the feed"])
def test_a_full_disk_is_a_sentence_and_the_feed_is_as_it_was(tmp_path: Path, most: int) -> None:
    feed = marked(tmp_path, *(brand(number) for number in range(1, 5000)))
    before = feed.read_bytes()
    (tmp_path / "c.jsonl").write_bytes(changes(*({"upsert": brand(number, "N")} for number in range(1, 5000))))

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = [sys.executable, "-m", "shopwindow", "catalog", "import", "--changes", "c.jsonl", "--out", OUT]
    # Python would cut off the files of compiled modules, too, and others would read these.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, preexec_fn=full, check=False
    )
    assert (ran.returncode, ran.stdout) == (4, "")
    assert ran.stderr.startswith("shopwindow: ")
    assert f"{OUT} is as it was" in ran.stderr
    assert (feed.read_bytes(), FeedMarks(feed).current()) == (before, ("m1",))
    assert not list(feed.parent.glob(".*.changing"))


def test_a_terminal_shows_how_many_rows_were_read(tmp_path: Path) -> None:
    marked(tmp_path, *(brand(number) for number in range(1, 30_000)))
    (tmp_path / "c.jsonl").write_bytes(changes(ONE))
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "shopwindow", "catalog", "import", "--changes", "c.jsonl", "--out", OUT]
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=other, env=environment)
    os.close(other)
    drawn = b""
    with suppress(OSError):  # how Linux says that nobody writes any more
        while data := os.read(terminal, 4096):
            drawn += data
    os.close(terminal)
    assert process.wait() == 0
    assert re.search(rb"importing changes: [0-9,]+ rows", drawn)
    assert drawn.endswith(b"\r\x1b[K")
