"""What follows from many lines: ratings, ranks, columns, facets and categories.

A file with the rows of all lines (`taking`) becomes a catalog where it is (`complete`).
Every build computes all of it again, from one narrow row a product: numpy orders and
counts 100,000 products in a second. A product's rank is its place among the active
ones: best sellers first, then by id. A column has one number for each rank.
"""

import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import count as counting
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from shopwindow.catalog.feeds.rows import BASIC
from shopwindow.catalog.feeds.tree import Category
from shopwindow.catalog.feeds.words import indexed
from shopwindow.catalog.index.file import INDEX_FORMAT, writing
from shopwindow.catalog.index.lines import Feeds
from shopwindow.catalog.index.row_digests import rows_digest
from shopwindow.content.reading.yaml import Json

TABLES = """
CREATE TABLE category (id INTEGER PRIMARY KEY, document BLOB, words TEXT, products BLOB);
CREATE TABLE rating (product INTEGER PRIMARY KEY, one INTEGER, two INTEGER, three INTEGER, four INTEGER, five INTEGER);
CREATE TABLE col (name TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID;
CREATE TABLE facet (number INTEGER PRIMARY KEY, name TEXT, combinations BLOB);
"""

MAX_FACETS = 8
"""Attributes that are facets, at most: those that most products have.

Each facet is a column over all active products, and every narrowed list counts it.
Larger or smaller numbers work as well; docs/explain/catalog-index.md names this one.
"""

FACET_SHARE = 50
"""An attribute is a facet only if one product in so many has it, and at least two do.
"""

MAX_FACET_VALUES = 1000
"""An attribute with more values is no facet: `facetexpandall` would list all of them.

Brands, colors and sizes are facets however many there are. Larger or smaller numbers
work as well; docs/explain/catalog-index.md names this one.
"""

READ_AT_ONCE = 10_000
"""Rows that are read together. The sums do not depend on it."""

NONE = -1
"""What a column has for a product without the value."""

Column = npt.NDArray[np.integer[Any]]

TENTHS = (
    "(20 * (one + 2 * two + 3 * three + 4 * four + 5 * five)"
    " / (one + two + three + four + five) + 1) / 2"
)
"""A mean rating in tenths, halves upwards (`opened.average`)."""

NUMBERS = {
    "id": "id",
    "price": "cents",
    "bestseller": "best",
    "newness": "days",
    "rating": TENTHS,
}
"""The columns of numbers, each with what it is read from. That of names is not among
them: it has the place of each name in their order.
"""


def write_ratings(out: sqlite3.Connection) -> None:
    """Write how many reviews of each product give how many stars."""
    stars = ", ".join(f"sum(rating = {stars})" for stars in range(1, 6))
    out.execute("DELETE FROM rating")
    out.execute(
        f"INSERT INTO rating SELECT product, {stars} FROM review"
        " GROUP BY product ORDER BY product"
    )


def write_categories(out: sqlite3.Connection, tree: Mapping[int, Category]) -> None:
    """Write all categories; `complete` adds the products that each holds."""
    out.execute("DELETE FROM category")
    out.executemany(
        "INSERT INTO category VALUES (?, ?, ?, NULL)",
        (
            (id, orjson.dumps(one.document), one.words)
            for id, one in sorted(tree.items())
        ),
    )


def write_meta(out: sqlite3.Connection, meta: Mapping[str, Any]) -> None:
    """Write what stands once in a catalog."""
    out.executemany("REPLACE INTO meta VALUES (?, ?)", sorted(meta.items()))


