"""From a shopper's phrase to the products it finds, the best first.

How this works. `priced` splits a price limit off the phrase, `find` returns the
products, and `ordered` puts the best first. The caller filters between the last two.

1. The phrase is split into words, and those that say nothing are dropped.
2. Each word becomes a Clause: the stems that may stand for it (`clauses`).
3. Products that satisfy all clauses are looked up in the index.
4. If there are none, clauses are left out: the largest part of the phrase that finds
   something counts (`_best_part`). If the whole phrase finds only a few, its clauses
   are widened.
5. The best few hundred products are scored by where the words stand in them.

A rank is a product's number in the index: active products come first, best sellers
before others. It does not depend on the phrase, so it is called static.

A phrase is data. It never becomes query syntax, since a stem has letters and digits
only.

The constants below bound what a phrase costs, or weigh one match against another. Those
weights are tastes, and tests/catalog/test_search.py says which phrases must find what.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from shopwindow.catalog.index.clauses import (
    FEW_RESULTS,
    MAX_CHARACTERS,
    Clause,
    IndexReader,
    clause_of,
    clauses_of,
    satisfying,
    widened,
)
from shopwindow.catalog.index.words import (
    POLITE_OPENING,
    PREPOSITIONS,
    PURPOSES,
    STOP_WORDS,
    stem,
    words,
)
from shopwindow.catalog.protocol import Range

MAX_WORDS = 12
"""Words of a phrase that are searched for; the rest is ignored. Each costs a few
statements. Larger or smaller numbers work as well.
"""

MAX_SCORED = 400
"""So many products are scored; the others follow by their static rank.

Scoring reads the words of each product, so this bounds what one search costs. It is
four pages of the 100 products that clients ask for at most (wire-shapes 2). Larger or
smaller numbers work as well.
"""

MAX_PARTS = 40
"""If a phrase finds nothing as a whole, about so many of its parts are tried: of every
size at least one. Each costs a statement or two. Larger or smaller numbers work as well.
"""

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

IN_NAME = "{name kind} : "
"""The columns that say what a product is, in FTS5's syntax."""

CENT = 0.01
"""A limit itself is neither under nor over it, but a price range includes both its
ends: so the range ends one cent before the limit.
"""

_PRICE_LIMIT = re.compile(
    r"\s(?:(under|below|less than)\s+\$?|(?:over|above|more than)\s+\$)"
    r"\s*((?:[0-9]{1,3}(?:,[0-9]{3}){1,2}|[0-9]{1,9})(?:\.[0-9]{1,2})?)(?:\s*(?:\$|dollars|usd))?\s*$",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True)
class SearchResult:
    """What a phrase finds.

    Attributes:
        ranks: those of the products, ascending.
        clauses: those that the products satisfy.
        head: the word that names the thing sought, as `_significant` has it, or empty.
        corrected: the phrase with its corrected words; None: none was corrected.
        first: ranks that the phrase found before it was widened; they stay on top.
    """

    ranks: Sequence[int]
    clauses: tuple[Clause, ...] = ()
    head: str = ""
    corrected: str | None = None
    first: frozenset[int] = frozenset()


def priced(phrase: str) -> tuple[str, Range | None]:
    """Split a price limit off the end of a phrase, such as `earrings under 50`.

    After `over` a number is a price only with a currency: `lamps over $1,000`, but not
    `vitamins for women over 50`.
    """
    match = _PRICE_LIMIT.search(phrase)
    if match is None:
        return phrase, None
    amount = float(match[2].replace(",", ""))
    limit = (None, amount - CENT) if match[1] else (amount + CENT, None)
    return phrase[: match.start()], limit


def find(reader: IndexReader, phrase: str) -> SearchResult:
    """Return what a phrase finds as a whole, or else what its largest part finds.

    The largest part is the one of `_best_part`; only a whole phrase is widened.
    """
    typed, head, is_certain = _significant(phrase)
    clauses: Sequence[Clause] = clauses_of(reader, typed)
    if not clauses:
        return SearchResult(())

    ranks = satisfying(reader, clauses)
    if not ranks and _count_words(clauses) > 1:
        clauses = _best_part(reader, clauses, head, is_certain)
        ranks = satisfying(reader, clauses)

    is_whole = _count_words(clauses) == len(typed)
    if is_whole and len(ranks) < FEW_RESULTS:
        wider = [
            widened(reader, clause, is_last=clause.words == (typed[-1],))
            for clause in clauses
        ]
        if wider != list(clauses):
            corrected = _corrected(phrase, wider)
            more = satisfying(reader, wider)
            return SearchResult(more, tuple(wider), head, corrected, frozenset(ranks))
    return SearchResult(ranks, tuple(clauses), head, _corrected(phrase, clauses))


