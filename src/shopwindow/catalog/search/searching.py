"""From a shopper's phrase to the products it finds, the best first.

How this works. `find` returns the products of a phrase, and `best_first` puts the best
of them first. The caller filters between the two.

1. A price limit is split off the end of the phrase. The rest is split into words, and
   those that say nothing are dropped.
2. Each word becomes a Clause: the stems that may stand for it (`clauses`).
3. Products that satisfy all clauses are looked up in the index.
4. If there are none, clauses are left out: the largest part of the phrase that finds
   something counts (`_best_part`). If the whole phrase finds only a few, its clauses
   are widened.
5. The best few hundred products are scored by where the words stand in them
   (`scoring`).

A rank is a product's place among the active ones, best sellers first. It does not
depend on the phrase, so it is called static.

A phrase is data. It never becomes query syntax, since a stem has letters and digits
only.

`Searched` has all of the reasons, and `explaining` shows them. The constants below
bound what a phrase costs.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from shopwindow.catalog.feeds.words import (
    POLITE_OPENING,
    PREPOSITIONS,
    PURPOSES,
    STOP_WORDS,
    words,
)
from shopwindow.catalog.protocol import Range
from shopwindow.catalog.search.clauses import (
    FEW_RESULTS,
    MAX_CHARACTERS,
    Clause,
    clause_of,
    clauses_of,
    satisfying,
    widened,
)
from shopwindow.catalog.search.index_reader import IndexReader
from shopwindow.catalog.search.scoring import scoring_of, weight_of
from shopwindow.catalog.stored.lists import Ranks

MAX_WORDS = 12
"""Words of a phrase that are searched for; the rest is ignored. Each costs a few
statements. Larger or smaller numbers work as well.
"""

MAX_SCORED = 400
"""So many products are scored; the others follow by their static rank.

Scoring reads the words of each product, so this bounds what one search costs. It is
four pages of the 100 products that clients ask for at most (interface W2.2). Larger or
smaller numbers work as well.
"""

MAX_PARTS = 40
"""If a phrase finds nothing as a whole, about so many of its parts are tried: of every
size at least one. Each costs a statement or two. Larger or smaller numbers work as well.
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
class Searched:
    """What a phrase finds, and why.

    Attributes:
        every: all words in order, but for a polite opening.
        typed: those that are searched for.
        head: the word that names the thing sought: the last one before the first
            preposition, or the last one of all; empty: there is none.
        is_certain: the head stands before one of `PURPOSES`: a lantern for camping is a
            lantern.
        limit: the price limit at the end of the phrase, if it has one.
        direct: the id of the product whose id, UPC or sku the phrase is; None: it is
            none.
        clauses: those that the products satisfy: all that the words stand for, a part
            of them, or widened ones.
        ids: those of the products, ascending.
        first: ids that the phrase found before it was widened; they stay on top.
            None: it was not widened.
        corrected: the phrase with its corrected words; None: none was corrected.
    """

    every: tuple[str, ...]
    typed: tuple[str, ...]
    head: str = ""
    is_certain: bool = False
    limit: Range | None = None
    direct: int | None = None
    clauses: tuple[Clause, ...] = ()
    ids: Sequence[int] = ()
    first: frozenset[int] | None = None
    corrected: str | None = None


def find(reader: IndexReader, phrase: str) -> Searched:
    """Return what a phrase finds as a whole, or else what its largest part finds.

    The largest part is the one of `_best_part`; only a whole phrase is widened.
    """
    unpriced, limit = _priced(phrase)
    searched = replace(_in_words(unpriced), limit=limit, direct=reader.direct(phrase))
    typed = searched.typed
    clauses = tuple(clauses_of(reader, typed))
    ids = satisfying(reader, clauses)
    if not ids and _count_words(clauses) > 1:
        clauses = _best_part(reader, clauses, searched)
        ids = satisfying(reader, clauses)

    first = None
    if clauses and len(ids) < FEW_RESULTS and _count_words(clauses) == len(typed):
        wider = tuple(
            widened(reader, clause, is_last=clause.words == typed[-1:])
            for clause in clauses
        )
        if wider != clauses:
            first, clauses = frozenset(ids), wider
            ids = satisfying(reader, clauses)

    corrected = _corrected(unpriced, clauses)
    if corrected:
        corrected += phrase[len(unpriced) :]
    return replace(searched, clauses=clauses, ids=ids, first=first, corrected=corrected)


