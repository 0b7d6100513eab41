"""Where the values of documents stand in their files, for whoever shows or edits them.

A check looks up the places of its findings by itself (`locating`). This module answers
for any value: which layers of a document state it, and at which line each does.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shopwindow.content.documents.documents import Document, Layer
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.text import YamlText, text_of
from shopwindow.content.reading.yaml import Malformed, Spot, at, spot
from shopwindow.problems import Place, Pointer

MAX_SEARCHED = 4_000_000
"""Bytes of a file of streamed documents in which a page searches for one of them: at
least a thousand products, and a search that no visitor waits for.
"""


_UNREAD = YamlText("", is_feed=True)
"""In the place of a text that was changed or removed since the check: it has no values."""


@dataclass
class Files:
    """Where values stand in the files of a content folder, as one check read them.

    ``sources``: its files by path. A file is read when a place in it is needed: few
    files are, and reading one takes a millisecond.
    """

    folder: Path
    sources: Mapping[str, Source]
    _texts: dict[str, YamlText] = field(default_factory=dict)

    def spot(self, layer: Layer, pointer: Pointer) -> Spot | None:
        """Return where a layer states the value at ``pointer``; None where its file
        cannot be read.
        """
        return spot(self.spots(layer.path), layer.in_file(pointer))

    def place(self, layer: Layer, pointer: Pointer) -> Place | None:
        """Return where a person looks for the value at ``pointer``: at its key, else at
        the value.
        """
        stated = self.spot(layer, pointer)
        return (stated.key or stated.value) if stated else None

    def line(self, document: Document) -> int:
        """Return the line at which a document begins in its own file, from 1."""
        layer = document.own
        if layer.index is None:
            return 1
        place = self.place(layer, ())
        return place.line if place else 1

    def streamed(self, kind: Kind, id: str) -> tuple[str, int]:
        """Return the file and line of a streamed document.

        No check remembers where one stands, so the files of its kind are searched for
        the line that states its identity. Where none does, such as of a compressed
        feed, that is the kind's folder and line 0.
        """
        name, value = kind.identity, re.escape(id)
        begins = r"(?:^[\s-]*|[{,]\s*)"
        stated = re.compile(rf"""{begins}["']?{name}["']?\s*:\s*["']?{value}(?!\w)""")
        for source in self.sources.values():
            if source.kind.name != kind.name or source.size > MAX_SEARCHED:
                continue
            for number, line in self.excerpt(source.path, 1, source.size):
                if id in line and stated.search(line):
                    return source.path, number
        return kind.folder, 0

    def excerpt(self, path: str, line: int, around: int = 2) -> list[tuple[int, str]]:
        """Return the lines around a line, with their numbers; nothing of a file that is
        gone.
        """
        if not (self.folder / path).is_file():
            return []
        try:
            text = (self.folder / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        lines = text.split("\n")
        first = max(1, line - around)
        return list(enumerate(lines[first - 1 : line + around], first))

    def text(self, path: str) -> YamlText:
        """Return the text of a file; an empty one where it was changed or removed since
        the check, and cannot be read.
        """
        if path not in self._texts:
            try:
                self._texts[path] = text_of(self.folder, self.sources[path])
            except (KeyError, Malformed, OSError):
                self._texts[path] = _UNREAD
        return self._texts[path]

    def spots(self, path: str) -> Mapping[Pointer, Spot]:
        """Return where every value of a file stands."""
        return self.text(path).spots


def layers_stating(document: Document, pointer: Pointer) -> Iterator[Layer]:
    """Yield the layers that state the value at ``pointer``, the one that counts first."""
    for layer in reversed(document.layers):
        try:
            at(layer.value, pointer)
        except (KeyError, IndexError):
            continue
        yield layer


def stated_at(document: Document, pointer: Pointer) -> Pointer:
    """Return the pointer to what an editor wrote for the value at ``pointer``.

    A value that stands for something else is in no layer, such as an id that follows
    from a group; the nearest value around it is then what was written.
    """
    while pointer and not any(layers_stating(document, pointer)):
        pointer = pointer[:-1]
    return pointer