def _significant(phrase: str) -> tuple[list[str], str, bool]:
    """Return the words to search for, the head, and whether the head is certain.

    The head is the word that names the thing sought: the last one before the first
    preposition, or the last one of all. It is certain before one of `PURPOSES`: a
    lantern for camping is a lantern.
    """
    every = POLITE_OPENING.sub("", " ".join(words(phrase[:MAX_CHARACTERS]))).split()
    significant = [word for word in every if word not in STOP_WORDS][:MAX_WORDS]
    head = ""
    for word in every:
        if word in PREPOSITIONS and head:
            return significant, head, word in PURPOSES
        if word in significant:
            head = word
    return significant, head, False


def _count_words(clauses: Iterable[Clause]) -> int:
    return sum(len(clause.words) for clause in clauses)


def _best_part(
    reader: IndexReader, clauses: Sequence[Clause], head: str, is_certain: bool
) -> Sequence[Clause]:
    """Return the largest part of the clauses that finds something; empty if none does.

    Of parts of one size, one that finds its words in a name or kind comes first, then
    one with the head, then the one with the rarest words. If the head ``is_certain``,
    only parts with it are tried.
    """
    separate = [part for clause in clauses for part in _separated(reader, clause)]
    was_separated = separate != list(clauses)
    # The caller has tried all clauses together, but not all separate words.
    largest = len(separate) if was_separated else len(separate) - 1
    needs_head = is_certain and _has(separate, head)
    weights = {clause: _weight(reader, clause, head) for clause in separate}

    def preference(part: Sequence[Clause]) -> tuple[bool, float]:
        return not _has(part, head), -sum(weights[clause] for clause in part)

    tried = 0
    for size in range(largest, 0, -1):
        parts = sorted(combinations(separate, size), key=preference)
        if needs_head:
            parts = [part for part in parts if _has(part, head)]
        parts = parts[: max(1, MAX_PARTS - tried)]
        tried += len(parts)
        matching = [part for part in parts if satisfying(reader, part, limit=1)]
        in_names = (part for part in matching if satisfying(reader, part, IN_NAME, 1))
        if matching:
            return next(in_names, matching[0])
    return ()


def _has(clauses: Iterable[Clause], word: str) -> bool:
    return any(word in clause.words for clause in clauses)


def _separated(reader: IndexReader, clause: Clause) -> list[Clause]:
    """Return a clause for each word of a clause that took several words as one."""
    if len(clause.words) < 2:
        return [clause]
    separate = [clause_of(reader, word) for word in clause.words]
    return [part for part in separate if part] or [clause]


def _weight(reader: IndexReader, clause: Clause, head: str) -> float:
    """Return how much a clause says.

    A rare word says more than one that many products have, and the thing sought says
    more than what describes it.
    """
    rarity = math.log(1 + reader.active / (1 + clause.products))
    return rarity * (HEAD_WEIGHT if head in clause.words else 1.0)


def _corrected(phrase: str, clauses: Iterable[Clause]) -> str | None:
    """Return the phrase with its corrected words, or None if none was corrected."""
    shown = {clause.words: clause.shown for clause in clauses if clause.shown}
    if not shown:
        return None
    return " ".join(shown.get((word,), word) for word in words(phrase[:MAX_CHARACTERS]))


# -- the best first --------------------------------------------------------------------


def ordered(
    reader: IndexReader, result: SearchResult, ranks: Sequence[int], most: int
) -> list[int]:
    """Return the first ``most`` of ``ranks``, the best match first.

    Args:
        result: the result that the ranks are from.
        ranks: those of ``result`` that filters left, in order.
        most: as many as the pages up to the one that is shown hold.

    Of more than `MAX_SCORED`, only those with the words in their names and the best by
    their static rank are scored.
    """
    candidates: Sequence[int] = ranks
    if len(ranks) > MAX_SCORED:
        candidates = _candidates(reader, result, ranks)
    best = _by_score(reader, result, candidates)
    if len(best) < most and len(candidates) < len(ranks):
        scored = set(best)
        best += islice((rank for rank in ranks if rank not in scored), most - len(best))
    return best[:most]


