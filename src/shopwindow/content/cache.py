"""The parse cache stores the documents of each content file as `check` last read them.

How this works. The first line is the key: a digest of everything that a result depends
on, except the file itself. Batches follow. A batch is a line with a check sum and the
lengths of two parts, then the parts: the files, and their documents.

One write(2) adds a batch. So several processes can add to the cache side by side, and a
check adds only the files that it had to read again. The check sum covers the key too: a
batch may land in a cache that another program has replaced meanwhile, and then it
counts as damage.

Nothing depends on the cache but speed. Deleting it is safe.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from shopwindow.content.listing import RACY_NS, Source
from shopwindow.content.tree import Parsed, StoreFiles

_CachedBatch = tuple[list[list[Any]], memoryview]
"""A row for each file (its state, ``listed``, the length of its documents), and the
documents of all these files one after another.
"""


def load(path: Path, key: str, sources: Sequence[Source]) -> dict[str, Parsed] | None:
    """Return the cached files among ``sources`` that have not changed since, by path.

    ``key`` is a digest of the schemas, the names of site.yaml and the program. Returns
    None where the cache must be written again: it has another key, it is damaged, or
    more than half of it is out of date.
    """
    settled = time.time_ns() - RACY_NS
    current = {source.path: source for source in sources if source.changed < settled}
    try:
        batches = list(_batches(path.read_bytes(), key))
    except (OSError, ValueError, TypeError):
        return None

    rows = sum(len(files) for files, _ in batches)
    if rows > 2 * len(sources):
        return None

    cached: dict[str, Parsed] = {}
    for files, documents in batches:
        end = 0
        for *state, listed, length in files:
            start, end = end, end + length
            source = current.get(state[0])
            if source is not None and _state(source) == state:
                values = orjson.loads(documents[start:end])
                cached[source.path] = Parsed(source, listed, values)
    return cached


def _state(source: Source) -> list[Any]:
    """Return what changes whenever the file does."""
    return [source.path, source.size, source.changed, source.inode]


def _batches(content: bytes, key: str) -> Iterator[_CachedBatch]:
    """Yield the batches of a cache.

    Raises ValueError or TypeError where the cache is damaged or has another key.
    """
    view = memoryview(content)
    start = content.index(b"\n") + 1
    if view[:start] != _head(key):
        raise ValueError("another key")
    while start < len(content):
        end = content.index(b"\n", start) + 1
        check, *lengths = orjson.loads(view[start:end])
        parts = []
        for length in lengths:
            parts.append(view[end : end + length])
            end += length
        files, documents = parts
        cut_off = end > len(content)
        if cut_off or _check_sum(key, *parts) != check:
            raise ValueError("damaged")
        yield orjson.loads(files), documents
        start = end


def _head(key: str) -> bytes:
    return orjson.dumps(key) + b"\n"


def _check_sum(key: str, *parts: bytes | memoryview) -> int:
    """Return the check sum of a batch."""
    check = crc32(key.encode())
    for part in parts:
        check = crc32(part, check)
    return check


@contextmanager
def adding(
    path: Path, key: str, read_at: int, *, new_file: bool
) -> Iterator[StoreFiles]:
    """Yield a function that adds files to the cache and works in any process.

    With ``new_file`` it writes a new cache, which replaces the old one when the block
    ends without an error. ``read_at`` is when reading began, in nanoseconds since the
    epoch. Where nothing can be written, nothing is raised: the next check is slower.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}") if new_file else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        if new_file:
            flags |= os.O_CREAT | os.O_TRUNC
        descriptor = os.open(draft, flags, 0o644)
    except OSError:
        yield lambda files: None
        return

    def store(files: Sequence[tuple[Parsed, bytes]]) -> None:
        """Add the plain files, each with its documents as JSON.

        Others are read by every check, so that what is reported of them needs no form
        of its own here: files with problems, with slips, or with comments that silence
        warnings are few.

        A file that changed just before it was read is left out: it may change again
        within the same tick of the file system's clock, and then its state would be the
        same.
        """
        settled = [
            (file, data)
            for file, data in files
            if file.is_plain and file.source.changed < read_at - RACY_NS
        ]
        if not settled:
            return
        rows = [
            [*_state(file.source), file.listed, len(data)] for file, data in settled
        ]
        parts = orjson.dumps(rows), b"".join(data for _, data in settled)
        line = orjson.dumps([_check_sum(key, *parts), *map(len, parts)])
        with suppress(OSError):  # `load` notices a batch that was cut off
            os.write(descriptor, b"".join((line, b"\n", *parts)))

    try:
        with suppress(OSError):
            if new_file:
                os.write(descriptor, _head(key))
        yield store
        if new_file:
            with suppress(OSError):
                os.replace(draft, path)
    finally:
        os.close(descriptor)
        if new_file:
            with suppress(OSError):
                draft.unlink()
