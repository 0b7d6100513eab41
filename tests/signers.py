"""What tests of signed targets share: publishers that sign, alone and two at once, and hosts that verify."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from delivered import current, release
from objectstores import lacking
from releases import shopwindow
from shopwindow.delivery import layout, roots, signed_publishing, upkeep
from shopwindow.delivery.bucket import Bucket, Headers, Stored, Version
from shopwindow.delivery.keys import KeySource
from shopwindow.delivery.opening import opened
from shopwindow.delivery.outgoing import Outgoing, outgoing
from shopwindow.delivery.publishing import PublishOptions
from shopwindow.delivery.pulling import pull
from shopwindow.delivery.signing import Signing
from shopwindow.delivery.source import PullFault
from shopwindow.delivery.targets import parse
from shopwindow.delivery.verifying import SignedSource
from shopwindow.problems import Failure
from shopwindow.release.releases import Releases
from shopwindow.release.verify import verify


def at(address: str) -> Bucket:
    return opened(parse(address), os.environ)


def keys_in(work: Path) -> Path:
    roots.init(work / "keys", keys=1, threshold=1, passphrase="", moment=datetime.now(UTC))
    return work / "keys"


def signing(keys: Path) -> Signing:
    return Signing(keys, KeySource(keys, {}))


def source(bucket: Bucket, keys: Path, host: Path) -> SignedSource:
    """What a host believes that was given the first root."""
    return SignedSource(bucket, (keys / "1.root.json").read_bytes(), host / "trusted")


def pulled(bucket: Bucket, keys: Path, host: Path) -> str:
    """What a host pulls that verifies; every byte of it is as it was signed."""
    id = pull(source(bucket, keys, host), Releases(host)).id
    assert (Releases(host).current(), verify(Releases(host), id)) == (id, [])
    return id


class Later:
    """A store three days later: whatever was stored is as much older, and nothing else changes."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def read(self, key: str) -> Stored | None:
        stored = self._bucket.read(key)
        return stored and replace(stored, modified=stored.modified + timedelta(days=3))


def live(target: str, tmp_path: Path) -> None:
    """Let a target be signed, pulled from, rolled back, verified and pruned, as people and hosts do by commands."""
    keys, host = tmp_path / "keys", tmp_path / "host"
    assert shopwindow("keys", "init", keys).status == 0

    def publish(*options: str) -> str:
        done = shopwindow("publish", target, "--out", tmp_path / "dist", "--keys", keys, *options)
        assert (done.status, done.err) == (0, ""), done
        return done.out

    def hosts() -> str | None:
        done = shopwindow("pull", target, "--out", host, "--root", keys / "root.json")
        assert (done.status, done.err) == (0, ""), done
        return Releases(host).current()

    first = release(tmp_path)
    assert f"release {first[:12]}: signed, targets number 1" in publish()
    assert hosts() == first
    second = release(tmp_path, "Second")
    assert f"release {second[:12]}: signed, targets number 2" in publish()
    assert hosts() == second
    assert f"release {second[:12]}: signed, targets number 2" in publish("--renew")
    assert f"release {first[:12]}: signed, targets number 3" in publish("--rollback")
    assert hosts() == first
    assert f"release {first[:12]} is intact" in publish("--verify")
    publish("--unpin")
    shopwindow("keys", "rotate", keys, "timestamp")
    third = release(tmp_path, "Third")
    assert f"release {third[:12]}: signed, targets number 4" in publish()
    assert hosts() == third
    assert "0 releases and 0 objects deleted, 3 releases kept" in publish("--prune", "1")

    bucket = at(target)
    assert sorted(upkeep.prune(Later(bucket), 1).deleted) == sorted([first, second])
    numbered = ("1.root", "2.root", "4.targets", "4.snapshot", "timestamp")
    assert {item.key for item in bucket.listing(layout.METADATA)} == {f"metadata/{name}.json" for name in numbered}
    assert f"release {third[:12]} is intact" in publish("--verify")
    assert pulled(bucket, keys, tmp_path / "another") == third
    status = shopwindow("keys", "status", keys, target)
    assert (status.status, "timestamp: version 1, until" in status.out) == (0, True)


class Together:
    """A target at which publishers wait for each other before they replace an object, once each."""

    def __init__(self, bucket: Bucket, key: str, barrier: threading.Barrier) -> None:
        self._bucket, self._key, self._barrier = bucket, key, barrier
        self.waits = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def replace(self, key: str, data: bytes, headers: Headers, version: Version | None) -> bool:
        if key == self._key and not self.waits.is_set():
            self.waits.set()
            self._barrier.wait(60)
        return self._bucket.replace(key, data, headers, version)


