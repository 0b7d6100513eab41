"""From a shopper's phrase to the products it finds, the best first.

How a search works. The phrase is split into words; those that say nothing are dropped.
Each word becomes a Clause: the stems that may stand for it, which are its own, a
synonym's, those of words that begin with it, or those of words that it may be a
misspelling of. All clauses must match. If nothing matches all of them, the largest part
of the phrase that finds something is taken; if few products match, the clauses are
widened. Then the best few hundred products are scored by where the words stand in them.

A phrase is data. It never becomes query syntax, since a stem has letters and digits
only.

The constants below bound what a phrase costs, or weigh one match against another. Those
weights are tastes, and tests/catalog/test_search.py says which phrases must find what.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from typing import Any, Protocol

from shopwindow.catalog.index.words import (
    FAR,
    FARTHEST,
    POLITE_OPENING,
    PREPOSITIONS,
    PURPOSES,
    STOP_WORDS,
    edits,
    forms,
    numbers,
    reach,
    stem,
    words,
)
from shopwindow.catalog.protocol import Range

MAX_CHARACTERS = 1000
"""Of a phrase; the rest is ignored. Nobody types as much, and a request must not cost
more.
"""

MAX_WORDS = 12
"""Of a phrase that are searched for; the rest is ignored. Each costs a few statements.
"""

MAX_NAME_WORDS = 4
"""A name that has synonyms has at most so many words: `dressing gown` has two."""

MAX_COMPLETIONS = 40
"""A beginning stands for at most so many words, the most frequent ones."""

MAX_COMPLETION_PRODUCTS = 200_000
"""A beginning stands for no more words once so many products have one of them.

FTS5 reads the list of products of every word, so this bounds what one beginning costs.
The most frequent word counts in any case. Larger or smaller numbers work as well.
"""

FEW_RESULTS = 10
"""A phrase that finds fewer products is widened."""

DERIVED_LETTERS = 3
"""A word derived from another is at most so much longer: `warmth` is one letter longer.
"""

MAX_SCORED = 400
"""So many products are scored; the others follow by their static rank.

Scoring reads the words of each product, so this bounds what one search costs. It is
four pages of the 100 products that clients ask for at most (wire-shapes 2). Larger or
smaller numbers work as well.
"""

MAX_PARTS = 40
"""If a phrase finds nothing as a whole, at most so many of its parts are tried."""

MAX_CORRECTIONS = 4
"""A misspelled word is taken for at most so many others."""

FREQUENCY_BONUS = 0.08
"""By so much a correction costs less for each factor e in the number of its products:
of two words equally near, the more frequent one is likelier meant.
"""

SECOND_FIELD = 0.25
"""A word that stands in a second field, too, adds this part of its weight there."""

NEARNESS = {"itself": 1.0, "synonym": 0.9, "corrected": 0.9, "begun": 0.8}
"""How much a match counts, by how it came about."""

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


class IndexReader(Protocol):
    """What a search reads of the index."""

    active: int
    """How many products are active; only those are found."""

    @property
    def synonyms(self) -> Mapping[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """The stems of a word or a name → the stems of each of its synonyms."""
        ...

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        ...


Alternative = tuple[tuple[str, ...], float]
"""Stems that a product must all have, and how near they are to what was typed
(NEARNESS).
"""


@dataclass(frozen=True)
class Clause:
    """One word of a phrase, or several that are one, and what may stand for it.

    Attributes:
        words: as they were typed.
        alternatives: a product satisfies the clause if it has one of them.
        products: how many products do, at most.
        shown: how the word reads after it was corrected; None: it was not.
    """

    words: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    products: int
    shown: str | None = None

    def expression(self) -> str:
        """Return the clause in FTS5's syntax."""
        all_of = (
            " AND ".join(f'"{stem}"' for stem in stems)
            for stems, _ in self.alternatives
        )
        return " OR ".join(f"({stems})" for stems in all_of)


@dataclass(frozen=True)
class SearchResult:
    """What a phrase finds.

    Attributes:
        ranks: of the products, in order.
        clauses: by which they were found.
        head: the word that names the thing sought, or empty.
        corrected: the phrase that was searched for, if it is not the one that was typed.
        first: if the phrase was widened, the ranks that it found before; they stay on top.
    """

    ranks: Sequence[int]
    clauses: tuple[Clause, ...] = ()
    head: str = ""
    corrected: str | None = None
    first: frozenset[int] = frozenset()


