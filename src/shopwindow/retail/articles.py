"""The articles of the shop, as far as several families need them: UPCs, quantities and
stock.

Families never import the catalog, and the catalog imports no family. A view that needs
articles gets the opened index of that name from the content. `Articles` says which of
its methods it may call. This module stands below both sides for that reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Fault, Refusal

CATALOG_INDEX = "catalog"
"""The name of the index that holds the articles."""

MAX_QUANTITY = 99
"""How many of one item a bag may hold, unless site.yaml or the product says otherwise
(interface W5.2).
"""

Status = Literal["AVAILABLE", "LIMITED", "UNAVAILABLE"]
"""What a store has of a UPC."""

_DIGITS = (8, 12, 13, 14)
"""How many digits a UPC may have (GS1: GTIN-8, -12, -13, -14). Leading zeros do not
count: 12 digits and the same 12 after a zero are one number.
"""


class Articles(Protocol):
    """What views outside the catalog may ask of it; `catalog.reading.opened` answers."""

    def product(self, id: int) -> Json | None:
        """Return a product's document, or None."""

    def product_of_upc(self, upcs: Sequence[str]) -> Mapping[str, int]:
        """Return the product ids of the UPCs that exist."""

    def product_of_sku(self, sku: int) -> tuple[Json, Json] | None:
        """Return (product, its UPC entry) by the entry's sku, the upcId of a bag; or
        None.
        """

    def availability(
        self, upcs: Sequence[str], locations: Sequence[int]
    ) -> Mapping[tuple[str, int], Status]:
        """Return what stores have, by (UPC, location). A pair that is left out is
        UNAVAILABLE.
        """


def articles_of(content: Content) -> Articles:
    """Return the articles of a release. Raises Refusal where it has none."""
    articles: Articles | None = content.index(CATALOG_INDEX)
    if articles is None:
        raise Refusal(
            "no_data", Fault("path", "there is no catalog, so nothing is here")
        )
    return articles


def upcs(numbers: Iterable[int]) -> Mapping[str, int]:
    """Return each text that a UPC of one of these numbers may be written as, with its
    number.

    Clients send a number; the catalog has text, in which leading zeros stand.
    """
    return {
        str(number).zfill(width): number
        for number in numbers
        for width in _DIGITS
        if width >= len(str(number))
    }


def products_of_upcs(
    content: Content, numbers: Sequence[int], or_skus: bool = False
) -> dict[int, int]:
    """Return product ids by number, for the numbers that are UPCs.

    Args:
        content: a release with a catalog. Raises Refusal where it has none.
        numbers: of UPCs.
        or_skus: a number that is no UPC may be a sku, as in a bag's upcId.
    """
    articles = articles_of(content)
    texts = upcs(numbers)
    products = {
        texts[upc]: id for upc, id in articles.product_of_upc(list(texts)).items()
    }
    if not or_skus:
        return products

    for number in numbers:
        if number in products:
            continue
        entry = articles.product_of_sku(number)
        if entry is not None:
            product, _ = entry
            products[number] = product["id"]
    return products


def most_of_one(content: Content) -> int:
    """Return how many of one item a bag may hold, unless its product allows fewer."""
    most: int = (content.setting("bags") or {}).get("max_quantity", MAX_QUANTITY)
    return most
