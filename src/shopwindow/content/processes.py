"""Work shared among forked processes: what is in memory before the fork is theirs
without copying.

There is one way to share. Items are dealt out like cards, every so-many-th to each
process; results come back through a pipe a process and are taken in the order of the
items. A process that is ahead waits until its pipe is read, so few results are in
memory at a time, and the order in which processes happen to run decides nothing.
"""

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pickle import UnpicklingError
from traceback import format_exception
from typing import Any, TypeVar

from shopwindow.problems import Failure

WorkItem = TypeVar("WorkItem")
WorkResult = TypeVar("WorkResult")
Progress = Callable[[int, int], None]
"""A function that is called now and then with how many items are done, and how many
there are.
"""


class Ended(Failure):
    """A process that ended before it answered (out of memory, killed)."""


_ENDED_FROM_OUTSIDE = (
    "a process that shared the work was ended from outside; is there enough memory?"
)


def processors() -> int:
    """Return how many processors this process may use."""
    return (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


def give_back() -> None:
    """Give freed memory back to the system, where the C library (glibc) can be asked
    to.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


@contextmanager
def shared(
    work: Callable[[Sequence[WorkItem]], Iterable[WorkResult]],
    items: Sequence[WorkItem],
    jobs: int,
) -> Iterator[Iterator[WorkResult]]:
    """Yield the results of ``work``, one for each item, in the order of the items.

    ``work`` is called once in each process, with that process's items; it yields a
    result for each. The processes are at work when the block begins. When the last
    result has been taken and the iterator ends, they have ended by themselves; when the
    block is left before that, they are killed. With one job, or where the system cannot
    fork, ``work`` runs in this process. The iterator raises what ``work`` raises, and
    Ended.
    """
    jobs = min(jobs, len(items))
    if jobs <= 1 or not hasattr(os, "fork"):
        yield iter(work(items))
        return
    context = get_context("fork")
    readers: list[Connection[Any, Any]] = []
    processes = []
    try:
        for number in range(jobs):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(
                target=_send, args=(work, items[number::jobs], writer), daemon=True
            )
            process.start()
            writer.close()  # the process alone holds it, so that its end is the end of the pipe
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
    """Run in a process: send each result, or what was raised."""
    try:
        for result in work(items):
            writer.send((None, result))
    except KeyboardInterrupt:  # the parent gets it as well, and says so
        pass
    except Exception as error:
        error.add_note(
            "".join(["In a process that shared the work:\n", *format_exception(error)])
        )  # a pipe has none
        writer.send((error, None))


def _received(readers: Sequence["Connection[Any, Any]"], count: int) -> Iterator[Any]:
    """Yield the results, taken in turns; then read every pipe to its end, for an error
    raised after the last one.
    """
    for number in range(count):
        try:
            error, result = readers[number % len(readers)].recv()
        except (
            EOFError,
            OSError,
            UnpicklingError,
        ):  # nothing came, or the beginning of a result
            raise Ended(_ENDED_FROM_OUTSIDE) from None
        if error is not None:
            raise error
        yield result
    for reader in readers:
        try:
            error, _ = reader.recv()
        except EOFError:
            continue
        raise error
