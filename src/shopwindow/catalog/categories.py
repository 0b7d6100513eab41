"""Categories: the index, one by one, their products and brands (interface 4.9, wire shapes §2)."""

from collections.abc import Iterable

from shopwindow.catalog.answers import (
    FACETS,
    IMAGE_QUALITY,
    IMAGE_WIDTH,
    PRICE_RANGES,
    SWATCH_IMAGE_WIDTH,
    UPC_IMAGE_WIDTH,
    all_categories,
    categories,
    elements,
    envelope,
    images,
    of,
)
from shopwindow.catalog.protocol import Facet, Page, ProductQuery
from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import MAX_ID, Count, Ids, Word, Words, plain
from shopwindow.interface.operation import (
    CALLBACK,
    Arguments,
    FromContent,
    Operation,
    Parameter,
)

MAX_DEPTH = 8
MAX_CATEGORIES = 250
MAX_PRODUCTS_PER_PAGE = 96
CATEGORY_PARTS = ("facet", "product", "attribute")
BROWSE = "Browse"

# -- the index ---------------------------------------------------------------------------------


def index(content: Content, call: Call) -> Json:
    """The categories within each other, from the top or from one of them, so many levels."""
    given = call["category"]
    top = of(content).roots() if given is None else (categories(content, (given,))[0]["id"],)
    found = _nodes(content, top, call["depth"])
    return envelope(content, 0, 0, len(found)) | ({"category": found} if found else {})


def _nodes(content: Content, ids: Iterable[int], levels: int) -> list[Json]:
    catalog = of(content)
    found = [category for id in ids if (category := catalog.category(id)) is not None]
    return [
        _node(category, _nodes(content, category["children"], levels - 1) if levels > 1 else [])
        for category in found
    ]


def _node(category: Json, children: list[Json]) -> Json:
    told = {
        "id": category["id"],
        "name": category["name"],
        "categorytype": category.get("type", BROWSE),
        "categorypageurl": category["url"],
        "brandflyout": category.get("brandFlyout", False),
        "mobilePublish": category.get("mobilePublish", "Y"),
    }
    told |= {key: category[name] for key, name in _OPTIONAL_OF_CATEGORY if name in category}
    return told | ({"category": children} if children else {})


_OPTIONAL_OF_CATEGORY = (
    ("pageType", "pageType"),
    ("overrideUrl", "overrideUrl"),
    ("overridecatid", "overrideCategoryId"),
    ("clickable", "clickable"),
)

# -- one by one --------------------------------------------------------------------------------


def category(content: Content, call: Call) -> Json:
    """Categories with their children, the ids of their products and the facets of these."""
    query = ProductQuery(
        perpage=MAX_ID, facets="facet" in call["show"], products="product" in call["show"]
    )
    found = categories(content, call["categoryId"])
    return envelope(content, 0, 0, len(found)) | {
        "category": [_category(content, each, query) for each in found]
    }


def _category(content: Content, category: Json, query: ProductQuery) -> Json:
    catalog = of(content)
    children = [
        child for id in category["children"] if (child := catalog.category(id)) is not None
    ]
    told = {"id": category["id"], "summary": _summary(category), **_parent(content, category)}
    if children:
        told["category"] = [
            {"id": child["id"], "summary": _summary(child)} for child in children
        ]
    if not (query.facets or query.products):
        return told
    page = catalog.browse(category["id"], query)
    return told | _facets(page) | _list([{"id": id} for id in page.ids])


def _summary(category: Json) -> Json:
    """All of it always stands (wire shapes §2): a page of which nothing is written is named
    after its category.
    """
    kind = category.get("type", BROWSE)
    return {
        "name": category["name"],
        "categorytype": kind,
        "categorypageurl": category["url"],
        "categoryHighlight": category.get("highlight", False),
        "pageId": category.get("pageId", str(category["id"])),
        "pageType": category.get("pageType", kind),
        "pageTitle": category.get("pageTitle", category["name"]),
        "metaDesc": category.get("metaDescription", ""),
    }


def _parent(content: Content, category: Json) -> Json:
    parent = None if category["parent"] is None else of(content).category(category["parent"])
    if parent is None:
        return {}
    return {
        "parentcategory": {
            "id": parent["id"],
            "summary": {"name": parent["name"], "categorypageurl": parent["url"]},
        }
    }


def _list(products: list[Json]) -> Json:
    return {"product": {"product": products}} if products else {}


# -- their products ----------------------------------------------------------------------------


def browse_products(content: Content, call: Call) -> Json:
    """A page of the products of each category, and of all below it."""
    found = categories(content, call["categoryId"])
    query = ProductQuery(
        filters=call.others(),
        price=call["PRICE"] or (),
        sort=_sort(call["sortby"], call["sortorder"]),
        page=call["currentpage"],
        perpage=call["resultsperpage"],
        facets="facet" in call["show"],
        products="product" in call["show"],
    )
    catalog = of(content)
    pages = [(each, catalog.browse(each["id"], query)) for each in found]
    total = sum(page.total for _, page in pages)
    told = [
        {
            "id": each["id"],
            "totalproducts": page.total,
            "summary": _summary(each),
            **_parent(content, each),
            **_facets(page),
            **_list(elements(content, page.ids, images(call))),
        }
        for each, page in pages
    ]
    return envelope(content, query.perpage, query.page, total) | {"category": told}


