"""Products: the index, details in versions 3 and 4, recommendations, reviews (interface
4.9, wire shapes §2).
"""

from collections.abc import Iterable, Mapping, Sequence

from shopwindow.catalog.answers import (
    IMAGE_QUALITY,
    IMAGE_WIDTH,
    SWATCH_IMAGE_WIDTH,
    UPC_IMAGE_WIDTH,
    envelope,
    images,
    nothing,
    of,
)
from shopwindow.catalog.parameters import IdsSelected, Selection
from shopwindow.catalog.parts import (
    DEFAULT_IMAGES,
    ORDER,
    PARTS_BY_WORD,
    Images,
    Surroundings,
    image_url,
    lowered,
    price4,
    product_url,
    promotions4,
    rebates4,
    surroundings,
    upcs4,
)
from shopwindow.catalog.protocol import Reviews
from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface import fields
from shopwindow.interface.answer import ERROR_CODES
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Count, Ids, Instant, Words
from shopwindow.interface.operation import (
    CALLBACK,
    AnyOf,
    Arguments,
    FromContent,
    Operation,
    Parameter,
)
from shopwindow.retail.articles import products_of_upcs

MAX_REVIEWS = 100
SOURCE = "CUSTOMER"
"""Who reviews come from. Not specified."""

# -- the index -------------------------------------------------------------------------


def index(content: Content, call: Call) -> Json:
    """The ids of all active products, or of those updated since an instant."""
    total, ids = of(content).product_ids(call["since"])
    told = envelope(content, 0, 0, total)
    if not ids:
        return told
    return told | {"product": [{"id": id} for id in ids]}


# -- version 3 -------------------------------------------------------------------------


def details_v3(content: Content, call: Call) -> Json:
    """Products by id: the product element, and what `show` adds to it or takes from it."""
    ids: Sequence[int] = call["productId"]
    return _answer("product", _version_3(content, call, ids), ids, "product")


def details_v3_by_upc(content: Content, call: Call) -> Json:
    """The products of UPCs."""
    numbers: Sequence[int] = call["upc"]
    found = products_of_upcs(content, numbers)
    told = _version_3(content, call, sorted(set(found.values())))
    return _answer("upc", told, numbers, "UPC", found)


def _version_3(content: Content, call: Call, ids: Sequence[int]) -> Mapping[int, Json]:
    catalog, shown = of(content), call["show"]
    if shown is None and images(call) is DEFAULT_IMAGES:
        heads, rests = catalog.rendered(ids, "element"), catalog.rendered(ids, "rest3")
        return {id: heads[id] | rests[id] for id in ids if id in heads}
    around, products = surroundings(content), catalog.products(ids)
    words = shown or DEFAULT_SHOWN
    if "promotion" in words:
        products = {id: _promoted(content, product) for id, product in products.items()}
    told = {
        id: _shown(products[id], words, around, images(call))
        for id in ids
        if id in products
    }
    if "review" in words:
        for id, product in told.items():
            product |= _lowered_reviews(catalog.reviews(id, 1, call["numOfReviews"]))
    return told


DEFAULT_SHOWN = tuple(
    word for word in PARTS_BY_WORD if word not in ("promotion", "review")
)
"""Interface 4.9: every attribute but reviews and promotions, which are told only when
asked for.
"""


def _shown(
    product: Json, words: Iterable[str], around: Surroundings, images: Images
) -> Json:
    """The pieces of a product that some words of `show` ask for."""
    wanted = {piece for word in words for piece in PARTS_BY_WORD[word]}
    pieces = (piece(product, around, images) for piece in ORDER if piece in wanted)
    return {
        "id": product["id"],
        **{key: value for piece in pieces for key, value in piece},
    }


def _lowered_reviews(found: Reviews) -> Json:
    return {"review": lowered(_reviews4(found))} if found.total else {}


