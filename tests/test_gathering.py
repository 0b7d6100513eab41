"""Threads that wait for the same step: one takes it for all, each learns of its own, nobody is left waiting."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from vitrine.service.gathering import Gathering


class Steps:
    """What was done together, in order. The first step lasts until ``go`` is set."""

    def __init__(self) -> None:
        self.done: list[list[int]] = []
        self.go = threading.Event()

    def step(self, items: list[int]) -> None:
        self.done.append(items)
        self.go.wait(10)

    def gathering(self, most: int) -> Gathering[int]:
        return Gathering(self.step, lambda batch, _: len(batch) < most)


def wait_in_turn(gathering: Gathering[int], pool: ThreadPoolExecutor, number: int) -> None:
    """So many threads that wait, each for the number of those before it."""
    for item in range(number):
        pool.submit(gathering.wait, item)
        time.sleep(0.02)


def test_what_waits_meanwhile_is_done_together_in_order_as_far_as_it_fits() -> None:
    steps = Steps()
    with ThreadPoolExecutor(8) as pool:
        wait_in_turn(steps.gathering(3), pool, 8)
        steps.go.set()
    assert steps.done == [[0], [1, 2, 3], [4, 5, 6], [7]]


def test_nobody_goes_on_before_its_own_was_done() -> None:
    steps = Steps()
    passed: list[int] = []
    gathering = steps.gathering(9)

    def wait(item: int) -> None:
        gathering.wait(item)
        passed.append(item)

    with ThreadPoolExecutor(4) as pool:
        for item in range(4):
            pool.submit(wait, item)
        time.sleep(0.1)
        before = list(passed)
        steps.go.set()
    assert (before, sorted(passed)) == ([], [0, 1, 2, 3])


def test_a_step_that_fails_is_raised_where_it_was_taken_and_leaves_nobody_waiting() -> None:
    def step(items: list[int]) -> None:
        time.sleep(0.05)
        if 0 in items:
            raise ValueError("step")

    gathering = Gathering(step, lambda batch, _: True)
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(gathering.wait, 0)
        time.sleep(0.02)
        rest = [pool.submit(gathering.wait, item) for item in range(1, 5)]
        with pytest.raises(ValueError, match="step"):
            first.result(10)
        assert [future.result(10) for future in rest] == [None] * 4


def test_each_of_many_is_done_once() -> None:
    done: list[int] = []
    gathering: Gathering[int] = Gathering(done.extend, lambda batch, _: len(batch) < 5)
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(gathering.wait, range(5000), timeout=60))
    assert sorted(done) == list(range(5000))
