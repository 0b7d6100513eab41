"""The catalog of a release, opened: `catalog.protocol.Catalog` implemented.

`OpenedCatalog` answers from three modules. `opened_file` reads rows of the SQLite file,
`lists` turns products into pages, and `store_stock` says what stores have. What is read
by the id of a document stands here. `searching` knows what a phrase finds, and this
module adds its price limit and the product whose number it is.
"""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import numpy as np
import orjson

from shopwindow.catalog.feeds.rules import ends
from shopwindow.catalog.index.file import INDEX_FORMAT
from shopwindow.catalog.protocol import Page, ProductQuery, Reviews
from shopwindow.catalog.reading.recorded import (
    LISTED,
    RecordedCatalog,
    answer_digest,
)
from shopwindow.catalog.search.index_reader import IndexReader
from shopwindow.catalog.search.searching import Searched, best_first, find
from shopwindow.catalog.stored.lists import ProductLists, Ranks
from shopwindow.catalog.stored.opened_file import OpenedFile
from shopwindow.catalog.stored.store_stock import StoreStock, upc_numbers
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.index import HandedOut
from shopwindow.retail.articles import Status

Stars = tuple[int, int, int, int, int]
NO_STARS: Stars = (0, 0, 0, 0, 0)


def average(stars: Sequence[int]) -> float:
    """Return the mean rating, one decimal, halves upwards; 0.0 without ratings.

    ``stars``: how many ratings have 1, 2, 3, 4 and 5 stars. It is computed in integers,
    so that the result is exact.
    """
    total = sum(stars)
    tenths = sum(number * count for number, count in enumerate(stars, 1)) * 10
    return (2 * tenths + total) // (2 * total) / 10 if total else 0.0


