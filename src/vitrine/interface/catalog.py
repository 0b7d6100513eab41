"""What the catalog's operations share: the port, products as elements, images, categories, the envelope."""

from collections.abc import Iterable, Mapping, Sequence

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface.call import Call
from vitrine.interface.catalog_kinds import Ranges, Values
from vitrine.interface.catalog_parts import PLAIN, Images, element, surroundings
from vitrine.interface.kinds import Count
from vitrine.interface.operation import Others, Parameter
from vitrine.interface.ports import Catalog
from vitrine.problems import Fault, Refusal

MAX_WIDTH = 5000
RESPONSE_TIME = "0ms"
"""Not measured: bytes depend on what is live, not on when it was asked (wire shapes §1)."""


def of(content: Content) -> Catalog:
    """The catalog of the release. Raises Refusal where it has none."""
    if content.catalog is None:
        raise nothing("there is no catalog")
    catalog: Catalog = content.catalog
    return catalog


def nothing(detail: str, where: str = "") -> Refusal:
    """What was asked for is not there (wire shapes §1)."""
    return Refusal("no_data", (Fault(where, detail),))


def envelope(content: Content, perpage: int, page: int, total: int) -> dict[str, Json]:
    """What stands before the list in answers of the v3 category family (wire shapes §1)."""
    return {
        "resultsperpage": perpage,
        "currentpage": page,
        "totalresults": total,
        "resptime": RESPONSE_TIME,
        "querydate": content.published(),
    }


def elements(content: Content, ids: Sequence[int], images: Images) -> list[Json]:
    """Products in the order of their ids; those whose images nobody asked otherwise are text already."""
    catalog = of(content)
    if images is PLAIN:
        found = catalog.rendered(ids, "element")
        return [content.encoded(found[id]) for id in ids if id in found]
    around, products = surroundings(content), catalog.products(ids)
    return [element(products[id], around, images) for id in ids if id in products]


_DIGITS = (8, 12, 13, 14)
"""How many a UPC has (GS1). Leading zeros make no difference: 12 digits after a zero are the same number of 13."""


def upcs(numbers: Iterable[int]) -> Mapping[str, int]:
    """Every text that a UPC of one of these numbers may have, with its number."""
    return {text.zfill(width): number for number in numbers for text in (str(number),) for width in _widths(text)}


def _widths(text: str) -> Iterable[int]:
    return (width for width in _DIGITS if width >= len(text))


def products_of_upcs(content: Content, numbers: Sequence[int], or_skus: bool = False) -> dict[int, int]:
    """The product ids of the numbers that are UPCs; with ``or_skus`` also of those that are bags' upcIds."""
    catalog, texts = of(content), upcs(numbers)
    found = {texts[upc]: id for upc, id in catalog.product_of_upc(list(texts)).items()}
    for number in numbers if or_skus else ():
        if number not in found and (pair := catalog.product_of_sku(number)) is not None:
            found[number] = pair[0]["id"]
    return found


# -- categories --------------------------------------------------------------------------------------------------


def categories(content: Content, ids: Iterable[int]) -> list[Json]:
    """Those that exist. Raises Refusal where none does."""
    catalog = of(content)
    found = [category for id in ids if (category := catalog.category(id)) is not None]
    if not found:
        raise nothing("no category has an id that was asked for")
    return found


def all_categories(content: Content) -> Iterable[Json]:
    """Every category, each before its children; none without a catalog."""
    if content.catalog is not None:
        catalog = of(content)
        waiting = list(reversed(catalog.roots()))
        while waiting:
            category = catalog.category(waiting.pop())
            if category is not None:
                waiting.extend(reversed(category["children"]))
                yield category


# -- parameters --------------------------------------------------------------------------------------------------


IMAGE_WIDTH = Parameter("imagewidth", Count(MAX_WIDTH), "Width of images, in pixels.", default=PLAIN.width)
IMAGE_QUALITY = Parameter("imagequality", Count(100), "Quality of images, in percent.")
UPC_IMAGE_WIDTH = Parameter(
    "upcimagewidth", Count(MAX_WIDTH), "Width of the images of colors, in pixels.", default=PLAIN.upc_width
)
SWATCH_IMAGE_WIDTH = Parameter(
    "swatchimagewidth", Count(MAX_WIDTH), "Width of swatches, in pixels.", default=PLAIN.swatch_width
)
PRICE = Parameter("PRICE", Ranges(), "Only products that cost so much now: [0TO50], [*TO50], [500TO*], or several.")
FACETS = Others(
    "[A-Z][A-Z0-9_]{0,99}", Values(), "Any facet by its name: only products with this value, or one of [A,B]."
)


_OF_IMAGES = frozenset(
    parameter.name for parameter in (IMAGE_WIDTH, IMAGE_QUALITY, UPC_IMAGE_WIDTH, SWATCH_IMAGE_WIDTH)
)


def images(call: Call) -> Images:
    """What a Call asks of images; PLAIN where it asks nothing of them."""
    for name, _ in call.arguments:
        if name in _OF_IMAGES:
            break
    else:
        return PLAIN
    given: Mapping[str, int] = dict(call.arguments)
    return Images(
        given.get("imagewidth", PLAIN.width),
        given.get("upcimagewidth", PLAIN.upc_width),
        given.get("swatchimagewidth", PLAIN.swatch_width),
        given.get("imagequality"),
    )
