"""Why a phrase finds what it finds, and why in this order; without one, what is lacking.

Nothing here searches or scores: the values that `searching` and `scoring` return are
shown. What comes of it is JSON: a command prints it, and a page draws it.
"""

from collections.abc import Callable, Iterable, Sequence

from shopwindow.catalog.index.clauses import satisfying
from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.ranks import INACTIVE
from shopwindow.catalog.index.scoring import Match, Scoring, scoring_of
from shopwindow.catalog.index.searching import Searched, best_first, scored, texts
from shopwindow.catalog.protocol import ProductQuery
from shopwindow.content.reading.processes import Progress
from shopwindow.content.reading.yaml import Json

SCORED_FIELDS = ("name", "brand", "kind", "attributes")
"""What `scoring.WEIGHTS` weighs, in its order."""

EXAMPLES = 5
"""Products, categories or UPCs that are named for what they lack: enough to look at."""

PRODUCTS_A_LOOK, UPCS_A_LOOK = 100, 500
"""Products and UPCs whose stock is looked up together; SQLite took at most 999
placeholders before its release 3.32.
"""


def explain(
    catalog: OpenedCatalog,
    phrase: str,
    query: ProductQuery,
    limit: int,
    product: int | None = None,
    progress: Progress | None = None,
) -> Json:
    """Return why a phrase finds what it finds; without a word, what the catalog lacks.

    Args:
        catalog: what is searched.
        phrase: what a shopper types.
        query: its filters count; order and page do not.
        limit: so many products are explained, the best first.
        product: the id of one whose place or absence is explained, too.
        progress: where no phrase is given, called with (products read, all products).
    """
    if not phrase.strip():
        return _lacks(catalog, progress)
    searched, ranks = catalog.searched(phrase)
    scoring = scoring_of(catalog, searched.clauses, searched.head)
    narrowed = catalog.lists.filtered(ranks, query)
    ordered = best_first(catalog, searched, narrowed, len(narrowed))
    used = {word for clause in searched.clauses for word in clause.words}
    shown = _products(catalog, searched, scoring, ordered)
    return {
        "phrase": phrase,
        "corrected": searched.corrected,
        "limit": searched.limit,
        "head": searched.head,
        "terms": [
            {
                "words": clause.words,
                "corrected": clause.corrected,
                "standsFor": [
                    {"stems": stems, "way": way} for stems, way in clause.alternatives
                ],
                "products": clause.products,
                "weight": round(weight, 3),
            }
            for clause, weight in zip(searched.clauses, scoring.weights, strict=True)
        ],
        "unused": [word for word in searched.every if word not in used],
        "widened": searched.first is not None,
        "found": len(ranks),
        "filtered": len(ordered),
        "products": shown(ordered[:limit]),
        "product": product and _named(catalog, searched, ordered, shown, product),
    }


Shown = Callable[[Sequence[int]], list[Json]]
"""Returns products of a result by their ranks: their places, scores, and the words that
matched.
"""


def _products(
    catalog: OpenedCatalog,
    searched: Searched,
    scoring: Scoring,
    ordered: Sequence[int],
) -> Shown:
    """Return what shows products of a result, of which ``ordered`` has all in order.

    One has no score where its number is the phrase, or where so many are found that it
    follows by its rank.
    """
    places = {rank: place for place, rank in enumerate(ordered, 1)}
    by_words = sorted(rank for rank in ordered if rank != searched.direct)
    with_score = set(scored(catalog, searched, by_words))

    def shown(ranks: Sequence[int]) -> list[Json]:
        ids = [catalog.lists.column("id")[rank] for rank in ranks]
        documents = catalog.products(ids)
        rows = texts(catalog, [rank for rank in ranks if rank in with_score])
        scores = {rank: scoring.score(text) for rank, text in rows}
        return [
            {
                "place": places[rank],
                "id": id,
                "name": documents[id]["name"],
                "brand": documents[id].get("brand", ""),
                "rank": catalog.lists.standing_at(rank),
                "score": scores[rank].total if rank in scores else None,
                "matches": _by_field(scores[rank].matches) if rank in scores else {},
            }
            for rank, id in zip(ranks, ids, strict=True)
        ]

    return shown


def _by_field(matches: Iterable[Match]) -> Json:
    """Return the words that matched, by the field that they stand in."""
    words: dict[str, list[str]] = {}
    for field, word in dict.fromkeys(matches):
        words.setdefault(SCORED_FIELDS[field], []).append(word)
    return words


