"""What the rows of catalog.sqlite mean, so that two indexes can be compared that were made in different ways."""

import sqlite3
from array import array
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from shopwindow.catalog.index.facets import Combinations
from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.sources import RANK_ORDERS

MEANINGLESS = ("dictionary", "locations", "fed")
"""Rows of `meta` by which others are read, or by which a build sees what has changed."""


def meaning(path: Path) -> dict[str, Any]:
    """Every row of an index, whatever its products' numbers, its dictionary and its places of stores are."""
    with closing(sqlite3.connect(path)) as index:
        return _meaning(index)


def _meaning(index: sqlite3.Connection) -> dict[str, Any]:
    def rows(statement: str) -> list[tuple[Any, ...]]:
        return index.execute(statement).fetchall()

    meta = dict(rows("SELECT name, value FROM meta"))
    packing = Packing(meta["dictionary"])
    id_of = dict(rows("SELECT rank, id FROM number"))
    ranks = sorted(id_of)
    active = [rank for rank in ranks if rank <= meta["active"]]
    columns = dict(rows("SELECT name, data FROM col"))
    places = orjson.loads(meta["locations"])
    index.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, text, instance)")

    def numbers(name: str, type: str = "I") -> list[int]:
        column = array(type, columns[name])
        return [column[rank] for rank in active]

    def ids(data: bytes) -> list[int]:
        return [id_of[rank] for rank in array("I", data)]

    def stock(data: bytes | None) -> dict[int, int]:
        bits = {place: (data or b"")[place // 4 : place // 4 + 1] for place in range(len(places))}
        found = {places[place]: byte[0] >> place % 4 * 2 & 3 for place, byte in bits.items() if byte}
        return {location: status for location, status in sorted(found.items()) if status}

    def ordered(name: str) -> list[int]:
        column = array("I", columns[name])
        return [id_of[rank] for rank in sorted(active, key=column.__getitem__)]

    facets = {}
    for row in rows("SELECT name, displayname, vals, starts, codes FROM facet ORDER BY number"):
        facet = Combinations.decoded(row, array("I", columns[f"facet {row[0]}"]))
        facets[facet.name] = (
            facet.displayname,
            {
                id_of[rank]: sorted(
                    facet.values[code]
                    for code in facet.codes[facet.starts[facet.column[rank]] : facet.starts[facet.column[rank] + 1]]
                )
                for rank in active
            },
        )
    bands = columns["band"]
    return {
        "meta": {name: value for name, value in meta.items() if name not in MEANINGLESS} | {"active": len(active)},
        "order": [id_of[rank] for rank in ranks],
        "number": rows("SELECT id, updated, digest, fed FROM number ORDER BY id"),
        "document": {id_of[rank]: packing.load(data) for rank, data in rows("SELECT rank, data FROM document")},
        "upc": [(*row, stock(data)) for *row, data in rows("SELECT * FROM upc ORDER BY upc")],
        "category": [
            (id, orjson.loads(document), ids(products), orjson.loads(counts))
            for id, document, products, counts in rows("SELECT id, document, products, facets FROM category")
        ],
        "facets": facets,
        "listed": rows("SELECT id, low, rating, name, days, best FROM listed ORDER BY id"),
        "sorts": {name: ordered(name) for name in RANK_ORDERS},
        "prices": [numbers("price"), [bands[rank] for rank in active], numbers("id", "Q")],
        "columns": sorted(columns),
        "review": _reviews(rows("SELECT * FROM rating"), dict(rows("SELECT number, document FROM review"))),
        "short": {id_of[rank]: text for rank, text in rows("SELECT rank, text FROM short")},
        "described": {id_of[rank]: text for rank, text in rows("SELECT rank, stems FROM described")},
        "text": {(term, id_of[rank], column) for term, rank, column, _ in rows("SELECT * FROM temp.terms")},
    } | {
        table: rows(f"SELECT * FROM {table} ORDER BY 1, 2")
        for table in ("sku", "brand", "recommendation", "family", "word", "stem", "form")
    }


def _reviews(ratings: list[tuple[int, ...]], documents: dict[int, bytes]) -> dict[int, Any]:
    return {
        product: (stars, [orjson.loads(documents[number]) for number in range(first, first + sum(stars))])
        for product, first, *stars in ratings
    }
