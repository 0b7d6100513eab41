"""Changing an index: a copy of the previous one gets the rows of what has changed.

How this works. The file is copied as it is, and the feeds are compared with it
(`comparing`). A product's row has the digest of its document as its feed had it, so a
product that did not change costs one lookup. Other feeds, categories and brands name
further products whose rows may differ. Where a product comes, goes, or stands elsewhere
among all, some products get other ranks (`_rank`).

Then products are changed one by one (`_products`): first those leave that are gone or
get another rank (`_leave`), then those change that stay (`_stay`), then those come that
are new or have their new rank (`_come`). `_change` replaces the rows of one, and notes what that changes in what
is counted over all products (`totals`). At last this and the words are written
(`_lists`).

`change` returns None where an index from nothing is sooner written: where a large part
of the products differs, other attributes are facets now, or many products would have to
make room for one (`ranks`).

The rows mean what those of a build from nothing mean. Numbers that only lead to other
rows may differ: ranks, whose order alone counts (`ranks`), and those of values of facets
and their combinations, of which some may be left that no product has.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from shopwindow.catalog.index import wording
from shopwindow.catalog.index.comparing import (
    COMPARED,
    compare_brands,
    compare_categories,
    compare_products,
    compare_recommendations,
    compare_reviews,
    compare_stock,
    compared_products,
    number_of_differing,
    relate,
)
from shopwindow.catalog.index.covered import notice_changes, renew_buckets
from shopwindow.catalog.index.file import copied, opened_for_changes
from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.ranks import INACTIVE, Moves, NoRoom, Standing, standing
from shopwindow.catalog.index.rows import (
    Category,
    IndexRow,
    Listing,
    Referred,
    as_fed,
    categories,
    complete,
    document_digest,
    is_active,
    listing,
    milliseconds,
    roots,
    texts_of,
)
from shopwindow.catalog.index.sources import (
    Sources,
    as_meta,
    attributes_of,
    chosen_facets,
    fed_digest,
    stored_synonyms,
)
from shopwindow.catalog.index.staging import StagedFeeds
from shopwindow.catalog.index.totals import Totals, WriteWhole
from shopwindow.content.reading.yaml import Json

FEW_CHANGED = 1000
"""So many products are changed one by one, however few there are."""

MOST_CHANGED = 1 / 2
"""The part of all products that are changed one by one, at most, if they are not few.

