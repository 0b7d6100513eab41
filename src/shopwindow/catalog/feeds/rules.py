"""The rules of the catalog's records that no schema can state. All functions are pure.

There are two sorts. Some rules hold for one record by itself (`findings`), or for a
record and the few ids that it may refer to (`Referable`). Others hold among all
records: that a product's id occurs once, that a reviewed product exists. For these a
record gives values to *columns* (`values`): PRODUCT has the ids of all products,
PRODUCT_NAMED those that other records refer to, a collection's members among them.
`catalog.index.large` compares the columns when all records were read.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import EACH, KEY, Kind, values_at
from shopwindow.content.reading.yaml import Json
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Pointer

Sound = Callable[[Pointer], bool]
"""Returns whether the schema finds nothing wrong with a part of the record."""

RecordFindings = Iterator[Finding]

Referable = Mapping[str, frozenset[Any] | None]
"""The ids that records may refer to, by their kind, beside those in columns.

None: not all of them can be known, because a file could not be read. References to them
are not checked then.
"""

PRODUCT, UPC, SKU, REVIEW, RECOMMENDATION, INVENTORY = (
    "product",
    "upc",
    "sku",
    "review",
    "recommendation",
    "inventory",
)
PRODUCT_NAMED = "product_named"
"""The columns."""

UNIQUE = {
    PRODUCT: ("id", "product"),
    UPC: ("UPC", "product"),
    SKU: ("sku", "product"),
    REVIEW: ("id", "review"),
    RECOMMENDATION: ("product", "recommendation"),
    INVENTORY: ("UPC", "inventory"),
}
"""The columns whose values occur once → what such a value is called in messages, and
the kind of record that has it.
"""

MAX_CATEGORY_DEPTH = 8
"""Levels of categories: as many as the category index shows (interface W2.3)."""

MAX_COMPARED_IDS = 300
"""Of more ids than these the nearest is not searched for, since each would be compared.
Larger or smaller numbers work as well.
"""

MAX_LISTED_IDS = 20
"""Ids of colors or sizes that a message lists. Larger or smaller numbers work as well.
"""


# -- one number or price ---------------------------------------------------------------


def check_digit(digits: str) -> str:
    """Return the last digit of a UPC that begins with ``digits``.

    From the right, every other digit counts three times, beginning with the first (GS1
    General Specifications 7.9.1).
    """
    codes = digits.encode()
    threefold, single = codes[::-2], codes[-2::-2]
    total = 3 * (sum(threefold) - _ZERO * len(threefold))
    total += sum(single) - _ZERO * len(single)
    return str(-total % 10)


_ZERO = ord("0")


def ends(amount: Json) -> tuple[float, float]:
    """Return the low and the high end of a price; they are equal if it is no range."""
    if isinstance(amount, dict):
        return amount["low"], amount["high"]
    return amount, amount


def _shown(amount: Json) -> str:
    if isinstance(amount, dict):
        return f"{amount['low']} to {amount['high']}"
    return str(amount)


# -- one record by itself --------------------------------------------------------------


def findings(
    kind: Kind, record: Json, sound: Sound, referable: Referable
) -> RecordFindings:
    """Yield what is wrong with a record beside what its schema finds.

    Rules look only at the parts that are ``sound``.
    """
    if isinstance(record, dict):
        yield from _references(kind, record, sound, referable)
        for rule in RULES.get(kind.name, ()):
            yield from rule(record, sound)


def always(pointer: Pointer) -> bool:
    """Return that a part is sound, as all parts of a valid record are."""
    return True


def _references(
    kind: Kind, record: Json, sound: Sound, referable: Referable
) -> RecordFindings:
    """Check that what a record refers to exists."""
    for reference in kind.references:
        existing = referable.get(reference.kind)
        name, last = reference.pointer[0], reference.pointer[-1]
        if existing is None or name not in record:
            continue
        # A UPC may have stock in hundreds of stores, all of which there mostly are.
        if last == KEY and sound is always and record[name].keys() <= existing:
            continue
        for pointer, value in values_at(record, reference.pointer):
            if sound(pointer) and value not in existing:
                property = reference.property or "id"
                finding = unknown(pointer, reference.kind, property, value, existing)
                yield replace(finding, on_key=last == KEY)


def unknown(
    pointer: Pointer, kind: str, name: str, value: Any, existing: Collection[Any]
) -> Finding:
    """Return the finding about a reference to a document that does not exist.

    ``existing`` are the values that would do; of few the nearest is named.
    """
    is_compared = len(existing) <= MAX_COMPARED_IDS
    return Finding(
        "reference",
        pointer,
        f"no {kind} has the {name} {value}",
        f"the {name} of a {kind}",
        nearest=nearest(str(value), map(str, existing)) if is_compared else "",
        absent=(kind, name, str(value)),
    )


def _items(
    record: Mapping[str, Any], name: str, sound: Sound
) -> Iterable[tuple[int, Any]]:
    """Return the sound items of a list with their indexes."""
    items = record.get(name, ())
    if sound((name,)):
        return enumerate(items)
    return [
        (index, item)
        for index, item in enumerate(items if isinstance(items, list) else ())
        if sound((name, index))
    ]


# products


def _prices(product: Mapping[str, Any], sound: Sound) -> RecordFindings:
    """Check the prices of a product and of its UPCs."""
    if "price" in product and sound(("price",)):
        yield from _price(product["price"], ("price",))
    for index, upc in _items(product, "upcs", sound):
        if "price" in upc:
            yield from _price(upc["price"], ("upcs", index, "price"))


def _price(price: Mapping[str, Any], pointer: Pointer) -> RecordFindings:
    """Check that a range goes from low to high, and that a sale is a lower price.

    The sale is nowhere above the regular price, and somewhere below it. It is not
    compared if a range is at fault.
    """
    are_ranges_good = True
    for name in ("regular", "sale"):
        amount = price.get(name)
        if isinstance(amount, dict) and amount["low"] >= amount["high"]:
            are_ranges_good = False
            yield Finding(
                "price.range",
                (*pointer, name, "low"),
                f"low {amount['low']} is not below high {amount['high']}",
                "low below high; one price as a number",
            )
    if "sale" not in price or not are_ranges_good:
        return

    regular, sale = ends(price["regular"]), ends(price["sale"])
    if sale == regular or sale[0] > regular[0] or sale[1] > regular[1]:
        yield Finding(
            "price.sale",
            (*pointer, "sale"),
            f"the sale price {_shown(price['sale'])} is not below"
            f" the regular price {_shown(price['regular'])}",
            "a lower price; without a sale, no sale",
        )


def _own_ids(product: Mapping[str, Any], sound: Sound) -> RecordFindings:
    """Check that ids are unique among a product's colors, sizes, and rebates."""
    for part in ("colors", "sizes", "rebates"):
        if part not in product or not sound((part,)):
            continue
        seen: set[int] = set()
        for index, entry in enumerate(product[part]):
            id = entry["id"]
            if id in seen:
                found = f"the id {id} a second time among the {part}"
                yield Finding("unique", (part, index, "id"), found, "each once")
            seen.add(id)


