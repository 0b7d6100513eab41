"""E-mail addresses: the home of email-validator. Nothing is looked up."""

MAX_LOCAL_PART = 64
"""Octets before the `@` (RFC 5321 §4.5.3.1.1). Servers need not take more; email-validator does
unless it is strict.
"""


def address(text: str) -> str:
    """An address in its one spelling, in ASCII throughout (RFC 5321 §4.1.2, IDNA). Raises
    ValueError.

    Letters beyond ASCII are read in the domain, not before the `@`: such mail needs SMTPUTF8
    (RFC 6531) on the whole way, and would come back where it is missing.
    """
    local = text.rpartition("@")[0].strip()
    if len(local) > MAX_LOCAL_PART:
        raise ValueError(
            f"must have at most {MAX_LOCAL_PART} characters before the @, not {len(local)}"
        )
    from email_validator import (
        EmailNotValidError,
        validate_email,
    )  # 40 ms, needed only where a promotion is shared

    try:
        found = validate_email(text, check_deliverability=False, allow_smtputf8=False)
    except EmailNotValidError as error:
        raise ValueError(f"must be an e-mail address, not {text[:60]!r}: {error}") from None
    if (
        found.ascii_email is None or "=?" in found.ascii_email
    ):  # a mail program would decode that (RFC 2047)
        raise ValueError(f"must be an e-mail address, not {text[:60]!r}")
    return found.ascii_email


def addresses(text: str, most: int) -> list[str]:
    """Addresses by comma, each once whatever its case. Raises ValueError."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > most:
        raise ValueError(f"must be at most {most} addresses, not {len(parts)}")
    found = {each.lower(): each for each in map(address, parts)}
    return list(found.values())
