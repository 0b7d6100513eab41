"""What an explanation of a search consists of: why a phrase finds what it finds.

`explaining.explain` computes these values. Commands print them, pages show them, and
`--format json` is their fields. What people read of one stands beside it: in a property
that ends with `_text`, or in a table of words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from shopwindow.catalog.index.searching import MAX_WORDS
from shopwindow.catalog.protocol import Range
from shopwindow.problems import number_of

DESCRIPTION = "description"

WordUse = Literal[
    "searched", "number", "opening", "says nothing", "beyond", "unknown", "left out"
]
"""What became of a word. ``searched``: it was searched for. ``number``: it only finds
the product whose id, UPC or sku it is. ``opening``: it only asks, as `do you have`.
``beyond``: more words than are searched for stand before it. ``unknown``: no product has
it, nor a word like it. ``left out``: with it, nothing was found.
"""

Group = Literal["direct", "score", "widened", "rank"]
"""Why a product stands where it does. ``direct``: the phrase is its number. ``score``:
by its score. ``widened``: by its score, behind those that were found before the phrase
was widened. ``rank``: no score, by its static rank behind all that have one.
"""

USE_WORDS: Mapping[WordUse, str] = {
    "opening": "only asks",
    "says nothing": "says nothing of what is sought",
    "beyond": f"not searched for: only the first {MAX_WORDS} words are",
    "unknown": "no product has it, nor a word like it",
    "left out": "left out: with it nothing is found",
}
"""What became of words that are not used, for people."""

NO_WORDS = "the phrase has no word to search for"
"""Why a phrase of punctuation alone finds nothing, for people."""

WAY_WORDS: Mapping[str, str] = {
    "itself": "the stem",
    "synonym": "a synonym's stem",
    "corrected": "corrected to",
    "begun": "the beginning of the stem",
}
"""How an alternative came about, a key of `clauses.NEARNESS`, for people."""

WAYS_WORDS: Mapping[str, str] = {
    **WAY_WORDS,
    "itself": "the stems",
    "synonym": "stems of synonyms",
    "begun": "the beginning of the stems",
}
"""The same of several alternatives."""

SHOWN_ALTERNATIVES = 8
"""Alternatives of one way that people read: a beginning may stand for forty words."""

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
        products: how many products have one of these, at most (`clauses.Clause`).
        weight: what a match counts beside those of the other clauses.
        is_head: they name the thing sought.
    """

    words: tuple[str, ...]
    corrected: str | None
    alternatives: tuple[AlternativeReason, ...]
    products: int
    weight: float
    is_head: bool

    @property
    def alternatives_text(self) -> str:
        """What may stand for the words, by how it came about, for people."""
        by_way: dict[str, list[str]] = {}
        for one in self.alternatives:
            by_way.setdefault(one.way, []).append("+".join(one.stems))
        if self.corrected:
            by_way["corrected"] = [self.corrected]  # a word, where the others are stems
        return "; ".join(_way_text(way, stems) for way, stems in by_way.items())

    @property
    def products_text(self) -> str:
        """How many products have one of the alternatives, for people.

        A number that is added up from several is a limit, since a product may have two
        of them. What a clause was widened by is not in it.
        """
        ways = {one.way for one in self.alternatives}
        is_widened = "begun" in ways and len(ways) > 1
        counted = [
            one for one in self.alternatives if not (is_widened and one.way == "begun")
        ]
        is_exact = len(counted) == 1 and len(counted[0].stems) == 1
        products = number_of(self.products, "product")
        limit = products if is_exact else f"at most {products}"
        return f"{limit} without longer words" if is_widened else limit


def _way_text(way: str, stems: Sequence[str]) -> str:
    label = WAY_WORDS[way] if len(stems) == 1 else WAYS_WORDS[way]
    shown = ", ".join(stems[:SHOWN_ALTERNATIVES])
    more = len(stems) - SHOWN_ALTERNATIVES
    return f"{label} {shown} and {more} more" if more > 0 else f"{label} {shown}"


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
    """A product of the result, and why it stands where it does.

    Attributes:
        place: where it stands in the whole result, from 1.
        id: its id; ``name`` and ``brand`` are its own, too.
        group: by what it stands there.
        rank: where it stands among all products, from 1: the order of best sellers.
        score: None where ``group`` is direct or rank.
    """

    place: int
    id: int
    name: str
    brand: str
    group: Group
    rank: int
    score: ScoreReason | None


@dataclass(frozen=True)
class NamedProduct:
    """A product that whoever asks has named, and what became of it.

    Attributes:
        id: its id.
        why: where it stands, or why it is not found: a sentence without its subject.
        lacks: the words of the phrase that it has nothing for.
        reason: why it stands there; None: the phrase does not find it.
    """

    id: int
    why: str
    lacks: tuple[str, ...] = ()
    reason: ProductReason | None = None


@dataclass(frozen=True)
class SearchExplanation:
    """What a phrase finds, and why.

    Attributes:
        phrase: as it was typed.
        ignored_characters: how many characters at its end are ignored.
        corrected: the phrase that was searched for; None: the one that was typed.
        limit: the price limit at its end, in dollars.
        direct: the id of the product whose id, UPC or sku the phrase is; None: it is
            none.
        words: those of the phrase.
        clauses: what was searched for.
        is_part: the phrase finds nothing as a whole, so the largest part of it counts.
        is_widened: the phrase alone finds few products, so its words also stand for
            longer ones.
        before_widening: how many those few are.
        before_filters: how many products the phrase finds.
        total: how many of them the filters leave.
        scored: how many of these have a score.
        by_rank: how many have none, and follow by their static rank.
        products: the first ones, in order.
        next: the first that is cut off; None: there is none.
        product: what became of the product that was named; None: none was.
    """

    phrase: str
    ignored_characters: int
    corrected: str | None
    limit: Range | None
    direct: int | None
    words: tuple[WordReason, ...]
    clauses: tuple[ClauseReason, ...]
    is_part: bool
    is_widened: bool
    before_widening: int
    before_filters: int
    total: int
    scored: int
    by_rank: int
    products: tuple[ProductReason, ...]
    next: ProductReason | None
    product: NamedProduct | None

    def use_text(self, use: WordUse) -> str:
        """Return what became of a word, for people."""
        if use == "number":
            return f"is the number of product {self.direct}"
        return USE_WORDS[use]
