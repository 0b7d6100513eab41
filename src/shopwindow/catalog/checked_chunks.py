"""A cache of the chunks of feeds in which a check found no problem.

How the cache works. A check cuts each feed into chunks of about `MEAN_CHUNK_LINES`
lines. For a chunk without a problem it stores a digest of the lines, and the numbers
that the chunk adds to the columns (`rules.values`), so that the next check needs to
compare these numbers only. Where a chunk begins depends on its first line, and not on
its place in the file: lines that are added or removed change the chunks that they are
in, and no others.

The cache holds for one program, its schemas and the ids that records may refer to
(`CheckedBy`). A cache that is damaged, or of another program, counts as empty. It is
safe to delete.
"""

from __future__ import annotations  # array[int]

import mmap
import os
import struct
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import orjson

from shopwindow.content.reading.yaml import Malformed

NumberedLine = tuple[int, "bytes | Malformed"]
"""The number of a line, and its text, or what is wrong if it cannot be read."""

ColumnNumbers = Mapping[str, "array[int]"]
"""The numbers that some records add to the columns, by column."""

MEAN_CHUNK_LINES = 32
"""Lines of a chunk, on average: one line in so many begins a new chunk.

With larger chunks one changed line has more others checked again; with smaller ones the
file has more digests. Larger or smaller numbers work as well.
"""

MAX_CHUNK_LINES = 1024
"""Lines of a chunk, at most: without a bound, equal lines would never begin a new one.
"""

_DIGEST_SIZE = 16
"""Bytes of a chunk's digest. Among so many values no two feeds collide by accident."""

_NUMBER_SIZE = 8
"""Bytes of a number in a column."""

_COPIED = 1 << 20
"""Bytes that are copied at a time from one file to another."""


def chunks_of(lines: Iterable[NumberedLine]) -> Iterator[list[NumberedLine]]:
    """Yield lines in chunks. A line that cannot be read begins a chunk."""
    chunk: list[NumberedLine] = []
    for line in lines:
        if chunk and (len(chunk) == MAX_CHUNK_LINES or _begins_chunk(line)):
            yield chunk
            chunk = []
        chunk.append(line)
    if chunk:
        yield chunk


def _begins_chunk(line: NumberedLine) -> bool:
    _, text = line
    return isinstance(text, Malformed) or crc32(text) % MEAN_CHUNK_LINES == 0


def digest_of(kind: str, chunk: Sequence[NumberedLine]) -> bytes | None:
    """Return the digest of a chunk, or None if one of its lines cannot be read."""
    digest = sha256(kind.encode())
    for _, text in chunk:
        if isinstance(text, Malformed):
            return None
        digest.update(text)
    return digest.digest()[:_DIGEST_SIZE]


@dataclass(frozen=True)
class CheckedBy:
    """What chunks were checked by.

    ``program`` is a digest of the program and its schemas. ``ids`` are what records may
    refer to, one collection for each kind of id. None: the ids were not all there to
    read, and no reference was checked.
    """

    program: str
    ids: Sequence[Collection[int | str] | None]

    def covers(self, header: Any) -> bool:
        """Return whether chunks that the check of a header found good are good now.

        They are if the program is the same and no id is gone that they may refer to.
        More ids than before do no harm.
        """
        pairs = zip(header["ids"], self.ids, strict=True)
        is_gone = any(
            now is not None and (before is None or not set(before) <= set(now))
            for before, now in pairs
        )
        return bool(header["by"] == self.program) and not is_gone

    def header(self) -> bytes:
        """Return the first line of the cache's file."""
        ids = [None if part is None else sorted(part, key=str) for part in self.ids]
        return orjson.dumps({"by": self.program, "ids": ids}) + b"\n"


class CheckedChunks:
    """The chunks that an earlier check found good.

    The file begins with the header, one line that says what the chunks were checked by.
    The chunks follow: each has its digest, the count of its numbers in every column,
    and these numbers. A SHA-256 of all this stands at the end.
    """

    def __init__(
        self, columns: Sequence[str], path: Path | None, checked: CheckedBy
    ) -> None:
        """Open a cache; it is empty without a ``path`` or if the file is unusable.

        ``columns`` are the names of all columns, always in the same order.
        """
        self.columns = columns
        self._counts = struct.Struct(f"={len(columns)}I")
        self._places: dict[bytes, int] = {}
        self._data: mmap.mmap | bytes = b""
        if path is not None:
            with suppress(OSError, ValueError, KeyError, TypeError, struct.error):
                self._load(path, checked)

    def _load(self, path: Path, checked: CheckedBy) -> None:
        """Note where each chunk stands in the file, unless the file is unusable."""
        with open(path, "rb") as file:
            header = file.readline()
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

        start, end = len(header), len(data) - sha256().digest_size
        with memoryview(data) as view:
            is_intact = sha256(view[:end]).digest() == data[end:]
        if not is_intact or not checked.covers(orjson.loads(header)):
            return

        while start < end:
            counts_at = start + _DIGEST_SIZE
            self._places[data[start:counts_at]] = counts_at
            total = sum(self._counts.unpack_from(data, counts_at))
            start = counts_at + self._counts.size + _NUMBER_SIZE * total
        self._data = data

    def __len__(self) -> int:
        return len(self._places)

    def numbers(self, digest: bytes | None) -> ColumnNumbers | None:
        """Return the numbers of a chunk, or None if it is not in the cache."""
        place = self._places.get(digest) if digest else None
        if place is None:
            return None
        counts = self._counts.unpack_from(self._data, place)
        start = place + self._counts.size
        numbers = {}
        for column, count in zip(self.columns, counts, strict=True):
            end = start + _NUMBER_SIZE * count
            if count:
                numbers[column] = array("q", self._data[start:end])
            start = end
        return numbers

    def write(self, file: BinaryIO, digest: bytes, numbers: ColumnNumbers) -> None:
        """Append a good chunk to the file of a share, which `save` takes over."""
        nothing: array[int] = array("q")
        columns = [numbers.get(column, nothing) for column in self.columns]
        file.write(digest)
        file.write(self._counts.pack(*map(len, columns)))
        for column in columns:
            file.write(column.tobytes())


def save(path: Path, checked: CheckedBy, parts: Iterable[Path]) -> None:
    """Write the cache's file from the shares that were written.

    If the disk does not take it, the cache stays as it was, and the next check is
    slower.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        header = checked.header()
        digest = sha256(header)
        with open(draft, "wb") as file:
            file.write(header)
            for part in parts:
                with open(part, "rb") as chunks:
                    while data := chunks.read(_COPIED):
                        digest.update(data)
                        file.write(data)
            file.write(digest.digest())
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
