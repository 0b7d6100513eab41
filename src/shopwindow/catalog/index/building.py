"""The catalog's Index: catalog.sqlite built from checked feeds, opened, and compared
with another.
"""

import errno
import resource
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal

from shopwindow.catalog.check import CheckedCatalog
from shopwindow.catalog.check import check as check_feeds
from shopwindow.catalog.index.indexing import INDEX_FORMAT, Sources, write
from shopwindow.catalog.index.opened import (
    OpenedCatalog,
    RecordedCatalog,
    open_index,
    renderer,
)
from shopwindow.catalog.kinds import KINDS
from shopwindow.content.documents import Content
from shopwindow.content.feeds import FeedReport, Unstreamed
from shopwindow.content.kinds import Kind
from shopwindow.content.listing import Source
from shopwindow.content.processes import Progress
from shopwindow.content.yaml import Json
from shopwindow.interface.index import HandedOut
from shopwindow.problems import Failure


@dataclass(frozen=True)
class CatalogIndex:
    """The catalog as an index of the Interface (interface.index)."""

    name: str = "catalog"
    file: str = "catalog.sqlite"
    format: int = INDEX_FORMAT
    kinds: tuple[Kind, ...] = KINDS

    def check(
        self, sources: Sequence[Source], beside: Unstreamed
    ) -> tuple[CheckedCatalog | None, FeedReport]:
        """Check the catalog's files; catalog.check says how."""
        return check_feeds(sources, beside)

    def digest(self, feeds: CheckedCatalog) -> str:
        """Return a digest of the catalog's files."""
        return feeds.digest()

    def beside(self, feeds: CheckedCatalog, content: Content) -> Json:
        """Return what answers show around products: settings, promotions, and the names
        that expressions use.
        """
        settings = content.setting("catalog"), content.setting("bags")
        return [settings, content.documents("promotion"), dict(feeds.names)]

    def build(
        self,
        feeds: CheckedCatalog,
        content: Content,
        path: Path,
        previous: Path | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Write catalog.sqlite, and return the digest of its rows. Raises OSError for a
        full disk.
        """
        sources = Sources(
            content.site,
            feeds.categories,
            feeds.brands,
            feeds.products,
            feeds.inventory,
            feeds.reviews,
            feeds.recommendations,
            feeds.synonyms,
        )
        try:
            written = write(
                path.resolve(), sources, renderer(content), jobs, progress, previous
            )
        except sqlite3.Error as error:
            raise OSError(_number(error), str(error), str(path)) from error
        return written.partition(":")[2]

    def open(self, path: Path, handed_out: HandedOut | None = None) -> OpenedCatalog:
        """Return the catalog in a file. Raises Failure."""
        try:
            return (
                open_index(path)
                if handed_out is None
                else RecordedCatalog(path, handed_out)
            )
        except (ValueError, KeyError, sqlite3.Error) as error:
            raise Failure(f"{path}: cannot be read as a catalog: {error}") from None

    def probe(self, opened: OpenedCatalog) -> None:
        """Look up one product."""
        opened.product_ids(limit=1)

    def differences(
        self, old: OpenedCatalog | None, new: OpenedCatalog | None
    ) -> Iterator[tuple[str, str]]:
        """Yield the categories and products that differ; of products also what answers
        show around them counts.
        """
        for kind in COMPARED:
            before, after = (
                opened.digests(kind) if opened else () for opened in (old, new)
            )
            for id, was, now in sorted_together(before, after):
                if was != now:
                    yield kind, str(id)

    def document(
        self, opened: OpenedCatalog | None, kind: str, identity: str
    ) -> Json | None:
        """Return a product or category as editors write it, with what is computed for
        it.
        """
        if opened is None:
            return None
        return (
            opened.product(int(identity))
            if kind == "product"
            else opened.category(int(identity))
        )


CATALOG = CatalogIndex()

COMPARED: tuple[Literal["category", "product"], ...] = ("category", "product")
"""Kinds that a difference names; what else the catalog holds is shown with one of
these.
"""


def _number(error: sqlite3.Error) -> int:
    """The system's own number for what kept SQLite from writing: it only tells that the
    file did not grow.
    """
    if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
        return errno.EIO
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    return errno.EFBIG if limited else errno.ENOSPC


def sorted_together(
    old: Iterable[tuple[int, bytes]], new: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Two ordered streams of ids and digests as one; None where one of them has not the
    id.
    """
    both = merge(
        ((id, 0, digest) for id, digest in old), ((id, 1, digest) for id, digest in new)
    )
    for id, group in groupby(both, itemgetter(0)):
        sides: list[bytes | None] = [None, None]
        for _, side, digest in group:
            sides[side] = digest
        yield id, sides[0], sides[1]
