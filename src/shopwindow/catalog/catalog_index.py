"""The catalog as an Index: built from checked feeds, opened, compared with another.

The engine knows the catalog by `CATALOG` alone (interface.declaring.index). What a method does
stands in the module that it calls, which is loaded then: most commands build no index,
and open none.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shopwindow.catalog.index.check import check as check_feeds
from shopwindow.catalog.index.file import INDEX_FORMAT, reading, room_for
from shopwindow.catalog.index.known_lines import CheckedCatalog
from shopwindow.catalog.kinds import KINDS
from shopwindow.content.documents.documents import Content
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.processes import Progress
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.index import BROUGHT_BACK, HandedOut
from shopwindow.problems import Failure

if TYPE_CHECKING:
    from shopwindow.catalog.reading.opened import OpenedCatalog


@dataclass(frozen=True)
class CatalogIndex:
    """The catalog as the engine knows it; interface.declaring.index says what a method is for."""

    name: str = "catalog"
    file: str = "catalog.sqlite"
    format: int = INDEX_FORMAT
    kinds: tuple[Kind, ...] = KINDS

    check = staticmethod(check_feeds)

    def digest(self, feeds: CheckedCatalog) -> str:
        """Return a digest of the catalog's files."""
        return feeds.digest()

    def beside(self, content: Content) -> Json:
        """Return the settings that rows depend on."""
        settings = content.setting("catalog") or {}
        return {name: settings.get(name) for name in STORED_SETTINGS}

    def build(
        self,
        feeds: CheckedCatalog,
        content: Content,
        path: Path,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Write catalog.sqlite. Return the digest of its rows.

        Raises OSError if the disk does not take the file.
        """
        from shopwindow.catalog.index.sums import complete

        settings = content.setting("catalog") or {}
        with room_for(path):
            feeds.write(path.resolve(), jobs, progress)
            return complete(path.resolve(), feeds.feeds, settings.get("brand_url"))

    def rows(self, path: Path) -> str:
        """Return the digest of the rows of a file (`row_digests`)."""
        from shopwindow.catalog.index.row_digests import altered, rows_digest

        try:
            with closing(reading(path)) as database:
                for product in altered(database):
                    raise Failure(f"{path}: product {product} is not what was built")
                return rows_digest(database)
        except sqlite3.Error as error:
            raise Failure(f"{path}: cannot be read as a catalog: {error}") from None

    def open(self, path: Path, handed_out: HandedOut | None = None) -> "OpenedCatalog":
        """Return the catalog in a file; with ``handed_out`` its reads are recorded.

        Raises Failure if the file is no catalog, or one of another format.
        """
        from shopwindow.catalog.reading.opened import OpenedCatalog

        try:
            return OpenedCatalog(path, handed_out)
        except (ValueError, sqlite3.Error) as error:
            why = str(error)
        except KeyError as missing:
            why = f"it lacks {missing}"
        raise Failure(f"{path}: cannot be read as a catalog: {why}; {BROUGHT_BACK}")

    def probe(self, opened: "OpenedCatalog") -> None:
        """Look up one product."""
        opened.product_ids(limit=1)

    def differences(
        self, old: "OpenedCatalog | None", new: "OpenedCatalog | None"
    ) -> Iterator[tuple[str, str]]:
        """Yield kind and id of the categories and products that differ."""
        from shopwindow.catalog.reading.differing import differing

        return differing(old, new)

    def document(
        self, opened: "OpenedCatalog | None", kind: str, identity: str
    ) -> Json | None:
        """Return a product or category as editors write it, with computed members."""
        if opened is None:
            return None
        if kind == "product":
            return opened.product(int(identity))
        return opened.category(int(identity))


CATALOG = CatalogIndex()

STORED_SETTINGS = ("brand_url", "limited_quantity")
"""What site.yaml's `catalog` says and the index stores. Its other settings go into
responses alone.
"""