def _answer(
    key: str,
    told: Mapping[int, Json],
    asked: Sequence[int],
    what: str,
    found: Mapping[int, int] | None = None,
) -> Json:
    """Products by id, beside an error for each number that leads to none (wire shapes
    §2). Raises Refusal for none.
    """
    if not told:
        raise nothing(
            f"no {what} has a number that was asked for"
            if key == "upc"
            else "no product has such an id"
        )
    value: dict[str, Json] = {
        "product": [told[id] for id in (sorted(told) if len(told) > 1 else told)]
    }
    known = told if found is None else found
    if len(known) < len(asked):
        value["errors"] = [
            _error(key, what, number) for number in asked if number not in known
        ]
    return value


def _error(key: str, what: str, number: int) -> Json:
    code = ERROR_CODES["no_data"]
    detail = (
        f"no {what} has the number {number}"
        if key == "upc"
        else f"no {what} has the id {number}"
    )
    return {
        "errorCode": code.error_code,
        "message": code.message,
        "errorDetail": [detail],
        "success": False,
        key: number,
    }


# -- version 4 -------------------------------------------------------------------------

SELECTABLE = (
    "productdetails",
    "upcs",
    "productcategory",
    "reviews",
    "rebates",
    "promotions",
)


def details_v4(content: Content, call: Call) -> Json:
    """Products by id: `productDetails`, or what the selector asks for."""
    selection: Selection = call["productId"]
    return _answer(
        "product",
        _version_4(content, selection.ids, selection.mask),
        selection.ids,
        "product",
    )


def details_v4_by_upc(content: Content, call: Call) -> Json:
    """The products of UPCs: of the numbers of bar codes or, where there is none, of
    bags' upcIds.
    """
    selection: Selection = call["upcId"]
    found = products_of_upcs(content, selection.ids, or_skus=True)
    told = _version_4(content, sorted(set(found.values())), selection.mask)
    return _answer("upc", told, selection.ids, "UPC", found)


def _version_4(
    content: Content, ids: Sequence[int], mask: fields.Mask | None
) -> Mapping[int, Json]:
    if mask is None:
        return {
            id: {"id": id, "productDetails": detail}
            for id, detail in _details(content, ids).items()
        }
    products, wanted = of(content).products(ids), dict(mask)
    return {
        id: _selected(content, products[id], wanted) for id in ids if id in products
    }


def _details(content: Content, ids: Sequence[int]) -> Mapping[int, Json]:
    """The `productDetails` of products, with their collections and members."""
    catalog = of(content)
    details, families = catalog.rendered(ids, "detail4"), catalog.families(ids)
    relatives = {id: _relatives(content, *families[id]) for id in families}
    return {id: detail | relatives.get(id, {}) for id, detail in details.items()}


def _relatives(
    content: Content, members: Sequence[int], collections: Sequence[int]
) -> dict[str, Json]:
    """What a product belongs to and what belongs to it; their details are told without
    their own relatives.
    """
    beside = of(content).rendered((*members, *collections), "detail4")
    told: dict[str, Json] = {
        "collection": {
            name: True
            for name, ids in (("incollection", collections), ("iscollection", members))
            if ids
        }
    }
    for name, ids in (("masterProducts", collections), ("childProducts", members)):
        if known := [id for id in ids if id in beside]:
            told[name] = [{"id": id, "productDetails": beside[id]} for id in known]
    return told


def _selected(
    content: Content, product: Json, wanted: Mapping[str, fields.Mask | None]
) -> Json:
    """What a selector asks of a product. A UPC always keeps its number."""
    told: dict[str, Json] = {"id": product["id"]}
    if "productdetails" in wanted:
        detail = _details(content, (product["id"],))[product["id"]]
        inner = wanted["productdetails"]
        told["productDetails"] = (
            detail if inner is None else fields.select(detail, inner, folded=True)
        )
    lists = {
        "upcs": ("upcs", upcs4),
        "productcategory": (
            "productCategory",
            lambda product: _categories(content, product),
        ),
        "reviews": ("Reviews", lambda product: _all_reviews(content, product)),
        "rebates": ("rebates", rebates4),
        "promotions": (
            "promotions",
            lambda product: promotions4(
                _promoted(content, product), surroundings(content)
            ),
        ),
    }
    for word, (key, make) in lists.items():
        if word in wanted and (value := make(product)):
            kept = _kept(value, wanted[word])
            if kept:
                told[key] = kept
    return told


