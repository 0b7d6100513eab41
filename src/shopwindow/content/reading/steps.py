"""How a caller learns of the steps of what takes long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shopwindow.content.reading.processes import Progress

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
