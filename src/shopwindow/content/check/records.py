"""Reads the files of streamed kinds: in batches that several processes share, or one by
one for a command that looks for a few of their documents.

A feed may hold millions of documents, so none is ever whole in memory. A plain feed is
cut by byte: each process seeks to its batch. A compressed feed cannot be entered in the
middle, so each process that shares it unpacks all of it and takes every so-many-th run
of lines. A feed that somebody sends is not trusted: its lines, its size and the ratio
of its compression are bounded.
"""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import zstandard

from shopwindow.content.documents import expressions
from shopwindow.content.documents.documents import Document, Layer
from shopwindow.content.reading.files import MAX_EMPTY_LINES, MAX_LINE
from shopwindow.content.reading.listing import COMPRESSED, Source
from shopwindow.content.reading.text import text_of
from shopwindow.content.reading.yaml import BYTE_ORDER_MARK, Json, Malformed
from shopwindow.problems import Place

BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of a plain feed that go to one process together."""

LINES_A_RUN = 2048
"""Lines of a compressed feed that go to one process together."""

STRIPED = 256 * 1024
"""Bytes from which a compressed feed is shared among processes. Each of them unpacks
all of it, which for a smaller feed would cost more than it saves.
"""

STRIPES = 8
"""Batches of a compressed feed: as many processes can share it."""

BUFFER = 256 * 1024
"""Bytes that are read from a file at a time."""

PACKED = 1024
"""Bytes of a .zst file that are unpacked at a time. Four bytes of them may stand for
128 KiB (RFC 8878 §3.1.1.2.3), so these for 32 MiB.
"""

MAX_UNPACKED_BYTES = 16 * 1024**3
"""Bytes of a feed once it is unpacked. Ten million products have some 12 GiB."""

MAX_RATIO = 200
"""How many times its size a compressed feed may unpack to. JSON of a shop is packed to
a fifth or a twentieth, while a megabyte of gzip can hold a gigabyte, which every
process would unpack.
"""

RATIO_FROM = 64 * 1024 * 1024
"""Bytes that a feed may unpack to whatever its ratio is: half a second's work."""

DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)
"""What reading a damaged compressed feed raises."""


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """Lines of a file that one process reads together.

    Of a plain feed these are those that begin at the byte ``start`` or later, and
    before ``end``; of a compressed feed every ``stripes``-th run of lines, from the run
    ``stripe`` on; of a YAML file all of it. ``lines_before``: those of a plain feed that
    begin before it, where numbers of lines count from the first one of the feed.
    """

    source: Source
    start: int = 0
    end: int = 0
    stripe: int = 0
    stripes: int = 1
    lines_before: int = 0


def batches(sources: Sequence[Source]) -> list[FeedBatch]:
    """Return the batches of some files, which any processes may read, in order."""
    of_all: list[FeedBatch] = []
    for source in sources:
        size = source.size
        if source.path.endswith(".jsonl"):
            starts = range(0, max(size, 1), BATCH_BYTES)
            of_all += [
                FeedBatch(source, start, min(start + BATCH_BYTES, size))
                for start in starts
            ]
        elif source.is_feed and size >= STRIPED:
            stripes = range(STRIPES)
            of_all += [
                FeedBatch(source, stripe=stripe, stripes=STRIPES) for stripe in stripes
            ]
        else:
            of_all.append(FeedBatch(source))
    return of_all


