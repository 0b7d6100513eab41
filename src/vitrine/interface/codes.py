"""Single-use codes as text: how one is made, when two are the same, and what is kept of one."""

import hmac
import re
from collections.abc import Callable
from hashlib import sha256

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32, which has no letter that looks like a digit: I, L, O and U are left out."""

LENGTH, GROUP = 16, 4
"""Characters of a code, 80 bits of chance, and of a group between hyphens."""

MIN_SECRET = 32
SECRET = "VITRINE_CODE_SECRET"
MAX_LENGTH = 100

_WRITTEN = re.compile(r"[\s\u00ad\u2010-\u2015\u2212-]+")
_LOOKS = str.maketrans("ILO", "110")


def new_code(random: Callable[[int], bytes]) -> str:
    """A code that nobody can guess, such as `7K3M-Q9TA-2H5D-R8VN`."""
    chars = "".join(ALPHABET[byte % len(ALPHABET)] for byte in random(LENGTH))  # 256 is a multiple of 32
    return "-".join(chars[start : start + GROUP] for start in range(0, LENGTH, GROUP))


def spelling(code: str) -> str:
    """The one spelling under which a code is known: two codes are the same exactly when this is.

    Case, blanks and hyphens (dashes too, which phones put in their place) mean nothing, and what looks alike is alike:
    I, L and 1, O and 0.
    """
    return _WRITTEN.sub("", code).upper().translate(_LOOKS)


def digest(code: str, secret: bytes) -> str:
    """What is kept of a code: nobody without the secret can try codes on it."""
    return hmac.new(secret, spelling(code).encode("utf-8", "surrogatepass"), sha256).hexdigest()


def mark(secret: bytes) -> str:
    """What tells one secret from another without giving it away. No code is spelt like this text."""
    return hmac.new(secret, b"which secret is it?", sha256).hexdigest()


def read_secret(text: str | None) -> bytes:
    """The secret as the environment holds it. Raises ValueError where it is missing or short."""
    text = (text or "").strip()
    advice = f"set the environment variable {SECRET} to at least {MIN_SECRET} characters that nobody can guess"
    advice += " (`openssl rand -hex 32` makes some), the same wherever codes are issued and expired; keep it"
    if not text:
        raise ValueError(f"the secret of single-use codes is missing: {advice}")
    if len(text) < MIN_SECRET:
        raise ValueError(f"the secret of single-use codes is short, {len(text)} characters: {advice}")
    return text.encode("utf-8", "surrogateescape")
