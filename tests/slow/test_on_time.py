"""Hosts move to what was built ahead at its instants, by processes of their own and with everything else away."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from harness.commands import ends_with_us
from harness.content import small, store, write
from harness.program import Releases, built, current, history, shopwindow
from harness.servers import environment, follower
from harness.waits import PATIENCE, awaited
from shopwindow.release.chain import Chain, Link

SECOND = timedelta(seconds=1)
TICK = timedelta(milliseconds=10)
"""A file's time is that of the last tick of the system's clock, of which there are a hundred a second or more."""


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """An output directory with four releases, for copies, and their ids."""
    folder = tmp_path_factory.mktemp("four")
    content = write(folder / "content", small())
    ids = [built(write(content, {"stores/one.yaml": store(1, name=name)}), folder / "dist") for name in "ABCD"]
    return folder / "dist", ids


class Host:
    """An output directory of its own, and `activate --follow` on it."""

    def __init__(self, folder: Path, four: tuple[Path, list[str]]) -> None:
        self.out, self.log, self.ids = folder / "dist", folder / "log", four[1]
        shutil.copytree(four[0], self.out, symlinks=True)
        Releases(self.out).activate(self.ids[0], "activate", "", datetime.now(UTC))

    def lead(self, *starts: datetime) -> None:
        """Let the other releases follow the first at these instants."""
        now = datetime.now(UTC)
        links = [Link(id, start) for id, start in zip(self.ids, (now - SECOND, *starts), strict=False)]
        Releases(self.out).activate(self.ids[0], "build", "build", now, Chain(tuple(links)))

    @contextmanager
    def following(self, **env: str) -> Iterator["subprocess.Popen[bytes]"]:
        command = [sys.executable, "-m", "shopwindow", "activate", "--follow", "--out", str(self.out)]
        with self.log.open("ab") as log:
            process = subprocess.Popen(command, stderr=log, env=environment(**env), preexec_fn=ends_with_us)
        try:
            awaited(lambda: "following what was built ahead" in self.said())
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(PATIENCE)

    def said(self) -> str:
        return self.log.read_text()

    def moves(self) -> list[str]:
        return [line["id"] for line in history(self.out) if line["action"] == "ahead"]

    def moved(self) -> datetime:
        """When the link was made that is there now."""
        return link_made(self.out)


def link_made(out: Path) -> datetime:
    return datetime.fromtimestamp(os.lstat(out / "current").st_mtime, UTC)


def became_current(host: Host, id: str) -> bool:
    return current(host.out) == id


def assert_in_time(host: Host, id: str, since: datetime) -> None:
    """Wait until a release is current on a host: the link was made within a second, and not before."""
    awaited(partial(became_current, host, id))
    late = host.moved() - since
    assert -TICK <= late <= SECOND, f"{host.out.parent.name}: {late}"


@pytest.mark.alone
def test_three_hosts_move_within_a_second_also_one_that_was_started_again_and_one_that_slept(
    tmp_path: Path, four: tuple[Path, list[str]]
) -> None:
    steady, killed, slept = hosts = [Host(tmp_path / name, four) for name in ("steady", "killed", "slept")]
    first, second, third, fourth = four[1]
    with ExitStack() as stack:
        _, process, sleeper = [stack.enter_context(host.following()) for host in hosts]
        starts = [datetime.now(UTC) + seconds * SECOND for seconds in (4, 8, 12)]
        for host in hosts:
            host.lead(*starts)
        process.kill()
        sleeper.send_signal(signal.SIGSTOP)
        assert_in_time(steady, second, starts[0])
        assert [current(host.out) for host in (killed, slept)] == [first, first]
        stack.enter_context(killed.following())
        awaited(partial(became_current, killed, second))
        assert_in_time(steady, third, starts[1])
        assert_in_time(killed, third, starts[1])
        assert current(slept.out) == first
        gone_on = datetime.now(UTC)
        sleeper.send_signal(signal.SIGCONT)
        assert_in_time(slept, third, gone_on)
        for host in hosts:
            assert_in_time(host, fourth, starts[2])
    assert steady.moves() == killed.moves() == [second, third, fourth]
    assert slept.moves() == [third, fourth]


def test_a_rollback_between_two_instants_stays(tmp_path: Path, four: tuple[Path, list[str]]) -> None:
    host = Host(tmp_path, four)
    with host.following():
        host.lead(datetime.now(UTC), datetime.now(UTC) + 3 * SECOND)
        awaited(lambda: current(host.out) == host.ids[1])
        assert shopwindow("rollback", host.ids[0], "--out", host.out).status == 0
        awaited(lambda: datetime.now(UTC) > host.moved() + 4 * SECOND)
        assert current(host.out) == host.ids[0]
        assert Releases(host.out).pinned()


@pytest.mark.alone
def test_hosts_that_pull_move_within_a_second_with_builder_and_target_away(
    tmp_path: Path, four: tuple[Path, list[str]]
) -> None:
    builder = Host(tmp_path / "builder", four)
    _, second, third, _ = builder.ids
    starts = [datetime.now(UTC) + seconds * SECOND for seconds in (12, 15)]
    builder.lead(*starts)
    target, outs = tmp_path / "target", [tmp_path / "one", tmp_path / "two"]
    assert shopwindow("publish", f"file://{target}", "--out", builder.out).status == 0
    shutil.rmtree(builder.out)
    with ExitStack() as stack:
        for out in outs:
            pulls = follower(tmp_path / f"log-{out.name}", out, f"file://{target}", "--every", "0.2")
            stack.enter_context(pulls)
        awaited(lambda: all(ahead(out) == [second, third] for out in outs), lambda: list(map(ahead, outs)))
        target.rename(tmp_path / "away")
        for start, id in zip(starts, (second, third), strict=True):
            awaited(lambda id=id: [current(out) for out in outs] == [id, id])  # type: ignore[misc]
            late = [link_made(out) - start for out in outs]
            assert -TICK <= min(late) <= max(late) <= SECOND, late
    for out in outs:
        moves = [line["id"] for line in history(out) if line["action"] == "ahead"]
        assert moves == [second, third]


def ahead(out: Path) -> list[str]:
    """The releases that follow the current one of an output directory."""
    chain = Releases(out).chain()
    return [link.id for link in chain.links[1:]] if chain else []


def test_a_host_that_pulls_follows_a_rollback_between_two_instants(
    tmp_path: Path, four: tuple[Path, list[str]]
) -> None:
    builder = Host(tmp_path / "builder", four)
    first, second, *_ = builder.ids
    builder.lead(datetime.now(UTC) + 10 * SECOND, datetime.now(UTC) + 14 * SECOND)
    target, out = f"file://{tmp_path}/target", tmp_path / "host"
    assert shopwindow("publish", target, "--out", builder.out).status == 0
    with follower(tmp_path / "log", out, target, "--every", "0.2"):
        awaited(lambda: Releases(out).current() == second)
        assert shopwindow("rollback", "--target", target).status == 0
        awaited(lambda: current(out) == first)
        awaited(lambda: datetime.now(UTC) > link_made(out) + 6 * SECOND)
        assert (current(out), ahead(out)) == (first, [])


def test_a_clock_that_jumps_moves_nothing_on_a_host_that_pulls(tmp_path: Path, four: tuple[Path, list[str]]) -> None:
    builder = Host(tmp_path / "builder", four)
    first, second, *_ = builder.ids
    builder.lead(soon(1))
    target, out = f"file://{tmp_path}/target", tmp_path / "host"
    assert shopwindow("publish", target, "--out", builder.out).status == 0
    log = tmp_path / "log" / "pull"
    with follower(tmp_path / "log", out, target, "--every", "0.2", **faked(tmp_path, "+0")):
        awaited(lambda: ahead(out) == [second])
        time.sleep(1)  # some looks at the right time
        set_clock(tmp_path, "+2d")
        awaited(lambda: "has jumped by +2.0 days" in log.read_text(), log.read_text)
        awaited(lambda: log.stat().st_mtime < time.time() - 2)  # looks at the target among them
        assert (current(out), ahead(out)) == (first, [second])


def test_a_signal_ends_it(tmp_path: Path, four: tuple[Path, list[str]]) -> None:
    with Host(tmp_path, four).following() as process:
        process.terminate()
        assert process.wait(PATIENCE) == 0


# -- killed in a move --------------------------------------------------------------------------------------------

MOVE = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from shopwindow.release import history, releases

def killed(*arguments, **more):
    os.kill(os.getpid(), signal.SIGKILL)

def after(function):
    return lambda *arguments: (function(*arguments), killed())

out, step = Path(sys.argv[1]), sys.argv[2]
if step == "before the line": history.add = killed
if step == "after the line": history.add = after(history.add)
if step == "before the link": os.replace = killed
if step == "after the link": os.replace = after(os.replace)
if step == "before the sync": releases.synchronize = killed
releases.Releases(out).move_ahead(datetime.now(UTC))
"""

