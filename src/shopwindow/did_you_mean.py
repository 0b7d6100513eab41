"""Did you mean …? The one of some names that a word is like which is none of them.

There are two measures, for there are two purposes. `nearest` suggests, and a person
decides: it compares what two texts share, so `base_url` leads to `order_base_url`. By
`is_slip` a program decides, such as `check --fix` over a key: it counts the letters that
differ, for of what is certain only one or two may.

Where a slip counts, and in how long a word, its users say: `content.schemas.meant` of keys,
`content.rules.open_maps` of names in open maps, `catalog.search.spelling` of words in a
search.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

MOST_COMPARED = 1000
"""Names that are compared with a word. A thousand take 10 ms, a file may have a thousand
words that are wrong, and a schema may allow 200,000.
"""


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the one of some names that is most like ``word``, or empty text.

    Three fifths of the letters of both are the same in the same order, at least. Of more
    than MOST_COMPARED names it is one of the first that begin with the word's first two
    letters.
    """
    from difflib import get_close_matches  # 4 ms, needed only where something is wrong

    compared = [*names]
    if len(compared) > MOST_COMPARED:
        start = word[:2].casefold()
        alike = (name for name in compared if name[:2].casefold() == start)
        compared = [*islice(alike, MOST_COMPARED)]
    folded = {name.casefold(): name for name in sorted(set(compared))}
    beginning = word.casefold()[:200]  # difflib takes time by the square of the length
    similar = get_close_matches(beginning, folded, n=1, cutoff=0.6)
    return folded[similar[0]] if similar else ""


def suggestion(word: str, names: Iterable[str]) -> str:
    """Return the question whether a name was meant that is like ``word``, or empty
    text.
    """
    close = nearest(word, names)
    return f"; did you mean {close}?" if close else ""


def is_slip(word: str, name: str, edits: int = 1) -> bool:
    """Return whether at most so many letters were added, left out, replaced, or swapped
    with the next one (Damerau and Levenshtein's distance, optimal string alignment).
    """
    lacking = Counter(word) - Counter(name)
    if lacking.total() > edits:  # so nearly all names are told apart
        return False
    from rapidfuzz.distance import OSA  # 9 ms, needed only where something may be wrong

    return OSA.distance(word, name, score_cutoff=edits) <= edits
