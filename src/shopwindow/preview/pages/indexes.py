"""The indexes of the working tree, which pages ask for and nobody waits for."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from shopwindow.catalog.index.known_lines import CheckedCatalog
from shopwindow.preview.index_builds import IndexOfTree
from shopwindow.preview.visit import Visit

MAX_PRODUCTS = 20_000
"""Of more products the index is built only on request: it takes processor time that an
editor of an event has no use for.
"""


def index_of_tree(visit: Visit, name: str) -> IndexOfTree:
    """Return an index of the working tree at the chosen instant.

    It is built from now on where it is not there. ``build`` in the query asks for one
    that is large.
    """
    workspace, snapshot = visit.workspace, visit.snapshot
    builds = workspace.index_builds.get(name)
    if builds is None:
        return IndexOfTree(failure=f"This interface has no {name}")
    if not snapshot.good_at:
        return IndexOfTree(
            failure=f"The {name} is empty until the content has no problem"
        )
    feeds = snapshot.documents.feeds.get(name)
    if feeds is None:
        return IndexOfTree(failure=f"The content folder has no {name}")
    requested = "build" in visit.query
    is_large = _IS_LARGE.get(name, lambda feeds: False)
    return builds.of(
        feeds, visit.content, workspace.program, is_large, requested=requested
    )


def _has_many_products(checked: CheckedCatalog) -> bool:
    beyond = islice(checked.lines("product"), MAX_PRODUCTS, None)
    return next(beyond, None) is not None


_IS_LARGE: Mapping[str, Callable[[Any], bool]] = {"catalog": _has_many_products}
"""Index → whether what its check returned takes long to build."""
