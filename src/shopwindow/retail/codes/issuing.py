"""Issuing codes: many at once into the database, and reading lists that were drawn
elsewhere.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from shopwindow.interface.declaring.secret import SECRET
from shopwindow.interface.declaring.table import Tables, Writer
from shopwindow.problems import Failure
from shopwindow.retail.codes.table import SINGLE_USE_CODES
from shopwindow.retail.codes.text import MAX_CODE_LENGTH, mark, spelling

_CODE = re.compile(r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*", re.ASCII)
"""What a list may hold: read strictly, since two columns in one line would make a wrong
code.
"""

_PROMOTION_AND_CODE = re.compile(
    r"([1-9][0-9]{0,15})(?:[ \t]*[,;][ \t]*|[ \t]+)(\S.*)", re.ASCII
)


class CodesExist(Exception):
    """Some of the codes are in the database already; ``digests`` says which."""

    def __init__(self, digests: set[str]) -> None:
        super().__init__(f"{len(digests)} codes are in the database already")
        self.digests = digests


def keep(
    database: Writer, codes: Mapping[int, Sequence[str]], secret: bytes, at: datetime
) -> None:
    """Store codes by their digests, all of them or none.

    Args:
        database: is written to in one transaction.
        codes: digests by the id of their promotion.
        secret: the one that the digests were computed with.
        at: when they were issued.

    Raises CodesExist if some are there already, and Failure if the codes in the
    database were issued under another secret.
    """

    def work(tables: Tables) -> None:
        ours = mark(secret)
        if tables[SINGLE_USE_CODES].claim(ours) != ours:
            raise Failure(
                f"{SECRET} is not the one that the database's codes were issued under; use that one"
            )
        existing: set[str] = set()
        for promotion, digests in codes.items():
            existing |= tables[SINGLE_USE_CODES].add(promotion, digests, at)
        if existing:
            raise CodesExist(existing)

    database.write(work)


def read_lines(
    data: bytes, promotion: int | None = None
) -> tuple[dict[int, tuple[int, str]], dict[int, str]]:
    """Read a list of codes. Return (promotion, code) by line number, and messages by
    line number.

    Empty lines are skipped. With ``promotion`` every line is a code of that one;
    without it a line names its own: `880502 SUMMER-1`, or with a comma. A message says
    what is wrong with a line. A space within a code is wrong: the line probably has a
    second column.
    """
    codes: dict[int, tuple[int, str]] = {}
    bad: dict[int, str] = {}
    first: dict[str, int] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        text = line.strip(b" \t\r").decode("utf-8", "backslashreplace")
        if not text:
            continue

        of = promotion
        if of is None:
            match = _PROMOTION_AND_CODE.fullmatch(text)
            if match is None:
                allowed = "a promoId, a comma or space, and the code; or --promotion ID, which says it for all lines"
                bad[number] = (
                    f"{text[:40]!r} does not say its promotion; allowed: {allowed}"
                )
                continue
            of, text = int(match[1]), match[2]

        if not _CODE.fullmatch(text):
            bad[number] = (
                f"{text[:40]!r} is no code; allowed: letters and digits, with hyphens between them"
            )
        elif len(text) > MAX_CODE_LENGTH:
            bad[number] = (
                f"a code of {len(text)} characters is too long; allowed: at most {MAX_CODE_LENGTH}"
            )
        elif (same := first.setdefault(spelling(text), number)) != number:
            bad[number] = (
                f"the same code as in line {same}; case and hyphens mean nothing, and O is 0, I and L are 1"
            )
        else:
            codes[number] = of, text
    return codes, bad
