"""Products: the index of all, and details in versions 3 and 4.

Source of the shapes: interface 4.9, wire-shapes 2.

How details work. A client names products by id or by UPC, and each version has one
function that returns what it shows of some products, by id (`_version_3`,
`_version_4`). `_response` puts the products in order of id, and an error beside them
for each number that leads to none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shopwindow.catalog.answers import (
    IMAGE_QUALITY,
    IMAGE_WIDTH,
    MAX_CATEGORIES,
    PRODUCT_IDS,
    SWATCH_IMAGE_WIDTH,
    UPC_IMAGE_WIDTH,
    envelope,
    images,
    named_categories,
    nothing,
    of,
)
from shopwindow.catalog.parameters import IdsSelected, IdsWithMask
from shopwindow.catalog.parts import (
    ORDER,
    PARTS_BY_WORD,
    Images,
    Surroundings,
    detail4,
    promotions4,
    rebates4,
    surroundings,
    upcs4,
)
from shopwindow.catalog.reviews import (
    MAX_REVIEWS,
    REVIEWS_PER_PAGE,
    reviews_v3,
    reviews_v4,
)
from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface import fields
from shopwindow.interface.answer import ERROR_CODES
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Count, Ids, Words
from shopwindow.interface.operation import (
    CALLBACK,
    Arguments,
    FromContent,
    Operation,
    Parameter,
)
from shopwindow.interface.parameter_rules import AnyOf
from shopwindow.interface.time_kinds import Instant
from shopwindow.problems import Fault
from shopwindow.retail.articles import products_of_upcs

ProductsById = Mapping[int, Json]
"""What a response shows of products, by their ids."""

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


# -- the response ----------------------------------------------------------------------


@dataclass(frozen=True)
class _NumberKind:
    """What the numbers of a request are, and how an error says that one leads nowhere.

    ``parameter`` is what the request calls them. ``key`` is the error's property that
    has the number.
    """

    parameter: str
    key: str
    no_product: str
    not_this_one: str


_BY_ID = _NumberKind(
    "productId",
    "product",
    "no product has such an id",
    "no product has the id {number}",
)
_BY_UPC = _NumberKind(
    "upc",
    "upc",
    "no UPC has a number that was asked for",
    "no UPC has the number {number}",
)
_BY_UPC_ID = replace(_BY_UPC, parameter="upcId")


def _response(
    products: ProductsById,
    kind: _NumberKind,
    numbers: Iterable[int],
    existing: Mapping[int, object],
) -> Json:
    """Return products in order of id, and an error for each number without one.

    Args:
        products: at least one, or a Refusal is raised.
        kind: what ``numbers`` are.
        numbers: those of the request.
        existing: the numbers that lead to a product.

    Source of the shape: wire-shapes 2.
    """
    if not products:
        raise nothing(kind.parameter, kind.no_product)
    response: Json = {"product": [products[id] for id in sorted(products)]}
    errors = [_error(kind, number) for number in numbers if number not in existing]
    if errors:
        response["errors"] = errors
    return response


def _error(kind: _NumberKind, number: int) -> Json:
    code = ERROR_CODES["no_data"]
    message = kind.not_this_one.format(number=number)
    return {
        "errorCode": code.error_code,
        "message": code.message,
        "errorDetail": [str(Fault(kind.parameter, message))],
        "success": False,
        kind.key: number,
    }


# -- version 3 -------------------------------------------------------------------------


def details_v3(content: Content, call: Call) -> Json:
    """Return products by id: their elements, and the other parts that `show` names.

    Raises Refusal if no product has one of the ids.
    """
    ids: Sequence[int] = call["productId"]
    products = _version_3(content, call, ids)
    return _response(products, _BY_ID, ids, products)


def details_v3_by_upc(content: Content, call: Call) -> Json:
    """Return the products of UPCs, as `details_v3` does by id."""
    numbers: Sequence[int] = call["upc"]
    id_of_upc = products_of_upcs(content, numbers)
    products = _version_3(content, call, sorted(set(id_of_upc.values())))
    return _response(products, _BY_UPC, numbers, id_of_upc)


DEFAULT_SHOWN = tuple(
    word for word in PARTS_BY_WORD if word not in ("promotion", "review")
)
"""What a request shows that has no `show`: everything but promotions and reviews
(interface 4.9).
"""


def _version_3(content: Content, call: Call, ids: Sequence[int]) -> ProductsById:
    """Return what version 3 shows of those products that exist."""
    words, image_sizes = call["show"] or DEFAULT_SHOWN, images(call)
    documents, around = of(content).products(ids), surroundings(content)
    products: dict[int, Json] = {}
    for id in ids:
        if id not in documents:
            continue
        document = documents[id]
        if "promotion" in words:
            document = _with_promotions(content, document)
        products[id] = _with_parts(document, words, around, image_sizes)
        if "review" in words:
            products[id] |= reviews_v3(content, id, call["numOfReviews"])
    return products


def _with_parts(
    product: Json, words: Iterable[str], around: Surroundings, image_sizes: Images
) -> Json:
    """Return the id of a product and the parts that some words of `show` stand for."""
    wanted = {part for word in words for part in PARTS_BY_WORD[word]}
    shown: dict[str, Json] = {"id": product["id"]}
    for part in ORDER:
        if part in wanted:
            shown.update(part(product, around, image_sizes))
    return shown


# -- version 4 -------------------------------------------------------------------------


def details_v4(content: Content, call: Call) -> Json:
    """Return products by id: `productDetails`, or what the selector names.

    Raises Refusal if no product has one of the ids.
    """
    selection: IdsWithMask = call["productId"]
    products = _version_4(content, selection.ids, selection.mask)
    return _response(products, _BY_ID, selection.ids, products)


def details_v4_by_upc(content: Content, call: Call) -> Json:
    """Return the products of UPCs, as `details_v4` does by id.

    A number is that of a bar code or, where no bar code has it, the upcId of a bag.
    """
    selection: IdsWithMask = call["upcId"]
    id_of_upc = products_of_upcs(content, selection.ids, or_skus=True)
    ids = sorted(set(id_of_upc.values()))
    products = _version_4(content, ids, selection.mask)
    return _response(products, _BY_UPC_ID, selection.ids, id_of_upc)


def _version_4(
    content: Content, ids: Sequence[int], mask: fields.Mask | None
) -> ProductsById:
    """Return what version 4 shows of those products that exist."""
    documents = of(content).products(ids)
    if mask is None:
        details = _details(content, documents)
        return {
            id: {"id": id, "productDetails": detail} for id, detail in details.items()
        }
    wanted = dict(mask)
    return {
        id: _selected(content, documents[id], wanted) for id in ids if id in documents
    }


def _details(content: Content, documents: ProductsById) -> ProductsById:
    """Return the `productDetails` of products, with their collections and members.

    ``documents``: the products, by id.
    """
    families = of(content).families(list(documents))
    relatives = {id: _relatives(content, *families[id]) for id in families}
    around = surroundings(content)
    return {
        id: detail4(document, around) | relatives.get(id, {})
        for id, document in documents.items()
    }


def _relatives(
    content: Content, members: Sequence[int], collections: Sequence[int]
) -> Json:
    """Return the collections that a product is in, and its members if it is one.

    The details of these have no relatives of their own, or a collection and its member
    would show one another without end.
    """
    documents = of(content).products((*members, *collections))
    around = surroundings(content)
    flags = {}
    if collections:
        flags["incollection"] = True
    if members:
        flags["iscollection"] = True
    relatives: dict[str, Json] = {"collection": flags}
    for name, ids in (("masterProducts", collections), ("childProducts", members)):
        existing = [documents[id] for id in ids if id in documents]
        if existing:
            relatives[name] = [
                {"id": document["id"], "productDetails": detail4(document, around)}
                for document in existing
            ]
    return relatives


def _selected(
    content: Content, product: Json, wanted: Mapping[str, fields.Mask | None]
) -> Json:
    """Return what a selector names of a product; parts that are empty are left out."""
    id = product["id"]
    shown: dict[str, Json] = {"id": id}
    if "productdetails" in wanted:
        detail, mask = _details(content, {id: product})[id], wanted["productdetails"]
        if mask is not None:
            detail = fields.select(detail, mask, folded=True)
        shown["productDetails"] = detail
    for word, (key, view) in _SELECTABLE_PARTS.items():
        if word not in wanted:
            continue
        part = _masked(view(content, product), wanted[word])
        if part:
            shown[key] = part
    return shown


def _masked(part: Json, mask: fields.Mask | None) -> Json:
    """Return what a mask names of a part. A UPC always keeps its number.

    Numbers have no parts, so a list of them stays whole.
    """
    if mask is None or (part and isinstance(part, list) and part[0].__class__ is int):
        return part
    if isinstance(part, dict):
        return fields.select(part, mask, folded=True)
    mask = (*mask, ("upcnumber", None))
    return [fields.select(item, mask, folded=True) for item in part]


def _upcs(content: Content, product: Json) -> list[Json]:
    return upcs4(product)


def _categories(content: Content, product: Json) -> list[Json]:
    """Return a product's home category below the root above it.

    A home category that is a root is in the list as both.
    """
    line = _line(content, product["categories"][0])
    if not line:
        return []
    home, root = line[0], line[-1]
    return [
        {"id": root["id"], "name": root["name"], "type": "rootcategory"},
        {"id": home["id"], "name": home["name"], "type": "homecategory"},
    ]


def _line(content: Content, id: int | None) -> list[Json]:
    """Return a category and all above it, up to a root."""
    line = []
    while id is not None and (category := of(content).category(id)) is not None:
        line.append(category)
        id = category["parent"]
    return line


def _reviews(content: Content, product: Json) -> Json:
    return reviews_v4(content, product["id"])


def _rebates(content: Content, product: Json) -> list[Json]:
    return rebates4(product)


def _category_ids(content: Content, product: Json) -> list[int]:
    ids: list[int] = product["categories"]
    return ids


def _promotions(content: Content, product: Json) -> list[Json]:
    return promotions4(_with_promotions(content, product), surroundings(content))


_SELECTABLE_PARTS: Mapping[str, tuple[str, Callable[[Content, Json], Json]]] = {
    "upcs": ("upcs", _upcs),
    "productcategory": ("productCategory", _categories),
    "reviews": ("Reviews", _reviews),
    "rebates": ("rebates", _rebates),
    "promotions": ("promotions", _promotions),
    "categoryids": ("categoryIds", _category_ids),
}
"""The selector's word → the key in the response, and what returns the value."""

SELECTABLE = ("productdetails", *_SELECTABLE_PARTS)
"""The words that a selector may have outermost (wire-shapes 2)."""


# -- promotions ------------------------------------------------------------------------


def _with_promotions(content: Content, product: Json) -> Json:
    """Return a product with the numbers of all promotions that hold for it.

    The product names a promotion, or the promotion names the product, or a category
    that the product is in or below.
    """
    inside = {
        category["id"]
        for id in product["categories"]
        for category in _line(content, id)
    }
    naming = [
        promotion["promoId"]
        for promotion in content.documents("promotion")
        if product["id"] in promotion.get("products", ())
        or not inside.isdisjoint(promotion.get("categoryIds", ()))
    ]
    named = product.get("promotions", ())
    return product | {"promotions": sorted({*named, *naming})}


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
            IMAGE_WIDTH,
            IMAGE_QUALITY,
            UPC_IMAGE_WIDTH,
            SWATCH_IMAGE_WIDTH,
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
