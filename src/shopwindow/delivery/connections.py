"""Does the same to many objects over several connections at once."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from shopwindow.content.processes import Progress

CONNECTIONS = 32
"""Requests under way at once. A store answers one in 10 to 50 ms; with 32 of them
18,800 files take some 20 s, and a store admits thousands.
"""

Item = TypeVar("Item")
Returned = TypeVar("Returned")


def concurrently(
    work: Callable[[Item], Returned],
    items: Sequence[Item],
    progress: Progress | None = None,
) -> list[Returned]:
    """Call ``work`` with every item; return the results, in no certain order.

    ``progress`` is called with how many are done, and of how many. The first exception
    is raised, after the calls that are under way have ended; no others begin.
    """
    results: list[Returned] = []
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        futures = [threads.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                results.append(future.result())
                if progress:
                    progress(len(results), len(items))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
    return results