def complete(path: Path, feeds: Feeds, brand_url: str | None) -> str:
    """Make a catalog of a file with the rows of all lines.

    ``path``: of the file, in which nothing but those rows is: no brands, no columns of
    products. ``brand_url``: where pages of brands are.

    Returns the digest of the rows that a release id covers.
    """
    with closing(writing(path, "")) as out:
        stored: Mapping[str, Any] = dict(out.execute("SELECT name, value FROM meta"))
        meta = _write(out, feeds.tree)
        _write_brands(out, feeds.brands)
        meta |= {
            "format": INDEX_FORMAT,
            "locations": orjson.dumps(list(feeds.stores)),
            "synonyms": orjson.dumps(
                [
                    [" ".join(indexed(text)) for text in group]
                    for group in feeds.synonyms
                ]
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
    out.executemany("INSERT INTO brand VALUES (?, ?, ?)", sorted(rows))


def _write(out: sqlite3.Connection, tree: Mapping[int, Category]) -> dict[str, Any]:
    """Write what follows from the rows of all lines, and from ratings.

    Args:
        out: the catalog, with these rows.
        tree: all categories by id, in their order; they are written already.

    Returns the rows of `meta` that belong to it.
    """
    products = _Products(out)
    columns = products.columns()
    for number, (name, combinations, column) in enumerate(products.facets()):
        row = (number, name, orjson.dumps(combinations))
        out.execute("INSERT INTO facet VALUES (?, ?, ?)", row)
        columns[f"facet {name}"] = column
    stored = ((name, column.tobytes()) for name, column in columns.items())
    out.executemany("INSERT INTO col VALUES (?, ?)", stored)
    out.executemany(
        "UPDATE category SET products = ? WHERE id = ?",
        ((ranks.tobytes(), id) for id, ranks in products.by_category(tree)),
    )
    featured = out.execute(
        "SELECT id FROM listed WHERE active AND featured ORDER BY id"
    )
    return {
        "active": products.active,
        "featured": orjson.dumps([id for (id,) in featured]),
        "roots": orjson.dumps(
            [id for id, one in tree.items() if one.document["parent"] is None]
        ),
    }


class _Products:
    """What all products are ordered and counted by, read once.

    Attributes:
        active: how many are active.
    """

    def __init__(self, out: sqlite3.Connection) -> None:
        numbers = [array("q") for _ in NUMBERS]
        texts = [_NumberedTexts() for _ in range(5)]
        names: list[str] = []
        is_active = bytearray()
        columns: list[array[int] | _NumberedTexts] = [*numbers, *texts]
        values = (f"ifnull({value}, {NONE})" for value in NUMBERS.values())
        rows = out.execute(
            f"SELECT active, name, {', '.join(values)}, categories, brand,"
            " colors, sizes, attributes FROM listed LEFT JOIN rating ON product = id"
            " ORDER BY id"
        )
        while some := rows.fetchmany(READ_AT_ONCE):
            active, name, *others = zip(*some, strict=True)
            is_active.extend(active)
            names.extend(name)
            for column, added in zip(columns, others, strict=True):
                column.extend(added)

        place = {name: place for place, name in enumerate(sorted(set(names)))}
        self._numbers = {
            name: np.array(column, np.int64)
            for name, column in zip(NUMBERS, numbers, strict=True)
        }
        self._numbers["name"] = np.array([place[name] for name in names], np.int64)
        best, ids = self._numbers["bestseller"], self._numbers["id"]
        is_inactive = 1 - np.frombuffer(is_active, np.int8)
        self._order = np.lexsort((ids, best, best == NONE, is_inactive))
        self.active = len(ids) - int(is_inactive.sum())
        self._categories, *self._basic, self._attributes = texts

    def columns(self) -> dict[str, Column]:
        """Return the columns of numbers by rank."""
        ranks = self._order[: self.active]
        return {name: column[ranks] for name, column in self._numbers.items()}

    def by_category(self, tree: Mapping[int, Category]) -> Iterator[tuple[int, Column]]:
        """Return each category's id, and the ranks of the products in it and below it."""
        lists, column = self._categories.numbered(self._order)
        place = {id: place for place, id in enumerate(tree)}
        inside = [
            (number, place[id])
            for number, ids in enumerate(lists)
            for id in {above for own in ids if own in tree for above in tree[own].line}
        ]
        numbers, places = np.array(inside, np.int64).reshape(-1, 2).T
        sizes = np.bincount(numbers, minlength=len(lists))
        starts = np.cumsum(sizes) - sizes

        # One row for each active product and each category that holds it, by rank.
        of_active = column[: self.active]
        counts = sizes[of_active]
        ranks = np.repeat(np.arange(self.active, dtype=np.int32), counts)
        nth = np.arange(len(ranks)) - np.repeat(np.cumsum(counts) - counts, counts)
        holding = places[np.repeat(starts[of_active], counts) + nth]
        order = np.argsort(holding, kind="stable")
        ends = np.searchsorted(holding[order], np.arange(1, len(tree)))
        return zip(tree, np.split(ranks[order], ends), strict=False)

    def facets(self) -> Iterator[tuple[str, Sequence[Sequence[str]], Column]]:
        """Yield the name of each facet, the combinations of its values that products
        have, and a column with the number of each product's combination.
        """
        for name, texts in zip(BASIC, self._basic, strict=True):
            combinations, column = texts.numbered(self._order)
            yield name, combinations, column[: self.active]

        by_product, column = self._attributes.numbered(self._order)
        of_active = column[: self.active]
        is_sold = np.bincount(of_active, minlength=len(by_product)) > 0
        for name in self._chosen(by_product, column):
            own = [tuple(attributes.get(name, ())) for attributes in by_product]
            sold = sorted({own[one] for one in np.flatnonzero(is_sold).tolist()})
            if len({value for values in sold for value in values}) > MAX_FACET_VALUES:
                continue
            number = {values: place for place, values in enumerate(sold)}
            numbers = np.array([number.get(values, 0) for values in own], np.int32)
            yield name, sold, numbers[of_active]

    def _chosen(self, by_product: Sequence[Any], column: Column) -> list[str]:
        """Return the attributes that are facets, the most frequent first."""
        uses = np.bincount(column, minlength=len(by_product)).tolist()
        having: Counter[str] = Counter()
        for attributes, count in zip(by_product, uses, strict=True):
            having.update(dict.fromkeys(attributes, count))
        least = max(2, len(column) / FACET_SHARE)
        frequent = [name for name in having if having[name] >= least]
        return sorted(frequent, key=lambda name: (-having[name], name))[:MAX_FACETS]


class _NumberedTexts:
    """A column of texts in JSON, of which many products have the same: each is stored
    once, and has a number.
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = defaultdict(counting().__next__)
        self._column = array("i")

    def extend(self, texts: Iterable[str]) -> None:
        """Add the texts of the next products."""
        self._column.extend(map(self._number.__getitem__, texts))

    def numbered(self, order: Column) -> tuple[list[Any], Column]:
        """Return the values in the order of their texts, and the number of each
        product's, in an order of the products.
        """
        texts = list(self._number)
        by_text = sorted(range(len(texts)), key=texts.__getitem__)
        places = np.empty(len(texts), np.int32)
        places[by_text] = np.arange(len(texts), dtype=np.int32)
        column = np.array(self._column, np.int32)[order]
        return [orjson.loads(texts[number]) for number in by_text], places[column]
