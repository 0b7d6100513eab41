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

from shopwindow.catalog.feeds.words import stem
from shopwindow.catalog.search.clauses import NEARNESS, Clause
from shopwindow.catalog.search.index_reader import IndexReader

SECOND_FIELD = 0.25
"""A word that stands in a second field, too, adds this part of its weight there."""

HEAD_WEIGHT = 1.5
"""The word that names the thing sought weighs so much more than one that describes it.
"""

WEIGHTS, IN_DESCRIPTION = (10.0, 5.0, 8.0, 4.0), 1.0
"""Of a match in name, brand, kind and attributes, and of one in none of them."""

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
    rarity = math.log(1 + reader.file.active / (1 + clause.products))
    return rarity * (HEAD_WEIGHT if head in clause.words else 1.0)


Match = tuple[int, str]
"""A word of a product that stands for a clause: the number of its field, and the word."""


class Score(NamedTuple):
    """How well a product matches: about 10 if all words stand in its name.

    ``matches``: the words of the product that count, in the order of its fields.
    """

    total: float
    matches: Sequence[Match]


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

    def score(self, fields: Sequence[str]) -> Score:
        """Return how well a product matches.

        Each clause counts for the best field that it matches, and a little for further
        ones. Words that stand in the name side by side as in the phrase, that fill it,
        or that end it, add to the sum: the last word of a name is mostly the thing
        itself.

        Args:
            fields: the words in each field of `WEIGHTS`.
        """
        matches: list[Match] = []
        in_name: set[tuple[int, int]] = set()  # (place in the name, clause)
        worths: list[dict[int, float]] = [{} for _ in self.weights]  # by field
        for field, words in enumerate(fields):
            for place, word in enumerate(words.split()):
                bonus = EXACT_BONUS if word in self.exact else 1.0
                for number, nearness in self.nearness_by_stem.get(stem(word), ()):
                    matches.append((field, word))
                    if field == NAME_FIELD:
                        in_name.add((place, number))
                    worth = WEIGHTS[field] * nearness * bonus
                    best = worths[number].get(field, 0.0)
                    worths[number][field] = max(best, worth)

        by_words = sum(
            weight * _together(list(by_field.values()) or [IN_DESCRIPTION])
            for weight, by_field in zip(self.weights, worths, strict=True)
        )
        side_by_side = sum(
            (place + 1, number + 1) in in_name for place, number in in_name
        )
        places = {place for place, _ in in_name}
        name_words = len(fields[NAME_FIELD].split())
        total = by_words / (sum(self.weights) or 1.0) + side_by_side
        if places:
            total += FILLED_NAME * len(places) / name_words
            total += NAME_END * (name_words - 1 in places)
        return Score(round(total, SCORE_DIGITS), matches)


def _together(worths: Sequence[float]) -> float:
    """Return what matches in several fields are worth: the best, and a part of others."""
    best = max(worths)
    return best + SECOND_FIELD * (sum(worths) - best)


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
