"""The catalog as customers find it: the tree of categories, a search, and product cards;
why a search finds what it finds, and what the catalog lacks.

A page for the kinds of `shopwindow.catalog`, which only an index holds. It shows the
working tree's index once that is built, and until then that of the current release.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shopwindow import library
from shopwindow.catalog.feeds.rules import ends
from shopwindow.catalog.protocol import CATEGORY_FILTER, Catalog, ProductQuery
from shopwindow.catalog.reading.explaining import explain, lacks
from shopwindow.catalog.reading.opened import OpenedCatalog
from shopwindow.preview.index_builds import IndexOfTree
from shopwindow.preview.pages.indexes import MAX_PRODUCTS, index_of_tree
from shopwindow.preview.visit import Page, Visit, number
from shopwindow.release.damage import is_damaged

KIND = "product"

INDEX = "catalog"

CARDS_A_PAGE = 24
"""Product cards of a page: divisible by the two, three and four columns that they have.
"""

MAX_STOCK = 20_000
"""Pairs of a UPC and a store that are looked up for the cards of a page."""

EXPLAINED_PRODUCTS = 12
"""Products that the page explains: those of a client's first page (interface W2.2)."""

COUNTED_CATALOGS = 2
"""Catalogs whose counts are remembered: the working tree's and the release's. The page
is drawn again at every save, and only a new index has new counts.
"""


@dataclass(frozen=True)
class CategoryNode:
    """A category of the tree; ``children`` are those of an open one. ``is_open``: it is
    the chosen one, or holds it.
    """

    id: int
    name: str
    is_chosen: bool
    is_open: bool
    children: tuple["CategoryNode", ...]


@dataclass(frozen=True)
class ProductCard:
    """A product as a card shows it, as catalogs return it.

    ``regular`` is the lowest and the highest that its variants cost without a sale, in
    dollars; None where there is no sale. ``sendable`` of its UPCs can be sent;
    ``stores`` have one of them, None where nobody counted. ``place``: its file and line.
    """

    product: Mapping[str, Any]
    regular: tuple[float, float] | None
    sendable: int
    stores: int | None
    place: tuple[str, int]


@dataclass(frozen=True)
class Found:
    """What a choice leads to: a page of product ids, of so many."""

    total: int
    ids: Sequence[int]
    corrected: str | None = None


@dataclass(frozen=True)
class ShownCatalog:
    """The catalog that a page shows: the working tree's, until that is built the
    release's; None: there is neither. ``values`` are what the template says of it.
    """

    catalog: OpenedCatalog | None
    values: Mapping[str, Any]


def drawn(visit: Visit, draw: Callable[[Visit, ShownCatalog], Page]) -> Page:
    """Return a page of the catalog, as ``draw`` draws it. ``build`` in the query asks for
    an index of many products.

    An index that turns out to be damaged is left out: that of the working tree is built
    again, and of the release's the page says what to do.
    """
    tree = index_of_tree(visit, INDEX)
    if tree.file is not None:
        try:
            return draw(visit, ShownCatalog(tree.opened, _values(tree)))
        except sqlite3.Error as error:
            if not is_damaged(error):
                raise
        visit.workspace.index_builds[INDEX].discard(tree.file)
        tree = index_of_tree(visit, INDEX)

    damage = ""
    released = visit.released.content.index(INDEX) if visit.released else None
    if visit.released and released is not None:
        try:
            instead = f"This is release {visit.released.id[:12]}"
            return draw(visit, ShownCatalog(released, _values(tree, instead)))
        except sqlite3.Error as error:
            if not is_damaged(error):
                raise
            damage = _release_damage(visit, visit.released.id, error)
    return draw(visit, ShownCatalog(None, _values(tree, damage=damage)))


def _release_damage(visit: Visit, id: str, error: sqlite3.Error) -> str:
    """Return a sentence about a release's damaged index, which is opened once more for
    the next page: it may be mended then.
    """
    visit.workspace.forget_released()
    advice = library.remedy(visit.workspace.out, id)
    return f"The catalog of release {id[:12]} is damaged: {error}; {advice}"


def _values(
    tree: IndexOfTree, instead: str = "", damage: str = ""
) -> Mapping[str, Any]:
    return {
        "tree": tree,
        "instead": instead,
        "damage": damage,
        "max_products": MAX_PRODUCTS,
    }


def page(visit: Visit) -> Page:
    """Return the page of the catalog. Parameters: ``q`` is a phrase to search for,
    ``category`` an id, and ``build`` asks for an index of many products.
    """
    return drawn(visit, _page)