class FeedLines:
    """The lines of a batch that are not empty, each with its number.

    A line that cannot be read comes as a Malformed. Numbers count from 1, in a plain
    feed from the batch's first line, or as its ``lines_before`` says. ``count``: the
    number of the last line.
    """

    def __init__(self, folder: Path, batch: FeedBatch) -> None:
        self.path, self.batch = folder / batch.source.path, batch
        self.count = batch.lines_before
        self._empty = 0

    def __iter__(self) -> Iterator[tuple[int, bytes | Malformed]]:
        size = self.batch.source.size
        is_packed = self.path.name.endswith(COMPRESSED)
        if not is_packed and size > MAX_UNPACKED_BYTES:
            if not self.batch.start:
                yield self._too_much(f"the feed holds {size:,} bytes")
            return
        most = (
            min(MAX_UNPACKED_BYTES, max(RATIO_FROM, MAX_RATIO * size))
            if is_packed
            else self.batch.end or MAX_UNPACKED_BYTES
        )
        try:
            with _opened(self.path) as stream:
                yield from self._read(stream, most)
                if is_packed and self._empty <= MAX_EMPTY_LINES and stream.read(1):
                    yield self._too_much(
                        f"the feed unpacks to more than {most:,} bytes"
                    )
        except DAMAGE as error:
            yield self._fault(
                "feed.compressed",
                f"the compressed feed is damaged: {error}",
                "a whole file",
            )
        except OSError as error:
            yield self._fault(
                "tree.unreadable",
                f"cannot be read: {error.strerror}",
                "a readable file",
            )

    def _read(
        self, stream: BinaryIO, end: int
    ) -> Iterator[tuple[int, bytes | Malformed]]:
        """Yield the lines that begin before ``end``, and read little beyond the last of
        them.
        """
        position = self.batch.start
        stripe, stripes = self.batch.stripe, self.batch.stripes
        if position:  # a line that begins before the batch belongs to the batch before
            stream.seek(position - 1)
            position += _rest(stream, end - position + 1) - 1
        while position < end and (line := stream.readline(MAX_LINE + 1)):
            position += len(line)
            number = self.count = self.count + 1
            mine = number // LINES_A_RUN % stripes == stripe
            if len(line) > MAX_LINE:
                if line[-1] != 10:
                    position += _rest(stream, end - position)
                if mine:
                    yield self._fault(
                        "feed.line",
                        "a line that is too long",
                        f"at most {MAX_LINE:,} bytes a line",
                    )
            elif line.isspace():
                self._empty += 1
                if self._empty > MAX_EMPTY_LINES:
                    if mine:
                        found = f"more than {MAX_EMPTY_LINES:,} empty lines"
                        yield self._fault(
                            "feed.line", found, "a document in every line"
                        )
                    return
            elif mine:
                yield number, line

    def _too_much(self, found: str) -> tuple[int, Malformed]:
        allowed = f"at most {MAX_UNPACKED_BYTES:,} bytes"
        if self.path.name.endswith(COMPRESSED):
            allowed += f", and at most {MAX_RATIO} times what the compressed file has"
        return self._fault("feed.compressed", found, allowed)

    def _fault(self, rule: str, found: str, allowed: str) -> tuple[int, Malformed]:
        number = max(1, self.count)
        return number, Malformed(rule, found, allowed, Place(number, 1, number, 2))


def _rest(stream: BinaryIO, most: int) -> int:
    """Skip to the end of the line, but hardly more than ``most`` bytes; return how
    many.

    What is beyond belongs to another batch. Without this bound, each batch would read a
    line of 512 MiB to its end.
    """
    skipped = 0
    while skipped < most and (line := stream.readline(MAX_LINE)):
        skipped += len(line)
        if line[-1] == 10:
            break
    return skipped


def _opened(path: Path) -> BinaryIO:
    """Open a file, unpacked where it is compressed. Raises OSError or EOFError."""
    if path.name.endswith(COMPRESSED) and not path.stat().st_size:
        raise EOFError(
            "it is empty"
        )  # the libraries accept that, though no packer writes it
    if path.name.endswith(".gz"):
        return io.BufferedReader(gzip.GzipFile(path, "rb"), BUFFER)
    if path.name.endswith(".zst"):
        frames = zstandard.ZstdDecompressor()
        return io.BufferedReader(_Unpacked(open(path, "rb"), frames), BUFFER)
    return open(path, "rb", buffering=BUFFER)


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a .zst file.

    Raises EOFError where the file is cut off, which the library's own reader does not
    notice.
    """

    def __init__(self, file: BinaryIO, frames: zstandard.ZstdDecompressor) -> None:
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


WantedLine = Callable[[bytes], bool]
"""Whether the line of a feed may hold what is looked for. Other lines are not decoded:
there may be millions, and few are of interest.
"""


def streamed(
    folder: Path,
    source: Source,
    names: expressions.Names,
    wanted: WantedLine = lambda line: True,
) -> Iterator[tuple[Document, int]]:
    """Yield the documents of one file in their order, each with its line in a feed; 0 in
    a YAML file. What cannot be read is skipped.

    Args:
        folder: the content folder.
        source: a feed, plain or compressed, or a YAML file.
        names: those of site.yaml, for the expressions of a YAML file.
        wanted: lines of a feed for which it returns False are passed over.
    """

    def document(value: Json, index: int | None) -> Document:
        layer = Layer(source.path, index, value)
        return Document(source.kind.name, value, (layer,))

    if source.is_feed:
        for number, line in FeedLines(folder, FeedBatch(source)):
            if not isinstance(line, Malformed) and wanted(line):
                with suppress(ValueError):  # it is no JSON
                    value = orjson.loads(line.removeprefix(BYTE_ORDER_MARK))
                    yield document(value, None), number
        return
    with suppress(Malformed):
        written = text_of(folder, source).value
        value = expressions.render(written, names, lambda _: None)
        if isinstance(value, list):
            yield from ((document(one, index), 0) for index, one in enumerate(value))
        else:
            yield document(value, None), 0
