"""What a content folder holds already of a kind: ids that are taken, documents to refer
to.

A new document is begun while others are still being written, so content with problems
is read as well: a file that cannot be read counts as if it were not there, and `check`
reports it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from shopwindow.content.check.folder import CheckOptions, files_of
from shopwindow.content.check.memory import Memory
from shopwindow.content.check.records import FeedBlock, FeedLines
from shopwindow.content.check.tree import Parsed
from shopwindow.content.documents.layers import merge
from shopwindow.content.kinds import Kind
from shopwindow.content.lookup.shelf import nested_in
from shopwindow.content.reading.files import loaded, text_of
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.yaml import BYTE_ORDER_MARK, Json, Malformed
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.interface import Interface

MOST_BASES = 20
"""Bases that build on each other: enough for any shop, and an end where they form a
ring.
"""


@dataclass(frozen=True)
class Existing:
    """The documents of a content folder, by kind.

    ``parsed``: the files whose documents a check has read, by path. Others are read as
    they are written: those of streamed kinds, and those of which something is lost.
    """

    folder: Path
    sources: Sequence[Source]
    schemas: Schemas
    parsed: Mapping[str, Parsed]

    def documents(self, kind: Kind) -> Iterator[Json]:
        """Yield the documents of a kind, without their bases, in the order of the
        files.
        """
        for source in self.sources:
            if source.kind.name == kind.name and not source.is_base:
                file = self.parsed.get(source.path)
                yield from file.documents if file else _documents(self.folder, source)

    def values(self, kind: Kind, name: str) -> Iterator[Json]:
        """Yield the values of a property in the documents of a kind.

        Documents may stand within each other, as categories do: those count as well.
        """
        nested = nested_in(self.schemas, kind)
        for document in self.documents(kind):
            yield from _values(document, name, nested)

    def highest(self, kind: Kind, name: str) -> int:
        """Return the highest number under a property; 0 where there is none."""
        numbers = (value for value in self.values(kind, name) if type(value) is int)
        return max(numbers, default=0)

    def bases(self, kind: Kind) -> list[str]:
        """Return the names of the base files that stand directly in the folder of a
        kind.
        """
        names = []
        for source in self.sources:
            folder, _, name = source.path.rpartition("/")
            if (
                source.is_base
                and source.kind.name == kind.name
                and folder == kind.folder
            ):
                names.append(name)
        return names

    def base(self, kind: Kind, name: str) -> Json:
        """Return what a base file says, together with the bases that it builds on."""
        by_path = {source.path: source for source in self.sources}
        parts: list[Json] = []
        while name and len(parts) < MOST_BASES:
            source = by_path.get(f"{kind.folder}/{name}")
            part: Json = next(_documents(self.folder, source), {}) if source else {}
            parts.append(part)
            extended = part.get("extends") if isinstance(part, dict) else None
            name = extended if isinstance(extended, str) else ""
        value: Json = {}
        for part in reversed(parts):
            value = merge(value, part)
        return value


def existing(
    folder: Path, interface: Interface, schemas: Schemas, memory: Memory
) -> Existing:
    """Return what a content folder holds. ``memory`` is that of the folder."""
    sources, files = files_of(folder, schemas, interface, CheckOptions(memory=memory))
    parsed = {file.source.path: file for file in files if not file.lost}
    return Existing(folder, sources, schemas, parsed)


def _documents(folder: Path, source: Source) -> Iterator[Json]:
    if source.is_feed:
        yield from _records(folder, source)
        return
    try:
        value, _ = loaded(text_of(folder, source))
    except Malformed:
        return
    if source.kind.streamed or isinstance(value, list):
        yield from value if isinstance(value, list) else [value]
    else:
        yield value


def _records(folder: Path, source: Source) -> Iterator[Json]:
    """Yield the records of a feed, which may hold millions: never all of them in
    memory.
    """
    for _, line in FeedLines(folder, FeedBlock(source)):
        if isinstance(line, Malformed):
            continue
        try:
            yield orjson.loads(line.removeprefix(BYTE_ORDER_MARK))
        except ValueError:
            continue


def _values(document: Json, name: str, nested: Sequence[str]) -> Iterator[Json]:
    if not isinstance(document, dict):
        return
    if name in document:
        yield document[name]
    for key in nested:
        below = document.get(key)
        for inner in below if isinstance(below, list) else ():
            yield from _values(inner, name, nested)
