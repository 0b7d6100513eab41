"""What the catalog has, and what its products lack."""

from functools import lru_cache, partial
from typing import Any

from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.stats import CatalogStats, stats_of
from shopwindow.preview.pages.catalog import KIND, ShownCatalog, drawn
from shopwindow.preview.pages.indexes import MAX_PRODUCTS
from shopwindow.preview.visit import Page, Visit

COUNTED_CATALOGS = 2
"""Catalogs whose counts are remembered: the working tree's and the release's. The page
is drawn again at every save, and only a new index has new counts.
"""


def page(visit: Visit) -> Page | None:
    """Return the page; None where the interface has no catalog.

    ``count`` in the query asks to count the products of a large catalog: every one of
    them is read, which takes a second for some 100,000.
    """
    if KIND not in visit.snapshot.interface.kind:
        return None
    return drawn(visit, partial(_page, visit))


def _page(visit: Visit, shown: ShownCatalog) -> Page:
    catalog = shown.catalog
    is_large = catalog is not None and catalog.active > MAX_PRODUCTS
    waits = is_large and "count" not in visit.query
    values: dict[str, Any] = {
        **shown.values,
        "waits": waits,
        "stats": None if catalog is None or waits else _counted(catalog),
    }
    return Page("catalog_stats.html", "What the catalog has", values)


@lru_cache(maxsize=COUNTED_CATALOGS)
def _counted(catalog: OpenedCatalog) -> CatalogStats:
    return stats_of(catalog)
