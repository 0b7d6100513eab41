"""The parse cache: what each file of the content folder held when it was last read. Deleting it is safe.

A line with the key, then runs of files, as they were read: each is added by one write(2), so processes add to it side
by side, and a check adds what it had to read anew. A run is a line with its check sum and the lengths of its three
parts: the files, their documents, and their briefs. The check sum is the key's, too: what is added to a cache that
another program has replaced meanwhile is damage.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from vitrine.content.listing import RACY_NS, Source
from vitrine.content.model import Buffer
from vitrine.content.tree import Brief, Parsed

Keep = Callable[[Sequence[tuple[Parsed, Brief]]], None]
"""Keeps a run of files that were read now, each with what is left of its documents where it is brief."""

_Run = tuple[list[list[Any]], memoryview, memoryview]


def load(path: Path, key: str, sources: Sequence[Source]) -> dict[str, Parsed] | None:
    """Of ``sources``, those that stand in the cache as they are now, by path.

    ``key`` is a digest of the schemas, the names and the program. None where nothing shall be added to what is there:
    there is no cache of this key, it is damaged, or most of it is of no use any more.
    """
    settled = time.time_ns() - RACY_NS
    current = {source.path: source for source in sources if source.changed < settled}
    try:
        runs = list(_runs(path.read_bytes(), key))
    except (OSError, ValueError, TypeError):
        return None
    if sum(len(files) for files, _, _ in runs) > 2 * len(sources):
        return None
    found: dict[str, Parsed] = {}
    closed: list[list[tuple[int, Parsed]]] = []
    for files, texts, _ in runs:
        end, here = 0, []
        for number, (*state, listed, length) in enumerate(files):
            start, end = end, end + length
            source = current.get(state[0])
            if source is not None and _state(source) == state:
                found[source.path] = parsed = Parsed(source, listed, texts[start:end], [])
                here.append((number, parsed))
        closed.append(here)
    for (_, _, briefs), here in zip(runs, closed, strict=True):  # afterwards: memory that documents leave is one piece
        left = orjson.loads(briefs)
        for number, parsed in here:
            if parsed.brief:
                parsed.documents = left[number]
            else:
                parsed.open()
    return found


def _state(source: Source) -> list[Any]:
    return [source.path, source.size, source.changed, source.inode]


def _runs(content: bytes, key: str) -> Iterator[_Run]:
    """The runs of a cache. Raises ValueError or TypeError where it is damaged or has another key."""
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
        files, texts, briefs = parts
        if end > len(content) or _check(key, *parts) != check:  # cut off, or damaged
            raise ValueError("damaged")
        yield orjson.loads(files), texts, briefs
        start = end


def _head(key: str) -> bytes:
    return orjson.dumps(key) + b"\n"


def _check(key: str, *parts: Buffer) -> int:
    """The check sum of a run."""
    found = crc32(key.encode())
    for part in parts:
        found = crc32(part, found)
    return found


@contextmanager
def adding(path: Path, key: str, read_at: int, *, anew: bool) -> Iterator[Keep]:
    """What adds to the cache, in any process; ``anew``: to a new one, which takes the place of what is there.

    ``read_at``: when reading began, in nanoseconds. What cannot be kept means a slower check, no failure.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}") if anew else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        start = os.O_CREAT | os.O_TRUNC if anew else 0
        descriptor = os.open(draft, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | start, 0o644)
    except OSError:
        yield lambda files: None
        return

    def keep(files: Sequence[tuple[Parsed, Brief]]) -> None:
        """All but what has a fault, or was changed just before it was read."""
        kept = [(file, brief) for file, brief in files if file.sound and file.source.changed < read_at - RACY_NS]
        if not kept:
            return
        parts = (
            orjson.dumps([[*_state(file.source), file.listed, len(file.data)] for file, _ in kept]),
            b"".join(file.data for file, _ in kept),
            orjson.dumps([brief for _, brief in kept]),
        )
        line = orjson.dumps([_check(key, *parts), *map(len, parts)])
        with suppress(OSError):  # what was cut off is found when it is read
            os.write(descriptor, b"".join((line, b"\n", *parts)))

    try:
        with suppress(OSError):
            if anew:
                os.write(descriptor, _head(key))
        yield keep
        if anew:
            with suppress(OSError):
                os.replace(draft, path)
    finally:
        os.close(descriptor)
        if anew:
            with suppress(OSError):
                draft.unlink()
