"""What no schema can state about one record of the catalog, and what it says that
others must agree with. Pure.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from shopwindow.content.finding import Finding
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, nearest

Sound = Callable[[Pointer], bool]
"""Whether the schema has nothing to say about a part of the record."""

RecordFindings = Iterator[Finding]

PRODUCT, UPC, SKU, REVIEW, RECOMMENDATION, INVENTORY = (
    "product",
    "upc",
    "sku",
    "review",
    "recommendation",
    "inventory",
)
PRODUCT_NAMED, COLLECTION, MEMBER = "product_named", "collection", "member"

UNIQUE = {
    PRODUCT: ("id", "product"),
    UPC: ("UPC", "product"),
    SKU: ("sku", "product"),
    REVIEW: ("id", "review"),
    RECOMMENDATION: ("product", "recommendation"),
    INVENTORY: ("UPC", "inventory"),
}
"""The columns whose numbers occur once: what they are called, and the kind of record
that has them.
"""

ALL_COLUMNS = (*UNIQUE, PRODUCT_NAMED, COLLECTION, MEMBER)
"""All of them."""

MAX_CATEGORY_DEPTH = 8
"""Levels of categories that the category index tells (wire shapes §2)."""

MAX_COMPARED_IDS = 300
"""Among more ids than these none is looked for that is like another."""


@dataclass(frozen=True)
class Referable:
    """What there is to refer to beside the long columns. None: not known, for some file
    could not be read.
    """

    categories: frozenset[int] | None
    promotions: frozenset[int] | None
    stores: frozenset[str] | None


# -- one number or price ---------------------------------------------------------------


def check_digit(digits: str) -> str:
    """The last digit of a UPC that begins with ``digits`` (GS1 General Specifications
    7.9.1).
    """
    codes = digits.encode()  # of digits, from 48 on
    total = (
        3 * (sum(codes[::-2]) - 48 * len(codes[::-2]))
        + sum(codes[-2::-2])
        - 48 * len(codes[-2::-2])
    )
    return str(-total % 10)


def review_number(id: str) -> int:
    """A number for the id of a review: equal ones for equal ids, and hardly ever for
    others.
    """
    return int.from_bytes(blake2b(id.encode(), digest_size=8).digest()) >> 1


def ends(amount: Json) -> tuple[float, float]:
    """The low and the high end of a price, which may be a range."""
    return (
        (amount["low"], amount["high"])
        if isinstance(amount, dict)
        else (amount, amount)
    )


def _shown(amount: Json) -> str:
    return (
        f"{amount['low']} to {amount['high']}"
        if isinstance(amount, dict)
        else str(amount)
    )


# -- one record by itself --------------------------------------------------------------


def findings(kind: str, record: Json, sound: Sound, known: Referable) -> RecordFindings:
    """Everything that is wrong with a record whose schema finds nothing wrong with the
    parts that are ``sound``.
    """
    if isinstance(record, dict):
        for rule in RULES[kind]:
            yield from rule(record, sound, known)


def _items(
    record: Mapping[str, Any], name: str, sound: Sound
) -> Iterable[tuple[int, Any]]:
    """The items of a list with their places: those that the schema has nothing to say
    about.
    """
    items = record.get(name, ())
    if sound((name,)):
        return enumerate(items)
    return [
        (n, item)
        for n, item in enumerate(items if isinstance(items, list) else ())
        if sound((name, n))
    ]


def _categories(
    product: Mapping[str, Any], sound: Sound, known: Referable
) -> RecordFindings:
    if known.categories is not None:
        for index, category in _items(product, "categories", sound):
            if category not in known.categories:
                yield unknown(
                    ("categories", index), "category", "id", category, known.categories
                )


def _promotions(
    product: Mapping[str, Any], sound: Sound, known: Referable
) -> RecordFindings:
    if known.promotions is None:
        return
    named: list[tuple[Pointer, int]] = [
        (("promotions", index), id)
        for index, id in _items(product, "promotions", sound)
    ]
    if (
        "price" in product
        and sound(("price", "finalPrice"))
        and "finalPrice" in product["price"]
    ):
        pointer = ("price", "finalPrice", "promotions")
        named += [
            ((*pointer, n), id)
            for n, id in enumerate(product["price"]["finalPrice"].get("promotions", ()))
        ]
    badges = _items(product, "badges", sound)
    named += [
        (("badges", index, "promotionId"), badge["promotionId"])
        for index, badge in badges
    ]
    for where, id in named:
        if id not in known.promotions:
            yield unknown(where, "promotion", "promoId", id, known.promotions)


def unknown(
    pointer: Pointer, kind: str, name: str, value: Any, known: Collection[Any]
) -> Finding:
    """What is said of a reference to nothing."""
    close = (
        nearest(str(value), map(str, known)) if len(known) <= MAX_COMPARED_IDS else ""
    )
    return Finding(
        "reference",
        pointer,
        f"no {kind} has the {name} {value}",
        f"the {name} of a {kind}",
        nearest=close,
    )


def _prices(
    product: Mapping[str, Any], sound: Sound, known: Referable
) -> RecordFindings:
    if "price" in product and sound(("price",)):
        yield from _price(product["price"], ("price",))
    for index, variant in _items(product, "upcs", sound):
        if "price" in variant:
            yield from _price(variant["price"], ("upcs", index, "price"))


def _price(price: Mapping[str, Any], pointer: Pointer) -> RecordFindings:
    """Ranges have a width; the sale is nowhere above the regular price, and somewhere
    below it.
    """
    wide = True
    for name in ("regular", "sale"):
        amount = price.get(name)
        if isinstance(amount, dict) and amount["low"] >= amount["high"]:
            wide = False
            found = f"low {amount['low']} is not below high {amount['high']}"
            yield Finding(
                "price.range",
                (*pointer, name, "low"),
                found,
                "low below high; one price as a number",
            )
    if "sale" in price and wide:
        regular, sale = ends(price["regular"]), ends(price["sale"])
        if sale == regular or sale[0] > regular[0] or sale[1] > regular[1]:
            found = f"the sale price {_shown(price['sale'])} is not below the regular price {_shown(price['regular'])}"
            yield Finding(
                "price.sale",
                (*pointer, "sale"),
                found,
                "a lower price; without a sale, no sale",
            )


def _variants(
    product: Mapping[str, Any], sound: Sound, known: Referable
) -> RecordFindings:
    """Colors and sizes have ids of their own, and each one that a UPC names is there."""
    declared = {
        name: _declared(product, part) if sound((part,)) else None
        for name, part in _ATTRIBUTES_OF_UPC
    }
    for part in ("colors", "sizes", "rebates"):
        if part in product and sound((part,)):
            yield from _own_ids(product, part)
    for index, variant in _items(product, "upcs", sound):
        for name, part in _ATTRIBUTES_OF_UPC:
            ids = declared[name]
            if ids is not None and name in variant and variant[name] not in ids:
                found = f"the product has no {name} with the id {variant[name]}"
                close = nearest(str(variant[name]), map(str, ids))
                allowed = (
                    f"one of its {part}: {', '.join(map(str, sorted(ids)[:20]))}"
                    if ids
                    else f"{part} first"
                )
                yield Finding(
                    f"product.{name}",
                    ("upcs", index, name),
                    found,
                    allowed,
                    nearest=close,
                )
        upc = variant["upc"]
        if (digit := check_digit(upc[:-1])) != upc[-1]:
            found = f"the check digit of {upc} is wrong: with these digits before it, it is {digit}"
            yield Finding(
                "product.upc",
                ("upcs", index, "upc"),
                found,
                "a bar code as it is printed (GS1)",
            )


_ATTRIBUTES_OF_UPC = (("color", "colors"), ("size", "sizes"))


def _declared(product: Mapping[str, Any], part: str) -> set[int]:
    return {entry["id"] for entry in product.get(part, ())}


def _own_ids(product: Mapping[str, Any], part: str) -> RecordFindings:
    entries = product[part]
    if len({entry["id"] for entry in entries}) == len(entries):
        return
    seen: set[int] = set()
    for index, entry in enumerate(entries):
        if entry["id"] in seen:
            found = f"the id {entry['id']} a second time among the {part}"
            yield Finding("unique", (part, index, "id"), found, "each once")
        seen.add(entry["id"])


def _updated(
    product: Mapping[str, Any], sound: Sound, known: Referable
) -> RecordFindings:
    if "updated" in product and sound(("updated",)):
        try:
            datetime.fromisoformat(product["updated"])
        except ValueError:
            found = f"{product['updated']!r} does not exist in the calendar"
            yield Finding("time.exists", ("updated",), found, "a time that exists")


def _stores(
    inventory: Mapping[str, Any], sound: Sound, known: Referable
) -> RecordFindings:
    stores = inventory.get("stores")
    if known.stores is None or not isinstance(stores, dict):
        return
    for number in stores:
        if number not in known.stores and sound(("stores", number)):
            yield replace(
                unknown(
                    ("stores", number), "store", "locationNumber", number, known.stores
                ),
                on_key=True,
            )


def _itself(
    recommendation: Mapping[str, Any], sound: Sound, known: Referable
) -> RecordFindings:
    if (
        sound(("product",))
        and sound(("products",))
        and recommendation["product"] in recommendation["products"]
    ):
        pointer = (
            "products",
            recommendation["products"].index(recommendation["product"]),
        )
        yield Finding(
            "recommendation.itself",
            pointer,
            "a product that is recommended with itself",
            "other products",
        )


def _parts_of(
    category: Mapping[str, Any], sound: Sound, known: Referable
) -> RecordFindings:
    """A category within another has no second parent."""
    for pointer, inner in inside(category):
        if "parent" in inner and sound((*pointer, "parent")):
            found = "a parent, and the category stands within another"
            yield Finding(
                "category.parent",
                (*pointer, "parent"),
                found,
                "one of them",
                on_key=True,
            )


def inside(category: Json, pointer: Pointer = ()) -> Iterator[tuple[Pointer, Any]]:
    """The categories below a category, each before those below it, with their places."""
    children = category.get("categories") if isinstance(category, dict) else None
    for index, child in enumerate(children if isinstance(children, list) else ()):
        where = (*pointer, "categories", index)
        if isinstance(child, dict):
            yield where, child
            yield from inside(child, where)


RecordRule = Callable[[Mapping[str, Any], Sound, Referable], RecordFindings]
RULES: Mapping[str, tuple[RecordRule, ...]] = {
    "category": (_parts_of,),
    "brand": (),
    "synonym": (),
    "product": (_categories, _promotions, _prices, _variants, _updated),
    "inventory": (_stores,),
    "review": (),
    "recommendation": (_itself,),
}


# -- what others must agree with -------------------------------------------------------

ColumnValue = tuple[str, int, Pointer]
"""A column, the number that goes there, and where the record says it."""


def values(kind: str, record: Json, sound: Sound) -> Iterator[ColumnValue]:
    """What a record has to itself, and what it refers to, as numbers for the columns.

    UPCs are compared as numbers, as GS1 does (a GTIN's zeros in front do not count).
    """
    return _VALUES[kind](record, sound) if isinstance(record, dict) else iter(())


def unsaid(kind: str, sound: Sound) -> Iterator[str]:
    """The columns whose numbers this record should give, and cannot, for they are at
    fault.
    """
    if kind == "product":
        if not sound(("id",)):
            yield PRODUCT
        if not sound(("upcs",)):
            yield UPC


def _of_product(product: Mapping[str, Any], sound: Sound) -> Iterator[ColumnValue]:
    own = sound(("id",))
    if own:
        yield PRODUCT, product["id"], ("id",)
    for index, variant in _items(product, "upcs", sound):
        yield UPC, int(variant["upc"]), ("upcs", index, "upc")
        yield SKU, variant["sku"], ("upcs", index, "sku")
    for index, member in _items(product, "members", sound):
        yield PRODUCT_NAMED, member, ("members", index)
        if own:
            yield COLLECTION, product["id"], ("members", index)
            yield MEMBER, member, ("members", index)


def _of_review(review: Mapping[str, Any], sound: Sound) -> Iterator[ColumnValue]:
    if sound(("id",)):
        yield REVIEW, review_number(review["id"]), ("id",)
    if sound(("product",)):
        yield PRODUCT_NAMED, review["product"], ("product",)


def _of_recommendation(
    recommendation: Mapping[str, Any], sound: Sound
) -> Iterator[ColumnValue]:
    if sound(("product",)):
        yield RECOMMENDATION, recommendation["product"], ("product",)
        yield PRODUCT_NAMED, recommendation["product"], ("product",)
    for index, product in _items(recommendation, "products", sound):
        yield PRODUCT_NAMED, product, ("products", index)


def _of_inventory(inventory: Mapping[str, Any], sound: Sound) -> Iterator[ColumnValue]:
    if sound(("upc",)):
        yield INVENTORY, int(inventory["upc"]), ("upc",)


_VALUES: Mapping[str, Callable[[Mapping[str, Any], Sound], Iterator[ColumnValue]]] = {
    "product": _of_product,
    "review": _of_review,
    "recommendation": _of_recommendation,
    "inventory": _of_inventory,
}
