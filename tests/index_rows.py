"""What the rows of catalog.sqlite mean, so that two indexes can be compared that were made in different ways.

A rank, which is a product's number within the file, means nothing but an order. So ranks do not occur here: a product
stands for itself by its id, and an order of products is a list of ids. Between the ranks of active products there may
be numbers that no product has; what columns have there must count for nothing, which is checked.
"""

import sqlite3
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from shopwindow.catalog.index.facets import Combinations
from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.ranks import INACTIVE
from shopwindow.catalog.index.sources import RANK_ORDERS

MEANINGLESS = ("dictionary", "locations", "fed", "last")
"""Rows of `meta` by which others are read, by which a build sees what has changed, or that say how long columns are."""

NO_BAND = 255
"""What the column of price ranges has for a number that no product has: no range."""

TEXT_COLUMNS = ("name", "brand", "kind", "attributes", "description")


def meaning(path: Path) -> dict[str, Any]:
    """Every row of an index, whatever its products' ranks, its dictionary and its places of stores are."""
    with closing(sqlite3.connect(path)) as index:
        assert index.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return _Rows(index).meaning()


class _Rows:
    """The rows of one index, and what they are read by."""

    def __init__(self, index: sqlite3.Connection) -> None:
        self.index = index
        self.meta: dict[str, Any] = dict(self.rows("SELECT name, value FROM meta"))
        self.packing = Packing(self.meta["dictionary"])
        self.columns: dict[str, bytes] = dict(self.rows("SELECT name, data FROM col"))
        self.id_of: dict[int, int] = dict(self.rows("SELECT rank, id FROM number"))
        self.documents = {
            self.id_of[rank]: self.packing.load(data) for rank, data in self.rows("SELECT rank, data FROM document")
        }
        """Documents by id."""
        ranks = sorted(self.id_of)
        self.active = [rank for rank in ranks if self.documents[self.id_of[rank]].get("active", True)]
        """The ranks of active products, in order."""
        assert self.active == [rank for rank in ranks if rank < INACTIVE]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.index.execute(statement).fetchall()

    def meaning(self) -> dict[str, Any]:
        self._check_unused_numbers()
        kept = {name: value for name, value in self.meta.items() if name not in MEANINGLESS}
        return {
            "meta": kept,
            "order": [self.id_of[rank] for rank in self.active],
            "number": self.rows("SELECT id, updated, digest, fed FROM number ORDER BY id"),
            "document": self.documents,
            "upc": self._stock(),
            "category": [
                (id, orjson.loads(document), self.ids(products), orjson.loads(counts))
                for id, document, products, counts in self.rows(
                    "SELECT id, document, products, facets FROM category ORDER BY id"
                )
            ],
            "facets": list(self._facets()),
            "listed": self._by_product("SELECT rank, id, low, rating, name, days, best FROM listed"),
            "sorts": {name: self._sorted(name) for name in RANK_ORDERS},
            "columns": sorted(self.columns),
            "id": self._column("id"),
            "price": self._column("price"),
            "band": self._column("band"),
            "review": self._reviews(),
            "short": self._by_product("SELECT rank, text FROM short"),
            "described": self._by_product("SELECT rank, stems FROM described"),
            "text": self._text(),
        } | {
            table: self.rows(f"SELECT * FROM {table} ORDER BY 1, 2")
            for table in ("sku", "brand", "recommendation", "family", "bucket", "word", "stem", "form")
        }

    # -- by rank

    def ids(self, data: bytes) -> list[int]:
        """The products of an array of ranks."""
        return [self.id_of[rank] for rank in array("I", data)]

    def _by_product(self, statement: str) -> dict[int, tuple[Any, ...]]:
        """Rows whose first value is a rank, by product."""
        return {self.id_of[rank]: tuple(row) for rank, *row in self.rows(statement)}

    def _values(self, name: str) -> "array[int]":
        """A column by rank, as the file has it."""
        type = {"id": "Q", "band": "B"}.get(name, "I")
        return array(type, self.columns[name])

    def _column(self, name: str) -> dict[int, int]:
        """A column by product."""
        values = self._values(name)
        return {self.id_of[rank]: values[rank] for rank in self.active}

    def _sorted(self, name: str) -> list[int]:
        places = self._column(name)
        return sorted(places, key=places.__getitem__)

    def _check_unused_numbers(self) -> None:
        """All columns are of one length, and numbers that no product has count for nothing."""
        values = {name: self._values(name) for name in self.columns}
        length = len(values["id"])
        assert {name for name, column in values.items() if len(column) != length} == set()
        assert length > max(self.active, default=0)
        used = {0, *self.active}
        unused = [rank for rank in range(length) if rank not in used]
        entries = {
            name: {column[rank] for rank in unused} for name, column in values.items() if name not in RANK_ORDERS
        }
        expected = {name: {NO_BAND if name == "band" else 0} if unused else set() for name in entries}
        assert entries == expected

    # -- what is not stored as it is meant

    def _facets(self) -> Iterator[Any]:
        """Each facet: its names, and the values of each active product."""
        for row in self.rows("SELECT name, displayname, vals, starts, codes FROM facet ORDER BY number"):
            facet = Combinations.decoded(row, self._values(f"facet {row[0]}"))
            values = {}
            for rank in self.active:
                start, end = facet.starts[facet.column[rank] :][:2]
                values[self.id_of[rank]] = sorted(facet.values[code] for code in facet.codes[start:end])
            yield facet.name, facet.displayname, values

    def _stock(self) -> list[tuple[Any, ...]]:
        """UPCs, with the status at each store that has any."""
        locations = orjson.loads(self.meta["locations"])

        def statuses(data: bytes | None) -> dict[int, int]:
            by_place = [byte >> shift & 3 for byte in data or b"" for shift in (0, 2, 4, 6)]
            return {locations[place]: status for place, status in enumerate(by_place) if status}

        return [(*row, statuses(data)) for *row, data in self.rows("SELECT * FROM upc ORDER BY upc")]

    def _reviews(self) -> dict[int, Any]:
        """The stars and the reviews of each product that has any. No review belongs to none."""
        documents = dict(self.rows("SELECT number, document FROM review"))
        ratings = self.rows("SELECT * FROM rating")
        reviews = {
            product: (stars, [orjson.loads(documents.pop(number)) for number in range(first, first + sum(stars))])
            for product, first, *stars in ratings
        }
        assert documents == {}
        return reviews

    def _text(self) -> dict[tuple[str, str], set[int]]:
        """Which products FTS5 finds, by column and stem; and it finds them by no other stem."""
        self.index.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, text, instance)")
        listed: dict[tuple[str, str], set[int]] = {}
        for term, rank, column, _ in self.rows("SELECT * FROM temp.terms"):
            listed.setdefault((column, term), set()).add(self.id_of[rank])
        matching = "SELECT rowid FROM text WHERE text MATCH ?"
        found = {
            (column, term): {self.id_of[rank] for (rank,) in self.index.execute(matching, (f'{column} : "{term}"',))}
            for column, term in listed
        }
        assert found == listed
        return found
