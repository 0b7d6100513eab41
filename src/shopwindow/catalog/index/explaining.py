"""Why a phrase finds what it finds, and why in this order.

Nothing here searches: the steps of a search (`searching`, `scoring`) return their
reasons beside what they find, and this module puts them together as the values of
`reasons`. The order that is explained is the one that `OpenedCatalog.search` returns,
and the scores are those by which it was made.
"""

from collections.abc import Sequence
from dataclasses import replace

from shopwindow.catalog.index import searching
from shopwindow.catalog.index.clauses import (
    MAX_CHARACTERS,
    NEARNESS,
    satisfying,
)
from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.ranks import INACTIVE
from shopwindow.catalog.index.reasons import (
    AlternativeReason,
    ClauseMatch,
    ClauseReason,
    FieldMatch,
    Group,
    NamedProduct,
    ProductReason,
    ScoreReason,
    SearchExplanation,
    WordReason,
    WordUse,
)
from shopwindow.catalog.index.scoring import (
    FILLED_NAME,
    NAME_END,
    Score,
    Scoring,
    scoring_of,
)
from shopwindow.catalog.index.searching import SearchedPhrase
from shopwindow.catalog.index.words import STOP_WORDS, stem, words
from shopwindow.catalog.protocol import CATEGORY_FILTER, ProductQuery
from shopwindow.content.yaml import Json

SCORED_FIELDS = ("name", "brand", "kind", "attributes")
"""What `scoring.WEIGHTS` weighs, in its order."""


def explain(
    catalog: OpenedCatalog,
    phrase: str,
    query: ProductQuery,
    limit: int,
    product: int | None = None,
) -> SearchExplanation:
    """Return why a phrase finds what it finds.

    Args:
        catalog: what is searched.
        phrase: what a shopper types.
        query: its filters count; order and page do not.
        limit: so many products are explained, the best first.
        product: the id of one whose place or absence is explained, too.
    """
    query = replace(
        query, sort=None, page=1, perpage=limit + 1, facets=False, products=True
    )
    searched = catalog.searched(phrase)
    result = searched.result
    page = catalog.search(phrase, query)
    places = _ResultPlaces(catalog, searched, query)
    reasons = places.reasons(page.ids)
    understood, clauses = result.understood, result.clauses
    return SearchExplanation(
        phrase=phrase,
        ignored_characters=max(0, len(phrase) - MAX_CHARACTERS),
        corrected=page.corrected,
        limit=searched.limit,
        direct=places.direct,
        words=tuple(_word_reasons(phrase, searched)),
        clauses=tuple(_clause_reasons(places.scoring, searched)),
        is_part=clauses != understood and not result.is_widened,
        is_widened=result.is_widened,
        before_widening=len(result.first),
        before_filters=len(searched.ranks),
        total=page.total,
        scored=len(places.with_score),
        by_rank=places.count_by_rank,
        products=tuple(reasons[:limit]),
        next=reasons[limit] if len(reasons) > limit else None,
        product=None if product is None else places.of_product(product),
    )


# -- the phrase ------------------------------------------------------------------------


def _word_reasons(phrase: str, searched: SearchedPhrase) -> list[WordReason]:
    """Return all words of a phrase and what became of them."""
    unpriced, _ = searching.priced(phrase)
    of_phrase = searched.result.words
    every = words(unpriced[:MAX_CHARACTERS])
    opening = len(every) - len(of_phrase.every)
    understood = {word for one in searched.result.understood for word in one.words}
    counted = {word for one in searched.result.clauses for word in one.words}
    searched_for = set(of_phrase.significant)

    def use(place: int, word: str) -> WordUse:
        if place < opening:
            return "opening"
        if word in STOP_WORDS:
            return "says nothing"
        if word not in searched_for:
            return "beyond"
        if word in counted:
            return "searched"
        if searched.direct is not None:  # then the phrase is this word alone
            return "number"
        return "left out" if word in understood else "unknown"

    return [
        WordReason(word, stem(word), use(place, word))
        for place, word in enumerate(every)
    ]


def _clause_reasons(scoring: Scoring, searched: SearchedPhrase) -> list[ClauseReason]:
    head = searched.result.words.head
    return [
        ClauseReason(
            clause.words,
            clause.corrected,
            tuple(
                AlternativeReason(stems, way, NEARNESS[way])
                for stems, way in clause.alternatives
            ),
            clause.products,
            round(weight, 3),
            is_head=head in clause.words,
        )
        for clause, weight in zip(searched.result.clauses, scoring.weights, strict=True)
    ]


# -- the products ----------------------------------------------------------------------


