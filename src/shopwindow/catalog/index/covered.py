"""Which rows of catalog.sqlite a release id covers.

The bytes of the file depend on the SQLite that wrote it; its rows do not. A digest of
them stands in the manifest, and whoever has the file can compute it again: a build does
when the file is written, and so do `shopwindow verify` and a host that pulls.

Rows count by what they mean. Documents count by their digests, which stand in `number`:
a build has just written both, and `altered` compares them in a file from elsewhere. The
dictionary that compresses them is no part of it, nor are the digests by which the next
build sees what has changed, nor words, columns, facets and the products of categories,
which follow from the other tables.
"""

import sqlite3
from collections.abc import Iterator
from hashlib import sha256

from shopwindow.catalog.index.packing import DamagedDocument, Packing

COVERED = (
    "SELECT document FROM review ORDER BY number",
    "SELECT * FROM rating ORDER BY product",
    "SELECT * FROM recommendation ORDER BY product",
    "SELECT id, updated, digest FROM number ORDER BY id",
    "SELECT * FROM upc ORDER BY upc",
    "SELECT * FROM brand ORDER BY name",
    "SELECT * FROM family ORDER BY id",
    "SELECT document FROM category ORDER BY id",
    "SELECT * FROM meta WHERE name NOT IN ('dictionary', 'fed') ORDER BY name",
)
"""What the digest is of, in this order."""


def rows_digest(database: sqlite3.Connection) -> str:
    """Return the digest of a catalog's rows (SHA-256, hex). Raises sqlite3.Error."""
    digest = sha256()
    for query in COVERED:
        digest.update(query.encode())
        for row in database.execute(query):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def altered(database: sqlite3.Connection) -> Iterator[int]:
    """Yield the ids of products that are not stored as their digest says, in order.

    Raises sqlite3.Error.
    """
    ((dictionary,),) = database.execute(
        "SELECT value FROM meta WHERE name = 'dictionary'"
    )
    packing = Packing(dictionary)
    rows = database.execute(
        "SELECT id, digest, data FROM number LEFT JOIN document USING (rank) ORDER BY id"
    )
    for id, stated, stored in rows:
        try:
            document = packing.unpack(stored)
        except DamagedDocument:
            yield id
            continue
        if not sha256(document).digest().startswith(stated):
            yield id
