"""Why a phrase finds what it finds, and why in this order; without one, what is lacking.

Nothing here searches or scores: `searching` and `scoring` do, and the values that they
return are shown. What comes of it is JSON: a command prints it, and a page draws it.
"""

from collections.abc import Mapping, Sequence

from shopwindow.catalog.index import searching
from shopwindow.catalog.index.clauses import satisfying
from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.ranks import INACTIVE
from shopwindow.catalog.index.scoring import Scoring, scoring_of
from shopwindow.catalog.index.searching import SearchedPhrase
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
    searched = catalog.searched(phrase)
    result = searched.result
    scoring = scoring_of(catalog, result.clauses, result.words.head)
    narrowed = catalog.lists.filtered(searched.ranks, query)
    ordered = searched.ordered(catalog, narrowed, len(narrowed))
    places = {rank: place for place, rank in enumerate(ordered, 1)}
    used = {word for clause in result.clauses for word in clause.words}
    return {
        "phrase": phrase,
        "corrected": searched.corrected,
        "limit": searched.limit,
        "head": result.words.head,
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
            for clause, weight in zip(result.clauses, scoring.weights, strict=True)
        ],
        "unused": [word for word in result.words.every if word not in used],
        "widened": result.is_widened,
        "found": len(searched.ranks),
        "filtered": len(ordered),
        "products": _products(catalog, searched, scoring, ordered[:limit], places),
        "product": product and _named(catalog, searched, scoring, places, product),
    }


def _products(
    catalog: OpenedCatalog,
    searched: SearchedPhrase,
    scoring: Scoring,
    ranks: Sequence[int],
    places: Mapping[int, int],
) -> list[Json]:
    """Return products of a result: their places, scores, and the words that matched.

    One has no score where its number is the phrase, or where so many are found that it
    follows by its rank.
    """
    ids = [catalog.lists.column("id")[rank] for rank in ranks]
    documents = catalog.products(ids)
    by_words = [rank for rank in sorted(places) if rank != searched.direct]
    scored = set(searching.scored(catalog, searched.result, by_words))
    having = [rank for rank in ranks if rank in scored]
    texts = dict(searching.texts(catalog, having))
    scores = {rank: scoring.score(text) for rank, text in texts.items()}
    shown = []
    for rank, id in zip(ranks, ids, strict=True):
        score = scores.get(rank)
        matches: dict[str, list[str]] = {}
        for field, _, word, _, _ in score.matches if score else ():
            words = matches.setdefault(SCORED_FIELDS[field], [])
            if word not in words:
                words.append(word)
        shown.append(
            {
                "place": places[rank],
                "id": id,
                "name": documents[id]["name"],
                "brand": documents[id].get("brand", ""),
                "rank": catalog.lists.standing_at(rank),
                "score": score and round(score.total, 3),
                "matches": matches,
            }
        )
    return shown


def _named(
    catalog: OpenedCatalog,
    searched: SearchedPhrase,
    scoring: Scoring,
    places: Mapping[int, int],
    id: int,
) -> Json:
    """Return what became of a product that was named: it exists, is active, is found,
    and has no place where filters or the price limit leave it out.
    """
    rank = catalog.ranks((id,)).get(id)
    clauses = searched.result.clauses or searched.result.understood
    is_active = rank is not None and rank < INACTIVE
    is_found = rank in searched.result.ranks or rank == searched.direct
    product = None
    if rank is not None and rank in places:
        (product,) = _products(catalog, searched, scoring, [rank], places)
    lacks: list[str] = []
    if is_active and not is_found:
        lacks = [
            " ".join(clause.words)
            for clause in clauses
            if rank not in satisfying(catalog, (clause,))
        ]
    return {
        "id": id,
        "exists": rank is not None,
        "active": is_active,
        "found": is_active and is_found,
        "place": None if rank is None else places.get(rank),
        "lacks": lacks,
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
