"""Products: the index of all, and the operations that show their details.

Source of the shapes: interface 4.9, W2.7, W2.8, W2.9.
"""

from collections.abc import Iterable, Sequence

from shopwindow.catalog.operations.answers import (
    IMAGES_WANTED,
    MAX_CATEGORIES,
    PRODUCT_IDS,
    SWATCH_IMAGE_WIDTH,
    UPC_IMAGE_WIDTH,
    envelope,
    named_categories,
    of,
)
from shopwindow.catalog.operations.details_v3 import details_v3, details_v3_by_upc
from shopwindow.catalog.operations.details_v4 import (
    SELECTABLE,
    details_v4,
    details_v4_by_upc,
)
from shopwindow.catalog.operations.parameters import IdsSelected, IdsWithMask
from shopwindow.catalog.operations.parts_v3 import PARTS_BY_WORD
from shopwindow.catalog.operations.reviews import MAX_REVIEWS, REVIEWS_PER_PAGE
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Count, Ids, Instant, Words
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    AnyOf,
    Arguments,
    Call,
    FromContent,
    Operation,
    Parameter,
)

# -- the index -------------------------------------------------------------------------


def index(content: Content, call: Call) -> Json:
    """Return the ids of all active products, or of those updated since an instant, or
    those in some categories.

    Raises Refusal if none of the categories exists.
    """
    categories = call["category"]
    if categories is not None:
        named = named_categories(content, "category", categories)
        categories = [category["id"] for category in named]
    total, ids = of(content).product_ids(call["since"], categories=categories)
    response = envelope(content, 0, 0, total)
    if ids:
        response["product"] = [{"id": id} for id in ids]
    return response


# -- the operations --------------------------------------------------------------------


def _prerendered_ids(content: Content) -> Sequence[int]:
    """Return the products whose details are pre-rendered.

    These are the featured ones, or all if site.yaml's `catalog` says so.
    """
    if content.index("catalog") is None:
        return ()
    catalog, settings = of(content), content.setting("catalog") or {}
    if settings.get("prerender") == "all":
        _, ids = catalog.product_ids()
        return ids
    return catalog.featured()


def _prerendered_v3(content: Content) -> Iterable[Arguments]:
    return ({"productId": (id,)} for id in _prerendered_ids(content))


def _prerendered_v4(content: Content) -> Iterable[Arguments]:
    return ({"productId": IdsWithMask((id,))} for id in _prerendered_ids(content))


_SHOW = Parameter(
    "show",
    Words(tuple(PARTS_BY_WORD)),
    "What to tell, comma-separated; else all but promotion and review.",
)
_NUMBER_OF_REVIEWS = Parameter(
    "numOfReviews",
    Count(MAX_REVIEWS),
    "At most so many reviews, where they are shown.",
    default=REVIEWS_PER_PAGE,
)
_SELECTOR = "comma-separated; then perhaps in parentheses what to tell, such as (productdetails(price),upcs,reviews)."

OPERATIONS = (
    Operation(
        "product_index",
        "v3/catalog/product/index",
        FromContent(index),
        "product_index",
        "The ids of all products.",
        (
            Parameter(
                "since",
                Instant(days=True),
                "Only products updated at this instant or later, ISO 8601.",
                example="2013-06-21T00:00:00.000Z",
            ),
            Parameter(
                "category",
                Ids(MAX_CATEGORIES),
                "Only products in these categories or below them, by id, comma-separated.",
                example="100",
            ),
            CALLBACK,
        ),
    ),
    Operation(
        "product_v3",
        "v3/catalog/product/{productId}",
        FromContent(details_v3, _prerendered_v3),
        "product_v3",
        "Products by id, version 3.",
        (
            PRODUCT_IDS,
            _SHOW,
            *IMAGES_WANTED,
            _NUMBER_OF_REVIEWS,
            CALLBACK,
        ),
    ),
    Operation(
        "product_v3_by_upc",
        "v3/catalog/product",
        FromContent(details_v3_by_upc),
        "product_v3",
        "Products by the number of a bar code, version 3.",
        (
            Parameter(
                "upc", Ids(), "UPC numbers, comma-separated.", example="474396002526"
            ),
            _SHOW,
            UPC_IMAGE_WIDTH,
            SWATCH_IMAGE_WIDTH,
            _NUMBER_OF_REVIEWS,
            CALLBACK,
        ),
        (AnyOf(("upc",)),),
    ),
    Operation(
        "product_v4",
        "v4/catalog/product/{productId}",
        FromContent(details_v4, _prerendered_v4),
        "product_v4",
        "Products by id, version 4.",
        (
            Parameter(
                "productId",
                IdsSelected(SELECTABLE),
                f"Product ids, {_SELECTOR}",
                example="520100",
            ),
            CALLBACK,
        ),
    ),
    Operation(
        "product_v4_by_upc",
        "v4/catalog/product/upc/{upcId}",
        FromContent(details_v4_by_upc),
        "product_v4",
        "Products by UPC, version 4.",
        (
            Parameter(
                "upcId",
                IdsSelected(SELECTABLE),
                f"UPC numbers or upcIds, {_SELECTOR}",
                example="474396002526",
            ),
            CALLBACK,
        ),
    ),
)
