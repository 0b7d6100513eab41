"""Facts about work that is shared among forked processes, whose results are taken in order while it is done."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shopwindow.content.reading.processes import Ended, shared


def results(work: Callable[[Any], Any], items: Sequence[Any], jobs: int) -> list[Any]:
    with shared(partial(map, work), items, jobs) as found:
        return list(found)


@pytest.mark.parametrize("jobs", [1, 2, 3, 9])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    assert results(lambda item: item * item, range(20), jobs) == [item * item for item in range(20)]


@pytest.mark.parametrize("jobs", [1, 3])
def test_there_may_be_nothing_to_do(jobs: int) -> None:
    assert results(str, [], jobs) == []


def test_results_may_be_larger_than_a_pipe() -> None:
    found = results(lambda item: bytes([item]) * 1_000_000, range(5), 2)
    assert [(each[0], len(each)) for each in found] == [(item, 1_000_000) for item in range(5)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_raised_there_is_raised_here(jobs: int) -> None:
    with shared(partial(map, lambda item: 6 // (3 - item)), range(5), jobs) as found:
        assert [next(found), next(found), next(found)] == [2, 3, 6]
        with pytest.raises(ZeroDivisionError):
            next(found)


def test_a_process_that_is_killed_ends_the_work() -> None:
    def work(item: int) -> int:
        if item == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    before = children()
    with pytest.raises(Ended, match="memory"):
        results(work, range(10), 2)
    assert children() - before == set()


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split())


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux tells a process's children in a file")
def test_no_process_is_left_when_nobody_takes_the_rest() -> None:
    before = children()
    with shared(partial(map, lambda item: bytes(1_000_000)), range(100), 3) as found:
        next(found)
        working = children() - before
    assert (len(working), children() - before) == (3, set())


def test_who_fails_to_take_a_result_ends_the_processes() -> None:
    before = children()
    with pytest.raises(ZeroDivisionError), shared(partial(map, bytes), range(1000), 2) as found:
        any(1 // len(result) for result in found)  # the first has no length
    assert children() - before == set()


def test_a_process_ends_its_work_before_the_results_end(tmp_path: Path) -> None:
    def work(mine: Sequence[int]) -> Iterator[int]:
        yield from mine
        (tmp_path / str(mine[0])).write_bytes(b"done")

    with shared(work, range(6), 3) as found:
        assert list(found) == list(range(6))
        assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2"}


def test_what_fails_after_the_last_result_is_raised_as_well() -> None:
    def work(mine: Sequence[int]) -> Iterator[int]:
        yield from mine
        raise LookupError(mine[0])

    with pytest.raises(LookupError), shared(work, range(4), 2) as found:
        list(found)


def test_a_traceback_comes_with_what_is_raised() -> None:
    def broken(item: int) -> int:
        return {0: 1}[item]

    with pytest.raises(KeyError) as raised:
        results(broken, range(4), 2)
    (note,) = raised.value.__notes__
    assert ("in broken" in note, "KeyError: 1" in note) == (True, True)
