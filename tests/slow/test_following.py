"""Following a source: what a host serves while its source changes, fails, comes back and lies."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.commands import ends_with_us
from harness.program import OutputBusy, Releases, shopwindow
from harness.servers import environment, follower, metric, own_server
from harness.stores import FolderBucket, folder, published
from harness.waits import PATIENCE, awaited
from shopwindow.delivery.following import LONGEST_PAUSE_SECONDS, PAUSE_JITTER, follow, pause
from shopwindow.delivery.layout import POINTER
from shopwindow.delivery.pointer import POINTER_HEADERS
from shopwindow.delivery.pulling import ReleaseSource, UnsignedSource, WantedChain
from shopwindow.release import pull_notes
from shopwindow.release.moving import Log

Json = Any


@pytest.fixture
def target(tmp_path: Path) -> FolderBucket:
    return folder(tmp_path / "target")


@pytest.fixture
def host(tmp_path: Path) -> Releases:
    return Releases(tmp_path / "host")


@dataclass
class Said:
    """What a follower has informed and reported."""

    well: list[str] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """The faults, but for an activation of the test's that the follower met at work: that depends on the moment."""
        return [fault for fault in self.reported if "another build or activation is at work" not in fault]


@contextmanager
def following(source: FolderBucket | ReleaseSource, host: Releases) -> Iterator[Said]:
    """A follower that looks twenty times a second."""
    said, stopped = Said(), threading.Event()
    log = Log(said.well.append, said.reported.append)
    arguments = {"every": 0.05, "keep": 10, "log": log, "stopped": stopped}
    believed = UnsignedSource(source) if isinstance(source, FolderBucket) else source
    thread = threading.Thread(target=follow, args=(believed, host), kwargs=arguments)
    thread.start()
    try:
        yield said
    finally:
        stopped.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def activated(host: Releases, id: str, action: str) -> None:
    """Activate a release, or roll back to it, as soon as the follower is not at work."""

    def done() -> bool:
        with suppress(OutputBusy), host.lock():
            host.activate(id, action, "somebody did", datetime.now(UTC))
            return True
        return False

    awaited(done)


