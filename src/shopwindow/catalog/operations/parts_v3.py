"""From a product's document to the parts of version 3's responses (interface W2.1, W2.7).

Every list shows an *element* of each product; product detail shows further parts on
request. UPCs, rebates and promotions are those of version 4 with other keys. All
functions are pure, as in `parts_v4`.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from shopwindow.catalog.feeds.rules import ends
from shopwindow.catalog.operations.parts_v4 import promotions4, rebates4, upcs4
from shopwindow.catalog.operations.surroundings import (
    Surroundings,
    image_url,
    live_promotions,
    product_url,
)
from shopwindow.content.reading.yaml import Json

TICKET = "Ticket"
"""The type of a price for which editors wrote none."""


# -- the product element: search, browse and product detail v3 -------------------------


def element(product: Json, around: Surroundings) -> Json:
    """Return the element of a product: what every list of version 3 shows of it."""
    return {
        "id": product["id"],
        **{key: value for part in _ELEMENT for key, value in part(product, around)},
    }


Members = Iterable[tuple[str, Json]]
"""(key, value) pairs of a response, in order; what has no value is not among them."""


def v3_summary(product: Json, around: Surroundings) -> Members:
    summary = {
        "name": product["name"],
        "producttype": product["typeName"],
        "brand": product["brand"],
        "onsale": product["onsale"],
        "producturl": product_url(product, around),
        "iscollection": "members" in product,
        "available": product["available"],
    }
    if "startDays" in product:
        summary["productstartdays"] = product["startDays"]
    summary["totalreviews"] = product["reviewCount"]
    if product["reviewCount"]:
        summary["customerrating"] = product["rating"]
    yield "summary", summary


def v3_detailed_summary(product: Json, around: Surroundings) -> Members:
    """Yield the summary of product detail, which says more than that of a list."""
    for key, summary in v3_summary(product, around):
        yield key, {**summary, "description": product["description"]}


def v3_image(product: Json, around: Surroundings) -> Members:
    """Yield the primary image, the additional ones, and one of each color."""
    colors, width = product.get("colors", ()), around.images.width
    rendered = [
        {
            "imagetype": "PRIMARY_IMAGE",
            "imageurl": image_url(product["images"]["primary"], width, around),
            "imagename": product["images"]["primary"],
            "colorized": bool(colors),
            "sequenceNumber": 0,
            "hasMoreColors": len(colors) > 1,
            "numberColors": len(colors),
            "isPrimaryImage": True,
        }
    ]
    for number, name in enumerate(product["images"].get("additional", ()), 1):
        rendered.append(_image("ADDITIONAL_IMAGE", name, number, width, around))
    for number, color in enumerate(colors):
        rendered.append(_colorway(color, number, product, around))
    yield "image", rendered


def _colorway(color: Json, number: int, product: Json, around: Surroundings) -> Json:
    """Return a color's images; one that has none of its own has the product's."""
    primary = color.get("image", product["images"]["primary"])
    width, swatch = around.images.upc_width, color.get("swatch")
    additional = [
        _image("UPC_ADDITIONAL_IMAGE", name, position, width, around)
        for position, name in enumerate(color.get("additional", ()), 1)
    ]
    return {
        "type": "colorwayImage",
        "imagetype": "COLORWAY",
        "id": color["id"],
        "colornormal": color["normal"],
        "color": color["name"],
        "upcprimaryimage": _image("UPC_PRIMARY_IMAGE", primary, 0, width, around),
        **({"upcadditionalimage": additional} if additional else {}),
        "swatchsequencenumber": number,
        "swapoutsequencenumber": number,
        "swatchimage": _image(
            "SWATCH", swatch, number, around.images.swatch_width, around
        )
        if swatch
        else {},
    }


def _image(kind: str, name: str, number: int, width: int, around: Surroundings) -> Json:
    url = image_url(name, width, around)
    return {
        "imagetype": kind,
        "imageurl": url,
        "imagename": name,
        "sequenceNumber": number,
    }


def v3_price(product: Json, around: Surroundings) -> Members:
    """Yield what the product costs. `sale` is there exactly if it is on sale
    (interface W2.1).
    """
    price = product["price"]
    regular, sale = price["regular"], price.get("sale")
    now = regular if sale is None else sale
    rendered = {"regular": _labelled(regular, "Reg.")}
    if sale is not None:
        rendered["sale"] = _labelled(sale, "Sale")
    if not isinstance(now, dict):
        rendered["current"] = _labelled(now, "Reg." if sale is None else "Sale")
    if sale is not None and not isinstance(regular, dict):
        rendered["original"] = _labelled(regular, "Orig.")
    rendered |= {
        "pricetype": price.get("type", TICKET),
        "pricetypeid": price.get("typeId", 0),
        "onsale": product["onsale"],
    }
    if "displayText" in price:
        rendered["displayText"] = price["displayText"]
    off = _percentages_off(regular, sale)
    yield "price", rendered | {"percentageOff": min(off), "percentageOffHigh": max(off)}
    if "finalPrice" in price:
        yield "finalPrice", _final(price["finalPrice"], around)


def _labelled(amount: Json, label: str) -> Json:
    """Return an amount with a label; a range has no label."""
    if isinstance(amount, dict):
        return {"low": amount["low"], "high": amount["high"]}
    return {"value": amount, "label": label}


def _percentages_off(regular: Json, sale: Json | None) -> list[int]:
    """Return how much is off at both ends of the range, in whole percents, rounded
    down.
    """
    if sale is None:
        return [0]
    return [
        _percent(before, now)
        for before, now in zip(ends(regular), ends(sale), strict=True)
    ]


def _percent(before: float, now: float) -> int:
    """Return the percentage off, rounded down.

    It is computed on decimal digits as they are written: 0.7 of 1.0 is 30 % off, of
    which binary fractions would make 29.
    """
    high, low = Decimal(str(before)), Decimal(str(now))
    return max(0, int((high - low) * 100 / high)) if high else 0


def _final(final: Json, around: Surroundings) -> Json:
    promotions = [
        {
            "promotionId": promotion["promoId"],
            "global": promotion["global"],
            "promotionName": promotion["promotionName"],
        }
        for promotion in live_promotions(final, around)
    ]
    rendered = {"finalPrice": final["value"], "displayFinalPrice": final["display"]}
    return rendered | ({"promotions": promotions} if promotions else {})


def v3_category(product: Json, around: Surroundings) -> Members:
    yield "category", [{"id": product["categories"][0], "type": "homecategory"}]


def v3_badges(product: Json, around: Surroundings) -> Members:
    """Yield badges; those of promotions only if the promotion is live."""
    live = [
        badge
        for badge in product.get("badges", ())
        if around.promotion(badge["promotionId"]) is not None
    ]
    rendered = {
        "new": product.get("new", False),
        "Rebate": "rebates" in product,
        "onsale": product["onsale"],
    }
    if live:
        rendered["promotionbadge"] = [badge["badge"] for badge in live]
        rendered["promotionbadges"] = [
            {name: badge[name] for name in _BADGE} for badge in live
        ]
    yield "badges", rendered


_BADGE = ("badge", "selectColor", "promotionId")
Piece = Callable[[Json, Surroundings], Members]
_ELEMENT: tuple[Piece, ...] = (v3_summary, v3_image, v3_price, v3_category, v3_badges)

# -- what product detail v3 has beside the element -------------------------------------


def v3_attribute(product: Json, around: Surroundings) -> Members:
    if attributes := product.get("attributes"):
        yield (
            "attribute",
            [{"name": name, "values": values} for name, values in attributes.items()],
        )


def v3_availability(product: Json, around: Surroundings) -> Members:
    yield (
        "availability",
        {
            "available": product["available"],
            "instoreeligible": product.get("storeEligible", True),
        },
    )


def v3_upc(product: Json, around: Surroundings) -> Members:
    if upcs := upcs4(product):
        yield "upc", lowered(upcs)


def v3_rebate(product: Json, around: Surroundings) -> Members:
    if rebates := rebates4(product):
        yield "rebate", lowered({"rebates": rebates})


def v3_promotion(product: Json, around: Surroundings) -> Members:
    if promotions := promotions4(product, around):
        yield "promotion", lowered(promotions)


PARTS_BY_WORD: Mapping[str, tuple[Piece, ...]] = {
    "summary": (v3_detailed_summary, v3_badges),
    "price": (v3_price,),
    "attribute": (v3_attribute,),
    "promotion": (v3_promotion,),
    "image": (v3_image,),
    "category": (v3_category,),
    "availability": (v3_availability,),
    "rebate": (v3_rebate,),
    "upc": (v3_upc,),
    "review": (),  # asks the catalog
}
"""The pieces for each word of product detail v3's `show` (interface W2.7)."""

ORDER: tuple[Piece, ...] = (
    v3_detailed_summary,
    *_ELEMENT[1:],
    v3_attribute,
    v3_availability,
    v3_upc,
    v3_rebate,
    v3_promotion,
)
"""The order in which pieces stand in a response."""


def lowered(value: Json) -> Json:
    """Return a value with all keys in lower case, as version 3 has what v4 has
    (interface W2.7).
    """
    if isinstance(value, dict):
        return {key.lower(): lowered(part) for key, part in value.items()}
    return [lowered(part) for part in value] if isinstance(value, list) else value
