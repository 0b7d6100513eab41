"""What `publish` sends to an S3 on loopback after one price of a catalog has changed:
objects and bytes, of this program beside another one.

    python -m benchmarks.one_price [--size 50000] [--beside PYTHON]

PYTHON is the interpreter of an environment that has the other program, such as
`former/.venv/bin/python`. Each program builds and publishes the same content, to a
prefix of its own. Everything passes a listener that counts. A program that is changed
between its two builds makes the index anew, and sends all of it.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.catalog import SITE, STORES, feeds
from benchmarks.catalog_again import EDITS, SETTLED, content
from benchmarks.delivery import Sent, sent
from benchmarks.measure import run

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from harness.stores import BUCKET, Store, s3
from shopwindow.delivery.targets import opened, parse


@dataclass(frozen=True)
class Published:
    """A run of `publish`: what it took, and how many objects the target has more."""

    sent: Sent
    objects: int


class Publisher:
    """A program that builds a content folder, and publishes to a prefix of its own."""

    def __init__(self, name: str, python: str, work: Path, store: Store) -> None:
        self.name, self._out, self._store = name, work / name, store
        self._program = [python, "-m", "shopwindow"]
        self._target = f"s3://{BUCKET}/{name}"

    def publish(self, folder: Path) -> Published:
        out = ["--out", str(self._out)]
        run([*self._program, "build", "--content", str(folder), *out])
        before = self._objects()
        done = sent([*self._program, "publish", self._target, *out], self._store)
        return Published(done, self._objects() - before)

    def _objects(self) -> int:
        bucket = opened(parse(self._target), os.environ)
        return sum(1 for _ in bucket.listing(""))


def changed(folder: Path) -> None:
    """Change one price in the feed of a content folder."""
    kind, edit = EDITS["A price"]
    path = folder / "catalog" / f"{kind}.jsonl"
    products = edit(map(orjson.loads, path.read_bytes().splitlines()))
    path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in products))


def measured(
    size: int, programs: dict[str, str], work: Path, store: Store
) -> Iterator[tuple[str, str, Published]]:
    """Let every program publish, change a price, and let each publish again."""
    folder = work / "content"
    feeds(work / "feeds", size)
    content(folder, work / "feeds", SITE, STORES)
    publishers = [Publisher(*each, work, store) for each in programs.items()]
    for what in ("first", "one price changed"):
        if what != "first":
            changed(folder)
        time.sleep(SETTLED)
        for publisher in publishers:
            yield what, publisher.name, publisher.publish(folder)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=50_000, metavar="N")
    parser.add_argument("--beside", metavar="PYTHON")
    given = parser.parse_args()
    programs = {"this": sys.executable}
    if given.beside:
        programs["other"] = given.beside
    print(f"{given.size:,} products\n")
    print("| Published | Program | Objects | Requests | Bytes sent and received |")
    print("|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory(prefix="shopwindow-price-") as name:
        work = Path(name)
        with s3(work / "store") as store:
            os.environ.update(store.environment)
            for what, program, done in measured(given.size, programs, work, store):
                cells = (
                    f"{done.objects:,} | {done.sent.requests:,} | {done.sent.moved:,}"
                )
                print(f"| {what} | {program} | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
