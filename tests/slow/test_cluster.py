"""Facts about builds on a real Dask cluster on loopback: the same release, whatever happens to its workers."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters import SOURCE, Building, Dask, build, built, done_twice, left, objects
from elsewhere import Dies, several_feeds
from objectstores import BUCKET, Store, between, reached, s3
from releases import Ran, current
from shopwindow.cluster.connected import connect
from shopwindow.content.listing import below
from shopwindow.problems import Failure

STAGES = ("feeds", "stores", "documents", "rows", "facets", "words")


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    started = Dask(tmp_path / "dask")
    yield started
    started.end()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return several_feeds(tmp_path / "content")


def test_workers_of_this_machine_build_what_one_process_builds(shop: Path, tmp_path: Path) -> None:
    assert build(shop, tmp_path / "one", "--jobs", "1").status == 0
    ran = build(shop, tmp_path / "two", "--cluster", "local:2")
    assert ran.status == 0, ran
    assert built(tmp_path / "two") == built(tmp_path / "one")
    first, *stages = ran.err.splitlines()
    assert "2 workers with 2 threads; dashboard http://127.0.0.1:" in first
    assert [stage.partition(":")[0] for stage in stages] == list(STAGES)
    assert all(": tcp://127.0.0.1:" in stage for stage in stages)


def test_a_worker_killed_in_each_stage_changes_nothing(shop: Path, tmp_path: Path, dask: Dask) -> None:
    """Each is killed when it has begun a task of its stage, which is not done."""
    folder = tmp_path / "seen"
    lost = {stage: dask.worker(stage) for stage in ("feeds", "rows", "words")}
    dask.worker()
    assert build(shop, tmp_path / "one", "--jobs", "1").status == 0
    dask.hold(*lost)
    with dask.client() as client:
        workers = client.scheduler_info(-1)["workers"]
        addresses = {worker["name"]: address for address, worker in workers.items()}
        building = Building(shop, tmp_path / "two", "--cluster", dask.address, "--cluster-folder", folder)
        for stage, worker in lost.items():
            dask.wait_until_held()
            assert stage in str(client.processing()[addresses[stage]])
            dask.kill_worker(worker)
    ran = building.ended()
    assert ran.status == 0, ran
    assert built(tmp_path / "two") == built(tmp_path / "one")
    for stage in lost:
        assert re.search(rf"worker {addresses[stage]} is gone; \d+ of its tasks go to others\n", ran.err), ran.err
    assert list(folder.iterdir()) == []


def test_a_task_whose_worker_dies_is_done_by_another(tmp_path: Path, dask: Dask) -> None:
    dask.worker()
    dask.worker()
    said: list[str] = []
    with connect(dask.address, tmp_path / "seen", [], said.append) as cluster:
        work = Dies(cluster.folder / "died", at=7)
        with cluster.shared("squares", work, range(20)) as results:
            assert list(results) == [number * number for number in range(20)]
        assert (cluster.folder / "died").exists()
    assert [sentence for sentence in said if "is gone; " in sentence and " of its tasks go to others" in sentence]


def test_a_task_that_takes_every_worker_with_it_is_one_sentence(tmp_path: Path) -> None:
    dask = Dask(tmp_path / "dask", DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    try:
        dask.worker()
        dask.worker()
        with (
            connect(dask.address, tmp_path / "seen", [], lambda sentence: None) as cluster,
            pytest.raises(
                Failure,
                match=r"squares: a task took its worker with it again and again, 1 in all, the last tcp://.*memory",
            ),
            cluster.shared("squares", Dies(cluster.folder / "died", at=7), range(20)) as results,
        ):
            list(results)
        assert list((tmp_path / "seen").iterdir()) == []
    finally:
        dask.end()


def test_a_scheduler_that_is_gone_is_one_sentence_and_the_last_release_stays(
    shop: Path, tmp_path: Path, dask: Dask
) -> None:
    folder, out = tmp_path / "seen", tmp_path / "out"
    dask.worker()
    dask.hold("documents")
    assert build(shop, out, "--jobs", "1").status == 0
    before = current(out)
    feed = shop / "catalog" / "products" / "0.jsonl"
    feed.write_text(feed.read_text().replace("Thing 3", "Another 3"))
    building = Building(shop, out, "--no-cache", "--cluster", dask.address, "--cluster-folder", folder)
    dask.wait_until_held()
    dask.scheduler.kill()
    ran = building.ended()
    assert (ran.status, ran.err.splitlines()[-1]) == (
        4,
        f"shopwindow: the scheduler {dask.address} is gone; nothing was published, `current` is as it was. "
        "Start it, and the workers, which end with it, and repeat the command",
    )
    assert current(out) == before
    assert [name for name in below(out) if name.startswith("releases/.") or name.endswith(".sqlite-journal")] == []


def test_a_cluster_that_is_not_there_or_has_no_workers_is_one_sentence(shop: Path, tmp_path: Path, dask: Dask) -> None:
    folder = ("--cluster-folder", tmp_path / "seen")
    nowhere = Building(shop, tmp_path / "nowhere", "--cluster", "127.0.0.1:9", *folder)
    idle = Building(shop, tmp_path / "out", "--cluster", dask.address, *folder)
    assert nowhere.ended() == Ran(
        4, "", "shopwindow: --cluster 127.0.0.1:9: no scheduler answers there; `dask scheduler` starts one\n"
    )
    assert idle.ended() == Ran(
        4,
        "",
        f"shopwindow: --cluster {dask.address}: the scheduler has no workers; `dask worker {dask.address} "
        "--nthreads 1 --nworkers auto` starts some on a machine\n",
    )
    for address in ("somewhere", "local:0", "http://127.0.0.1:8786"):
        ran = build(shop, tmp_path / "out", "--cluster", address)
        assert (ran.status, f"--cluster {address}: is no address of a scheduler" in ran.err) == (2, True)
    assert not (tmp_path / "out" / "current").exists()


def test_without_the_library_a_sentence_says_what_to_install(shop: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "dask.py").write_text("raise ModuleNotFoundError(\"No module named 'dask'\", name='dask')\n")
    ran = build(shop, tmp_path / "out", "--cluster", "local:2", env={"PYTHONPATH": f"{absent}{os.pathsep}{SOURCE}"})
    assert (ran.status, ran.err) == (
        4,
        "shopwindow: --cluster needs the library dask: install shopwindow with the extra cluster, here and on every "
        "worker, as the README says\n",
    )


def test_a_worker_that_sees_other_files_or_runs_another_program_is_refused(
    shop: Path, tmp_path: Path, dask: Dask
) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody mount anything for one process")
    folder, other = tmp_path / "seen", tmp_path / "other"
    folder.mkdir()
    shutil.copytree(SOURCE, other, ignore=shutil.ignore_patterns("__pycache__", "static"))
    with (other / "shopwindow" / "catalog" / "rules.py").open("a") as rules:
        rules.write("# another state of the program\n")
    reasons = []
    for before, source in (
        (f"mount -t tmpfs none {folder}", SOURCE),
        (f"mount -t tmpfs none {shop}", SOURCE),
        ("", other),
    ):
        worker = dask.worker("", before, source)
        ran = build(shop, tmp_path / "out", "--cluster", dask.address, "--cluster-folder", folder)
        assert ran.status == 4, ran
        reasons.append(ran.err)
        worker.kill()
        worker.wait()
    unseen, elsewhere, program = reasons
    assert f" does not see {folder}/" in unseen
    assert "--cluster-folder names a folder that all workers see under the same path" in unseen
    assert f" sees other files in {shop} than this program" in elsewhere
    assert " has another version of shopwindow, " in program
    assert program.endswith(": install the same on every worker\n")
    assert not (tmp_path / "out" / "current").exists()


# -- workers that share no files -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An S3 on loopback; its variables are set in this process, and so in workers and builders."""
    with reached(s3(tmp_path_factory.mktemp("s3"))) as store:
        yield store


