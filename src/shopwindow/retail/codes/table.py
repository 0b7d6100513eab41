"""Single-use codes: digests of those that were issued, and the order that has won each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from shopwindow.interface.table import Session, Step, Table, written

TOGETHER = 500
"""Rows that one statement writes."""


@dataclass(frozen=True)
class SingleUseCode:
    """A code's promotion, and the order and reservation that have won it, if any."""

    promotion: int
    order: str | None = None
    reservation: str | None = None


@dataclass(frozen=True)
class Issue:
    """The codes of a promotion: how many there are and how many are used, and when; times are
    UTC, as ISO 8601.
    """

    promotion: int
    issued: int
    used: int
    first_issued: str
    last_issued: str
    first_used: str | None
    last_used: str | None


class Codes:
    """Single-use codes, known by their digests alone."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def mark(self) -> str | None:
        """Return what tells the secret that the digests were made with; None before there are
        any.
        """
        rows = self._run("SELECT mark FROM code_secrets WHERE id = 1")
        return str(rows[0][0]) if rows else None

    def claim(self, mark: str) -> str:
        """Return the mark of the secret that the database keeps to: this one, if there is none
        yet.
        """
        self._run(
            "INSERT INTO code_secrets (id, mark) VALUES (1, ?) ON CONFLICT DO NOTHING", mark
        )
        return self.mark() or mark

    def add(self, promotion: int, digests: Sequence[str], at: datetime) -> set[str]:
        """Keep codes; the digests of those that were there before, which stay as they are."""
        known: set[str] = set()
        for part in _parts(digests):
            values = [value for digest in part for value in (digest, promotion, written(at))]
            rows = self._run(
                "INSERT INTO codes (digest, promotion, issued) VALUES "
                + ", ".join(["(?, ?, ?)"] * len(part))
                + " ON CONFLICT DO NOTHING RETURNING digest",
                *values,
            )
            known |= set(part) - {row[0] for row in rows}
        return known

    def find(self, digest: str) -> SingleUseCode | None:
        """Return the code of a digest, or None."""
        rows = self._run(
            "SELECT promotion, order_number, reservation FROM codes WHERE digest = ?", digest
        )
        return SingleUseCode(*rows[0]) if rows else None

    def use(
        self, digest: str, order: str, reservation: str, application: str, at: datetime
    ) -> bool:
        """Return whether the code was free, and is now this order's: of all who try, one is
        told so.
        """
        won = self._run(
            "UPDATE codes SET order_number = ?, reservation = ?, application = ?, used = ?"
            " WHERE digest = ? AND order_number IS NULL RETURNING 1",
            *(order, reservation, application, written(at), digest),
        )
        return bool(won)

    def report(self) -> list[Issue]:
        """Each promotion that has codes, by its id."""
        rows = self._run(
            "SELECT promotion, count(*), count(used), min(issued), max(issued), min(used), max(used)"
            " FROM codes GROUP BY promotion ORDER BY promotion"
        )
        return [Issue(*row) for row in rows]


def _parts(digests: Sequence[str]) -> Iterable[Sequence[str]]:
    return (digests[start : start + TOGETHER] for start in range(0, len(digests), TOGETHER))


CODES = Table(
    name="codes",
    steps=(
        Step(
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
            formerly=2,
        ),
    ),
    verbs=Codes,
)
