"""What a misspelled word may have been meant to be.

rapidfuzz compares the word's stem with those of all words that products have, by the
optimal string alignment distance: a letter left out, added or replaced, or two letters
swapped, is one edit. What a shop does not sell is more often the reason for a word that
no product has than a bad misspelling, so short words may differ little, and some pairs
of words are never taken for one another.
"""

import re
from collections.abc import Iterator, Mapping

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from shopwindow.catalog.feeds.words import stem

SHORTEST = 4
"""Letters of a word that may be misspelled, at least. One edit makes most shorter words
another one.
"""

TWO_EDITS_FROM = 7
"""Letters from which a word may be two edits away from what was meant."""

_DOER = re.compile("[eo]rs?$")
_DOER_OR_LIKE = re.compile("(?:[eo]r|re)s?$")
_DOUBLE = re.compile(r"(.)\1")


def nearest(word: str, spellable: Mapping[str, str]) -> Iterator[str]:
    """Yield the words that a misspelled one may be meant to be, the nearest first.

    ``spellable`` has the stem of each word that spelling is corrected to. Of words that
    are equally near, the one that stands first in it comes first.
    """
    if len(word) < SHORTEST or not (word.isascii() and word.isalpha()):
        return
    most = 1 if len(word) < TWO_EDITS_FROM else 2
    near = extract(
        stem(word), spellable, scorer=OSA.distance, score_cutoff=most, limit=None
    )
    for _, _, meant in sorted(near, key=lambda match: match[1]):
        if _is_plausible(word, meant, spellable[meant]):
            yield meant


def _is_plausible(word: str, meant: str, meant_stem: str) -> bool:
    """Return whether a near word may be what was meant."""
    if word[0] != meant[0] and word[:2] != meant[1::-1]:
        return False  # few err in the first letter, unless the first two are swapped
    if _DOER.search(word) and not _DOER_OR_LIKE.search(meant):
        return False  # a printer is nothing printed
    if word[:-1] == meant_stem and word[-1] in "aiou":
        return False  # a harmonica is nothing harmonic
    if len(meant) < SHORTEST:
        return _DOUBLE.sub(r"\1", word) == meant  # a mugg is a mug, but lego is no leg
    if len(word) == len(meant) == SHORTEST:
        return sorted(word) == sorted(meant)  # of four letters, another one is too much
    return True