_CATEGORY_SORTS = {  # by → how it is usually meant, and the port's name for it
    "price": ("asc", "price"),
    "customerrating": ("desc", "rating"),
    "name": ("asc", "name"),
    "bestseller": ("asc", "bestseller"),
    "newarrival": ("desc", "newness"),
}
_DIRECTIONS = {"asc": "ascending", "desc": "descending"}


def _sort(by: str | None, order: str | None) -> str | None:
    """The port's name of an order. Without ``sortby`` the list has its own."""
    if by is None:
        return None
    usual, name = _CATEGORY_SORTS[by]
    return f"{name}_{_DIRECTIONS[order or usual]}"


def _facets(page: Page) -> Json:
    """Facets as the v3 family names them; search has other names on purpose (wire shapes §2)."""
    told = [
        {"name": facet.name, "displayname": facet.displayname, "value": values}
        for facet in page.facets
        if (values := _values(facet))
    ]
    return {"facet": told} if told else {}


def _values(facet: Facet) -> list[Json]:
    """Each with the text that a filter takes; a range of prices also with a name to show."""
    ranges = [
        {
            "name": f"[{plain(low)} TO {'*' if high is None else plain(high)}]",
            "values": f"[{plain(low)}TO{'*' if high is None else plain(high)}]",
            "productcount": count,
        }
        for low, high, count in facet.ranges
    ]
    return ranges or [{"values": value, "productcount": count} for value, count in facet.values]


# -- brands ------------------------------------------------------------------------------------


def brand_index(content: Content, call: Call) -> Json:
    """The brands of the products in some categories, by name."""
    found = [category["id"] for category in categories(content, call["categoryId"])]
    brands = of(content).brands(found, call["refcatid"])
    told = [{"brandName": name, "brandURL": url} for name, url in brands]
    return {"brandIndex": told} if told else {}


# -- what they are asked -----------------------------------------------------------------------


def _each(content: Content) -> Iterable[Arguments]:
    return ({"categoryId": (category["id"],)} for category in all_categories(content))


_CATEGORY_IDS = Parameter(
    "categoryId", Ids(MAX_CATEGORIES), "Category ids, comma-separated.", example="100"
)
_SHOWN_OF_CATEGORIES = Parameter(
    "show",
    Words(CATEGORY_PARTS),
    "What to tell beside the categories themselves: facet, product, or attribute for neither.",
    default=("facet", "product"),
)

OPERATIONS = (
    Operation(
        "category_index",
        "v3/catalog/category/index",
        FromContent(
            index, lambda content: ({},) if content.index("catalog") is not None else ()
        ),
        "category_index",
        "All categories within each other.",
        (
            Parameter(
                "category",
                Count(),
                "Only this category and those below it, by id.",
                example="100",
            ),
            Parameter("depth", Count(MAX_DEPTH), "So many levels.", default=MAX_DEPTH),
            CALLBACK,
        ),
    ),
    Operation(
        "category",
        "v3/catalog/category/{categoryId}",
        FromContent(category, _each),
        "category",
        "Categories with their children, product ids and facets.",
        (_CATEGORY_IDS, _SHOWN_OF_CATEGORIES, CALLBACK),
    ),
    Operation(
        "browse_products",
        "v3/catalog/category/{categoryId}/browseproducts",
        FromContent(browse_products),
        "browse_products",
        "A page of the products of a category and of all below it.",
        (
            _CATEGORY_IDS,
            Parameter(
                "resultsperpage",
                Count(MAX_PRODUCTS_PER_PAGE),
                "Products on a page.",
                default=12,
            ),
            Parameter("currentpage", Count(), "Which page.", default=1),
            _SHOWN_OF_CATEGORIES,
            Parameter(
                "sortby",
                Word(tuple(_CATEGORY_SORTS)),
                "What products are ordered by; else by best sellers.",
            ),
            Parameter(
                "sortorder",
                Word(tuple(_DIRECTIONS)),
                "In which direction; else as the order is usually meant.",
            ),
            IMAGE_WIDTH,
            IMAGE_QUALITY,
            UPC_IMAGE_WIDTH,
            SWATCH_IMAGE_WIDTH,
            PRICE_RANGES,
            CALLBACK,
        ),
        others=FACETS,
    ),
    Operation(
        "brand_index",
        "v4/catalog/category/brandindex/{categoryId}",
        FromContent(brand_index, _each),
        "brand_index",
        "The brands of the products in some categories.",
        (
            _CATEGORY_IDS,
            Parameter(
                "refcatid",
                Count(),
                "Only brands that have products in this category, too, by id.",
                example="100",
            ),
            CALLBACK,
        ),
    ),
)
