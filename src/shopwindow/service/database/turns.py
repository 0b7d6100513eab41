"""Who of the requests that wait to write leads, and who gets which answer.

How this works. A request joins the queue with its work. Who finds nobody leading,
leads: it takes what waits into a batch, and writes the batch. Then it hands on: it
wakes everybody whose work was in the batch, and the first of those who have come
meanwhile, who leads from now on. So there is no thread of the database's own, and
requests that arrive during one commit share the next one.

Whoever waits for too long is dismissed, but not who leads, and not whose work has been
taken. Every step is taken under one lock. So whoever is dismissed is certain not to be
written, everybody is woken once, and somebody leads as long as somebody waits.

A request needs no thread while it waits. It is a generator (`Steps`), which one thread
runs until the wait begins, and perhaps another one after its end.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shopwindow.interface.declaring.table import Tables

Result = TypeVar("Result")

Wake = Callable[[], None]

Steps = Generator[Callable[[Wake], None], None, Result]
"""Work that waits at times, and returns a result. Where it waits, it yields a function,
which begins the wait: it is handed what to call once the work can go on.
"""

BATCH_ACTIONS = 256
"""The most actions of one transaction: it ends in some milliseconds, so that another
process has its turn.
"""

LOOK_SECONDS = 1.0
"""How often a thread that waits looks for those who have waited too long, itself among
them. A worker looks at each heartbeat (worker.PULSE_SECONDS).
"""


@dataclass(eq=False)
class Waiting:
    """A request that waits to write.

    ``work`` is what it writes, and ``rates``, the names of those from which it may take
    (database.rates). ``wake`` is called once it has its answer, which is ``result`` or
    ``error``, or leads. ``leads``: it has to write the next batch. ``since``: when it
    came (time.monotonic).
    """

    work: Callable[[Tables], Any]
    rates: Collection[str] = ()
    wake: Wake = lambda: None
    result: Any = None
    error: Exception | None = None
    leads: bool = False
    since: float = field(default_factory=time.monotonic)


class Turns:
    """The queue of a process, and its batch. Whoever leads is the first in one of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[Waiting] = deque()
        self._batch: list[Waiting] = []

    def join(self, waiting: Waiting, wake: Wake) -> None:
        """Wait behind the others; lead where nobody does."""
        waiting.wake = wake
        with self._lock:
            leads = waiting.leads = not (self._queue or self._batch)
            self._queue.append(waiting)
        if leads:
            wake()

    def take(self) -> list[Waiting]:
        """Return the batch: what waits by now, and what was taken before."""
        with self._lock:
            while self._queue and len(self._batch) < BATCH_ACTIONS:
                self._batch.append(self._queue.popleft())
            return [*self._batch]

    def hand_on(self) -> None:
        """End the batch, whose answers are final: wake everybody in it, and last who leads
        next. Who has led is awake.
        """
        with self._lock:
            batch, self._batch = self._batch, []
            woken = [waiting for waiting in batch if not waiting.leads]
            if self._queue:
                self._queue[0].leads = True
                woken.append(self._queue[0])
        for waiting in woken:
            waiting.wake()

    def dismiss(self, patience: float) -> list[Waiting]:
        """Return who has waited for more than ``patience`` seconds, and wait for them no
        longer. Whoever leads stays, and whoever's work has been taken.
        """
        before = time.monotonic() - patience
        with self._lock:
            late = [
                waiting
                for waiting in self._queue
                if waiting.since < before and not waiting.leads
            ]
            for waiting in late:
                self._queue.remove(waiting)
        return late

    def waiting(self) -> list[Waiting]:
        """Return who waits or is being written now, the first to come first."""
        with self._lock:
            return [*self._batch, *self._queue]


def completed(steps: Steps[Result], look: Callable[[], None]) -> Result:
    """Return the result of steps, for which this thread waits. Meanwhile it calls
    ``look`` at times, which dismisses who has waited too long.
    """
    while True:
        woken = threading.Event()
        try:
            next(steps)(woken.set)
        except StopIteration as end:
            result: Result = end.value
            return result
        while not woken.wait(LOOK_SECONDS):
            look()
