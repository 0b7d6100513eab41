"""Buckets of an index's rows: whatever is changed, they and the digest are those of computing all anew."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwindow.catalog.index.covered import (
    BUCKETS,
    COVERED,
    SPACING,
    notice_changes,
    renew_buckets,
    rows_digest,
    write_buckets,
)
from shopwindow.catalog.index.indexing import SCHEMA

ADDED = {
    "category": "INSERT OR REPLACE INTO category VALUES (?1, ?2, NULL, NULL)",
    "family": "INSERT OR REPLACE INTO family VALUES (?1, ?2, NULL)",
    "number": "INSERT OR REPLACE INTO number VALUES (?1, 1, 1, ?2, NULL)",
    "rating": "INSERT OR REPLACE INTO rating VALUES (?1, 1, ?2, 0, 0, 0, 0)",
    "recommendation": "INSERT OR REPLACE INTO recommendation VALUES (?1, ?2)",
    "upc": "INSERT OR REPLACE INTO upc VALUES (?1, ?2, 1, 1, 1, NULL)",
}
CHANGED = {
    "category": "document",
    "family": "members",
    "number": "digest",
    "rating": "one",
    "recommendation": "products",
    "upc": "product",
}
KEYS = {covered.table: covered.key for covered in COVERED}

tables = st.sampled_from(sorted(KEYS))
keys = st.one_of(
    st.integers(0, 4).map(SPACING.__mul__),  # begin a bucket
    st.integers(0, 5 * SPACING),
    st.just(10**14 - 1),
)
values = st.integers(0, 3)
additions = st.tuples(st.just("add"), tables, keys, values)
changes = st.one_of(
    additions,
    st.tuples(st.just("change"), tables, keys, values),
    st.tuples(st.just("remove"), tables, keys, st.just(0)),
    st.tuples(st.just("renumber"), tables, keys, keys),
)
Change = tuple[str, str, int, int]


def carry_out(database: sqlite3.Connection, change: Change) -> None:
    what, table, key, value = change
    name = KEYS[table]
    if what == "add":
        database.execute(ADDED[table], (key, value))
    elif what == "change":
        database.execute(f"UPDATE {table} SET {CHANGED[table]} = ? WHERE {name} = ?", (value, key))
    elif what == "remove":
        database.execute(f"DELETE FROM {table} WHERE {name} = ?", (key,))
    else:
        database.execute(f"UPDATE OR IGNORE {table} SET {name} = ? WHERE {name} = ?", (value, key))


def written(rows: list[Change]) -> sqlite3.Connection:
    """An index without words, whose buckets are those of its rows."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.executescript(SCHEMA + BUCKETS)
    database.execute("INSERT INTO meta VALUES ('active', 2)")
    reviews = ((number, b"review %d" % number) for number in range(1, 4))
    database.executemany("INSERT INTO review VALUES (?, ?)", reviews)
    for row in rows:
        carry_out(database, row)
    write_buckets(database)
    return database


def buckets(database: sqlite3.Connection) -> list[tuple[str, int, bytes]]:
    return database.execute("SELECT name, first, digest FROM bucket").fetchall()


@example([("add", "number", 0, 1)], [("remove", "number", 0, 0)])
@given(st.lists(additions, max_size=30), st.lists(changes, max_size=12))
def test_renewed_buckets_are_those_of_all_rows(rows: list[Change], changes: list[Change]) -> None:
    with closing(written(rows)) as database:
        notice_changes(database)
        for change in changes:
            carry_out(database, change)
        digest, renewed = renew_buckets(database), buckets(database)
        assert digest == rows_digest(database)
        database.execute("DELETE FROM bucket")
        assert (write_buckets(database), buckets(database)) == (digest, renewed)


@pytest.fixture
def index() -> Iterator[sqlite3.Connection]:
    """Products 1 to 1,000, with changes noticed."""
    with closing(written([("add", "number", id, 0) for id in range(1, 1001)])) as database:
        notice_changes(database)
        yield database


def forgotten(database: sqlite3.Connection) -> list[tuple[str, int]]:
    return database.execute("SELECT name, first FROM bucket WHERE digest IS NULL ORDER BY first").fetchall()


def test_only_the_bucket_of_a_changed_row_is_computed_again(index: sqlite3.Connection) -> None:
    carry_out(index, ("change", "number", 2 * SPACING + 5, 1))
    assert forgotten(index) == [("number", 2 * SPACING)]


def test_a_row_that_begins_a_bucket_joins_and_splits_two(index: sqlite3.Connection) -> None:
    before = rows_digest(index), buckets(index)
    carry_out(index, ("remove", "number", SPACING, 0))
    assert forgotten(index) == [("number", 0)]
    joined = renew_buckets(index)
    carry_out(index, ("add", "number", SPACING, 0))
    assert forgotten(index) == [("number", 0), ("number", SPACING)]
    assert (renew_buckets(index), buckets(index)) == before
    assert joined != before[0]


def test_a_change_of_what_is_not_covered_renews_equal_digests(index: sqlite3.Connection) -> None:
    before = rows_digest(index), buckets(index)
    index.execute("UPDATE number SET rank = 7, fed = 'else' WHERE id = 5")
    index.execute("UPDATE rating SET first = 2")
    assert (renew_buckets(index), buckets(index)) == before


def test_digests_that_are_stored_are_no_evidence(index: sqlite3.Connection) -> None:
    before = rows_digest(index)
    index.execute("UPDATE bucket SET digest = x'00'")
    assert rows_digest(index) == before
    index.execute("DROP TABLE bucket")
    assert rows_digest(index) == before


def test_every_covered_table_is_watched_for_each_change() -> None:
    for table in KEYS:
        with closing(written([("add", table, 5, 1)])) as database:
            notice_changes(database)
            for change in (("add", table, 6, 1), ("change", table, 5, 2), ("remove", table, 5, 0)):
                carry_out(database, change)
                assert forgotten(database) == [(table, 0)]
                renew_buckets(database)
