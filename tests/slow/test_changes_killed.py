"""`catalog import --changes` killed at any moment: the feed of before or of after, and a mark that is its own."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from children import ends_with_us
from releases import shopwindow
from shopwindow.catalog.marks import FeedMarks
from test_changes import OUT, brand, changes, marked

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
