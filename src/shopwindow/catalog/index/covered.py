"""Which rows of catalog.sqlite a release id covers.

The bytes of the file depend on the SQLite that wrote it; its rows do not. A digest of
them stands in the manifest, and whoever has the file can compute it again: a build does
when the file is written, and so do `shopwindow verify` and a host that pulls.

Not all tables are read. Words, columns, facets and the products of categories follow
from those that are. Documents are read for their digests, which stand in `number`: a
build has just written both, and `altered` compares them in a file from elsewhere.
"""

import sqlite3
from collections.abc import Iterator
from hashlib import sha256

COVERED = (
    "SELECT document FROM review ORDER BY number",
    "SELECT * FROM rating ORDER BY product",
    "SELECT * FROM recommendation ORDER BY product",
    "SELECT * FROM number ORDER BY id",
    "SELECT * FROM upc ORDER BY upc",
    "SELECT * FROM brand ORDER BY name",
    "SELECT * FROM family ORDER BY id",
    "SELECT document FROM category ORDER BY id",
    "SELECT * FROM meta ORDER BY name",
)
"""What the digest is of, in this order."""

STORED = ("document", "part_element", "part_rest3", "part_detail4")
"""The tables with one row for each product, by rank."""


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
    columns = ", ".join(f"CAST({table}.data AS BLOB)" for table in STORED)
    joined = " ".join(f"LEFT JOIN {table} USING (rank)" for table in STORED)
    rows = database.execute(
        f"SELECT id, digest, {columns} FROM number {joined} ORDER BY id"
    )
    for id, stated, *stored in rows:
        digest = sha256(b"".join(data for data in stored if data is not None))
        if not digest.digest().startswith(stated):
            yield id
