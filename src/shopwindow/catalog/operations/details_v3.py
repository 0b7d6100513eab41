"""Details of products in version 3."""

from collections.abc import Iterable, Sequence

from shopwindow.catalog.operations.answers import images, of
from shopwindow.catalog.operations.details import (
    BY_ID,
    BY_UPC,
    ProductsById,
    response,
    with_promotions,
)
from shopwindow.catalog.operations.parts_v3 import ORDER, PARTS_BY_WORD
from shopwindow.catalog.operations.reviews import reviews_v3
from shopwindow.catalog.operations.surroundings import (
    Surroundings,
    surroundings,
)
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.operation import Call
from shopwindow.retail.articles import products_of_upcs


def details_v3(content: Content, call: Call) -> Json:
    """Return products by id: their elements, and the other parts that `show` names.

    Raises Refusal if no product has one of the ids.
    """
    ids: Sequence[int] = call["productId"]
    products = _version_3(content, call, ids)
    return response(products, BY_ID, ids, products)


def details_v3_by_upc(content: Content, call: Call) -> Json:
    """Return the products of UPCs, as `details_v3` does by id."""
    numbers: Sequence[int] = call["upc"]
    id_of_upc = products_of_upcs(content, numbers)
    products = _version_3(content, call, sorted(set(id_of_upc.values())))
    return response(products, BY_UPC, numbers, id_of_upc)


DEFAULT_SHOWN = tuple(
    word for word in PARTS_BY_WORD if word not in ("promotion", "review")
)
"""What a request shows that has no `show`: everything but promotions and reviews
(interface W2.7).
"""


def _version_3(content: Content, call: Call, ids: Sequence[int]) -> ProductsById:
    """Return what version 3 shows of those products that exist."""
    words, around = call["show"] or DEFAULT_SHOWN, surroundings(content, images(call))
    documents = of(content).products(ids)
    products: dict[int, Json] = {}
    for id, document in documents.items():
        named = "promotion" in words
        shown = with_promotions(content, document) if named else document
        products[id] = _with_parts(shown, words, around)
        if "review" in words:
            products[id] |= reviews_v3(content, id, call["numOfReviews"])
    return products


def _with_parts(product: Json, words: Iterable[str], around: Surroundings) -> Json:
    """Return the id of a product and the parts that some words of `show` stand for."""
    wanted = {part for word in words for part in PARTS_BY_WORD[word]}
    shown: dict[str, Json] = {"id": product["id"]}
    for part in ORDER:
        if part in wanted:
            shown.update(part(product, around))
    return shown
