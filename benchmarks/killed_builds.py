"""Builds killed (SIGKILL) at every step of publishing: what is left is a whole release,
and the next build cleans up.

    python -m benchmarks.killed_builds [--points N] [--random N] [--content DIR] [--work DIR]

A point is a file-system event of the build (a file opened for writing, a link, a rename
…), told by Python's audit hook just before it happens. Within an index there are none,
so an SQL statement counts instead where `at_statements` kills. Random kills come from
outside at any time; every other one takes the first process only. A kill loses nothing
that the system holds in memory: what a power failure does is not tried here.
"""

import argparse
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from shopwindow.release.releases import Releases
from shopwindow.release.verify import verify

CHECKOUT = Path(__file__).resolve().parents[1]
SETTLED = 2.2
"""Seconds after which a build trusts a file's times, so that it keeps a note of what it
has built.
"""

FILES, STATEMENTS = "files", "statements"
CHANGES = {
    "os.link",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.remove",
    "os.symlink",
    "os.chmod",
    "os.utime",
}
RECORD = re.compile(r"\.cache/reads[0-9a-f]{12}")
"""What the answers of a release of the chain have read."""

KNOWN = {
    "releases",
    "current",
    "history.jsonl",
    ".lock",
    ".cache",
    ".cache/files",
    ".cache/sound",
}
KNOWN |= {
    ".cache/catalog",
    ".cache/contracts",
    ".cache/catalog-lines",
    ".trash",
    "last-build.json",
}


# -- in the killed process -------------------------------------------------------------


