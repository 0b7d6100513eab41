"""Did you mean …? The one of some names that a word is like which is none of them.

There are two measures, for there are two purposes. `nearest` suggests, and a person
decides: it compares what two texts share, so `base_url` leads to `order_base_url`. By
`is_slip` a program decides, such as `check --fix` over a key: it counts the letters that
differ, for of what is certain only one or two may.

Which names compete, and where a slip counts, their users say: `content.schemas.wording`
suggests keys and values, `content.schemas.meant` is certain of keys, and
`content.rules.open_maps` warns of names in open maps.
"""

from collections import Counter
from collections.abc import Iterable

MOST_COMPARED = 100
"""Names that are compared with a word letter by letter. A hundred take 1 ms, a file may
have a thousand words that are wrong, and a schema may allow 200,000.
"""


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the one of some names that is most like ``word``, or empty text.

    Three fifths of the letters of both are the same in the same order, at least.
    """
    from difflib import get_close_matches  # 4 ms, needed only where something is wrong

    folded = {name.casefold(): name for name in sorted(set(names))}
    beginning = word.casefold()[:200]  # difflib takes time by the square of the length
    if len(folded) > MOST_COMPARED:
        from rapidfuzz import fuzz, process  # its ratio is never below difflib's

        likely = process.extract(
            beginning, [*folded], scorer=fuzz.ratio, limit=MOST_COMPARED
        )
        folded = {name: folded[name] for name, _, _ in likely}
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
