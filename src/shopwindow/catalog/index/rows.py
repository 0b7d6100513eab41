"""One product → its rows in catalog.sqlite: what is worked out, rendered, listed and found of
it. Pure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple, Protocol

import orjson

from shopwindow.catalog.index.words import indexed
from shopwindow.catalog.protocol import Part
from shopwindow.catalog.rules import ends
from shopwindow.content.yaml import Json

Render = Callable[[Json], Mapping[Part, bytes]]
"""A product's document, with its computed members → parts of its answers, in JSON."""

PreviousRow = Callable[[str, int], tuple[Any, ...] | None]
"""Asks for a row of what was read before: reviews by product, stock by UPC."""

IndexRow = tuple[Any, ...]
NO_STARS = (0, 0, 0, 0, 0)


class Category(NamedTuple):
    """``line``: itself and the categories above it; ``text``: their names."""

    document: Json
    parent: int | None
    children: list[int]
    line: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Referred:
    """What products refer to; ``facets``: the attributes that are facets, in capitals."""

    categories: Mapping[int, Category]
    brands: Mapping[str, Json]
    facets: Sequence[str]
    render: Render


class PreviousProduct(NamedTuple):
    """A product as the previous catalog has it: its rank, the digest of all that is stored of
    it, and its document.
    """

    rank: int
    digest: bytes
    document: bytes


class PreviousProducts(Protocol):
    """The previous catalog, made by the same program with the same surroundings."""

    @property
    def categories(self) -> Mapping[int, Category]: ...

    @property
    def active(self) -> int:
        """How many of its products are active: those with the first ranks."""

    def product(self, id: int) -> PreviousProduct | None: ...


class Runs(list[tuple[int, int | None]]):
    """Products by rank: how many in a row are made, with None, or from which rank on they are
    as before.
    """

    def note(self, was: int | None) -> None:
        """The next product."""
        count, first = self[-1] if self else (0, None)
        if (
            count
            and (was is None) == (first is None)
            and (first is None or was == first + count)
        ):
            self[-1] = count + 1, first
        else:
            self.append((1, was))


@dataclass
class Made:
    """What is made of a run of products: rows by table, and what lists need.

    ``stored``: which documents and parts of answers are those of the catalog before;
    ``worded``: of the active products, which words are.
    """

    stored: Runs = field(default_factory=Runs)
    worded: Runs = field(default_factory=Runs)
    featured: list[int] = field(default_factory=list)
    rows: dict[str, list[IndexRow]] = field(default_factory=dict)
    listed: list[IndexRow] = field(default_factory=list)

    def row(self, table: str, *values: Any) -> None:
        self.rows.setdefault(table, []).append(values)


def categories(documents: Iterable[Json]) -> dict[int, Category]:
    """All categories by id, in their order, from trees and from lists with `parent`."""
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
    for id, above in parents.items():
        if above is not None:
            children[above].append(id)
    found: dict[int, Category] = {}
    for id, document in documents_by_id.items():
        line = [id]
        while (above := parents[line[-1]]) is not None and above not in line:
            line.append(above)
        kept = {
            key: value for key, value in document.items() if key not in ("categories", "parent")
        }
        text = " ".join(documents_by_id[one]["name"] for one in line)
        found[id] = Category(kept, parents[id], children[id], tuple(line), text)
    return found


def make_product(
    shop: Referred,
    known: PreviousRow,
    rank: int,
    product: Json,
    made: Made,
    previous: PreviousProducts | None = None,
) -> None:
    """Everything about one product but its words, into ``made``; ``product`` gets its computed
    members.

    Parts are made of a document and its surroundings alone: with the document they are as they
    were.
    """
    complete(shop, known, product)
    id, active = product["id"], product.get("active", True)
    document = orjson.dumps(product)
    was = previous.product(id) if previous else None
    if was and was.document == document:
        digest = was.digest
        made.stored.note(was.rank)
    else:
        digest = _store(shop, rank, product, document, made)
        made.stored.note(None)
    made.row("later.number", id, rank, _milliseconds(product.get("updated")), digest)
    for entry in product.get("upcs", ()):
        made.row("later.upc", int(entry["upc"]), id, entry["sku"])
    for place, member in enumerate(product.get("members", ())):
        made.row("later.member", id, member, place)
    if not active:
        return
    if product.get("featured"):
        made.featured.append(id)
    _list(shop, rank, product, made)
    kept = (
        previous
        and was
        and was.rank <= previous.active
        and not _reworded(shop, previous, was, product, document)
    )
    made.worded.note(was.rank if was and kept else None)