def priced(phrase: str) -> tuple[str, Range | None]:
    """Split a limit of prices off the end of a phrase: `earrings under 50`, `lamps over
    $1,000`.

    After `over`, a number is a price only with a currency: `vitamins for women over
    50`.
    """
    match = _PRICE_LIMIT.search(phrase)
    if match is None:
        return phrase, None
    amount = float(match[2].replace(",", ""))
    limit = (None, amount - CENT) if match[1] else (amount + CENT, None)
    return phrase[: match.start()], limit


def find(reader: IndexReader, phrase: str) -> SearchResult:
    """Return what a phrase finds: all of its words, or the largest part that finds
    something.
    """
    typed, head, is_certain = _significant(phrase)
    clauses: Sequence[Clause] = _clauses(reader, typed)
    if not clauses:
        return SearchResult(())

    ranks = _matching(reader, clauses)
    if not ranks and _count_words(clauses) > 1:
        clauses = _best_part(reader, clauses, head, is_certain)
        ranks = _matching(reader, clauses)

    is_whole = _count_words(clauses) == len(typed)
    if is_whole and len(ranks) < FEW_RESULTS:
        wider = [
            _widened(reader, clause, is_last=clause.words == (typed[-1],))
            for clause in clauses
        ]
        if wider != list(clauses):
            corrected = _corrected(phrase, wider)
            more = _matching(reader, wider)
            return SearchResult(more, tuple(wider), head, corrected, frozenset(ranks))
    return SearchResult(ranks, tuple(clauses), head, _corrected(phrase, clauses))


