"""A shopper's phrase → the products it finds, the best first. The phrase is data: it never
becomes query syntax.
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

MAX_WORDS = 12
"""Of a phrase; what comes after them is ignored."""

MAX_NAME_WORDS = 4
"""Words of a name that has synonyms, at the most."""

BEGUN = 40
"""How many words a beginning stands for: the most frequent ones,"""
BEGUN_PRODUCTS = 200_000
"""until so many products have one of them."""

FEW_RESULTS = 10
"""What finds fewer is asked again more widely."""

DERIVED = 3
"""Letters that a word made of another has more, at the most."""

RANKED = 400
"""How many products are put in order by how well they match; the others follow by their static
rank.
"""

TRIED = 40
"""How many parts of a phrase are tried that finds nothing as a whole."""

MEANT = 4
"""How many words a misspelt one may have been meant to be."""

FREQUENT = 0.08
"""How much nearer a word seems that e times as many products have."""

AGAIN = 0.25
"""How much of its weight a word counts for that stands in a second field, too."""

NEARNESS = {"itself": 1.0, "synonym": 0.9, "corrected": 0.9, "begun": 0.8}
HEAD_WEIGHT = 1.5
WEIGHTS = (10.0, 5.0, 8.0, 4.0)
"""Of name, brand, kind and attributes; what is found in none of them is in the description, and
weighs 1.
"""


IN_NAME = "{name kind} : "
"""The columns that tell what a product is, in FTS5's syntax."""


CENT = 0.01
"""What costs exactly so much is neither under it nor over it; a range has both its ends."""

_LIMIT = re.compile(
    r"\s(?:(under|below|less than)\s+\$?|(?:over|above|more than)\s+\$)"
    r"\s*((?:[0-9]{1,3}(?:,[0-9]{3}){1,2}|[0-9]{1,9})(?:\.[0-9]{1,2})?)(?:\s*(?:\$|dollars|usd))?\s*$",
    re.IGNORECASE | re.ASCII,
)


class IndexReader(Protocol):
    """What is read of the index."""

    active: int

    @property
    def synonyms(self) -> Mapping[tuple[str, ...], Sequence[tuple[str, ...]]]: ...

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...


@dataclass(frozen=True)
class Clause:
    """A word of a phrase, or several that are or may be one, and what may stand for it: stems
    that must all be there.

    ``shown``: how it reads, where it was corrected.
    """

    words: tuple[str, ...]
    alternatives: tuple[tuple[tuple[str, ...], float], ...]
    products: int
    shown: str | None = None

    def expression(self) -> str:
        """In FTS5's syntax; stems have letters and digits only."""
        ways = (" AND ".join(f'"{stem}"' for stem in stems) for stems, _ in self.alternatives)
        return " OR ".join(f"({way})" for way in ways)


@dataclass(frozen=True)
class SearchResult:
    """The ranks that a phrase finds, in order; by which clauses; and the phrase that was
    answered if it is another.

    ``first``: where few were found, and it was asked again more widely, those few.
    """

    ranks: Sequence[int]
    clauses: tuple[Clause, ...] = ()
    head: str = ""
    corrected: str | None = None
    first: frozenset[int] = frozenset()


def priced(phrase: str) -> tuple[str, Range | None]:
    """A phrase without the prices at its end, and these, in whole cents: `earrings under 50`,
    `lamps over $1,000`.

    A number after `over` is a price only where it says so: `vitamins for women over 50`.
    """
    match = _LIMIT.search(phrase)
    if match is None:
        return phrase, None
    amount = float(match[2].replace(",", ""))
    return phrase[: match.start()], (None, amount - CENT) if match[1] else (amount + CENT, None)


def find(reader: IndexReader, phrase: str) -> SearchResult:
    """Every word must match, or else the largest part of them that does."""
    asked, head, told = _asked(phrase)
    clauses: Sequence[Clause] = _clauses(reader, asked)
    if not clauses:
        return SearchResult(())
    ranks = _matching(reader, clauses)
    if not ranks and sum(len(clause.words) for clause in clauses) > 1:
        clauses = _best_part(reader, clauses, head, told)
        ranks = _matching(reader, clauses)
    whole = sum(len(clause.words) for clause in clauses) == len(asked)
    if whole and len(ranks) < FEW_RESULTS and (wider := _widened(reader, clauses, asked)):
        found = _matching(reader, wider)
        return SearchResult(
            found, tuple(wider), head, _corrected(phrase, wider), frozenset(ranks)
        )
    return SearchResult(ranks, tuple(clauses), head, _corrected(phrase, clauses))


