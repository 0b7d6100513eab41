"""Search by phrase (interface 4.9, wire shapes §2)."""

from dataclasses import replace

from shopwindow.catalog.answers import (
    FACETS,
    IMAGE_QUALITY,
    IMAGE_WIDTH,
    PRICE_RANGES,
    SWATCH_IMAGE_WIDTH,
    UPC_IMAGE_WIDTH,
    elements,
    images,
    of,
)
from shopwindow.catalog.parameters import Phrase
from shopwindow.catalog.protocol import Facet, Page, ProductQuery
from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Count, Word, Words, plain
from shopwindow.interface.operation import CALLBACK, AnyOf, FromContent, Operation, Parameter

MAX_RESULTS_PER_PAGE = 100
FACET_VALUES_SHOWN = 10
"""So many values of a facet are told unless all are asked for."""

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
    """What was asked, the facets of all that it finds, and a page of products."""
    query = ProductQuery(
        filters=call.others(),
        price=call["PRICE"] or (),
        sort=_SEARCH_SORTS.get(call["sortorderby"]),
        page=call["page"],
        perpage=call["perpage"],
        facets="facet" in call["show"],
        products="product" in call["show"],
    )
    page = of(content).search(call["searchphrase"], query)
    facets = [told for facet in page.facets if (told := _facet(facet, content, call))]
    found = elements(content, page.ids, images(call))
    group = {"totalproducts": page.total, **({"products": {"product": found}} if found else {})}
    return {
        "searchinput": _input(call, page),
        "totalpages": -(-page.total // query.perpage),
        **({"facets": facets} if facets else {}),
        "searchresultgroups": [group],
    }


def _input(call: Call, page: Page) -> Json:
    """The question told again; with the phrase that was meant, where another one was answered."""
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
    """A facet and its values, the first ten of them unless all are asked for; with a way to the
    others and back.
    """
    values = [_range(*each) for each in facet.ranges] or [
        {"value": value, "productcount": count} for value, count in facet.values
    ]
    if not values:
        return None
    expanded = call["facetexpandall"] == "true"
    told = {
        "facetname": facet.name,
        "displayname": facet.displayname,
        "facetvalues": values if expanded else values[:FACET_VALUES_SHOWN],
    }
    if len(values) <= FACET_VALUES_SHOWN:
        return told
    return told | {
        "facetmoreless": "Less" if expanded else "More",
        "facetmorelessurl": _other(content, call, expanded),
    }


def _range(low: float, high: float | None, count: int) -> Json:
    limit = {} if high is None else {"torange": plain(high)}
    return {
        "valuedisplayname": f"[{plain(low)} TO {'*' if high is None else plain(high)}]",
        "range": {"fromrange": plain(low), **limit},
        "productcount": count,
    }


def _other(content: Content, call: Call, expanded: bool) -> str:
    """The same question with all the values of facets, or without; to be read, so without a
    callback.
    """
    kept = [
        (name, value)
        for name, value in call.arguments
        if name not in ("facetexpandall", "callback")
    ]
    given = dict(kept if expanded else [*kept, ("facetexpandall", "true")])
    ordered = [(name, given.pop(name)) for name in call.operation.named if name in given]
    return f"{content.setting('base_url')}/{replace(call, arguments=(*ordered, *given.items())).request().target}"


OPERATIONS = (
    Operation(
        "search",
        "v4/catalog/search",
        FromContent(search),
        "search",
        "Products and facets for a phrase.",
        (
            Parameter(
                "searchphrase", Phrase(), "What to look for.", example="Marlowe Wrap Coat"
            ),
            Parameter(
                "show", Words(SEARCH_PARTS), "Products, facets or both.", default=SEARCH_PARTS
            ),
            Parameter(
                "sortorderby",
                Word((*_SEARCH_SORTS, BEST)),
                "What products are ordered by.",
                default=BEST,
            ),
            Parameter(
                "perpage", Count(MAX_RESULTS_PER_PAGE), "Products on a page.", default=12
            ),
            Parameter("page", Count(), "Which page.", default=1),
            Parameter(
                "facetexpandall",
                Word(("true", "false")),
                "Whether to tell all values of a facet.",
                default="false",
            ),
            IMAGE_WIDTH,
            IMAGE_QUALITY,
            UPC_IMAGE_WIDTH,
            SWATCH_IMAGE_WIDTH,
            PRICE_RANGES,
            CALLBACK,
        ),
        (AnyOf(("searchphrase",)),),
        others=FACETS,
    ),
)
