"""Which rows of catalog.sqlite a release id covers, and the digest of them.

The bytes of the file depend on the SQLite that wrote it; its rows do not. A digest of
them stands in the manifest, and whoever has the file can compute it again from the
rows: `shopwindow verify` does, and so does a host that pulls (`rows_digest`).

Rows count by what they mean. Documents count by their digests, which stand in `number`:
a build has just written both, and `altered` compares them in a file from elsewhere. The
dictionary that compresses them is no part of it, nor are the digests by which the next
build sees what has changed, nor words, columns, facets and the products of categories,
which follow from the other tables.

Buckets. The rows of a covered table are divided into buckets: one begins at 0 and at
each key that `SPACING` divides, and it ends where the next begins. The rule looks at
nothing but keys, so an index that was changed a hundred times has the buckets of one
from nothing. The table `bucket` holds the digest of each, and the digest of all rows is
taken of these, and of the few rows that have no number for a key.

A build from nothing computes all buckets (`write_buckets`). One that changes a copy of
the previous index computes those whose rows it writes. It need not say which:

    notice_changes(out)  # before the first row is written
    …
    digest = renew_buckets(out)  # after the last one, on the same connection

In between, triggers forget the digest of a bucket when one of its rows is added,
changed or removed, and see buckets begin and end.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from shopwindow.catalog.index.packing import DamagedRow, Packing

SPACING = 127
"""A bucket has as many rows in the mean. This is a prime, so that ids in steps of 10
have as many buckets as others.

One changed row reads its bucket again: larger ones take longer, and of smaller ones
more digests stand in the index. Another number changes the digest of every catalog.
"""

LARGEST_KEY = 2**63 - 1
"""Where the last bucket of a table ends: SQLite's largest integer. UPCs have 14 digits."""

BUCKETS = """
CREATE TABLE bucket (name TEXT, first INTEGER, digest BLOB, PRIMARY KEY (name, first)) WITHOUT ROWID;
"""

RowBucket = tuple[str, int, bytes]
"""The name of a table, the key at which a bucket of it begins, and the digest of its
rows.
"""


class Covered(NamedTuple):
    """A table whose rows are covered in buckets, by a key that is an integer from 0 on.

    ``rows`` selects what counts of them, and ``order`` orders those of one key.
    """

    table: str
    key: str
    rows: str
    order: str = ""


COVERED = (
    Covered("category", "id", "SELECT id, document FROM category"),
    Covered("family", "id", "SELECT * FROM family"),
    Covered("number", "id", "SELECT id, updated, digest FROM number"),
    Covered(
        "rating",
        "product",
        "SELECT product, one, two, three, four, five, document FROM rating"
        " LEFT JOIN review ON number >= first"
        " AND number < first + one + two + three + four + five",
        ", number",
    ),
    Covered("recommendation", "product", "SELECT * FROM recommendation"),
    Covered("upc", "upc", "SELECT * FROM upc"),
)
"""What is covered in buckets, by the name of the table.

Reviews are covered beside the rating of their product and without their numbers: one
more review changes the numbers of all later ones. Who writes reviews of a product
writes its rating, too.
"""

UNDIVIDED = (
    "SELECT * FROM brand ORDER BY name",
    "SELECT * FROM meta WHERE name NOT IN ('dictionary', 'fed') ORDER BY name",
)
"""What is covered besides: rows so few that all of them are read each time."""


def rows_digest(database: sqlite3.Connection) -> str:
    """Return the digest of a catalog's rows (SHA-256, hex), computed from all of them.

    The digests that the table `bucket` has are not read. Raises sqlite3.Error.
    """
    return _digest(database, _computed(database))


def write_buckets(out: sqlite3.Connection) -> str:
    """Store the digests of all buckets. Return the digest of the catalog's rows."""
    out.executemany("INSERT INTO bucket VALUES (?, ?, ?)", _computed(out))
    return _digest(out, _stored(out))


