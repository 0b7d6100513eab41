"""How a test waits: for a fact, as long as any other, and a failure says for which."""

import inspect
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 100
"""Seconds that a test waits for anything. Nothing takes a tenth of it where nothing else runs, and a machine that does
much else is no fault. It is less than a whole test may take (``BOUND`` in conftest.py), which could not say what it
waits for.
"""

PAUSE = 0.02
"""Seconds between two looks: short beside what is waited for, and 1 % of a processor."""

T = TypeVar("T")


def awaited(fact: Callable[[], T | None], shown: Callable[[], object] | None = None) -> T:
    """The first thing that ``fact`` returns which is true. Fails, after PATIENCE, with the lines that say the fact.

    ``shown`` returns what somebody wants to see who reads the failure.
    """
    end = time.monotonic() + PATIENCE
    while not (found := fact()):
        if time.monotonic() > end:
            seen = f"\n{shown()}" if shown else f"\nit is {found!r}"
            raise AssertionError(f"not true after {PATIENCE} s: {_said(fact)}{seen}")
        time.sleep(PAUSE)
    return found


def _said(fact: Callable[[], object]) -> str:
    """The source of a fact, and where it stands: a test tells what it waits for in code alone."""
    try:
        lines, number = inspect.getsourcelines(inspect.unwrap(fact))
    except (OSError, TypeError):  # a method that is written in C, or a `partial`
        return repr(fact)
    return f"{inspect.getsourcefile(fact)}:{number}: {''.join(lines).strip()}"
