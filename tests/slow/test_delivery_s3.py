"""Publishing to a real S3 on loopback: races, kills, what is sent, and what operators are told."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.content import event, site, store, write
from harness.program import built, shopwindow
from harness.stores import (
    BUCKET,
    NAMES,
    READER,
    Bucket,
    Headers,
    Outgoing,
    Store,
    Version,
    assert_decides,
    assert_lives,
    at,
    between,
    current,
    in_force,
    on_disk,
    outgoing,
    publish,
    reached,
    read,
    release,
    s3,
)
from harness.waits import PATIENCE, awaited
from shopwindow.delivery import layout
from shopwindow.problems import Failure

KILLS = int(os.environ.get("SHOPWINDOW_KILLS", "100")) * 2 // 5
"""Each takes two seconds; every run has other points."""

RACES = 100


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store; in this process, its variables are set, too."""
    with reached(s3(tmp_path_factory.mktemp("s3"))) as store:
        yield store


# -- the operations --------------------------------------------------------------------------------------------------

TEXT = Headers("text/plain", "no-cache")


def test_the_store_decides_who_creates_and_who_replaces(there: Store) -> None:
    assert_decides(at("operations"))


def test_files_of_a_release_keep_their_names(there: Store) -> None:
    bucket, name = at("names"), "v3/promotions;show=a,b&c=d%20e~.json"
    bucket.overwrite(name, b"6", TEXT)
    assert [item.key for item in bucket.listing("v3/")] == [name]
    stored = bucket.read(name)
    assert stored is not None
    assert stored.data == b"6"


def test_a_release_over_its_life(there: Store, tmp_path: Path) -> None:
    assert_lives(at("life"), tmp_path)


# -- what is sent ----------------------------------------------------------------------------------------------------


def test_one_changed_event_of_ten_thousand_is_twenty_requests_and_a_megabyte(there: Store, tmp_path: Path) -> None:
    stores = list(range(1, 301))
    texts = random.Random(17)
    described = [{"shortDesc": texts.randbytes(150).hex()} for _ in range(10_000)]
    events = [
        event(number, [stores[number % 300]], "2026-12-05 10:00", "2026-12-05 12:00", **described[number - 1])
        for number in range(1, 10_001)
    ]
    documents = {
        "site.yaml": site(),
        "stores/all.yaml": [store(number) for number in stores],
        **{f"events/{part}.yaml": events[part * 100 : part * 100 + 100] for part in range(100)},
    }
    built(write(tmp_path / "content", documents), tmp_path / "dist")
    bucket = at("ten-thousand")
    publish(outgoing(tmp_path / "dist"), bucket)
    events[5000]["name"] = "Changed"
    changed = {"events/50.yaml": events[5000:5100]}
    id = built(write(tmp_path / "content", changed), tmp_path / "dist")
    with between(there.port) as counted:
        ran = shopwindow(
            "publish", f"s3://{BUCKET}/ten-thousand", "--out", tmp_path / "dist", env=there.at(counted.port)
        )
    assert (ran.status, ran.err) == (0, "")
    assert len(counted.requests) <= 20, counted.requests
    assert counted.sent + counted.received <= 1_000_000
    assert read(bucket, id) == on_disk(tmp_path / "dist", id)


# -- two publishers --------------------------------------------------------------------------------------------------


class Together:
    """A target whose pointer is replaced first when both publishers are about to do so."""

    def __init__(self, bucket: Bucket, barrier: threading.Barrier) -> None:
        self._bucket, self._barrier = bucket, barrier
        self._waited = threading.local()  # each thread is a publisher, which may come back

    def __getattr__(self, name: str) -> object:
        return getattr(self._bucket, name)

    def replace(self, key: str, data: bytes, headers: Headers, version: Version | None) -> bool:
        if not getattr(self._waited, "here", False):
            self._waited.here = True
            self._barrier.wait(PATIENCE)
        return self._bucket.replace(key, data, headers, version)


