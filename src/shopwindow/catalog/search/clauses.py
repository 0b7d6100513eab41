"""From words to Clauses: what may stand for each word of a phrase.

How a word is understood. Words that products have stand for themselves and their
synonyms; several words may be one name (`dressing gown`) or one word (`back pack`). A
word that no product has is an unfinished one, if it is the last, or a misspelled one
(`spelling`). Of what it may be, the first that some product has together with the other
words is taken.

The constants bound what a word costs, or weigh one match against another. Those weights
are tastes, and tests/catalog/test_search.py says which phrases must find what.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from shopwindow.catalog.feeds.words import stem
from shopwindow.catalog.search.index_reader import IndexReader
from shopwindow.catalog.search.spelling import nearest

MAX_CHARACTERS = 1000
"""Characters of a phrase, and so of a word; the rest is ignored. It bounds what one
request costs. Larger or smaller numbers work as well.
"""

MAX_NAME_WORDS = 4
"""Words of a name that has synonyms, at most: `dressing gown` has two. Each more costs a
look-up at every word of a phrase.
"""

MAX_COMPLETIONS = 40
"""A beginning stands for at most so many words, the most frequent ones. Each is one more
alternative of the query. Larger or smaller numbers work as well.
"""

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

MIN_WIDENED = 3
"""Letters of a word that also stands for longer ones, at least: two begin too many."""

MAX_CORRECTIONS = 4
"""A misspelled word is taken for at most so many others."""

NEARNESS = {"itself": 1.0, "synonym": 0.9, "corrected": 0.9, "begun": 0.8}
"""How much a match counts, by how it came about."""

Alternative = tuple[tuple[str, ...], str]
"""Stems that a product must all have, and how they came about: a key of NEARNESS."""


@dataclass(frozen=True)
class Clause:
    """One word of a phrase, or several that are one, and what may stand for it.

    Attributes:
        words: as they were typed.
        alternatives: a product satisfies the clause if it has one of them.
        products: how many products do, at most: the sum over the alternatives, of each
            the number that have its rarest stem. What widening adds does not count, so
            that a word says as much as before.
        corrected: the word that was meant, if the one that was typed is misspelled.
    """

    words: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    products: int
    corrected: str | None = None

    def expression(self) -> str:
        """Return the clause in FTS5's syntax."""
        all_of = (
            " AND ".join(f'"{part}"' for part in stems)
            for stems, _ in self.alternatives
        )
        return " OR ".join(f"({conjunction})" for conjunction in all_of)


def satisfying(
    reader: IndexReader, clauses: Sequence[Clause], columns: str = "", limit: int = -1
) -> list[int]:
    """Return the ids of the active products that satisfy all clauses, ascending.

    ``columns`` restricts where the words may stand, in FTS5's syntax. ``limit`` -1 is
    none.
    """
    if not clauses:
        return []
    expression = " AND ".join(f"({clause.expression()})" for clause in clauses)
    rows = reader.file.rows(
        "SELECT rowid FROM text WHERE text MATCH ? LIMIT ?",
        (f"{columns}({expression})", limit),
    )
    return list(chain.from_iterable(rows))


def clauses_of(reader: IndexReader, typed: Sequence[str]) -> list[Clause]:
    """Return what the words stand for, in their order.

    A word that is like no other is left out. Words that products have come first,
    because what an unknown word is taken for must be found together with them.
    """
    by_place: dict[int, Clause] = {}
    unknown: list[int] = []
    next_place = 0
    for place, word in enumerate(typed):
        if place < next_place:  # an earlier clause has this word, too
            continue
        clause = (
            _name(reader, typed[place:])
            or _joined(reader, typed[place : place + 2])
            or clause_of(reader, word)
        )
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
    """Return whether an unknown word is rather a misspelled one than an unfinished one:
    it has the letters of another in a different order, and more products have that.

    `candel` is candle, not the beginning of candelabra.

    Args:
        completed: what it stands for if it is unfinished.
        respelled: what it stands for if it is misspelled; None: nothing.
    """
    if respelled is None or respelled.corrected is None:
        return False
    same_letters = sorted(respelled.corrected) == sorted(completed.words[0])
    return same_letters and respelled.products > completed.products


def clause_of(reader: IndexReader, *typed: str) -> Clause | None:
    """Return the clause of a word, or of several that are one name: for the word itself
    and its synonyms, as far as products have them. None: no product has one.
    """
    own = tuple(map(stem, typed))
    synonyms = ((synonym, "synonym") for synonym in reader.synonyms.get(own, ()))
    return _clause(reader, typed, ((own, "itself"), *synonyms))


