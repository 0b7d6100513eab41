"""Why a phrase finds what it finds, and why in this order; and what the catalog lacks.

Nothing here searches or scores: the values that `searching` and `scoring` return are
shown. What comes of it is JSON: a command prints it, and a page draws it.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from shopwindow.catalog.protocol import ProductQuery
from shopwindow.catalog.reading.opened import OpenedCatalog
from shopwindow.catalog.search.clauses import satisfying
from shopwindow.catalog.search.scoring import Match, Scoring, scoring_of
from shopwindow.catalog.search.searching import Searched, best_first, scored
from shopwindow.content.reading.yaml import Json

SCORED_FIELDS = ("name", "brand", "kind", "attributes")
"""What `scoring.WEIGHTS` weighs, in its order."""

EXAMPLES = 5
"""Products, categories or UPCs that are named for what they lack: enough to look at."""


def explain(
    catalog: OpenedCatalog,
    phrase: str,
    query: ProductQuery,
    limit: int,
    product: int | None = None,
) -> Json:
    """Return why a phrase finds what it finds.

    Args:
        catalog: what is searched.
        phrase: what a shopper types.
        query: its filters count; order and page do not.
        limit: so many products are explained, the best first.
        product: the id of one whose place or absence is explained, too.
    """
    searched, ranks = catalog.searched(phrase)
    scoring = scoring_of(catalog.reader, searched.clauses, searched.head)
    narrowed = catalog.lists.filtered(ranks, query)
    ordered = best_first(catalog.reader, searched, narrowed, len(narrowed))
    used = {word for clause in searched.clauses for word in clause.words}
    shown = partial(_products, catalog, searched, scoring, ordered)
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


def _products(
    catalog: OpenedCatalog,
    searched: Searched,
    scoring: Scoring,
    ordered: Sequence[int],
    ranks: Sequence[int],
) -> list[Json]:
    """Return products of a result, of which ``ordered`` has all in order, by their
    ranks: their places, scores, and the words that matched.

    One has no score where its number is the phrase, or where so many are found that it
    follows by its rank.
    """
    with_score = set(scored(catalog.reader, searched, np.sort(ordered)).tolist())
    ids = catalog.lists.ids(ranks)
    documents, texts = catalog.products(ids), catalog.reader.texts(ids)
    products = []
    for rank, id in zip(ranks, ids, strict=True):
        has_score = rank in with_score and id != searched.direct
        score = scoring.score(texts[id]) if has_score else None
        products.append(
            {
                "place": ordered.index(rank) + 1,
                "id": id,
                "name": documents[id]["name"],
                "brand": documents[id].get("brand", ""),
                "rank": rank + 1,
                "score": score and score.total,
                "matches": _by_field(score.matches) if score else {},
            }
        )
    return products


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
    shown: Callable[[Sequence[int]], list[Json]],
    id: int,
) -> Json:
    """Return what became of a product that was named: it exists, is active, is found,
    and has no place where filters or the price limit leave it out.
    """
    ranks = catalog.lists.ranks((id,)).tolist()
    is_active = bool(ranks)
    is_found = is_active and (id in searched.ids or id == searched.direct)
    (product,) = shown(ranks) if set(ranks).intersection(ordered) else (None,)
    return {
        "id": id,
        "exists": catalog.product(id) is not None,
        "active": is_active,
        "found": is_found,
        "place": product and product["place"],
        "lacks": [
            " ".join(clause.words)
            for clause in searched.clauses
            if is_active
            and not is_found
            and id not in satisfying(catalog.reader, (clause,))
        ],
        "product": product,
    }


# -- what the catalog lacks ------------------------------------------------------------

CANNOT_BE_SENT = "upc.active AND online = 0 AND stores IS NULL"
"""What is true of a UPC that is sold, and that neither the site nor a store has."""

LACKING = {
    "image": "NOT pictured",
    "price": "high <= 0",
    "category": "NOT EXISTS (SELECT 1 FROM json_each(categories)"
    " JOIN category ON category.id = value)",
    "stock": "EXISTS (SELECT 1 FROM upc WHERE product = listed.id AND upc.active)"
    " AND NOT EXISTS (SELECT 1 FROM upc LEFT JOIN stock USING (upc)"
    f" WHERE product = listed.id AND upc.active AND NOT ifnull({CANNOT_BE_SENT}, 0))",
}
"""What an active product may lack, as conditions of the table `listed`."""

BY_RANK = "listed.best IS NULL, listed.best, listed.id"
"""The order of ranks."""

SOLD = (
    "FROM upc JOIN listed ON listed.id = product LEFT JOIN stock USING (upc)"
    " WHERE listed.active AND upc.active"
)
"""The UPCs that are sold, with their stock and their products."""


def lacks(catalog: OpenedCatalog) -> Json:
    """Return what active products lack, and which categories have none of them.

    What lacks something is counted, and the first are named: products and UPCs in the
    order of best sellers, categories in that of their ids.
    """

    def counted(column: str, rows: str, order: str) -> Json:
        first = catalog.file.rows(
            f"SELECT {column} {rows} ORDER BY {order} LIMIT {EXAMPLES}"
        )
        count = catalog.file.one(f"SELECT count(*) {rows}")
        return {"count": count, "first": [value for (value,) in first]}

    def text_of(upc: int) -> str:
        """Return a UPC as its product has it: with leading zeros."""
        id = catalog.file.one("SELECT product FROM upc WHERE upc = ?", upc)
        texts: list[str] = [
            entry["upc"] for entry in (catalog.product(id) or {})["upcs"]
        ]
        return next(text for text in texts if int(text) == upc)

    nowhere = counted("upc", f"{SOLD} AND {CANNOT_BE_SENT}", f"{BY_RANK}, upc")
    nowhere["first"] = list(map(text_of, nowhere["first"]))
    empty = "FROM category WHERE length(products) = 0"
    return {
        "products": catalog.active,
        "lacking": {
            name: counted("id", f"FROM listed WHERE active AND {condition}", BY_RANK)
            for name, condition in LACKING.items()
        },
        "upcs": catalog.file.one(f"SELECT count(*) {SOLD}"),
        "nowhere": nowhere,
        "categories": catalog.file.one("SELECT count(*) FROM category"),
        "empty": counted("id", empty, "id"),
        "facets": [
            {
                "name": name,
                "values": len(facet.values),
                "products": facet.having(),
            }
            for name, facet in catalog.lists.facets.items()
        ],
    }
