"""The digest of the rows of catalog.sqlite, by which a release id covers the file.

The bytes of the file depend on the SQLite that wrote it; its rows do not. The digest
stands in the manifest, and whoever has the file computes it again from the rows:
`shopwindow verify` does, and so does a host that pulls.

It is of what editors wrote: documents, stock, reviews, recommendations, categories,
brands and settings. A product counts by the digest of its document, which `altered`
compares in a file from elsewhere. Whatever is computed from these is no part of it, nor
are the dictionary and what the next build knows lines by.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from hashlib import sha256

from shopwindow.catalog.feeds.packing import DamagedRow, Packing
from shopwindow.catalog.feeds.rows import document_digest

ROWS = {
    "product": "SELECT id, digest FROM listed ORDER BY id",
    "inventory": "SELECT upc, online, stores FROM stock ORDER BY upc",
    "review": "SELECT id, document FROM review ORDER BY id",
    "recommendation": "SELECT product, products FROM recommendation ORDER BY product",
    "category": "SELECT id, document FROM category ORDER BY id",
    "brand": "SELECT * FROM brand ORDER BY name",
    "meta": "SELECT name, value FROM meta WHERE name IN"
    " ('brand_url', 'format', 'locations', 'synonyms') ORDER BY name",
}
"""The rows that are digested, by kind."""

READ_AT_ONCE = 1000
"""Rows that are read together. The digest does not depend on it."""


def kind_digest(database: sqlite3.Connection, kind: str) -> str:
    """Return the digest of the rows of a kind (SHA-256, hex)."""
    digest = sha256()
    rows = database.execute(ROWS[kind])
    while some := rows.fetchmany(READ_AT_ONCE):
        digest.update("".join(map(repr, some)).encode())
    return digest.hexdigest()


def rows_digest(
    database: sqlite3.Connection, computed: Mapping[str, str] | None = None
) -> str:
    """Return the digest of a catalog's rows (SHA-256, hex). Raises sqlite3.Error.

    ``computed`` has the digests of kinds whose rows are known not to have changed.
    """
    computed = computed or {}
    digests = [
        f"{kind} {computed.get(kind) or kind_digest(database, kind)}\n" for kind in ROWS
    ]
    return sha256("".join(digests).encode()).hexdigest()


def altered(database: sqlite3.Connection) -> Iterator[int]:
    """Yield the ids of products that are not stored as their digest says, in order.

    Raises sqlite3.Error.
    """
    query = "SELECT value FROM meta WHERE name = 'dictionary'"
    row = database.execute(query).fetchone()
    if row is None:
        raise sqlite3.DatabaseError("it lacks the dictionary")
    packing = Packing(*row)
    rows = database.execute(
        "SELECT id, digest, document FROM product LEFT JOIN listed USING (id)"
        " UNION ALL SELECT id, digest, NULL FROM listed"
        " WHERE id NOT IN (SELECT id FROM product) ORDER BY id"
    )
    for id, stated, stored in rows:
        try:
            document = packing.unpack(stored)
        except DamagedRow:
            yield id
            continue
        if document_digest(document) != stated:
            yield id
