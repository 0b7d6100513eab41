"""Why a search of the catalog finds what it finds; without one, what the catalog lacks."""

from functools import lru_cache
from typing import Any

from shopwindow.catalog.protocol import CATEGORY_FILTER, ProductQuery
from shopwindow.catalog.reading.explaining import explain
from shopwindow.catalog.reading.opened import OpenedCatalog
from shopwindow.content.reading.yaml import Json
from shopwindow.preview.pages.catalog import KIND, ShownCatalog, drawn
from shopwindow.preview.pages.documents import number
from shopwindow.preview.pages.indexes import MAX_PRODUCTS
from shopwindow.preview.visit import Page, Visit

EXPLAINED_PRODUCTS = 12
"""Products that the page explains: those of a client's first page (interface W2.2)."""

COUNTED_CATALOGS = 2
"""Catalogs whose counts are remembered: the working tree's and the release's. The page
is drawn again at every save, and only a new index has new counts.
"""


def page(visit: Visit) -> Page | None:
    """Return the page; None where the interface has no catalog.

    Parameters: ``q`` is the phrase, ``category`` the id of one that narrows it,
    ``product`` the id of a product whose place or absence is explained. Without ``q``
    the products are counted, those of a large catalog where ``count`` asks for it:
    every one of them is read, which takes a second for some 100,000.
    """
    if KIND not in visit.interface.kind:
        return None
    return drawn(visit, _page)


def _page(visit: Visit, shown: ShownCatalog) -> Page:
    catalog = shown.catalog
    phrase = visit.query.get("q", "").strip()
    product = number(visit.query.get("product", "").strip())
    is_large = catalog is not None and catalog.active > MAX_PRODUCTS
    values: dict[str, Any] = {
        **shown.values,
        "q": phrase,
        "product": product or "",
        "category": None,
        "explanation": None,
        "lacks": None,
        "waits": is_large and not phrase and "count" not in visit.query,
    }
    if catalog is not None and phrase:
        category = catalog.category(number(visit.query.get("category", "")))
        filters = {CATEGORY_FILTER: (str(category["id"]),)} if category else {}
        query = ProductQuery(filters=filters)
        values["category"] = category
        values["explanation"] = explain(
            catalog, phrase, query, EXPLAINED_PRODUCTS, product or None
        )
    elif catalog is not None and not values["waits"]:
        values["lacks"] = _lacks(catalog)
    title = "Why this is found" if phrase else "What the catalog lacks"
    return Page("catalog_explain.html", title, values)


@lru_cache(maxsize=COUNTED_CATALOGS)
def _lacks(catalog: OpenedCatalog) -> Json:
    return explain(catalog, "", ProductQuery(), 0)
