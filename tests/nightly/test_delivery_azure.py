"""Publishing to Azure's blobs: Microsoft's own emulator on loopback."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from harness import stores
from harness.program import shopwindow
from harness.stores import (
    BUCKET,
    Bucket,
    Headers,
    Store,
    Version,
    assert_decides,
    assert_lives,
    azure,
    live,
    race,
    reached,
    release,
    signed_and_pulled,
    stored,
    wrongly,
)
from harness.waits import PATIENCE
from shopwindow.delivery import layout

TEXT = Headers("text/plain", "no-cache")
RACERS = 8
at = partial(stores.at, scheme="az")


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store; in this process, its variables are set, too."""
    with reached(azure(tmp_path_factory.mktemp("azure"))) as store:
        yield store


def test_the_store_decides_who_creates_and_who_replaces(there: Store) -> None:
    assert_decides(at("operations"))


def _replace(bucket: Bucket, version: Version, together: threading.Barrier, body: bytes) -> bool:
    together.wait(PATIENCE)
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
    assert_lives(at("life"), tmp_path)


def test_a_container_that_does_not_exist_is_a_sentence(there: Store, tmp_path: Path) -> None:
    release(tmp_path)
    ran = shopwindow("publish", "az://elsewhere/a", "--out", tmp_path / "dist", env=there.environment)
    assert (ran.status, ran.out) == (4, "")
    assert "there is no such bucket; create it, or correct the target's address" in ran.err


def test_a_signed_release_over_its_life(there: Store, tmp_path: Path) -> None:
    live(f"az://{BUCKET}/signed", tmp_path)


def test_of_two_signers_one_wins_and_hosts_always_verify(there: Store, tmp_path: Path) -> None:
    race(f"az://{BUCKET}/signers", layout.TIMESTAMP, 3, tmp_path)


def test_a_clock_that_is_a_day_off_signs_nothing_though_the_store_takes_it(there: Store, tmp_path: Path) -> None:
    target = f"az://{BUCKET}/clocks"
    publish, _ = signed_and_pulled(target, tmp_path)
    before = stored(target)
    assert "set this machine's clock. If it is right" in wrongly("-1d", *publish)
    assert "so nothing was changed; set the one that is wrong" in wrongly("+1d", *publish)
    assert stored(target) == before
