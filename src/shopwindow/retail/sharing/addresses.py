"""Checks mail addresses and normalizes them, by the package email-validator.

No name is looked up in the DNS: a request would wait for it, and a domain that has no
server today may have one when the mail is sent.
"""

MAX_LOCAL_PART = 64
"""Octets before the `@` (RFC 5321 §4.5.3.1.1). Servers need not take more. It is
checked here, because email-validator checks it only in its strict mode.
"""


def address(text: str) -> str:
    """Return an address in its one spelling, all ASCII (RFC 5321 §4.1.2, IDNA).

    Raises ValueError for any other text. Letters beyond ASCII may stand in the domain,
    but not before the `@`: such mail needs SMTPUTF8 (RFC 6531) at every server on the
    way, and comes back from one that lacks it.
    """
    local = text.rpartition("@")[0].strip()
    if len(local) > MAX_LOCAL_PART:
        raise ValueError(
            f"must have at most {MAX_LOCAL_PART} characters before the @, not {len(local)}"
        )
    # imported here: it takes 40 ms, and only the sharing of a promotion needs it
    from email_validator import EmailNotValidError, validate_email

    try:
        validated = validate_email(
            text, check_deliverability=False, allow_smtputf8=False
        )
    except EmailNotValidError as error:
        raise ValueError(
            f"must be an e-mail address, not {text[:60]!r}: {error}"
        ) from None
    spelling = validated.ascii_email
    if (
        spelling is None or "=?" in spelling
    ):  # a mail program would decode `=?` (RFC 2047)
        raise ValueError(f"must be an e-mail address, not {text[:60]!r}")
    return spelling


def addresses(text: str, most: int) -> list[str]:
    """Return the addresses of a list with commas, each once whatever its case.

    Raises ValueError for more than ``most``, or for a part that is no address.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > most:
        raise ValueError(f"must be at most {most} addresses, not {len(parts)}")
    by_lower_case = {spelling.lower(): spelling for spelling in map(address, parts)}
    return list(by_lower_case.values())
