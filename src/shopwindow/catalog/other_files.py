"""The other files of a kind: what changes to one feed must not touch.

Documents of a kind may lie in several feeds, and beside them in YAML that people write.
An id stands in one of these places. Changes to a feed that name an id of another place
are a mistake that `check` would report only after the feed was changed.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from shopwindow.catalog.foreign import numbered_lines
from shopwindow.catalog.kinds import KINDS
from shopwindow.content import yaml
from shopwindow.content.files import text_of
from shopwindow.content.kinds import Kind
from shopwindow.content.listing import Source, scan
from shopwindow.content.records import BYTE_ORDER_MARK
from shopwindow.content.yaml import Json, Malformed


class FeedPlace(NamedTuple):
    """Where a feed lies: in which content folder, and by that for which kind."""

    content: Path
    kind: Kind


def place_of(feed: Path) -> FeedPlace | None:
    """Return where a feed of a content folder lies; None where it lies elsewhere."""
    kinds = {kind.folder: kind for kind in KINDS}
    parts = feed.absolute().parts
    for index, (folder, name) in enumerate(pairwise(parts)):
        kind = kinds.get(f"{folder}/{name.partition('.')[0]}")
        if kind:
            return FeedPlace(Path(*parts[:index]), kind)
    return None


def other_ids(place: FeedPlace, own: Collection[Path]) -> Iterator[tuple[str, Json]]:
    """Yield the files of a kind that are not ``own``, by their paths in the content
    folder, with the ids of their documents.

    What cannot be read has no id here; `check` reports it. Raises Failure for a
    compressed feed that is damaged, and OSError.
    """
    sources, _ = scan(place.content, (place.kind,))
    for source in sources:
        path = place.content / source.path
        if source.kind is not place.kind or path.resolve() in own:
            continue
        documents = _fed(path) if source.is_feed else _written(place, source)
        for document in documents:
            id = identity_of(document, place.kind)
            if id is not None:
                yield source.path, id


def _fed(path: Path) -> Iterator[Json]:
    for _, line in numbered_lines(path):
        if not isinstance(line, Malformed):
            yield document_in(line)


def _written(place: FeedPlace, source: Source) -> Iterator[Json]:
    """Yield the documents of a YAML file, with expressions as they stand there."""
    try:
        value = yaml.load(text_of(place.content, source))
    except Malformed:
        return
    yield from value if isinstance(value, list) else [value]


def document_in(line: bytes) -> Json:
    """Return the document of a feed's line, or None where there is none."""
    try:
        return orjson.loads(line.removeprefix(BYTE_ORDER_MARK))
    except orjson.JSONDecodeError:
        return None


def identity_of(document: Json, kind: Kind) -> Any:
    """Return what identifies a document, or None."""
    return document.get(kind.identity) if isinstance(document, dict) else None
