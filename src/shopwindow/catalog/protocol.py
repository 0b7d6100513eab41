"""What views ask of an opened catalog, and what it returns.

Views know only this module. The index implements it (`catalog.reading.opened`), and the
tests compare it with a plain implementation of the same protocol.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shopwindow.content.reading.yaml import Json
from shopwindow.retail.articles import Articles

Range = tuple[float | None, float | None]
"""The lowest and the highest price in dollars, both included; None where there is no
limit.
"""

PRICE = "PRICE"
"""The facet whose values are ranges."""

CATEGORY_FILTER = "CATEGORY"
"""The filter by category, unless a facet of the catalog has this name."""


@dataclass(frozen=True)
class ProductQuery:
    """Which page of a list of products is wanted, and how the list is narrowed and
    ordered.

    Attributes:
        filters: values by facet; a product must have one of the values of every facet.
            The values of CATEGORY are ids or names of categories; a product must be in one of
            them or below it.
        price: ranges, one of which holds what a product costs now.
        pick_up: location numbers; one of these stores must have a UPC of the product that can be
            picked up. None: no matter.
        sort: one of SORTS; None: the list's own order.
        page: counts from 1.
        perpage: products on a page.
        facets: whether facets are wanted.
        products: whether the products themselves are wanted.
    """

    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    price: tuple[Range, ...] = ()
    pick_up: tuple[int, ...] | None = None
    sort: str | None = None
    page: int = 1
    perpage: int = 12
    facets: bool = True
    products: bool = True


SORTS = (
    "price_ascending",
    "price_descending",
    "rating_ascending",
    "rating_descending",
    "name_ascending",
    "name_descending",
    "newness_ascending",  # the newest last
    "newness_descending",
    "bestseller_ascending",  # the best first, as rank 1 is
    "bestseller_descending",
)
"""How products can be ordered. Products without the value come last; equals are in
order of id.
"""


@dataclass(frozen=True)
class Facet:
    """What a result can be narrowed by.

    ``values`` are (text, count), the most frequent first, then by name. The facet PRICE
    has ``ranges`` instead: (low, high, count) from the lowest; high None is no limit.
    Counts are of all pages. A facet's own filter does not apply to its own counts, so
    that a shopper sees what other values would find.
    """

    name: str
    displayname: str
    values: tuple[tuple[str, int], ...] = ()
    ranges: tuple[tuple[float, float | None, int], ...] = ()


@dataclass(frozen=True)
class Page:
    """A page of products.

    ``total`` counts those on all pages, and ``facets`` are of all pages. ``corrected``
    is the phrase that was searched for, if it is not the one that was typed.
    """

    total: int
    ids: tuple[int, ...] = ()
    facets: tuple[Facet, ...] = ()
    corrected: str | None = None


@dataclass(frozen=True)
class Reviews:
    """A page of a product's reviews, the newest first.

    ``average``, ``total`` and ``counts`` (of 1, 2, 3, 4 and 5 stars) are of all pages.
    """

    average: float
    total: int
    counts: tuple[int, int, int, int, int]
    reviews: tuple[Json, ...]


class Catalog(Articles, Protocol):
    """The catalog of one release: what other families ask of it, and what its own views
    ask.

    Ids and UPCs may come in any order. What does not exist is left out of the result.
    Documents are as editors write them, with computed members beside.

    Computed members of a product: `reviewCount`; `rating`, one decimal, left out
    without reviews; `onsale`, on which all parts of a response agree (interface W2.1);
    `priceLow` and `priceHigh`, what it costs now; `brandId`, if a brand document has the
    name of its brand; `available`, whether it can be sent: it is active, and one of its
    active UPCs is available, if it has UPCs. Each of its UPCs has `available`, too.

    A category has `children` and `parent` as ids (parent None: it is a root) and
    `depth` (1 for a root), and no categories inside it. Facets are named in upper case:
    the attribute Heel_height is the facet HEEL_HEIGHT.
    """

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        """Return products by id, active or not."""

    def product_ids(
        self,
        since: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        categories: Sequence[int] | None = None,
    ) -> tuple[int, list[int]]:
        """Return how many active products there are, and a page of their ids in order.

        With ``since``, an instant as `2026-11-24T12:00:00.000Z`, only those updated
        then or later count. A product that does not say when it was updated always
        counts. With ``categories``, only those in one of them or below it count.
        """

    def featured(self) -> Sequence[int]:
        """Return the ids of the active products that are `featured`, in order."""

    def families(
        self, ids: Sequence[int]
    ) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        """Return (members, collections) by id, for products that have one or the other.

        Members are in the order of the document, collections in order of id.
        """

    def category(self, id: int) -> Json | None:
        """Return a category, or None."""

    def roots(self) -> Sequence[int]:
        """Return the ids of the categories without a parent, in their order."""

    def facet_names(self) -> Collection[str]:
        """Return the names of all facets but PRICE."""

    def browse(self, category: int, query: ProductQuery) -> Page:
        """Return active products of a category and its descendants.

        Their own order is by best sellers, then by id.
        """

    def search(self, phrase: str, query: ProductQuery) -> Page:
        """Return the active products that a phrase finds.

        Their own order has the best match first.
        """

    def brands(
        self, categories: Sequence[int], reference: int | None = None
    ) -> Sequence[tuple[str, str]]:
        """Return (name, URL) of the brands of active products, by name.

        The products are in one of the categories or their descendants, and, if
        ``reference`` is a category, at the same time in that or its descendants. A
        brand without a URL is left out.
        """

    def reviews(self, product: int, page: int, number: int) -> Reviews:
        """Return a page of ``number`` reviews."""

    def recommended(self, product: int, number: int) -> Sequence[int]:
        """Return ids of active products to show beside this one, which is not among
        them.

        First come the recommendations that editors gave, then products of the same home
        category and brand.
        """
