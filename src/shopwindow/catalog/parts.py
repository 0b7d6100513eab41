"""From a product's document to the parts of its responses (wire-shapes 2).

A product here is a document with its computed members, as `protocol.Catalog` returns
it. Version 3 shows an *element* in every list, and further parts on request; version 4
has other names for much of the same. All functions are pure: what else a response
depends on is in `Surroundings`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from shopwindow.catalog.rules import ends
from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.retail.articles import MAX_QUANTITY, most_of_one

TICKET = "Ticket"
"""The type of a price for which editors wrote none."""

FROM_STOCK = "POOL"
"""The order method of a UPC for which editors wrote none."""


@dataclass(frozen=True)
class Images:
    """What goes into the URLs of images: widths in pixels, and ``quality`` in percent,
    or None.
    """

    width: int = 164
    upc_width: int = 164
    swatch_width: int = 24
    quality: int | None = None


DEFAULT_IMAGES = Images()
"""The images of a request that names no widths."""


@dataclass(frozen=True)
class Surroundings:
    """What a product's responses depend on beside its document.

    The URLs are of site.yaml's `catalog`; ``promotion`` returns a live one by its id, or
    None; ``max_quantity`` is how many of one item a bag may hold.
    """

    image_url: str
    product_url: str
    promotion: Callable[[int], Json | None]
    max_quantity: int = MAX_QUANTITY


def surroundings(content: Content) -> Surroundings:
    """Return the surroundings of a release's products."""
    settings = content.setting("catalog") or {}
    return Surroundings(
        settings.get("image_url", ""),
        settings.get("product_url", ""),
        partial(content.document, "promotion", "promoId"),
        most_of_one(content),
    )


# -- the product element: search, browse and product detail v3 -------------------------


