"""Many codes into the database at once, all of them or none; and lists of codes made elsewhere."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from shopwindow.interface.secret import SECRET
from shopwindow.interface.table import Tables, Writer
from shopwindow.problems import Failure
from shopwindow.retail.codes.table import CODES
from shopwindow.retail.codes.text import MAX_CODE_LENGTH, mark, spelling

_CODE = re.compile(r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*", re.ASCII)
_PROMOTION_AND_CODE = re.compile(
    r"([1-9][0-9]{0,15})(?:[ \t]*[,;][ \t]*|[ \t]+)(\S.*)", re.ASCII
)


class CodesExist(Exception):
    """Some of the codes are in the database already."""

    def __init__(self, digests: set[str]) -> None:
        super().__init__(f"{len(digests)} codes are in the database already")
        self.digests = digests


def keep(
    database: Writer, codes: Mapping[int, Sequence[str]], secret: bytes, at: datetime
) -> None:
    """Keep promotions' codes by their digests. Raises CodesExist, or Failure: the database's
    have another secret.
    """

    def work(tables: Tables) -> None:
        ours = mark(secret)
        if tables[CODES].claim(ours) != ours:
            raise Failure(
                f"{SECRET} is not the one that the database's codes were issued under; use that one"
            )
        known: set[str] = set()
        for promotion, digests in codes.items():
            known |= tables[CODES].add(promotion, digests, at)
        if known:
            raise CodesExist(known)

    database.write(work)


def read_lines(
    data: bytes, promotion: int | None = None
) -> tuple[dict[int, tuple[int, str]], dict[int, str]]:
    """Promotions and codes by the number of their line, and what is wrong with the others;
    blank lines are none.

    With ``promotion`` each line is a code of that one; without, it says which: `880502
    SUMMER-1`, or with a comma. A line is read strictly, blanks within a code are a fault: of
    two columns no code could be made.
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
                allowed = "a promoId, a comma or blank, and the code; or --promotion ID, which says it for all lines"
                bad[number] = f"{text[:40]!r} does not say its promotion; allowed: {allowed}"
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