def _store(shop: Referred, rank: int, product: Json, document: bytes, made: Made) -> bytes:
    """A product's document and the parts of its answers; a digest of them."""
    digest = sha256(document)
    made.row("document", rank, document)
    for part, data in shop.render(product).items():
        made.row(f"part_{part}", rank, data)
        digest.update(data)
    return digest.digest()[:16]


def _reworded(
    shop: Referred,
    previous: PreviousProducts,
    was: PreviousProduct,
    product: Json,
    document: bytes,
) -> bool:
    """Whether a product's words are others than in the catalog before."""
    if was.document == document:
        old = previous.categories
        pairs = ((shop.categories.get(id), old.get(id)) for id in product["categories"])
        return any((now and now.text) != (before and before.text) for now, before in pairs)
    before = replace(shop, categories=previous.categories)
    return _texts(before, orjson.loads(was.document)) != _texts(shop, product)


def _list(shop: Referred, rank: int, product: Json, made: Made) -> None:
    """What lists are ordered, counted and narrowed by."""
    id, low = product["id"], round(product["priceLow"] * 100)
    best, days, rating = (
        product.get("bestSeller"),
        product.get("startDays"),
        product.get("rating"),
    )
    stars = None if rating is None else round(rating * 10)
    order = (rank, id, low, stars, product["name"].casefold(), days, best)
    made.rows.setdefault("later.listed", []).append(order)
    lines = (
        shop.categories[category].line
        for category in product["categories"]
        if category in shop.categories
    )
    colors = tuple(sorted({color["normal"] for color in product.get("colors", ())}))
    sizes = tuple(sorted({size["normal"] for size in product.get("sizes", ())}))
    brand = (product["brand"],) if "brand" in product else ()
    carried: dict[str, set[str]] = {}
    for name, values in product.get("attributes", {}).items():
        carried.setdefault(name.upper(), set()).update(values)
    attributes = (tuple(sorted(carried.get(name, ()))) for name in shop.facets)
    listed = (low, [brand, colors, sizes, *attributes])
    made.listed.append((rank, id, sorted(set(chain.from_iterable(lines))), listed))


def complete(shop: Referred, known: PreviousRow, product: Json) -> None:
    """The computed members of the port."""
    price = product["price"]
    low, high = ends(price.get("sale", price["regular"]))
    stars = (
        known("SELECT one, two, three, four, five FROM rating WHERE product = ?", product["id"])
        or NO_STARS
    )
    reviews = sum(stars)
    sold = product.get("active", True)
    available = sold and "upcs" not in product
    for entry in product.get("upcs", ()):
        stock = known("SELECT online FROM stocked WHERE upc = ?", int(entry["upc"]))
        entry["available"] = (
            sold
            and entry.get("active", True)
            and (stock is None or stock[0] is None or stock[0] > 0)
        )
        available = available or entry["available"]
    product |= {"reviewCount": reviews, "available": available, "onsale": "sale" in price}
    product |= {"priceLow": float(low), "priceHigh": float(high)}
    if reviews:
        product["rating"] = average(stars)
    brand = shop.brands.get(product.get("brand"))
    if brand:
        product["brandId"] = brand["id"]


def average(stars: Sequence[int]) -> float:
    """Of the ratings, given how many have 1, 2, … stars: one decimal, halves upwards."""
    total = sum(stars)
    tenths = sum(number * found for number, found in enumerate(stars, 1)) * 10
    return (2 * tenths + total) // (2 * total) / 10 if total else 0.0


def words_of(
    shop: Referred, product: Json
) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    """The words that a product is found by: of its name, brand, kind, attributes and
    description.
    """
    name, brand, kind, attributes, description = map(indexed, _texts(shop, product))
    return name, brand, kind, attributes, description


def _texts(shop: Referred, product: Json) -> tuple[str, str, str, str, str]:
    """Name, brand, kind, attributes and description of a product."""
    categories = (
        shop.categories[id].text for id in product["categories"] if id in shop.categories
    )
    kind = " ".join((product.get("typeName", ""), *categories))
    values = list(chain.from_iterable(product.get("attributes", {}).values()))
    for color in product.get("colors", ()):
        values += (color["name"], color["normal"])
    values += (size["name"] for size in product.get("sizes", ()))
    description = " ".join((product.get("description", ""), *product.get("bullets", ())))
    return (
        product["name"],
        product.get("brand", ""),
        kind,
        " ".join(dict.fromkeys(values)),
        description,
    )


def _milliseconds(instant: str | None) -> int | None:
    """An instant as milliseconds since 1970."""
    if instant is None:
        return None
    moment = datetime.fromisoformat(instant)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