@contextmanager
def watched(bucket: Bucket, keys: Path, host: Path) -> Iterator[list[str]]:
    """A host that looks all the time what is signed; the list gets what it refuses."""
    refused: list[str] = []
    ended = threading.Event()

    def look() -> None:
        looking = source(bucket, keys, host)
        while not ended.is_set():
            try:
                looking.published(looking.current({}).id)
            except PullFault as fault:
                refused.append(str(fault))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield refused
    finally:
        ended.set()
        thread.join()


def outcome(going: Outgoing, target: object, keys: Path) -> str:
    """What a publisher says in the end."""
    try:
        done, signature = signed_publishing.publish(going, target, signing(keys), PublishOptions(force=True))  # type: ignore[arg-type]
        return f"activated {done.activated}, signed {signature.changed}"
    except Failure as failure:
        return str(failure)


WON = "activated True, signed True"


def raced(bucket: Bucket, keys: Path, key: str, going: list[Outgoing]) -> list[str]:
    """What becomes of two publishers that replace an object at the same moment.

    The second one begins when the first is about to do so, where both would otherwise not come so far.
    """
    barrier = threading.Barrier(2)
    targets = [Together(bucket, key, barrier) for _ in going]
    said = ["", ""]

    def run(number: int) -> None:
        said[number] = outcome(going[number], targets[number], keys)

    threads = [threading.Thread(target=run, args=(number,)) for number in (0, 1)]
    threads[0].start()
    if key == layout.TIMESTAMP:
        assert targets[0].waits.wait(60)
    threads[1].start()
    for thread in threads:
        thread.join()
    return said


def race(target: str, key: str, races: int, tmp_path: Path) -> None:
    """Let two publishers replace one object of a target at the same moment, again and again, while a host looks."""
    keys, bucket = keys_in(tmp_path), at(target)
    older = release(tmp_path, "Older", out="Older")
    names = ("First", "Second")
    ids = [release(tmp_path, name, out=name) for name in names]
    racers = [outgoing(tmp_path / name) for name in names]
    signed_publishing.publish(outgoing(tmp_path / "Older"), bucket, signing(keys))
    with watched(bucket, keys, tmp_path / "watching") as refused:
        for _ in range(races):
            said = raced(bucket, keys, key, racers)
            if current(bucket)["id"] == older:  # a store may refuse both for now; then neither says that it won
                assert WON not in said
                said = raced(bucket, keys, key, racers)
            winner = ids.index(current(bucket)["id"])
            assert said[winner] == WON
            if key == layout.POINTER:
                assert "was faster, and" in said[1 - winner]
                assert "is there, but not activated. If the current one lacks your change" in said[1 - winner]
            else:  # the second one came last to current.json; the first was signed before, or says that it was not
                lost = f"{ids[0][:12]} was not signed. If the current one lacks your change, build again"
                assert (winner, said[0] == WON or lost in said[0]) == (1, True), said
            assert pulled(bucket, keys, tmp_path / "host") == ids[winner]
            signed_publishing.publish(outgoing(tmp_path / "Older"), bucket, signing(keys), PublishOptions(force=True))
    assert refused == []


def wrongly(off: str, *arguments: str | Path) -> str:
    """The sentence with which a command ends on a machine whose clock is so much off."""
    if not shutil.which("faketime"):
        lacking("faketime is not installed")
    command = ["faketime", "-f", off, sys.executable, "-m", "shopwindow", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (4, "", 1), ended
    return ended.stderr.removeprefix("shopwindow: ").rstrip("\n")


def signed_and_pulled(target: str, work: Path) -> tuple[tuple[str | Path, ...], tuple[str | Path, ...]]:
    """Publish to a target, pull from it, and select another release; the commands that a wrong clock is to refuse.

    A timestamp is good for a day, so that a host that is ahead takes it for expired.
    """
    keys, out, host = work / "keys", work / "dist", work / "host"
    publish = ("publish", target, "--keys", keys, "--out", out)
    pull = ("pull", target, "--root", keys / "root.json", "--out", host)
    release(work)
    for command in (("keys", "init", keys, "--expires", "timestamp=1"), publish, pull):
        done = shopwindow(*command)
        assert done.status == 0, done
    release(work, "Second")
    return publish, pull


def stored(target: str) -> dict[str, bytes]:
    bucket = at(target)
    return {item.key: read.data for item in bucket.listing("") if (read := bucket.read(item.key))}