def test_whatever_becomes_current_is_followed(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    first = published(tmp_path, target)
    with following(target, host) as said:
        awaited(lambda: host.current() == first)
        second = published(tmp_path, target, "Second")
        awaited(lambda: host.current() == second)
        activated(host, first, "activate")
        awaited(lambda: host.current() == second)
    assert said.faults == []
    assert next(line for line in said.well if "is current" in line).startswith(f"release {first[:12]} is current; ")


def test_a_source_that_is_away_leaves_the_release_and_comes_back(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first = published(tmp_path, target)
    with following(target, host) as said:
        awaited(lambda: host.current() == first)
        (tmp_path / "target").rename(tmp_path / "away")
        awaited(lambda: len(said.faults) == 1)
        nothing = f"{target.where}: nothing was published there yet; publish to it, or correct the address"
        assert said.faults == [f"{nothing}; {first[:12]} stays current"]
        note = pull_notes.read(host.out)
        assert note is not None
        assert (note.kind, note.release, bool(note.since)) == ("source", first, True)
        (tmp_path / "away").rename(tmp_path / "target")
        second = published(tmp_path, target, "Second")
        awaited(lambda: host.current() == second)
    note = pull_notes.read(host.out)
    assert note is not None
    assert (note.fault, note.kind, note.since, note.faults["source"] > 0) == ("", "", "", True)
    assert f"{target.where} is followed again" in said.well


def test_whatever_an_attempt_raises_is_reported_and_recorded_and_following_goes_on(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    class Odd(UnsignedSource):
        """A source that meets what nobody thought of, the first three times."""

        attempts = 0

        def current(self, memory: Mapping[str, Any]) -> WantedChain:
            self.attempts += 1
            if self.attempts <= 3:
                raise RecursionError("nobody thought of it")
            return super().current(memory)

    first = published(tmp_path, target)
    source = Odd(target)
    with following(source, host) as said:
        awaited(lambda: said.faults != [])
        note = pull_notes.read(host.out)
        awaited(lambda: host.current() == first)
    text = "RecursionError: nobody thought of it"
    assert said.faults == [f"{text}; `shopwindow pull` once shows where; there is no release yet"]
    assert note is not None
    assert (note.kind, note.fault, note.since != "") == ("program", text, True)
    assert f"{target.where} is followed again" in said.well


def test_a_pinned_host_says_so_once_and_follows_when_it_is_unpinned(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first = published(tmp_path, target)
    with following(target, host) as said:
        awaited(lambda: host.current() == first)
        activated(host, first, "rollback")
        second = published(tmp_path, target, "Second")
        awaited(lambda: said.faults != [])
        time.sleep(0.3)
        assert said.faults == [f"release {second[:12]} is here, but this host is pinned; unpin it"]
        assert host.current() == first
        activated(host, first, "activate")
        awaited(lambda: host.current() == second)


def test_pauses_double_while_attempts_fail_and_differ_between_hosts() -> None:
    for failures, seconds in [(0, 30), (1, 60), (2, 120), (3, 240), (4, 300), (9, 300), (5000, 300)]:
        pauses = {pause(30.0, failures) for _ in range(100)}
        assert len(pauses) > 50
        assert seconds * (1 - PAUSE_JITTER) <= min(pauses) <= max(pauses) <= seconds * (1 + PAUSE_JITTER)
    assert pause(3600, 5) <= 3600 * (1 + PAUSE_JITTER)
    assert LONGEST_PAUSE_SECONDS == 300


# -- the commands ----------------------------------------------------------------------------------------------------


def lines(file: Path) -> list[Json]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_follower_ends_cleanly_at_a_signal(
    tmp_path: Path, target: FolderBucket, host: Releases, number: signal.Signals
) -> None:
    first = published(tmp_path, target)
    command = [sys.executable, "-m", "shopwindow", "pull", target.where, "--out", str(host.out), "--follow"]
    with open(tmp_path / "err", "wb") as err:
        process = subprocess.Popen(command, stderr=err, env=environment(), preexec_fn=ends_with_us)
    awaited(lambda: host.current() == first)
    awaited(lambda: pull_notes.read(host.out) is not None)
    process.send_signal(number)
    assert process.wait(PATIENCE) == 0
    said = [line["message"] for line in lines(tmp_path / "err")]
    assert said[0] == f"following {target.where}, every 30 s"
    assert re.fullmatch(rf"release {first[:12]} is current; fetched \d+ objects, \d+ KiB", said[1])


def test_a_new_host_becomes_ready_from_nothing_and_says_what_is_wrong(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    pull = follower(tmp_path / "pull", host.out, target.where, "--every", "0.1")
    with pull, own_server(tmp_path / "server", host.out, "--workers", "1") as server:
        assert server.told("/readyz").status == 503
        began = int(time.time())  # the note of a pull has whole seconds
        first = published(tmp_path, target)
        awaited(lambda: server.told("/readyz").status == 200)
        assert json.loads(server.told("/readyz").body)["id"] == first
        awaited(lambda: server.told("/checks/pull").status == 200)

        data = (tmp_path / "target" / POINTER).read_bytes()
        target.overwrite(POINTER, data.replace(b'"format":2', b'"format":3'), POINTER_HEADERS)
        awaited(lambda: server.told("/checks/pull").status == 503)
        pulls = json.loads(server.told("/checks/pull").body)
        assert (pulls["ok"], pulls["kind"], pulls["source"]) == (False, "newer", target.where)
        assert server.told("/readyz").status == 200
        assert "current.json has format 3; this program reads up to 2: update it" in pulls["fault"]
        assert metric(server, "shopwindow_pull_success") == 0
        assert (metric(server, "shopwindow_pull_faults_total", kind="newer") or 0) > 0
        assert metric(server, "shopwindow_pull_faults_total", kind="damaged") == 0
        age = metric(server, "shopwindow_pull_age_seconds")
        assert age is not None
        assert 0 <= age <= time.time() - began

        target.overwrite(POINTER, data, POINTER_HEADERS)
        second = published(tmp_path, target, "Second")
        awaited(lambda: json.loads(server.told("/readyz").body)["id"] == second)
        awaited(lambda: metric(server, "shopwindow_pull_success") == 1)


@pytest.mark.parametrize(
    ("source", "status", "sentence"),
    [
        ("nowhere", 2, "'nowhere' is no address (s3://BUCKET/PREFIX"),
        ("s3://key:secret@bucket", 2, "a target's address holds no secret"),
    ],
)
def test_what_is_no_source_is_refused_before_anything_starts(
    tmp_path: Path, source: str, status: int, sentence: str
) -> None:
    ran = shopwindow("pull", source, "--follow", cwd=tmp_path)
    assert (ran.status, ran.out, sentence in ran.err) == (status, "", True), ran
    assert list(tmp_path.iterdir()) == []
