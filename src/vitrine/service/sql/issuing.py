"""Many codes into the store at once, all of them or none; and lists of codes made elsewhere."""

import re
from collections.abc import Sequence
from datetime import datetime

from vitrine.interface.codes import MAX_LENGTH, SECRET, mark, spelling
from vitrine.problems import Failure
from vitrine.service.sql.database import Database
from vitrine.service.sql.shop import Shop

_CODE = re.compile(r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*", re.ASCII)


class Known(Exception):
    """Some of the codes are in the store already."""

    def __init__(self, digests: set[str]) -> None:
        super().__init__(f"{len(digests)} codes are in the store already")
        self.digests = digests


def keep(database: Database, promotion: int, digests: Sequence[str], secret: bytes, at: datetime) -> None:
    """Keep codes by their digests. Raises Known, or Failure where the store's codes have another secret."""

    def work(shop: Shop) -> None:
        ours = mark(secret)
        if shop.codes.claim(ours) != ours:
            raise Failure(f"{SECRET} is not the one that the store's codes were issued under; use that one")
        if known := shop.codes.add(promotion, digests, at):
            raise Known(known)

    database.write(work)


def read_lines(data: bytes) -> tuple[dict[int, str], dict[int, str]]:
    """Codes by the number of their line, and what is wrong with the others; blank lines are none.

    A line is read strictly, blanks within it are a fault: of a file with two columns no code could be made.
    """
    codes: dict[int, str] = {}
    bad: dict[int, str] = {}
    first: dict[str, int] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        text = line.strip(b" \t\r").decode("utf-8", "backslashreplace")
        if not text:
            continue
        if not _CODE.fullmatch(text):
            bad[number] = f"{text[:40]!r} is no code; allowed: letters and digits, with hyphens between them"
        elif len(text) > MAX_LENGTH:
            bad[number] = f"a code of {len(text)} characters is too long; allowed: at most {MAX_LENGTH}"
        elif (same := first.setdefault(spelling(text), number)) != number:
            bad[number] = f"the same code as in line {same}; case and hyphens mean nothing, and O is 0, I and L are 1"
        else:
            codes[number] = text
    return codes, bad