def _upcs(product: Mapping[str, Any], sound: Sound) -> RecordFindings:
    """Check that a UPC names its product's colors and sizes, and its check digit."""
    ids_of = {
        part: {entry["id"] for entry in product.get(part, ())}
        for _, part in _ATTRIBUTES_OF_UPC
        if sound((part,))
    }
    absent: set[tuple[str, int]] = set()  # an id is reported where it is named first
    for index, upc in _items(product, "upcs", sound):
        for name, part in _ATTRIBUTES_OF_UPC:
            if part not in ids_of or name not in upc or upc[name] in ids_of[part]:
                continue
            if (name, upc[name]) not in absent:
                absent.add((name, upc[name]))
                yield _no_attribute(index, name, part, upc[name], ids_of[part])
        number = upc["upc"]
        digit = check_digit(number[:-1])
        if digit != number[-1]:
            yield Finding(
                "product.upc",
                ("upcs", index, "upc"),
                f"the check digit of {number} is wrong:"
                f" with these digits before it, it is {digit}",
                "a bar code as it is printed (GS1)",
            )


_ATTRIBUTES_OF_UPC = (("color", "colors"), ("size", "sizes"))
"""(the property of a UPC, the list of its product that declares the ids)."""


def _no_attribute(index: int, name: str, part: str, id: int, ids: set[int]) -> Finding:
    listed = ", ".join(map(str, sorted(ids)[:MAX_LISTED_IDS]))
    return Finding(
        f"product.{name}",
        ("upcs", index, name),
        f"the product has no {name} with the id {id}",
        f"one of its {part}: {listed}" if ids else f"{part} first",
        nearest=nearest(str(id), map(str, ids)),
    )


