"""Comparing the feeds of a catalog with its previous index.

What differs is noted in tables of a database beside the index (`COMPARED`): documents of
products that are new or others, and the ids of products whose rows may differ for
another reason. What does not depend on a product's document is written at once:
categories, brands, UPCs, collections, stock, reviews and recommendations.

The functions take ``out``, a connection to the copy of the index that is changed, which
knows the database beside it as `compared` (`file.opened_for_changes`).
"""

import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson

from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.ranks import INACTIVE
from shopwindow.catalog.index.rows import (
    Category,
    IndexRow,
    category_document,
    is_active,
    upc_rows,
)
from shopwindow.catalog.index.sources import (
    RATINGS,
    REVIEWS_IN_ORDER,
    Sources,
    fed_digest,
    opinion,
    write_reviews,
)
from shopwindow.catalog.index.staging import StagedFeeds
from shopwindow.catalog.index.totals import Totals, WriteWhole
from shopwindow.content.reading.yaml import Json

COMPARED = """
CREATE TABLE compared.product (id INTEGER PRIMARY KEY, active INTEGER, best INTEGER, document BLOB);
CREATE TABLE compared.gone (id INTEGER PRIMARY KEY);
CREATE TABLE compared.affected (id INTEGER PRIMARY KEY);
CREATE TABLE compared.new_rank (id INTEGER PRIMARY KEY, rank INTEGER);
CREATE TABLE compared.stock (upc INTEGER PRIMARY KEY, online INTEGER, stores BLOB);
CREATE TABLE compared.opinion (product INTEGER, date TEXT, id TEXT, rating INTEGER, document BLOB);
CREATE TABLE compared.rated (product INTEGER PRIMARY KEY, one INTEGER, two INTEGER, three INTEGER, four INTEGER,
                             five INTEGER);
CREATE TEMP VIEW stocked AS SELECT upc, online, stores FROM main.upc;
"""
"""What the feeds say, in a file of its own beside the index.

`product` has documents as their feed has them, of products that are new or differ, and
of those that get another rank. `gone` are products that no feed has any more. `affected`
are those whose rows may differ for another reason. `new_rank` has the ranks of products
that come or move. `stock` has the stock of each UPC, `rated` the ratings that the
previous index had. `rows.complete` asks `stocked`, which is the index's own stock,
brought up to date before.
"""


