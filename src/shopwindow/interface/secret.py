"""The service's secret, which keys the digests that its database holds (Moment.secret)."""

SECRET = "SHOPWINDOW_CODE_SECRET"
"""The environment variable. Named after single-use codes, which were the first to need
it.
"""

MIN_SECRET = 32
"""Characters: 128 bits of chance in hexadecimal digits, which nobody tries through
(NIST SP 800-57, table 2).
"""


def read_secret(text: str | None) -> bytes:
    """Return the secret from a text, as the environment holds it. Raises ValueError
    where it is missing or short.
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
