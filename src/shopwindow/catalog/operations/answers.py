"""What several operations of the catalog share.

The functions return the catalog of a release, the refusal where something does not
exist, and the parts that several responses have alike. The parameters are those that
mean the same in several operations.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shopwindow.catalog.operations.parameters import FacetValues, Quality, Ranges
from shopwindow.catalog.operations.parts_v3 import element
from shopwindow.catalog.operations.surroundings import (
    DEFAULT_IMAGES,
    Images,
    surroundings,
)
from shopwindow.catalog.protocol import CATEGORY_FILTER, Catalog, ProductQuery
from shopwindow.content.documents.documents import Content
from shopwindow.content.documents.schedule import PUBLISHED
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Count, Ids
from shopwindow.interface.declaring.operation import Call, Others, Parameter
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.articles import CATALOG_INDEX, articles_of

MAX_WIDTH = 5000
"""Pixels. The width goes into the URLs of images and costs nothing here, so larger or
smaller numbers work as well.
"""

MAX_CATEGORIES = 250
"""Ids of categories in one request (interface W1.7)."""

RESPONSE_TIME = "0ms"
"""The envelope's `resptime`. It is not measured, since the bytes of a response depend
on what is live and not on when the request came (interface W1.10).
"""


def of(content: Content) -> Catalog:
    """Return the catalog of the release. Raises Refusal if it has none."""
    articles_of(content)
    catalog: Catalog = content.index(CATALOG_INDEX)
    return catalog


def nothing(where: str, detail: str) -> Refusal:
    """Return the refusal for what does not exist (interface W1.9).

    ``where`` is the parameter that named it.
    """
    return Refusal("no_data", Fault(where, detail))


def existing_categories(content: Content, ids: Iterable[int]) -> list[Json]:
    """Return those of some categories that exist, in the order of ``ids``."""
    catalog = of(content)
    return [category for id in ids if (category := catalog.category(id)) is not None]


def named_categories(
    content: Content, parameter: str, ids: Iterable[int]
) -> list[Json]:
    """Return those categories of a request that exist. Raises Refusal if none does.

    ``parameter`` is the one that names them.
    """
    existing = existing_categories(content, ids)
    if not existing:
        raise nothing(parameter, "no category has an id that was asked for")
    return existing


def envelope(content: Content, perpage: int, page: int, total: int) -> dict[str, Json]:
    """Return what stands before the list in version 3 (interface W1.10).

    ``perpage`` are products on a page, ``page`` counts from 1, and ``total`` counts
    what is on all pages. A list without pages has 0 for the first two.
    """
    return {
        "resultsperpage": perpage,
        "currentpage": page,
        "totalresults": total,
        "resptime": RESPONSE_TIME,
        "querydate": content.clock(PUBLISHED),
    }


def elements(content: Content, ids: Sequence[int], images: Images) -> list[Json]:
    """Return the elements of products in the order of ``ids``."""
    around, products = surroundings(content, images), of(content).products(ids)
    return [element(products[id], around) for id in ids if id in products]


# -- parameters ------------------------------------------------------------------------

PRODUCT_IDS = Parameter(
    "productId", Ids(), "Product ids, comma-separated.", example="520100"
)
IMAGE_WIDTH = Parameter(
    "imagewidth",
    Count(MAX_WIDTH),
    "Width of images, in pixels.",
    default=DEFAULT_IMAGES.width,
)
IMAGE_QUALITY = Parameter(
    "imagequality",
    Quality(),
    "Quality of images, in percent; more than 100 is 100.",
    example="80",
)
UPC_IMAGE_WIDTH = Parameter(
    "upcimagewidth",
    Count(MAX_WIDTH),
    "Width of the images of colors, in pixels.",
    default=DEFAULT_IMAGES.upc_width,
)
SWATCH_IMAGE_WIDTH = Parameter(
    "swatchimagewidth",
    Count(MAX_WIDTH),
    "Width of swatches, in pixels.",
    default=DEFAULT_IMAGES.swatch_width,
)
IMAGES_WANTED = (
    IMAGE_WIDTH,
    IMAGE_QUALITY,
    UPC_IMAGE_WIDTH,
    SWATCH_IMAGE_WIDTH,
)
PRICE_RANGES = Parameter(
    "PRICE",
    Ranges(),
    "Only products that cost so much now: [0TO50], [*TO50], [500TO*], or several.",
    example="[0TO500]",
)
IN_CATEGORIES = Parameter(
    CATEGORY_FILTER,
    FacetValues(),
    "Only products in this category or below it, by its id or name; or in one of [A,B].",
    example="100",
)
PICK_UP_AT = Parameter(
    "UPC_BOPS_PURCHASABLE",
    FacetValues(),
    "Only products that can be picked up at this store, by its location number; or at one of [A,B].",
    example="10118",
)


def is_facet(content: Content, name: str) -> bool:
    """Return whether the catalog of the release has a facet of this name."""
    return content.index("catalog") is not None and name in of(content).facet_names()


FACETS = Others(
    "[A-Z][A-Z0-9_]{0,99}",
    FacetValues(),
    "Any facet by its name: only products with this value, or one of [A,B].",
    example=("COLOR", "[BLUE,BROWN]"),
    exists=is_facet,
)
FILTERS = (PRICE_RANGES, IN_CATEGORIES, PICK_UP_AT)
"""Filters beside those by facet, in the order of canonical requests."""


class PageParameters(NamedTuple):
    """The names of the parameters that say which page, and how long pages are."""

    number: str
    size: str


def query_of(
    content: Content, call: Call, sort: str | None, page: PageParameters
) -> ProductQuery:
    """Return what a Call asks a list of products for: filters, order, page and parts."""
    filters: dict[str, tuple[str, ...]] = call.others()
    if call[CATEGORY_FILTER]:
        filters = {**filters, CATEGORY_FILTER: call[CATEGORY_FILTER]}
    return ProductQuery(
        filters=filters,
        price=call["PRICE"] or (),
        pick_up=_pick_up_at(content, call[PICK_UP_AT.name]),
        sort=sort,
        page=call[page.number],
        perpage=call[page.size],
        facets="facet" in call["show"],
        products="product" in call["show"],
    )


def _pick_up_at(
    content: Content, values: Sequence[str] | None
) -> tuple[int, ...] | None:
    """Return the stores at which customers pick up, of those that a request names.

    None: it names none. A value that is no location number of a store means no store,
    as a value that a facet does not have means no product.
    """
    if values is None:
        return None
    numbers = {int(value) for value in values if value.isascii() and value.isdigit()}
    stores = (
        content.document("store", "locationNumber", number)
        for number in sorted(numbers)
    )
    return tuple(
        store["locationNumber"]
        for store in stores
        if store is not None and PICK_UP in store.get("features", ())
    )


PICK_UP = "BOPS"
"""The feature of a store where online orders are picked up."""


def images(call: Call) -> Images:
    """Return the images that a Call wants."""
    arguments: Mapping[str, int] = dict(call.arguments)
    return Images(
        arguments.get("imagewidth", DEFAULT_IMAGES.width),
        arguments.get("upcimagewidth", DEFAULT_IMAGES.upc_width),
        arguments.get("swatchimagewidth", DEFAULT_IMAGES.swatch_width),
        arguments.get("imagequality"),
    )