def _priced(phrase: str) -> tuple[str, Range | None]:
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


def _in_words(phrase: str) -> Searched:
    """Return the words of a phrase, before anything is searched for."""
    every = POLITE_OPENING.sub("", " ".join(words(phrase[:MAX_CHARACTERS]))).split()
    typed = [word for word in every if word not in STOP_WORDS][:MAX_WORDS]
    head, is_certain = "", False
    for word in every:
        if word in PREPOSITIONS and head:
            is_certain = word in PURPOSES
            break
        head = word if word in typed else head
    return Searched(tuple(every), tuple(typed), head, is_certain)


def _count_words(clauses: Iterable[Clause]) -> int:
    return sum(len(clause.words) for clause in clauses)


def _best_part(
    reader: IndexReader, clauses: Sequence[Clause], searched: Searched
) -> tuple[Clause, ...]:
    """Return the largest part of the clauses that finds something; empty if none does.

    Of parts of one size, one that finds its words in a name or kind comes first, then
    one with the head, then the one with the rarest words. If the head is certain, only
    parts with it are tried.
    """
    head = searched.head
    separate = [part for clause in clauses for part in _separated(reader, clause)]
    needs_head = searched.is_certain and _has(separate, head)
    weights = {clause: weight_of(reader, clause, head) for clause in separate}

    def preference(part: Sequence[Clause]) -> tuple[bool, float]:
        return not _has(part, head), -sum(weights[clause] for clause in part)

    tried = 0
    for size in range(len(separate), 0, -1):
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


def _corrected(phrase: str, clauses: Iterable[Clause]) -> str | None:
    """Return the phrase with its corrected words, or None if none was corrected."""
    meant = {clause.words: clause.corrected for clause in clauses if clause.corrected}
    if not meant:
        return None
    typed = words(phrase[:MAX_CHARACTERS])
    return " ".join(meant.get((word,), word) for word in typed)


# -- the best first --------------------------------------------------------------------


def best_first(
    reader: IndexReader, searched: Searched, ranks: Ranks, most: int
) -> list[int]:
    """Return the first ``most`` of ``ranks``, the best match first.

    Args:
        searched: what the ranks are from.
        ranks: those that filters left, in order.
        most: as many as the pages up to the one that is shown hold.

    Of more than `MAX_SCORED`, only those with the words in their names and the best by
    their static rank are scored. The product whose number the phrase is comes first,
    and then what was found before widening.
    """
    candidates = scored(reader, searched, ranks)
    ids = reader.lists.ids(candidates)
    scoring = scoring_of(reader, searched.clauses, searched.head)
    texts = reader.texts(ids)
    first = searched.first or ()
    ordered = sorted(
        (
            id != searched.direct,
            id not in first,
            -scoring.score(texts[id]).total,
            rank,
        )
        for id, rank in zip(ids, candidates.tolist(), strict=True)
    )
    best = [rank for *_, rank in ordered]
    if len(best) < most:
        best += ranks[~np.isin(ranks, candidates)][: most - len(best)].tolist()
    return best[:most]


def scored(reader: IndexReader, searched: Searched, ranks: Ranks) -> Ranks:
    """Return the ranks that are worth scoring, about `MAX_SCORED` of them, in order.

    Up to half of these have all words in their names. The others are the best by their
    static rank. All that the phrase found before it was widened are among them.
    """
    if len(ranks) <= MAX_SCORED:
        return ranks
    matching = reader.lists.ranks(satisfying(reader, searched.clauses, IN_NAME))
    named = matching[np.isin(matching, ranks)][: MAX_SCORED // 2]
    by_rank = ranks[: MAX_SCORED - len(named)]
    on_top = [*(searched.first or ()), *filter(None, (searched.direct,))]
    first = reader.lists.ranks(on_top)
    first = first[np.isin(first, ranks)]
    return np.unique(np.concatenate([named, by_rank, first]))