def _kept(value: Json, mask: fields.Mask | None) -> Json:
    if mask is None:
        return value
    if isinstance(value, dict):
        return fields.select(value, mask, folded=True)
    mask = (*mask, ("upcnumber", None))
    return [fields.select(item, mask, folded=True) for item in value]


def _categories(content: Content, product: Json) -> list[Json]:
    """The root above the home category, then the home category; a home that is a root
    is told as both.
    """
    way = _way_up(content, product["categories"][0])
    named = (("rootcategory", way[-1:]), ("homecategory", way[:1]))
    return [
        {"id": each["id"], "name": each["name"], "type": kind}
        for kind, known in named
        for each in known
    ]


def _way_up(content: Content, id: int | None) -> list[Json]:
    """A category and all above it, up to a root."""
    found = []
    while id is not None and (category := of(content).category(id)) is not None:
        found.append(category)
        id = category["parent"]
    return found


def _promoted(content: Content, product: Json) -> Json:
    """A product with all the promotions that hold for it: it names them, or they name
    it or where it stands.
    """
    inside = {
        category["id"]
        for id in product["categories"]
        for category in _way_up(content, id)
    }
    named = [
        each["promoId"]
        for each in content.documents("promotion")
        if product["id"] in each.get("products", ())
        or not inside.isdisjoint(each.get("categoryIds", ()))
    ]
    return product | {"promotions": sorted({*product.get("promotions", ()), *named})}


# -- reviews ---------------------------------------------------------------------------


def _all_reviews(content: Content, product: Json) -> Json:
    found = of(content).reviews(product["id"], 1, MAX_REVIEWS)
    return _reviews4(found) if found.total else {}


def _reviews4(found: Reviews) -> Json:
    counts = {
        f"countFor{stars}Star{'' if stars == 1 else 's'}": count
        for stars, count in enumerate(found.counts, 1)
    }
    told = {
        "averageOverallRating": found.average,
        "totalReviewCount": found.total,
        **counts,
    }
    return told | _wrappers(found)


def _wrappers(found: Reviews) -> Json:
    return (
        {"perReviewWrapper": [_wrapper(review) for review in found.reviews]}
        if found.reviews
        else {}
    )


def _wrapper(review: Json) -> Json:
    told = {
        "reviewId": review["id"],
        "ratingValue": review["rating"],
        "reviewTitle": review["title"],
        "reviewDesc": review["text"],
        "recommended": review["recommended"],
        "reviewDate": review["date"],
        "displayName": review["name"],
    }
    return told | {
        key: review[name] for key, name in _OPTIONAL_OF_PRODUCT if name in review
    }


_OPTIONAL_OF_PRODUCT = (
    ("reviewLocation", "location"),
    ("ageRangeValue", "ageRange"),
    ("genderValue", "gender"),
    ("positiveFeedbacksOnReview", "positive"),
    ("negativeFeedbacksOnReview", "negative"),
)


def reviews(content: Content, call: Call) -> Json:
    """A page of the reviews of a product. Raises Refusal where there is no such
    product.
    """
    catalog, id = of(content), call["productId"]
    product = catalog.products((id,)).get(id)
    if product is None:
        raise nothing("no product has such an id", "productId")
    number = call["numOfReviews"] or call["numberOfReviewsRequested"] or 10
    told = {
        "productId": id,
        "productName": product["name"],
        "description": product["description"],
        "source": SOURCE,
    }
    return told | _wrappers(catalog.reviews(id, call["pageNumber"], number))


# -- recommendations -------------------------------------------------------------------


def recommendations(content: Content, call: Call) -> Json:
    """Products beside some products, of each in turn; never one of those asked about.
    Raises Refusal for none known.
    """
    catalog, asked, most = of(content), call["productId"], call["maxprods"]
    known = catalog.products(asked)
    if not known:
        raise nothing("no product has such an id", "productId")
    number = most + len(asked)
    ids = dict.fromkeys(
        id
        for each in sorted(known)
        for id in catalog.recommended(each, number)
        if id not in asked
    )
    chosen = list(ids)[:most]
    found, around = catalog.products(chosen), surroundings(content)
    told = [_recommended(found[id], around) for id in chosen if id in found]
    return {"recommendedproducts": told} if told else {}


