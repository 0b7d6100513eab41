"""Actions that do nothing but add rows: found out by a trial without a transaction, and told as the rows."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from vitrine.service.sql.session import Row
from vitrine.service.sql.shop import Shop


@dataclass(frozen=True, eq=False)
class Adding:
    """A statement that adds one row and gives none; ``tail``: what it does where the row is there."""

    sql: str
    table: str
    columns: str
    tail: str


Added = tuple[Adding, tuple[Any, ...]]
"""A row to add, by its statement and its values."""


def tried(work: Callable[[Shop], Any]) -> tuple[Any, list[Added] | None]:
    """What ``work`` returns and the rows that it adds; (None, None) where it does more, or would look at something.

    Nothing has been done yet. Raises what ``work`` raises.
    """
    trial = _Trial()
    try:
        return work(Shop(trial)), trial.added
    except _Looks:
        return None, None


class _Looks(BaseException):
    """An action does more than add rows. No Exception: no action takes it for a fault."""


class _Trial:
    """The port Session: rows that would be added are noted."""

    def __init__(self) -> None:
        self.added: list[Added] = []

    def run(self, sql: str, *values: Any) -> list[Row]:
        adding = _adding(sql)
        if adding is None:
            raise _Looks
        self.added.append((adding, values))
        return []


@cache
def _adding(sql: str) -> Adding | None:
    """What a statement adds; None for one that does anything else, or gives rows."""
    match = re.fullmatch(r"INSERT INTO (\w+) \(([\w, ]+)\) VALUES \(\?(?:, \?)*\)( ON CONFLICT .+)?", sql)
    tail = (match[3] or "") if match else ""
    if match is None or "?" in tail or "RETURNING" in tail:
        return None
    return Adding(sql, match[1], match[2], tail)