One process changes them; the work of an index from nothing is shared. From about this
part on that is sooner done. Larger or smaller numbers work as well;
docs/explain/catalog-index.md names this one.
"""

ReadFeeds = Callable[[Sources], StagedFeeds]
"""Reads feeds into files (`staging.stage`)."""


def change(
    path: Path,
    folder: Path,
    sources: Sources,
    previous: Path,
    max_facet_values: int,
    read: ReadFeeds,
) -> str | None:
    """Write an index as a copy of the previous one with other rows.

    Args:
        path: of the file, which must not exist.
        folder: for a file that is read again.
        sources: the documents.
        previous: an intact index of this format, built with the same settings.
        max_facet_values: attributes with more values are no facets.
        read: is called once, where the stock is another.

    Returns the digest of the rows; None: an index from nothing is less work, and no file
    is left.
    """
    copied(previous, path)
    with closing(opened_for_changes(path, folder / "compared")) as out:
        for statement in COMPARED.split(";"):
            out.execute(statement)
        notice_changes(out)
        if _Change(out, sources, max_facet_values, read).run():
            digest = renew_buckets(out)
            out.execute("COMMIT")
            return digest
    path.unlink()
    return None


class _Change:
    """One change of an index."""

    def __init__(
        self,
        out: sqlite3.Connection,
        sources: Sources,
        max_facet_values: int,
        read: ReadFeeds,
    ) -> None:
        self.out, self.sources, self.read = out, sources, read
        self.meta: dict[str, Any] = dict(out.execute("SELECT name, value FROM meta"))
        self.packing = Packing(self.meta["dictionary"])
        self.fed: dict[str, str] = orjson.loads(self.meta["fed"])
        self.attributes = Counter[str](orjson.loads(self.meta["attributes"]))
        self.featured: set[int] = set(orjson.loads(self.meta["featured"]))
        self.products: int = self.meta["products"]
        self.most_changed = max(FEW_CHANGED, self.products * MOST_CHANGED)
        facets = chosen_facets(self.attributes, self.products)
        self.totals = Totals(out, facets, max_facet_values)
        by_id = categories(sources.categories)
        brands = {brand["name"]: brand for brand in sources.brands}
        self.shop = Referred(by_id, brands, facets, self.packing)
        self.shop_before = replace(self.shop, categories=self._categories_before())
        self.words = wording.Worded()

    def run(self) -> bool:
        """Change the rows. Returns False where the index has to be written whole."""
        try:
            self._compare()
            self._rank()
            self._refuse_many()
            self._products()
            self._lists()
        except (WriteWhole, NoRoom):
            return False
        return True

    def _categories_before(self) -> Mapping[int, Category]:
        documents = self.out.execute("SELECT document FROM category ORDER BY id")
        return categories(orjson.loads(document) for (document,) in documents)

    # -- what differs

    def _compare(self) -> None:
        """Compare all feeds with the index. Products come first, because stock is that of
        their UPCs.
        """
        out, sources, packing = self.out, self.sources, self.packing
        before, now = self.shop_before.categories, self.shop.categories
        compare_categories(out, self.totals, before, now)
        self._set("roots", orjson.dumps(roots(now)))
        compare_brands(out, self.totals, packing, self.shop.brands)
        if not self._is_as_before("product"):
            compare_products(out, sources.products, self.products, self.most_changed)
        self._refuse_many()
        relate(out, compared_products(out, packing))
        if not self._is_as_before("inventory"):
            stock = Sources(sources.site, inventory=sources.inventory)
            staged = self.read(stock)
            with closing(staged.facts):
                compare_stock(out, staged)
        if not self._is_as_before("review"):
            compare_reviews(out, sources)
        if not self._is_as_before("recommendation"):
            compare_recommendations(out, sources)

    def _is_as_before(self, kind: str) -> bool:
        """Return whether the files of a kind are those of the previous build."""
        digest = self.sources.digests.get(kind)
        return digest is not None and digest == self.fed.get(kind)

    def _refuse_many(self) -> None:
        """Raise WriteWhole if so many products differ that writing all is sooner done."""
        if number_of_differing(self.out) > self.most_changed:
            raise WriteWhole

    def _row(self, statement: str, number: int) -> IndexRow | None:
        row: IndexRow | None = self.out.execute(statement, (number,)).fetchone()
        return row

    # -- where products stand among all

    def _rank(self) -> None:
        """Note the ranks of products that come or move, and of those that make room."""
        moving = self._moving()
        moves = Moves(self.totals.taken, self._standing)
        for rank in (*self._gone_ranks(), *(rank for _, rank, *_ in moving)):
            if rank is not None and rank < INACTIVE:
                moves.leave(rank)
        coming = (standing(id, best) for id, _, active, best in moving if active)
        for product in sorted(coming):
            moves.come(product)

        ((highest,),) = self.out.execute("SELECT max(rank) FROM document")
        first_free = max(highest or 0, INACTIVE) + 1
        inactive = (id for id, _, active, _ in moving if not active)
        ranks = ((id, rank) for rank, id in enumerate(inactive, first_free))
        for rows in (moves.new_ranks(), ranks):
            self.out.executemany("INSERT INTO compared.new_rank VALUES (?, ?)", rows)

    def _gone_ranks(self) -> list[int]:
        """Return the ranks of the products that no feed has any more."""
        rows = self.out.execute(
            "SELECT rank FROM compared.gone JOIN number USING (id) ORDER BY rank"
        )
        return [rank for (rank,) in rows]

    def _moving(self) -> list[tuple[int, int | None, bool, int | None]]:
        """Return (id, rank, whether it is active now, its place among best sellers now)
        of each product that is new or stands elsewhere than before.
        """
        return self.out.execute(
            "SELECT now.id, number.rank, now.active, now.best FROM compared.product AS now"
            " LEFT JOIN number USING (id) LEFT JOIN listed ON listed.rank = number.rank"
            " WHERE number.rank IS NULL OR (number.rank < ?) <> now.active"
            " OR (now.active AND listed.best IS NOT now.best)",
            (INACTIVE,),
        ).fetchall()

    def _standing(self, rank: int) -> Standing:
        row = self._row("SELECT id, best FROM listed WHERE rank = ?", rank)
        id, best = row or (0, None)
        return standing(id, best)

    # -- products, one by one

    def _products(self) -> None:
        """Change the rows of every product that may differ or has another rank.

        Ranks are left before products come to them, for one may take another's.
        """
        for rank in self._gone_ranks():
            self._change(rank, self._document(rank), None)
        self._leave()
        self._stay()
        self._come()

    def _leave(self) -> None:
        """Have products that get another rank leave theirs. The document of one that
        only makes room is stored for its coming.
        """
        leaving = (
            "SELECT number.rank FROM compared.new_rank JOIN number USING (id)"
            " ORDER BY number.rank"
        )
        for (rank,) in self.out.execute(leaving).fetchall():
            before = self._document(rank)
            self._change(rank, before, None)
            self.out.execute(
                "INSERT OR IGNORE INTO compared.product (id, document) VALUES (?, ?)",
                (before["id"], orjson.dumps(as_fed(before))),
            )

    def _stay(self) -> None:
        """Change products that stay at their ranks and may differ."""
        staying = (
            "SELECT rank, id FROM (SELECT id FROM compared.product UNION"
            " SELECT id FROM compared.affected) JOIN number USING (id) ORDER BY rank"
        )
        for rank, id in self.out.execute(staying).fetchall():
            before = self._document(rank)
            row = self._row("SELECT document FROM compared.product WHERE id = ?", id)
            self._change(rank, before, orjson.loads(row[0]) if row else as_fed(before))

    def _come(self) -> None:
        """Have products that are new, or have left a rank, come to their new ones."""
        coming = (
            "SELECT new_rank.rank, document FROM compared.new_rank"
            " JOIN compared.product USING (id) ORDER BY new_rank.rank"
        )
        for rank, document in self.out.execute(coming):
            self._change(rank, None, orjson.loads(document))

    def _document(self, rank: int) -> Json:
        row = self._row("SELECT data FROM document WHERE rank = ?", rank)
        (stored,) = row or (b"",)
        return self.packing.load(stored)

    def _change(self, rank: int, before: Json | None, product: Json | None) -> None:
        """Replace the rows that a product has at a rank.

        Args:
            before: its document in the index; None: it comes to this rank.
            product: its document as its feed has it; None: it leaves this rank.
        """
        was = self._forget(before) if before else None
        if before and not product:
            self.out.execute("DELETE FROM number WHERE id = ?", (before["id"],))
            self.out.execute("DELETE FROM document WHERE rank = ?", (rank,))
        now = self._enter(rank, product) if product else None
        if was or now:
            self.totals.note(rank, was, now)
            self._word(rank, before if was else None, product if now else None)

    def _forget(self, before: Json) -> Listing | None:
        """Count a product no more. Return how lists showed it."""
        self.attributes.subtract(attributes_of(before))
        self.featured.discard(before["id"])
        return listing(self.shop_before, before) if is_active(before) else None

    def _enter(self, rank: int, product: Json) -> Listing | None:
        """Store and count a product. Return how lists show it."""
        self.attributes.update(attributes_of(product))
        self._store(rank, product)
        if not is_active(product):
            return None
        if product.get("featured"):
            self.featured.add(product["id"])
        return listing(self.shop, product)

    def _store(self, rank: int, product: Json) -> None:
        """Write a product's document; it gets its computed members."""
        fed = fed_digest(orjson.dumps(product))
        complete(self.shop, self._row, product)
        document = orjson.dumps(product)
        updated = milliseconds(product.get("updated"))
        self.out.execute(
            "INSERT OR REPLACE INTO number VALUES (?, ?, ?, ?, ?)",
            (product["id"], rank, updated, document_digest(document), fed),
        )
        self.out.execute(
            "INSERT OR REPLACE INTO document VALUES (?, ?)",
            (rank, self.packing.pack(document)),
        )

    def _word(self, rank: int, before: Json | None, product: Json | None) -> None:
        """Change what a product is found by at a rank."""
        was = texts_of(self.shop_before, before) if before else None
        now = texts_of(self.shop, product) if product else None
        if was == now:
            return
        if before:
            wording.forget(self.out, self.shop_before, rank, before, self.words)
        if product:
            self.words.make(self.shop, rank, product)
            wording.add(self.out, self.words)

    # -- what is counted over all products

    def _lists(self) -> None:
        """Write what stands once in an index, and what is counted over all products.

        Raises WriteWhole where other attributes are facets now.
        """
        ((products,),) = self.out.execute("SELECT count(*) FROM number")
        ((active,),) = self.out.execute("SELECT count(*) FROM listed")
        if chosen_facets(+self.attributes, products) != self.shop.facets:
            raise WriteWhole
        self.totals.write()
        wording.recount(self.out, self.words)
        self._set("active", active)
        self._set("featured", orjson.dumps(sorted(self.featured)))
        self._set("synonyms", stored_synonyms(self.sources))
        for name, value in as_meta(self.sources, self.attributes, products).items():
            self._set(name, value)

    def _set(self, name: str, value: bytes | int) -> None:
        self.out.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))
