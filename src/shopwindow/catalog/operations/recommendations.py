"""Recommendations: products to show beside some products.

Source of the shapes: interface 4.9, W2.10.
"""

from collections.abc import Sequence

from shopwindow.catalog.operations.answers import PRODUCT_IDS, nothing, of
from shopwindow.catalog.operations.parts_v4 import price4
from shopwindow.catalog.operations.surroundings import (
    Surroundings,
    image_url,
    product_url,
    surroundings,
)
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Count
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    Call,
    FromContent,
    Operation,
    Parameter,
)


def recommendations(content: Content, call: Call) -> Json:
    """Return products to show beside some products, which are never among them.

    Those of the product with the lowest id come first. Raises Refusal if none of the
    products exists.
    """
    ids: Sequence[int] = call["productId"]
    catalog = of(content)
    existing = catalog.products(ids)
    if not existing:
        raise nothing("productId", "no product has such an id")

    most = call["maxprods"]
    number = most + len(ids)  # as many as ``ids`` may be left out below
    candidates = dict.fromkeys(
        candidate
        for id in sorted(existing)
        for candidate in catalog.recommended(id, number)
        if candidate not in ids
    )
    chosen = list(candidates)[:most]

    products, around = catalog.products(chosen), surroundings(content)
    rendered = [_recommended(products[id], around) for id in chosen if id in products]
    return {"recommendedproducts": rendered} if rendered else {}


def _recommended(product: Json, around: Surroundings) -> Json:
    """Return a recommended product; it has a price only if it is available.

    Without reviews its rating is 0, since `reviewrating` is never left out (interface W2.10).
    """
    price = {}
    if product["available"]:
        retail = price4(product["price"], 0)["retail"]
        original = price4({"regular": product["price"]["regular"]}, 0)["retail"]
        price = {"productprice": {"original": original, "retail": retail}}
    return {
        "productid": product["id"],
        "name": product["name"],
        "primaryimage": image_url(
            product["images"]["primary"], around.images.width, around
        ),
        "reviewrating": product["rating"] if product["reviewCount"] else 0,
        "reviewsnumber": product["reviewCount"],
        "productURL": product_url(product, around),
        **price,
    }


OPERATIONS = (
    Operation(
        "recommendations",
        "v4/recommendations/product/{productId}",
        FromContent(recommendations),
        "recommendations",
        "Products to look at beside some products.",
        (
            PRODUCT_IDS,
            Parameter("maxprods", Count(100), "At most so many.", default=10),
            CALLBACK,
        ),
    ),
)