def _asked(phrase: str) -> tuple[list[str], str, bool]:
    """The words that matter; the one that names the thing; whether what stands after it leaves
    no doubt of that.
    """
    every = POLITE_OPENING.sub("", " ".join(words(phrase[:1000]))).split()
    asked = [word for word in every if word not in STOP_WORDS][:MAX_WORDS]
    head = ""
    for word in every:
        if word in PREPOSITIONS and head:
            return asked, head, word in PURPOSES
        if word in asked:
            head = word
    return asked, head, False


def _matching(
    reader: IndexReader, clauses: Sequence[Clause], columns: str = "", limit: int = -1
) -> list[int]:
    """The ranks that satisfy all clauses, in order."""
    if not clauses:
        return []
    expression = " AND ".join(f"({clause.expression()})" for clause in clauses)
    rows = reader.rows(
        "SELECT rowid FROM text WHERE text MATCH ? LIMIT ?", (f"{columns}({expression})", limit)
    )
    return list(chain.from_iterable(rows))


def _best_part(
    reader: IndexReader, clauses: Sequence[Clause], head: str, told: bool
) -> Sequence[Clause]:
    """The largest part that finds something; then: in a name or kind, with the thing sought,
    rare words.

    ``told``: no doubt what is sought, so only parts with it.
    """
    whole, clauses = (
        list(clauses),
        [each for clause in clauses for each in _apart(reader, clause)],
    )
    needed = told and _has(clauses, head)
    weights = {clause: _weight(reader, clause, head) for clause in clauses}
    tried = 0
    for size in range(len(clauses) - (clauses == whole), 0, -1):
        parts = sorted(
            combinations(clauses, size),
            key=lambda part: (not _has(part, head), -sum(weights[clause] for clause in part)),
        )
        if needed:
            parts = [part for part in parts if _has(part, head)]
        parts = parts[: max(1, TRIED - tried)]
        tried += len(parts)
        finding = [part for part in parts if _matching(reader, part, limit=1)]
        named = (part for part in finding if _matching(reader, part, IN_NAME, 1))
        if finding:
            return next(named, finding[0])
    return ()


def _has(clauses: Iterable[Clause], word: str) -> bool:
    return any(word in clause.words for clause in clauses)


def _apart(reader: IndexReader, clause: Clause) -> list[Clause]:
    """Two words that may be one, each by itself."""
    if len(clause.words) < 2:
        return [clause]
    return [known for word in clause.words if (known := _known(reader, word))] or [clause]


def _weight(reader: IndexReader, clause: Clause, head: str) -> float:
    """A rare word says more than one that many products have, and the thing sought more than
    what it is like.
    """
    return math.log(1 + reader.active / (1 + clause.products)) * (
        HEAD_WEIGHT if head in clause.words else 1.0
    )


def _corrected(phrase: str, clauses: Iterable[Clause]) -> str | None:
    shown = {clause.words: clause.shown for clause in clauses if clause.shown}
    if not shown:
        return None
    return " ".join(shown.get((word,), word) for word in words(phrase[:1000]))


# -- words → clauses ---------------------------------------------------------------------------


def _clauses(reader: IndexReader, asked: Sequence[str]) -> list[Clause]:
    """What each word stands for. A word that nothing is like is left out."""
    found: dict[int, Clause] = {}
    unknown: list[int] = []
    taken = -1
    for place, word in enumerate(asked):
        if place <= taken:
            continue
        several = _named(reader, asked[place:]) or _joined(reader, asked[place : place + 2])
        if several:
            found[place], taken = several, place + len(several.words) - 1
        elif known := _known(reader, word):
            found[place] = known
        else:
            unknown.append(place)
    for place in unknown:
        last = place == len(asked) - 1
        begun = _begun(reader, asked[place]) if last else None
        meant = (
            _meant(reader, asked[place], list(found.values()))
            if not begun or begun.products < FEW_RESULTS
            else None
        )
        if clause := begun if begun and not _swapped(begun, meant) else meant:
            found[place] = clause
    return [found[place] for place in sorted(found)]


def _swapped(begun: Clause, meant: Clause | None) -> bool:
    """Whether a word is one that more products have with letters swapped: candel is candle, not
    candelabra.
    """
    if meant is None or meant.shown is None:
        return False
    return sorted(meant.shown) == sorted(begun.words[0]) and meant.products > begun.products


def _products(reader: IndexReader, stems: Collection[str]) -> dict[str, int]:
    """How many products have a stem; those that none has are left out."""
    marks = ",".join("?" * len(stems))
    return dict(
        reader.rows(f"SELECT stem, products FROM stem WHERE stem IN ({marks})", list(stems))
    )


