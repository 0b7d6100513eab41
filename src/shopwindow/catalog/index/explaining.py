"""Why a phrase finds what it finds, and why in this order.

Nothing here searches: the steps of a search (`searching`, `scoring`) return their
reasons beside what they find, and this module puts them together for people. The order
that is explained is the one that `OpenedCatalog.search` returns, and the scores are
those by which it was made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from shopwindow.catalog.index import searching
from shopwindow.catalog.index.clauses import (
    MAX_CHARACTERS,
    NEARNESS,
    satisfying,
)
from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.scoring import (
    FILLED_NAME,
    NAME_END,
    Score,
    Scoring,
    scoring_of,
)
from shopwindow.catalog.index.searching import SearchedPhrase
from shopwindow.catalog.index.words import STOP_WORDS, stem, words
from shopwindow.catalog.protocol import CATEGORY_FILTER, ProductQuery, Range
from shopwindow.content.yaml import Json

SCORED_FIELDS = ("name", "brand", "kind", "attributes")
"""What `scoring.WEIGHTS` weighs, in its order."""

DESCRIPTION = "description"

WordUse = Literal[
    "searched", "opening", "says nothing", "beyond", "unknown", "left out"
]
"""What became of a word. ``opening``: it only asks, as `do you have`. ``beyond``: more
words than are searched for stand before it. ``unknown``: no product has it, nor a word
like it. ``left out``: with it, nothing was found.
"""

Group = Literal["direct", "score", "widened", "rank"]
"""Why a product stands where it does. ``direct``: the phrase is its number. ``score``:
by its score. ``widened``: by its score, behind those that were found before the phrase
was widened. ``rank``: no score, by its static rank behind all that have one.
"""


USE_WORDS: Mapping[WordUse, str] = {
    "opening": "only asks",
    "says nothing": "says nothing of what is sought",
    "beyond": f"not searched for: only the first {searching.MAX_WORDS} words are",
    "unknown": "no product has it, nor a word like it",
    "left out": "left out: with it nothing is found",
}
"""What became of words that are not searched for, for people."""

WAY_WORDS = {
    "itself": "the stem",
    "synonym": "the synonym",
    "corrected": "corrected to",
    "begun": "the beginning of",
}
"""How what may stand for words came about, for people."""

GROUP_WORDS: Mapping[Group, str] = {
    "direct": "first, for the phrase is its number",
    "score": "by its score",
    "widened": "behind those that the phrase finds without longer words",
    "rank": "no score: by its rank, behind those that have one",
}
"""Why a product stands where it does, for people."""


@dataclass(frozen=True)
class WordReason:
    """A word of a phrase, its stem, and what became of it."""

    word: str
    stem: str
    use: WordUse


@dataclass(frozen=True)
class AlternativeReason:
    """What may stand for words: stems that a product must all have.

    ``way``: how they came about, a key of `clauses.NEARNESS`, which says ``nearness``.
    """

    stems: tuple[str, ...]
    way: str
    nearness: float


@dataclass(frozen=True)
class ClauseReason:
    """Words that were searched for as one.

    Attributes:
        words: as they were typed.
        corrected: how they read after they were corrected; None: they were not.
        alternatives: what may stand for them.
        products: how many products have one of these, at most.
        weight: what a match counts beside those of the other clauses.
        is_head: they name the thing sought.
    """

    words: tuple[str, ...]
    corrected: str | None
    alternatives: tuple[AlternativeReason, ...]
    products: int
    weight: float
    is_head: bool


@dataclass(frozen=True)
class FieldMatch:
    """A word of a product that stands for words of the phrase, the field in which it
    stands, and what it is worth there.
    """

    field: str
    word: str
    worth: float


@dataclass(frozen=True)
class ClauseMatch:
    """Where a product has what words of the phrase stand for.

    Attributes:
        words: those of the phrase.
        matches: without any, the product has it in its description.
        best: its worth in the best field.
        further: what it is worth in other fields, of which a part counts.
    """

    words: tuple[str, ...]
    matches: tuple[FieldMatch, ...]
    best: float
    further: float

    @property
    def fields(self) -> tuple[str, ...]:
        """Where the product has it."""
        return tuple(dict.fromkeys(match.field for match in self.matches)) or (
            DESCRIPTION,
        )


@dataclass(frozen=True)
class ScoreReason:
    """A product's score, and its parts: it is the sum of the last four, rounded.

    Attributes:
        total: the score.
        clauses: where the product has what the words stand for.
        by_words: the mean worth of the clauses by their weights.
        side_by_side: for words that stand in the name side by side as in the phrase.
        filled_name: for the part of the name's words that the phrase has.
        name_end: for a name that ends with a word of the phrase.
    """

    total: float
    clauses: tuple[ClauseMatch, ...]
    by_words: float
    side_by_side: float
    filled_name: float
    name_end: float


@dataclass(frozen=True)
class ProductReason:
    """A product, its place in the whole result from 1, and why it stands there.

    ``rank`` is its static rank. ``score`` is None where it has none: it stands there by
    its number or its rank.
    """

    place: int
    id: int
    name: str
    brand: str
    group: Group
    rank: int
    score: ScoreReason | None


@dataclass(frozen=True)
class AbsenceReason:
    """Where a product that was named stands, or why it is not found, as a sentence.

    ``lacks``: the words of the phrase that it has nothing for. ``found``: where it
    stands, if the phrase finds it.
    """

    id: int
    why: str
    lacks: tuple[str, ...] = ()
    found: ProductReason | None = None


@dataclass(frozen=True)
class SearchExplanation:
    """What a phrase finds, and why.

    Attributes:
        phrase: as it was typed.
        ignored_characters: how many characters at its end are ignored.
        corrected: the phrase that was searched for; None: the one that was typed.
        limit: the price limit at its end, in dollars.
        words: those of the phrase.
        clauses: what was searched for.
        is_part: the phrase finds nothing as a whole, so the largest part of it counts.
        is_widened: the phrase alone finds few products, so its words also stand for
            longer ones. ``before_widening`` is how many those few are.
        found: products that the phrase finds, before filters.
        total: products after filters.
        scored: products that have a score; the others follow by their static rank.
        products: the first ones, in order.
        next: the first that is cut off; None: there is none.
        product: where the product that was named stands, or why it is not found.
    """

    phrase: str
    ignored_characters: int
    corrected: str | None
    limit: Range | None
    words: tuple[WordReason, ...]
    clauses: tuple[ClauseReason, ...]
    is_part: bool
    is_widened: bool
    before_widening: int
    found: int
    total: int
    scored: int
    products: tuple[ProductReason, ...]
    next: ProductReason | None
    product: AbsenceReason | None


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
        words=tuple(_word_reasons(phrase, searched)),
        clauses=tuple(_clause_reasons(places.scoring, searched)),
        is_part=clauses != understood and not result.is_widened,
        is_widened=result.is_widened,
        before_widening=len(result.first),
        found=len(searched.ranks),
        total=page.total,
        scored=len(places.with_score),
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
            clause.shown,
            tuple(
                AlternativeReason(stems, way, NEARNESS[way])
                for stems, way in clause.alternatives
            ),
            clause.products,
            round(weight, 3),
            head in clause.words,
        )
        for clause, weight in zip(searched.result.clauses, scoring.weights, strict=True)
    ]


# -- the products ----------------------------------------------------------------------


class _ResultPlaces:
    """Where the products of a result stand, and why."""

    def __init__(
        self, catalog: OpenedCatalog, searched: SearchedPhrase, query: ProductQuery
    ) -> None:
        self._catalog, self._searched, self._query = catalog, searched, query
        result = searched.result
        self.scoring = scoring_of(catalog, result.clauses, result.words.head)
        self._narrowed = catalog.filtered(searched.ranks, query)
        by_words = [rank for rank in self._narrowed if rank != searched.direct]
        self.with_score = frozenset(searching.scored(catalog, result, by_words))

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
            rank,
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

    def of_product(self, id: int) -> AbsenceReason:
        """Return where a product stands, or why it was not found."""
        rank = self._catalog.ranks((id,)).get(id)
        if rank is None:
            return AbsenceReason(id, "the catalog has no such product")
        if rank > self._catalog.active:
            return AbsenceReason(id, "it is not active, and only active ones are found")
        if rank in self._narrowed:
            return self._found(id, rank)
        if rank in self._searched.ranks:
            return AbsenceReason(id, f"left out by {self._filters_against(rank)}")
        if rank in self._searched.result.ranks:
            return AbsenceReason(id, "left out by the price limit of the phrase")
        return self._lacking(id, rank)

    def _found(self, id: int, rank: int) -> AbsenceReason:
        everything = len(self._narrowed)
        ordered = self._searched.ordered(self._catalog, self._narrowed, everything)
        place = ordered.index(rank) + 1
        (reason,) = self.reasons((id,), place)
        return AbsenceReason(id, f"it is found, at place {place:,}", found=reason)

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
            if not self._catalog.filtered((rank,), alone)
        ]
        return " and ".join(against)

    def _lacking(self, id: int, rank: int) -> AbsenceReason:
        """Return which words of the phrase a product has nothing for."""
        result = self._searched.result
        if not result.understood:
            return AbsenceReason(
                id, "no word of the phrase stands for anything that products have"
            )
        clauses = result.clauses or result.understood
        lacks = tuple(
            " ".join(clause.words)
            for clause in clauses
            if rank not in satisfying(self._catalog, (clause,))
        )
        return AbsenceReason(id, f"it has nothing for {', '.join(lacks)}", lacks)