class OpenedCatalog:
    """One catalog, open for reading: a `protocol.Catalog`.

    Attributes:
        file: the rows, for what counts or compares whole catalogs.
        lists: of products, for what explains why one stands where it does.
        stock: of stores, for what counts a catalog.
        reader: of what a search reads, for what explains one.
    """

    def __init__(self, path: Path, handed_out: HandedOut | None = None) -> None:
        """Open the catalog in a file.

        ``handed_out`` is called with each product and category that is returned: a
        build records so which documents each response was computed from.

        Raises ValueError if it has another format, sqlite3.Error or KeyError if it is
        no catalog.
        """
        self.file = OpenedFile(path)
        if self.file.meta["format"] != INDEX_FORMAT:
            raise ValueError(
                f"its format is {self.file.meta['format']}, not {INDEX_FORMAT}"
            )
        self._handed_out = handed_out
        self.stock = StoreStock(self.file)
        self.lists = ProductLists(self.file, self.stock)
        self.active = self.file.active
        self.reader = IndexReader(self.file, self.lists)

    # -- products by id ----------------------------------------------------------------

    def product(self, id: int) -> Json | None:
        return self.products((id,)).get(id)

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        statement = "SELECT id, document FROM product WHERE id IN (?)"
        load = self.file.packing.load
        products = {id: load(data) for id, data in self.file.many(statement, ids)}
        if not products:
            return {}
        statement = "SELECT * FROM rating WHERE product IN (?)"
        stars = {id: counts for id, *counts in self.file.many(statement, ids)}
        statement = (
            "SELECT upc, online FROM upc JOIN stock USING (upc) WHERE product IN (?)"
        )
        online = dict(self.file.many(statement, ids))
        for id, product in products.items():
            self._complete(product, stars.get(id, NO_STARS), online)
            if self._handed_out:
                self._handed_out("product", str(id))
        return products

    def _complete(
        self, product: Json, stars: Sequence[int], online: Mapping[int, int | None]
    ) -> None:
        """Give a product the computed members that `protocol.Catalog` promises.

        Args:
            product: as its feed has it.
            stars: how many ratings have 1, 2, 3, 4 and 5 stars.
            online: the stock of the site by UPC. Where nobody says it, it can be sent.
        """
        is_active = product.get("active", True)
        is_available = is_active and "upcs" not in product
        for upc in product.get("upcs", ()):
            in_stock = online.get(int(upc["upc"])) != 0
            upc["available"] = is_active and upc.get("active", True) and in_stock
            is_available = is_available or upc["available"]
        price, reviews = product["price"], sum(stars)
        low, high = ends(price.get("sale", price["regular"]))
        product |= {
            "reviewCount": reviews,
            "available": is_available,
            "onsale": "sale" in price,
            "priceLow": float(low),
            "priceHigh": float(high),
        }
        if reviews:
            product["rating"] = average(stars)
        if product.get("brand") in self._brands:
            product["brandId"], _ = self._brands[product["brand"]]

    @cached_property
    def _brands(self) -> Mapping[str, tuple[int, str]]:
        """The id and URL of each brand that editors described, by its name."""
        rows = self.file.rows("SELECT name, id, url FROM brand")
        return {name: (id, url) for name, id, url in rows}

    def product_of_upc(self, upcs: Sequence[str]) -> Mapping[str, int]:
        numbers = upc_numbers(upcs)
        rows = self.file.many(
            "SELECT upc, product FROM upc WHERE upc IN (?)", list(numbers.values())
        )
        products = dict(rows)
        return {
            upc: products[number]
            for upc, number in numbers.items()
            if number in products
        }

    def product_of_sku(self, sku: int) -> tuple[Json, Json] | None:
        id = self.file.one("SELECT product FROM upc WHERE sku = ?", sku)
        product = None if id is None else self.product(id)
        if product is None:
            return None
        return product, next(entry for entry in product["upcs"] if entry["sku"] == sku)

    def product_ids(
        self,
        since: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        categories: Sequence[int] | None = None,
    ) -> tuple[int, list[int]]:
        ids = self.lists.column("id")
        if categories is not None:
            ids = ids[self.lists.of_categories(categories)]
        if since is not None:
            instant = round(datetime.fromisoformat(since).timestamp() * 1000)
            statement = "SELECT id FROM listed WHERE updated IS NULL OR updated >= ?"
            rows = self.file.rows(statement, (instant,))
            ids = ids[np.isin(ids, np.array(rows, np.int64).ravel())]
        end = None if limit is None else offset + limit
        return len(ids), np.sort(ids)[offset:end].tolist()

    def featured(self) -> Sequence[int]:
        ids: list[int] = orjson.loads(self.file.meta["featured"])
        return ids

    def families(
        self, ids: Sequence[int]
    ) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        members = _grouped(
            self.file.many(
                "SELECT collection, member FROM member WHERE collection IN (?)"
                " ORDER BY collection, place",
                ids,
            )
        )
        collections = _grouped(
            self.file.many(
                "SELECT member, collection FROM member WHERE member IN (?)"
                " ORDER BY member, collection",
                ids,
            )
        )
        return {
            id: (members.get(id, []), collections.get(id, []))
            for id in members.keys() | collections.keys()
        }

    # -- categories and lists ----------------------------------------------------------

    def category(self, id: int) -> Json | None:
        data = self.file.one("SELECT document FROM category WHERE id = ?", id)
        if data is None:
            return None
        if self._handed_out:
            self._handed_out("category", str(id))
        return orjson.loads(data)

    def roots(self) -> Sequence[int]:
        ids: list[int] = orjson.loads(self.file.meta["roots"])
        return ids

    def facet_names(self) -> Collection[str]:
        return self.lists.facets.keys()

    def browse(self, category: int, query: ProductQuery) -> Page:
        if self.file.one("SELECT id FROM category WHERE id = ?", category) is None:
            return Page(0)
        return self.lists.page(self.lists.of_category(category), query)

    def brands(
        self, categories: Sequence[int], reference: int | None = None
    ) -> Sequence[tuple[str, str]]:
        ranks = self.lists.of_categories(categories)
        if reference is not None:
            ranks = np.intersect1d(ranks, self.lists.of_category(reference))
        template = self.file.meta["brand_url"] or ""
        urls = {}
        for name, _ in self.lists.facets["BRAND"].count(ranks):
            _, url = self._brands.get(name, (0, ""))
            urls[name] = url or template.replace("{name}", quote(name, safe=""))
        return sorted((name, url) for name, url in urls.items() if url)

    # -- a search ----------------------------------------------------------------------

    def search(self, phrase: str, query: ProductQuery) -> Page:
        searched, ranks = self.searched(phrase)
        page = self.lists.page(ranks, query, partial(best_first, self.reader, searched))
        return replace(page, corrected=searched.corrected)

    def searched(self, phrase: str) -> tuple[Searched, Ranks]:
        """Return what a phrase finds and why, and the ranks that its price limit leaves
        before any other filter.
        """
        searched = find(self.reader, phrase)
        direct = () if searched.direct is None else (searched.direct,)
        ranks = self.lists.ranks((*searched.ids, *direct))
        if direct:
            ranks = np.unique(ranks)
        if searched.limit:
            ranks = self.lists.narrowed(ranks, ProductQuery(price=(searched.limit,)))
        return searched, ranks

    # -- beside a product --------------------------------------------------------------

    def reviews(self, product: int, page: int, number: int) -> Reviews:
        rows = self.file.rows(
            "SELECT one, two, three, four, five FROM rating WHERE product = ?",
            (product,),
        )
        stars: Stars = rows[0] if rows else NO_STARS
        shown = self.file.rows(
            "SELECT document FROM review WHERE product = ?"
            " ORDER BY date DESC, id LIMIT ? OFFSET ?",
            (product, number, (page - 1) * number),
        )
        reviews = tuple([orjson.loads(data) for (data,) in shown])
        return Reviews(average(stars), sum(stars), stars, reviews)

    def recommended(self, product: int, number: int) -> Sequence[int]:
        statement = "SELECT products FROM recommendation WHERE product = ?"
        chosen = orjson.loads(self.file.one(statement, product) or b"[]")  # by editors
        statement = "SELECT id FROM listed WHERE active AND id IN (?)"
        active = {id for (id,) in self.file.many(statement, chosen)} if chosen else ()
        recommended = [
            id for id in dict.fromkeys(chosen) if id != product and id in active
        ]

        document = self.product(product)
        if len(recommended) < number and document and "brand" in document:
            of_home = self.lists.of_category(document["categories"][0])
            of_brand = ProductQuery(filters={"BRAND": (document["brand"],)})
            alike = self.lists.ids(self.lists.narrowed(of_home, of_brand))
            others = (id for id in alike if id != product and id not in active)
            recommended += islice(others, number - len(recommended))
        return recommended[:number]

    def availability(
        self, upcs: Sequence[str], locations: Sequence[int]
    ) -> Mapping[tuple[str, int], Status]:
        return self.stock.availability(upcs, locations)

    # -- for a build: what was read, and what differs ----------------------------------

    def following(self, report: Callable[[str], None]) -> RecordedCatalog:
        """Return a catalog that reports which of its parts it returns."""
        return RecordedCatalog(self, report)

    def part_digest(self, part: str) -> str:
        """Return a digest of a part that `following` reported."""
        name, _, id = part.partition(" ")
        if name == LISTED:
            return self.lists.signature(int(id)).hex()
        return answer_digest(self, part)


def _grouped(pairs: Iterable[tuple[int, int]]) -> Mapping[int, Sequence[int]]:
    """Return the second numbers of pairs by the first ones."""
    by_first: dict[int, list[int]] = {}
    for first, second in pairs:
        by_first.setdefault(first, []).append(second)
    return by_first
