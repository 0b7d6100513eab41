"""Publishing to Azure's blobs: Microsoft's own emulator on loopback."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from delivered import current, on_disk, read, release
from objectstores import BUCKET, Store, azure
from releases import shopwindow
from shopwindow.delivery import activation, layout, pointer, upkeep
from shopwindow.delivery.bucket import Bucket, Headers, Version, open_bucket
from shopwindow.delivery.outgoing import outgoing
from shopwindow.delivery.publishing import publish
from shopwindow.delivery.targets import parse
from signers import live, race

TEXT = Headers("text/plain", "no-cache")
RACERS = 8


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store; in this process, its variables are set, too."""
    with azure(tmp_path_factory.mktemp("azure")) as store, pytest.MonkeyPatch.context() as patch:
        for name, text in store.environment.items():
            patch.setenv(name, text)
        yield store


def at(prefix: str) -> Bucket:
    """The target at a prefix of the store's container."""
    return open_bucket(parse(f"az://{BUCKET}/{prefix}"), os.environ)


def test_the_store_decides_who_creates_and_who_replaces(there: Store) -> None:
    bucket = at("operations")
    assert bucket.read("a/b") is None
    assert bucket.create("a/b", b"1", TEXT)
    assert not bucket.create("a/b", b"2", TEXT)
    first = bucket.read("a/b")
    assert first is not None
    assert (first.data, bucket.replace("a/b", b"3", TEXT, first.version)) == (b"1", True)
    assert not bucket.replace("a/b", b"4", TEXT, first.version)
    assert not bucket.replace("a/b", b"4", TEXT, None)
    assert sorted(item.key for item in bucket.listing("a/")) == ["a/b"]
    assert (bucket.folders(""), bucket.folders("a/")) == (["a"], ["b"])
    bucket.delete(["a/b", "a/gone"])
    assert bucket.read("a/b") is None


def _replace(bucket: Bucket, version: Version, together: threading.Barrier, body: bytes) -> bool:
    together.wait(60)
    return bucket.replace("current.json", body, TEXT, version)


def test_of_many_who_replace_the_same_version_one_wins(there: Store) -> None:
    bucket = at("race")
    bucket.create("current.json", b"0", TEXT)
    for _ in range(10):
        stored = bucket.read("current.json")
        assert stored is not None
        bodies = [b"%d" % number for number in range(RACERS)]
        with ThreadPoolExecutor(RACERS) as threads:
            won = list(threads.map(partial(_replace, bucket, stored.version, threading.Barrier(RACERS)), bodies))
        assert sorted(won) == [False] * (RACERS - 1) + [True]


def test_a_release_over_its_life(there: Store, tmp_path: Path) -> None:
    bucket = at("life")
    first = release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    second = release(tmp_path, "Second")
    publish(outgoing(tmp_path / "dist"), bucket)
    for id in (first, second):
        assert read(bucket, id) == on_disk(tmp_path / "dist", id)
    assert activation.roll_back(bucket, None).id == first
    assert upkeep.verify(bucket) == (first, [])
    assert [one.id for one in upkeep.listing(bucket)] == [second, first]
    assert upkeep.prune(bucket, 1).deleted == []
    assert (current(bucket)["pinned"], pointer.read(bucket).version is None) == (True, False)


def test_a_container_that_does_not_exist_is_a_sentence(there: Store, tmp_path: Path) -> None:
    release(tmp_path)
    ran = shopwindow("publish", "az://elsewhere/a", "--out", tmp_path / "dist", env=there.environment)
    assert (ran.status, ran.out) == (4, "")
    assert "there is no such bucket; create it, or correct the target's address" in ran.err


def test_a_signed_release_over_its_life(there: Store, tmp_path: Path) -> None:
    live(f"az://{BUCKET}/signed", tmp_path)


def test_of_two_signers_one_wins_and_hosts_always_verify(there: Store, tmp_path: Path) -> None:
    race(f"az://{BUCKET}/signers", layout.TIMESTAMP, 3, tmp_path)