def _recommended(product: Json, around: Surroundings) -> Json:
    """Without reviews the rating is 0, for `reviewrating` is never left out (wire
    shapes §2).
    """
    price = {}
    if product["available"]:
        told = price4(product["price"], 0)
        regular = price4({"regular": product["price"]["regular"]}, 0)["retail"]
        price = {"productprice": {"original": regular, "retail": told["retail"]}}
    return {
        "productid": product["id"],
        "name": product["name"],
        "primaryimage": image_url(
            product["images"]["primary"], DEFAULT_IMAGES.width, DEFAULT_IMAGES, around
        ),
        "reviewrating": product["rating"] if product["reviewCount"] else 0,
        "reviewsnumber": product["reviewCount"],
        "productURL": product_url(product, around),
        **price,
    }


# -- what they are asked ---------------------------------------------------------------


def prerendered_ids(content: Content) -> Sequence[int]:
    """The products whose answers are files: the featured ones, or all where site.yaml
    says so.
    """
    if content.index("catalog") is None:
        return ()
    settings = content.setting("catalog") or {}
    return (
        of(content).product_ids()[1]
        if settings.get("prerender") == "all"
        else of(content).featured()
    )


def _each_v3(content: Content) -> Iterable[Arguments]:
    return ({"productId": (id,)} for id in prerendered_ids(content))


def _each_v4(content: Content) -> Iterable[Arguments]:
    return ({"productId": Selection((id,))} for id in prerendered_ids(content))


_PRODUCT_IDS = Parameter(
    "productId", Ids(), "Product ids, comma-separated.", example="520100"
)
_SHOWN_OF_PRODUCTS = Parameter(
    "show",
    Words(tuple(PARTS_BY_WORD)),
    "What to tell, comma-separated; else all but promotion and review.",
)
_REVIEWS = Parameter(
    "numOfReviews",
    Count(MAX_REVIEWS),
    "At most so many reviews, where they are shown.",
    default=10,
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
            CALLBACK,
        ),
    ),
    Operation(
        "product_v3",
        "v3/catalog/product/{productId}",
        FromContent(details_v3, _each_v3),
        "product_v3",
        "Products by id, version 3.",
        (
            _PRODUCT_IDS,
            _SHOWN_OF_PRODUCTS,
            IMAGE_WIDTH,
            IMAGE_QUALITY,
            UPC_IMAGE_WIDTH,
            SWATCH_IMAGE_WIDTH,
            _REVIEWS,
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
            _SHOWN_OF_PRODUCTS,
            UPC_IMAGE_WIDTH,
            SWATCH_IMAGE_WIDTH,
            _REVIEWS,
            CALLBACK,
        ),
        (AnyOf(("upc",)),),
    ),
    Operation(
        "product_v4",
        "v4/catalog/product/{productId}",
        FromContent(details_v4, _each_v4),
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
    Operation(
        "recommendations",
        "v4/recommendations/product/{productId}",
        FromContent(recommendations),
        "recommendations",
        "Products to look at beside some products.",
        (
            _PRODUCT_IDS,
            Parameter("maxprods", Count(100), "At most so many.", default=10),
            CALLBACK,
        ),
    ),
    Operation(
        "reviews",
        "v3/catalog/reviews",
        FromContent(reviews),
        "reviews",
        "What customers think of a product.",
        (
            Parameter("productId", Count(), "Id of the product.", example="520100"),
            Parameter(
                "numOfReviews", Count(MAX_REVIEWS), "Reviews on a page; else 10."
            ),
            Parameter(
                "numberOfReviewsRequested",
                Count(MAX_REVIEWS),
                "The same by another name, where that is not given.",
            ),
            Parameter("pageNumber", Count(), "Which page.", default=1),
            CALLBACK,
        ),
        (AnyOf(("productId",)),),
    ),
)