def _significant(phrase: str) -> tuple[list[str], str, bool]:
    """Return the words to search for, the one that names the thing, and whether that is
    certain.

    The thing stands before the first preposition, or last. It is certain before `for`,
    `with` or `without`.
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


def _matching(
    reader: IndexReader, clauses: Sequence[Clause], columns: str = "", limit: int = -1
) -> list[int]:
    """Return the ranks of the products that satisfy all clauses, in order.

    ``columns`` restricts where the words may stand, in FTS5's syntax. ``limit`` -1 is
    none.
    """
    if not clauses:
        return []
    expression = " AND ".join(f"({clause.expression()})" for clause in clauses)
    rows = reader.rows(
        "SELECT rowid FROM text WHERE text MATCH ? LIMIT ?",
        (f"{columns}({expression})", limit),
    )
    return list(chain.from_iterable(rows))


def _best_part(
    reader: IndexReader, clauses: Sequence[Clause], head: str, is_certain: bool
) -> Sequence[Clause]:
    """Return the largest part of the clauses that finds something, or none.

    Of parts of one size, one that finds its words in a name or kind comes first, then
    one with the thing sought, then the one with the rarest words. If it ``is_certain``
    what is sought, only parts with that are tried.
    """
    separate = [part for clause in clauses for part in _separated(reader, clause)]
    was_separated = separate != list(clauses)
    largest = (
        len(separate) if was_separated else len(separate) - 1
    )  # the whole found nothing
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
        matching = [part for part in parts if _matching(reader, part, limit=1)]
        in_names = (part for part in matching if _matching(reader, part, IN_NAME, 1))
        if matching:
            return next(in_names, matching[0])
    return ()


def _has(clauses: Iterable[Clause], word: str) -> bool:
    return any(word in clause.words for clause in clauses)


def _separated(reader: IndexReader, clause: Clause) -> list[Clause]:
    """Return a clause for each word of a clause that took several words as one."""
    if len(clause.words) < 2:
        return [clause]
    separate = [_clause_of(reader, word) for word in clause.words]
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


# -- words → clauses -------------------------------------------------------------------


def _clauses(reader: IndexReader, typed: Sequence[str]) -> list[Clause]:
    """Return what the words stand for, in their order. A word that is like no other is
    left out.

    Words that products have come first, because what an unknown word is taken for must
    be found together with them.
    """
    by_place: dict[int, Clause] = {}
    unknown: list[int] = []
    next_place = 0
    for place, word in enumerate(typed):
        if place < next_place:  # an earlier clause has this word, too
            continue
        several = _name(reader, typed[place:]) or _joined(
            reader, typed[place : place + 2]
        )
        clause = several or _clause_of(reader, word)
        if clause:
            by_place[place] = clause
            next_place = place + len(clause.words)
        else:
            unknown.append(place)

    for place in unknown:
        is_last = place == len(typed) - 1
        likely = _likely(reader, typed[place], list(by_place.values()), is_last)
        if likely:
            by_place[place] = likely
    return [by_place[place] for place in sorted(by_place)]


def _likely(
    reader: IndexReader, word: str, others: Sequence[Clause], is_last: bool
) -> Clause | None:
    """Return what a word that no product has probably stands for.

    The last word may be unfinished, and then what it begins comes before what it may be
    a misspelling of.
    """
    completed = _completed(reader, word) if is_last else None
    if completed and completed.products >= FEW_RESULTS:
        return completed
    respelled = _respelled(reader, word, others)
    if completed and not _is_swapped(completed, respelled):
        return completed
    return respelled


def _is_swapped(completed: Clause, respelled: Clause | None) -> bool:
    """Whether a word is rather another with letters swapped, because more products have
    that.

    `candel` is candle, not the beginning of candelabra.
    """
    if respelled is None or respelled.shown is None:
        return False
    same_letters = sorted(respelled.shown) == sorted(completed.words[0])
    return same_letters and respelled.products > completed.products


def _count_products(reader: IndexReader, stems: Collection[str]) -> dict[str, int]:
    """Return how many products have each stem; stems that none has are left out."""
    marks = ",".join("?" * len(stems))
    return dict(
        reader.rows(
            f"SELECT stem, products FROM stem WHERE stem IN ({marks})", list(stems)
        )
    )


def _clause_of(reader: IndexReader, *typed: str) -> Clause | None:
    """Return the clause of a word, or of several that are one name; None if no product
    has it.

    It holds the synonyms that products have, too.
    """
    own = tuple(map(stem, typed))
    synonyms = reader.synonyms.get(own, ())
    products = _count_products(
        reader, {part for stems in (own, *synonyms) for part in stems}
    )
    candidates = [
        (own, NEARNESS["itself"]),
        *((synonym, NEARNESS["synonym"]) for synonym in synonyms),
    ]
    alternatives = tuple(
        (stems, nearness)
        for stems, nearness in candidates
        if all(part in products for part in stems)
    )
    if not alternatives:
        return None
    total = sum(min(products[part] for part in stems) for stems, _ in alternatives)
    return Clause(typed, alternatives, total)


def _name(reader: IndexReader, typed: Sequence[str]) -> Clause | None:
    """Return the clause of the longest name with synonyms that the words begin with, or
    None.

    A dressing gown is a robe.
    """
    for size in range(min(len(typed), MAX_NAME_WORDS), 1, -1):
        if tuple(map(stem, typed[:size])) in reader.synonyms:
            return _clause_of(reader, *typed[:size])
    return None


def _joined(reader: IndexReader, pair: Sequence[str]) -> Clause | None:
    """Return the clause of two words that products write as one, such as `back pack`;
    or None.
    """
    if len(pair) < 2:
        return None
    one, other, whole = stem(pair[0]), stem(pair[1]), stem("".join(pair))
    products = _count_products(reader, {one, other, whole})
    if whole not in products:
        return None
    as_one = ((whole,), NEARNESS["itself"])
    if one in products and other in products:
        as_two = ((one, other), NEARNESS["itself"])
        return Clause(tuple(pair), (as_two, as_one), products[whole])
    return Clause(tuple(pair), (as_one,), products[whole])


def _completed(
    reader: IndexReader, word: str, letters: int | None = None
) -> Clause | None:
    """Return the clause of the words that begin with this one, or None.

    With ``letters`` they have at most so many letters more.
    """
    longest = MAX_CHARACTERS if letters is None else len(word) + letters
    rows = reader.rows(
        "SELECT stem, products FROM word WHERE word > ? AND word < ? AND length(word) <= ?"
        " ORDER BY products DESC, word LIMIT ?",
        (word, word + "\U0010ffff", longest, MAX_COMPLETIONS),
    )
    total = 0
    stems: dict[str, None] = {}
    for longer, products in rows:
        if stems and total + products > MAX_COMPLETION_PRODUCTS:
            break
        stems[longer] = None
        total += products
    if not stems:
        return None
    return Clause(
        (word,), tuple(((longer,), NEARNESS["begun"]) for longer in stems), total
    )


def _widened(reader: IndexReader, clause: Clause, is_last: bool) -> Clause:
    """Return a clause with further alternatives, or the clause itself.

    The last word also stands for all that it begins, any other for words derived from
    it: `warm` also for warmth.
    """
    word, *more = clause.words
    is_completed = clause.alternatives[0][1] == NEARNESS["begun"]
    if more or clause.shown or is_completed or len(word) < 3:
        return clause
    if is_last:
        longer = _completed(reader, word)
    elif len(word) > DERIVED_LETTERS:
        longer = _completed(reader, word, DERIVED_LETTERS)
    else:
        longer = None
    if longer is None:
        return clause
    present = {stems for stems, _ in clause.alternatives}
    added = tuple(pair for pair in longer.alternatives if pair[0] not in present)
    return replace(clause, alternatives=clause.alternatives + added)


def _respelled(
    reader: IndexReader, word: str, others: Sequence[Clause]
) -> Clause | None:
    """Return a word that no product has in another spelling, or None.

    It was misspelled, or products write it as two words. The first spelling that some
    product has together with the ``others`` is taken.
    """
    spellings = [*_split(reader, word), *_nearest(reader, word)]
    for clause in spellings:
        if not others or _matching(reader, [*others, clause], limit=1):
            return clause
    return spellings[0] if spellings else None


def _split(reader: IndexReader, word: str) -> Iterator[Clause]:
    """Yield the word as two words that stand together in some product's name.

    Each has three letters at least, or two if there are digits: `4pack`.
    """
    pairs = [(word[:place], word[place:]) for place in range(2, len(word) - 1)]
    if not pairs:
        return
    shortest = 2 if any(map(str.isdigit, word)) else 3
    products = _count_products(reader, {stem(part) for pair in pairs for part in pair})
    for one, other in pairs:
        stems = stem(one), stem(other)
        if min(len(one), len(other)) < shortest or not all(
            part in products for part in stems
        ):
            continue
        count = min(products[part] for part in stems)
        clause = Clause((word,), ((stems, NEARNESS["itself"]),), count)
        if _matching(reader, [clause], "{name} : ", limit=1):
            yield clause


def _nearest(reader: IndexReader, word: str) -> list[Clause]:
    """Return the words that a misspelled one may have been meant to be, the likeliest
    first.
    """
    limit = FAR.get(len(word), FARTHEST)
    for typed in numbers(word):
        near = _near(reader, typed, limit)
        if near:
            return [replace(clause, words=(word,)) for clause in near]
    return []


def _near(reader: IndexReader, word: str, limit: float) -> list[Clause]:
    """Return the words that cost at most ``limit`` to make of this one, the likeliest
    first.

    Words that share a form are candidates (`words.forms`); `words.edits` decides.
    """
    deletions = reach(word)
    if not deletions:
        return []
    own_forms = list(forms(word, deletions))
    marks = ",".join("?" * len(own_forms))
    statement = f"SELECT DISTINCT word, stem, products FROM form JOIN word USING (word) WHERE form IN ({marks})"
    candidates = []
    for other, other_stem, products in reader.rows(statement, own_forms):
        cost = edits(word, other)
        if cost is not None and cost <= limit:
            likely_cost = cost - FREQUENCY_BONUS * math.log(products)
            candidates.append((likely_cost, other, other_stem, products))

    by_stem: dict[str, Clause] = {}
    for _, other, other_stem, products in sorted(candidates):
        alternative = (other_stem,), NEARNESS["corrected"]
        by_stem.setdefault(other_stem, Clause((word,), (alternative,), products, other))
    return list(islice(by_stem.values(), MAX_CORRECTIONS))


# -- the best first --------------------------------------------------------------------


def ordered(
    reader: IndexReader, found: SearchResult, ranks: Sequence[int], most: int
) -> list[int]:
    """Return the first ``most`` of ``ranks``, the best match first.

    Args:
        found: the result that the ranks are from.
        ranks: those of ``found`` that filters left, in order.
        most: as many as the pages up to the one that is shown hold.

    Of more than `MAX_SCORED`, only those with the words in their names and the best by
    their static rank are scored.
    """
    candidates: Sequence[int] = ranks
    if len(ranks) > MAX_SCORED:
        candidates = _candidates(reader, found, ranks)
    best = _by_score(reader, found, candidates)
    if len(best) < most and len(candidates) < len(ranks):
        scored = set(best)
        best += islice((rank for rank in ranks if rank not in scored), most - len(best))
    return best[:most]


def _candidates(
    reader: IndexReader, found: SearchResult, ranks: Sequence[int]
) -> Sequence[int]:
    """Return the ranks that are worth scoring: `MAX_SCORED`, half of them with words in
    names.
    """
    half = MAX_SCORED // 2
    if len(ranks) == len(found.ranks):  # no filter left any out
        named = _matching(reader, found.clauses, IN_NAME, half)
    else:
        left = set(ranks)
        matching = _matching(reader, found.clauses, IN_NAME)
        named = [rank for rank in matching if rank in left][:half]
    by_rank = islice(ranks, MAX_SCORED - len(named))
    return sorted({*named, *by_rank, *found.first.intersection(ranks)})


def _by_score(
    reader: IndexReader, found: SearchResult, ranks: Sequence[int]
) -> list[int]:
    """Return ranks by their score; those found before the phrase was widened come
    first.
    """
    clauses = found.clauses
    weights = [_weight(reader, clause, found.head) for clause in clauses]
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
        (rank not in found.first, -_score(text, nearness_by_stem, weights, exact), rank)
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
        of_field: dict[int, float] = {}
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
