"""What a command costs: the time of the whole process tree, and the memory of all its
processes together.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Command = Sequence[str | os.PathLike[str]]
SAMPLED_EVERY = 0.005


@dataclass(frozen=True)
class Run:
    """One run: seconds by the clock, processor seconds of it and its children, and what
    it printed.
    """

    wall: float
    processor: float
    output: str


def run(command: Command) -> Run:
    """Run a command to its end. Raises RuntimeError with its output where it fails."""
    read_end, write_end = os.pipe()
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=write_end, stderr=subprocess.STDOUT
    )
    os.close(write_end)
    with open(read_end, encoding="utf-8", errors="replace") as pipe:
        output = pipe.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(
            f"{os.fspath(command[0])}: exit status {process.returncode}: {output[-2000:]}"
        )
    return Run(wall, used.ru_utime + used.ru_stime, output)


def peak_memory(command: Command) -> int:
    """The largest sum, over all processes of a command at one time, of their
    proportional set sizes, in bytes.

    A page that several processes share counts once in all. Looking slows the command
    down: this run is not timed.
    """
    peak = 0
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    while process.poll() is None:
        peak = max(peak, family_memory(process.pid))
        time.sleep(SAMPLED_EVERY)
    if process.returncode:
        raise RuntimeError(f"{os.fspath(command[0])}: exit status {process.returncode}")
    return peak


def watched(command: Command, every: float = 0.5) -> tuple[Run, int]:
    """One run and the most memory of all its processes together, looked at now and then
    while it is timed.

    For runs of minutes, which looking does not slow down.
    """
    peak = 0
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        peak = max(peak, family_memory(process.pid))
        time.sleep(every)
    wall, (_, status, used) = time.perf_counter() - started, ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{os.fspath(command[0])}: exit status {process.returncode}")
    return Run(wall, used.ru_utime + used.ru_stime, ""), peak


def family_memory(pid: int) -> int:
    """The proportional set sizes of a process and all its descendants, together."""
    return sum(map(proportional, _family(pid)))


def _family(pid: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield pid
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in (
                Path(f"/proc/{pid}/task/{thread}/children")
                .read_text(encoding="ascii")
                .split()
            ):
                yield from _family(int(child))
    except OSError:  # it has ended
        return


def proportional(pid: int) -> int:
    try:
        lines = (
            Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        )
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0
    )


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median, least and most, in seconds."""
    return f"{median(values):.{digits}f} s ({min(values):.{digits}f}–{max(values):.{digits}f})"
