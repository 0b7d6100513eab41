"""Facts about builds on a real Dask cluster on loopback: the same release, whatever happens to its workers."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from children import ends_with_us
from elsewhere import Dies, several_feeds
from releases import AT, Ran, current
from shopwindow.cluster.connected import connect
from shopwindow.content.listing import below
from shopwindow.problems import Failure

SOURCE = Path(__file__).resolve().parents[2] / "src"
TESTS = Path(__file__).resolve().parents[1]
PATIENCE = 60
"""Seconds after which something that should happen does not: everything here takes a second or two alone."""


class Dask:
    """A scheduler and workers, each a process of its own, started as an operator starts them."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """``settings`` are those of Dask, as its environment variables name them."""
        self.folder, self.processes = folder, list[subprocess.Popen[bytes]]()
        self.settings = settings
        folder.mkdir()
        file = folder / "scheduler.json"
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--scheduler-file", str(file))
        self.address: str = eventually(lambda: file.exists() and json.loads(file.read_text() or "{}")).get("address")

    def _start(self, module: str, *arguments: str, before: str = "", source: Path = SOURCE) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1", "--no-dashboard"]
        command += arguments
        if before:  # a shell that does something first, and becomes the process then
            command = ["unshare", "-rm", "sh", "-c", f'{before} && exec "$@"', "sh", *command]
        environment = {**os.environ, **self.settings, "PYTHONPATH": f"{source}{os.pathsep}{TESTS}"}
        with (self.folder / f"{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env=environment, preexec_fn=ends_with_us
            )
        self.processes.append(process)
        return process

    def worker(self, name: str = "", before: str = "", source: Path = SOURCE) -> subprocess.Popen[bytes]:
        """Start a worker. Nobody starts it again when it is killed."""
        arguments = [self.address, "--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder)]
        arguments += ["--name", name] if name else []
        return self._start("dask_worker", *arguments, before=before, source=source)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    started = Dask(tmp_path / "dask")
    yield started
    started.end()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return several_feeds(tmp_path / "content")


def eventually(look: Callable[[], Any]) -> Any:
    """What is there at last."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(0.01)
    raise AssertionError("it did not happen")


class Building:
    """A build that has begun."""

    def __init__(self, shop: Path, out: Path, *more: str | Path, env: Mapping[str, str] | None = None) -> None:
        self.printed = out.with_name(f"{out.name}.printed"), out.with_name(f"{out.name}.said")
        command = [sys.executable, "-m", "shopwindow", "build", "--content", shop, "--out", out, "--at", AT, *more]
        environment = {**os.environ, **(env or {})}
        with self.printed[0].open("wb") as out_file, self.printed[1].open("wb") as err_file:
            self.process = subprocess.Popen(
                command, stdout=out_file, stderr=err_file, env=environment, preexec_fn=ends_with_us
            )

    def says(self, start: str) -> None:
        """Wait until a line begins so."""
        eventually(lambda: f"\n{start}" in "\n" + self.printed[1].read_text())

    def ended(self) -> Ran:
        status = self.process.wait(PATIENCE)
        out, err = (path.read_text() for path in self.printed)
        assert "Traceback" not in err, err
        return Ran(status, out, err)


def build(shop: Path, out: Path, *more: str | Path, env: Mapping[str, str] | None = None) -> Ran:
    return Building(shop, out, *more, env=env).ended()


def built(out: Path) -> tuple[str, bytes]:
    """The id of the current release, and its index."""
    return current(out), (out / "current" / "catalog.sqlite").read_bytes()


def test_workers_of_this_machine_build_what_one_process_builds(shop: Path, tmp_path: Path) -> None:
    assert build(shop, tmp_path / "one", "--jobs", "1").status == 0
    ran = build(shop, tmp_path / "two", "--cluster", "local:2")
    assert ran.status == 0, ran
    assert built(tmp_path / "two") == built(tmp_path / "one")
    first, *stages = ran.err.splitlines()
    assert "2 workers with 2 threads; dashboard http://127.0.0.1:" in first
    assert [stage.partition(":")[0] for stage in stages] == ["feeds", "rows", "words"]
    assert all(": tcp://127.0.0.1:" in stage for stage in stages)


def test_a_worker_killed_in_each_stage_changes_nothing(shop: Path, tmp_path: Path, dask: Dask) -> None:
    """Each is stopped before its stage, so that what it gets is not done, and killed when it has got something."""
    folder = tmp_path / "seen"
    lost = {stage: dask.worker(stage) for stage in ("feeds", "rows", "words")}
    dask.worker()
    assert build(shop, tmp_path / "one", "--jobs", "1").status == 0
    with Client(dask.address, set_as_default=False) as client:
        client.wait_for_workers(4, PATIENCE)
        workers = client.scheduler_info(-1)["workers"]
        addresses = {worker["name"]: address for address, worker in workers.items()}
        building = Building(shop, tmp_path / "two", "--cluster", dask.address, "--cluster-folder", folder)
        for before, (stage, worker) in zip(("cluster ", "feeds: ", "rows: "), lost.items(), strict=True):
            building.says(before)
            worker.send_signal(signal.SIGSTOP)
            eventually(lambda: stage in str(client.processing().get(addresses[stage])))  # noqa: B023
            worker.kill()
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
    worker, folder, out = dask.worker(), tmp_path / "seen", tmp_path / "out"
    assert build(shop, out, "--jobs", "1").status == 0
    before = current(out)
    feed = shop / "catalog" / "products" / "0.jsonl"
    feed.write_text(feed.read_text().replace("Thing 3", "Another 3"))
    building = Building(shop, out, "--no-cache", "--cluster", dask.address, "--cluster-folder", folder)
    building.says("feeds: ")
    worker.send_signal(signal.SIGSTOP)
    dask.scheduler.kill()
    ran = building.ended()
    assert (ran.status, ran.err.splitlines()[-1]) == (
        4,
        f"shopwindow: the scheduler {dask.address} is gone; nothing was published, `current` is as it was. "
        "Start it, and repeat the command",
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