def _candidates(
    reader: IndexReader, result: SearchResult, ranks: Sequence[int]
) -> Sequence[int]:
    """Return the ranks that are worth scoring, about `MAX_SCORED` of them.

    Up to half of these have all words in their names. The others are the best by their
    static rank. All that the phrase found before it was widened are among them.
    """
    half = MAX_SCORED // 2
    if len(ranks) == len(result.ranks):  # no filter left any out
        named = satisfying(reader, result.clauses, IN_NAME, half)
    else:
        left = set(ranks)
        matching = satisfying(reader, result.clauses, IN_NAME)
        named = [rank for rank in matching if rank in left][:half]
    by_rank = islice(ranks, MAX_SCORED - len(named))
    return sorted({*named, *by_rank, *result.first.intersection(ranks)})


def _by_score(
    reader: IndexReader, result: SearchResult, ranks: Sequence[int]
) -> list[int]:
    """Return ranks by their score; what was found before widening comes first."""
    clauses = result.clauses
    weights = [_weight(reader, clause, result.head) for clause in clauses]
    nearness_by_stem: dict[str, list[tuple[int, float]]] = {}
    for number, clause in enumerate(clauses):
        for stems, nearness in clause.alternatives:
            for part in stems:
                nearness_by_stem.setdefault(part, []).append((number, nearness))
    exact = {word for clause in clauses for word in (*clause.words, clause.shown or "")}

    marks = ",".join("?" * len(ranks))
    rows = reader.rows(
        f"SELECT rank, text FROM short WHERE rank IN ({marks})", list(ranks)
    )
    scored = [
        (
            rank not in result.first,
            -_score(text, nearness_by_stem, weights, exact),
            rank,
        )
        for rank, text in rows
    ]
    return [rank for *_, rank in sorted(scored)]


def _score(
    text: str,
    nearness_by_stem: Mapping[str, Sequence[tuple[int, float]]],
    weights: Sequence[float],
    exact: set[str],
) -> float:
    """Return how well a product matches; about 10 if all words stand in its name.

    Each clause counts for the best field that it matches, and a little for further
    ones. Words that stand in the name side by side as in the phrase, that fill it, or
    that end it, add to the sum: the last word of a name is mostly the thing itself.

    Args:
        text: a line for each field of `WEIGHTS`.
        nearness_by_stem: (number of a clause, nearness) pairs.
        weights: of the clauses.
        exact: the words of the phrase, as they are written.
    """
    best, further = [1.0] * len(weights), [0.0] * len(weights)
    fields = [line.split() for line in text.split("\n")]
    name = fields[0]
    in_name: set[tuple[int, int]] = set()  # place of a word, number of its clause
    for field_words, weight in zip(fields, WEIGHTS, strict=True):
        of_field: dict[int, float] = {}  # number of a clause → its best value here
        for place, word in enumerate(field_words):
            for number, nearness in nearness_by_stem.get(stem(word), ()):
                value = weight * nearness * (EXACT_BONUS if word in exact else 1.0)
                of_field[number] = max(of_field.get(number, 0.0), value)
                if field_words is name:
                    in_name.add((place, number))
        for number, value in of_field.items():
            if best[number] > 1.0:  # an earlier field matches, too
                further[number] += min(best[number], value)
            best[number] = max(best[number], value)

    values = (
        one + SECOND_FIELD * more for one, more in zip(best, further, strict=True)
    )
    weighted = sum(
        value * weight for value, weight in zip(values, weights, strict=True)
    )
    score = weighted / (sum(weights) or 1.0)
    if in_name:
        side_by_side = sum(
            (place + 1, number + 1) in in_name for place, number in in_name
        )
        places = {place for place, _ in in_name}
        ends_name = len(name) - 1 in places
        score += side_by_side + 2.0 * len(places) / len(name) + 0.5 * ends_name
    return round(score, 6)
