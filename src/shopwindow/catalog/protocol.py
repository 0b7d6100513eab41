"""What views ask an opened catalog, and what it returns. The index implements it
(catalog.index.opened).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from shopwindow.content.yaml import Json
from shopwindow.retail.articles import Status

Range = tuple[float | None, float | None]
"""Prices from one to another, both included; None where there is no limit."""

Part = Literal["element", "rest3", "detail4"]
"""A piece of a product's answers in JSON; catalog.parts says what each holds, and renders it.
"""

PRICE = "PRICE"
"""The facet whose values are ranges."""


@dataclass(frozen=True)
class ProductQuery:
    """Which of a list of products are asked for, and what of them.

    ``filters``: facet name → values, any of which a product has; all facets must fit.
    ``price``: any of some ranges, compared with what a product costs now. ``sort``: a key of
    SORTS; None: the list's own order. ``page`` counts from 1. ``facets`` and ``products`` say
    whether they are wanted at all.
    """

    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    price: tuple[Range, ...] = ()
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
"""How products can be listed; equals, and those without the value, by id, those without it
last.
"""


@dataclass(frozen=True)
class Facet:
    """What a result can be narrowed by. Values: text with its count, the most frequent first,
    then by name.

    ``ranges``, of the facet PRICE alone: low, high (None: no limit) and count, from the lowest.
    Counts are of the whole result; a facet's own filter is not applied to its own counts.
    """

    name: str
    displayname: str
    values: tuple[tuple[str, int], ...] = ()
    ranges: tuple[tuple[float, float | None, int], ...] = ()


@dataclass(frozen=True)
class Page:
    """A page of products, how many there are on all pages, and their facets.

    ``corrected``: the search phrase that was answered, where it is another than the one given.
    """

    total: int
    ids: tuple[int, ...] = ()
    facets: tuple[Facet, ...] = ()
    corrected: str | None = None


@dataclass(frozen=True)
class Reviews:
    """A page of a product's reviews, newest first; ``counts`` of those with 1 to 5 stars, on
    all pages.
    """

    average: float
    total: int
    counts: tuple[int, int, int, int, int]
    reviews: tuple[Json, ...]


class Catalog(Protocol):
    """The catalog of one release. Documents are as editors write them, with computed members
    beside.

    A product has `rating` (one decimal; left out without reviews), `reviewCount`, `available`
    (to be sent: if it is active, and if it has UPCs one of the active ones is), `onsale`,
    `priceLow` and `priceHigh` (what it costs now), `brandId` (where a brand document names its
    brand), and each of its UPCs `available`. A category has `children` and `parent` as ids
    (None: it is a root), `depth` (1 for a root), and no category inside it. Ids and UPCs may be
    asked for in any order, and what does not exist is left out. Facets are named in upper case:
    an attribute Heel_height is the facet HEEL_HEIGHT.
    """

    def product(self, id: int) -> Json | None: ...

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        """Those that exist, active or not."""

    def rendered(self, ids: Sequence[int], part: Part) -> Mapping[int, Json]:
        """A part of each product that exists."""

    def product_of_upc(self, upcs: Sequence[str]) -> Mapping[str, int]:
        """The product ids of the UPCs that exist."""

    def product_of_sku(self, sku: int) -> tuple[Json, Json] | None:
        """The product and its UPC entry whose sku (the bags' upcId) this is."""

    def product_ids(
        self, since: str | None = None, offset: int = 0, limit: int | None = None
    ) -> tuple[int, list[int]]:
        """How many active products there are, and their ids in order; ``since``: updated at
        this instant or later.

        ``since`` is UTC, as `2026-11-24T12:00:00.000Z`. A product that does not say when it was
        updated is always among them.
        """

    def featured(self) -> Sequence[int]:
        """The ids of the active products that are `featured`, in order."""

    def families(self, ids: Sequence[int]) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        """Of those that are collections or stand in one: their members as written, and the
        collections by id.
        """

    def category(self, id: int) -> Json | None: ...

    def roots(self) -> Sequence[int]:
        """The categories that have no parent, in their order."""

    def browse(self, category: int, query: ProductQuery) -> Page:
        """The active products of a category and its descendants; in their own order: best
        sellers, then by id.
        """

    def search(self, phrase: str, query: ProductQuery) -> Page:
        """The active products that a phrase finds; in their own order: the best match first."""

    def brands(
        self, categories: Sequence[int], reference: int | None = None
    ) -> Sequence[tuple[str, str]]:
        """Name and URL of the brands of active products in some categories or their
        descendants, by name.

        ``reference``: and at the same time in this category or its descendants. A brand without
        URL is left out.
        """

    def reviews(self, product: int, page: int, number: int) -> Reviews: ...

    def recommended(self, product: int, number: int) -> Sequence[int]:
        """Active products beside this one: those given, then of the same home category and
        brand; never itself.
        """

    def availability(
        self, upcs: Sequence[str], locations: Sequence[int]
    ) -> Mapping[tuple[str, int], Status]:
        """What stores have of UPCs. A pair that is left out is UNAVAILABLE."""
