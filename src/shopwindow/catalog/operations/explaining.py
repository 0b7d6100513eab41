"""`catalog explain`: a search as the search operation understands it, and its reasons."""

from collections.abc import Sequence
from urllib.parse import urlencode

from shopwindow.catalog.operations.search import search_query
from shopwindow.catalog.reading.explaining import explain, lacks
from shopwindow.catalog.reading.opened import OpenedCatalog
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.did_you_mean import suggestion
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Misuse, Refusal, cut

SEARCH = "search"
"""The operation that is explained."""

OF_THE_PAGE = ("searchphrase", "sortorderby", "page", "perpage", "show")
"""Parameters of the search that are no filters: an explanation is about the first
products in the order of the best match.
"""

LONGEST_LIST = 400
"""Characters of a list of facets in a message: a few lines of a terminal."""

NO_CATALOG = (
    "there is no catalog; `shopwindow build` writes one where content/catalog has files"
)
"""What a command about the catalog says where a release has none, or lost its file."""


def explained(
    interface: Interface,
    content: Content,
    phrase: str,
    filters: Sequence[tuple[str, str]],
    limit: int,
    product: int | None = None,
) -> Json:
    """Return why the search operation finds what it finds; without a phrase, what the
    catalog lacks.

    Args:
        interface: the one that the content is of.
        content: answers from its index of the catalog.
        phrase: what a shopper types, or empty.
        filters: names and values of the operation's parameters, such as CATEGORY, and of
            facets, as a client sends them.
        limit: so many products are explained.
        product: the id of one whose place or absence is explained, too.

    Raises Misuse for a catalog that is not there, and for what the operation refuses.
    """
    catalog: OpenedCatalog | None = content.index("catalog")
    operation = next((one for one in interface.operations if one.name == SEARCH), None)
    if catalog is None or operation is None:
        raise Misuse("", NO_CATALOG)
    if not phrase.strip():
        if filters or product is not None:
            raise Misuse("", "a filter and a product go with a PHRASE")
        return lacks(catalog)
    for name, _ in filters:
        if name in OF_THE_PAGE:
            raise Misuse("filter", f"{name}: is no filter, such as CATEGORY or COLOR")
        if name not in operation.named and name not in catalog.facet_names():
            raise Misuse("filter", _no_facet(name, catalog))
    asked = urlencode([("searchphrase", phrase), *filters])
    request = Request(operation.path, asked, {"accept": "application/json"})
    application = next(iter(interface.application_names(content)), None)
    try:
        call = bind(request, application, interface, content=content)
    except Refusal as refusal:
        faults = "; ".join(map(str, refusal.faults)) or refusal.code
        raise Misuse("", f"the search refuses this: {faults}") from None
    query = search_query(content, call)
    return explain(catalog, phrase, query, limit, product)


def _no_facet(name: str, catalog: OpenedCatalog) -> str:
    """Return what to do about a filter that the search operation ignores.

    It ignores what it does not know, because clients send parameters of their own. Whoever
    asks why a filter does not narrow wants to read that.
    """
    facets = sorted(catalog.facet_names())
    ignored = f"{name}: no facet of this catalog, so the search ignores it"
    listed = cut(", ".join(facets), LONGEST_LIST)
    return f"{ignored}; facets: {listed}{suggestion(name.upper(), facets)}"
