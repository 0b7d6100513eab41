"""The files of the catalog read as streams, in blocks that several processes share: never a whole feed in memory."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from vitrine.content import expressions, tree, yaml
from vitrine.content.listing import COMPRESSED, Source
from vitrine.content.tree import MAX_LINE
from vitrine.content.yaml import Json, Malformed
from vitrine.problems import Failure, Place

BLOCK = 4 * 1024 * 1024
RUN = 2048
"""Lines of a compressed feed that go to one process together."""

STRIPED = 256 * 1024
"""Bytes from which a compressed feed is shared among processes, each of which then unpacks all of it."""

STRIPES = 8
BUFFER = 256 * 1024
PACKED = 4096
"""Bytes of a .zst file that are unpacked at a time: they may hold a thousand times as many."""

BROKEN = ("feed.compressed", "tree.unreadable")
"""The rules that tell of a file, not of a line: nobody knows what it would have held from there on."""

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a file: the lines of a feed that begin at ``start`` or later, and before ``end``, in bytes.

    Of a compressed feed it is every ``stripes``-th run of lines, from the run ``stripe`` on; of a YAML file all of it.
    """

    source: Source
    start: int = 0
    end: int = 0
    stripe: int = 0
    stripes: int = 1


def blocks(sources: Sequence[Source], *, shared: bool = True) -> list[Block]:
    """The blocks of some files, in order; each file in one piece if it is not to be ``shared``."""
    if not shared:
        return [Block(source) for source in sources]
    found: list[Block] = []
    for source in sources:
        if source.path.endswith(".jsonl"):
            starts = range(0, max(source.size, 1), BLOCK)
            found += [Block(source, start, min(start + BLOCK, source.size)) for start in starts]
        elif source.is_feed and source.size >= STRIPED:
            found += [Block(source, stripe=stripe, stripes=STRIPES) for stripe in range(STRIPES)]
        else:
            found.append(Block(source))
    return found


class Lines:
    """The lines of a block that are not blank, each with its number, or with what is wrong with it as a line.

    Numbers count from 1, in a plain feed from the block's first line. ``count``: how many lines there were.
    """

    def __init__(self, folder: Path, block: Block) -> None:
        self.path, self.block = folder / block.source.path, block
        self.count = 0

    def __iter__(self) -> Iterator[tuple[int, bytes | Malformed]]:
        try:
            with _opened(self.path) as stream:
                yield from self._read(stream)
        except _damage() as error:
            yield self._fault("feed.compressed", f"the compressed feed is damaged: {error}", "a whole file")
        except OSError as error:
            yield self._fault("tree.unreadable", f"cannot be read: {error.strerror}", "a readable file")

    def _read(self, stream: BinaryIO) -> Iterator[tuple[int, bytes | Malformed]]:
        position, end = self.block.start, self.block.end or float("inf")
        stripe, stripes = self.block.stripe, self.block.stripes
        if position:  # a line that begins before the block belongs to the one before
            stream.seek(position - 1)
            position += _rest(stream) - 1
        while position < end and (line := stream.readline(MAX_LINE + 1)):
            position += len(line)
            number = self.count = self.count + 1
            mine = stripes == 1 or number // RUN % stripes == stripe
            if len(line) > MAX_LINE:
                if line[-1] != 10:
                    position += _rest(stream)
                if mine:
                    yield self._fault("feed.line", "a line that is too long", f"at most {MAX_LINE:,} bytes a line")
            elif mine and not line.isspace():
                yield number, line

    def _fault(self, rule: str, found: str, allowed: str) -> tuple[int, Malformed]:
        number = max(1, self.count)
        return number, Malformed(rule, found, allowed, Place(number, 1, number, 2))


def _rest(stream: BinaryIO) -> int:
    """Skip to the end of the line; how many bytes that were."""
    skipped = 0
    while line := stream.readline(MAX_LINE):
        skipped += len(line)
        if line[-1] == 10:
            break
    return skipped


def _opened(path: Path) -> BinaryIO:
    if path.name.endswith(COMPRESSED) and not path.stat().st_size:
        raise EOFError("it is empty")  # as no compressed file is: the libraries pass over it
    if path.name.endswith(".gz"):
        return io.BufferedReader(gzip.GzipFile(path, "rb"), BUFFER)
    if path.name.endswith(".zst"):
        library = _zstandard()  # before the object: one that is half made is closed all the same, from Python 3.13 on
        return io.BufferedReader(_Unpacked(open(path, "rb"), library.ZstdDecompressor()), BUFFER)
    return open(path, "rb", buffering=BUFFER)


class _Unpacked(io.RawIOBase):
    """What a .zst file holds. Raises EOFError where it is cut off, which the library's own reader passes over."""

    def __init__(self, file: BinaryIO, frames: Any) -> None:
        self._file = file  # closed with this
        self._frames = frames
        self._frame: Any = None
        self._packed = self._left = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            packed = self._packed or self._file.read(PACKED)
            if not packed:
                if self._frame is not None and not self._frame.eof:
                    raise EOFError("it ends in the middle")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._frames.decompressobj()
            self._left = self._frame.decompress(packed)
            self._packed = self._frame.unused_data
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


def _zstandard() -> Any:
    """The library for .zst, which not every installation has."""
    try:
        return import_module("zstandard")
    except ImportError:
        words = "a .jsonl.zst feed needs the library zstandard: pip install 'vitrine[catalog]', or pack it as .jsonl.gz"
        raise Failure(words) from None


def _damage() -> tuple[type[Exception], ...]:
    """What reading a damaged compressed feed raises."""
    known: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
    library = sys.modules.get("zstandard")
    return (*known, library.ZstdError) if library else known


@dataclass(frozen=True)
class Records:
    """The checked documents of one kind, read anew each time: their files are not kept in memory."""

    folder: Path
    sources: Sequence[Source]
    names: expressions.Names

    def __iter__(self) -> Iterator[Json]:
        """All of them, in the order of the files."""
        for block in blocks(self.sources, shared=False):
            yield from self.read(block)

    def blocks(self) -> list[Block]:
        """Parts to be read side by side, by any process, in the order of the files."""
        return blocks(self.sources)

    def read(self, block: Block) -> Iterator[Json]:
        """The documents of a block. Raises Failure where the file was changed since it was checked."""
        try:
            if block.source.is_feed:
                for _, line in Lines(self.folder, block):
                    if isinstance(line, Malformed):
                        raise line
                    yield orjson.loads(line.removeprefix(_MARK))  # what `feed.load` found no fault with is plain JSON
            else:
                value = yaml.load(tree.text_of(self.folder, block.source))
                value = expressions.render(value, self.names, lambda _: None)
                yield from value if isinstance(value, list) else [value]
        except (Malformed, ValueError):
            raise Failure(f"{block.source.path}: was changed while it was read; try again") from None
