"""Single-use codes: digests of those that were issued, and the order that has won each."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from vitrine.interface.ports import Issue, SingleUseCode
from vitrine.service.sql.session import Session, written

TOGETHER = 500
"""Rows that one statement writes."""


class Codes:
    """The port Codes (interface.ports)."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def mark(self) -> str | None:
        rows = self._run("SELECT mark FROM code_secrets WHERE id = 1")
        return str(rows[0][0]) if rows else None

    def claim(self, mark: str) -> str:
        """The mark of the secret that the store keeps to: this one, if there is none yet."""
        self._run("INSERT INTO code_secrets (id, mark) VALUES (1, ?) ON CONFLICT DO NOTHING", mark)
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
        rows = self._run("SELECT promotion, order_number, reservation FROM codes WHERE digest = ?", digest)
        return SingleUseCode(*rows[0]) if rows else None

    def use(self, digest: str, order: str, reservation: str, application: str, at: datetime) -> bool:
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