def _updated(product: Mapping[str, Any], sound: Sound) -> RecordFindings:
    """Check that the time of the last update exists; the schema checks its form only."""
    if "updated" in product and sound(("updated",)):
        try:
            datetime.fromisoformat(product["updated"])
        except ValueError:
            found = f"{product['updated']!r} does not exist in the calendar"
            yield Finding("time.exists", ("updated",), found, "a time that exists")


# other kinds


def _itself(recommendation: Mapping[str, Any], sound: Sound) -> RecordFindings:
    """Check that a product is not recommended with itself."""
    if not (sound(("product",)) and sound(("products",))):
        return
    product, products = recommendation["product"], recommendation["products"]
    if product in products:
        yield Finding(
            "recommendation.itself",
            ("products", products.index(product)),
            "a product that is recommended with itself",
            "other products",
        )


def _parents(category: Mapping[str, Any], sound: Sound) -> RecordFindings:
    """Check that a category within another has no `parent` beside that."""
    for pointer, inner in inside(category):
        if pointer and "parent" in inner and sound((*pointer, "parent")):
            yield Finding(
                "category.parent",
                (*pointer, "parent"),
                "a parent, and the category stands within another",
                "one of them",
                on_key=True,
            )


def inside(category: Json, pointer: Pointer = ()) -> Iterator[tuple[Pointer, Any]]:
    """Yield a category and those within it, with their places.

    Each comes before those within it. What is no object is left out.
    """
    if not isinstance(category, dict):
        return
    yield pointer, category
    children = category.get("categories")
    for index, child in enumerate(children if isinstance(children, list) else ()):
        yield from inside(child, (*pointer, "categories", index))


RecordRule = Callable[[Mapping[str, Any], Sound], RecordFindings]
RULES: Mapping[str, tuple[RecordRule, ...]] = {
    "category": (_parents,),
    "product": (_prices, _own_ids, _upcs, _updated),
    "recommendation": (_itself,),
}
"""The rules of each kind, in the order of their findings."""


# -- what a record gives to the columns ------------------------------------------------

ColumnValue = tuple[str, int | str, Pointer]
"""A column, a value in it, and the value's place in the record."""


COLUMNS: Mapping[str, tuple[tuple[str, Pointer], ...]] = {
    "product": (
        (PRODUCT, ("id",)),
        (UPC, ("upcs", EACH, "upc")),
        (SKU, ("upcs", EACH, "sku")),
        (PRODUCT_NAMED, ("members", EACH)),
    ),
    "review": ((REVIEW, ("id",)), (PRODUCT_NAMED, ("product",))),
    "recommendation": (
        (RECOMMENDATION, ("product",)),
        (PRODUCT_NAMED, ("product",)),
        (PRODUCT_NAMED, ("products", EACH)),
    ),
    "inventory": ((INVENTORY, ("upc",)),),
}
"""The columns of each kind, each with where a record has its values."""


def values(kind: str, record: Json, sound: Sound) -> Iterator[ColumnValue]:
    """Yield the values that a record gives to the columns.

    UPCs are compared as numbers, as GS1 does: leading zeros of a GTIN do not count.
    """
    for column, places in COLUMNS[kind]:
        for pointer, value in values_at(record, places):
            if sound(pointer):
                is_upc = column in (UPC, INVENTORY)
                yield column, int(value) if is_upc else value, pointer


def lost_columns(kind: str, sound: Sound) -> Iterator[str]:
    """Yield the columns that a record gives no values to, because they are at fault.

    Nothing can be missing from such a column, since its values are not all there.
    """
    if kind == "product":
        if not sound(("id",)):
            yield PRODUCT
        if not sound(("upcs",)):
            yield UPC