def _known(reader: IndexReader, *asked: str) -> Clause | None:
    """A word that some product has, or a synonym of it; likewise several words that are one
    name.
    """
    own = tuple(map(stem, asked))
    others = reader.synonyms.get(own, ())
    known = _products(reader, {part for stems in (own, *others) for part in stems})
    ways = ((own, NEARNESS["itself"]), *((other, NEARNESS["synonym"]) for other in others))
    found = tuple(
        (stems, nearness) for stems, nearness in ways if all(part in known for part in stems)
    )
    if not found:
        return None
    return Clause(asked, found, sum(min(known[part] for part in stems) for stems, _ in found))


def _named(reader: IndexReader, asked: Sequence[str]) -> Clause | None:
    """The words at the beginning that are one name of what has others, too: a dressing gown is
    a robe.
    """
    for size in range(min(len(asked), MAX_NAME_WORDS), 1, -1):
        if tuple(map(stem, asked[:size])) in reader.synonyms:
            return _known(reader, *asked[:size])
    return None


def _joined(reader: IndexReader, pair: Sequence[str]) -> Clause | None:
    """Two words that products write as one: back pack."""
    if len(pair) < 2:
        return None
    one, other, whole = stem(pair[0]), stem(pair[1]), stem("".join(pair))
    known = _products(reader, {one, other, whole})
    if whole not in known:
        return None
    both = [((one, other), NEARNESS["itself"])] if one in known and other in known else []
    return Clause(tuple(pair), (*both, ((whole,), NEARNESS["itself"])), known[whole])


def _begun(reader: IndexReader, word: str, letters: int | None = None) -> Clause | None:
    """The words that begin with this one, and have at most so many letters more."""
    longest = 1000 if letters is None else len(word) + letters
    rows = reader.rows(
        "SELECT stem, products FROM word WHERE word > ? AND word < ? AND length(word) <= ?"
        " ORDER BY products DESC, word LIMIT ?",
        (word, word + "\U0010ffff", longest, BEGUN),
    )
    total, stems = 0, dict[str, None]()
    for begun, products in rows:
        if stems and total + products > BEGUN_PRODUCTS:
            break
        stems[begun] = None
        total += products
    if not stems:
        return None
    return Clause((word,), tuple(((begun,), NEARNESS["begun"]) for begun in stems), total)


def _widened(
    reader: IndexReader, clauses: Sequence[Clause], asked: Sequence[str]
) -> list[Clause] | None:
    """The same with the last word as the beginning of others, and with words made of the
    others: warmth of warm.
    """
    wider = [_wider(reader, clause, last=clause.words == (asked[-1],)) for clause in clauses]
    return wider if wider != list(clauses) else None


def _wider(reader: IndexReader, clause: Clause, last: bool) -> Clause:
    (word, *more), stems = clause.words, {stems for stems, _ in clause.alternatives}
    if more or clause.shown or clause.alternatives[0][1] == NEARNESS["begun"] or len(word) < 3:
        return clause
    begun = (
        _begun(reader, word)
        if last
        else _begun(reader, word, DERIVED)
        if len(word) > DERIVED
        else None
    )
    others = tuple(pair for pair in begun.alternatives if pair[0] not in stems) if begun else ()
    return replace(clause, alternatives=clause.alternatives + others) if others else clause


def _meant(reader: IndexReader, word: str, others: Sequence[Clause]) -> Clause | None:
    """A word that nobody knows: one that was misspelt, or two that products write apart."""
    meant = [*_split(reader, word), *_nearest(reader, word)]
    for clause in meant:
        if not others or _matching(reader, [*others, clause], limit=1):
            return clause
    return meant[0] if meant else None


def _split(reader: IndexReader, word: str) -> Iterator[Clause]:
    """Two words that stand together in some product's name."""
    pairs = [(word[:place], word[place:]) for place in range(2, len(word) - 1)]
    known = _products(reader, {stem(part) for pair in pairs for part in pair}) if pairs else {}
    for one, other in pairs:
        stems = stem(one), stem(other)
        if min(len(one), len(other)) >= (2 if any(map(str.isdigit, word)) else 3) and all(
            s in known for s in stems
        ):
            clause = Clause(
                (word,), ((stems, NEARNESS["itself"]),), min(known[s] for s in stems)
            )
            if _matching(reader, [clause], "{name} : ", limit=1):
                yield clause


