"""The rows of a foreign feed: JSON lines, a JSON or YAML list, or CSV, read as a stream
where the format allows it.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import orjson

from shopwindow.catalog.kinds import KINDS
from shopwindow.catalog.mapping import FeedRow, Mapped, rows_in
from shopwindow.content import feed, yaml
from shopwindow.content.listing import COMPRESSED, Source
from shopwindow.content.records import BROKEN, FeedBlock, FeedLines
from shopwindow.content.tree import MAX_LINE
from shopwindow.content.yaml import Malformed
from shopwindow.problems import Failure, Place

FOREIGN_ENDINGS = (
    ".jsonl",
    *COMPRESSED,
    ".ndjson",
    ".json",
    ".yaml",
    ".yml",
    ".csv",
    ".tsv",
)
MAX_WHOLE = 512 * 1024 * 1024
"""Bytes of a file that is one value: it takes up to ten times as much memory. Lines are
read one by one.
"""

Numbered = tuple[str, FeedRow | Malformed]
"""Where a row stands (`line 7`, `row 3`), and the row, or what is wrong with it."""


def rows(path: Path, mapped: Mapped) -> Iterator[Numbered]:
    """Every row of a file, by its name's ending. Raises Failure where it cannot be read
    at all, or UnusableMapping.
    """
    if not path.name.endswith(FOREIGN_ENDINGS):
        raise Failure(
            f"{path}: a feed that nothing here reads; its name must end in {', '.join(FOREIGN_ENDINGS)}"
        )
    try:
        if not path.is_file() and path.exists():
            raise Failure(f"{path}: no file; a feed is a regular file")
        if path.suffix in (".csv", ".tsv"):
            yield from _table(path, "\t" if path.suffix == ".tsv" else mapped.delimiter)
        elif path.suffix in (".json", ".yaml", ".yml"):
            for number, row in enumerate(rows_in(_whole(path), mapped.rows), 1):
                yield f"row {number}", row
        else:
            yield from _lines(path)
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror}") from None


def _lines(path: Path) -> Iterator[Numbered]:
    """The rows of a feed, a line each. Raises Failure where the file breaks: what it
    held beyond is no bad row.
    """
    found = path.stat()
    source = Source(path.name, KINDS[0], found.st_size, found.st_mtime_ns, found.st_ino)
    for number, line in FeedLines(path.parent, FeedBlock(source)):
        try:
            if isinstance(line, Malformed):
                if line.rule in BROKEN:
                    raise Failure(f"{path}: {line.found}")
                raise line
            yield f"line {number}", feed.load(line, number)
        except Malformed as fault:
            yield f"line {number}", fault


def _whole(path: Path) -> FeedRow:
    """A file that is one value. Raises Failure."""
    size = path.stat().st_size
    if size > MAX_WHOLE:
        raise Failure(
            f"{path}: holds {size:,} bytes; at most {MAX_WHOLE:,}, and larger feeds as {FOREIGN_ENDINGS[0]}"
        )
    data = path.read_bytes()
    try:
        return (
            orjson.loads(data)
            if path.suffix == ".json"
            else yaml.load(yaml.decode(data))
        )
    except Malformed as fault:
        place = f"{fault.place.line}:{fault.place.column}"
        raise Failure(
            f"{path}:{place}: {fault.found}; allowed: {fault.allowed}"
        ) from None
    except orjson.JSONDecodeError as error:
        raise Failure(
            f"{path}:{error.lineno}:{error.colno}: no JSON: {error.msg}"
        ) from None


def _table(path: Path, delimiter: str) -> Iterator[Numbered]:
    """The lines of a table below its first, as objects by the names in that one; all
    are of one length.
    """
    with open(path, "rb") as file:
        reader = csv.reader(_texts(path, file), delimiter=delimiter, strict=True)
        try:
            names = next(reader, [])
            for cells in reader:
                if not cells:
                    continue
                where = f"line {reader.line_num}"
                if len(cells) == len(names):
                    yield where, dict(zip(names, map(str.strip, cells), strict=True))
                else:
                    found = f"{len(cells)} cells, and the first line names {len(names)}"
                    yield (
                        where,
                        Malformed(
                            "table.width",
                            found,
                            "as many",
                            Place(reader.line_num, 1, 1, 1),
                        ),
                    )
        except csv.Error as error:
            raise Failure(f"{path}: line {reader.line_num}: {error}") from None


def _texts(path: Path, file: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
        if len(line) > MAX_LINE:
            raise Failure(
                f"{path}:{number}: a line that is too long; at most {MAX_LINE:,} bytes"
            )
        try:
            yield yaml.decode(line)
        except Malformed as fault:
            where = f"{path}:{number}:{fault.place.column}"
            raise Failure(f"{where}: {fault.found}; save the table as UTF-8") from None
