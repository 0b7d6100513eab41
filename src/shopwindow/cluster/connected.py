"""A cluster of Dask's as an Executor (`content.executor`).

Dask distributed has what a cluster needs: a scheduler, queues, workers that come and go,
and tasks that are done again where a worker is lost. Nothing of that is repeated here.
This module cuts a stage into tasks, names them, hands them over, and says in words what
an operator has to know. What a worker does with a task is in `tasks`.

The program forks processes for other stages while it is connected. These never touch
the connection, which belongs to the thread that Dask started.
"""

import logging
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, LocalCluster, get_worker, wait
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.protocol.pickle import dumps
from distributed.scheduler import KilledWorker

from shopwindow.cluster import tasks
from shopwindow.cluster.tasks import Run, Written
from shopwindow.content.executor import PartItem, PartResult, Work, own_name
from shopwindow.content.scratch import scratch
from shopwindow.problems import Failure, Misuse, number_of

SCHEDULER_ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ws|wss)://)?[^/\s:]+:[0-9]+|\S+://\[[^]]+\]:[0-9]+"
)
LOCAL_WORKERS = re.compile(r"local:([1-9][0-9]?)")

CONNECTING_SECONDS = 10
"""How long a scheduler may take to answer, and to have its first worker. One that is
near answers at once; a longer wait would only be a later message.
"""

LOOKED_AT_SECONDS = 5
"""How often somebody who waits for a result looks whether there are workers."""

WITHOUT_WORKERS_SECONDS = 120
"""How long a run waits when all workers are gone. One that is started again is there
within a minute; without an end, a pipeline would hang for hours.
"""

TASKS_A_THREAD = 4
"""Tasks that each thread of the workers gets of a stage, where there are enough items.
With fewer, one that is slow keeps all others waiting at the end; each costs a file and
some milliseconds.
"""

ITEMS_A_TASK = 16
"""Items of a task, at most: so much is lost with a worker."""

AHEAD = 3
"""Tasks in progress for each thread: one at work, one that waits, and one whose results
are being read. More would only pile up results, as workers may be faster than the one
who writes.
"""

SILENCED = (
    "asyncio",
    "distributed",
    "distributed.client",
    "distributed.gc",
    "tornado.application",
)
"""Loggers whose warnings and tracebacks would stand beside what `Say` gets of the same
events. They stay silent: where a scheduler is lost, some write after the connection has
been closed.
"""

Say = Callable[[str], None]
"""Called with a sentence for the operator."""

_LEFT_AS_IT_WAS = "nothing was published, `current` is as it was"

_TaskDone = tuple[Written, str]
"""The file of a task's results, and the worker that wrote it."""

_HandedOver = tuple[Future[_TaskDone], int]
"""A task that was handed over, and how many items it has."""


