"""Categories: the index of all, one by one, their products and their brands.

Source of the shapes: interface 4.9, W2.3, W2.4, W2.5, W2.6.
"""

from collections.abc import Iterable

from shopwindow.catalog.operations.answers import (
    FACETS,
    FILTERS,
    IMAGES_WANTED,
    MAX_CATEGORIES,
    PageParameters,
    elements,
    envelope,
    existing_categories,
    images,
    named_categories,
    of,
    query_of,
)
from shopwindow.catalog.protocol import Facet, Page, ProductQuery
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import MAX_ID, Count, Ids, Word, Words, plain
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    AnyOf,
    Arguments,
    Call,
    FromContent,
    Operation,
    Parameter,
)

MAX_DEPTH = 8
"""Levels of the index, and what it has without `depth` (interface W2.3)."""

MAX_PRODUCTS_PER_PAGE = 96
"""Products on a page: clients send up to so many (interface W2.5)."""

CATEGORY_PARTS = ("facet", "product", "attribute")
BROWSE = "Browse"
"""The type of a category for which editors wrote none."""

# -- the index -------------------------------------------------------------------------


def index(content: Content, call: Call) -> Json:
    """Return categories within each other, from the roots or from one category, to a
    depth.
    """
    id = call["category"]
    top = (
        of(content).roots()
        if id is None
        else (named_categories(content, "category", (id,))[0]["id"],)
    )
    nodes = _nodes(content, top, call["depth"])
    return envelope(content, 0, 0, len(nodes)) | ({"category": nodes} if nodes else {})


def _nodes(content: Content, ids: Iterable[int], levels: int) -> list[Json]:
    """Return the categories with these ids, and below them ``levels`` - 1 levels more."""
    nodes = []
    for category in existing_categories(content, ids):
        below = category["children"] if levels > 1 else ()
        nodes.append(_node(category, _nodes(content, below, levels - 1)))
    return nodes


def _node(category: Json, children: list[Json]) -> Json:
    node = {
        "id": category["id"],
        "name": category["name"],
        "categorytype": category.get("type", BROWSE),
        "categorypageurl": category["url"],
        "brandflyout": category.get("brandFlyout", False),
        "mobilePublish": category.get("mobilePublish", "Y"),
    }
    node |= {
        key: category[name] for key, name in _OPTIONAL_OF_CATEGORY if name in category
    }
    return node | ({"category": children} if children else {})


_OPTIONAL_OF_CATEGORY = (
    ("pageType", "pageType"),
    ("overrideUrl", "overrideUrl"),
    ("overridecatid", "overrideCategoryId"),
    ("clickable", "clickable"),
)

# -- one by one ------------------------------------------------------------------------


def category(content: Content, call: Call) -> Json:
    """Return categories with their children, the ids of all their products, and facets."""
    query = ProductQuery(
        perpage=MAX_ID,
        facets="facet" in call["show"],
        products="product" in call["show"],
    )
    documents = named_categories(content, "categoryId", call["categoryId"])
    rendered = [_category(content, document, query) for document in documents]
    return envelope(content, 0, 0, len(rendered)) | {"category": rendered}


def _category(content: Content, category: Json, query: ProductQuery) -> Json:
    rendered = {
        "id": category["id"],
        "summary": _summary(category),
        **_parent(content, category),
    }
    children = existing_categories(content, category["children"])
    if children:
        rendered["category"] = [
            {"id": child["id"], "summary": _summary(child)} for child in children
        ]
    if not (query.facets or query.products):
        return rendered
    page = of(content).browse(category["id"], query)
    return rendered | _facets(page) | _list([{"id": id} for id in page.ids])


