"""The parse cache holds what each file of the content folder held when it was last
read. Deleting it is safe.

It begins with a line that holds the key: a digest of everything but the file that a
result depends on. Then come runs of files, as they were read. A run is a line with its
check sum and the lengths of its two parts: the files, and their documents. One write(2)
adds a run, so processes add to the cache side by side, and a check adds only what it
had to read again. The check sum covers the key as well: a run that lands in a cache
that another program has replaced meanwhile counts as damage.
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

_Run = tuple[list[list[Any]], memoryview]


def load(path: Path, key: str, sources: Sequence[Source]) -> dict[str, Parsed] | None:
    """Return those of ``sources`` that are cached as they are now, by path.

    ``key`` is a digest of the schemas, the names and the program. None where the cache
    must be written again: there is none of this key, it is damaged, or most of it is
    out of date.
    """
    settled = time.time_ns() - RACY_NS
    current = {source.path: source for source in sources if source.changed < settled}
    try:
        runs = list(_runs(path.read_bytes(), key))
    except (OSError, ValueError, TypeError):
        return None
    if sum(len(files) for files, _ in runs) > 2 * len(sources):
        return None
    cached: dict[str, Parsed] = {}
    for files, texts in runs:
        end = 0
        for *state, listed, length in files:
            start, end = end, end + length
            source = current.get(state[0])
            if source is not None and _state(source) == state:
                cached[source.path] = Parsed(
                    source, listed, orjson.loads(texts[start:end])
                )
    return cached


def _state(source: Source) -> list[Any]:
    return [source.path, source.size, source.changed, source.inode]


def _runs(content: bytes, key: str) -> Iterator[_Run]:
    """Yield the runs of a cache. Raises ValueError or TypeError where it is damaged or
    has another key.
    """
    view, start = memoryview(content), content.index(b"\n") + 1
    if view[:start] != _head(key):
        raise ValueError("another key")
    while start < len(content):
        end = content.index(b"\n", start) + 1
        check, *lengths = orjson.loads(view[start:end])
        parts = []
        for length in lengths:
            parts.append(view[end : end + length])
            end += length
        files, texts = parts
        if end > len(content) or _check(key, *parts) != check:  # cut off, or damaged
            raise ValueError("damaged")
        yield orjson.loads(files), texts
        start = end


def _head(key: str) -> bytes:
    return orjson.dumps(key) + b"\n"


def _check(key: str, *parts: bytes | memoryview) -> int:
    """Return the check sum of a run."""
    check = crc32(key.encode())
    for part in parts:
        check = crc32(part, check)
    return check


@contextmanager
def adding(
    path: Path, key: str, read_at: int, *, new_file: bool
) -> Iterator[StoreFiles]:
    """Yield a function that adds files to the cache, from any process.

    ``new_file``: to a new cache, which replaces the old one. ``read_at``: when reading
    began, in nanoseconds. Where nothing can be written, nothing is raised: the next
    check is slower.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}") if new_file else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        start = os.O_CREAT | os.O_TRUNC if new_file else 0
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | start, 0o644
        )
    except OSError:
        yield lambda files: None
        return

    def store(files: Sequence[tuple[Parsed, bytes]]) -> None:
        """Add the files that have no problem and were not changed just before they were
        read.
        """
        stored = [
            (file, data)
            for file, data in files
            if file.sound and file.source.changed < read_at - RACY_NS
        ]
        if not stored:
            return
        states = [
            [*_state(file.source), file.listed, len(data)] for file, data in stored
        ]
        parts = orjson.dumps(states), b"".join(data for _, data in stored)
        line = orjson.dumps([_check(key, *parts), *map(len, parts)])
        with suppress(OSError):  # `load` notices a run that was cut off
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