@dataclass
class Cluster:
    """A cluster, connected, for one run. ``say`` gets what happens to its workers."""

    client: Client
    address: str
    run: Run
    say: Say
    ended: bool = False
    parts: Counter[str] = field(default_factory=Counter)

    @property
    def folder(self) -> Path:
        """The run's folder, which all workers see."""
        return Path(self.run.folder)

    @contextmanager
    def shared(
        self, stage: str, work: Work[PartItem, PartResult], items: Sequence[PartItem]
    ) -> Iterator[Iterator[PartResult]]:
        """Yield an iterator of results, one for each item, in order.

        Raises Failure where the scheduler or all workers are lost, or a worker does not
        fit; and what ``work`` raises.
        """
        waiting: deque[_HandedOver] = deque()
        self.parts.clear()
        started = time.monotonic()
        try:
            with self._in_words(stage):
                yield self._results(stage, work, items, waiting)
            if items:
                self._say_who_worked(stage, time.monotonic() - started)
        finally:
            with suppress(Exception):  # what is lost needs no cancelling
                self.client.cancel([future for future, _ in waiting])

    def _results(
        self,
        stage: str,
        work: Work[Any, Any],
        items: Sequence[Any],
        waiting: deque[_HandedOver],
    ) -> Iterator[Any]:
        if not items:
            return
        name = f"{stage}-work-{own_name()}"
        function = tasks.write(self.folder, name, iter([dumps(work)]))
        threads = max(1, sum(self.client.nthreads().values()))
        length = max(1, min(ITEMS_A_TASK, len(items) // (threads * TASKS_A_THREAD)))
        for start in range(0, len(items), length):
            some = items[start : start + length]
            waiting.append((self._submitted(stage, start, function, some), len(some)))
            if len(waiting) >= threads * AHEAD:
                yield from self._next(waiting)
        while waiting:
            yield from self._next(waiting)

    def _submitted(
        self, stage: str, start: int, work: Written, items: Sequence[Any]
    ) -> Future[_TaskDone]:
        """Hand over a task. Dask's dashboard shows it as `shopwindow-STAGE`."""
        key = f"shopwindow-{stage}-{start}-{work.name}-{self.run.token}"
        return self.client.submit(
            _task, self.run, work, stage, items, key=key, pure=False
        )

    def _next(self, waiting: deque[_HandedOver]) -> Iterator[Any]:
        """Yield the results of the oldest task."""
        self._wait_for([future for future, _ in waiting])
        future, count = waiting[0]
        written, worker = future.result()
        waiting.popleft()
        self.parts[worker] += 1
        yield from tasks.results_in(self.run, written, count)

    def _wait_for(self, futures: Sequence[Future[_TaskDone]]) -> None:
        """Wait until the first task is done, as long as there are workers.

        Raises what a later task has raised meanwhile: the first may never end.
        """
        alone_since = None
        while True:
            try:
                with self.client.as_current():
                    wait(futures[:1], timeout=LOOKED_AT_SECONDS)
                return
            except TimeoutError:
                pass
            for future in futures:
                if future.status == "error":
                    future.result()
            if self.client.nthreads():
                alone_since = None
                continue
            if alone_since is None:
                alone_since = time.monotonic()
                self.say("no worker is left; waiting for one")
            if time.monotonic() - alone_since > WITHOUT_WORKERS_SECONDS:
                raise Failure(
                    f"the cluster {self.address} has no workers any more; "
                    f"{_LEFT_AS_IT_WAS}. Start some, and repeat the command"
                )

    def _say_who_worked(self, stage: str, seconds: float) -> None:
        by_worker = ", ".join(
            f"{worker} {parts}" for worker, parts in sorted(self.parts.items())
        )
        total = self.parts.total()
        tasks_done = number_of(total, "task")
        self.say(f"{stage}: {tasks_done} in {seconds:.1f} s: {by_worker}")

    def follow_workers(self) -> None:
        """Say when a worker joins or is lost."""
        self.client.subscribe_topic("all", self._on_event)

    def _on_event(self, event: tuple[float, Any]) -> None:
        _, message = event
        if self.ended or not isinstance(message, dict):
            return
        action, worker = message.get("action"), message.get("worker")
        if action == "add-worker":
            self.say(f"worker {worker} joined")
        elif action == "remove-worker":
            keys = map(str, message.get("processing-tasks", ()))
            own = sum(key.endswith(self.run.token) for key in keys)
            parts = f"; {own} of its tasks go to others" if own else ""
            self.say(f"worker {worker} is gone{parts}")

    @contextmanager
    def _in_words(self, stage: str) -> Iterator[None]:
        """Raise a Failure where the cluster itself fails."""
        try:
            yield
        except KilledWorker as killed:
            count, last = killed.allowed_failures + 1, killed.last_worker.address
            raise Failure(
                f"{stage}: a task took its worker with it again and again, {count} in "
                f"all, the last {last}; {_LEFT_AS_IT_WAS}. Is there enough memory? The logs of "
                "the workers say more"
            ) from None
        except (FutureCancelledError, ClosedClientError, CommClosedError):
            raise Failure(
                f"the scheduler {self.address} is gone; {_LEFT_AS_IT_WAS}. Start it, and "
                "repeat the command"
            ) from None


def _task(run: Run, work: Written, stage: str, items: Sequence[Any]) -> _TaskDone:
    """Do a task. Runs in a worker."""
    worker = get_worker().address
    try:
        return tasks.work_on(run, work, stage, items), worker
    except (Failure, OSError) as failure:
        raise Failure(f"worker {worker}: {failure}") from failure
    except Exception as error:
        error.add_note(f"On the worker {worker}, in a task of {stage}")
        raise


# -- connecting ------------------------------------------------------------------------


@contextmanager
def connect(
    address: str, folder: Path | None, read: Sequence[Path], say: Say
) -> Iterator[Cluster]:
    """Yield a cluster, connected, whose workers all fit.

    Args:
        address: of a scheduler, `tcp://HOST:PORT`; or `local:N` for N workers that are
            started on this machine, and end with the block.
        folder: that all workers see under this path; for `local:N` it may be None.
        read: folders that the workers read.
        say: gets what happens to the workers.

    Raises Misuse for what is no address, and Failure where there is no scheduler, where
    it has no workers, or where one of them does not fit.
    """
    local = LOCAL_WORKERS.fullmatch(address)
    is_remote = SCHEDULER_ADDRESS.fullmatch(address) and not address.startswith(
        "local:"
    )
    if not (local or is_remote):
        raise Misuse(
            "cluster",
            f"{address}: is no address of a scheduler, such as "
            "tcp://scheduler.example:8786; local:4 starts 4 workers on this machine",
        )
    if local is None and folder is None:
        raise Misuse(
            "cluster-folder",
            "is missing: with a scheduler's address it names a folder that all workers "
            "see under the same path",
        )
    for logger in SILENCED:
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    with ExitStack() as stack:
        settings = {"distributed.comm.timeouts.connect": CONNECTING_SECONDS}
        stack.enter_context(dask.config.set(settings))
        if local:
            address = stack.enter_context(_started(int(local[1])))
        client = stack.enter_context(_client(address))
        _wait_for_workers(client, address)
        if folder is not None:
            folder = folder.absolute()
            folder.mkdir(parents=True, exist_ok=True)
        run_folder = stack.enter_context(scratch(folder))
        run = _begun(run_folder, read)
        _require_fit(client, run)
        cluster = Cluster(client, address, run, say)
        workers = client.nthreads()
        say(
            f"cluster {address}: {number_of(len(workers), 'worker')} with "
            f"{number_of(sum(workers.values()), 'thread')}; dashboard "
            f"{client.dashboard_link}"
        )
        cluster.follow_workers()
        try:
            yield cluster
        finally:
            cluster.ended = True


@contextmanager
def _started(workers: int) -> Iterator[str]:
    """Start a scheduler and workers on this machine; yield the scheduler's address."""
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL + 1,
    ) as cluster:
        yield cluster.scheduler_address


@contextmanager
def _client(address: str) -> Iterator[Client]:
    """Yield a connection to a scheduler. Raises Failure."""
    try:
        client = Client(
            address, timeout=CONNECTING_SECONDS, set_as_default=False, name="shopwindow"
        )
    except (OSError, ValueError):
        raise Failure(
            f"--cluster {address}: no scheduler answers there; `dask scheduler` starts "
            "one"
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):  # a scheduler that is gone needs no good-bye
            client.close(timeout=LOOKED_AT_SECONDS)


def _wait_for_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECTING_SECONDS)
    except TimeoutError:
        raise Failure(
            f"--cluster {address}: the scheduler has no workers; `dask worker {address} "
            "--nthreads 1 --nworkers auto` starts some on a machine"
        ) from None


def _begun(folder: Path, read: Sequence[Path]) -> Run:
    """Return a run, and write what shows a worker that it sees the run's folder."""
    token = own_name()
    (folder / tasks.TOKEN_FILE).write_text(token, encoding="ascii")
    listed = [(path.absolute(), tasks.listing(path)) for path in read]
    read_with_digests = tuple((str(path), digest) for path, digest in listed)
    return Run(str(folder), token, tasks.versions(), read_with_digests)


def _require_fit(client: Client, run: Run) -> None:
    """Raise Failure where a worker does not fit."""
    answers = client.run(tasks.misfit, run, on_error="return")
    misfits = {worker: _misfit(answer) for worker, answer in answers.items() if answer}
    if misfits:
        worker, reason = min(misfits.items())
        others = len(misfits) - 1
        more = f" (and so do {others} more of {len(answers)})" if others else ""
        raise Failure(f"the worker {worker} {reason}{more}")


def _misfit(answer: str | Exception) -> str:
    """Return in words what a worker said when it was called."""
    if isinstance(answer, ModuleNotFoundError | ImportError | AttributeError):
        return f"lacks this version of shopwindow ({answer}): install it there"
    return str(answer)
