"""Details of products in version 4."""

from collections.abc import Callable, Mapping, Sequence

from shopwindow.catalog.operations.answers import of
from shopwindow.catalog.operations.details import (
    BY_ID,
    BY_UPC_ID,
    ProductsById,
    line_of,
    response,
    with_promotions,
)
from shopwindow.catalog.operations.parameters import IdsWithMask
from shopwindow.catalog.operations.parts_v4 import detail4, promotions4, rebates4, upcs4
from shopwindow.catalog.operations.reviews import reviews_v4
from shopwindow.catalog.operations.surroundings import surroundings
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface import fields
from shopwindow.interface.declaring.operation import Call
from shopwindow.retail.articles import products_of_upcs


def details_v4(content: Content, call: Call) -> Json:
    """Return products by id: `productDetails`, or what the selector names.

    Raises Refusal if no product has one of the ids.
    """
    selection: IdsWithMask = call["productId"]
    products = _version_4(content, selection.ids, selection.mask)
    return response(products, BY_ID, selection.ids, products)


def details_v4_by_upc(content: Content, call: Call) -> Json:
    """Return the products of UPCs, as `details_v4` does by id.

    A number is that of a bar code or, where no bar code has it, the upcId of a bag.
    """
    selection: IdsWithMask = call["upcId"]
    id_of_upc = products_of_upcs(content, selection.ids, or_skus=True)
    ids = sorted(set(id_of_upc.values()))
    products = _version_4(content, ids, selection.mask)
    return response(products, BY_UPC_ID, selection.ids, id_of_upc)


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
        id: _selected(content, document, wanted) for id, document in documents.items()
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


def _categories(content: Content, product: Json) -> list[Json]:
    """Return a product's home category below the root above it.

    A home category that is a root is in the list as both.
    """
    line = line_of(content, product["categories"][0])
    if not line:
        return []
    home, root = line[0], line[-1]
    return [
        {"id": root["id"], "name": root["name"], "type": "rootcategory"},
        {"id": home["id"], "name": home["name"], "type": "homecategory"},
    ]


def _promotions(content: Content, product: Json) -> list[Json]:
    return promotions4(with_promotions(content, product), surroundings(content))


_SELECTABLE_PARTS: Mapping[str, tuple[str, Callable[[Content, Json], Json]]] = {
    "upcs": ("upcs", lambda content, product: upcs4(product)),
    "productcategory": ("productCategory", _categories),
    "reviews": ("Reviews", lambda content, product: reviews_v4(content, product["id"])),
    "rebates": ("rebates", lambda content, product: rebates4(product)),
    "promotions": ("promotions", _promotions),
    "categoryids": ("categoryIds", lambda content, product: product["categories"]),
}
"""The selector's word → the key in the response, and what returns the value."""

SELECTABLE = ("productdetails", *_SELECTABLE_PARTS)
"""The words that a selector may have outermost (interface W2.9)."""
