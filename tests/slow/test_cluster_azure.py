"""Facts about workers that share only a container of Azure's blobs: Microsoft's own emulator on loopback."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import Building, Dask, built, done_twice, left
from elsewhere import several_feeds
from objectstores import BUCKET, Store, azure, between, reached

PLACE = f"az://{BUCKET}/builds"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An Azurite; its variables are set in this process, and so in workers and builders."""
    with reached(azure(tmp_path_factory.mktemp("azure"))) as store:
        yield store


@pytest.fixture
def dask(tmp_path: Path, store: Store) -> Iterator[Dask]:
    started = Dask(tmp_path / "dask")
    yield started
    started.end()


def test_the_next_builder_removes_what_a_killed_one_has_left_and_builds_the_same_though_a_worker_is_killed(
    tmp_path: Path, store: Store
) -> None:
    shop, out = several_feeds(tmp_path / "content"), tmp_path / "two"
    out.mkdir()
    may_mount = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
    unseen = f"mount -t tmpfs none {shop} && mount -t tmpfs none {out}" if may_mount else ""
    with between(store.port) as through, pytest.MonkeyPatch.context() as patch:
        for name, text in store.at(through.port).items():
            patch.setenv(name, text)
        dask = Dask(tmp_path / "dask")
        try:
            lost = dask.worker("lost", unseen)
            dask.worker("last", unseen)
            one = Building(shop, tmp_path / "one", "--jobs", "1")
            dask.hold("documents", "rows")
            with dask.client() as client:
                workers = client.scheduler_info(-1)["workers"]
                (address,) = (address for address, worker in workers.items() if worker["name"] == "lost")
                killed = Building(shop, out, "--cluster", dask.address, "--cluster-folder", PLACE)
                dask.wait_until_held()
                dask.kill_builder(killed)
                (rest,) = {key.partition("/")[0] for key in left(PLACE)}
                building = Building(shop, out, "--cluster", dask.address, "--cluster-folder", PLACE)
                dask.wait_until_held()
                assert "rows" in str(client.processing()[address])
                dask.kill_worker(lost)
            ran = building.ended()
            assert left(PLACE) == []
        finally:
            dask.end()
    assert ran.status == 0, ran
    assert f"removed {PLACE}/{rest}, which a builder has left that is gone\n" in ran.err
    assert f"worker {address} is gone; " in ran.err
    assert one.ended().status == 0
    assert built(out) == built(tmp_path / "one")
    puts = [line for line in through.requests if line.startswith("PUT ")]
    assert len(puts) == len(set(puts))  # every object is stored once, whoever was lost


def test_a_task_done_twice_leaves_one_result_that_nobody_reads(tmp_path: Path, dask: Dask) -> None:
    done_twice(dask, tmp_path, f"az://{BUCKET}/twice")
