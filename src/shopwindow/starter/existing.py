"""What a content folder holds already of a kind: ids that are taken, documents to refer
to.

A new document is begun while others are still being written, so content with problems
is read as well: a file that cannot be read counts as if it were not there, and `check`
reports it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shopwindow.content.check.folder import CheckOptions, files_of
from shopwindow.content.check.memory import Memory
from shopwindow.content.check.records import streamed
from shopwindow.content.check.tree import Parsed
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.layers import merge
from shopwindow.content.kinds import Kind
from shopwindow.content.lookup.shelf import Held, nested_in, with_nested
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.yaml import Json
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

    def documents(self, kind: Kind) -> Iterator[Document]:
        """Yield the documents of a kind, without their bases, in the order of the
        files.
        """
        for source in self.sources:
            if source.kind.name != kind.name or source.is_base:
                continue
            if file := self.parsed.get(source.path):
                yield from (Document(kind.name, value, ()) for value in file.documents)
            else:
                yield from (one for one, _ in streamed(self.folder, source, {}))

    def values(self, kind: Kind, name: str) -> Iterator[Json]:
        """Yield the values of a property in the documents of a kind.

        Documents may stand within each other, as categories do: those count as well.
        """
        nested = nested_in(self.schemas, kind)
        for document in self.documents(kind):
            for held in with_nested(Held(document), nested):
                if isinstance(held.value, dict) and name in held.value:
                    yield held.value[name]

    def base_name(self, kind: Kind) -> str:
        """Return the name of the first base file that stands directly in the folder of
        a kind; empty where there is none.
        """
        for source in self.sources:
            folder, _, name = source.path.rpartition("/")
            if source.is_base and folder == source.kind.folder == kind.folder:
                return name
        return ""

    def base(self, kind: Kind, name: str, most: int = MOST_BASES) -> Json:
        """Return what a base file says, merged with the bases that it builds on."""
        file = self.parsed.get(f"{kind.folder}/{name}")
        value: Json = next(iter(file.documents), {}) if file and most else {}
        extended = value.get("extends") if isinstance(value, dict) else None
        if not isinstance(extended, str):
            return value
        return merge(self.base(kind, extended, most - 1), value)


def existing(
    folder: Path, interface: Interface, schemas: Schemas, memory: Memory
) -> Existing:
    """Return what a content folder holds. ``memory`` is that of the folder."""
    sources, files = files_of(folder, schemas, interface, CheckOptions(memory=memory))
    parsed = {file.source.path: file for file in files if not file.lost}
    return Existing(folder, sources, schemas, parsed)
