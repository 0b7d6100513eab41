"""What the catalog has, and what its products lack."""

from functools import lru_cache
from typing import Any

from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.stats import CatalogStats, stats_of
from shopwindow.preview.pages.catalog import KIND, shown_catalog
from shopwindow.preview.pages.indexes import MAX_PRODUCTS
from shopwindow.preview.visit import Page, Visit

COUNTED_CATALOGS = 2
"""Catalogs whose counts are remembered: the working tree's and the release's. The page
is drawn again at every save, and only a new index has new counts.
"""


def page(visit: Visit) -> Page | None:
    """Return the page; None where the interface has no catalog.

    The products of a large catalog are counted on a terminal: every one of them is read.
    """
    if KIND not in visit.snapshot.interface.kind:
        return None
    shown = shown_catalog(visit)
    catalog = shown.catalog
    is_large = catalog is not None and catalog.active > MAX_PRODUCTS
    values: dict[str, Any] = {
        **shown.values,
        "is_large": is_large,
        "stats": None if catalog is None or is_large else _counted(catalog),
    }
    return Page("catalog_stats.html", "What the catalog has", values)


@lru_cache(maxsize=COUNTED_CATALOGS)
def _counted(catalog: OpenedCatalog) -> CatalogStats:
    return stats_of(catalog)
