"""Cuts files into chunks, so that a small change changes few of them.

A file of pages, such as SQLite's, is cut every PAGES_BYTES (`stretches`): what changes on
a page, changes no other page's place.

A file of lines is cut by its lines (`chunks`). A chunk ends after a line whose
beginning has a checksum that is low enough. Where it ends depends on that line alone,
so an inserted line moves no other end: equal stretches of two files are equal chunks,
with equal digests. The beginning of a line names its entry, by a path or an id, and
stays when the rest changes. A long line ends a chunk more often, in proportion to its
length, and chunks therefore have CHUNK_BYTES on average whatever the lines are.
"""

from collections.abc import Iterator
from zlib import crc32

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
0.8 MB (docs/explain/decisions/chunks-at-a-target.md).
"""

MAX_CHUNK_BYTES = 4 * 1024 * 1024
"""A chunk ends here at the latest: lines may be equal, and then no checksum is low."""


def chunks(data: bytes) -> Iterator[bytes]:
    """Yield the chunks of a file: together they are the file. None is empty."""
    start, view = 0, memoryview(data)
    for end in _ends(data):
        yield bytes(view[start:end])
        start = end


def _ends(data: bytes) -> Iterator[int]:
    start, position = 0, 0
    for line in data.splitlines(keepends=True):
        position += len(line)
        is_low = crc32(line[:LINE_BEGINNING]) * CHUNK_BYTES < len(line) << 32
        if is_low or position - start >= MAX_CHUNK_BYTES:
            yield position
            start = position
    if start < len(data):
        yield len(data)


def stretches(size: int) -> Iterator[tuple[int, int]]:
    """Yield where each chunk of a file of pages begins, and its size in bytes.

    ``size``: that of the file.
    """
    for start in range(0, size, PAGES_BYTES):
        yield start, min(PAGES_BYTES, size - start)
