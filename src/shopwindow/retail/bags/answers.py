"""A bag as its answer tells it (wire shapes §5): its items, and what the catalog says of them
where there is one.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from shopwindow.content.yaml import Json
from shopwindow.retail.bags.table import Bag, Line

CatalogItem = tuple[Json, Json]
"""What a catalog says of an item: its product, and its UPC."""


def answer_of(bag: Bag, catalog: Any, most: int, with_info: bool) -> Json:
    """The answer of all four operations. Items stand by sequence number: the order in which
    they came into the bag.

    ``catalog``: the articles (retail.articles), or None, and then nothing is said of prices and
    products. ``most``: pieces of an item that a bag may hold, where its product allows no
    fewer. ``with_info``: say of each item what its product is.
    """
    entries = [
        (line, None if catalog is None else catalog.product_of_sku(line.upc))
        for line in bag.lines
    ]
    summary: dict[str, Json] = {"itemCount": sum(line.quantity for line in bag.lines)}
    items = [_line(line) for line in bag.lines]
    if catalog is not None:
        items = [
            item | _known(line, entry, most if with_info else None)
            for item, (line, entry) in zip(items, entries, strict=True)
        ]
        prices = [(line.quantity, price_of(entry)) for line, entry in entries if entry]
        total = sum(quantity * price.now for quantity, price in prices)
        saved = sum(quantity * (price.before - price.now) for quantity, price in prices)
        summary |= {
            "merchandiseTotal": _money(total),
            "grandTotal": _money(total),
            "totalSaved": _money(saved),
        }
    value = {
        "bagId": bag.id,
        "bagGUID": bag.guid,
        "owner": {"userId": bag.user},
        "bagSummary": summary,
    }
    return {"bag": {**value, **({"items": items} if items else {})}}


def _line(line: Line) -> dict[str, Json]:
    return {"sequenceNumber": line.sequence, "quantity": line.quantity, "upcId": line.upc}


def _known(line: Line, entry: CatalogItem | None, most: int | None) -> dict[str, Json]:
    """What the catalog says of an item; of its product where ``most`` is given."""
    if entry is None:  # it was in the catalog when it came into the bag
        return {"siteAvailablilityFlag": False, "errors": [{"code": "ITEM_UNKNOWN"}]}
    product, upc = entry
    price, available = price_of(entry), bool(upc.get("available", True))
    told: dict[str, Json] = {
        "upcNumber": upc["upc"],
        "productId": product["id"],
        "retailPrice": _money(price.now),
        "originalPrice": _money(price.before),
        "itemTotal": _money(line.quantity * price.now),
        "siteAvailablilityFlag": available,
    }
    if most is not None:
        told["productInfo"] = _product_info(product, price, available, most)
    if not available:
        told["errors"] = [{"code": "ITEM_UNAVAILABLE"}]
    return told


def _product_info(product: Json, price: "Price", available: bool, most: int) -> Json:
    return {
        "productDescription": product["name"],
        "primaryImageName": product["images"]["primary"],
        "brandName": product["brand"],
        "maxQuantity": min(most, product.get("maxQuantity", most)),
        "onSale": price.now < price.before,
        "productAvailable": available,
    }


@dataclass(frozen=True)
class Price:
    """Of one piece, in cents: what it costs now, and without the sale."""

    now: int
    before: int


def price_of(entry: CatalogItem) -> Price:
    """A UPC's own price, or its product's; of a range the high end, so that nobody is promised
    less than it costs.
    """
    product, upc = entry
    price = upc.get("price", product["price"])
    before = _cents(price["regular"])
    return Price(_cents(price["sale"]) if "sale" in price else before, before)


def _cents(amount: Json) -> int:
    return int(
        (
            Decimal(str(amount["high"] if isinstance(amount, dict) else amount)) * 100
        ).to_integral_value()
    )


def _money(cents: int) -> float:
    return cents / 100
