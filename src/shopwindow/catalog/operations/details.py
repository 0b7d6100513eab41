"""Details of products, as both versions have them.

Source of the shapes: interface 4.9, W2.7, W2.9.

How details work. A client names products by id or by UPC, and each version has one
function that returns what it shows of some products, by id. `response` puts the
products in order of id, and an error beside them for each number that leads to none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from shopwindow.catalog.operations.answers import nothing, of
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.answering.answer import ERROR_CODES
from shopwindow.problems import Fault

ProductsById = Mapping[int, Json]
"""What a response shows of products, by their ids."""


@dataclass(frozen=True)
class NumberKind:
    """What the numbers of a request are, and how an error says that one leads nowhere.

    ``parameter`` is what the request calls them. ``key`` is the error's property that
    has the number.
    """

    parameter: str
    key: str
    no_product: str
    not_this_one: str


BY_ID = NumberKind(
    "productId",
    "product",
    "no product has such an id",
    "no product has the id {number}",
)
BY_UPC = NumberKind(
    "upc",
    "upc",
    "no UPC has a number that was asked for",
    "no UPC has the number {number}",
)
BY_UPC_ID = replace(BY_UPC, parameter="upcId")


def response(
    products: ProductsById,
    kind: NumberKind,
    numbers: Iterable[int],
    existing: Mapping[int, object],
) -> Json:
    """Return products in order of id, and an error for each number without one.

    Args:
        products: at least one, or a Refusal is raised.
        kind: what ``numbers`` are.
        numbers: those of the request.
        existing: the numbers that lead to a product.

    Source of the shape: interface W2.7.
    """
    if not products:
        raise nothing(kind.parameter, kind.no_product)
    response: Json = {"product": [products[id] for id in sorted(products)]}
    errors = [_error(kind, number) for number in numbers if number not in existing]
    if errors:
        response["errors"] = errors
    return response


def _error(kind: NumberKind, number: int) -> Json:
    code = ERROR_CODES["no_data"]
    message = kind.not_this_one.format(number=number)
    return {
        "errorCode": code.error_code,
        "message": code.message,
        "errorDetail": [str(Fault(kind.parameter, message))],
        "success": False,
        kind.key: number,
    }


def line_of(content: Content, id: int | None) -> list[Json]:
    """Return a category and all above it, up to a root."""
    line = []
    while id is not None and (category := of(content).category(id)) is not None:
        line.append(category)
        id = category["parent"]
    return line


def with_promotions(content: Content, product: Json) -> Json:
    """Return a product with the numbers of all promotions that hold for it.

    The product names a promotion, or the promotion names the product, or a category
    that the product is in or below.
    """
    inside = {
        category["id"]
        for id in product["categories"]
        for category in line_of(content, id)
    }
    naming = [
        promotion["promoId"]
        for promotion in content.documents("promotion")
        if product["id"] in promotion.get("products", ())
        or not inside.isdisjoint(promotion.get("categoryIds", ()))
    ]
    named = product.get("promotions", ())
    return product | {"promotions": sorted({*named, *naming})}
