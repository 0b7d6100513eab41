"""A real Dask cluster on loopback, and builds that it takes part in."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from distributed import Client, Worker, WorkerPlugin

from children import ends_with_us
from elsewhere import Dies
from releases import AT, Ran, current
from shopwindow.cluster import tasks
from shopwindow.cluster.connected import connect
from shopwindow.cluster.relay import RunObjects
from shopwindow.delivery.passing import TargetObjects
from shopwindow.delivery.targets import parse

SOURCE = Path(__file__).resolve().parents[1] / "src"
TESTS = Path(__file__).resolve().parent
PATIENCE = 120
"""Seconds after which something that should happen does not: alone, everything here takes a second or two, but for
requests to a store that is gone, which are repeated for up to 35 s (`shopwindow.delivery.opening.BACKOFF`).
"""


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

    def _start(
        self, module: str, *arguments: str, before: str = "", source: Path | str = SOURCE
    ) -> subprocess.Popen[bytes]:
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

    def worker(self, name: str = "", before: str = "", source: Path | str = SOURCE) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until the scheduler has it. Nobody starts it again when it is killed."""
        arguments = [self.address, "--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder)]
        arguments += ["--name", name] if name else []
        worker = self._start("dask_worker", *arguments, before=before, source=source)
        with self.client() as client:
            client.wait_for_workers(len(self._workers()), PATIENCE)
        return worker

    def client(self) -> Client:
        return Client(self.address, set_as_default=False)

    def _workers(self) -> list[subprocess.Popen[bytes]]:
        """The workers that nobody has killed."""
        return [process for process in self.processes if process is not self.scheduler and process.poll() is None]

    def hold(self, *stages: str) -> None:
        """Let every worker stop itself before its first task of each of these stages.

        They go on after `kill_worker` and `kill_builder`.
        """
        with self.client() as client:
            client.register_plugin(_Stops(list(stages)))

    def wait_until_held(self) -> None:
        """Wait until every worker has stopped itself.

        Each gets a task: a stage has at least as many as there are workers, and Dask prefers a worker without one.
        """
        for worker in self._workers():
            eventually(lambda: os.waitid(os.P_PID, worker.pid, os.WSTOPPED | os.WNOHANG))  # noqa: B023

    def _go_on(self) -> None:
        for worker in self._workers():
            worker.send_signal(signal.SIGCONT)

    def kill_worker(self, worker: subprocess.Popen[bytes]) -> None:
        """Kill one of the workers that are held, and let the others go on."""
        worker.kill()
        worker.wait()
        self._go_on()

    def kill_builder(self, building: Building) -> None:
        """Kill a builder whose workers are held, and let these end what they have begun for it."""
        building.process.kill()
        building.process.wait(PATIENCE)
        with self.client() as client:
            eventually(lambda: not any(client.processing().values()))  # the scheduler lets go of its tasks
            self._go_on()
            eventually(lambda: not any(client.run(_tasks_begun).values()))

    def end(self) -> None:
        """Kill the scheduler and the workers."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


class _Stops(WorkerPlugin):
    """Stops the process of its worker before its first task of each of some stages, which come in this order."""

    def __init__(self, stages: list[str]) -> None:
        self.stages = stages

    def transition(self, key: Any, start: str, finish: str, **more: Any) -> None:
        if finish == "executing" and self.stages and str(key).startswith(f"shopwindow-{self.stages[0]}-"):
            del self.stages[0]
            os.kill(os.getpid(), signal.SIGSTOP)


def _tasks_begun(dask_worker: Worker) -> int:
    """How many tasks a worker is at. Runs in the worker, which Dask hands over."""
    return dask_worker.state.executing_count


def objects(place: str) -> RunObjects:
    """What a cluster passes on through a place at a target."""
    return TargetObjects(parse(place))


def left(place: str) -> list[str]:
    """The keys of all runs at a place."""
    return [key for key, _ in objects(place).listing("")]


def done_twice(dask: Dask, folder: Path, place: str) -> None:
    """Let two workers do a task: both have its result, one object holds it, and nothing is left at the end."""
    dask.worker()
    with connect(dask.address, folder / "local", [], lambda sentence: None, objects=objects(place)) as cluster:
        data, files = cluster.packer.pack(Dies(cluster.folder / "died", at=-1))
        work = cluster.run.relay.create("squares-work", data)
        items, more = cluster.packer.pack([1, 2, 3])
        one, other = (
            tasks.work_on(cluster.run, folder / worker, work, "squares", (items, files + more)).results
            for worker in ("one", "other")
        )
        assert list(tasks.results_in(cluster.run, other, 3)) == [1, 4, 9]
        names = {key.partition("/")[2] for key in left(place)}
        assert (names, one.digest) == ({"holder", "squares-work", one.name}, other.digest)
    assert left(place) == []
