"""Single-use codes as text: how one is made, when two are the same, and what is kept of one."""

import hmac
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from math import log2

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32, which has no letter that looks like a digit: I, L, O and U are left out.
"""

LENGTH, GROUP = 16, 4
"""Characters of a code, 80 bits of chance, and of a group between hyphens."""

MAX_CODE_LENGTH = 100

_WRITTEN = re.compile(r"[\s\u00ad\u2010-\u2015\u2212-]+")
_LOOKS = str.maketrans("ILO", "110")


def new_code(random: Callable[[int], bytes]) -> str:
    """A code that nobody can guess, such as `7K3M-Q9TA-2H5D-R8VN`."""
    chars = "".join(
        ALPHABET[byte % len(ALPHABET)] for byte in random(LENGTH)
    )  # 256 is a multiple of 32
    return "-".join(chars[start : start + GROUP] for start in range(0, LENGTH, GROUP))


def spelling(code: str) -> str:
    """The one spelling under which a code is known: two codes are the same exactly when this
    is.

    Case, blanks and hyphens (dashes too, which phones put in their place) mean nothing, and
    what looks alike is alike: I, L and 1, O and 0.
    """
    return _WRITTEN.sub("", code).upper().translate(_LOOKS)


SAFE_BITS = 60
"""Of chance that a code should hold. At the 5 wrong codes a second that the order host answers
(interface.orders), one of a million codes with 60 bits is hit in some 7,000 years; with 40
bits, in three days.
"""

_MIN_COMPARED = 8
"""So many codes show by what they have in common what chance had no part in: two of them agree
by accident.
"""


def bits(codes: Sequence[str]) -> float:
    """How much chance codes of one kind can hold at most, in bits.

    What stands at the same place in all of many codes tells nothing, such as `SUMMER-`; a digit
    holds at most 3.3 bits, a letter 4.5, either of them 5. Codes that are counted up hold less
    than this; nobody can see that in all of them.
    """
    spellings = [spelling(code) for code in codes]
    shortest = min(map(len, spellings))
    places = zip(*(text[:shortest] for text in spellings), strict=True)
    return sum(_bits_of_place(set(place), len(spellings)) for place in places)


def _bits_of_place(characters: set[str], codes: int) -> float:
    if codes >= _MIN_COMPARED and len(characters) == 1:
        return 0.0
    digits = {character for character in characters if character.isdecimal()}
    kinds = (10 if digits else 0) + (
        23 if characters - digits else 0
    )  # letters without I, L and O, which are digits
    return log2(kinds)


def digest(code: str, secret: bytes) -> str:
    """What is kept of a code: nobody without the secret can try codes on it."""
    return hmac.new(secret, spelling(code).encode("utf-8", "surrogatepass"), sha256).hexdigest()


def mark(secret: bytes) -> str:
    """What tells one secret from another without giving it away. No code is spelt like this
    text.
    """
    return hmac.new(secret, b"which secret is it?", sha256).hexdigest()