def _summary(category: Json) -> Json:
    """Return what is said of a category's page; every property is always there
    (interface W2.4).

    What editors did not write follows from the category itself.
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
    parent = (
        None if category["parent"] is None else of(content).category(category["parent"])
    )
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


# -- their products --------------------------------------------------------------------


def browse_products(content: Content, call: Call) -> Json:
    """Return a page of the products of each category and of all below it."""
    documents = named_categories(content, "categoryId", call["categoryId"])
    sort = _sort(call["sortby"], call["sortorder"])
    pages_by = PageParameters("currentpage", "resultsperpage")
    query = query_of(content, call, sort, pages_by)
    catalog = of(content)
    pages = [
        (category, catalog.browse(category["id"], query)) for category in documents
    ]
    total = sum(page.total for _, page in pages)
    rendered = [
        {
            "id": category["id"],
            "totalproducts": page.total,
            "summary": _summary(category),
            **_parent(content, category),
            **_facets(page),
            **_list(elements(content, page.ids, images(call))),
        }
        for category, page in pages
    ]
    return envelope(content, query.perpage, query.page, total) | {"category": rendered}


_CATEGORY_SORTS = {  # sortby → its usual sortorder, and its name in `protocol.SORTS`
    "price": ("asc", "price"),
    "customerrating": ("desc", "rating"),
    "name": ("asc", "name"),
    "bestseller": ("asc", "bestseller"),
    "newarrival": ("desc", "newness"),
}
_DIRECTIONS = {"asc": "ascending", "desc": "descending"}


def _sort(by: str | None, order: str | None) -> str | None:
    """Return one of `protocol.SORTS`; None without ``by``, for the list's own order."""
    if by is None:
        return None
    usual, name = _CATEGORY_SORTS[by]
    return f"{name}_{_DIRECTIONS[order or usual]}"


def _facets(page: Page) -> Json:
    """Return facets in the shape of version 3. Search (version 4) has another
    (interface W2.5).
    """
    rendered = [
        {"name": facet.name, "displayname": facet.displayname, "value": values}
        for facet in page.facets
        if (values := _values(facet))
    ]
    return {"facet": rendered} if rendered else {}


def _values(facet: Facet) -> list[Json]:
    """Return values as a filter takes them; a range of prices also has a name to show."""
    ranges = [
        {
            "name": f"[{plain(low)} TO {'*' if high is None else plain(high)}]",
            "values": f"[{plain(low)}TO{'*' if high is None else plain(high)}]",
            "productcount": count,
        }
        for low, high, count in facet.ranges
    ]
    return ranges or [
        {"values": value, "productcount": count} for value, count in facet.values
    ]


# -- brands ----------------------------------------------------------------------------


def brand_index(content: Content, call: Call) -> Json:
    """Return the brands of the products in some categories, by name."""
    ids = [
        category["id"]
        for category in named_categories(content, "categoryId", call["categoryId"])
    ]
    brands = of(content).brands(ids, call["refcatid"])
    return _brands(brands)


def brand_index_of_reference(content: Content, call: Call) -> Json:
    """Return the brands of the products in the category that `refcatid` names."""
    (category,) = named_categories(content, "refcatid", (call["refcatid"],))
    return _brands(of(content).brands((category["id"],)))


def _brands(brands: Iterable[tuple[str, str]]) -> Json:
    rendered = [{"brandName": name, "brandURL": url} for name, url in brands]
    return {"brandIndex": rendered} if rendered else {}


# -- operations ------------------------------------------------------------------------


def _each(content: Content) -> Iterable[Arguments]:
    return ({"categoryId": (id,)} for id in _all_ids(content))


def _all_ids(content: Content) -> Iterable[int]:
    """Yield the id of every category, each before its children; none without a catalog."""
    if content.index("catalog") is None:
        return
    catalog = of(content)
    waiting = list(reversed(catalog.roots()))
    while waiting:
        category = catalog.category(waiting.pop())
        if category is not None:
            waiting.extend(reversed(category["children"]))
            yield category["id"]


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
                Word(tuple(_CATEGORY_SORTS), aliases=(("newarrivals", "newarrival"),)),
                "What products are ordered by; else by best sellers.",
            ),
            Parameter(
                "sortorder",
                Word(tuple(_DIRECTIONS)),
                "In which direction; else as the order is usually meant.",
            ),
            *IMAGES_WANTED,
            *FILTERS,
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
    Operation(
        "brand_index_of_reference",
        "v4/catalog/category/brandindex",
        FromContent(brand_index_of_reference),
        "brand_index",
        "The brands of the products in one category, named in the query.",
        (
            Parameter("refcatid", Count(), "Id of the category.", example="100"),
            CALLBACK,
        ),
        (AnyOf(("refcatid",)),),
    ),
)
