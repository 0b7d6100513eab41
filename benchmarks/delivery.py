"""Publishing a release to an S3 on loopback, beside `aws s3 sync` and `rclone sync`:
requests, bytes and seconds of a first publication, and of one after one event changed.

The others copy the files below files/ to their paths; they have no releases, no pointer
and no way back, so what they do is less. Everything passes a listener that counts.
After the second run the copy is compared with the release.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import real_content
from benchmarks.measure import Command, Run

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from harness.stores import BUCKET, KEYS, Between, Store, between, s3
from shopwindow.delivery.bucket import concurrently
from shopwindow.delivery.targets import opened, parse

NAME = re.compile(r"^name: .*$", re.MULTILINE)
"""The name of an event, in its file."""


@dataclass(frozen=True)
class Sent:
    """What a run took: by the clock and of the processors, and what passed the listener."""

    run: Run
    requests: int
    moved: int


@dataclass(frozen=True)
class Way:
    """A way to publish. ``wrong``: files at the target that differ after the change."""

    name: str
    first: Sent
    change: Sent
    wrong: int | None


def build(content: Path, out: Path) -> Path:
    """Build, and return the folder of the current release."""
    command = [sys.executable, "-m", "shopwindow", "build", "--content", str(content)]
    subprocess.run([*command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
    return (out / "current").resolve()


def change(content: Path) -> None:
    """Change the letters of one event's name from small to large and back.

    Its files then differ and have the same size as before.
    """
    events = sorted((content / "events").iterdir())
    event = events[len(events) // 2]
    text = NAME.sub(lambda name: f"name{name[0][4:].swapcase()}", event.read_text())
    event.write_text(text)


def sent(command: Command, store: Store) -> Sent:
    """Run a command that publishes through the listener."""
    with between(store.port) as counted:
        environment = {**os.environ, **store.at(counted.port), **_rclone(counted)}
        environment.pop("AWS_CA_BUNDLE", None)  # there is no TLS, and rclone wants none
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        output = process.stdout.read().decode(errors="replace")
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command[0]}: {output[-1000:]}")
        wall = time.perf_counter() - started
        run = Run(wall, used.ru_utime + used.ru_stime, output)
        return Sent(run, len(counted.requests), counted.sent + counted.received)


def _rclone(counted: Between) -> dict[str, str]:
    """What rclone reads in place of a configuration: a remote of the name `there`."""
    remote = {
        "TYPE": "s3",
        "PROVIDER": "SeaweedFS",
        "ACCESS_KEY_ID": KEYS["AWS_ACCESS_KEY_ID"],
        "SECRET_ACCESS_KEY": KEYS["AWS_SECRET_ACCESS_KEY"],
        "ENDPOINT": f"http://127.0.0.1:{counted.port}",
    }
    return {f"RCLONE_CONFIG_THERE_{name}": text for name, text in remote.items()}


def commands(release: Path, out: Path) -> dict[str, Command]:
    """The command of each way. Of all, 32 requests are under way at once, but for aws,
    whose default is 10.
    """
    files, publish = release / "files", [sys.executable, "-m", "shopwindow", "publish"]
    found: dict[str, Command] = {
        "shopwindow publish": [*publish, f"s3://{BUCKET}/ours", "--out", out],
    }
    if shutil.which("aws"):
        quiet = "--only-show-errors"
        found["aws s3 sync"] = ["aws", "s3", "sync", quiet, files, f"s3://{BUCKET}/aws"]
    if shutil.which("rclone"):
        many = ("--transfers", "32", "--checkers", "32", "--s3-no-check-bucket")
        found["rclone sync"] = [
            "rclone",
            "sync",
            *many,
            files,
            f"there:{BUCKET}/rclone",
        ]
    return found


def differing(prefix: str, files: Path) -> int:
    """How many files of a copy at the store are missing or have other bytes."""
    bucket = opened(parse(f"s3://{BUCKET}/{prefix}"), os.environ)
    paths = [path for path in files.rglob("*") if path.is_file()]

    def differs(path: Path) -> bool:
        stored = bucket.read(path.relative_to(files).as_posix())
        return stored is None or stored.data != path.read_bytes()

    return sum(concurrently(differs, paths))


def measured(work: Path, content: Path, store: Store) -> Iterator[Way]:
    """Measure every way, one after the other."""
    first = build(content, work / "dist")
    before = {
        name: sent(command, store)
        for name, command in commands(first, work / "dist").items()
    }
    change(content)
    second = build(content, work / "dist")
    prefixes = {"aws s3 sync": "aws", "rclone sync": "rclone"}
    for name, command in commands(second, work / "dist").items():
        after = sent(command, store)
        prefix = prefixes.get(name)
        wrong = differing(prefix, second / "files") if prefix else None
        yield Way(name, before[name], after, wrong)


def table(ways: Sequence[Way]) -> Iterator[str]:
    """The Markdown table; ratios are to the first way."""
    yield "| What | Requests | Bytes | Seconds | Processor seconds | Wrong files |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for title in ("first", "change"):
        base: Sent = getattr(ways[0], title)
        for way in ways:
            one: Sent = getattr(way, title)
            cells = [
                f"{one.requests:,} ({one.requests / base.requests:.2f})",
                f"{one.moved:,} ({one.moved / base.moved:.2f})",
                f"{one.run.wall:.2f} ({one.run.wall / base.run.wall:.2f})",
                f"{one.run.processor:.2f} ({one.run.processor / base.run.processor:.2f})",
                str(way.wrong) if title == "change" and way.wrong is not None else "",
            ]
            when = "first" if title == "first" else "one event changed"
            yield f"| {way.name}, {when} | {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=10_000, metavar="N")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shopwindow-delivery-") as name:
        work = Path(name)
        data = real_content.read(real_content.data_folder())
        real_content.convert(data, work / "content", given.events)
        with s3(work / "store") as store:
            os.environ.update(store.environment)
            ways = list(measured(work, work / "content", store))
    print(
        f"{given.events:,} events; {platform.platform()}, {os.cpu_count()} processors\n"
    )
    print("\n".join(table(ways)))
    for absent in sorted({"aws", "rclone"} - {way.name.split()[0] for way in ways}):
        print(f"\n{absent} is not installed here, so it has no rows.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
