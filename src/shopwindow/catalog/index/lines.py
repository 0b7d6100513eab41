"""The lines of feeds: each is a document in JSON, and is known by its digest."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any, NamedTuple, Protocol

import orjson

from shopwindow.catalog.feeds.rows import DIGEST_BYTES, LIMITED_QUANTITY
from shopwindow.catalog.feeds.tree import Category, categories
from shopwindow.catalog.index.file import INDEX_FORMAT
from shopwindow.content.reading.yaml import Json


class Faulty(Exception):
    """A line is at fault, or lines do not agree with each other."""


class Line(NamedTuple):
    """A line of a feed, or a document of a YAML file.

    ``data``: the document in JSON. ``record``: what its reader knows it by.
    """

    data: bytes
    record: Any


class LineReader(Protocol):
    """Reads the batches of feeds, and checks their lines. Used by several processes."""

    def lines(self, batch: Any) -> Iterator[Line]:
        """Yield the lines of a batch. Raises Faulty where it cannot be read."""
        ...

    def documents(self, batch: Any, lines: Sequence[Line]) -> Iterator[Json]:
        """Yield the documents of some lines of a batch. Raises Faulty where one is at
        fault.
        """
        ...


@dataclass(frozen=True)
class Feeds:
    """What a catalog follows from.

    Attributes:
        batches: of the feeds of each kind, in their order.
        reader: reads the batches.
        categories: a list, of which each names its `parent`.
        stores: the location numbers of all stores that may have stock, in order: so their
            places in the stock of a UPC do not depend on which feed is read first.
        limited: stock up to which a store has few.
        digests: returns those of the files of a kind, by its name: equal ones mean equal
            lines. A kind that is not among them is read.
        checked_by: what the check of a line reads beside it, as JSON.
        brands, synonyms: the documents of these kinds, which no rows of lines need.
    """

    batches: Mapping[str, Sequence[Any]]
    reader: LineReader
    categories: Sequence[Json] = ()
    stores: Sequence[int] = ()
    limited: int = LIMITED_QUANTITY
    digests: Callable[[], Mapping[str, str]] = dict
    checked_by: Json = None
    brands: Sequence[Json] = ()
    synonyms: Sequence[Sequence[str]] = ()

    def basis(self, kind: str) -> str:
        """Return a digest of all that the check of a line of a kind and its rows follow
        from beside the line.
        """
        beside = [self.checked_by, INDEX_FORMAT, sqlite3.sqlite_version]
        if kind == "inventory":
            beside += [list(self.stores), self.limited]
        return sha256(orjson.dumps(beside)).hexdigest()

    @cached_property
    def tree(self) -> Mapping[int, Category]:
        """All categories by id, in their order."""
        return categories(self.categories)


def digest_of(data: bytes) -> bytes:
    """Return what a line is known by."""
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