def raced(racers: list[Outgoing], bucket: Bucket) -> dict[str, str]:
    """What becomes of two publications that come to the pointer at the same moment, by the release."""
    together, outcomes = Together(bucket, threading.Barrier(2)), {}

    def run(racer: Outgoing) -> None:
        try:
            done = publish(racer, together)  # type: ignore[arg-type] # all else is the bucket's
            outcomes[in_force(racer).id] = f"activated {done.activated}"
        except Failure as failure:
            outcomes[in_force(racer).id] = str(failure)

    threads = [threading.Thread(target=run, args=(racer,)) for racer in racers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_each_of_a_hundred_races_has_one_winner(there: Store, tmp_path: Path) -> None:
    """Every second race is about the first release of a target."""
    base = release(tmp_path, "Older", out="base")
    racers = {release(tmp_path, name, out=name): outgoing(tmp_path / name) for name in ("First", "Second")}
    for race in range(RACES):
        bucket = at(f"race-{race}")
        if race % 2:
            publish(outgoing(tmp_path / "base"), bucket)
        before = current(bucket)
        outcomes = raced(list(racers.values()), bucket)
        if current(bucket) == before:  # a store may refuse both for now; then neither says that it won
            assert not any(outcome.startswith("activated") for outcome in outcomes.values()), outcomes
            outcomes = raced(list(racers.values()), bucket)
        winner = current(bucket)["id"]
        (loser,) = racers.keys() - {winner}
        assert outcomes[winner] == "activated True"
        assert f"was faster, and {winner[:12]} is current; {loser[:12]} is there, but not activated" in outcomes[loser]
        assert [entry["id"] for entry in current(bucket)["history"]] == [base] * (race % 2) + [winner]
        for id in racers:
            assert layout.release_key(id) in {item.key for item in bucket.listing(layout.RELEASES)}


# -- kills -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Killer:
    """Kills a process when its request of that number comes by, ``delay`` seconds later; it ``passes``, or does not."""

    process: subprocess.Popen[bytes]
    point: int
    passes: bool
    delay: float

    def __call__(self, number: int) -> bool:
        if number < self.point:
            return True
        time.sleep(self.delay)
        self.process.send_signal(signal.SIGKILL)
        return self.passes


def test_a_publisher_that_is_killed_anywhere_leaves_a_whole_release(there: Store, tmp_path: Path) -> None:
    """Killed with SIGKILL when a request is about to pass, or just after it has, or somewhat later."""
    print("seed", seed := random.randrange(1 << 32))  # shown where the test fails
    chance = random.Random(seed)
    needed = [_requests(there, tmp_path, name) for name in ("First", "Second")]  # by an empty target, and by another
    points: set[int] = set()
    interrupted = run = 0
    while interrupted < KILLS:
        run += 1
        assert run < 2 * KILLS, "most publishers were done before they were killed"
        prefix = f"kills-{run // 4}"  # a target that is empty at first, for every fourth
        bucket = at(prefix)
        before = current(bucket)
        id = release(tmp_path, NAMES[run % len(NAMES)])
        with between(there.port) as counted:
            point = chance.randint(1, needed[0 if before is None else 1])
            process = _publisher(prefix, tmp_path, there.at(counted.port))
            counted.pass_on = Killer(process, point, chance.random() < 0.5, chance.choice((0, 0, 0.002, 0.01)))
            process.wait(PATIENCE)
            awaited(counted.is_idle)  # what passed has come to the store
        if process.returncode == -signal.SIGKILL:
            points.add(point)
            interrupted += 1
        pointed = current(bucket)
        if pointed is not None:
            assert pointed["id"] in (before and before["id"], id)
            assert read(bucket, pointed["id"]) == on_disk(tmp_path / "dist", pointed["id"])
        if run % 4 == 3:
            for listed in layout.ids(bucket):  # whatever has a manifest is whole, current or not
                assert read(bucket, listed) == on_disk(tmp_path / "dist", listed)
            publish(outgoing(tmp_path / "dist"), bucket)
            assert current(bucket)["id"] == id
    assert len(points) >= min(*needed, KILLS // 4), points


def _publisher(prefix: str, work: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "shopwindow", "publish", f"s3://{BUCKET}/{prefix}", "--out", str(work / "dist")]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env={**os.environ, **environment}, stdout=quiet, stderr=quiet)


def _requests(there: Store, work: Path, name: str) -> int:
    """How many requests it takes to publish a release."""
    release(work, name)
    with between(there.port) as counted:
        assert _publisher("counted", work, there.at(counted.port)).wait(PATIENCE) == 0
    return len(counted.requests)


# -- what operators are told -----------------------------------------------------------------------------------------


def refused(target: str, out: Path, environment: dict[str, str]) -> str:
    """The sentence with which a publication ends; nothing at the store has changed."""
    before = {item.key for item in at("").listing("")}
    clean = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "shopwindow", "publish", target, "--out", str(out)]
    ran = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, timeout=PATIENCE)
    assert {item.key for item in at("").listing("")} == before
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (4, "", 1), ran
    return ran.stderr.removeprefix("shopwindow: ").rstrip("\n")


def test_every_refusal_is_one_sentence_that_says_what_to_do(there: Store, tmp_path: Path) -> None:
    release(tmp_path)
    out, environment, target = tmp_path / "dist", there.environment, f"s3://{BUCKET}/refused"
    without = {name: text for name, text in environment.items() if "KEY" not in name}
    assert "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in refused(target, out, without)
    wrong = {**environment, "AWS_SECRET_ACCESS_KEY": "wrong"}
    assert "the store does not accept the credentials; set AWS_ACCESS_KEY_ID" in refused(target, out, wrong)
    assert "the credentials do not permit it; a publisher lists, reads and writes" in refused(
        target, out, {**environment, **READER}
    )
    assert refused("s3://elsewhere/refused", out, environment) == (
        "s3://elsewhere/refused: cannot read it: there is no such bucket; create it, or correct the target's address"
    )
    away = {**environment, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    assert "the store is not reached; look at AWS_ENDPOINT_URL" in refused(target, out, away)
    at("something-else").create("photos/bag.jpg", b"a bag", TEXT)
    assert "holds something else (photos); publish to a prefix of its own" in refused(
        f"s3://{BUCKET}/something-else", out, environment
    )
