"""The lines of feeds: each is a document in JSON, and is known by its digest.

A feed that is not plain, because it is compressed or YAML, is written as plain lines
first. So every feed can be read in blocks by several processes, each a few thousand
lines, whatever it is made of.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import orjson

from shopwindow.content.check.records import Records
from shopwindow.content.reading.yaml import BYTE_ORDER_MARK, Json

BLOCK = 2 * 1024 * 1024
"""Bytes of a feed that go to one process together, and whose rows come back together.

Rows take about as much memory as the lines that they come from. The catalog's rows do
not depend on this number, and larger or smaller ones work as well.
"""

DIGEST_BYTES = 16
"""Bytes of a digest: 128 bits tell apart all lines that there will be."""


class LineBlock(NamedTuple):
    """The lines of a file that begin at the byte ``start`` or later, before ``end``.

    ``name``: what editors know the file by.
    """

    name: str
    path: Path
    start: int
    end: int

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each a document; empty ones are left out."""
        with open(self.path, "rb") as file:
            if self.start:  # a line that begins earlier belongs to the block before
                file.seek(self.start - 1)
                file.readline()
            position = file.tell()
            while position < self.end and (line := file.readline()):
                position += len(line)
                if stripped := line.removeprefix(BYTE_ORDER_MARK).strip():
                    yield stripped


def digest_of(line: bytes) -> bytes:
    """Return what a line is known by."""
    return blake2b(line, digest_size=DIGEST_BYTES).digest()


def blocks(documents: Iterable[Json], folder: Path, kind: str) -> list[LineBlock]:
    """Return all documents of a kind as blocks of lines.

    Files of them that are plain are read in place. ``folder`` takes the lines of all
    others.
    """
    parts = []
    for number, (name, lines) in enumerate(_by_file(documents, kind)):
        if isinstance(lines, Path):
            path = lines
        else:
            path = folder / f"{kind}-{number}"
            with open(path, "wb") as file:
                file.writelines(line.strip() + b"\n" for line in lines)
        size = path.stat().st_size
        starts = range(0, size, BLOCK)
        parts += [
            LineBlock(name, path, start, min(start + BLOCK, size)) for start in starts
        ]
    return parts


def _by_file(
    documents: Iterable[Json], kind: str
) -> Iterator[tuple[str, Path | Iterator[bytes]]]:
    """Yield the name of each file with its path, or with its lines; documents that stand
    in no file count as one.
    """
    if isinstance(documents, Records):
        yield from documents.by_file()
    else:
        yield kind, map(orjson.dumps, documents)