def affect(out: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Note products whose rows may differ."""
    out.executemany(
        "INSERT OR IGNORE INTO compared.affected VALUES (?)", ((id,) for id in ids)
    )


def number_of_differing(out: sqlite3.Connection) -> int:
    """Return how many products come, go, move or may differ."""
    ((differing,),) = out.execute(
        "SELECT count(*) FROM (SELECT id FROM compared.product UNION"
        " SELECT id FROM compared.affected UNION SELECT id FROM compared.gone UNION"
        " SELECT id FROM compared.new_rank)"
    )
    return int(differing)


# -- what products refer to ------------------------------------------------------------


def compare_categories(
    out: sqlite3.Connection,
    totals: Totals,
    before: Mapping[int, Category],
    now: Mapping[int, Category],
) -> None:
    """Write categories that differ. Active products in a category may differ if it is
    gone, has another name, or stands below others.

    Rows of inactive products say nothing of categories but their ids.
    """
    for id, was in before.items():
        category = now.get(id)
        if category is None or (was.line, was.text) != (category.line, category.text):
            affect(out, totals.in_category(id))
    for id, category in now.items():
        out.execute(
            "INSERT INTO category VALUES (?, ?, x'', '[]')"
            " ON CONFLICT (id) DO UPDATE SET document = excluded.document"
            " WHERE document <> excluded.document",
            (id, category_document(category)),
        )
    gone = ((id,) for id in before.keys() - now.keys())
    out.executemany("DELETE FROM category WHERE id = ?", gone)


def compare_brands(
    out: sqlite3.Connection,
    totals: Totals,
    packing: Packing,
    brands: Mapping[str, Json],
) -> None:
    """Write brands if any differs. The products of those that differ may differ.

    Documents of inactive products have the ids of brands, too. These products stand in
    no column, so all of them are looked through.
    """
    rows = out.execute("SELECT name, id, url FROM brand").fetchall()
    before = {name: (name, id, url) for name, id, url in rows}
    now = {name: (name, brand["id"], brand["url"]) for name, brand in brands.items()}
    if now == before:
        return
    out.execute("DELETE FROM brand")
    out.executemany("INSERT INTO brand VALUES (?, ?, ?)", sorted(now.values()))
    names = before.keys() | now.keys()
    differing = {name for name in names if before.get(name) != now.get(name)}
    affect(out, totals.of_brands(differing))
    inactive = out.execute("SELECT data FROM document WHERE rank >= ?", (INACTIVE,))
    documents = (packing.load(stored) for (stored,) in inactive)
    affect(
        out,
        (each["id"] for each in documents if each.get("brand") in differing),
    )


# -- products --------------------------------------------------------------------------


def compare_products(
    out: sqlite3.Connection, products: Iterable[Json], count: int, most: float
) -> None:
    """Store the products that are new or whose documents differ, and the ids of those
    that are gone.

    Args:
        products: as their feed has them now.
        count: of the products in the index.
        most: of the products that may be new or differ.

    Raises WriteWhole where more than ``most`` do.
    """
    present = array("Q")
    out.executemany(
        "INSERT INTO compared.product VALUES (?, ?, ?, ?)",
        _differing_rows(out, products, present, most),
    )
    if len(present) < count:
        _store_gone(out, present)


def _differing_rows(
    out: sqlite3.Connection,
    products: Iterable[Json],
    present: "array[int]",
    most: float,
) -> Iterator[IndexRow]:
    """Yield rows of the products that are new or differ. Add to ``present`` the ids of
    those that are in the index. Raises WriteWhole.
    """
    differing = 0
    for product in products:
        document = orjson.dumps(product)
        id = product["id"]
        row = out.execute("SELECT fed FROM number WHERE id = ?", (id,)).fetchone()
        if row is not None:
            present.append(id)
        if row is None or row[0] != fed_digest(document):
            differing += 1
            if differing > most:
                raise WriteWhole
            yield id, is_active(product), product.get("bestSeller"), document


def _store_gone(out: sqlite3.Connection, present: "array[int]") -> None:
    """Store the ids of the products of the index that are not present."""
    out.execute("CREATE TEMP TABLE present (id INTEGER PRIMARY KEY)")
    ids = ((id,) for id in sorted(present))
    out.executemany("INSERT INTO present VALUES (?)", ids)
    out.execute(
        "INSERT INTO compared.gone SELECT id FROM number"
        " WHERE id NOT IN (SELECT id FROM present)"
    )


Pair = tuple[int, Json, Json]
"""The id of a product, its document before, and that of its feed now."""


def compared_products(out: sqlite3.Connection, packing: Packing) -> Iterator[Pair]:
    """Yield the products that come, go or differ; a document that is not there is
    empty.
    """
    rows = out.execute(
        "SELECT id, document.data, now.document FROM (SELECT id FROM compared.product"
        " UNION SELECT id FROM compared.gone) LEFT JOIN compared.product AS now USING (id)"
        " LEFT JOIN number USING (id) LEFT JOIN document USING (rank) ORDER BY id"
    )
    for id, stored, document in rows:
        before = packing.load(stored) if stored else {}
        yield id, before, orjson.loads(document) if document else {}


# -- UPCs and collections --------------------------------------------------------------


def relate(out: sqlite3.Connection, pairs: Iterable[Pair]) -> None:
    """Write the UPCs, skus and members of products that come, go or differ.

    What a product loses is removed at the end, unless another product has got it by
    then. So a UPC that goes from one product to another keeps its stock.
    """
    lost_upcs: list[tuple[int, int]] = []
    lost_skus: list[tuple[int, int]] = []
    for id, before, now in pairs:
        _relate_upcs(out, id, now)
        lost_upcs += ((upc, id) for upc in _upcs(before) - _upcs(now))
        lost_skus += ((sku, id) for sku in _skus(before) - _skus(now))
        members_before, members = before.get("members", []), now.get("members", [])
        if members_before != members:
            _relate_members(out, id, members_before, members)
    out.executemany("DELETE FROM upc WHERE upc = ? AND product = ?", lost_upcs)
    out.executemany("DELETE FROM sku WHERE sku = ? AND product = ?", lost_skus)


def _upcs(product: Json) -> set[int]:
    return {upc for upc, _, _ in upc_rows(product)}


def _skus(product: Json) -> set[int]:
    return {sku for _, sku, _ in upc_rows(product)}


def _relate_upcs(out: sqlite3.Connection, id: int, product: Json) -> None:
    """Write the UPCs of a product, whoever had them before. Their stock stays."""
    for upc, sku, is_handed_out in upc_rows(product):
        out.execute(
            "INSERT INTO upc VALUES (?, ?, ?, ?, NULL, NULL) ON CONFLICT (upc)"
            " DO UPDATE SET (product, sku, handed_out) ="
            " (excluded.product, excluded.sku, excluded.handed_out)"
            " WHERE (product, sku, handed_out) IS NOT"
            " (excluded.product, excluded.sku, excluded.handed_out)",
            (upc, id, sku, is_handed_out),
        )
        out.execute("INSERT OR REPLACE INTO sku VALUES (?, ?, ?)", (sku, id, upc))


def _relate_members(
    out: sqlite3.Connection,
    collection: int,
    before: Sequence[int],
    now: Sequence[int],
) -> None:
    """Write the members of a collection, and name it where its members are."""
    _, collections = _family(out, collection)
    _write_family(out, collection, now, collections)
    for member in {*before, *now}:
        members, collections = _family(out, member)
        others = [id for id in collections if id != collection]
        if member in now:
            others = sorted([*others, collection])
        _write_family(out, member, members, others)


def _family(out: sqlite3.Connection, id: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the members of a product, and the collections that it is in."""
    statement = "SELECT members, collections FROM family WHERE id = ?"
    row = out.execute(statement, (id,)).fetchone()
    members, collections = row or (b"[]", b"[]")
    return orjson.loads(members), orjson.loads(collections)


def _write_family(
    out: sqlite3.Connection,
    id: int,
    members: Sequence[int],
    collections: Sequence[int],
) -> None:
    if not members and not collections:
        out.execute("DELETE FROM family WHERE id = ?", (id,))
        return
    row = (id, orjson.dumps(members), orjson.dumps(collections))
    out.execute("INSERT OR REPLACE INTO family VALUES (?, ?, ?)", row)


# -- what other feeds say of products --------------------------------------------------


def compare_stock(out: sqlite3.Connection, staged: StagedFeeds) -> None:
    """Write stock that is another, by what was read of its feeds. Products that can be
    sent again, or no longer, may differ.
    """
    out.executemany(
        "INSERT INTO compared.stock VALUES (?, ?, ?)",
        staged.facts.execute("SELECT upc, online, stores FROM stocked ORDER BY upc"),
    )
    both = "main.upc AS was LEFT JOIN compared.stock AS now USING (upc)"
    out.execute(
        f"INSERT OR IGNORE INTO compared.affected SELECT product FROM {both}"
        " WHERE (ifnull(was.online, 1) > 0) <> (ifnull(now.online, 1) > 0)"
    )
    out.execute(
        "UPDATE main.upc SET (online, stores) ="
        " (SELECT online, stores FROM compared.stock AS now WHERE now.upc = main.upc.upc)"
        f" WHERE upc IN (SELECT upc FROM {both}"
        " WHERE was.online IS NOT now.online OR was.stores IS NOT now.stores)"
    )
    locations = orjson.dumps(staged.locations)
    out.execute("UPDATE meta SET value = ? WHERE name = 'locations'", (locations,))


def compare_reviews(out: sqlite3.Connection, sources: Sources) -> None:
    """Write reviews again. Products whose ratings are others may differ."""
    stars = "product, one, two, three, four, five"
    out.execute(f"INSERT INTO compared.rated SELECT {stars} FROM rating")
    out.executemany(
        "INSERT INTO compared.opinion VALUES (?, ?, ?, ?, ?)",
        map(opinion, sources.reviews),
    )
    out.execute("DELETE FROM review")
    out.execute("DELETE FROM rating")
    write_reviews(out, out.execute(REVIEWS_IN_ORDER), out.execute(RATINGS))
    for one, other in (("rating", "rated"), ("rated", "rating")):
        out.execute(
            "INSERT OR IGNORE INTO compared.affected SELECT product FROM"
            f" (SELECT {stars} FROM {one} EXCEPT SELECT {stars} FROM {other})"
        )


def compare_recommendations(out: sqlite3.Connection, sources: Sources) -> None:
    """Write recommendations again."""
    out.execute("DELETE FROM recommendation")
    rows = (
        (document["product"], orjson.dumps(document["products"]))
        for document in sources.recommendations
    )
    out.executemany("INSERT OR IGNORE INTO recommendation VALUES (?, ?)", rows)
