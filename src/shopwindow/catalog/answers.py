"""What the catalog's operations share: the port, products as elements, images,
categories, the envelope.
"""

from collections.abc import Iterable, Mapping, Sequence

from shopwindow.catalog.parameters import FacetValues, Ranges
from shopwindow.catalog.parts import DEFAULT_IMAGES, Images, element, surroundings
from shopwindow.catalog.protocol import Catalog
from shopwindow.content.documents import Content
from shopwindow.content.schedule import PUBLISHED
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Count
from shopwindow.interface.operation import Others, Parameter
from shopwindow.problems import Fault, Refusal

MAX_WIDTH = 5000
RESPONSE_TIME = "0ms"
"""Not measured: bytes depend on what is live, not on when it was asked (wire shapes
§1).
"""


def of(content: Content) -> Catalog:
    """The catalog of the release. Raises Refusal where it has none."""
    if content.index("catalog") is None:
        raise nothing("there is no catalog")
    catalog: Catalog = content.index("catalog")
    return catalog


def nothing(detail: str, where: str = "") -> Refusal:
    """What was asked for is not there (wire shapes §1)."""
    return Refusal("no_data", (Fault(where, detail),))


def envelope(content: Content, perpage: int, page: int, total: int) -> dict[str, Json]:
    """What stands before the list in answers of the v3 category family (wire shapes
    §1).
    """
    return {
        "resultsperpage": perpage,
        "currentpage": page,
        "totalresults": total,
        "resptime": RESPONSE_TIME,
        "querydate": content.clock(PUBLISHED),
    }


def elements(content: Content, ids: Sequence[int], images: Images) -> list[Json]:
    """Products in the order of their ids; those whose images nobody asked otherwise are
    stored rendered.
    """
    catalog = of(content)
    if images is DEFAULT_IMAGES:
        found = catalog.rendered(ids, "element")
        return [found[id] for id in ids if id in found]
    around, products = surroundings(content), catalog.products(ids)
    return [element(products[id], around, images) for id in ids if id in products]


# -- categories ------------------------------------------------------------------------


def categories(content: Content, ids: Iterable[int]) -> list[Json]:
    """Those that exist. Raises Refusal where none does."""
    catalog = of(content)
    found = [category for id in ids if (category := catalog.category(id)) is not None]
    if not found:
        raise nothing("no category has an id that was asked for")
    return found


def all_categories(content: Content) -> Iterable[Json]:
    """Every category, each before its children; none without a catalog."""
    if content.index("catalog") is not None:
        catalog = of(content)
        waiting = list(reversed(catalog.roots()))
        while waiting:
            category = catalog.category(waiting.pop())
            if category is not None:
                waiting.extend(reversed(category["children"]))
                yield category


# -- parameters ------------------------------------------------------------------------


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
    """What a Call asks of images; DEFAULT_IMAGES where it asks nothing of them."""
    for name, _ in call.arguments:
        if name in _OF_IMAGES:
            break
    else:
        return DEFAULT_IMAGES
    given: Mapping[str, int] = dict(call.arguments)
    return Images(
        given.get("imagewidth", DEFAULT_IMAGES.width),
        given.get("upcimagewidth", DEFAULT_IMAGES.upc_width),
        given.get("swatchimagewidth", DEFAULT_IMAGES.swatch_width),
        given.get("imagequality"),
    )
