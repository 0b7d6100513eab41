"""Commands in the process of their test, which is afterwards as it was.

A fork copies memory and reads every schema again: it takes 0.2 s of processor time for a check of a small folder, which
takes 0.03 s here. What goes on until somebody ends it, or shares its work with processes of its own, is forked
(commands.py).
"""

import gc
import io
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from harness.commands import PATHS, Ended, can_fork, main_of_command, mask
from harness.run import threads_beside
from harness.waits import awaited

GO_ON = {"serve", "preview", "--watch", "--follow"}
"""Words of commands that go on until a signal ends them."""


def can_run_inside(arguments: list[str], more: Mapping[str, str]) -> bool:
    """Whether a command may run in this process: it ends by itself, starts no processes, imports nothing of a test, and
    no thread runs here.
    """
    is_apart = GO_ON.intersection(arguments) or "--jobs" in arguments or PATHS in more
    return can_fork(more) and not is_apart and not threads_beside()


def inside(arguments: list[str], folder: str, environment: Mapping[str, str]) -> Ended:
    """What `shopwindow` with these arguments does in a folder, with this environment, in this process."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _printing_to(out, err), _as_before():
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = ["shopwindow", *arguments]
            status = main_of_command()
        out.seek(0)
        err.seek(0)
        return Ended(status, out.read(), err.read())


@contextmanager
def _printing_to(out: IO[bytes], err: IO[bytes]) -> Iterator[None]:
    """Lead what is printed here, also by processes that are started meanwhile, into two files. There is no input."""
    streams, kept = (sys.stdin, sys.stdout, sys.stderr), [os.dup(number) for number in (1, 2)]
    try:
        with open(os.devnull) as nothing:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.stdin, sys.stdout, sys.stderr = nothing, _text(1), _text(2)
            yield
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, saved in enumerate(kept, 1):
            os.dup2(saved, number)
            os.close(saved)


def _text(number: int) -> io.TextIOWrapper:
    """A stream of text to a file descriptor, which stays open."""
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding="utf-8")


@contextmanager
def _as_before() -> Iterator[None]:
    """Give back what a command changes of its process, since it ends with it: arguments, folder, environment, signals.

    Meanwhile the process has one processor, as where each worker keeps to one: a command that has several forks.
    """
    argv, folder, environment = sys.argv, os.getcwd(), dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    modes, processors = mask(), _processors()
    try:
        _keep_to(processors[:1])
        yield
    finally:
        _keep_to(processors)
        sys.argv = argv
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        os.umask(modes)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        gc.enable()  # commands that end before there is garbage turn it off
        gc.collect()  # the next command would freeze it
    awaited(lambda: not threads_beside(), threads_beside)


def _processors() -> list[int]:
    """The processors that this thread may use, where the system tells."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _keep_to(processors: list[int]) -> None:
    if processors:
        os.sched_setaffinity(0, processors)