def _named(
    catalog: OpenedCatalog,
    searched: Searched,
    ordered: Sequence[int],
    shown: Shown,
    id: int,
) -> Json:
    """Return what became of a product that was named: it exists, is active, is found,
    and has no place where filters or the price limit leave it out.
    """
    rank = catalog.ranks((id,)).get(id)
    is_active = rank is not None and rank < INACTIVE
    is_found = is_active and (rank in searched.ranks or rank == searched.direct)
    (product,) = shown([rank]) if rank is not None and rank in ordered else (None,)
    return {
        "id": id,
        "exists": rank is not None,
        "active": is_active,
        "found": is_found,
        "place": product and product["place"],
        "lacks": [
            " ".join(clause.words)
            for clause in searched.clauses
            if is_active and not is_found and rank not in satisfying(catalog, (clause,))
        ],
        "product": product,
    }


# -- what the catalog lacks ------------------------------------------------------------


def _lacks(catalog: OpenedCatalog, progress: Progress | None) -> Json:
    """Return what active products lack, in one pass over their documents, and which
    categories have none of them.

    What lacks something is counted, and the first are named: products and UPCs in the
    order of best sellers, categories in that of their ids.
    """
    categories = {id for (id,) in catalog.file.rows("SELECT id FROM category")}
    lacking = {name: _Lacking() for name in ("image", "price", "category", "stock")}
    nowhere, waiting = _Lacking(), list[Json]()
    count = 0
    for done, document in enumerate(catalog.documents(), 1):
        id = document["id"]
        if not document.get("images", {}).get("primary"):
            lacking["image"].add(id)
        if document["priceHigh"] <= 0:
            lacking["price"].add(id)
        if categories.isdisjoint(document.get("categories", ())):
            lacking["category"].add(id)
        sold = [one for one in document.get("upcs", ()) if one.get("active", True)]
        count += len(sold)
        if any(not one["available"] for one in sold):
            waiting.append((id, sold))
        if len(waiting) >= PRODUCTS_A_LOOK:
            _look_up(catalog, waiting, lacking["stock"], nowhere)
        if progress:
            progress(done, catalog.active)
    _look_up(catalog, waiting, lacking["stock"], nowhere)
    empty = _Lacking()
    query = "SELECT id FROM category WHERE coalesce(length(products), 0) = 0"
    for (id,) in catalog.file.rows(f"{query} ORDER BY id"):
        empty.add(id)
    return {
        "products": catalog.active,
        "lacking": {name: one.shown() for name, one in lacking.items()},
        "upcs": count,
        "nowhere": nowhere.shown(),
        "categories": len(categories),
        "empty": empty.shown(),
        "facets": [
            {
                "name": facet.name,
                "values": len(facet.values),
                # The combination 0 has no value, and free ranks have it, too.
                "products": len(facet.column) - facet.column.count(0),
            }
            for facet in catalog.lists.facets
        ],
    }


class _Lacking:
    """What lacks something: all are counted, and the first are named."""

    def __init__(self) -> None:
        self._count = 0
        self._first: list[int | str] = []

    def add(self, id: int | str) -> None:
        self._count += 1
        if len(self._first) < EXAMPLES:
            self._first.append(id)

    def shown(self) -> Json:
        return {"count": self._count, "first": self._first}


def _look_up(
    catalog: OpenedCatalog, waiting: list[Json], sold_out: _Lacking, nowhere: _Lacking
) -> None:
    """Count UPCs that cannot be sent and that no store has, and products without others.

    ``waiting`` has ids of products with their UPCs, and is empty afterwards.
    """
    numbers = [
        one["upc"] for _, sold in waiting for one in sold if not one["available"]
    ]
    in_stores = set[str]()
    for start in range(0, len(numbers), UPCS_A_LOOK):
        looked_up = numbers[start : start + UPCS_A_LOOK]
        in_stores |= set(catalog.stock.upcs_in_stores(looked_up))
    for id, sold in waiting:
        gone = [
            one["upc"]
            for one in sold
            if not one["available"] and one["upc"] not in in_stores
        ]
        for upc in gone:
            nowhere.add(upc)
        if len(gone) == len(sold):
            sold_out.add(id)
    waiting.clear()
