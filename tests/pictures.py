"""Pictures in the documents: PNG files with a palette, small enough to be fetched with a page.

A browser's screenshot has three bytes a pixel. Text on a plain ground needs few colors, so a palette of 256 makes the
file a third of that, and nobody sees a difference.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLORS = 256
"""What a palette of one byte a pixel holds."""


@dataclass(frozen=True)
class Picture:
    """A decoded picture: rows of pixels, ``depth`` bytes each (3: red, green, blue; 1: an index of the palette)."""

    width: int
    height: int
    depth: int
    rows: tuple[bytes, ...]

    def colors(self) -> Counter[bytes]:
        """How many pixels have each color."""
        counted: Counter[bytes] = Counter()
        for row in self.rows:
            counted.update(row[at : at + self.depth] for at in range(0, len(row), self.depth))
        return counted


def decoded(data: bytes) -> Picture:
    """A picture of eight bits a channel: RGB, RGBA without its transparency, or with a palette."""
    assert data.startswith(SIGNATURE)
    chunks = dict.fromkeys((b"IHDR", b"IDAT"), b"")
    for name, content in _chunks(data):
        chunks[name] = chunks.get(name, b"") + content
    width, height, bits, form, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    depth = {2: 3, 3: 1, 6: 4}[form]
    assert bits == 8
    rows = tuple(_unfiltered(zlib.decompress(chunks[b"IDAT"]), width * depth, depth))
    if depth == 4:
        rows = tuple(bytes(byte for at, byte in enumerate(row) if at % 4 != 3) for row in rows)
    return Picture(width, height, 3 if depth == 4 else depth, rows)


def reduced(picture: Picture) -> bytes:
    """A PNG of a picture in RGB, with the palette of its most frequent colors; others become the nearest of these."""
    counted = picture.colors()
    palette = [color for color, _ in counted.most_common(COLORS)]
    number = {color: at for at, color in enumerate(palette)}
    for color in counted.keys() - number.keys():
        number[color] = min(range(len(palette)), key=lambda at: _distance(palette[at], color))
    rows = [bytes(number[row[at : at + 3]] for at in range(0, len(row), 3)) for row in picture.rows]
    header = struct.pack(">IIBBBBB", picture.width, picture.height, 8, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    parts = {b"IHDR": header, b"PLTE": b"".join(palette), b"IDAT": pixels, b"IEND": b""}
    return SIGNATURE + b"".join(_chunk(name, content) for name, content in parts.items())


def is_blank(file: Path) -> bool:
    """Whether nearly all of a picture is one color, or it has too few for text."""
    picture = decoded(file.read_bytes())
    counted = picture.colors()
    return len(counted) < 16 or counted.most_common(1)[0][1] > 0.98 * picture.width * picture.height


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _unfiltered(data: bytes, length: int, depth: int) -> Iterator[bytes]:
    """The rows, of which the file has each as a difference from pixels before it (PNG, 3rd edition, 9.2)."""
    above = bytes(length)
    for start in range(0, len(data), length + 1):
        kind, row = data[start], bytearray(data[start + 1 : start + 1 + length])
        for at in range(length) if kind else ():
            left = row[at - depth] if at >= depth else 0
            corner = above[at - depth] if at >= depth else 0
            by = (left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))
            row[at] = (row[at] + by[kind - 1]) & 255
        above = bytes(row)
        yield above


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


def _distance(one: bytes, other: bytes) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
