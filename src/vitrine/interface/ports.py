"""What views and actions need and do not make themselves: the protocols, implemented above this package."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from vitrine.content.yaml import Json

Point = tuple[float, float]
"""Latitude and longitude in degrees."""


class Places(Protocol):
    """Where zip codes, cities, counties and states are; None for what is not known."""

    def find_zip(self, code: str) -> Point | None: ...

    def find_city(self, city: str, state: str | None) -> Point | None: ...

    def find_county(self, county: str, state: str | None) -> Point | None: ...

    def find_state(self, state: str) -> Point | None: ...


# -- the catalog -------------------------------------------------------------------------------------------------

Range = tuple[float | None, float | None]
"""Prices from one to another, both included; None where there is no limit."""

Status = Literal["AVAILABLE", "LIMITED", "UNAVAILABLE"]
"""What a store has of a UPC."""

Part = Literal["element", "rest3", "detail4"]
"""A piece of a product's answers in JSON: interface.catalog_parts says what each holds, and makes it."""

PRICE = "PRICE"
"""The facet whose values are ranges."""


@dataclass(frozen=True)
class Question:
    """Which of a list of products are asked for, and what of them.

    ``filters``: facet name → values, any of which a product has; all facets must fit. ``price``: any of some ranges,
    compared with what a product costs now. ``sort``: a key of SORTS; None: the list's own order. ``page`` counts
    from 1. ``facets`` and ``products`` say whether they are wanted at all.
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
"""How products can be listed; equals, and those without the value, by id, those without it last."""


@dataclass(frozen=True)
class Facet:
    """What a result can be narrowed by. Values: text with its count, the most frequent first, then by name.

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
    """A page of a product's reviews, newest first; ``counts`` of those with 1 to 5 stars, on all pages."""

    average: float
    total: int
    counts: tuple[int, int, int, int, int]
    reviews: tuple[Json, ...]


class Catalog(Protocol):
    """The catalog of one release. Documents are as editors write them, with computed members beside.

    A product has `rating` (one decimal; left out without reviews), `reviewCount`, `available` (to be sent: if it is
    active, and if it has UPCs one of the active ones is), `onsale`, `priceLow` and `priceHigh` (what it costs now),
    `brandId` (where a brand document names its brand), and each of its UPCs `available`. A category has `children` and
    `parent` as ids (None: it is a root), `depth` (1 for a root), and no category inside it.
    Ids and UPCs may be asked for in any order, and what does not exist is left out. Facets are named in upper case: an
    attribute Heel_height is the facet HEEL_HEIGHT.
    """

    def product(self, id: int) -> Json | None: ...

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        """Those that exist, active or not."""

    def rendered(self, ids: Sequence[int], part: Part) -> Mapping[int, bytes]:
        """A part of each product that exists, as JSON."""

    def product_of_upc(self, upcs: Sequence[str]) -> Mapping[str, int]:
        """The product ids of the UPCs that exist."""

    def product_of_sku(self, sku: int) -> tuple[Json, Json] | None:
        """The product and its UPC entry whose sku (the bags' upcId) this is."""

    def product_ids(self, since: str | None = None, offset: int = 0, limit: int | None = None) -> tuple[int, list[int]]:
        """How many active products there are, and their ids in order; ``since``: updated at this instant or later.

        ``since`` is UTC, as `2026-11-24T12:00:00.000Z`. A product that does not say when it was updated is always
        among them.
        """

    def featured(self) -> Sequence[int]:
        """The ids of the active products that are `featured`, in order."""

    def families(self, ids: Sequence[int]) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        """Of those that are collections or stand in one: their members as written, and the collections by id."""

    def category(self, id: int) -> Json | None: ...

    def roots(self) -> Sequence[int]:
        """The categories that have no parent, in their order."""

    def browse(self, category: int, question: Question) -> Page:
        """The active products of a category and its descendants; in their own order: best sellers, then by id."""

    def search(self, phrase: str, question: Question) -> Page:
        """The active products that a phrase finds; in their own order: the best match first."""

    def brands(self, categories: Sequence[int], reference: int | None = None) -> Sequence[tuple[str, str]]:
        """Name and URL of the brands of active products in some categories or their descendants, by name.

        ``reference``: and at the same time in this category or its descendants. A brand without URL is left out.
        """

    def reviews(self, product: int, page: int, number: int) -> Reviews: ...

    def recommended(self, product: int, number: int) -> Sequence[int]:
        """Active products beside this one: those given, then of the same home category and brand; never itself."""

    def availability(self, upcs: Sequence[str], locations: Sequence[int]) -> Mapping[tuple[str, int], Status]:
        """What stores have of UPCs. A pair that is left out is UNAVAILABLE."""


