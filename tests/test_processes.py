"""Work shared among forked processes, taken in order while it is made."""

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vitrine.content.processes import Ended, aside, ordered, share, stream


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


Step = Callable[[], None]


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_whatever_a_process_yields_is_taken(jobs: int) -> None:
    def work(number: int, step: Step) -> Iterator[tuple[int, bytes]]:
        for item in range(3):
            yield number, bytes([item]) * 300_000

    found: list[tuple[int, bytes]] = []
    stream(work, jobs, found.append)
    assert sorted(found) == [(number, bytes([item]) * 300_000) for number in range(jobs) for item in range(3)]


def read(end: int) -> bytes:
    ready, _, _ = select.select([end], [], [], 10)
    return os.read(end, 1) if ready else b""


def test_it_is_taken_while_more_is_made() -> None:
    asking, answering = os.pipe()

    def work(number: int, step: Step) -> Iterator[bytes]:
        yield b"first"
        yield read(asking)

    def taken(item: bytes) -> None:
        found.append(item)
        os.write(answering, b"x")

    found: list[bytes] = []
    stream(work, 2, taken)
    assert sorted(found) == [b"first", b"first", b"x", b"x"]


def test_a_process_whose_pipe_is_full_works_on() -> None:
    made, done = os.pipe()

    def work(number: int, step: Step) -> Iterator[bytes]:
        yield bytes(1_000_000)
        os.write(done, b"x")
        yield b"last"

    heard: list[bytes] = []
    found: list[bytes] = []
    stream(work, 2, found.append, meanwhile=lambda: heard.extend([read(made), read(made)]))
    assert (heard, sorted(map(len, found))) == ([b"x", b"x"], [4, 4, 1_000_000, 1_000_000])


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_is_raised_is_raised_after_what_was_yielded(jobs: int) -> None:
    def work(number: int, step: Step) -> Iterator[int]:
        yield number
        if number == jobs - 1:
            raise LookupError(number)

    found: list[int] = []
    with pytest.raises(LookupError, match=str(jobs - 1)):
        stream(work, jobs, found.append)
    assert sorted(found) == list(range(jobs))


def test_a_killed_process_is_no_end_of_what_it_yields() -> None:
    def work(number: int, step: Step) -> Iterator[int]:
        yield number
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    before = children()
    with pytest.raises(Ended, match="memory"):
        stream(work, 2, lambda item: None)
    assert children() - before == set()


def test_a_taker_that_fails_ends_the_processes() -> None:
    def work(number: int, step: Step) -> Iterator[int]:
        while True:
            yield number

    before = children()
    with pytest.raises(ZeroDivisionError):
        stream(work, 2, lambda item: 1 // 0)
    assert children() - before == set()


@pytest.mark.parametrize("jobs", [1, 4])
def test_shared_results_are_in_the_order_of_the_processes(jobs: int) -> None:
    told: list[int] = []

    def work(number: int, step: Step) -> int:
        for _ in range(100):
            step()
        return number * number

    assert share(work, jobs, told.append) == [number * number for number in range(jobs)]
    assert max(told) <= 100 * jobs
