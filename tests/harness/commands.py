"""Commands in processes of their own that have nothing left to import: forked from one that has.

A command that starts anew imports for 0.1 to 0.4 s of processor time, longer than most of them work. The process that
is forked has read nothing, opened nothing and runs no thread, so a command in it is as alone as one that a shell
starts: its exit status, its environment, its own forks and whatever it leaves in memory are its own.
"""

import atexit
import ctypes
import gc
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

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


SET_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "TZ")
"""How names of variables begin that the interpreter reads when it starts, and never again."""
PATHS = "PYTHONPATH"
"""The one of them that a forked process can still follow: where an interface of a test's own lies."""
SOURCES = Path(__file__).parents[2] / "src"
"""Where the program lies that a forked process has imported already."""
NOT_NEEDED = ("shopwindow.__main__",)
"""Modules that are imported when they are wanted."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status and the bytes that it printed."""

    status: int
    out: bytes
    err: bytes


class Starter:
    """The process that commands are forked from, and the pipes to it. It ends when its input does."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=ends_with_us,
        )
        atexit.register(self.end)

    def run(self, arguments: list[str], folder: str, environment: Mapping[str, str]) -> Ended:
        """Run the command with these arguments in a folder, and wait until it has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            printed = [f"/proc/{os.getpid()}/fd/{stream.fileno()}" for stream in (out, err)]
            order = [arguments, folder, dict(environment), mask(), printed]
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
            assert answer, "the process that starts commands has ended"
            out.seek(0)
            err.seek(0)
            return Ended(int(answer), out.read(), err.read())

    def end(self) -> None:
        """Let it end, and wait for it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def mask() -> int:
    """Which permissions new files do not get here; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


_starter: Starter | None = None


def can_fork(more: Mapping[str, str]) -> bool:
    """Whether a fork serves where the environment has ``more`` than that of the tests."""
    set_at_start = [name for name in more if name.startswith(SET_AT_START) and name != PATHS]
    programs = {path / "shopwindow" for path in map(Path, _paths(more)) if (path / "shopwindow").is_dir()}
    return Path("/proc/self/fd").is_dir() and not set_at_start and programs <= {SOURCES / "shopwindow"}


def _paths(environment: Mapping[str, str]) -> list[str]:
    """The folders that are searched for modules before those of the interpreter."""
    return [path for path in environment.get(PATHS, "").split(os.pathsep) if path]


def forked(arguments: list[str], folder: str, environment: Mapping[str, str]) -> Ended:
    """What `shopwindow` with these arguments does in a folder, with this environment."""
    global _starter
    if _starter is None:
        _starter = Starter()
    return _starter.run(arguments, folder, environment)


# -- in the process that commands are forked from ------------------------------------------------------------------


def _serve() -> None:
    """Import what commands import; then, for each line of the input, run one and say how it ended."""
    for module in pkgutil.walk_packages(import_module("shopwindow").__path__, "shopwindow."):
        if module.name not in NOT_NEEDED:
            import_module(module.name)
    gc.freeze()  # the collector of a forked process leaves alone, and so uncopied, what was imported here
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            ends_with_us()
            _become(*json.loads(line))
        _, status = os.waitpid(child, 0)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))


def main_of_command() -> int:
    """Run the command that ``sys.argv`` has, and return its exit status."""
    try:
        import_module("shopwindow.__main__").main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _become(arguments: list[str], folder: str, environment: dict[str, str], mask: int, printed: list[str]) -> None:
    """Runs in the forked process: it becomes the command, and ends as it does."""
    for number, path in [(0, os.devnull), *enumerate(printed, 1)]:
        stream = os.open(path, os.O_WRONLY if number else os.O_RDONLY)
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.umask(mask)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = _paths(environment)
    sys.dont_write_bytecode = True  # a test may edit a module within the second, and keep its size
    sys.argv = ["shopwindow", *arguments]
    status = 1
    try:
        status = main_of_command()
    finally:
        for stream_of in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream_of.flush()
        os._exit(status)  # never on to the next command


if __name__ == "__main__":
    _serve()
