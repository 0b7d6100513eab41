"""The service's secret: the key of the digests in its database (Moment.secret)."""

SECRET = "SHOPWINDOW_CODE_SECRET"
"""The environment variable, named after single-use codes, which needed it first."""

MIN_SECRET = 32
"""The least number of characters: 32 random hexadecimal digits hold 128 bits.

Nobody can try all values of 128 bits (NIST SP 800-57, table 2).
"""


def read_secret(text: str | None) -> bytes:
    """Return the secret from the value of the environment variable.

    Raises ValueError where it is missing or too short.
    """
    text = (text or "").strip()
    advice = f"set the environment variable {SECRET} to at least {MIN_SECRET} characters that nobody can guess"
    advice += " (`openssl rand -hex 32` makes some), the same wherever codes are issued and expired; keep it"
    if not text:
        raise ValueError(f"the secret of single-use codes is missing: {advice}")
    if len(text) < MIN_SECRET:
        raise ValueError(
            f"the secret of single-use codes is short, {len(text)} characters: {advice}"
        )
    return text.encode("utf-8", "surrogateescape")
