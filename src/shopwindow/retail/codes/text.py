"""Single-use codes as text: how one is drawn, when two are the same, and what is stored
of one.

A code is compared by its one spelling (`spelling`), and stored as a digest of that
under the shop's secret, so that whoever reads the database cannot use the codes.
"""

import hmac
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from math import log2

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: digits and letters without I, L and O, which look like digits,
and U.
"""

CODE_LENGTH = 16
"""Characters of a code. Each holds 5 bits of chance, so a code has 80 (see
`SAFE_BITS`).
"""

CODE_GROUP = 4
"""Characters between two hyphens, for people who read a code aloud or type it."""

MAX_CODE_LENGTH = 100
"""Characters of a code that was drawn elsewhere: what schemas/requests/supc.json
accepts. A longer code could never be used.
"""

_MEANS_NOTHING = re.compile(r"[\s\u00ad\u2010-\u2015\u2212-]+")
"""Spaces, hyphens, and the dashes that phones put in their place."""

_LOOKS_LIKE = str.maketrans("ILO", "110")


def new_code(random: Callable[[int], bytes]) -> str:
    """Return a code that nobody can guess, such as `7K3M-Q9TA-2H5D-R8VN`.

    ``random`` returns so many bytes. The remainder is as random as they are, because
    256 is a multiple of 32.
    """
    chars = "".join(ALPHABET[byte % len(ALPHABET)] for byte in random(CODE_LENGTH))
    starts = range(0, CODE_LENGTH, CODE_GROUP)
    return "-".join(chars[start : start + CODE_GROUP] for start in starts)


def spelling(code: str) -> str:
    """Return a code in its one spelling; two codes are the same if their spellings are.

    Case, spaces and hyphens mean nothing. I and L are 1, and O is 0.
    """
    return _MEANS_NOTHING.sub("", code).upper().translate(_LOOKS_LIKE)


SAFE_BITS = 60
"""Bits of chance that a code should hold. The order host answers at most 5 wrong codes
a second (`codes.operations`). At that rate, one of a million codes with 60 bits is
guessed in some 7,000 years; with 40 bits, in three days.
"""

_ENOUGH_TO_COMPARE = 8
"""From so many codes on, a character that all of them share is no chance. Two codes may
share one by accident.
"""


def bits(codes: Sequence[str]) -> float:
    """Return how many bits of chance codes that belong together can hold at most.

    A character that stands at the same place in all of many codes, as in `SUMMER-`,
    holds none. Elsewhere a digit holds 3.3 bits, a letter 4.5, and either of them 5.
    Codes that were counted up hold less than this; that cannot always be seen in them.
    """
    spellings = [spelling(code) for code in codes]
    shortest = min(map(len, spellings))
    places = zip(*(text[:shortest] for text in spellings), strict=True)
    return sum(_bits_of_place(set(place), len(spellings)) for place in places)


def _bits_of_place(characters: set[str], codes: int) -> float:
    if codes >= _ENOUGH_TO_COMPARE and len(characters) == 1:
        return 0.0
    digits = {character for character in characters if character.isdecimal()}
    letters = characters - digits
    choices = (10 if digits else 0) + (
        23 if letters else 0
    )  # I, L and O count as digits
    return log2(choices)


def digest(code: str, secret: bytes) -> str:
    """Return what is stored of a code; nobody without the secret can try codes on it."""
    return hmac.new(
        secret, spelling(code).encode("utf-8", "surrogatepass"), sha256
    ).hexdigest()


def mark(secret: bytes) -> str:
    """Return what tells one secret from another without giving it away.

    It is the digest of a text that is no code's spelling.
    """
    return hmac.new(secret, b"which secret is it?", sha256).hexdigest()
