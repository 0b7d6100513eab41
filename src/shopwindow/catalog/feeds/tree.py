"""The tree of categories: each with its place, and the words of the names above it."""

from collections.abc import Iterable
from typing import NamedTuple

from shopwindow.catalog.feeds.words import indexed
from shopwindow.content.reading.yaml import Json


class Category(NamedTuple):
    """A category.

    Attributes:
        document: as editors wrote it, with `parent`, `depth` and `children`, and
            without the categories within it.
        line: its id and those of the categories above it.
        words: of the names of all these.
    """

    document: Json
    line: tuple[int, ...]
    words: str


def categories(documents: Iterable[Json]) -> dict[int, Category]:
    """Return all categories by id, in their order, from a list with `parent`."""
    flat = {document["id"]: document for document in documents}
    parents = {id: document.get("parent") for id, document in flat.items()}
    children: dict[int, list[int]] = {id: [] for id in flat}
    for id, parent in parents.items():
        if parent is not None:
            children[parent].append(id)

    words = {id: " ".join(indexed(one["name"])) for id, one in flat.items()}
    by_id = {}
    for id, document in flat.items():
        line = [id]
        while (parent := parents[line[-1]]) is not None:
            line.append(parent)
        computed = {
            "parent": parents[id],
            "depth": len(line),
            "children": children[id],
        }
        of_line = " ".join(words[above] for above in line)
        by_id[id] = Category(document | computed, tuple(line), of_line)
    return by_id
