"""What an index is built from, and what of it is computed before any row is written.

A build from nothing (`indexing`) and one that changes the rows of the previous index
(`updating`) share this: both must come to the same rows.
"""

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress
from typing import Any

import orjson

from shopwindow.catalog.index.facets import BASIC
from shopwindow.catalog.index.words import indexed
from shopwindow.catalog.protocol import PRICE
from shopwindow.content.reading.yaml import Json

MAX_FACETS = 8
"""Attributes that are facets, at most: those that most products have.

Each facet is a column over all active products, and every narrowed list counts it.
Larger or smaller numbers work as well; docs/explain/catalog-index.md names this one.
"""

FACET_SHARE = 50
"""An attribute is a facet only if one product in so many has it, and at least two do.
"""

LIMITED_QUANTITY = 3
"""Stock up to which a store's status is LIMITED, unless site.yaml says otherwise."""

RANK_ORDERS = {
    "price_ascending": "low, id",
    "price_descending": "low DESC, id",
    "rating_ascending": "rating IS NULL, rating, id",
    "rating_descending": "rating IS NULL, rating DESC, id",
    "name_ascending": "name, id",
    "name_descending": "name DESC, id",
    "newness_ascending": "days IS NULL, days DESC, id",
    "newness_descending": "days IS NULL, days, id",
    "bestseller_descending": "best IS NULL, best DESC, id",
}
"""How each of `protocol.SORTS` orders products, by columns of the table `listed`;
bestseller_ascending is the rank itself.
"""


@dataclass(frozen=True)
class Sources:
    """The documents of a catalog.

    Each iterable may be read more than once. Those that are `Records` are read in parts,
    by several processes.

    ``categories`` are trees, or a list of which each names its `parent`. ``digests``
    are those of the files of a kind, by its name: equal ones mean equal documents. A
    kind that is not among them is read.
    """

    site: Mapping[str, Json] = field(default_factory=dict)
    categories: Iterable[Json] = ()
    brands: Iterable[Json] = ()
    products: Iterable[Json] = ()
    inventory: Iterable[Json] = ()
    reviews: Iterable[Json] = ()
    recommendations: Iterable[Json] = ()
    synonyms: Sequence[Sequence[str]] = ()
    digests: Mapping[str, str] = field(default_factory=dict)


class StockReader:
    """Makes rows of documents about stock.

    ``locations``: all stores that have something, in the order of their places in the
    stock of a UPC.

    In an index that is the order of their numbers. So places do not depend on which part
    of a feed is read first, and a new store with the highest number moves no other.
    """

    def __init__(self, site: Mapping[str, Json], locations: Iterable[int]) -> None:
        settings = site.get("catalog") or {}
        self.limit: int = settings.get("limited_quantity", LIMITED_QUANTITY)
        self.places = {str(number): place for place, number in enumerate(locations)}

    def row(self, document: Json) -> tuple[int, int | None, bytes | None]:
        """Return (UPC, stock of the site, stock of the stores).

        A store has two bits at its place: 0 nothing, 1 limited, 2 more.
        """
        stores, places = bytearray(), self.places
        for number, quantity in document.get("stores", {}).items():
            if not quantity:
                continue
            place = places[number]
            byte, shift = place >> 2, (place & 3) * 2
            if byte >= len(stores):
                stores.extend(bytes(byte + 1 - len(stores)))
            stores[byte] |= (1 if quantity <= self.limit else 2) << shift
        return int(document["upc"]), document.get("site"), bytes(stores) or None


def locations_of(inventory: Iterable[Json]) -> set[int]:
    """Return the location numbers of all stores that have something, by documents about
    stock.
    """
    numbers: set[str] = set()
    for document in inventory:
        stores = document.get("stores", {})
        numbers.update(compress(stores, stores.values()))
    return set(map(int, numbers))


def opinion(review: Json) -> tuple[Any, ...]:
    """Return a review as a row: product, date, id, rating and document."""
    return (
        review["product"],
        review["date"],
        review["id"],
        review["rating"],
        orjson.dumps(review),
    )


def recommended(document: Json) -> tuple[int, bytes]:
    """Return a row: a product, and those that are recommended with it."""
    return document["product"], orjson.dumps(document["products"])


def attributes_of(product: Json) -> set[str]:
    """Return the names of a product's attributes, in upper case as facets have them."""
    return {name.upper() for name in product.get("attributes", ())}


def chosen_facets(attributes: Mapping[str, int], products: int) -> list[str]:
    """Return the attributes that are facets, the most frequent first.

    ``attributes`` says how many of all ``products`` have each.
    """
    least = max(2, products / FACET_SHARE)
    names = sorted(attributes, key=lambda name: (-attributes[name], name))
    facets = [
        name
        for name in names
        if attributes[name] >= least and name not in (*BASIC, PRICE)
    ]
    return facets[:MAX_FACETS]


def stored_synonyms(sources: Sources) -> bytes:
    """Return the synonyms as the index stores them: words as they are indexed."""
    return orjson.dumps(
        [[" ".join(indexed(text)) for text in group] for group in sources.synonyms]
    )


def sort_column(out: sqlite3.Connection, name: str, length: int) -> bytes:
    """Return the column of one of `RANK_ORDERS`: the place of each product, by rank.

    ``length``: entries of the column, of which rank 0 is the first.
    """
    places = array("I", bytes(4 * length))
    ranks = out.execute(f"SELECT rank FROM listed ORDER BY {RANK_ORDERS[name]}")
    for place, (rank,) in enumerate(ranks):
        places[rank] = place
    return places.tobytes()


REVIEWS_IN_ORDER = "SELECT document FROM opinion ORDER BY product, date DESC, id"
"""Reviews as they are numbered: by product, the newest first, so that a page is a range."""

RATINGS = (
    "SELECT product, sum(rating = 1), sum(rating = 2), sum(rating = 3), sum(rating = 4),"
    " sum(rating = 5) FROM opinion GROUP BY product ORDER BY product"
)
"""Of each product with reviews, how many have how many stars."""


def write_reviews(
    out: sqlite3.Connection,
    documents: Iterable[tuple[bytes]],
    ratings: Iterable[tuple[int, ...]],
) -> None:
    """Write reviews, and ratings with the number of each product's first review.

    ``documents`` come as from `REVIEWS_IN_ORDER`, ``ratings`` as from `RATINGS`.
    """
    out.executemany("INSERT INTO review VALUES (NULL, ?)", documents)

    def numbered() -> Iterator[tuple[int, ...]]:
        first = 1
        for product, *counts in ratings:
            yield product, first, *counts
            first += sum(counts)

    out.executemany("INSERT INTO rating VALUES (?, ?, ?, ?, ?, ?, ?)", numbered())


def fed_digest(document: bytes) -> bytes:
    """Return a digest of a product's document as its feed has it, in JSON."""
    return blake2b(document, digest_size=16).digest()


def as_meta(
    sources: Sources, attributes: Counter[str], products: int
) -> dict[str, bytes | int]:
    """Return rows of `meta` by which the next build sees what has changed."""
    present = {name: count for name, count in sorted(attributes.items()) if count}
    return {
        "products": products,
        "attributes": orjson.dumps(present),
        "fed": orjson.dumps(dict(sorted(sources.digests.items()))),
    }
