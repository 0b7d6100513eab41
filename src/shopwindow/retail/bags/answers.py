"""How a bag is rendered: its items, and what the catalog says of them (interface W5.2).

All four operations return this. Prices are counted in whole cents, so that sums are
exact, and become numbers of dollars at the very end. A release without a catalog has
bags without prices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from shopwindow.content.reading.yaml import Json
from shopwindow.retail.articles import Articles
from shopwindow.retail.bags.table import Bag, Line

CatalogItem = tuple[Json, Json]
"""A product, and the entry of one of its UPCs."""


def answer_of(bag: Bag) -> Json:
    """Return the response of all four operations, as the database knows it.

    Items stand by sequence number, the order in which they came into the bag, which is
    that of ``bag``'s lines.
    """
    items = [_item(line) for line in bag.lines]
    value = {
        "bagId": bag.id,
        "bagGUID": bag.guid,
        "owner": {"userId": bag.user},
        "bagSummary": {"itemCount": sum(line.quantity for line in bag.lines)},
    }
    return {"bag": {**value, **({"items": items} if items else {})}}


def _item(line: Line) -> dict[str, Json]:
    return {
        "sequenceNumber": line.sequence,
        "quantity": line.quantity,
        "upcId": line.upc,
    }


def with_catalog(value: Json, catalog: Articles | None, most: int | None) -> Json:
    """Return the response for a bag with what the catalog says of its items.

    Args:
        value: what `answer_of` returned.
        catalog: None: the release has none, and nothing is said of prices and products.
        most: how many of one item a bag may hold, unless its product allows fewer. None:
            do not say of each item what its product is.
    """
    if catalog is None:
        return value
    bag = value["bag"]
    items = bag.get("items", [])
    entries = [catalog.product_of_sku(item["upcId"]) for item in items]
    summary = {**bag["bagSummary"], **_totals(items, entries)}
    value = {**bag, "bagSummary": summary}
    if items:
        value["items"] = [
            {**item, **_catalog_values(item["quantity"], entry, most)}
            for item, entry in zip(items, entries, strict=True)
        ]
    return {"bag": value}


def _totals(
    items: Sequence[Json], entries: Sequence[CatalogItem | None]
) -> dict[str, Json]:
    """Return the sums of a bag; an item that left the catalog since counts nothing."""
    prices = [
        (item["quantity"], price_of(entry))
        for item, entry in zip(items, entries, strict=True)
        if entry
    ]
    total = sum(quantity * price.now for quantity, price in prices)
    saved = sum(quantity * (price.before - price.now) for quantity, price in prices)
    return {
        "merchandiseTotal": _dollars(total),
        "grandTotal": _dollars(total),
        "totalSaved": _dollars(saved),
    }


def _catalog_values(
    quantity: int, entry: CatalogItem | None, most: int | None
) -> dict[str, Json]:
    """Return what the catalog says of an item, and of its product unless ``most`` is
    None.
    """
    if entry is None:  # it was in the catalog when it came into the bag
        return {"siteAvailablilityFlag": False, "errors": [{"code": "ITEM_UNKNOWN"}]}
    product, upc = entry
    price = price_of(entry)
    available = bool(upc.get("available", True))
    values: dict[str, Json] = {
        "upcNumber": upc["upc"],
        "productId": product["id"],
        "retailPrice": _dollars(price.now),
        "originalPrice": _dollars(price.before),
        "itemTotal": _dollars(quantity * price.now),
        "siteAvailablilityFlag": available,  # spelled so in interface W5.2
    }
    if most is not None:
        values["productInfo"] = _product_info(product, price, available, most)
    if not available:
        values["errors"] = [{"code": "ITEM_UNAVAILABLE"}]
    return values


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
    """What one piece costs in cents: now, and without the sale."""

    now: int
    before: int


def price_of(entry: CatalogItem) -> Price:
    """Return a UPC's own price, or its product's.

    Of a range it is the high end, so that nobody is promised less than it costs.
    """
    product, upc = entry
    price = upc.get("price", product["price"])
    before = _cents(price["regular"])
    now = _cents(price["sale"]) if "sale" in price else before
    return Price(now, before)


def _cents(amount: Json) -> int:
    """Return an amount of dollars, or the high end of a range of them, in cents."""
    dollars = amount["high"] if isinstance(amount, dict) else amount
    return int((Decimal(str(dollars)) * 100).to_integral_value())


def _dollars(cents: int) -> float:
    return cents / 100