STEPS = ["before the line", "after the line", "before the link", "after the link", "before the sync"]


@pytest.mark.parametrize("step", STEPS)
def test_a_move_that_is_killed_leaves_the_old_or_the_new(
    tmp_path: Path, four: tuple[Path, list[str]], step: str
) -> None:
    host = Host(tmp_path, four)
    first, second, third, _ = host.ids
    later = datetime.now(UTC) + timedelta(hours=1)
    host.lead(datetime.now(UTC), later)
    command = [sys.executable, "-c", MOVE, str(host.out), step]
    done = subprocess.run(command, env=environment(), capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    is_new = step in ("after the link", "before the sync")
    assert current(host.out) == (second if is_new else first)
    with host.following():  # as a unit does that starts it again
        awaited(lambda: current(host.out) == second)
    chain = Releases(host.out).chain()
    assert chain
    assert [link.id for link in chain.links] == [second, third]
    Releases(host.out).reconcile()
    assert current(host.out) == second
    assert list(host.out.glob(".current*")) == []


# -- clocks ------------------------------------------------------------------------------------------------------


def faked(tmp_path: Path, offset: str) -> dict[str, str]:
    """The environment of a process whose clock is off by what a file says, which may be written again."""
    libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        pytest.skip("there is no libfaketime here")
    set_clock(tmp_path, offset)
    return {
        "LD_PRELOAD": str(libraries[0]),
        "FAKETIME_TIMESTAMP_FILE": str(tmp_path / "clock"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


def set_clock(tmp_path: Path, offset: str) -> None:
    draft = tmp_path / "clock.draft"
    draft.write_text(f"{offset}\n")
    draft.rename(tmp_path / "clock")


def soon(hours: float) -> datetime:
    return datetime.now(UTC) + timedelta(hours=hours)


def test_a_clock_an_hour_ahead_moves_by_that_hour(tmp_path: Path, four: tuple[Path, list[str]]) -> None:
    host = Host(tmp_path, four)
    host.lead(soon(0.5), soon(2))
    with host.following(**faked(tmp_path, "+1h")):
        awaited(lambda: current(host.out) == host.ids[1])
    assert host.moves() == [host.ids[1]]


def test_a_clock_an_hour_late_moves_nothing_and_says_so_once(tmp_path: Path, four: tuple[Path, list[str]]) -> None:
    host = Host(tmp_path, four)
    host.lead(soon(-0.0001))
    with host.following(**faked(tmp_path, "-1h")):
        awaited(lambda: "clock reads earlier than" in host.said())
        time.sleep(3)  # more than one further look
        assert host.said().count("clock reads earlier than") == 1
        assert host.moves() == []
        set_clock(tmp_path, "+0")
        awaited(lambda: current(host.out) == host.ids[1])


@pytest.mark.parametrize(("offset", "words"), [("+2d", "has jumped by +2.0 days"), ("-2d", "reads earlier than")])
def test_a_clock_that_jumps_by_two_days_moves_nothing(
    tmp_path: Path, four: tuple[Path, list[str]], offset: str, words: str
) -> None:
    host = Host(tmp_path, four)
    host.lead(soon(1), soon(2))
    with host.following(**faked(tmp_path, "+0")):
        time.sleep(1)  # some looks at the right time
        set_clock(tmp_path, offset)
        awaited(lambda: words in host.said(), host.said)
        assert host.moves() == []
        set_clock(tmp_path, "+3h")  # by which both instants have come: a clock in doubt stays so
        awaited(lambda: json.loads(host.said().splitlines()[-1])["message"].startswith("this host's clock has jumped"))
        assert host.moves() == []
        assert shopwindow("activate", host.ids[3], "--out", host.out).status == 0
        awaited(lambda: "are followed again" in host.said())
