"""From a product's document to the parts of version 4's responses (interface W2.9).

A product here is a document with its computed members, as `protocol.Catalog` returns
it. All functions are pure: what else a response depends on is in `Surroundings`.
"""

from shopwindow.catalog.feeds.rules import ends
from shopwindow.catalog.operations.surroundings import (
    Surroundings,
    live_promotions,
    product_url,
)
from shopwindow.content.reading.yaml import Json

FROM_STOCK = "POOL"
"""The order method of a UPC for which editors wrote none."""


def detail4(product: Json, around: Surroundings) -> Json:
    """Return the `productDetails` of a product, without its collections and members.

    Those need other documents, so the view adds them.
    """
    shipping = product.get("shipping", {})
    rendered: dict[str, Json] = {"summary": _summary4(product, around)}
    rendered["badges"] = {
        "new": product.get("new", False),
        **({"onsale": True} if product["onsale"] else {}),
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
        for promotion in live_promotions(product, around)
    ]


_PROMOTION_PROPERTIES = (
    "promotionType",
    "description",
    "offerDescription",
    "legalDisclaimer",
)
