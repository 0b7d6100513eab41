"""Work shared among forked processes: what was made before the fork is theirs without copying."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from vitrine.problems import Failure

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called now and then with how many items are done, and how many there are."""


class Ended(Failure):
    """A process that ended before it answered (out of memory, killed)."""


_ENDED = "a process that shared the work was ended from outside; is there enough memory?"


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def give_back() -> None:
    """Memory that was freed goes back to the system, where the C library (glibc) can be asked to."""
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


@contextmanager
def turns(items: Sequence[Item], size: int) -> Iterator[Callable[[], Iterator[Sequence[Item]]]]:
    """Runs of ``size`` items, each handed once to whichever process asks first: so all of them end at the same time.

    What is yielded is called in each process. The runs' numbers lie in a pipe, which hands out each of them once.
    """
    size = max(size, len(items) // 8192 + 1)  # a pipe holds 16,384 numbers of four bytes
    runs = [items[start : start + size] for start in range(0, len(items), size)]
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, b"".join(number.to_bytes(4, "big") for number in range(len(runs))))
    finally:
        os.close(write_end)

    def take() -> Iterator[Sequence[Item]]:
        while number := os.read(read_end, 4):
            yield runs[int.from_bytes(number, "big")]

    try:
        yield take
    finally:
        os.close(read_end)


def counted(progress: Progress | None, total: int) -> Callable[[int], None] | None:
    """What ``share`` calls to report on ``total`` items."""
    return None if progress is None else lambda done: progress(done, total)


