"""One product → its rows in catalog.sqlite: what is worked out, rendered, listed and found of it. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple

import orjson

from vitrine.content.yaml import Json
from vitrine.interface.ports import Part
from vitrine.release.words import indexed, stem

Render = Callable[[Json], Mapping[Part, bytes]]
"""A product's document, with its computed members → parts of its answers, in JSON."""

Known = Callable[[str, int], tuple[Any, ...] | None]
"""Asks for a row of what was read before: reviews by product, stock by UPC."""

Row = tuple[Any, ...]
NO_STARS = (0, 0, 0, 0, 0)


class Category(NamedTuple):
    """``line``: itself and the categories above it; ``text``: their names."""

    document: Json
    parent: int | None
    children: list[int]
    line: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Shop:
    """What products refer to; ``facets``: the attributes that are facets, in capitals."""

    categories: Mapping[int, Category]
    brands: Mapping[str, Json]
    facets: Sequence[str]
    render: Render


@dataclass(frozen=True)
class Made:
    """What is made of a run of products: rows by table, what lists need, how many products have which words."""

    featured: list[int] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    listed: list[Row] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    stems: Counter[str] = field(default_factory=Counter)


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
        kept = {key: value for key, value in document.items() if key not in ("categories", "parent")}
        text = " ".join(documents_by_id[one]["name"] for one in line)
        found[id] = Category(kept, parents[id], children[id], tuple(line), text)
    return found


def make_product(shop: Shop, known: Known, rank: int, product: Json, made: Made) -> None:
    """Everything about one product, into ``made``; ``product`` gets its computed members."""
    complete(shop, known, product)
    id, active = product["id"], product.get("active", True)
    document = orjson.dumps(product)
    digest = sha256(document)

    def row(table: str, *values: Any) -> None:
        made.rows.setdefault(table, []).append(values)

    row("document", rank, document)
    for part, data in shop.render(product).items():
        row(f"part_{part}", rank, data)
        digest.update(data)
    row("later.number", id, rank, _milliseconds(product.get("updated")), digest.digest()[:16])
    for entry in product.get("upcs", ()):
        row("later.upc", int(entry["upc"]), id, entry["sku"], entry["available"])
    for place, member in enumerate(product.get("members", ())):
        row("later.member", id, member, place)
    if not active:
        return
    if product.get("featured"):
        made.featured.append(id)
    _list(shop, rank, product, made)
    _index(shop, rank, product, made)


def _list(shop: Shop, rank: int, product: Json, made: Made) -> None:
    """What lists are ordered, counted and narrowed by."""
    id, low = product["id"], round(product["priceLow"] * 100)
    best, days, rating = product.get("bestSeller"), product.get("startDays"), product.get("rating")
    stars = None if rating is None else round(rating * 10)
    order = (rank, id, low, stars, product["name"].casefold(), days, best)
    made.rows.setdefault("later.listed", []).append(order)
    lines = (shop.categories[category].line for category in product["categories"] if category in shop.categories)
    colors = sorted({color["normal"] for color in product.get("colors", ())})
    sizes = sorted({size["normal"] for size in product.get("sizes", ())})
    brand = [product["brand"]] if "brand" in product else []
    carried: dict[str, set[str]] = {}
    for name, values in product.get("attributes", {}).items():
        carried.setdefault(name.upper(), set()).update(values)
    attributes = [sorted(carried.get(name, ())) for name in shop.facets]
    listed = (low, [brand, colors, sizes, *attributes])
    made.listed.append((rank, id, sorted(set(chain.from_iterable(lines))), listed))


def complete(shop: Shop, known: Known, product: Json) -> None:
    """The computed members of the port."""
    price = product["price"]
    now = price.get("sale", price["regular"])
    low, high = (now["low"], now["high"]) if isinstance(now, dict) else (now, now)
    stars = known("SELECT one, two, three, four, five FROM rating WHERE product = ?", product["id"]) or NO_STARS
    reviews = sum(stars)
    sold = product.get("active", True)
    available = sold and "upcs" not in product
    for entry in product.get("upcs", ()):
        stock = known("SELECT online FROM stocked WHERE upc = ?", int(entry["upc"]))
        entry["available"] = sold and entry.get("active", True) and (stock is None or stock[0] is None or stock[0] > 0)
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


def _index(shop: Shop, rank: int, product: Json, made: Made) -> None:
    found = [indexed(text) for text in _texts(shop, product)]
    every = set(chain.from_iterable(found))
    made.words.update(every)
    made.stems.update(set(map(stem, every)))
    made.rows.setdefault("text", []).append((rank, *(" ".join(map(stem, words)) for words in found)))
    made.rows.setdefault("short", []).append((rank, "\n".join(" ".join(words) for words in found[:4])))


def _texts(shop: Shop, product: Json) -> tuple[str, str, str, str, str]:
    """Name, brand, kind, attributes and description of a product."""
    categories = (shop.categories[id].text for id in product["categories"] if id in shop.categories)
    kind = " ".join((product.get("typeName", ""), *categories))
    values = list(chain.from_iterable(product.get("attributes", {}).values()))
    for color in product.get("colors", ()):
        values += (color["name"], color["normal"])
    values += (size["name"] for size in product.get("sizes", ()))
    description = " ".join((product.get("description", ""), *product.get("bullets", ())))
    return product["name"], product.get("brand", ""), kind, " ".join(dict.fromkeys(values)), description


def _milliseconds(instant: str | None) -> int | None:
    """An instant as milliseconds since 1970."""
    if instant is None:
        return None
    moment = datetime.fromisoformat(instant)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