def notice_changes(out: sqlite3.Connection) -> None:
    """Have a connection forget the digest of each bucket of which it changes a row."""
    for table, key, *_ in COVERED:
        row_added = _forget(table, f"new.{key}") + _begin(table, f"new.{key}")
        row_removed = _end(table, f"old.{key}") + _forget(table, f"old.{key}")
        for event, statements in (
            ("INSERT", row_added),
            ("DELETE", row_removed),
            ("UPDATE", _forget(table, f"new.{key}")),
            (f"UPDATE OF {key}", row_removed + row_added),
        ):
            out.execute(
                f"CREATE TEMP TRIGGER [{table} {event}] AFTER {event} ON main.{table}"
                f" BEGIN {statements} END"
            )


def _forget(table: str, key: str) -> str:
    """Return a statement that forgets the digest of the bucket that a key belongs to."""
    return (
        f"UPDATE bucket SET digest = NULL WHERE name = '{table}' AND digest NOT NULL"
        " AND first = (SELECT max(first) FROM bucket"
        f" WHERE name = '{table}' AND first <= {key});"
    )


def _begin(table: str, key: str) -> str:
    """Return a statement that begins a bucket at a key, if one begins there."""
    return (
        f"INSERT OR REPLACE INTO bucket SELECT '{table}', {key}, NULL"
        f" WHERE {key} % {SPACING} = 0;"
    )


def _end(table: str, key: str) -> str:
    """Return a statement that removes the bucket that began at a key. That at 0 stays."""
    return f"DELETE FROM bucket WHERE name = '{table}' AND first = {key} AND first > 0;"


def renew_buckets(out: sqlite3.Connection) -> str:
    """Store the digest of each bucket that `notice_changes` has had forgotten. Return
    the digest of the catalog's rows.
    """
    following = "SELECT min(first) FROM bucket WHERE name = ? AND first > ?"
    for covered in COVERED:
        name = covered.table
        forgotten = "SELECT first FROM bucket WHERE name = ? AND digest IS NULL"
        for (first,) in out.execute(forgotten, (name,)).fetchall():
            ((end,),) = out.execute(following, (name, first))
            digest = _bucket_digest(
                out, covered, first, LARGEST_KEY if end is None else end
            )
            out.execute("REPLACE INTO bucket VALUES (?, ?, ?)", (name, first, digest))
    return _digest(out, _stored(out))


def _stored(database: sqlite3.Connection) -> Iterator[RowBucket]:
    return database.execute(
        "SELECT name, first, digest FROM bucket ORDER BY name, first"
    )


def _computed(database: sqlite3.Connection) -> Iterator[RowBucket]:
    """Yield all buckets in order, computed from the rows."""
    for covered in COVERED:
        table, key, *_ = covered
        begins = f"SELECT {key} FROM {table} WHERE {key} > 0 AND {key} % {SPACING} = 0 ORDER BY {key}"
        ends = [first for (first,) in database.execute(begins)]
        for first, end in pairwise([0, *ends, LARGEST_KEY]):
            yield table, first, _bucket_digest(database, covered, first, end)


def _bucket_digest(
    database: sqlite3.Connection, covered: Covered, first: int, end: int
) -> bytes:
    """Return the digest of the rows whose key is at least ``first`` and below ``end``."""
    _, key, rows, order = covered
    digest = sha256()
    query = f"{rows} WHERE {key} >= ? AND {key} < ? ORDER BY {key}{order}"
    for row in database.execute(query, (first, end)):
        digest.update(repr(row).encode())
    return digest.digest()


def _digest(database: sqlite3.Connection, buckets: Iterable[RowBucket]) -> str:
    """Return the digest of buckets, and of what is not divided into buckets."""
    digest = sha256()
    for bucket in buckets:
        digest.update(repr(bucket).encode())
    for query in UNDIVIDED:
        digest.update(query.encode())
        for row in database.execute(query):
            digest.update(repr(row).encode())
    return digest.hexdigest()


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
        "SELECT id, digest, data FROM number LEFT JOIN document USING (rank) ORDER BY id"
    )
    for id, stated, stored in rows:
        try:
            document = packing.unpack(stored)
        except DamagedRow:
            yield id
            continue
        if not sha256(document).digest().startswith(stated):
            yield id
