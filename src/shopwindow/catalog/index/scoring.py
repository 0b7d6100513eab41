"""How well a product matches a phrase: its score, and what that is made of.

The words of a product stand in fields (name, brand, kind, attributes), and each of them
that stands for a clause of the phrase is a match. `Scoring` weighs the matches. The
weights below are tastes, and tests/catalog/test_search.py says which phrases must find
what first.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shopwindow.catalog.index.clauses import NEARNESS, Clause, IndexReader
from shopwindow.catalog.index.words import stem

SECOND_FIELD = 0.25
"""A word that stands in a second field, too, adds this part of its weight there."""

HEAD_WEIGHT = 1.5
"""The word that names the thing sought weighs so much more than one that describes it.
"""

WEIGHTS = (10.0, 5.0, 8.0, 4.0)
"""Of a match in name, brand, kind and attributes. A match in none of them is in the
description, and weighs 1.
"""

EXACT_BONUS = 1.1
"""A word that is written as in the phrase, not only of the same stem, weighs so much
more.
"""

NAME_FIELD = 0
"""The number of the field that `WEIGHTS` begins with."""

FILLED_NAME, NAME_END = 2.0, 0.5
"""What is added to the score of a product whose name has no other words than the phrase,
and of one whose name ends with a word of it.
"""

SCORE_DIGITS = 6
"""Digits of a score behind the point. Products with the same matches tie, in whatever
order their numbers were added.
"""


def weight_of(reader: IndexReader, clause: Clause, head: str) -> float:
    """Return how much a clause says.

    A rare word says more than one that many products have, and the thing sought says
    more than what describes it.
    """
    rarity = math.log(1 + reader.active / (1 + clause.products))
    return rarity * (HEAD_WEIGHT if head in clause.words else 1.0)


Match = tuple[int, int, str, int, float]
"""A word of a product that stands for a clause: the number of its field, its place
there, the word, the number of the clause, and what it is worth.
"""


class Score(NamedTuple):
    """How well a product matches, and what that is made of.

    Attributes:
        total: about 10 if all words stand in its name.
        matches: the words of the product that count.
        best: for each clause, its worth in the best field; 1 in the description.
        further: for each clause, its worth in other fields, before `SECOND_FIELD`.
        side_by_side: words that stand in the name side by side as in the phrase.
        filled: the part of the name's words that the phrase has.
        ends_name: the last word of the name is one of the phrase.
    """

    total: float
    matches: Sequence[Match]
    best: Sequence[float]
    further: Sequence[float]
    side_by_side: int
    filled: float
    ends_name: bool


@dataclass(frozen=True)
class Scoring:
    """What the products of a result are scored by.

    Attributes:
        weights: of the clauses, in their order.
        nearness_by_stem: for each stem, the clauses that it stands for: their numbers,
            and how near it is to them (`NEARNESS`).
        exact: the words of the phrase, as they are written or as they were corrected.
    """

    weights: Sequence[float]
    nearness_by_stem: Mapping[str, Sequence[tuple[int, float]]]
    exact: frozenset[str]

    def score(self, text: str) -> Score:
        """Return how well a product matches.

        Each clause counts for the best field that it matches, and a little for further
        ones. Words that stand in the name side by side as in the phrase, that fill it,
        or that end it, add to the sum: the last word of a name is mostly the thing
        itself.

        Args:
            text: a line for each field of `WEIGHTS`.
        """
        fields = [line.split() for line in text.split("\n")]
        matches = self._matches(fields)
        best, further = self._worths(matches)

        in_name = {
            (place, number)
            for field, place, _, number, _ in matches
            if field == NAME_FIELD
        }
        side_by_side = sum(
            (place + 1, number + 1) in in_name for place, number in in_name
        )
        places = {place for place, _ in in_name}
        name_words = len(fields[NAME_FIELD])
        filled = len(places) / name_words if places else 0.0
        ends_name = name_words - 1 in places

        by_words = self._weighted(best, further)
        by_name = side_by_side + FILLED_NAME * filled + NAME_END * ends_name
        total = round(by_words + by_name, SCORE_DIGITS)
        return Score(total, matches, best, further, side_by_side, filled, ends_name)

    def _matches(self, fields: Sequence[Sequence[str]]) -> list[Match]:
        """Return the words that stand for clauses, in the order of the fields."""
        matches: list[Match] = []
        nearness_of, exact = self.nearness_by_stem.get, self.exact
        for field, field_words in enumerate(fields):
            weight = WEIGHTS[field]
            for place, word in enumerate(field_words):
                pairs = nearness_of(stem(word))
                if pairs is None:
                    continue
                bonus = EXACT_BONUS if word in exact else 1.0
                for number, nearness in pairs:
                    worth = weight * nearness * bonus
                    matches.append((field, place, word, number, worth))
        return matches

    def _worths(self, matches: Sequence[Match]) -> tuple[list[float], list[float]]:
        """Return the worth of each clause in its best field, and in further ones."""
        in_field: dict[tuple[int, int], float] = {}  # (field, clause) → its best there
        for field, _, _, number, worth in matches:
            key = field, number
            in_field[key] = max(in_field.get(key, 0.0), worth)

        best, further = [1.0] * len(self.weights), [0.0] * len(self.weights)
        for (_, number), worth in in_field.items():
            if best[number] > 1.0:  # an earlier field matches, too
                further[number] += min(best[number], worth)
            best[number] = max(best[number], worth)
        return best, further

    def _weighted(self, best: Sequence[float], further: Sequence[float]) -> float:
        """Return the mean worth of the clauses by their weights."""
        worths = (
            one + SECOND_FIELD * more for one, more in zip(best, further, strict=True)
        )
        weighted = sum(
            worth * weight for worth, weight in zip(worths, self.weights, strict=True)
        )
        return weighted / (sum(self.weights) or 1.0)


def scoring_of(reader: IndexReader, clauses: Sequence[Clause], head: str) -> Scoring:
    """Return what the products that satisfy some clauses are scored by.

    ``head`` is the word that names the thing sought, or empty.
    """
    nearness_by_stem: dict[str, list[tuple[int, float]]] = {}
    for number, clause in enumerate(clauses):
        for stems, way in clause.alternatives:
            for part in stems:
                pair = number, NEARNESS[way]
                nearness_by_stem.setdefault(part, []).append(pair)
    exact = {
        word for clause in clauses for word in (*clause.words, clause.corrected or "")
    }
    weights = [weight_of(reader, clause, head) for clause in clauses]
    return Scoring(weights, nearness_by_stem, frozenset(exact))
