"""Writing catalog.sqlite: the rows of all lines (`taking`), and what follows from many.

A file with the rows of all lines becomes a catalog where it is. What follows from many
lines is computed from all rows (`sums`), in every build.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from shopwindow.catalog.feeds.tree import Category
from shopwindow.catalog.feeds.words import indexed
from shopwindow.catalog.index import sums
from shopwindow.catalog.index.covered import rows_digest
from shopwindow.catalog.index.file import INDEX_FORMAT, writing
from shopwindow.catalog.index.taking import write_meta
from shopwindow.content.reading.yaml import Json


def complete(
    path: Path,
    tree: Mapping[int, Category],
    brands: Iterable[Json],
    synonyms: Iterable[Sequence[str]],
    stores: Sequence[int],
    brand_url: str | None,
) -> str:
    """Make a catalog of a file with the rows of all lines.

    Args:
        path: of the file.
        tree: all categories by id, in their order.
        brands, synonyms: the documents of these kinds.
        stores: all stores in the order of their places in the stock of a UPC.
        brand_url: where pages of brands are.

    Returns the digest of the rows that a release id covers.
    """
    with closing(writing(path, "")) as out:
        stored: Mapping[str, Any] = dict(out.execute("SELECT name, value FROM meta"))
        meta = sums.write(out, tree)
        _write_brands(out, brands)
        meta |= {
            "format": INDEX_FORMAT,
            "locations": orjson.dumps(stores),
            "synonyms": orjson.dumps(
                [[" ".join(indexed(text)) for text in group] for group in synonyms]
            ),
            "brand_url": brand_url,
        }
        write_meta(out, meta)
        kinds = orjson.loads(stored["kinds"])
        digest = rows_digest(out, {kind: parts[-1] for kind, parts in kinds.items()})
        out.execute("COMMIT")
    return digest


def _write_brands(out: sqlite3.Connection, brands: Iterable[Json]) -> None:
    rows = ((brand["name"], brand["id"], brand["url"]) for brand in brands)
    out.execute("DELETE FROM brand")
    out.executemany("INSERT INTO brand VALUES (?, ?, ?)", sorted(rows))