# -- the store: the shop's verbs, in one transaction ---------------------------------------------------------------


class Consents(Protocol):
    """Who wants to be written to: the current choice of each application and device, and every choice before it."""

    def record(self, application: str, device: str, choice: str, user: str | None, at: datetime, key: str) -> None:
        """Note a choice, IN or OUT. ``key`` is unguessable and unique."""
        ...


@dataclass(frozen=True)
class SingleUseCode:
    """What is known of a code: its promotion, and the order and reservation that have won it, if any."""

    promotion: int
    order: str | None = None
    reservation: str | None = None


@dataclass(frozen=True)
class Issue:
    """The codes of a promotion: how many there are and how many are used, and when; times are UTC, as ISO 8601."""

    promotion: int
    issued: int
    used: int
    first_issued: str
    last_issued: str
    first_used: str | None
    last_used: str | None


class Codes(Protocol):
    """Single-use codes, known by their digests alone."""

    def mark(self) -> str | None:
        """What tells the secret that the digests were made with; None before there are any."""
        ...

    def find(self, digest: str) -> SingleUseCode | None: ...

    def use(self, digest: str, order: str, reservation: str, application: str, at: datetime) -> bool:
        """Whether the code was free, and is now this order's: of all who try, one is told so."""
        ...


@dataclass(frozen=True)
class Line:
    """An item of a bag."""

    sequence: int
    upc: int
    quantity: int


@dataclass(frozen=True)
class Bag:
    """A bag. Its lines stand by sequence number; ``last`` is the highest that a line of it ever had."""

    guid: str
    id: int
    user: int
    revision: int
    last: int = 0
    lines: tuple[Line, ...] = ()


class Bags(Protocol):
    """Shopping bags, each with its guest user, each of one application alone."""

    def make(self, application: str, guid: str, bag: int, user: int, at: datetime) -> Bag | None:
        """A new bag, empty; None where one of its numbers is another's."""
        ...

    def find(self, application: str, name: str, value: Any) -> Bag | None:
        """The bag by `bagGuid`, `bagId` or `userId`, if it is the application's."""
        ...

    def take(self, bag: Bag, at: datetime) -> Bag | None:
        """The bag as it is now, at its next revision; until the transaction ends nobody else changes it."""
        ...

    def put(self, bag: Bag, lines: Iterable[Line]) -> Bag:
        """A bag that was taken, with these lines and no others."""
        ...


class Limits(Protocol):
    """So many times in a while, by name."""

    def wait(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        """Seconds until another one is admitted; 0: it is now."""
        ...

    def count(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        """Count one and return 0, or count none and return the seconds until another one is admitted."""
        ...


class Outbox(Protocol):
    """Mail that is promised with the transaction, and sent after it."""

    def add(self, id: str, recipient: str, document: Json, at: datetime) -> None:
        """A mail to one recipient, made of a document when it is sent. ``id`` is unguessable and unique."""
        ...


class Store(Protocol):
    """What actions do in one transaction: all of it is kept, or nothing."""

    @property
    def consents(self) -> Consents: ...

    @property
    def codes(self) -> Codes: ...

    @property
    def bags(self) -> Bags: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def outbox(self) -> Outbox: ...


# -- the running service -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogKeeping:
    """How the mobile log is kept: brought to disk before it is acknowledged (``durable``), or handed to the operating
    system; a new file is begun before one grows above ``max_bytes``, and once it is ``max_seconds`` old."""

    durable: bool = True
    max_bytes: int = 64 << 20
    max_seconds: int = 24 * 3600


class LogWriter(Protocol):
    """The mobile log."""

    def write(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        """Append lines; they are kept when this returns. Raises Refusal where they cannot be kept."""
        ...

    def count_refused(self, application: str, reason: str, number: int) -> None:
        """Note entries that the application's loggingInfo does not admit, and why: disabled, count or level."""
        ...


class Running(Protocol):
    """What only the running service knows."""

    @property
    def log(self) -> LogWriter: ...

    def status(self) -> dict[str, Any]:
        """The build of the release being served: jobName, startTime, endTime, status (wire shapes §2)."""
        ...
