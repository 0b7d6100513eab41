"""What several operations of the catalog share.

The functions return the catalog of a release, the refusal where something does not
exist, and the parts that several responses have alike. The parameters are those that
mean the same in several operations.
"""

from collections.abc import Mapping, Sequence

from shopwindow.catalog.parameters import FacetValues, Ranges
from shopwindow.catalog.parts import DEFAULT_IMAGES, Images, element, surroundings
from shopwindow.catalog.protocol import Catalog
from shopwindow.content.documents import Content
from shopwindow.content.schedule import PUBLISHED
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Count, Ids
from shopwindow.interface.operation import Others, Parameter
from shopwindow.problems import Fault, Refusal

MAX_WIDTH = 5000
"""Pixels. The width goes into the URLs of images and costs nothing here, so larger or
smaller numbers work as well.
"""

RESPONSE_TIME = "0ms"
"""The envelope's `resptime`. It is not measured, since the bytes of a response depend
on what is live and not on when the request came (wire-shapes 1).
"""


def of(content: Content) -> Catalog:
    """Return the catalog of the release. Raises Refusal if it has none."""
    if content.index("catalog") is None:
        raise nothing("path", "there is no catalog, so nothing is here")
    catalog: Catalog = content.index("catalog")
    return catalog


def nothing(where: str, detail: str) -> Refusal:
    """Return the refusal for what does not exist (wire-shapes 1).

    ``where`` is the parameter that named it.
    """
    return Refusal("no_data", (Fault(where, detail),))


def envelope(content: Content, perpage: int, page: int, total: int) -> dict[str, Json]:
    """Return what stands before the list in version 3 (wire-shapes 1).

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
    """Return the elements of products in the order of ``ids``.

    The index stores them rendered with the default images. With other images they are
    rendered here.
    """
    catalog = of(content)
    if images is DEFAULT_IMAGES:
        rendered = catalog.rendered(ids, "element")
        return [rendered[id] for id in ids if id in rendered]
    around, products = surroundings(content), catalog.products(ids)
    return [element(products[id], around, images) for id in ids if id in products]


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
IMAGE_QUALITY = Parameter("imagequality", Count(100), "Quality of images, in percent.")
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
PRICE_RANGES = Parameter(
    "PRICE",
    Ranges(),
    "Only products that cost so much now: [0TO50], [*TO50], [500TO*], or several.",
    example="[0TO500]",
)
FACETS = Others(
    "[A-Z][A-Z0-9_]{0,99}",
    FacetValues(),
    "Any facet by its name: only products with this value, or one of [A,B].",
    example=("COLOR", "[BLACK,WHITE]"),
)


_OF_IMAGES = frozenset(
    parameter.name
    for parameter in (IMAGE_WIDTH, IMAGE_QUALITY, UPC_IMAGE_WIDTH, SWATCH_IMAGE_WIDTH)
)


def images(call: Call) -> Images:
    """Return the images that a Call wants: DEFAULT_IMAGES itself if it names none."""
    arguments: Mapping[str, int] = dict(call.arguments)
    if _OF_IMAGES.isdisjoint(arguments):
        return DEFAULT_IMAGES
    return Images(
        arguments.get("imagewidth", DEFAULT_IMAGES.width),
        arguments.get("upcimagewidth", DEFAULT_IMAGES.upc_width),
        arguments.get("swatchimagewidth", DEFAULT_IMAGES.swatch_width),
        arguments.get("imagequality"),
    )