def _clause(
    reader: IndexReader, typed: Sequence[str], candidates: Sequence[Alternative]
) -> Clause | None:
    """Return the clause of those alternatives that products have. None: they have none."""
    stems = list({part for stems, _ in candidates for part in stems})
    marks = ",".join("?" * len(stems))
    statement = f"SELECT stem, products FROM stem WHERE stem IN ({marks})"
    products = dict(reader.file.rows(statement, stems))
    alternatives = tuple(
        (stems, way)
        for stems, way in candidates
        if all(part in products for part in stems)
    )
    if not alternatives:
        return None
    at_most = sum(min(products[part] for part in stems) for stems, _ in alternatives)
    return Clause(tuple(typed), alternatives, at_most)


def _name(reader: IndexReader, typed: Sequence[str]) -> Clause | None:
    """Return the clause of the longest name with synonyms that the words begin with, or
    None.

    A dressing gown is a robe.
    """
    for size in range(min(len(typed), MAX_NAME_WORDS), 1, -1):
        if tuple(map(stem, typed[:size])) in reader.synonyms:
            return clause_of(reader, *typed[:size])
    return None


def _joined(reader: IndexReader, pair: Sequence[str]) -> Clause | None:
    """Return the clause of two words that products write as one, such as `back pack`, or
    None. If products have both words as well, a product may have these instead.
    """
    if len(pair) < 2:
        return None
    separate, whole = tuple(map(stem, pair)), (stem("".join(pair)),)
    clause = _clause(reader, pair, ((separate, "itself"), (whole, "itself")))
    is_joined = clause is not None and (whole, "itself") in clause.alternatives
    return clause if is_joined else None


def _completed(
    reader: IndexReader, word: str, letters: int | None = None
) -> Clause | None:
    """Return the clause of the words that begin with this one, or None.

    With ``letters`` they have at most so many letters more.
    """
    longest = MAX_CHARACTERS if letters is None else len(word) + letters
    rows = reader.file.rows(
        "SELECT stem, products FROM word WHERE word > ? AND word < ? AND length(word) <= ?"
        " ORDER BY products DESC, word LIMIT ?",
        (word, word + "\U0010ffff", longest, MAX_COMPLETIONS),
    )
    products_of_words = 0
    stems: dict[str, None] = {}
    for longer, products in rows:
        products_of_words += products
        if stems and products_of_words > MAX_COMPLETION_PRODUCTS:
            break
        stems[longer] = None
    return _clause(reader, (word,), [((longer,), "begun") for longer in stems])


def widened(reader: IndexReader, clause: Clause, is_last: bool) -> Clause:
    """Return a clause with further alternatives, or the clause itself.

    The last word also stands for all that it begins, any other for words derived from
    it: `warm` also for warmth. A clause of several words, or of one that no product has,
    stays as it is.
    """
    word, *more = clause.words
    is_completed = clause.alternatives[0][1] == "begun"
    if more or clause.corrected or is_completed or len(word) < MIN_WIDENED:
        return clause
    longer = None
    if is_last:
        longer = _completed(reader, word)
    elif len(word) > DERIVED_LETTERS:
        longer = _completed(reader, word, DERIVED_LETTERS)
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
    product has together with the ``others`` is taken, or else the first of all.
    """
    likeliest = None
    for clause in chain(_split(reader, word), _corrections(reader, word)):
        if not others or satisfying(reader, [*others, clause], limit=1):
            return clause
        likeliest = likeliest or clause
    return likeliest


def _split(reader: IndexReader, word: str) -> Iterator[Clause]:
    """Yield the word as two words that stand together in some product's name.

    Each has three letters at least, or two if there are digits: `4pack`.
    """
    shortest = 2 if any(map(str.isdigit, word)) else 3
    places = range(shortest, len(word) - shortest + 1)
    for place in places:
        stems = stem(word[:place]), stem(word[place:])
        clause = _clause(reader, (word,), ((stems, "itself"),))
        if clause and satisfying(reader, [clause], "{name} : ", limit=1):
            yield clause


def _corrections(reader: IndexReader, word: str) -> Iterator[Clause]:
    """Yield the clauses of the words that a misspelled one may have been meant to be,
    the likeliest first.

    A correction stands for all that the word meant stands for, and counts as many
    products: so it finds what that word finds, and says as much beside other words.
    """
    for meant in islice(nearest(word, reader.spellable), MAX_CORRECTIONS):
        clause = clause_of(reader, meant)
        if clause is None:
            continue
        alternatives = tuple(
            (stems, "corrected" if way == "itself" else way)
            for stems, way in clause.alternatives
        )
        yield Clause((word,), alternatives, clause.products, corrected=meant)
