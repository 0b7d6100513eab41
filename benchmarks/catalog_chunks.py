"""What of a catalog's index moves to a host after a change, by the size of the chunks.

    python -m benchmarks.catalog_chunks [--size 50000]

Only files are compared: chunks that differ, and runs of them side by side, which are
the requests of a host that pulls.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import orjson

from benchmarks.catalog import SITE, STORES, feeds
from benchmarks.catalog_again import EDITS, content

CHUNKS = (4, 16, 32, 64, 128, 256)
"""KiB of a chunk. SQLite's pages have 16 KiB in a catalog, and 4 KiB by default."""

DIGEST_BYTES = 84
"""Bytes of a chunk in the list of a release's chunks: its digest, size and place."""


def build(folder: Path, out: Path) -> Path:
    """Build, and return the index."""
    command = [sys.executable, "-m", "shopwindow", "build"]
    command += ["--content", str(folder), "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (out / "current").resolve() / "catalog.sqlite"


def digests(data: bytes, size: int) -> list[bytes]:
    """The digests of a file's chunks."""
    return [
        sha256(data[start : start + size]).digest()
        for start in range(0, len(data), size)
    ]


def moved(old: bytes, new: bytes, size: int) -> tuple[int, int]:
    """How many chunks a host lacks, and how many runs of them there are."""
    here, lacking, runs, previous = set(digests(old, size)), 0, 0, False
    for digest in digests(new, size):
        is_lacking = digest not in here
        lacking += is_lacking
        runs += is_lacking and not previous
        previous = is_lacking
    return lacking, runs


def rows(what: str, old: bytes, new: bytes) -> Iterator[str]:
    for kilobytes in CHUNKS:
        size = kilobytes * 1024
        lacking, runs = moved(old, new, size)
        listed = -(-len(new) // size) * DIGEST_BYTES
        yield (
            f"| {what} | {kilobytes} KiB | {lacking:,} | {runs:,} "
            f"| {lacking * size / 1e6:.1f} | {listed / 1e6:.2f} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=50_000, metavar="N")
    size = parser.parse_args().size
    with tempfile.TemporaryDirectory() as work:
        folder, out = Path(work, "content"), Path(work, "dist")
        feeds(Path(work, "feeds"), size)
        content(folder, Path(work, "feeds"), SITE, STORES)
        old = build(folder, out).read_bytes()
        print(f"{size:,} products, {len(old) / 1e6:,.0f} MB\n")
        print("| Changed | Chunk | Differ | Runs | MB | MB of list |")
        print("|---|---|--:|--:|--:|--:|")
        for what, (kind, edit) in list(EDITS.items())[:4]:
            path = folder / "catalog" / f"{kind}.jsonl"
            was = path.read_bytes()
            edited = edit(map(orjson.loads, was.splitlines()))
            path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in edited))
            new = build(folder, out).read_bytes()
            print("\n".join(rows(what, old, new)), flush=True)
            path.write_bytes(was)
    return 0


if __name__ == "__main__":
    sys.exit(main())
