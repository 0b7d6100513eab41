"""What the shop sells, as far as several families need it: UPCs, quantities, and what stores
have of them.

It stands below the families and the catalog. Families never import the catalog. A view that
needs articles asks the content for the index of that name, and this module says which verbs it
may use.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.problems import Fault, Refusal

INDEX = "catalog"
"""The name of the index that holds the articles."""

MAX_QUANTITY = 99
"""How many of one item a bag may hold where neither site.yaml nor the product allows fewer
(wire-shapes 5).
"""

Status = Literal["AVAILABLE", "LIMITED", "UNAVAILABLE"]
"""What a store has of a UPC."""

_DIGITS = (8, 12, 13, 14)
"""How many digits a UPC has (GS1). Leading zeros make no difference: 12 digits after a zero are
the same number.
"""


class Articles(Protocol):
    """The verbs of an opened catalog that do not depend on how it lists and searches products."""

    def product(self, id: int) -> Json | None:
        """Return a product's document, or None."""
        ...

    def product_of_upc(self, upcs: Sequence[str]) -> Mapping[str, int]:
        """Return the product ids of the UPCs that exist."""
        ...

    def product_of_sku(self, sku: int) -> tuple[Json, Json] | None:
        """Return the product and its UPC entry whose sku (the bags' upcId) this is, or None."""
        ...

    def availability(
        self, upcs: Sequence[str], locations: Sequence[int]
    ) -> Mapping[tuple[str, int], Status]:
        """Return what stores have of UPCs. A pair that is left out is UNAVAILABLE."""
        ...


def articles_of(content: Content) -> Articles:
    """Return the articles of a release. Raises Refusal where it has none."""
    articles: Articles | None = content.index(INDEX)
    if articles is None:
        raise Refusal("no_data", (Fault("", "there is no catalog"),))
    return articles


def upcs(numbers: Iterable[int]) -> Mapping[str, int]:
    """Return every text that a UPC of one of these numbers may have, with its number."""
    return {
        text.zfill(width): number
        for number in numbers
        for text in (str(number),)
        for width in _widths(text)
    }


def _widths(text: str) -> Iterable[int]:
    return (width for width in _DIGITS if width >= len(text))


def products_of_upcs(
    content: Content, numbers: Sequence[int], or_skus: bool = False
) -> dict[int, int]:
    """Return the product ids of the numbers that are UPCs; with ``or_skus`` also of those that
    are bags' upcIds.
    """
    articles, texts = articles_of(content), upcs(numbers)
    products = {texts[upc]: id for upc, id in articles.product_of_upc(list(texts)).items()}
    for number in numbers if or_skus else ():
        if number not in products and (pair := articles.product_of_sku(number)) is not None:
            products[number] = pair[0]["id"]
    return products


def most_of_one(content: Content) -> int:
    """Return how many of one item a bag may hold where its product allows no fewer."""
    most: int = (content.setting("bags") or {}).get("max_quantity", MAX_QUANTITY)
    return most
