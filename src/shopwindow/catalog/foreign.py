"""Reads the rows of a foreign feed: JSON lines, one JSON or YAML value, or a table.

The ending of the file's name decides the format. Lines and tables are read as streams;
a file that is one value is read whole.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import orjson

from shopwindow.catalog.kinds import KINDS
from shopwindow.catalog.mapping import Mapped
from shopwindow.catalog.mapping_paths import FeedRow, rows_in
from shopwindow.content import feed, yaml
from shopwindow.content.files import MAX_LINE
from shopwindow.content.listing import COMPRESSED, Source
from shopwindow.content.records import BROKEN, FeedBlock, FeedLines
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
"""Bytes of a file that is one value. It takes up to ten times as much memory; larger
feeds are JSON lines, which are read one by one.
"""

NumberedRow = tuple[int, FeedRow | Malformed]
"""The number of a line, counted from 1, and its row, or what is wrong with it."""

PlacedRow = tuple[str, FeedRow | Malformed]
"""Where a row stands (`line 7`, `row 3`), and the row, or what is wrong with it."""


def rows(path: Path, mapped: Mapped) -> Iterator[PlacedRow]:
    """Yield every row of a file.

    ``mapped`` says where the rows stand in a file that is one value, and what separates
    the cells of a .csv file. Raises Failure for a file that cannot be read at all, and
    UnusableMapping.
    """
    if not path.name.endswith(FOREIGN_ENDINGS):
        endings = ", ".join(FOREIGN_ENDINGS)
        raise Failure(
            f"{path}: a feed that nothing here reads; its name must end in {endings}"
        )
    try:
        _require_regular(path)
        if path.suffix == ".csv":
            yield from _table(path, mapped.delimiter)
        elif path.suffix == ".tsv":
            yield from _table(path, "\t")
        elif path.suffix in (".json", ".yaml", ".yml"):
            for number, row in enumerate(rows_in(_whole(path), mapped.rows), 1):
                yield f"row {number}", row
        else:
            for number, row in numbered_rows(path):
                yield f"line {number}", row
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror}") from None


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes | Malformed]]:
    """Yield the lines of a feed that are not empty, each with its number.

    A line that is too long comes as a Malformed. Raises Failure if the file breaks off,
    as a damaged compressed one does: nobody knows how many rows are missing, so that is
    not one bad row. Raises OSError.
    """
    _require_regular(path)
    stat = path.stat()
    # the kind means nothing to `FeedLines`, and this file is of none
    source = Source(path.name, KINDS[0], stat.st_size, stat.st_mtime_ns, stat.st_ino)
    for number, line in FeedLines(path.parent, FeedBlock(source)):
        if isinstance(line, Malformed) and line.rule in BROKEN:
            raise Failure(f"{path}: {line.found}")
        yield number, line


def numbered_rows(path: Path) -> Iterator[NumberedRow]:
    """Yield the rows of a feed that has one on each line. Raises Failure and OSError,
    as `numbered_lines` does.
    """
    for number, line in numbered_lines(path):
        try:
            if isinstance(line, Malformed):
                raise line
            yield number, feed.load(line, number)
        except Malformed as fault:
            yield number, fault


def _require_regular(path: Path) -> None:
    """Raise Failure for what is no file, such as a pipe to which nobody may write."""
    if path.exists() and not path.is_file():
        raise Failure(f"{path}: no file; a feed is a regular file")


def _whole(path: Path) -> FeedRow:
    """Return the value of a file that is one. Raises Failure."""
    size = path.stat().st_size
    if size > MAX_WHOLE:
        raise Failure(
            f"{path}: holds {size:,} bytes; at most {MAX_WHOLE:,},"
            f" and larger feeds as {FOREIGN_ENDINGS[0]}"
        )
    data = path.read_bytes()
    try:
        if path.suffix == ".json":
            return orjson.loads(data)
        return yaml.load(yaml.decode(data))
    except Malformed as fault:
        place = f"{fault.place.line}:{fault.place.column}"
        raise Failure(
            f"{path}:{place}: {fault.found}; allowed: {fault.allowed}"
        ) from None
    except orjson.JSONDecodeError as error:
        raise Failure(
            f"{path}:{error.lineno}:{error.colno}: no JSON: {error.msg}"
        ) from None


def _table(path: Path, delimiter: str) -> Iterator[PlacedRow]:
    """Yield the rows of a table as objects, by the names in its first line.

    A row with more or fewer cells than names is malformed.
    """
    with open(path, "rb") as file:
        reader = csv.reader(_texts(path, file), delimiter=delimiter, strict=True)
        try:
            names = next(reader, [])
            for cells in reader:
                if not cells:
                    continue
                line = reader.line_num
                row: FeedRow | Malformed
                if len(cells) == len(names):
                    row = dict(zip(names, map(str.strip, cells), strict=True))
                else:
                    found = f"{len(cells)} cells, and the first line names {len(names)}"
                    place = Place(line, 1, 1, 1)
                    row = Malformed("table.width", found, "as many", place)
                yield f"line {line}", row
        except csv.Error as error:
            raise Failure(f"{path}: line {reader.line_num}: {error}") from None


def _texts(path: Path, file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a table as text. Raises Failure for one that is none."""
    lines = iter(lambda: file.readline(MAX_LINE + 1), b"")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise Failure(
                f"{path}:{number}: a line that is too long; at most {MAX_LINE:,} bytes"
            )
        try:
            yield yaml.decode(line)
        except Malformed as fault:
            where = f"{path}:{number}:{fault.place.column}"
            raise Failure(f"{where}: {fault.found}; save the table as UTF-8") from None