def share(
    work: Callable[[int, Callable[[], None]], Result],
    jobs: int,
    progress: Callable[[int], None] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> list[Result]:
    """``work(number, step)`` for every number below ``jobs``, as `stream` does it; the results in order."""
    found: dict[int, Result] = {}

    def numbered(number: int, step: Callable[[], None]) -> Iterator[tuple[int, Result]]:
        yield number, work(number, step)

    stream(numbered, jobs, lambda part: found.update([part]), progress, meanwhile)
    return [found[number] for number in range(jobs)]


def stream(
    work: Callable[[int, Callable[[], None]], Iterator[Item]],
    jobs: int,
    taken: Callable[[Item], object],
    progress: Callable[[int], None] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """What ``work(number, step)`` yields, for every number below ``jobs``, each in a process of its own.

    ``taken`` gets it here, in any order, while more is made. ``work`` calls ``step()`` after each item; ``meanwhile``
    is called here, once the processes are at work. What one of them raises is raised here, and Ended, after all have
    ended. With one job, or where the system cannot fork, everything runs in this process.
    """
    if jobs <= 1 or not hasattr(os, "fork"):
        meanwhile()
        for number in range(jobs):
            for item in _alone(work, number, progress):
                taken(item)
        return
    import mmap
    import struct

    done = mmap.mmap(-1, 8 * jobs)
    readers: list[int] = []
    children: list[int] = []
    try:
        for number in range(jobs):
            read_end, write_end = os.pipe()
            child = os.fork()
            if child == 0:
                for other in (read_end, *readers):
                    os.close(other)
                _child(work, number, write_end, done)
            os.close(write_end)
            readers.append(read_end)
            children.append(child)
        meanwhile()
        _gather(readers, taken, lambda: progress and progress(sum(struct.unpack(f"={jobs}q", done[:]))))
    except BaseException:
        for child in children:
            os.kill(child, 9)
        raise
    finally:
        for reader in readers:
            os.close(reader)
        for child in children:
            os.waitpid(child, 0)


def aside(work: Callable[[], Result]) -> Callable[[], Result]:
    """``work()`` in a process of its own, begun now; what is returned waits for it and gives its result, once.

    What it raises is raised there, and Ended. Where the system cannot fork, it is done there, too.
    """
    if not hasattr(os, "fork"):
        return work
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _child(lambda number, step: iter([work()]), 0, write_end, bytearray(8))
    os.close(write_end)

    def result() -> Result:
        found: list[Result] = []
        try:
            _gather([read_end], found.append, lambda: None)
        finally:
            os.close(read_end)
            os.waitpid(child, 0)
        return found[0]

    return result


def _alone(
    work: Callable[[int, Callable[[], None]], Iterator[Item]], number: int, progress: Callable[[int], None] | None
) -> Iterator[Item]:
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if progress and count % 64 == 0:
            progress(count)

    return work(number, step)


_ITEM, _RAISED, _END = range(3)
_HEAD = 9
"""Bytes before each pickled value in a pipe: its length (8, big-endian) and which of these three it is."""


def _child(work: Callable[[int, Callable[[], None]], Iterator[Any]], number: int, write_end: int, done: object) -> None:
    """Runs in the forked process and never returns."""
    import pickle
    import struct

    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        struct.pack_into("=q", done, 8 * number, count)  # type: ignore[arg-type]

    waiting = bytearray()

    def tell(what: int, value: object) -> None:
        data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        waiting.extend(len(data).to_bytes(_HEAD - 1, "big") + bytes([what]))
        waiting.extend(data)
        with suppress(BlockingIOError):  # nobody reads yet: the work goes on
            while waiting:
                del waiting[: os.write(write_end, waiting)]

    status = 1
    try:
        os.set_blocking(write_end, False)
        try:
            for item in work(number, step):
                tell(_ITEM, item)
        except Exception as error:
            tell(_RAISED, error)
        os.set_blocking(write_end, True)
        tell(_END, None)
        status = 0
    finally:
        os._exit(status)  # never the parent's exit handlers


def _gather(readers: Sequence[int], taken: Callable[[Any], object], tick: Callable[[], object]) -> None:
    """What each process tells, as it comes. Raises what one of them raised, and Ended, when all have ended."""
    import pickle
    import select

    told = {reader: bytearray() for reader in readers}
    poll = select.poll()
    for reader in readers:
        poll.register(reader, select.POLLIN)
    raised: BaseException | None = None
    unfinished = set(readers)
    while told:
        for reader, _ in poll.poll(100):
            chunk = os.read(reader, 1 << 18)
            waiting = told[reader]
            if not chunk:
                poll.unregister(reader)
                del told[reader]
                continue
            waiting += chunk
            while len(waiting) >= _HEAD and len(waiting) >= (
                end := _HEAD + int.from_bytes(waiting[: _HEAD - 1], "big")
            ):
                what, value = waiting[_HEAD - 1], pickle.loads(memoryview(waiting)[_HEAD:end].tobytes())
                del waiting[:end]
                if what == _ITEM:
                    taken(value)
                elif what == _RAISED:
                    raised = raised or value
                else:
                    unfinished.discard(reader)
        tick()
    if raised:
        raise raised
    if unfinished:  # nothing came, or the beginning of what there is to tell
        raise Ended(_ENDED)


def ordered(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """``work(item)`` of every item, in order, made by ``jobs`` forked processes while results are taken here.

    Each process has a pipe; one that is ahead waits until its pipe is read, so few results are kept at a time. With
    one job, or where the system cannot fork, everything runs in this process. Raises what ``work`` raises, and Ended.
    """
    jobs = min(jobs, len(items))
    if jobs <= 1 or not hasattr(os, "fork"):
        yield from map(work, items)
        return
    import pickle

    readers: list[int] = []
    children: list[int] = []
    try:
        for number in range(jobs):
            read_end, write_end = os.pipe()
            child = os.fork()
            if child == 0:
                for other in (read_end, *readers):
                    os.close(other)
                _supply(work, items[number::jobs], write_end)
            os.close(write_end)
            readers.append(read_end)
            children.append(child)
        streams = [os.fdopen(reader, "rb", buffering=1 << 16, closefd=False) for reader in readers]
        for number in range(len(items)):
            try:
                failed, value = pickle.load(streams[number % jobs])
            except (EOFError, pickle.UnpicklingError):  # nothing, or the beginning of an answer
                raise Ended(_ENDED) from None
            if failed:
                raise value
            yield value
    finally:
        for reader in readers:
            os.close(reader)
        for child in children:
            os.kill(child, 9)  # has ended, or has nobody to work for
            os.waitpid(child, 0)


def _supply(work: Callable[[Item], object], items: Sequence[Item], write_end: int) -> None:
    """Runs in the forked process and never returns."""
    import pickle

    status = 1
    try:
        with open(write_end, "wb", buffering=1 << 16) as pipe:
            for item in items:
                try:
                    answer = pickle.dumps((False, work(item)), protocol=pickle.HIGHEST_PROTOCOL)
                except Exception as error:
                    answer = pickle.dumps((True, error))
                pipe.write(answer)
                pipe.flush()
        status = 0
    finally:
        os._exit(status)  # never the parent's exit handlers