def test_workers_that_share_only_a_bucket_build_the_same_and_one_killed_in_each_stage_changes_nothing(
    shop: Path, tmp_path: Path, bucket: Store
) -> None:
    may_mount = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
    out = tmp_path / "two"
    out.mkdir()
    unseen = f"mount -t tmpfs none {shop} && mount -t tmpfs none {out}" if may_mount else ""
    assert build(shop, tmp_path / "one", "--jobs", "1").status == 0
    with between(bucket.port) as through, pytest.MonkeyPatch.context() as patch:
        for name, text in bucket.at(through.port).items():
            patch.setenv(name, text)
        dask = Dask(tmp_path / "dask")
        try:
            lost = {stage: dask.worker(stage, unseen) for stage in ("feeds", "documents", "rows", "words")}
            dask.worker("last", unseen)
            dask.hold(*lost)
            with dask.client() as client:
                workers = client.scheduler_info(-1)["workers"]
                addresses = {worker["name"]: address for address, worker in workers.items()}
                folders = {worker["name"]: worker["local_directory"] for worker in workers.values()}
                building = Building(shop, out, "--cluster", dask.address, "--cluster-folder", f"s3://{BUCKET}/same")
                for stage, worker in lost.items():
                    dask.wait_until_held()
                    assert stage in str(client.processing()[addresses[stage]])
                    dask.kill_worker(worker)
            ran = building.ended()
        finally:
            dask.end()
    assert ran.status == 0, ran
    assert built(out) == built(tmp_path / "one")
    assert ran.err.count(" of its tasks go to others\n") == len(lost), ran.err
    puts = [line for line in through.requests if line.startswith("PUT ")]
    assert len(puts) == len(set(puts))  # every object is stored once, whoever was lost
    assert left(f"s3://{BUCKET}/same") == []
    assert [name for name in below(Path(folders["last"])) if "products" in name] == []  # Dask deletes the others


