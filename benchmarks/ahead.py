"""Twenty releases that `build --ahead` writes, beside one: bytes on disk, memory and
processor time.

    python -m benchmarks.ahead [--events N] [--begin N]

At each of 19 instants, three hours apart, `--begin` events go live. Bytes are those that
the file system has allocated; a file with several links counts once. Of each command
the first build into an empty folder is measured, with its check.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks import real_content
from benchmarks.measure import watched

AT = datetime.fromisoformat("2026-11-24T12:00:00-05:00")
"""The instant of the build, in the zone of the content."""

INSTANTS = 19
HOURS = 3


@dataclass(frozen=True)
class Measured:
    """What a build took, and what it left: ``own`` are the bytes of its releases, and
    ``beside`` those of what later builds read.
    """

    name: str
    releases: int
    own: int
    inodes: int
    beside: int
    memory: int
    processor: float


def windows(content: Path, begin: int) -> None:
    """Let events begin at each of the instants."""
    events = sorted((content / "events").iterdir())
    step = len(events) // (INSTANTS * begin)
    for number, event in enumerate(events[:: max(step, 1)][: INSTANTS * begin]):
        start = AT + timedelta(hours=HOURS * (1 + number // begin))
        with event.open("a") as file:
            file.write(f"publish:\n  from: {start:%Y-%m-%d %H:%M}\n")


def allocated(folder: Path) -> tuple[int, int]:
    """The bytes below a folder, and its files: one with several links counts once."""
    blocks: dict[int, int] = {}
    for parent, _, names in os.walk(folder):
        for status in (os.lstat(os.path.join(parent, name)) for name in (*names, ".")):
            blocks[status.st_ino] = status.st_blocks * 512
    return sum(blocks.values()), len(blocks)


def measured(name: str, content: Path, out: Path, more: Sequence[str]) -> Measured:
    command = [sys.executable, "-m", "shopwindow", "build", "--at", AT.isoformat()]
    command += ["--content", str(content), "--out", str(out), *more]
    run, memory = watched(command, every=0.1)
    own, inodes = allocated(out / "releases")
    releases = len(list((out / "releases").iterdir()))
    beside = allocated(out)[0] - own
    return Measured(name, releases, own, inodes, beside, memory, run.processor)


def table(one: Measured, ahead: Measured) -> Iterator[str]:
    yield f"| | {one.name} | {ahead.name} | Ratio |"
    yield "|---|--:|--:|--:|"
    for what, field, unit in (
        ("releases", "releases", 1),
        ("MB of releases on disk", "own", 1e6),
        ("files and folders", "inodes", 1),
        ("MB beside them (`.cache`, notes)", "beside", 1e6),
        ("MB of memory at most, all processes", "memory", 1e6),
        ("seconds of processors", "processor", 1),
    ):
        first, second = getattr(one, field) / unit, getattr(ahead, field) / unit
        yield f"| {what} | {first:,.0f} | {second:,.0f} | {second / first:.2f} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=10_000, metavar="N")
    parser.add_argument("--begin", type=int, default=10, metavar="N")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(
        prefix="shopwindow-ahead-", dir="/var/tmp"
    ) as name:
        content = Path(name, "content")
        os.environ["XDG_CACHE_HOME"] = str(Path(name, "home"))
        data = real_content.read(real_content.data_folder())
        real_content.convert(data, content, given.events, raw=False)
        windows(content, given.begin)
        print(f"{given.events:,} events; at each instant {given.begin} begin\n")
        one = measured("`build`", content, Path(name, "one"), ["--no-cache"])
        ahead = ["--no-cache", "--ahead"]
        many = measured("`build --ahead`", content, Path(name, "many"), ahead)
    print("\n".join(table(one, many)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