def _nearest(reader: IndexReader, word: str) -> list[Clause]:
    """The words that it may have been meant to be, the likeliest first: near, and frequent."""
    limit = FAR.get(len(word), FARTHEST)
    for typed in numbers(word):
        if found := _near(reader, typed, limit):
            return [replace(clause, words=(word,)) for clause in found]
    return []


def _near(reader: IndexReader, word: str, limit: float) -> list[Clause]:
    """The words that are not farther than ``limit``."""
    most = reach(word)
    if not most:
        return []
    near = list(forms(word, most))
    marks = ",".join("?" * len(near))
    statement = f"SELECT DISTINCT word, stem, products FROM form JOIN word USING (word) WHERE form IN ({marks})"
    costs = []
    for other, its_stem, products in reader.rows(statement, near):
        cost = edits(word, other)
        if cost is not None and cost <= limit:
            costs.append((cost - FREQUENT * math.log(products), other, its_stem, products))
    found: dict[str, Clause] = {}
    for _, other, its_stem, products in sorted(costs):
        found.setdefault(
            its_stem, Clause((word,), (((its_stem,), NEARNESS["corrected"]),), products, other)
        )
    return list(islice(found.values(), MEANT))


# -- the best first ----------------------------------------------------------------------------


def ordered(
    reader: IndexReader, found: SearchResult, ranks: Sequence[int], most: int
) -> list[int]:
    """The first ``most`` of ``ranks``, which ``found`` gave and filters left: the best match
    first.

    Of many, those with the words in their names, and the best by their static rank, are
    compared.
    """
    chosen: Sequence[int] = ranks
    if len(ranks) > RANKED:
        few = len(ranks) == len(found.ranks)
        named = _matching(reader, found.clauses, IN_NAME, RANKED // 2 if few else -1)
        left = set(ranks) if not few else None
        first = [rank for rank in named if left is None or rank in left][: RANKED // 2]
        chosen = sorted(
            set(first).union(
                islice(ranks, RANKED - len(first)), found.first.intersection(ranks)
            )
        )
    best = _ranked(reader, found, chosen)
    if len(best) < most and len(chosen) < len(ranks):
        compared = set(best)
        best += islice((rank for rank in ranks if rank not in compared), most - len(best))
    return best[:most]


def _ranked(reader: IndexReader, found: SearchResult, ranks: Sequence[int]) -> list[int]:
    clauses = found.clauses
    weights = [_weight(reader, clause, found.head) for clause in clauses]
    near: dict[str, list[tuple[int, float]]] = {}
    for number, clause in enumerate(clauses):
        for stems, nearness in clause.alternatives:
            for part in stems:
                near.setdefault(part, []).append((number, nearness))
    exact = {word for clause in clauses for word in (*clause.words, clause.shown or "")}
    marks = ",".join("?" * len(ranks))
    rows = reader.rows(f"SELECT rank, text FROM short WHERE rank IN ({marks})", list(ranks))
    scored = [
        (rank not in found.first, -_score(text, near, weights, exact), rank)
        for rank, text in rows
    ]
    return [rank for *_, rank in sorted(scored)]


def _score(
    text: str,
    near: Mapping[str, Sequence[tuple[int, float]]],
    weights: Sequence[float],
    exact: set[str],
) -> float:
    """How well a product matches, from its name, brand, kind and attributes; 10 for all words
    in the name.
    """
    best, beside_it = [1.0] * len(weights), [0.0] * len(weights)
    name: Sequence[str] = ()
    places: list[tuple[int, int]] = []
    for field, (line, weight) in enumerate(zip(text.split("\n"), WEIGHTS, strict=True)):
        here: dict[int, float] = {}
        for place, word in enumerate(line.split()):
            for number, nearness in near.get(stem(word), ()):
                value = weight * nearness * (1.1 if word in exact else 1.0)
                here[number] = max(here.get(number, 0.0), value)
                if field == 0:
                    places.append((place, number))
        for number, value in here.items():
            beside_it[number] += min(best[number], value) if best[number] > 1.0 else 0.0
            best[number] = max(best[number], value)
        if field == 0:
            name = line.split()
    matched = len({place for place, _ in places})
    total = sum(weights) or 1.0
    values = (one + AGAIN * more for one, more in zip(best, beside_it, strict=True))
    score = sum(value * weight for value, weight in zip(values, weights, strict=True)) / total
    if matched:
        found = set(places)
        beside = sum((place + 1, number + 1) in found for place, number in found)
        last = any(place == len(name) - 1 for place, _ in places)
        score += beside + 2.0 * matched / len(name) + 0.5 * last
    return round(score, 6)