def element(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Json:
    """Return the element of a product: what every list of version 3 shows of it."""
    return {
        "id": product["id"],
        **{
            key: value
            for part in _ELEMENT
            for key, value in part(product, around, images)
        },
    }


Members = Iterable[tuple[str, Json]]
"""(key, value) pairs of a response, in order; what has no value is not among them."""


def v3_summary(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    summary = {
        "name": product["name"],
        "producttype": product["typeName"],
        "brand": product["brand"],
        "onsale": on_sale(product),
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


def v3_detailed_summary(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    """Yield the summary of product detail, which says more than that of a list."""
    for key, summary in v3_summary(product, around, images):
        yield key, {**summary, "description": product["description"]}


def v3_image(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    """Yield the primary image, the additional ones, and one of each color."""
    colors = product.get("colors", ())
    rendered = [
        {
            "imagetype": "PRIMARY_IMAGE",
            "imageurl": image_url(
                product["images"]["primary"], images.width, images, around
            ),
            "imagename": product["images"]["primary"],
            "colorized": bool(colors),
            "sequenceNumber": 0,
            "hasMoreColors": len(colors) > 1,
            "numberColors": len(colors),
            "isPrimaryImage": True,
        }
    ]
    for number, name in enumerate(product["images"].get("additional", ()), 1):
        rendered.append(
            _image("ADDITIONAL_IMAGE", name, number, images.width, images, around)
        )
    for number, color in enumerate(colors):
        rendered.append(_colorway(color, number, product, images, around))
    yield "image", rendered


def _colorway(
    color: Json, number: int, product: Json, images: Images, around: Surroundings
) -> Json:
    """Return a color's images; one that has none of its own has the product's."""
    primary = color.get("image", product["images"]["primary"])
    width, swatch = images.upc_width, color.get("swatch")
    additional = [
        _image("UPC_ADDITIONAL_IMAGE", name, position, width, images, around)
        for position, name in enumerate(color.get("additional", ()), 1)
    ]
    return {
        "type": "colorwayImage",
        "imagetype": "COLORWAY",
        "id": color["id"],
        "colornormal": color["normal"],
        "color": color["name"],
        "upcprimaryimage": _image(
            "UPC_PRIMARY_IMAGE", primary, 0, width, images, around
        ),
        **({"upcadditionalimage": additional} if additional else {}),
        "swatchsequencenumber": number,
        "swapoutsequencenumber": number,
        "swatchimage": _image(
            "SWATCH", swatch, number, images.swatch_width, images, around
        )
        if swatch
        else {},
    }


def _image(
    kind: str, name: str, number: int, width: int, images: Images, around: Surroundings
) -> Json:
    url = image_url(name, width, images, around)
    return {
        "imagetype": kind,
        "imageurl": url,
        "imagename": name,
        "sequenceNumber": number,
    }


def image_url(name: str, width: int, images: Images, around: Surroundings) -> str:
    """Return the URL of an image in some width."""
    quality = "" if images.quality is None else f"&qlt={images.quality}"
    return f"{around.image_url}/{name}?wid={width}{quality}"


def v3_price(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    """Yield what the product costs. `sale` is there exactly if it is on sale
    (wire-shapes 2).
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
        "onsale": on_sale(product),
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
        for promotion in _live(final, around)
    ]
    rendered = {"finalPrice": final["value"], "displayFinalPrice": final["display"]}
    return rendered | ({"promotions": promotions} if promotions else {})


def _live(named: Json, around: Surroundings) -> list[Json]:
    """Return the live promotions that a document names, by id."""
    promotions = map(around.promotion, sorted(named.get("promotions", ())))
    return [promotion for promotion in promotions if promotion is not None]


def v3_category(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    yield "category", [{"id": product["categories"][0], "type": "homecategory"}]


def v3_badges(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    """Yield badges; those of promotions only if the promotion is live."""
    live = [
        badge
        for badge in product.get("badges", ())
        if around.promotion(badge["promotionId"]) is not None
    ]
    rendered = {
        "new": product.get("new", False),
        "Rebate": "rebates" in product,
        "onsale": on_sale(product),
    }
    if live:
        rendered["promotionbadge"] = [badge["badge"] for badge in live]
        rendered["promotionbadges"] = [
            {name: badge[name] for name in _BADGE} for badge in live
        ]
    yield "badges", rendered


_BADGE = ("badge", "selectColor", "promotionId")
Piece = Callable[[Json, Surroundings, Images], Members]
_ELEMENT: tuple[Piece, ...] = (v3_summary, v3_image, v3_price, v3_category, v3_badges)

# -- what product detail v3 has beside the element -------------------------------------


def v3_attribute(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    if attributes := product.get("attributes"):
        yield (
            "attribute",
            [{"name": name, "values": values} for name, values in attributes.items()],
        )


def v3_availability(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    yield (
        "availability",
        {
            "available": product["available"],
            "instoreeligible": product.get("storeEligible", True),
        },
    )


def v3_upc(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    if upcs := upcs4(product):
        yield "upc", lowered(upcs)


def v3_rebate(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
    if rebates := rebates4(product):
        yield "rebate", lowered({"rebates": rebates})


def v3_promotion(
    product: Json, around: Surroundings, images: Images = DEFAULT_IMAGES
) -> Members:
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
"""The pieces for each word of product detail v3's `show` (interface 4.9)."""

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
    (wire-shapes 2).
    """
    if isinstance(value, dict):
        return {key.lower(): lowered(part) for key, part in value.items()}
    return [lowered(part) for part in value] if isinstance(value, list) else value


# -- product detail v4 -----------------------------------------------------------------


def detail4(product: Json, around: Surroundings) -> Json:
    """Return the `productDetails` of a product, without its collections and members.

    Those need other documents, so the view adds them.
    """
    shipping = product.get("shipping", {})
    rendered: dict[str, Json] = {"summary": _summary4(product, around)}
    rendered["badges"] = {
        "new": product.get("new", False),
        **({"onsale": True} if on_sale(product) else {}),
    }
    rendered["shipping"] = {
        **{name: shipping[key] for name, key in _SHIPPING if key in shipping},
        "giftWrappable": product.get("giftWrappable", False),
        "giftMessageable": product.get("giftMessageable", False),
    }
    if attributes := product.get("attributes"):
        rendered["attributes"] = [
            _attribute4(name, values) for name, values in attributes.items()
        ]
    rendered["primaryImage"] = _named("PRIMARY_IMAGE", product["images"]["primary"], 0)
    if additional := product["images"].get("additional"):
        rendered["additionalImages"] = [
            _named("ADDITIONAL_IMAGE", name, 1 + n) for n, name in enumerate(additional)
        ]
    rendered["brand"] = {"brandname": product["brand"]}
    if "brandId" in product:
        rendered["brand"]["brandid"] = product["brandId"]
    if "corpclass" in product:
        rendered["corpclass"] = product["corpclass"]
    if product["available"]:
        rendered["price"] = price4(product["price"], product["price"].get("typeId", 0))
    if colors := product.get("colors"):
        rendered["colorMap"] = [
            _color4(color, number) for number, color in enumerate(colors)
        ]
    if sizes := product.get("sizes"):
        rendered["SizeMap"] = [
            {
                "sizeid": size["id"],
                "sizenormal": size["normal"],
                "sequenceNumber": number,
            }
            for number, size in enumerate(sizes)
        ]
    rendered["availability"] = {"available": product["available"]}
    return rendered | {"urlmetadata": {"urls": _urls(around)}}


_SHIPPING = (
    ("shippingMethods", "methods"),
    ("returnConstraint", "returnConstraint"),
    ("notes", "notes"),
)


def _summary4(product: Json, around: Surroundings) -> Json:
    rendered = {
        "name": product["name"],
        "productURL": product_url(product, around),
        "description": product["description"],
        "typeName": product["typeName"],
        "available": product["available"],
        "productStartDays": product.get("startDays"),
        "metricNumberOfReviews": product["reviewCount"],
        "metricRating": product["rating"] if product["reviewCount"] else None,
        "isNew": product.get("new", False),
        "maxQuantity": min(
            around.max_quantity, product.get("maxQuantity", around.max_quantity)
        ),
        "bullets": product.get("bullets"),
        "active": product.get("active", True),
        "defaultCategoryId": product["categories"][0],
        "giftWrappable": product.get("giftWrappable", False),
        "visible": product.get("visible", True),
        "checkInStoreEligibility": product.get("storeEligible", True),
        "productGroup": product.get("productGroup", product["typeName"]),
    }
    return {name: value for name, value in rendered.items() if value is not None}


def _attribute4(name: str, values: list[str]) -> Json:
    """Return an attribute. Several values have numbers for their order; one needs none."""
    if len(values) == 1:
        return {"name": name, "values": [{"value": values[0]}]}
    return {
        "name": name,
        "values": [
            {"value": value, "seqnum": 1 + number}
            for number, value in enumerate(values)
        ],
    }


def _named(kind: str, name: str, number: int) -> Json:
    return {"imagetype": kind, "imagename": name, "sequenceNumber": number}


def price4(price: Json, type_id: int) -> Json:
    """Return a price in the shape of version 4: `original` only beside a sale price."""
    regular, sale = price["regular"], price.get("sale")
    if sale is None:
        rendered = {"retail": _retail(regular, "")}
    else:
        rendered = {
            "retail": _retail(sale, "Sale"),
            "original": _retail(regular, "Reg."),
        }
    return rendered | {"pricetype": type_id, "onsale": sale is not None}


def _retail(amount: Json, label: str) -> Json:
    low, high = ends(amount)
    value = {"low": low, "high": high} if high != low else {"low": low}
    return {"pricevalue": value, **({"pricelabel": label} if label else {})}


def _color4(color: Json, number: int) -> Json:
    rendered = {
        "colorwayid": color["id"],
        "imagetype": "COLORWAY",
        "colornormal": color["normal"],
        "color": color["name"],
        "swatchimage": _named("SWATCH", color["swatch"], number)
        if "swatch" in color
        else {},
    }
    if "image" in color:
        rendered["upcprimaryimage"] = _named(
            "UPC_PRIMARY_IMAGE", color["image"], number
        )
    return rendered


def _urls(around: Surroundings) -> list[Json]:
    """Return how clients build the URL of an image from its name. There are no size
    charts.
    """
    pattern = f"{around.image_url}/{{imagename}}?wid={{width}}&qlt={{quality}}"
    return [{"urltype": kind, "urlformat": pattern} for kind in ("Image", "Swatch")]


def upcs4(product: Json) -> list[Json]:
    """Return the `upcs` of a product, in the order of its document."""
    return [
        {"upcnumber": int(upc["upc"]), "upcDetails": _upc4(upc, product)}
        for upc in product.get("upcs", ())
    ]


def _upc4(upc: Json, product: Json) -> Json:
    attributes = [
        {"name": name, "values": [{"value": value} for value in values]}
        for name, values in upc.get("attributes", {}).items()
    ]
    available = upc["available"]
    return {
        "skuid": upc["sku"],
        "active": upc.get("active", True),
        **({"colorwayid": upc["color"]} if "color" in upc else {}),
        **({"sizeid": upc["size"]} if "size" in upc else {}),
        **({"attributes": attributes} if attributes else {}),
        "price": price4(
            upc.get("price", product["price"]), product["price"].get("typeId", 0)
        ),
        "availability": {
            "available": available,
            "orderMethod": upc.get("orderMethod", FROM_STOCK),
            "upcId": upc["sku"],
        },
    }


def rebates4(product: Json) -> list[Json]:
    """Return the `rebates` of a product, by id."""
    return [
        {
            "rebateId": rebate["id"],
            **{name: rebate[name] for name in ("description", "url") if name in rebate},
        }
        for rebate in sorted(
            product.get("rebates", ()), key=lambda rebate: rebate["id"]
        )
    ]


def promotions4(product: Json, around: Surroundings) -> list[Json]:
    """Return the live `promotions` of a product, by id."""
    return [
        {
            "promotionID": promotion["promoId"],
            **{
                name: promotion[name]
                for name in _PROMOTION_PROPERTIES
                if name in promotion
            },
        }
        for promotion in _live(product, around)
    ]


_PROMOTION_PROPERTIES = (
    "promotionType",
    "description",
    "offerDescription",
    "legalDisclaimer",
)

# -- both ------------------------------------------------------------------------------


def on_sale(product: Json) -> bool:
    """Whether the product is on sale: `summary`, `price` and `badges` agree
    (wire-shapes 2).
    """
    return "sale" in product["price"]


def product_url(product: Json, around: Surroundings) -> str:
    """Return the product's own URL, or the one that site.yaml has a pattern for."""
    url: str = product.get("url") or around.product_url.replace(
        "{id}", str(product["id"])
    )
    return url