def _page(visit: Visit, shown: ShownCatalog) -> Page:
    catalog: Catalog | None = shown.catalog
    phrase = visit.query.get("q", "")
    wanted = max(1, number(visit.query.get("page", "1")))
    category, found = None, Found(0, ())
    roots: Sequence[CategoryNode] = ()
    cards: Sequence[ProductCard] = ()
    if catalog is not None:
        category = catalog.category(number(visit.query.get("category", "")))
        found = _found(catalog, phrase.strip(), category, wanted)
        products = catalog.products(found.ids)
        roots = _tree(catalog, category)
        cards = list(_cards(visit, catalog, [products[id] for id in found.ids]))
    values: dict[str, Any] = {
        **shown.values,
        "q": phrase,
        "roots": roots,
        "category": category,
        "found": found,
        "cards": cards,
        "page": wanted,
        "pages": max(1, -(-found.total // CARDS_A_PAGE)),
    }
    return Page("catalog.html", "Catalog", values)


# -- what is shown ---------------------------------------------------------------------


def _found(
    catalog: Catalog, phrase: str, category: Mapping[str, Any] | None, page: int
) -> Found:
    """Return the products of a phrase, else of a category, else all of them."""
    query = ProductQuery(page=page, perpage=CARDS_A_PAGE, facets=False)
    if phrase:
        result = catalog.search(phrase, query)
        return Found(result.total, result.ids, result.corrected)
    if category is not None:
        result = catalog.browse(category["id"], query)
        return Found(result.total, result.ids)
    offset = (page - 1) * CARDS_A_PAGE
    return Found(*catalog.product_ids(offset=offset, limit=CARDS_A_PAGE))


def _tree(
    catalog: Catalog, chosen: Mapping[str, Any] | None
) -> tuple[CategoryNode, ...]:
    """Return the roots, open down to the chosen category."""
    path: set[int] = set()
    category = chosen
    while category is not None:
        path.add(category["id"])
        parent = category["parent"]
        category = None if parent is None else catalog.category(parent)

    def node(id: int) -> CategoryNode:
        found = catalog.category(id) or {"name": str(id), "children": ()}
        children = tuple(map(node, found["children"])) if id in path else ()
        is_chosen = chosen is not None and chosen["id"] == id
        return CategoryNode(id, found["name"], is_chosen, id in path, children)

    return tuple(map(node, catalog.roots()))


def _cards(
    visit: Visit, catalog: Catalog, products: Sequence[Mapping[str, Any]]
) -> Iterator[ProductCard]:
    having = _stores_having(visit, catalog, products)
    kind = visit.interface.kind[KIND]
    for product in products:
        yield ProductCard(
            product,
            ends(product["price"]["regular"]) if product["onsale"] else None,
            sum(upc["available"] for upc in product.get("upcs", ())),
            having.get(product["id"]),
            visit.files.streamed(kind, str(product["id"])),
        )


def _stores_having(
    visit: Visit, catalog: Catalog, products: Sequence[Mapping[str, Any]]
) -> Mapping[int, int]:
    """Return how many stores have each product; nothing where that is too much to
    count.
    """
    stores = visit.content.documents("store")
    locations = [store["locationNumber"] for store in stores]
    owners = {
        upc["upc"]: product["id"]
        for product in products
        for upc in product.get("upcs", ())
    }
    if not owners or len(owners) * len(locations) > MAX_STOCK:
        return {}
    statuses = catalog.availability(list(owners), locations)
    having: dict[int, set[int]] = {id: set() for id in owners.values()}
    for (upc, location), status in statuses.items():
        if status != "UNAVAILABLE":
            having[owners[upc]].add(location)
    return {id: len(stores) for id, stores in having.items()}


# -- why a search finds what it finds --------------------------------------------------


def explanation(visit: Visit) -> Page | None:
    """Return the page of why a search finds what it finds; None where the interface has
    no catalog.

    Parameters: ``q`` is the phrase, ``category`` the id of one that narrows it,
    ``product`` the id of a product whose place or absence is explained. Without ``q``
    the products are counted, those of a large catalog where ``count`` asks for it:
    every one of them is read, which takes a second for some 100,000.
    """
    if KIND not in visit.interface.kind:
        return None
    return drawn(visit, _explanation)


def _explanation(visit: Visit, shown: ShownCatalog) -> Page:
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
        values["lacks"] = _counted(catalog)
    title = "Why this is found" if phrase else "What the catalog lacks"
    return Page("catalog_explain.html", title, values)


_counted = lru_cache(maxsize=COUNTED_CATALOGS)(lacks)
