"""Pieces of feeds that were without fault: what they say of others is kept, and they
are not checked again.

A piece begins where the lines themselves say so, not at a place in the file: lines that
come or go change the pieces that they are in, and no others. Deleting the file of
pieces is safe.
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

from shopwindow.content.yaml import Malformed

NumberedLine = tuple[int, "bytes | Malformed"]
Numbers = Mapping[str, "array[int]"]
"""Column → the numbers that a piece gives to it."""

USUAL = 32
"""Lines of a piece, in the mean."""
MAX_PIECE_LINES = 1024

_DIGEST = 16


def cut(lines: Iterable[NumberedLine]) -> Iterator[list[NumberedLine]]:
    """Lines in pieces."""
    piece: list[NumberedLine] = []
    for line in lines:
        text = line[1]
        if piece and (
            text.__class__ is not bytes
            or not crc32(text) % USUAL
            or len(piece) == MAX_PIECE_LINES
        ):
            yield piece
            piece = []
        piece.append(line)
    if piece:
        yield piece


def digest_of(kind: str, piece: Sequence[NumberedLine]) -> bytes | None:
    """A digest of a piece; None where one of its lines cannot be read."""
    digest = sha256(kind.encode())
    for _, text in piece:
        if isinstance(text, Malformed):
            return None
        digest.update(text)
    return digest.digest()[:_DIGEST]


@dataclass(frozen=True)
class CheckedBy:
    """What pieces were checked by: a digest of program and schemas, and the ids that
    there were to refer to.

    None: of these, nothing was said.
    """

    by: str
    ids: Sequence[Collection[int | str] | None]

    def holds(self, was: Any) -> bool:
        """Whether what was without fault then is so now: nothing that it may refer to
        is gone.
        """
        pairs = zip(was["ids"], self.ids, strict=True)
        gone = (
            now is not None and (before is None or not set(before) <= set(now))
            for before, now in pairs
        )
        return bool(was["by"] == self.by) and not any(gone)

    def header(self) -> bytes:
        ids = [None if each is None else sorted(each, key=str) for each in self.ids]
        return orjson.dumps({"by": self.by, "ids": ids}) + b"\n"


class Pieces:
    """The pieces that are known. ``columns``: the names of all columns, in an order
    that is always the same.

    Its file: a line that says what they were checked by; the pieces, each its digest,
    how many numbers of each column, the numbers; and a digest of all this.
    """

    def __init__(
        self, columns: Sequence[str], path: Path | None, checked: CheckedBy
    ) -> None:
        self.columns = columns
        self._counts = struct.Struct(f"={len(columns)}I")
        self._places: dict[bytes, int] = {}
        self._data: mmap.mmap | bytes = b""
        if path is not None:
            with suppress(OSError, ValueError, KeyError, TypeError, struct.error):
                self._load(path, checked)

    def _load(self, path: Path, checked: CheckedBy) -> None:
        with open(path, "rb") as file:
            header = file.readline()
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start, end = len(header), len(data) - sha256().digest_size
        with memoryview(data) as view:
            if sha256(view[:end]).digest() != data[end:] or not checked.holds(
                orjson.loads(header)
            ):
                return
        while start < end:
            self._places[data[start : start + _DIGEST]] = start + _DIGEST
            start += (
                _DIGEST
                + self._counts.size
                + 8 * sum(self._counts.unpack_from(data, start + _DIGEST))
            )
        self._data = data

    def __len__(self) -> int:
        return len(self._places)

    def numbers(self, digest: bytes | None) -> Numbers | None:
        """What a piece says, if it is known."""
        place = self._places.get(digest) if digest else None
        if place is None:
            return None
        start, found = place + self._counts.size, {}
        for column, count in zip(
            self.columns, self._counts.unpack_from(self._data, place), strict=True
        ):
            if count:
                found[column] = array("q", self._data[start : start + 8 * count])
                start += 8 * count
        return found

    def keep(self, file: BinaryIO, digest: bytes, numbers: Numbers) -> None:
        """Note a piece without fault; the files of several processes, one after the
        other, go to `save`.
        """
        nothing: array[int] = array("q")
        parts = [numbers.get(column, nothing) for column in self.columns]
        file.write(
            digest
            + self._counts.pack(*map(len, parts))
            + b"".join(map(array.tobytes, parts))
        )


def save(path: Path, checked: CheckedBy, parts: Iterable[Path]) -> None:
    """Keep what processes noted. Where that cannot be kept, the next check is a slower
    one.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = sha256(checked.header())
        with open(draft, "wb") as file:
            file.write(checked.header())
            for part in parts:
                with open(part, "rb") as noted:
                    while data := noted.read(1 << 20):
                        digest.update(data)
                        file.write(data)
            file.write(digest.digest())
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
