"""The kinds of the catalog.

All of them are streamed: there may be millions of documents, so they are read one by
one, and only the catalog's index holds them.
"""

from shopwindow.content.kinds import EACH, KEY, Kind, Reference
from shopwindow.problems import Pointer


def _kind(
    name: str,
    folder: str,
    *ids: str,
    references: tuple[Reference, ...] = (),
    parts: tuple[tuple[str, Pointer], ...] = (),
) -> Kind:
    return Kind(
        name,
        f"catalog/{folder}",
        f"catalog/{name}.json",
        ids,
        parts=parts,
        scheduled=False,
        streamed=True,
        references=references,
    )


CATEGORY = _kind(
    "category",
    "categories",
    "id",
    references=(Reference(("parent",), "category"),),
)
BRAND = _kind("brand", "brands", "name", "id")
SYNONYM = _kind("synonym", "synonyms")
PRODUCT = _kind(
    "product",
    "products",
    "id",
    parts=(("UPC", ("upcs", EACH, "upc")),),
    references=(
        Reference(("categories", EACH), "category"),
        Reference(("members", EACH), "product"),
        *(
            Reference(pointer, "promotion", "promoId")
            for pointer in (
                ("promotions", EACH),
                ("price", "finalPrice", "promotions", EACH),
                ("badges", EACH, "promotionId"),
            )
        ),
    ),
)
INVENTORY = _kind(
    "inventory",
    "inventory",
    "upc",
    references=(Reference(("stores", KEY), "store", "locationNumber"),),
)
REVIEW = _kind(
    "review", "reviews", "id", references=(Reference(("product",), "product"),)
)
RECOMMENDATION = _kind(
    "recommendation",
    "recommendations",
    "product",
    references=(
        Reference(("product",), "product"),
        Reference(("products", EACH), "product"),
    ),
)

KINDS = (CATEGORY, BRAND, SYNONYM, PRODUCT, INVENTORY, REVIEW, RECOMMENDATION)
"""In the order of a check: a kind stands after those that its documents refer to."""
