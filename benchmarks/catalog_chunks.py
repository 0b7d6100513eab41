"""What of a catalog's index moves to a host after a change, by the size of the chunks.

    python -m benchmarks.catalog_chunks [--size 50000]

Only files are compared: chunks that differ, and runs of them side by side, which are
the requests of a host that pulls. The last row of a change has chunks that end where
the content says so, at certain pairs of bytes, and so find bytes that have moved.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import orjson

from benchmarks.catalog import SITE, STORES, feeds
from benchmarks.catalog_again import EDITS, content

CHUNKS = (4, 16, 64, 256)
"""KiB of a chunk. SQLite's pages have 16 KiB in a catalog, and 4 KiB by default."""

END = re.compile(rb"[\x93-\x94][\x00-\x7f]")
"""Where a chunk ends by its content: with chunks of 1 KB on average, a product's row
has several.
"""

DIGEST_BYTES = 84
"""Bytes of a chunk in the list of a release's chunks: its digest, size and place."""


def build(folder: Path, out: Path) -> Path:
    """Build, and return the index."""
    command = [sys.executable, "-m", "shopwindow", "build"]
    command += ["--content", str(folder), "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (out / "current").resolve() / "catalog.sqlite"


def pages(data: bytes, size: int) -> list[bytes]:
    """The chunks of a file, each of a size in bytes."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def by_content(data: bytes) -> list[bytes]:
    """The chunks of a file, each of which ends as END says."""
    ends = [match.end() for match in END.finditer(data)]
    starts = [0, *ends]
    return [
        data[start:end]
        for start, end in zip(starts, [*ends, len(data)], strict=True)
        if start < end
    ]


def moved(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[int, int, int]:
    """How many chunks a host lacks, how many runs of them there are, and their bytes."""
    here = {sha256(chunk).digest() for chunk in old}
    lacking = runs = size = 0
    was_lacking = False
    for chunk in new:
        is_lacking = sha256(chunk).digest() not in here
        lacking += is_lacking
        runs += is_lacking and not was_lacking
        size += len(chunk) * is_lacking
        was_lacking = is_lacking
    return lacking, runs, size


def rows(what: str, old: bytes, new: bytes) -> Iterator[str]:
    for kilobytes in CHUNKS:
        size = kilobytes * 1024
        yield row(what, f"{kilobytes} KiB", pages(old, size), pages(new, size))
    yield row(what, "by content", by_content(old), by_content(new))


def row(what: str, chunk: str, old: Sequence[bytes], new: Sequence[bytes]) -> str:
    lacking, runs, size = moved(old, new)
    listed = len(new) * DIGEST_BYTES
    return (
        f"| {what} | {chunk} | {lacking:,} | {runs:,} "
        f"| {size / 1e6:.1f} | {listed / 1e6:.2f} |"
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
            build(folder, out)  # the next change is one of the first content, too
    return 0


if __name__ == "__main__":
    sys.exit(main())
