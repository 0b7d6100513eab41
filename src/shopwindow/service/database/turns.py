"""Who of the requests that wait to write leads, and who gets which answer.

How this works. A request joins the queue with its work. Who finds nobody leading,
leads: it takes what waits into a batch, and writes the batch. Then it hands on: it
wakes everybody whose work was in the batch, and the first of those who have come
meanwhile, who leads from now on. So there is no thread of the database's own, and
requests that arrive during one commit share the next one.

Whoever waits for too long may leave, but not who leads, and not whose work has been
taken. Every step is taken under one lock. So whoever leaves is certain not to be
written, whoever is handed the lead has been woken, and somebody leads as long as
somebody waits.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from shopwindow.interface.declaring.table import Tables

BATCH_ACTIONS = 256
"""The most actions of one transaction: as many as a worker may have threads, so that no
request waits for a second turn.
"""


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(eq=False)
class Waiting:
    """A request that waits to write.

    ``work`` is what it writes, ``repeatable``, whether that may be done twice, and
    ``rates``, the names of those from which it may take (database.rates). ``result`` or
    ``error`` is its answer, once its batch has ended. ``leads``: it has to write the
    next batch. ``since``: when it came (time.monotonic). ``woken`` is released once it
    has its answer or leads.
    """

    work: Callable[[Tables], Any]
    repeatable: bool = False
    rates: Collection[str] = ()
    result: Any = None
    error: BaseException | None = None
    leads: bool = False
    since: float = field(default_factory=time.monotonic)
    woken: threading.Lock = field(default_factory=_held)


class Turns:
    """The queue of a process, its batch, and its lead."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[Waiting] = deque()
        self._batch: list[Waiting] = []
        self._is_led = False

    def join(self, waiting: Waiting) -> None:
        """Wait behind the others; lead where nobody does."""
        with self._lock:
            self._queue.append(waiting)
            if not self._is_led:
                self._is_led = waiting.leads = True

    def leave(self, waiting: Waiting) -> bool:
        """Wait no longer. Return False where it is too late for that: the request leads,
        or its work has been taken.
        """
        with self._lock:
            if waiting.leads or waiting not in self._queue:
                return False
            self._queue.remove(waiting)
            return True

    def take(self) -> list[Waiting]:
        """Return the batch: what waits by now, and what was taken before."""
        with self._lock:
            while self._queue and len(self._batch) < BATCH_ACTIONS:
                self._batch.append(self._queue.popleft())
            return [*self._batch]

    def answer(self, waiting: Waiting) -> None:
        """Take a request out of the batch, and wake it: its answer is final."""
        with self._lock:
            self._batch.remove(waiting)
            waiting.woken.release()

    def hand_on(self) -> None:
        """End the batch, whose answers are final: wake everybody in it, and then who
        leads next. In this order, because those who have an answer may come again, and
        share the next batch.
        """
        with self._lock:
            batch, self._batch = self._batch, []
            self._is_led = bool(self._queue)
            if self._is_led:
                self._queue[0].leads = True
                batch.append(self._queue[0])
        for waiting in batch:
            waiting.woken.release()

    def waiting(self) -> list[Waiting]:
        """Return who waits or is being written now, the first to come first."""
        with self._lock:
            return [*self._batch, *self._queue]
