"""Changing an index: a copy of the previous one gets the rows of what has changed.

How this works. The file is copied as it is, and the feeds are read against it. A
product's row has the digest of its document as its feed had it, so a product that did
not change costs one lookup (`_compare_products`). Stock is compared row by row, and
reviews are counted again where their files differ (`_stock`, `_reviews`). All of this
names products whose documents may differ; each is completed again, and where its row is
another, so may be what is counted over all products: `_replace` notes by how much. At
last the columns, facets, categories and words that this concerns are written.

What is kept. A rank says where a product stands among all, so it is part of every other
table. `change` serves changes that move no product: prices, names, texts, attributes,
categories that it is in, stock, reviews, synonyms. Where a product is added or removed,
is sold again or no longer, sells better or worse, has other UPCs or members, or where
categories or brands are others, it returns None, and `indexing` writes the index.

The rows mean what those of a build from nothing mean. Values of facets and combinations
of them that no product has any more may stay; nothing counts them.
"""

import sqlite3
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from shopwindow.catalog.index import wording
from shopwindow.catalog.index.covered import notice_changes, renew_buckets
from shopwindow.catalog.index.facets import (
    BASIC,
    MAX_CENTS,
    PRICE_STEPS,
    RANGES,
    Combinations,
)
from shopwindow.catalog.index.file import copied, opened_for_changes
from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.rows import (
    IndexRow,
    ProductRows,
    Referred,
    as_fed,
    categories,
    category_document,
    complete,
    document_digest,
    is_handed_out,
    list_product,
    milliseconds,
    roots,
    texts_of,
)
from shopwindow.catalog.index.sources import (
    RATINGS,
    REVIEWS_IN_ORDER,
    Sources,
    StockReader,
    as_meta,
    attributes_of,
    chosen_facets,
    fed_digest,
    opinion,
    sort_column,
    stored_synonyms,
    write_reviews,
)
from shopwindow.catalog.protocol import PRICE
from shopwindow.content.yaml import Json

COMPARED_TABLES = """
CREATE TABLE compared.product (rank INTEGER PRIMARY KEY, document BLOB);
CREATE TABLE compared.stock (upc INTEGER, online INTEGER, stores BLOB);
CREATE TABLE compared.stock_now (upc INTEGER PRIMARY KEY, online INTEGER, stores BLOB);
CREATE TABLE compared.opinion (product INTEGER, date TEXT, id TEXT, rating INTEGER, document BLOB);
CREATE TABLE compared.rated (product INTEGER PRIMARY KEY, one INTEGER, two INTEGER, three INTEGER, four INTEGER,
                             five INTEGER);
CREATE TABLE compared.affected (id INTEGER PRIMARY KEY);
CREATE TEMP VIEW stocked AS SELECT upc, online, stores FROM main.upc
"""
"""What the feeds say, in a file of its own beside the index.

`product` has documents that differ from the previous build's, `stock` all stock and
`stock_now` that of each UPC, `rated` the ratings that the previous index had, and
`affected` the products that may have others of the members that are computed. `complete`
asks `stocked`, which is the index's own stock, brought up to date before.
"""

FIXED = ("active", "bestSeller", "members")
"""Members of a product that say where it stands among others: with another value it has
another rank, or another family.
"""

SORTS_OF = {
    "low": ("price_ascending", "price_descending"),
    "rating": ("rating_ascending", "rating_descending"),
    "name": ("name_ascending", "name_descending"),
    "days": ("newness_ascending", "newness_descending"),
}
"""The orders that a column of `listed` decides."""

LISTED = ("rank", "id", "low", "rating", "name", "days", "best")
"""The columns of `listed`."""


