"""Shares work among forked processes, the one way in which this program does so; and how
a caller learns of the steps of what takes long.

How this works. A forked process sees the memory of its parent without a copy, so items
need not be sent. They are dealt like cards: with three processes, each gets every third
item. Each process has a pipe for its results, and the parent reads the pipes in turns,
which gives the results in the order of the items. The order in which the processes
happen to run decides nothing. A process that is ahead of the others waits until its
pipe is read, so few results are in memory at a time.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pickle import UnpicklingError
from traceback import format_exception
from typing import TYPE_CHECKING, Any, TypeVar

from shopwindow.problems import Failure

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

WorkItem = TypeVar("WorkItem")
WorkResult = TypeVar("WorkResult")
Progress = Callable[[int, int], None]
"""Called now and then with the number of items that are done, and that of all items; with
0 and 0 where the work goes on and nobody counts it.
"""


Steps = Callable[[str], Progress | None]
"""Called with the name of a step: "checking", "indexing" or "rendering". Returns what is
called as the step goes on, or None.
"""


def no_steps(step: str) -> None:
    """Follow no step."""
    return


@contextmanager
def step_around(steps: Steps, name: str) -> Iterator[Progress]:
    """Yield what is called for a count that is only a part of a step.

    Before the count begins, and after it has ended, the step goes on without one.
    """
    follow = steps(name)
    if follow is None:
        yield lambda done, total: None
        return

    def progress(done: int, total: int) -> None:
        if done < total:
            follow(done, total)
        else:
            follow(0, 0)

    follow(0, 0)
    try:
        yield progress
    finally:
        follow(1, 1)


class Ended(Failure):
    """A process ended before its last result: it was killed, or memory ran out."""


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux; macOS does not have it
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def give_back() -> None:
    """Return freed memory to the system, where the C library (glibc) can do so."""
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


@contextmanager
def shared(
    work: Callable[[Sequence[WorkItem]], Iterable[WorkResult]],
    items: Sequence[WorkItem],
    jobs: int | None,
) -> Iterator[Iterator[WorkResult]]:
    """Yield an iterator of results, one for each item, in the order of the items.

    ``work`` is called once in each of ``jobs`` processes, with that process's items,
    and yields a result for each; None: one for each processor. With one job, or where
    the system cannot fork, it runs in this process.

    The processes are at work when the block begins. They end by themselves when the
    iterator does; a block that is left before that kills them. The iterator raises what
    ``work`` raises, and Ended.
    """
    jobs = min(jobs or processors(), len(items))
    if jobs <= 1 or not hasattr(os, "fork"):
        yield iter(work(items))
        return
    from multiprocessing import get_context  # 20 ms, which few files are not worth

    context = get_context("fork")
    readers: list[Connection[Any, Any]] = []
    processes = []
    try:
        for number in range(jobs):
            reader, writer = context.Pipe(duplex=False)
            arguments = work, items[number::jobs], writer
            process = context.Process(target=_send, args=arguments, daemon=True)
            process.start()
            writer.close()  # only the process holds it now: when it ends, the pipe does
            readers.append(reader)
            processes.append(process)
        yield _received(readers, len(items))
    finally:
        for process in processes:
            process.kill()
        for reader in readers:
            reader.close()
        for process in processes:
            process.join()


def _send(
    work: Callable[[Sequence[WorkItem]], Iterable[WorkResult]],
    items: Sequence[WorkItem],
    writer: "Connection[Any, Any]",
) -> None:
    """Send each result, or the exception that ``work`` raised. Runs in a process."""
    try:
        for result in work(items):
            writer.send((None, result))
    except KeyboardInterrupt:  # the parent receives the signal as well, and reports it
        pass
    except Exception as error:
        # A traceback does not pass through a pipe, so a note carries its text.
        traceback = "".join(format_exception(error))
        error.add_note(f"In a process that shared the work:\n{traceback}")
        writer.send((error, None))


def _received(readers: Sequence["Connection[Any, Any]"], count: int) -> Iterator[Any]:
    """Yield the results of all pipes, in turns.

    At last it reads every pipe to its end, for an error that was raised after the last
    result.
    """
    nothing_or_cut_off = (EOFError, OSError, UnpicklingError)
    for number in range(count):
        reader = readers[number % len(readers)]
        try:
            error, result = reader.recv()
        except nothing_or_cut_off:
            raise Ended(
                "a process that shared the work was ended from outside; is there enough"
                " memory?"
            ) from None
        if error is not None:
            raise error
        yield result
    for reader in readers:
        try:
            error, _ = reader.recv()
        except EOFError:
            continue
        raise error
