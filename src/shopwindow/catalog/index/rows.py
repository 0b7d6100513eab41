"""From one product to its rows in catalog.sqlite: computed members, lists and words.

The workers of a build run `make_product` for chunks of products, and send `ProductRows`
back to the process that writes. It is pure but for a reader that it is given: of rows of
the feeds that were read before (reviews, stock).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple

import orjson

from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.sources import fed_digest
from shopwindow.catalog.index.words import indexed
from shopwindow.catalog.rules import ends
from shopwindow.content.reading.yaml import Json

FactOf = Callable[[str, int], tuple[Any, ...] | None]
"""(statement, number) → the row of what the feeds say: ratings by product, stock by
UPC.
"""

IndexRow = tuple[Any, ...]
NO_STARS = (0, 0, 0, 0, 0)

DIGEST_BYTES = 16
"""Bytes of a document's digest: 128 bits tell apart all documents that there will be."""


class Category(NamedTuple):
    """A category as products need it.

    ``line`` holds its id and those of the categories above it, ``text`` the names of
    all these.
    """

    document: Json
    parent: int | None
    children: list[int]
    line: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Referred:
    """What products refer to. ``facets`` are the attributes that are facets, in upper
    case; ``packing`` packs their documents.
    """

    categories: Mapping[int, Category]
    brands: Mapping[str, Json]
    facets: Sequence[str] = ()
    packing: Packing = field(default_factory=lambda: Packing(b""))


class Listing(NamedTuple):
    """What lists order, count and narrow an active product by.

    Attributes:
        row: its row of the table `listed`, without the rank.
        categories: the ids of those that it is in, and of all above them, ascending.
        cents: what it costs now, at least.
        values: of each facet.
    """

    row: tuple[Any, ...]
    categories: Sequence[int]
    cents: int
    values: Sequence[tuple[str, ...]]


@dataclass
class ProductRows:
    """What a chunk of products becomes.

    Attributes:
        featured: the ids of active products that are featured.
        rows: by table; `later.` before the name of a table whose rows are sorted before
            they are written.
        listed: the active products, each with its rank.
    """

    featured: list[int] = field(default_factory=list)
    rows: dict[str, list[IndexRow]] = field(default_factory=dict)
    listed: list[tuple[int, Listing]] = field(default_factory=list)

    def row(self, table: str, *values: Any) -> None:
        """Add a row to a table."""
        self.rows.setdefault(table, []).append(values)


def categories(documents: Iterable[Json]) -> dict[int, Category]:
    """Return all categories by id, in their order, from trees and from lists with
    `parent`.
    """
    documents_by_id: dict[int, Json] = {}
    parents: dict[int, int | None] = {}

    def enter(document: Json, parent: int | None) -> None:
        documents_by_id[document["id"]] = document
        parents[document["id"]] = document.get("parent", parent)
        for child in document.get("categories", ()):
            enter(child, document["id"])

    for document in documents:
        enter(document, None)
    children: dict[int, list[int]] = {id: [] for id in documents_by_id}
    for id, parent in parents.items():
        if parent is not None:
            children[parent].append(id)

    by_id: dict[int, Category] = {}
    for id, document in documents_by_id.items():
        line = [id]
        while (parent := parents[line[-1]]) is not None and parent not in line:
            line.append(parent)
        flat = {
            key: value
            for key, value in document.items()
            if key not in ("categories", "parent")
        }
        text = " ".join(documents_by_id[above]["name"] for above in line)
        by_id[id] = Category(flat, parents[id], children[id], tuple(line), text)
    return by_id


def document_digest(document: bytes) -> bytes:
    """Return the digest of a product's document as the index holds it."""
    return sha256(document).digest()[:DIGEST_BYTES]


def category_document(category: Category) -> bytes:
    """Return a category as the index stores it, with its computed members, in JSON."""
    computed: Json = {
        "parent": category.parent,
        "depth": len(category.line),
        "children": category.children,
    }
    return orjson.dumps(category.document | computed)


def roots(by_id: Mapping[int, Category]) -> list[int]:
    """Return the ids of the categories without a parent, in their order."""
    return [id for id, category in by_id.items() if category.parent is None]


def make_product(
    shop: Referred, fact_of: FactOf, rank: int, product: Json, out: ProductRows
) -> None:
    """Add one product to ``out``, except for its words; ``product`` gets its computed
    members.
    """
    fed = fed_digest(orjson.dumps(product))
    complete(shop, fact_of, product)
    id = product["id"]
    document = orjson.dumps(product)
    out.row("document", rank, shop.packing.pack(document))
    updated = milliseconds(product.get("updated"))
    out.row("later.number", id, rank, updated, document_digest(document), fed)
    for upc, sku, handed_out in upc_rows(product):
        out.row("later.upc", upc, id, sku, handed_out)
    for place, member in enumerate(product.get("members", ())):
        out.row("later.member", id, member, place)

    if is_active(product):
        if product.get("featured"):
            out.featured.append(id)
        out.listed.append((rank, listing(shop, product)))