def change(
    path: Path, folder: Path, sources: Sources, previous: Path, max_facet_values: int
) -> str | None:
    """Write an index as a copy of the previous one with other rows.

    Args:
        path: of the file, which must not exist.
        folder: for a file that is read again.
        sources: the documents.
        previous: an intact index of this format, built with the same settings.
        max_facet_values: attributes with more values are no facets.

    Returns the digest of the rows; None: the change moves products, and no file is left.
    """
    copied(previous, path)
    with closing(opened_for_changes(path, folder / "compared")) as out:
        for statement in COMPARED_TABLES.split(";"):
            out.execute(statement)
        notice_changes(out)
        digest = None
        if _Change(out, sources, max_facet_values).run():
            digest = renew_buckets(out)
            out.execute("COMMIT")
    if digest is None:
        path.unlink()
    return digest


class _Moved(Exception):
    """The change moves products, or what facets there are."""


class _Change:
    """One change of an index."""

    def __init__(
        self, out: sqlite3.Connection, sources: Sources, max_facet_values: int
    ) -> None:
        self.out, self.sources = out, sources
        self.max_facet_values = max_facet_values
        self.meta: dict[str, Any] = dict(out.execute("SELECT name, value FROM meta"))
        self.active: int = self.meta["active"]
        self.packing = Packing(self.meta["dictionary"])
        self.fed: dict[str, str] = orjson.loads(self.meta["fed"])
        self.attributes = Counter[str](orjson.loads(self.meta["attributes"]))
        self.featured: set[int] = set(orjson.loads(self.meta["featured"]))

        self.columns: dict[str, Any] = {}
        """Columns that have changed, by name: arrays, or the bytes of `band`."""
        self.facets: dict[str, Combinations] = {}
        """Facets that have changed, by name."""
        self.facet_names: list[tuple[str, str]] = self.out.execute(
            "SELECT name, displayname FROM facet ORDER BY number"
        ).fetchall()
        self.sorts: set[str] = set()
        """The orders in which some product has another place."""
        self.counts: dict[int, dict[str, Counter[Any]]] = defaultdict(
            lambda: defaultdict(Counter)
        )
        """By category and facet, by how much each value has more products."""
        self.postings: dict[int, tuple[set[int], set[int]]] = defaultdict(
            lambda: (set(), set())
        )
        """By category, the ranks that come and those that go."""

    def run(self) -> bool:
        """Change the rows. Returns False where the change moves products."""
        try:
            self._refer()
            self._compare_products()
            self._stock()
            self._reviews()
            self._recommendations()
            self._products()
            self._lists()
        except _Moved:
            return False
        self._meta()
        return True

    def _is_as_before(self, kind: str) -> bool:
        """Return whether the files of a kind are those of the previous build."""
        digest = self.sources.digests.get(kind)
        return digest is not None and digest == self.fed.get(kind)

    # -- what products refer to

    def _refer(self) -> None:
        """Read categories and brands. Raises _Moved where they are others."""
        self.by_id = categories(self.sources.categories)
        stored = dict(self.out.execute("SELECT id, document FROM category"))
        now = {id: category_document(each) for id, each in self.by_id.items()}
        if now != stored or orjson.dumps(roots(self.by_id)) != self.meta["roots"]:
            raise _Moved
        brands = {brand["name"]: brand for brand in self.sources.brands}
        rows = [
            (brand["name"], brand["id"], brand["url"])
            for _, brand in sorted(brands.items())
        ]
        if rows != list(self.out.execute("SELECT name, id, url FROM brand")):
            raise _Moved
        facets = chosen_facets(self.attributes, self.meta["products"])
        self.shop = Referred(self.by_id, brands, facets, self.packing)

    # -- the feeds, beside what is stored

    def _compare_products(self) -> None:
        """Store the products whose documents are others. Raises _Moved where one is
        new or gone.
        """
        if self._is_as_before("product"):
            return
        seen = 0

        def others() -> Iterator[IndexRow]:
            nonlocal seen
            for product in self.sources.products:
                document = orjson.dumps(product)
                row = self._row(
                    "SELECT rank, fed FROM number WHERE id = ?", product["id"]
                )
                if row is None:
                    raise _Moved
                seen += 1
                rank, fed = row
                if fed != fed_digest(document):
                    yield rank, document

        self.out.executemany("INSERT INTO compared.product VALUES (?, ?)", others())
        if seen != self.meta["products"]:
            raise _Moved

    def _row(self, statement: str, number: int) -> IndexRow | None:
        row: IndexRow | None = self.out.execute(statement, (number,)).fetchone()
        return row

    def _stock(self) -> None:
        """Write stock that is another, and note products that can be sent again, or no
        longer.
        """
        if self._is_as_before("inventory"):
            return
        reader = StockReader(self.sources.site)
        self.out.executemany(
            "INSERT INTO compared.stock VALUES (?, ?, ?)",
            map(reader.row, self.sources.inventory),
        )
        self.out.execute(
            "INSERT OR IGNORE INTO compared.stock_now"
            " SELECT upc, online, stores FROM compared.stock ORDER BY upc, rowid"
        )
        both = "main.upc AS was LEFT JOIN compared.stock_now AS now USING (upc)"
        self.out.execute(
            f"INSERT OR IGNORE INTO compared.affected SELECT product FROM {both}"
            " WHERE (ifnull(was.online, 1) > 0) <> (ifnull(now.online, 1) > 0)"
        )
        self.out.execute(
            "UPDATE main.upc SET (online, stores) ="
            " (SELECT online, stores FROM compared.stock_now AS now WHERE now.upc = main.upc.upc)"
            f" WHERE upc IN (SELECT upc FROM {both}"
            " WHERE was.online IS NOT now.online OR was.stores IS NOT now.stores)"
        )
        self._set("locations", orjson.dumps(list(reader.locations)))

    def _reviews(self) -> None:
        """Write reviews again, and note products whose ratings are others."""
        if self._is_as_before("review"):
            return
        stars = "product, one, two, three, four, five"
        self.out.execute(f"INSERT INTO compared.rated SELECT {stars} FROM rating")
        self.out.executemany(
            "INSERT INTO compared.opinion VALUES (?, ?, ?, ?, ?)",
            map(opinion, self.sources.reviews),
        )
        self.out.execute("DELETE FROM review")
        self.out.execute("DELETE FROM rating")
        write_reviews(
            self.out, self.out.execute(REVIEWS_IN_ORDER), self.out.execute(RATINGS)
        )
        for one, other in (("rating", "rated"), ("rated", "rating")):
            self.out.execute(
                "INSERT OR IGNORE INTO compared.affected SELECT product FROM"
                f" (SELECT {stars} FROM {one} EXCEPT SELECT {stars} FROM {other})"
            )

    def _recommendations(self) -> None:
        if self._is_as_before("recommendation"):
            return
        self.out.execute("DELETE FROM recommendation")
        rows = (
            (document["product"], orjson.dumps(document["products"]))
            for document in self.sources.recommendations
        )
        self.out.executemany("INSERT OR IGNORE INTO recommendation VALUES (?, ?)", rows)

    # -- products that may differ

    def _products(self) -> None:
        """Replace the rows of every product that may differ."""
        self.spellable_before: set[str] | None = None
        self.words = wording.Worded()
        ranks = (
            "SELECT rank FROM compared.product UNION SELECT rank FROM compared.affected"
            " JOIN number USING (id) ORDER BY rank"
        )
        for (rank,) in self.out.execute(ranks):
            (stored,) = self._row("SELECT data FROM document WHERE rank = ?", rank) or (
                b"",
            )
            before = self.packing.load(stored)
            fed = self._row(
                "SELECT document FROM compared.product WHERE rank = ?", rank
            )
            self._replace(rank, before, orjson.loads(fed[0]) if fed else as_fed(before))

    def _replace(self, rank: int, before: Json, product: Json) -> None:
        """Replace a product's rows, and note what is counted over it.

        ``before`` is its document in the index; ``product`` is what its feed has now.
        Raises _Moved.
        """
        fed = fed_digest(orjson.dumps(product))
        if any(before.get(name) != product.get(name) for name in FIXED):
            raise _Moved
        if _upcs(before) != _upcs(product):
            raise _Moved
        self.attributes.subtract(attributes_of(before))
        self.attributes.update(attributes_of(product))

        complete(self.shop, self._row, product)
        document = orjson.dumps(product)
        self.out.execute(
            "UPDATE number SET updated = ?, digest = ?, fed = ? WHERE rank = ? AND id = ?",
            (
                milliseconds(product.get("updated")),
                document_digest(document),
                fed,
                rank,
                product["id"],
            ),
        )
        self.out.execute(
            "UPDATE document SET data = ? WHERE rank = ?",
            (self.packing.pack(document), rank),
        )
        handed_out = (
            (is_handed_out(product, entry), int(entry["upc"]))
            for entry in product.get("upcs", ())
        )
        self.out.executemany("UPDATE upc SET handed_out = ? WHERE upc = ?", handed_out)
        if product.get("active", True):
            self._feature(product)
            self._list(rank, before, product)
            self._word(rank, before, product)

    def _feature(self, product: Json) -> None:
        if product.get("featured"):
            self.featured.add(product["id"])
        else:
            self.featured.discard(product["id"])

    def _list(self, rank: int, before: Json, product: Json) -> None:
        """Change what lists are ordered, counted and narrowed by."""
        was, now = ProductRows(), ProductRows()
        list_product(self.shop, rank, before, was)
        list_product(self.shop, rank, product, now)
        (was_row,), (now_row,) = was.rows["listed"], now.rows["listed"]
        if was_row != now_row:
            self.out.execute(
                "INSERT OR REPLACE INTO listed VALUES (?, ?, ?, ?, ?, ?, ?)", now_row
            )
        for column, one, other in zip(LISTED, was_row, now_row, strict=True):
            if one != other:
                self.sorts.update(SORTS_OF[column])

        (*_, was_in, (was_cents, was_values)), (*_, now_in, (cents, values)) = (
            was.listed[0],
            now.listed[0],
        )
        if cents != was_cents:
            self._column("price")[rank] = min(cents, MAX_CENTS)
            self._column("band")[rank] = bisect_right(PRICE_STEPS, cents)
        for category in {*was_in} - {*now_in}:
            self.postings[category][1].add(rank)
        for category in {*now_in} - {*was_in}:
            self.postings[category][0].add(rank)
        names = (*BASIC, *self.shop.facets)
        for name, one, other in zip(names, was_values, values, strict=True):
            if one != other:
                self._combine(name, rank, other)
        was_counted = was_in, bisect_right(PRICE_STEPS, was_cents), was_values
        now_counted = now_in, bisect_right(PRICE_STEPS, cents), values
        if was_counted != now_counted:
            self._count(*was_counted, -1)
            self._count(*now_counted, 1)

    def _count(
        self,
        in_categories: Sequence[int],
        band: int,
        values: Sequence[tuple[str, ...]],
        by: int,
    ) -> None:
        """Count a product once more, or once less, in its categories."""
        names = (*BASIC, *self.shop.facets)
        for category in in_categories:
            counts = self.counts[category]
            counts[PRICE][band] += by
            for name, facet_values in zip(names, values, strict=True):
                for value in facet_values:
                    counts[name][value] += by

    def _column(self, name: str) -> Any:
        """Return a column by rank, which is written at the end."""
        if name not in self.columns:
            ((data,),) = self.out.execute(
                "SELECT data FROM col WHERE name = ?", (name,)
            )
            self.columns[name] = bytearray(data) if name == "band" else array("I", data)
        return self.columns[name]

    def _combine(self, name: str, rank: int, values: tuple[str, ...]) -> None:
        """Give a product other values of a facet. Raises _Moved where the attribute is
        none, because it has too many values.
        """
        if name not in self.facets:
            row = self.out.execute(
                "SELECT name, displayname, vals, starts, codes FROM facet WHERE name = ?",
                (name,),
            ).fetchone()
            if row is None:
                raise _Moved
            self.facets[name] = Combinations.decoded(row, self._column(f"facet {name}"))
            self.facets[name].reopen()
        self.facets[name].column[rank] = self.facets[name].number(values)

    def _word(self, rank: int, before: Json, product: Json) -> None:
        """Change what a product is found by."""
        if texts_of(self.shop, before) == texts_of(self.shop, product):
            return
        if self.spellable_before is None:
            self.spellable_before = wording.spellable(self.out, "main")
        wording.forget(self.out, self.shop, rank, before, self.words)
        self.words.make(self.shop, rank, product)
        wording.add(self.out, self.words)

    # -- what is counted over all products

    def _lists(self) -> None:
        """Write columns, facets, categories and words that have changed. Raises _Moved
        where other attributes are facets now.
        """
        products = self.meta["products"]
        if chosen_facets(+self.attributes, products) != self.shop.facets:
            raise _Moved
        for facet in self.facets.values():
            self._write_facet(facet)
        for name, column in self.columns.items():
            self.out.execute(
                "UPDATE col SET data = ? WHERE name = ?", (bytes(column), name)
            )
        for name in sorted(self.sorts):
            column = sort_column(self.out, name, self.active)
            self.out.execute("UPDATE col SET data = ? WHERE name = ?", (column, name))
        for id in sorted(self.counts.keys() | self.postings.keys()):
            self._write_category(id)
        if self.spellable_before is not None:
            wording.recount(self.out, self.words, self.spellable_before)

    def _write_facet(self, facet: Combinations) -> None:
        used = len(facet.count(range(1, self.active + 1)))
        if facet.name not in BASIC and used > self.max_facet_values:
            raise _Moved
        name, _, values, starts, codes = facet.encoded()
        self.out.execute(
            "UPDATE facet SET vals = ?, starts = ?, codes = ? WHERE name = ?",
            (values, starts, codes, name),
        )

    def _write_category(self, id: int) -> None:
        """Write the products of a category, and its facets by what has changed."""
        row = self._row("SELECT products, facets FROM category WHERE id = ?", id)
        products, facets = row or (b"", b"[]")
        ranks = array("I", products)
        come, gone = self.postings.get(id, (set(), set()))
        if come or gone:
            ranks = array("I", sorted(come.union(ranks) - gone))
        rows = self._counted(orjson.loads(facets), self.counts.get(id, {}))
        self.out.execute(
            "UPDATE category SET products = ?, facets = ? WHERE id = ?",
            (ranks.tobytes(), orjson.dumps(rows), id),
        )

    def _counted(self, rows: list[Any], changes: dict[str, Counter[Any]]) -> list[Any]:
        """Return the facets of a category, as `facets.count` returns them, from those
        that it had and by how much each value has more products.
        """
        before = {name: (values, ranges) for name, _, values, ranges in rows}
        names = list(self.facet_names)
        names.insert(len(BASIC), (PRICE, "Price"))
        counted: list[Any] = []
        for name, displayname in names:
            values, ranges = before.get(name, ([], []))
            more = changes.get(name, Counter())
            if name == PRICE:
                bands = Counter(
                    {RANGES.index((low, high)): n for low, high, n in ranges}
                )
                bands.update(more)
                ranges = [(*RANGES[band], bands[band]) for band in sorted(+bands)]
            else:
                counts = Counter(dict(values))
                counts.update(more)
                values = sorted((+counts).items(), key=lambda pair: (-pair[1], pair[0]))
            if values or ranges:
                counted.append((name, displayname, values, ranges))
        return counted

    def _meta(self) -> None:
        """Write what stands once in an index."""
        self._set("featured", orjson.dumps(sorted(self.featured)))
        self._set("synonyms", stored_synonyms(self.sources))
        for name, value in as_meta(
            self.sources, self.attributes, self.meta["products"]
        ).items():
            self._set(name, value)

    def _set(self, name: str, value: bytes | int) -> None:
        self.out.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))


def _upcs(product: Json) -> list[tuple[str, int]]:
    return [(entry["upc"], entry["sku"]) for entry in product.get("upcs", ())]
