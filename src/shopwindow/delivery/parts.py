"""Stages the parts of a release, which lie at a source in chunks (`layout`).

A chunk that an interrupted pull has left in the file stays there. Others come from this
host's file of that name, where that has them, and the rest from the source. Chunks that
lie side by side there are one request.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from shopwindow.content.processes import Progress
from shopwindow.delivery import layout
from shopwindow.delivery.at_hand import AtHand
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.layout import PartChunk, ReleasePart
from shopwindow.delivery.reading import Fetched, read_right

SPAN_BYTES = 2 * 1024 * 1024
"""Bytes of one request for chunks that lie side by side. With all connections at work
64 MB are in memory, and 580 MB take 280 requests.
"""

Placed = tuple[int, PartChunk]
"""Where a chunk begins in its part, and which one it is."""


@dataclass(frozen=True)
class Span:
    """Chunks that lie side by side in an object, and where each goes in the part."""

    object: str
    offset: int
    placed: Sequence[Placed]

    @property
    def size(self) -> int:
        """The bytes of all of them."""
        return sum(chunk.size for _, chunk in self.placed)


def fetch_part(
    bucket: Bucket,
    part: ReleasePart,
    path: Path,
    here: AtHand,
    progress: Progress | None = None,
) -> Fetched:
    """Write a part to a file, of which an interrupted pull may have written some.

    ``progress`` is called with how many requests are done, and of how many. Raises
    PullFault and OSError.
    """
    with _writable(path) as file:
        missing = _missing(file, part, path.name, here)
        os.ftruncate(file.fileno(), part.size)

        def fetch(span: Span) -> int:
            data = _read(bucket, span)
            for position, chunk in span.placed:
                start = chunk.offset - span.offset
                os.pwrite(file.fileno(), data[start : start + chunk.size], position)
            return span.size

        sizes = concurrently(fetch, list(_spans(missing)), progress)
    return Fetched(len(sizes), sum(sizes))


def _writable(path: Path) -> BinaryIO:
    """Open a file that may exist, and be sealed (`Stage.seal`)."""
    with suppress(FileNotFoundError):
        path.chmod(0o644)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    return open(descriptor, "r+b", buffering=0)


def _missing(
    file: BinaryIO, part: ReleasePart, name: str, here: AtHand
) -> list[Placed]:
    """Copy the chunks that this host has to their places; return the others."""
    at_hand = here.chunks(name)
    missing: list[Placed] = []
    copied: list[tuple[int, int, int]] = []
    position = 0
    for chunk in part.chunks:
        offset, size = at_hand.get(chunk.digest, (0, 0))
        if not _is_written(file, position, chunk):
            if size == chunk.size:
                copied.append((position, offset, size))
            else:
                missing.append((position, chunk))
        position += chunk.size
    if copied and here.folder:
        with open(here.folder / name, "rb") as other:
            for place, offset, size in copied:
                data = os.pread(other.fileno(), size, offset)
                os.pwrite(file.fileno(), data, place)
    return missing


def _is_written(file: BinaryIO, position: int, chunk: PartChunk) -> bool:
    """Return whether a chunk is in its place already."""
    data = os.pread(file.fileno(), chunk.size, position)
    return len(data) == chunk.size and sha256(data).hexdigest() == chunk.digest


def _spans(missing: Sequence[Placed]) -> Iterator[Span]:
    """Yield the requests for some chunks: those side by side are asked for together."""
    by_place = sorted(missing, key=lambda one: (one[1].object, one[1].offset))
    group: list[Placed] = []
    size = 0
    for position, chunk in by_place:
        if group:
            last = group[-1][1]
            next_place = last.object, last.offset + last.size
            is_next = next_place == (chunk.object, chunk.offset)
            if not is_next or size + chunk.size > SPAN_BYTES:
                yield Span(group[0][1].object, group[0][1].offset, group)
                group, size = [], 0
        group.append((position, chunk))
        size += chunk.size
    if group:
        yield Span(group[0][1].object, group[0][1].offset, group)


def _read(bucket: Bucket, span: Span) -> bytes:
    key = layout.object_key(span.object)

    def is_right(data: bytes) -> bool:
        starts = [(chunk.offset - span.offset, chunk) for _, chunk in span.placed]
        return all(
            sha256(data[start : start + chunk.size]).hexdigest() == chunk.digest
            for start, chunk in starts
        )

    return read_right(
        bucket, key, lambda: bucket.read_range(key, span.offset, span.size), is_right
    )