def launch(point: int, what: str, out: str, arguments: Sequence[str]) -> None:
    """Run shopwindow and end this whole process group just before its ``point``-th
    event (0: never).

    ``what``: FILES, for events below ``out``, or STATEMENTS, for statements of SQLite
    on any file. Counted over all processes of the build, but not in the thread that
    settles now and then, for nobody knows how often it does. Prints the number of
    events where the build came to its end.
    """
    import fcntl
    import mmap
    import struct
    import threading

    count = mmap.mmap(-1, 8)
    lock = os.memfd_create("lock")  # of a process, not of what forked processes share

    def happens(event: str) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        fcntl.lockf(lock, fcntl.LOCK_EX)
        (number,) = struct.unpack("=q", count[:])
        count[:] = struct.pack("=q", number + 1)
        fcntl.lockf(lock, fcntl.LOCK_UN)
        if number + 1 == point:
            os.killpg(0, signal.SIGKILL)

    def hook(event: str, given: tuple[object, ...]) -> None:
        if event in CHANGES or (event == "open" and str(given[0]).startswith(out)):
            happens(event)

    class Traced(sqlite3.Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.set_trace_callback(happens)

    from shopwindow.cli import main

    if what == FILES:
        sys.addaudithook(hook)
    else:
        sqlite3.connect = partial(sqlite3.connect, factory=Traced)  # type: ignore[assignment]
    try:
        main(list(arguments))
    finally:
        print(struct.unpack("=q", count[:])[0])


# -- from outside ----------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A build to kill: of ``content``, over a copy of the output directory ``base`` or
    over none.

    ``old`` and ``new`` are the ids that may be current; None: that there is none.
    """

    name: str
    content: Path
    base: Path | None
    old: str | None
    new: str
    jobs: int = 1

    def arguments(self, out: Path) -> list[str]:
        return [
            "build",
            "--content",
            str(self.content),
            "--out",
            str(out),
            "--at",
            AT,
            "--jobs",
            str(self.jobs),
        ]


AT = "2026-11-23T12:00:00-05:00"


@dataclass
class Summary:
    """What kills of one case left: how often which release was current, and what was
    wrong.
    """

    name: str
    left: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        left = ", ".join(f"{count} {what}" for what, count in sorted(self.left.items()))
        return "\n  ".join(
            [
                f"{self.name}: {self.left.total()} kills; {left}; {len(self.wrong)} wrong",
                *self.wrong,
            ]
        )


def cases(content: Path, work: Path, jobs: int = 1) -> list[Case]:
    """A first build of ``content``, and one of an edited copy over it."""
    edited = work / "edited"
    shutil.copytree(content, edited)
    event = next(iter(sorted((edited / "events").glob("*.yaml"))))
    event.write_text(
        event.read_text(encoding="utf-8").replace("name: ", "name: Changed, ", 1),
        encoding="utf-8",
    )
    if (edited / "catalog").is_dir():
        _dearer(edited / "catalog")
    return cases_of(content, edited, work, jobs)


def cases_of(content: Path, edited: Path, work: Path, jobs: int = 1) -> list[Case]:
    """A first build of ``content``, and one of ``edited`` over it."""
    base = work / "base"
    time.sleep(SETTLED)
    first = Case("first build", content, None, None, "", jobs)
    second = Case("second build", edited, base, None, "", jobs)
    _build(first, base)
    old = str(Releases(base).current())
    shutil.copytree(base, work / "after", symlinks=True)
    _build(second, work / "after")
    new = str(Releases(work / "after").current())
    name = f", {jobs} processes" if jobs > 1 else ""
    return [
        Case(f"first build{name}", content, None, None, old, jobs),
        Case(f"second build{name}", edited, base, old, new, jobs),
    ]


def _dearer(catalog: Path) -> None:
    """Raise the price of one product, so that the index is changed, too."""
    for path in sorted(catalog.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        dearer = re.sub(r"(regular: )(\d)", r"\g<1>9\2", text, count=1)
        if dearer != text:
            path.write_text(dearer, encoding="utf-8")
            return
    raise RuntimeError(f"no product with a price in {catalog}")


def _build(case: Case, out: Path) -> str:
    """One build to its end; what it printed. Raises RuntimeError where it fails."""
    command = [sys.executable, "-m", "shopwindow", *case.arguments(out)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stdout}")
    return done.stdout


def events(case: Case, work: Path) -> int:
    """How many events the case's build has."""
    return _counted(case, work, FILES)


def statements(case: Case, work: Path) -> int:
    """How many SQL statements the case's build has."""
    return _counted(case, work, STATEMENTS)


def _counted(case: Case, work: Path, what: str) -> int:
    done = _launched(0, what, case, _fresh(case, work, f"counted {what}"))
    return int(done.stdout.split()[-1])


def _fresh(case: Case, work: Path, name: str) -> Path:
    out = work / f"{case.name} {name}".replace(" ", "-").replace(",", "")
    if case.base:
        shutil.copytree(case.base, out, symlinks=True)
    return out


def _launched(
    point: int, what: str, case: Case, out: Path
) -> "subprocess.CompletedProcess[str]":
    command = [
        sys.executable,
        "-P",  # without this folder, whose xml.py would stand for Python's own
        __file__,
        "launch",
        str(point),
        what,
        str(out),
        *case.arguments(out),
    ]
    return subprocess.run(
        command, capture_output=True, text=True, process_group=0, check=False
    )


def spaced(count: int, points: int) -> list[int]:
    """``points`` of the numbers 1 to ``count``: half of them the last (there `current`
    is switched), the rest even.
    """
    last = min(points // 2, count)
    even = points - last
    return sorted(
        {1 + (count - last) * number // even for number in range(even)}
        | set(range(count - last + 1, count + 1))
    )


def at_events(case: Case, work: Path, points: Iterable[int]) -> Summary:
    """Kill a build of its own before each of the given events."""
    return _at(case, work, points, FILES)


def at_statements(case: Case, work: Path, points: Iterable[int]) -> Summary:
    """Kill a build of its own before each of the given SQL statements."""
    return _at(case, work, points, STATEMENTS)


def _at(case: Case, work: Path, points: Iterable[int], what: str) -> Summary:
    def kill(point: int, out: Path) -> str:
        status = _launched(point, what, case, out).returncode
        return (
            ""
            if status == -signal.SIGKILL
            else f"the build was not killed, exit status {status}"
        )

    return _each(
        case,
        work,
        [(f"at {what} {point}", partial(kill, point)) for point in points],
    )


def at_random(case: Case, work: Path, count: int, seed: int = 1) -> Summary:
    """Kill ``count`` builds at any time of a build's length."""
    started = time.monotonic()
    _build(case, _fresh(case, work, "timed"))
    length, chance = (
        (time.monotonic() - started) * 1.8,
        random.Random(seed),
    )  # several builds at once take longer

    def kill(after: float, everyone: bool, out: Path) -> str:
        command = [sys.executable, "-m", "shopwindow", *case.arguments(out)]
        build = subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0)
        time.sleep(after)
        (os.killpg if everyone else os.kill)(build.pid, signal.SIGKILL)
        build.wait()
        _wait_for_group(build.pid)
        return ""

    kills = []
    for number in range(count):
        after, everyone = chance.random() * length, number % 2 == 0
        name = f"after {after:.3f} s{'' if everyone else ', the first process only'} ({number})"
        kills.append((name, partial(kill, after, everyone)))
    return _each(case, work, kills)


def _wait_for_group(group: int) -> None:
    """Until no process of a group runs; a few seconds at most."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)


def _each(
    case: Case, work: Path, kills: Sequence[tuple[str, Callable[[Path], str]]]
) -> Summary:
    summary = Summary(case.name)

    def one(number: int) -> tuple[str, list[str]]:
        name, kill = kills[number]
        out = _fresh(case, work, name)
        wrong = [line for line in [kill(out)] if line]
        left = current(out)
        wrong += after_kill(case, out) + after_next(case, out)
        shutil.rmtree(out)
        return {case.old: "old", case.new: "new"}.get(left, str(left)), [
            f"{name}: {line}" for line in wrong
        ]

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for left, wrong in pool.map(one, range(len(kills))):
            summary.left[
                f"left the {left} release current"
                if left != "old" or case.old
                else "left none current"
            ] += 1
            summary.wrong += wrong
    return summary


# -- what must hold --------------------------------------------------------------------


def current(out: Path) -> str | None:
    """The id that the link leads to."""
    return (
        os.path.basename(os.readlink(out / "current"))
        if (out / "current").is_symlink()
        else None
    )


def after_kill(case: Case, out: Path) -> list[str]:
    """What a killed build must not leave behind."""
    wrong = []
    now = current(out)
    if now not in (case.old, case.new):
        wrong.append(f"current leads to {now}")
    return wrong + damaged(out)


def damaged(out: Path) -> list[str]:
    """What is wrong with the releases that stand in ``out``."""
    releases = Releases(out)
    there = (
        sorted(path.name for path in releases.folder.iterdir())
        if releases.folder.is_dir()
        else []
    )
    return [
        f"release {id[:12]}: {line}" for id in there for line in verify(releases, id)
    ]


def after_next(case: Case, out: Path) -> list[str]:
    """What the next build must have put right."""
    try:
        _build(case, out)
    except RuntimeError as error:
        return [f"the next build failed: {error}"]
    wrong = damaged(out)
    noted = Releases(out).history()[-1]["id"]
    if current(out) != case.new or noted != case.new:
        wrong.append(
            f"after the next build {current(out)} is current, and the history ends with {noted}"
        )
    found = {
        path.relative_to(out).as_posix()
        for folder in (out, out / ".cache")
        for path in folder.glob("*")
    }
    return wrong + [
        f"the next build left {name}"
        for name in sorted(found - KNOWN)
        if not RECORD.fullmatch(name)
    ]


def main() -> int:
    if sys.argv[1:2] == ["launch"]:
        launch(int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:])
        return 0
    parser = argparse.ArgumentParser(
        description="Builds killed at every step of publishing."
    )
    parser.add_argument(
        "--points",
        type=int,
        default=300,
        metavar="N",
        help="kills at events, of each build",
    )
    parser.add_argument(
        "--random",
        type=int,
        default=100,
        metavar="N",
        help="kills at any time, of each build",
    )
    parser.add_argument(
        "--content", type=Path, default=CHECKOUT / "content", metavar="DIR"
    )
    parser.add_argument(
        "--work", type=Path, metavar="DIR", help="where to work (default: temporary)"
    )
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp(prefix="shopwindow-killed-"))
    wrong = 0
    for jobs in (1, 3):
        folder = work / f"{jobs}"
        folder.mkdir(parents=True)
        for case in cases(given.content, folder, jobs):
            count = events(case, folder)
            print(f"{case.name}: {count} events", flush=True)
            kills = (
                at_events(case, folder, spaced(count, given.points))
                if jobs == 1
                else None
            )
            for summary in filter(None, (kills, at_random(case, folder, given.random))):
                wrong += len(summary.wrong)
                print(summary, flush=True)
    shutil.rmtree(work)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
