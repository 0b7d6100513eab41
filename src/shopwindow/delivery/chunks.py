"""Cuts files into chunks, so that a small change changes few of them.

A file of pages, such as SQLite's, is cut every PAGES_BYTES: what changes on a page,
changes no other page's place.

A file of lines is cut by its lines. A chunk ends after a line whose beginning has a
checksum that is low enough. Where it ends depends on that line alone, so an inserted
line moves no other end: equal stretches of two files are equal chunks, with equal
digests. The beginning of a line names its entry, by a path or an id, and stays when the
rest changes. A long line ends a chunk more often, in proportion to its length, and
chunks therefore have CHUNK_BYTES on average whatever the lines are.

A Chunk says where its bytes lie: in a file of this host, or in an object at a target.
So what a release consists of here, and what it consists of there, are the same values.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zlib import crc32

from shopwindow.release import manifest

CHUNK_BYTES = 32 * 1024
"""Bytes of a chunk on average. Ten changed lines in five places send five chunks, of
twice this. Half of it would double the list of chunks, which is sent with every change.
"""

LINE_BEGINNING = 64
"""Bytes of a line that decide: the longest path in a manifest has more, the longest id
in content.json fewer.
"""

PAGES_BYTES = 16 * 1024
"""Bytes of a chunk of pages: one page of a catalog's index. Of 50,000 products, 151 MB,
a new price changes 0.6 MB of them; four pages would be 1.2 MB. The list of chunks has
0.8 MB (docs/explain/decisions.md).
"""

MAX_CHUNK_BYTES = 4 * 1024 * 1024
"""A chunk ends here at the latest: lines may be equal, and then no checksum is low."""

LINES = ("manifest.json", manifest.CONTENT_FILE)
"""Files that are cut by their lines: both have a line an entry. Any other, such as an
index, is cut as a file of pages.
"""


class Chunk(NamedTuple):
    """A piece of a file: its digest (SHA-256, hex) and its size in bytes; the file or the
    object that holds it, and where in that it begins.
    """

    digest: str
    size: int
    holder: str
    offset: int

    def read(self) -> bytes:
        """Return the bytes, from a file; fewer where it has become shorter."""
        with open(self.holder, "rb") as file:
            return os.pread(file.fileno(), self.size, self.offset)

    def has_bytes(self, data: bytes) -> bool:
        """Return whether these are its bytes."""
        return len(data) == self.size and sha256(data).hexdigest() == self.digest


def cut(path: Path) -> list[Chunk]:
    """Return the chunks of a file; none where it cannot be read."""
    chunks, offset = [], 0
    pieces = lines if path.name in LINES else pages
    with suppress(OSError), open(path, "rb") as file:
        for data in pieces(file):
            digest = sha256(data).hexdigest()
            chunks.append(Chunk(digest, len(data), str(path), offset))
            offset += len(data)
    return chunks


def pages(file: BinaryIO) -> Iterator[bytes]:
    """Yield the chunks of a file of pages: together they are the file."""
    return iter(partial(file.read, PAGES_BYTES), b"")


def lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the chunks of a file of lines: together they are the file."""
    chunk: list[bytes] = []
    size = 0
    for line in file:
        chunk.append(line)
        size += len(line)
        is_low = crc32(line[:LINE_BEGINNING]) * CHUNK_BYTES < len(line) << 32
        if is_low or size >= MAX_CHUNK_BYTES:
            yield b"".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield b"".join(chunk)


def groups(chunks: Sequence[Chunk], most: int, *, adjacent: bool) -> list[list[Chunk]]:
    """Return chunks in groups of ``most`` bytes at most.

    ``adjacent``: those of a group lie side by side in one holder.
    """
    grouped: list[list[Chunk]] = []
    size = 0
    for chunk in chunks:
        last = grouped[-1][-1] if grouped else None
        is_next = last and (last.holder, last.offset + last.size) == chunk[2:]
        if last is None or size + chunk.size > most or (adjacent and not is_next):
            grouped.append([])
            size = 0
        grouped[-1].append(chunk)
        size += chunk.size
    return grouped