def test_a_task_done_twice_through_a_bucket_leaves_one_result_that_nobody_reads(
    tmp_path: Path, bucket: Store, dask: Dask
) -> None:
    done_twice(dask, tmp_path, f"s3://{BUCKET}/twice")


def test_a_bucket_that_is_gone_is_one_sentence_and_the_last_release_stays(
    shop: Path, tmp_path: Path, bucket: Store
) -> None:
    out = tmp_path / "out"
    assert build(shop, out, "--jobs", "1").status == 0
    before = current(out)
    options = ("--no-cache", "--cluster", "local:1", "--cluster-folder", f"s3://{BUCKET}/gone")
    with between(bucket.port) as through:
        through.pass_on = lambda number: not any("documents-work" in line for line in through.requests)
        building = Building(shop, out, *options, env=bucket.at(through.port))
        nowhere = Building(shop, tmp_path / "nowhere", *options, env=bucket.at(9))
        ran = building.ended()
    assert ran.status == 4, ran
    sentence = rf"shopwindow: (worker tcp://\S+: )?s3://{BUCKET}/gone: cannot (read|write|delete from) it: the store"
    assert re.match(sentence, ran.err.splitlines()[-1]), ran.err
    assert current(out) == before
    assert nowhere.ended() == Ran(
        4,
        "",
        f"shopwindow: s3://{BUCKET}/gone: cannot read it: the store is not reached; look at AWS_ENDPOINT_URL (az: "
        "AZURE_STORAGE_ENDPOINT) and at the network\n",
    )


def test_the_next_builder_removes_what_one_that_was_killed_has_left_and_nothing_else(
    shop: Path, tmp_path: Path, bucket: Store, dask: Dask
) -> None:
    dask.worker()
    folder = tmp_path / "seen"
    at_work = list[str]()
    for place, names in (
        (str(folder), lambda: sorted(path.name for path in folder.glob("*"))),
        (f"s3://{BUCKET}/killed", lambda: sorted({key.partition("/")[0] for key in left(f"s3://{BUCKET}/killed")})),
    ):
        is_target = "://" in place
        local = tmp_path / "local" if is_target else folder
        passed = objects(f"s3://{BUCKET}/killed") if is_target else None
        with connect(dask.address, local, [], at_work.append, objects=passed) as other:
            (own,) = names()
            options = ("--no-cache", "--cluster", dask.address, "--cluster-folder", place)
            dask.hold("documents")
            killed = Building(shop, tmp_path / "out", *options)
            dask.wait_until_held()
            assert not is_target or [name for name in below(dask.folder) if "products" in name]
            dask.kill_builder(killed)
            (rest,) = set(names()) - {own}
            ran = build(shop, tmp_path / "out", *options)
            assert ran.status == 0, ran
            assert f"removed {place}/{rest}, which a builder has left that is gone\n" in ran.err
            assert [name for name in below(dask.folder) if rest in name] == []
            assert names() == [own]
            with other.shared("squares", Dies(other.folder / "died", at=-1), range(3)) as results:
                assert list(results) == [0, 1, 4]
        assert names() == []
    assert list((tmp_path / "out" / ".cache" / "cluster").iterdir()) == []
    assert not [sentence for sentence in at_work if sentence.startswith("removed")]


def test_a_worker_with_another_interface_of_ones_own_is_named(shop: Path, tmp_path: Path, dask: Dask) -> None:
    source = "from shopwindow import shop\n\nINTERFACE = shop.INTERFACE\n"
    here, other = (_package(tmp_path / name, source + f"# {name}\n") for name in ("here", "other"))
    options = ("--interface", "acme.shop:INTERFACE", "--cluster", dask.address, "--cluster-folder", tmp_path / "seen")
    reasons = []
    for installed in (other, tmp_path / "nothing", here):
        worker = dask.worker(source=f"{installed}{os.pathsep}{SOURCE}")
        ran = build(shop, tmp_path / "out", *options, env={"PYTHONPATH": f"{here}{os.pathsep}{SOURCE}"})
        reasons.append((ran.status, re.sub(r"tcp://\S+|\b[0-9a-f]{12}\b", "…", ran.err.splitlines()[-1])))
        worker.kill()
        worker.wait()
    differs, lacks, fits = reasons
    assert differs == (
        4,
        "shopwindow: the worker … has another version of acme.shop:INTERFACE, … instead of …: install the same on "
        "every worker",
    )
    assert lacks == (
        4,
        "shopwindow: the worker … lacks the interface (--interface acme.shop:INTERFACE: there is no module acme to "
        "import): install it on every worker",
    )
    assert fits[0] == 0, fits


def _package(folder: Path, source: str) -> Path:
    (folder / "acme").mkdir(parents=True)
    (folder / "acme" / "__init__.py").touch()
    (folder / "acme" / "shop.py").write_text(source)
    return folder
