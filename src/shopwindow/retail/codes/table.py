"""Single-use codes: digests of those that were issued, and the order that has won each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shopwindow.interface.declaring.table import Session, Table, written

CODES_IN_A_STATEMENT = 500
"""Rows that one INSERT writes, with three parameters each. SQLite takes 32,766
parameters and PostgreSQL 65,535; 500 rows keep a statement's text short.
"""


@dataclass(frozen=True)
class SingleUseCode:
    """A code's promotion, and the order and reservation that used it, if any."""

    promotion: int
    order: str | None = None
    reservation: str | None = None


@dataclass(frozen=True)
class Issue:
    """How many codes a promotion has, how many are used, and when. Times are UTC, ISO
    8601.
    """

    promotion: int
    issued: int
    used: int
    first_issued: str
    last_issued: str
    first_used: str | None
    last_used: str | None


class Codes:
    """What may be done with single-use codes. The database knows them by their digests
    alone.
    """

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def mark(self) -> str | None:
        """Return the mark of the secret that the digests were computed with, or None.

        There is none until the first codes are issued.
        """
        rows = self._run("SELECT mark FROM code_secrets WHERE id = 1")
        return str(rows[0][0]) if rows else None

    def claim(self, mark: str) -> str:
        """Return the mark of the database's secret; if it has none yet, this one
        becomes it.
        """
        self._run(
            "INSERT INTO code_secrets (id, mark) VALUES (1, ?) ON CONFLICT DO NOTHING",
            mark,
        )
        return self.mark() or mark

    def add(self, promotion: int, digests: Sequence[str], at: datetime) -> set[str]:
        """Add codes. Return the digests that were there before; those stay as they are."""
        existing: set[str] = set()
        for start in range(0, len(digests), CODES_IN_A_STATEMENT):
            batch = digests[start : start + CODES_IN_A_STATEMENT]
            values = [
                value for digest in batch for value in (digest, promotion, written(at))
            ]
            added = self._run(
                "INSERT INTO codes (digest, promotion, issued) VALUES "
                + ", ".join(["(?, ?, ?)"] * len(batch))
                + " ON CONFLICT DO NOTHING RETURNING digest",
                *values,
            )
            existing |= set(batch) - {digest for (digest,) in added}
        return existing

    def find(self, digest: str) -> SingleUseCode | None:
        """Return the code of a digest, or None."""
        rows = self._run(
            "SELECT promotion, order_number, reservation FROM codes WHERE digest = ?",
            digest,
        )
        return SingleUseCode(*rows[0]) if rows else None

    def use(
        self, digest: str, order: str, reservation: str, application: str, at: datetime
    ) -> bool:
        """Give a free code to an order. Return whether it was free.

        Of several orders that try at once, exactly one gets True.
        """
        rows = self._run(
            "UPDATE codes SET order_number = ?, reservation = ?, application = ?, used = ?"
            " WHERE digest = ? AND order_number IS NULL RETURNING 1",
            *(order, reservation, application, written(at), digest),
        )
        return bool(rows)

    def report(self) -> list[Issue]:
        """Return the counts of every promotion that has codes, by its id."""
        rows = self._run(
            "SELECT promotion, count(*), count(used), min(issued), max(issued), min(used), max(used)"
            " FROM codes GROUP BY promotion ORDER BY promotion"
        )
        return [Issue(*row) for row in rows]


SINGLE_USE_CODES = Table(
    name="codes",
    steps=(
        """
        -- Single-use codes: digests, never the codes; the order that has won one.
        CREATE TABLE codes (
            digest TEXT NOT NULL PRIMARY KEY,
            promotion BIGINT NOT NULL,
            issued TEXT NOT NULL,
            order_number TEXT,
            reservation TEXT,
            application TEXT,
            used TEXT
        );
        CREATE INDEX codes_promotion ON codes (promotion, issued);
        -- Which secret the digests are made with: there is one row at most.
        CREATE TABLE code_secrets (
            id INTEGER NOT NULL PRIMARY KEY,
            mark TEXT NOT NULL
        );
        """,
    ),
    verbs=Codes,
)
