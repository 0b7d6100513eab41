"""The documents of a file, one by one, each with where it stands.

An index reads the files of streamed kinds by itself, several processes at a time
(`records`). This module is for a command that looks for a few of their documents, or
begins a document in content that may have problems: it skips what cannot be read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from shopwindow.content.check.records import FeedBlock, FeedLines
from shopwindow.content.documents import expressions, site
from shopwindow.content.documents.documents import Document, Layer
from shopwindow.content.reading.listing import SITE_FILE, Source
from shopwindow.content.reading.text import YamlText, text_of
from shopwindow.content.reading.yaml import BYTE_ORDER_MARK, Malformed

WantedLine = Callable[[bytes], bool]
"""Whether the line of a feed may hold what is looked for. Other lines are not decoded:
there may be millions, and few are of interest.
"""


@dataclass(frozen=True)
class StreamedDocument:
    """A document of a file. ``line`` is its line in a feed; 0 in a YAML file."""

    document: Document
    line: int


def every_line(line: bytes) -> bool:
    """Want every line of a feed."""
    return True


def streamed(
    folder: Path,
    source: Source,
    names: expressions.Names,
    wanted: WantedLine = every_line,
) -> Iterator[StreamedDocument]:
    """Yield the documents of one file, in their order.

    Args:
        folder: the content folder.
        source: a feed, plain or compressed, or a YAML file.
        names: those of site.yaml, for the expressions of a YAML file.
        wanted: lines of a feed for which it returns False are passed over.
    """
    kind = source.kind.name
    if source.is_feed:
        for number, line in FeedLines(folder, FeedBlock(source, end=source.size)):
            if isinstance(line, Malformed) or not wanted(line):
                continue
            try:
                value = orjson.loads(line.removeprefix(BYTE_ORDER_MARK))
            except ValueError:
                continue
            document = Document(kind, value, (Layer(source.path, None, value),))
            yield StreamedDocument(document, number)
        return
    try:
        value = text_of(folder, source).value
    except Malformed:
        return
    value = expressions.render(value, names, lambda fault: None)
    values = value if isinstance(value, list) else [value]
    for index, part in enumerate(values):
        layer = Layer(source.path, index if isinstance(value, list) else None, part)
        yield StreamedDocument(Document(kind, part, (layer,)), 0)


def names_of(folder: Path) -> expressions.Names:
    """Return the names that site.yaml gives to the other files; none where it cannot be
    read.
    """
    try:
        text = (folder / SITE_FILE).read_text(encoding="utf-8-sig")
        value = YamlText(text).value
    except (Malformed, OSError, UnicodeDecodeError):
        return {}
    _, names, _ = site.render(value, frozenset())
    return names
