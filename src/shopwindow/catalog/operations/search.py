"""Search by phrase (interface 4.9, W2.2)."""

from shopwindow.catalog.operations.answers import (
    FACETS,
    FILTERS,
    IMAGES_WANTED,
    PageParameters,
    elements,
    images,
    of,
    query_of,
)
from shopwindow.catalog.operations.parameters import Phrase
from shopwindow.catalog.protocol import Facet, Page, ProductQuery
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Count, Word, Words, plain
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    AnyOf,
    Call,
    FromContent,
    Operation,
    Parameter,
)

MAX_RESULTS_PER_PAGE = 100
FACET_VALUES_SHOWN = 10
"""Values of a facet that a response shows, unless the client wants all (interface W2.2).
"""

_SEARCH_SORTS = {
    "PRICE_ASCENDING": "price_ascending",
    "PRICE_DESCENDING": "price_descending",
    "CUSTOMER_RATING": "rating_descending",
    "NEWNESS": "newness_descending",
    "BEST_SELLERS": "bestseller_ascending",
}
BEST = "default"
"""The best match first."""
SEARCH_PARTS = ("product", "facet")


def search(content: Content, call: Call) -> Json:
    """Return the client's query, a page of the products that a phrase finds, and their
    facets.
    """
    query = search_query(content, call)
    page = of(content).search(call["searchphrase"], query)
    rendered = [_facet(facet, content, call) for facet in page.facets]
    facets = [facet for facet in rendered if facet]
    products = elements(content, page.ids, images(call))
    group: dict[str, Json] = {"totalproducts": page.total}
    if products:
        group["products"] = {"product": products}
    return {
        "searchinput": _input(call, page),
        "totalpages": -(-page.total // query.perpage),
        **({"facets": facets} if facets else {}),
        "searchresultgroups": [group],
    }


def search_query(content: Content, call: Call) -> ProductQuery:
    """Return what a Call asks of a search beside the phrase."""
    sort = _SEARCH_SORTS.get(call["sortorderby"])
    return query_of(content, call, sort, PageParameters("page", "perpage"))


def _input(call: Call, page: Page) -> Json:
    """Return the client's query, and the phrase that was searched for if it was
    corrected.
    """
    return {
        "searchphrase": call["searchphrase"],
        **({"didyoumean": page.corrected} if page.corrected else {}),
        "sortorderby": call["sortorderby"],
        "perpage": call["perpage"],
        "page": call["page"],
        "imageWidth": str(call["imagewidth"]),
        "upcimagewidth": str(call["upcimagewidth"]),
        "swatchimagewidth": str(call["swatchimagewidth"]),
    }


def _facet(facet: Facet, content: Content, call: Call) -> Json | None:
    """Return a facet with its values, and a link to more or fewer of them; None without
    values.

    Without `facetexpandall` it has the first `FACET_VALUES_SHOWN`.
    """
    values = [_range(low, high, count) for low, high, count in facet.ranges] or [
        {"value": value, "productcount": count} for value, count in facet.values
    ]
    if not values:
        return None
    is_expanded = call["facetexpandall"] == "true"
    rendered = {
        "facetname": facet.name,
        "displayname": facet.displayname,
        "facetvalues": values if is_expanded else values[:FACET_VALUES_SHOWN],
    }
    if len(values) <= FACET_VALUES_SHOWN:
        return rendered
    return rendered | {
        "facetmoreless": "Less" if is_expanded else "More",
        "facetmorelessurl": _url_of_other(content, call, is_expanded),
    }


def _range(low: float, high: float | None, count: int) -> Json:
    limit = {} if high is None else {"torange": plain(high)}
    return {
        "valuedisplayname": f"[{plain(low)} TO {'*' if high is None else plain(high)}]",
        "range": {"fromrange": plain(low), **limit},
        "productcount": count,
    }


def _url_of_other(content: Content, call: Call, is_expanded: bool) -> str:
    """Return the URL of the same search with all values of facets, or with the first
    ones.

    It has no callback: that belongs to one request of one client.
    """
    arguments = dict(call.arguments)
    arguments.pop("callback", None)
    arguments["facetexpandall"] = "false" if is_expanded else "true"
    other = call.operation.call(call.format, arguments)
    return f"{content.setting('base_url')}/{other.target}"


OPERATIONS = (
    Operation(
        "search",
        "v4/catalog/search",
        FromContent(search),
        "search",
        "Products and facets for a phrase.",
        (
            Parameter(
                "searchphrase",
                Phrase(),
                "What to look for.",
                example="Marlowe Wrap Coat",
            ),
            Parameter(
                "show",
                Words(SEARCH_PARTS),
                "Products, facets or both.",
                default=SEARCH_PARTS,
            ),
            Parameter(
                "sortorderby",
                Word((*_SEARCH_SORTS, BEST)),
                "What products are ordered by.",
                default=BEST,
            ),
            Parameter(
                "perpage",
                Count(MAX_RESULTS_PER_PAGE),
                "Products on a page.",
                default=12,
            ),
            Parameter("page", Count(), "Which page.", default=1),
            Parameter(
                "facetexpandall",
                Word(("true", "false")),
                "Whether to tell all values of a facet.",
                default="false",
            ),
            *IMAGES_WANTED,
            *FILTERS,
            CALLBACK,
        ),
        (AnyOf(("searchphrase",)),),
        others=FACETS,
    ),
)