def is_active(product: Json) -> bool:
    """Return whether lists and searches show a product."""
    active: bool = product.get("active", True)
    return active


def upc_rows(product: Json) -> Iterator[tuple[int, int, bool]]:
    """Yield (UPC, sku, whether stores hand it out to customers who pick it up)."""
    is_eligible: bool = product.get("storeEligible", True)
    for entry in product.get("upcs", ()):
        is_handed_out = is_eligible and entry.get("active", True)
        yield int(entry["upc"]), entry["sku"], is_handed_out


def listing(shop: Referred, product: Json) -> Listing:
    """Return what lists order, count and narrow a product by."""
    cents = round(product["priceLow"] * 100)
    rating = product.get("rating")
    tenths = None if rating is None else round(rating * 10)
    name = product["name"].casefold()
    days, best = product.get("startDays"), product.get("bestSeller")

    lines = (
        shop.categories[category].line
        for category in product["categories"]
        if category in shop.categories
    )
    in_categories = sorted(set(chain.from_iterable(lines)))
    colors = tuple(sorted({color["normal"] for color in product.get("colors", ())}))
    sizes = tuple(sorted({size["normal"] for size in product.get("sizes", ())}))
    brand = (product["brand"],) if "brand" in product else ()
    by_facet: dict[str, set[str]] = {}
    for attribute, values in product.get("attributes", {}).items():
        by_facet.setdefault(attribute.upper(), set()).update(values)
    attributes = (tuple(sorted(by_facet.get(name, ()))) for name in shop.facets)
    return Listing(
        (product["id"], cents, tenths, name, days, best),
        in_categories,
        cents,
        (brand, colors, sizes, *attributes),
    )


def complete(shop: Referred, fact_of: FactOf, product: Json) -> None:
    """Give a product the computed members that `protocol.Catalog` promises."""
    price = product["price"]
    low, high = ends(price.get("sale", price["regular"]))
    stars = (
        fact_of(
            "SELECT one, two, three, four, five FROM rating WHERE product = ?",
            product["id"],
        )
        or NO_STARS
    )
    reviews = sum(stars)
    active = is_active(product)
    available = active and "upcs" not in product
    for entry in product.get("upcs", ()):
        stock = fact_of("SELECT online FROM stocked WHERE upc = ?", int(entry["upc"]))
        in_stock = (
            stock is None or stock[0] is None or stock[0] > 0
        )  # unknown: it can be sent
        entry["available"] = active and entry.get("active", True) and in_stock
        available = available or entry["available"]
    product |= {
        "reviewCount": reviews,
        "available": available,
        "onsale": "sale" in price,
    }
    product |= {"priceLow": float(low), "priceHigh": float(high)}
    if reviews:
        product["rating"] = average(stars)
    brand = shop.brands.get(product.get("brand"))
    if brand:
        product["brandId"] = brand["id"]


COMPUTED = (
    "reviewCount",
    "available",
    "onsale",
    "priceLow",
    "priceHigh",
    "rating",
    "brandId",
)
"""The members that `complete` gives a product. Its UPCs get `available`."""


def as_fed(product: Json) -> Json:
    """Return a product without its computed members: what `complete` was given."""
    raw = {name: value for name, value in product.items() if name not in COMPUTED}
    if "upcs" in raw:
        raw["upcs"] = [
            {name: value for name, value in entry.items() if name != "available"}
            for entry in raw["upcs"]
        ]
    return raw


def average(stars: Sequence[int]) -> float:
    """Return the mean rating, one decimal, halves upwards; 0.0 without ratings.

    ``stars``: how many ratings have 1, 2, 3, 4 and 5 stars. It is computed in integers,
    so that the result is exact.
    """
    total = sum(stars)
    tenths = sum(number * count for number, count in enumerate(stars, 1)) * 10
    return (2 * tenths + total) // (2 * total) / 10 if total else 0.0


def words_of(
    shop: Referred, product: Json
) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    """Return the words of a product's name, brand, kind, attributes and description."""
    name, brand, kind, attributes, description = map(indexed, texts_of(shop, product))
    return name, brand, kind, attributes, description


def texts_of(shop: Referred, product: Json) -> tuple[str, str, str, str, str]:
    """Return a product's name, brand, kind, attributes and description.

    The kind is the name of its type and those of its categories and of all above them.
    """
    categories = (
        shop.categories[id].text
        for id in product["categories"]
        if id in shop.categories
    )
    kind = " ".join((product.get("typeName", ""), *categories))
    values = list(chain.from_iterable(product.get("attributes", {}).values()))
    for color in product.get("colors", ()):
        values += (color["name"], color["normal"])
    values += (size["name"] for size in product.get("sizes", ()))
    description = " ".join(
        (product.get("description", ""), *product.get("bullets", ()))
    )
    return (
        product["name"],
        product.get("brand", ""),
        kind,
        " ".join(dict.fromkeys(values)),
        description,
    )


def milliseconds(instant: str | None) -> int | None:
    """Return an instant as milliseconds since 1970; one without a zone is UTC."""
    if instant is None:
        return None
    moment = datetime.fromisoformat(instant)
    return int(
        (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000
    )
