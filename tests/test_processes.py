"""Work shared among forked processes, taken in order while it is made."""

import os
import signal
import threading
from pathlib import Path

import pytest

from vitrine.content.processes import Ended, aside, ordered


@pytest.mark.parametrize("jobs", [1, 2, 3, 9])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    assert list(ordered(lambda item: item * item, range(20), jobs)) == [item * item for item in range(20)]


@pytest.mark.parametrize("jobs", [1, 3])
def test_there_may_be_nothing_to_do(jobs: int) -> None:
    assert list(ordered(str, [], jobs)) == []


def test_results_may_be_larger_than_a_pipe() -> None:
    found = ordered(lambda item: bytes([item]) * 1_000_000, range(5), 2)
    assert [(each[0], len(each)) for each in found] == [(item, 1_000_000) for item in range(5)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_raised_there_is_raised_here(jobs: int) -> None:
    found = ordered(lambda item: 6 // (3 - item), range(5), jobs)
    assert [next(found), next(found), next(found)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_a_process_that_is_killed_ends_the_work() -> None:
    def work(item: int) -> int:
        if item == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with pytest.raises(Ended, match="memory"):
        list(ordered(work, range(10), 2))


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split())


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux tells a process's children in a file")
def test_no_process_is_left_when_nobody_takes_the_rest() -> None:
    before = children()
    found = ordered(lambda item: bytes(1_000_000), range(100), 3)
    next(found)
    working = children() - before
    found.close()  # type: ignore[attr-defined]
    assert (len(working), children() - before) == (3, set())


def test_what_is_done_aside_is_waited_for() -> None:
    before = children()
    wait = aside(lambda: bytes(1_000_000))
    assert (len(children() - before), len(wait()), children() - before) == (1, 1_000_000, set())


def test_what_is_raised_aside_is_raised_where_it_is_waited_for() -> None:
    wait = aside(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        wait()


def test_who_is_killed_aside_has_ended() -> None:
    with pytest.raises(Ended, match="memory"):
        aside(lambda: os.kill(os.getpid(), signal.SIGKILL))()
