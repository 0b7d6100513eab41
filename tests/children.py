"""The processes that tests start end with the tests, also when those are killed."""

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""Of linux/prctl.h: the signal that the kernel sends to a process when the thread that started it has ended."""
_library = ctypes.CDLL(None)
"""Loaded before any fork: the forked process does as little as it can before it becomes another program."""


def ends_with_us() -> None:
    """A process that is being started (`preexec_fn`) gets SIGTERM when whoever starts it ends without ending it.

    Linux alone can do that. Elsewhere what a killed test run has started goes on.
    """
    if sys.platform == "linux":
        _library.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
