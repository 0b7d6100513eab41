"""Threads that wait for the same costly step: one of them takes it for all that wait by then."""

import threading
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Generic, TypeVar

Item = TypeVar("Item")


class _Place(Generic[Item]):
    """Where a thread waits. ``turn`` is released once its item ``is_done``, or it is to lead."""

    __slots__ = ("is_done", "item", "next", "turn")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.is_done = False
        self.next: _Place[Item] | None = None
        self.turn = threading.Lock()
        self.turn.acquire()


class Gathering(Generic[Item]):
    """Gives ``step`` the items of all that wait, in the order in which they came, as far as they fit.

    There is no thread of its own. Of those whose items are done each wakes the next: woken all at once they would stand
    in each other's way for Python's lock. ``step`` raises nothing: it notes in an item what became of it. ``fits``:
    whether another item may go with those before it.
    """

    def __init__(self, step: Callable[[list[Item]], None], fits: Callable[[list[Item], Item], bool]) -> None:
        self._step = step
        self._fits = fits
        self._mutex = threading.Lock()
        self._queue: deque[_Place[Item]] = deque()
        self._is_busy = False

    def wait(self, item: Item) -> None:
        """Returns once the step was taken with this item."""
        place = _Place(item)
        with self._mutex:
            self._queue.append(place)
            leads = not self._is_busy
            self._is_busy = True
        if not leads:
            place.turn.acquire()
        if not place.is_done:
            self._lead()
        if place.next is not None:
            place.next.turn.release()

    def _lead(self) -> None:
        """Take the step for all that wait, oneself the first, and hand on to the next who does."""
        places, items = self._take()
        try:
            self._step(items)
        finally:
            for place in places:
                place.is_done = True
            for place, following in pairwise(places):
                place.next = following
            with self._mutex:
                leader = self._queue[0] if self._queue else None
                self._is_busy = leader is not None
            if leader is not None:
                leader.turn.release()

    def _take(self) -> tuple[list[_Place[Item]], list[Item]]:
        with self._mutex:
            places = [self._queue.popleft()]
            items = [places[0].item]
            while self._queue and self._fits(items, self._queue[0].item):
                places.append(self._queue.popleft())
                items.append(places[-1].item)
            return places, items
