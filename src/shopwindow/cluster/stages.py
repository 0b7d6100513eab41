"""A cluster of Dask's as an Executor (`content.executor`).

Dask distributed has what a cluster needs: a scheduler, queues, workers that come and go,
and tasks that are done again where a worker is lost. Nothing of that is repeated here.
This module cuts a stage into tasks, names them, hands them over, and says in words what
an operator has to know. What a worker does with a task is in `tasks`.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client, Future, Worker, get_worker, wait
from distributed.client import (
    ClosedClientError,
    FutureCancelledError,
    FuturesCancelledError,
)
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from shopwindow.cluster import tasks
from shopwindow.cluster.carrying import Packed, Packer
from shopwindow.cluster.relay import Written
from shopwindow.cluster.tasks import Done, Run
from shopwindow.content.executor import PartItem, PartResult, Work, own_name
from shopwindow.problems import Failure, number_of

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

Say = Callable[[str], None]
"""Called with a sentence for the operator."""

_LEFT_AS_IT_WAS = "nothing was published, `current` is as it was"

_TaskDone = tuple[Done, str]
"""What a task has written, and the worker that did it."""

_HandedOver = tuple[Future[_TaskDone], int]
"""A task that was handed over, and how many items it has."""


@dataclass
class Cluster:
    """A cluster, connected, for one run.

    ``packer`` pickles what workers get. ``say`` gets what happens to them.
    """

    client: Client
    address: str
    run: Run
    packer: Packer
    say: Say
    ended: bool = False
    parts: Counter[str] = field(default_factory=Counter)

    @property
    def folder(self) -> Path:
        """The run's folder, which all workers see, or have the files of."""
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
        data, files = self.packer.pack(work)
        function = self.run.relay.create(name, data)
        threads = max(1, self._threads())
        length = max(1, min(ITEMS_A_TASK, len(items) // (threads * TASKS_A_THREAD)))
        for start in range(0, len(items), length):
            some = items[start : start + length]
            packed, more_files = self.packer.pack(some, with_feeds=True)
            part = packed, files + more_files
            waiting.append((self._submitted(stage, start, function, part), len(some)))
            if len(waiting) >= threads * AHEAD:
                yield from self._next(waiting)
        while waiting:
            yield from self._next(waiting)

    def _submitted(
        self, stage: str, start: int, work: Written, items: Packed
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
        done, worker = future.result()
        waiting.popleft()
        self.parts[worker] += 1
        self.packer.take(done.files)
        yield from tasks.results_in(self.run, done.results, count)

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
            if self._threads():
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

    def _threads(self) -> int:
        """Return how many threads the workers have. Raises Failure."""
        try:
            return sum(self.client.nthreads().values())
        except OSError:  # it connects again, in vain
            raise self._scheduler_gone() from None

    def _scheduler_gone(self) -> Failure:
        return Failure(
            f"the scheduler {self.address} is gone; {_LEFT_AS_IT_WAS}. Start it, and the "
            "workers, which end with it, and repeat the command"
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
        except (
            FuturesCancelledError,  # while `wait` waits
            FutureCancelledError,
            ClosedClientError,
            CommClosedError,
        ):
            raise self._scheduler_gone() from None


def _task(run: Run, work: Written, stage: str, items: Packed) -> _TaskDone:
    """Do a task. Runs in a worker."""
    worker = get_worker()
    try:
        done = tasks.work_on(run, own_folder(worker), work, stage, items)
        return done, worker.address
    except (Failure, OSError) as failure:
        raise Failure(f"worker {worker.address}: {failure}") from failure
    except Exception as error:
        error.add_note(f"On the worker {worker.address}, in a task of {stage}")
        raise


def own_folder(worker: Worker) -> Path:
    """Return the folder of a worker alone. Dask removes it when the worker ends, or
    when another one begins there after it was killed.
    """
    return Path(worker.local_directory).absolute()