class _ResultPlaces:
    """Where the products of a result stand, and why.

    Attributes:
        scoring: what they are scored by.
        direct: the id of the product whose number the phrase is, or None.
        with_score: the ranks of those that have a score.
        count_by_rank: how many follow by their rank, for they have none.
    """

    def __init__(
        self, catalog: OpenedCatalog, searched: SearchedPhrase, query: ProductQuery
    ) -> None:
        self._catalog, self._searched, self._query = catalog, searched, query
        result = searched.result
        self.scoring = scoring_of(catalog, result.clauses, result.words.head)
        self._narrowed = catalog.lists.filtered(searched.ranks, query)
        self.direct: int | None = None
        if searched.direct is not None:
            self.direct = catalog.lists.column("id")[searched.direct]
        by_words = [rank for rank in self._narrowed if rank != searched.direct]
        self.with_score = frozenset(searching.scored(catalog, result, by_words))
        self.count_by_rank = len(by_words) - len(self.with_score)

    def reasons(self, ids: Sequence[int], first: int = 1) -> list[ProductReason]:
        """Return why products stand at the places from ``first`` on."""
        ranks = self._catalog.ranks(ids)
        documents = self._catalog.products(ids)
        of_ranks = [ranks[id] for id in ids if ranks[id] in self.with_score]
        texts = dict(searching.texts(self._catalog, of_ranks))
        scores = {rank: self.scoring.score(text) for rank, text in texts.items()}
        return [
            self._reason(place, ranks[id], documents[id], scores.get(ranks[id]))
            for place, id in enumerate(ids, first)
        ]

    def _reason(
        self, place: int, rank: int, document: Json, score: Score | None
    ) -> ProductReason:
        return ProductReason(
            place,
            document["id"],
            document["name"],
            document.get("brand", ""),
            self._group(rank),
            self._catalog.lists.standing_at(rank),
            self._score_reason(score) if score else None,
        )

    def _group(self, rank: int) -> Group:
        first = self._searched.result.first
        if rank == self._searched.direct:
            return "direct"
        if rank not in self.with_score:
            return "rank"
        return "widened" if first and rank not in first else "score"

    def _score_reason(self, score: Score) -> ScoreReason:
        side_by_side = float(score.side_by_side)
        filled_name = FILLED_NAME * score.filled
        name_end = NAME_END * score.ends_name
        clauses = tuple(
            ClauseMatch(
                clause.words,
                tuple(
                    FieldMatch(SCORED_FIELDS[field], word, round(worth, 3))
                    for field, _, word, of, worth in score.matches
                    if of == number
                ),
                round(score.best[number], 3),
                round(score.further[number], 3),
            )
            for number, clause in enumerate(self._searched.result.clauses)
        )
        by_words = score.total - side_by_side - filled_name - name_end
        return ScoreReason(
            score.total,
            clauses,
            round(by_words, 3),
            side_by_side,
            round(filled_name, 3),
            name_end,
        )

    # -- a product that was named --

    def of_product(self, id: int) -> NamedProduct:
        """Return where a product stands, or why it is not found."""
        rank = self._catalog.ranks((id,)).get(id)
        if rank is None:
            return NamedProduct(id, "the catalog has no such product")
        if rank >= INACTIVE:
            return NamedProduct(id, "it is not active, and only active ones are found")
        if rank in self._narrowed:
            return self._standing(id, rank)
        if rank in self._searched.ranks:
            return NamedProduct(id, f"left out by {self._filters_against(rank)}")
        if rank in self._searched.result.ranks:
            return NamedProduct(id, "left out by the price limit of the phrase")
        return self._lacking(id, rank)

    def _standing(self, id: int, rank: int) -> NamedProduct:
        everything = len(self._narrowed)
        ordered = self._searched.ordered(self._catalog, self._narrowed, everything)
        place = ordered.index(rank) + 1
        (reason,) = self.reasons((id,), place)
        return NamedProduct(id, f"it is found, at place {place:,}", reason=reason)

    def _filters_against(self, rank: int) -> str:
        """Return which filters of the query a product does not pass."""
        query = self._query
        filters: dict[str, ProductQuery] = {}
        for name, values in query.filters.items():
            is_category = name == CATEGORY_FILTER
            label = "the category" if is_category else f"{name}={', '.join(values)}"
            filters[label] = ProductQuery(filters={name: values})
        filters["the price"] = ProductQuery(price=query.price)
        filters["where it can be picked up"] = ProductQuery(pick_up=query.pick_up)
        against = [
            label
            for label, alone in filters.items()
            if not self._catalog.lists.filtered((rank,), alone)
        ]
        return " and ".join(against)

    def _lacking(self, id: int, rank: int) -> NamedProduct:
        """Return which words of the phrase a product has nothing for."""
        result = self._searched.result
        if not result.understood and self.direct is not None:
            why = f"the phrase is only the number of product {self.direct}"
            return NamedProduct(id, why)
        if not result.understood:
            return NamedProduct(
                id, "no word of the phrase stands for anything that products have"
            )
        clauses = result.clauses or result.understood
        lacks = tuple(
            " ".join(clause.words)
            for clause in clauses
            if rank not in satisfying(self._catalog, (clause,))
        )
        return NamedProduct(id, f"it has nothing for {', '.join(lacks)}", lacks)
