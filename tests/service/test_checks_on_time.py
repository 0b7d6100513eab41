"""`/checks/release` fails while `current` is behind its chain, and while the clock may be wrong."""

import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.commands import ends_with_us
from harness.content import small, store, write
from harness.program import Releases, admin_of, built, served, shopwindow
from harness.waits import awaited
from shopwindow.release.chain import Chain, Link

SECOND = timedelta(seconds=1)


@pytest.fixture
def three(tmp_path: Path) -> Sequence[str]:
    """The ids of three releases in `dist`, of which the first is current and nothing follows."""
    content, out = write(tmp_path / "content", small()), tmp_path / "dist"
    ids = [built(write(content, {"stores/one.yaml": store(1, name=name)}), out) for name in "ABC"]
    Releases(out).activate(ids[0], "activate", "", datetime.now(UTC))
    return ids


def lead(out: Path, ids: Sequence[str], *starts: timedelta, made: timedelta = timedelta()) -> None:
    """Make a chain of releases that begin at these times from now on; the history says that it was ``made`` then."""
    now = datetime.now(UTC)
    chain = Chain(tuple(Link(id, now + start) for id, start in zip(ids, starts, strict=False)))
    Releases(out).activate(ids[0], "build", "build", now + made, chain)


def checked(out: Path) -> tuple[int, Any]:
    response = admin_of(served(out), out, out).answer("/checks/release")
    return response.status, json.loads(response.body)


def well(id: str) -> tuple[int, Any]:
    return 200, {"ok": True, "current": id, "id": id, "fault": ""}


def test_a_release_of_the_chain_that_is_in_force_is_well(tmp_path: Path, three: Sequence[str]) -> None:
    out = tmp_path / "dist"
    assert checked(out) == well(three[0])
    lead(out, three, -60 * SECOND, 3600 * SECOND)
    assert checked(out) == well(three[0])
    lead(out, three, -60 * SECOND, -2 * SECOND)  # a move takes a second, and may take some more
    assert checked(out) == well(three[0])


def test_one_that_is_behind_is_not(tmp_path: Path, three: Sequence[str]) -> None:
    out = tmp_path / "dist"
    lead(out, three, -3600 * SECOND, -1800 * SECOND, -60 * SECOND)
    status, said = checked(out)
    assert (status, said["ok"], said["current"], said["id"]) == (503, False, three[0], three[0])
    assert said["fault"].startswith(f"release {three[2][:12]} is in force since ")
    assert "does `activate --follow` or `pull --follow` run" in said["fault"]
    assert shopwindow("activate", "current", "--out", out).status == 0  # nothing follows what an operator chose
    assert checked(out) == well(three[0])


def test_whatever_keeps_the_link_from_moving_is_a_failed_check_until_it_moves(
    tmp_path: Path, three: Sequence[str]
) -> None:
    """Here it is a clock that reads earlier than when the chain was made."""
    out = tmp_path / "dist"
    early = partial(lead, out, three, -60 * SECOND, 7200 * SECOND, made=3600 * SECOND)
    early()
    command = [sys.executable, "-m", "shopwindow", "activate", "--follow", "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=ends_with_us) as mover:
        try:
            awaited(lambda: checked(out)[0] == 503)
            assert checked(out)[1]["fault"].startswith("this host's clock reads earlier than ")
            lead(out, three, -60 * SECOND, 7200 * SECOND)
            awaited(lambda: checked(out) == well(three[0]))
            early()
            awaited(lambda: checked(out)[0] == 503)
        finally:
            mover.terminate()
    assert checked(out) == well(three[0])  # nobody is at it, and nothing is due


def test_where_nothing_follows_no_clock_is_asked(tmp_path: Path, three: Sequence[str]) -> None:
    out = tmp_path / "dist"
    lead(out, three[:1], -60 * SECOND, made=3600 * SECOND)
    assert checked(out) == well(three[0])
