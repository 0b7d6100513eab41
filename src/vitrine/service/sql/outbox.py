"""The outbox: mails in the transaction that promises them, and what senders do with them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from vitrine.content.yaml import Json
from vitrine.service.sql.session import Session, written

CANDIDATES = 32


@dataclass(frozen=True)
class Mail:
    """A mail that a sender has claimed. ``at``: when it was promised; ``deferred``: how often a server put it off."""

    id: str
    recipient: str
    document: Json
    at: datetime
    deferred: int


class Outbox:
    """The port Outbox (interface.ports), and the verbs of its senders."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def add(self, id: str, recipient: str, document: Json, at: datetime) -> None:
        when, text = written(at), orjson.dumps(document).decode()
        self._run(
            "INSERT INTO outbox (id, recipient, document, state, due, deferred, at)"
            " VALUES (?, ?, ?, 'waiting', ?, 0, ?)",
            *(id, recipient, text, when, when),
        )

    def due(self, at: datetime) -> list[str]:
        """The ids of some mails that may be tried, those that wait longest."""
        rows = self._run(
            "SELECT id FROM outbox WHERE state = 'waiting' AND due <= ? ORDER BY due LIMIT ?", written(at), CANDIDATES
        )
        return [id for (id,) in rows]

    def claim(self, id: str, lease: str, at: datetime, until: datetime) -> Mail | None:
        """The mail, which is this sender's until then; None where another was faster."""
        rows = self._run(
            "UPDATE outbox SET lease = ?, due = ? WHERE id = ? AND state = 'waiting' AND due <= ?"
            " RETURNING recipient, document, at, deferred",
            *(lease, written(until), id, written(at)),
        )
        for recipient, document, promised, deferred in rows:
            return Mail(id, recipient, orjson.loads(document), _read(promised), deferred)
        return None

    def sent(self, id: str) -> None:
        """A server has accepted it: nothing of it is kept. Whoever else may have claimed it finds it gone."""
        if self._run("DELETE FROM outbox WHERE id = ? RETURNING 1", id):
            self._count("sent")

    def postpone(self, id: str, lease: str, due: datetime, reason: str, *, deferred: bool) -> None:
        """Try it again later. ``deferred``: a server has put off this mail, and not only been out of reach."""
        self._run(
            "UPDATE outbox SET due = ?, reason = ?, deferred = deferred + ?, lease = NULL WHERE id = ? AND lease = ?",
            *(written(due), reason, int(deferred), id, lease),
        )

    def give_up(self, id: str, lease: str, reason: str) -> None:
        """It is dead: kept, and not tried until somebody says so."""
        changed = self._run(
            "UPDATE outbox SET state = 'dead', reason = ?, lease = NULL WHERE id = ? AND lease = ? RETURNING 1",
            *(reason, id, lease),
        )
        if changed:
            self._count("dead")

    def dead(self) -> list[dict[str, Any]]:
        """The dead mails, the oldest first."""
        names = ("id", "recipient", "at", "deferred", "reason")
        rows = self._run(f"SELECT {', '.join(names)} FROM outbox WHERE state = 'dead' ORDER BY at, id")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def retry(self, ids: Iterable[str] | None, at: datetime) -> int:
        """Try dead mails again: these, or all; how many there were."""
        when = written(at)
        sql = "UPDATE outbox SET state = 'waiting', due = ?, deferred = 0 WHERE state = 'dead'"
        if ids is None:
            return len(self._run(f"{sql} RETURNING 1", when))
        return sum(len(self._run(f"{sql} AND id = ? RETURNING 1", when, id)) for id in ids)

    def counts(self) -> dict[str, int]:
        """How many mails are waiting and dead now, and how many ended so since the store was made."""
        found = dict.fromkeys(("waiting", "dead", "ended sent", "ended dead"), 0)
        for state, number in self._run("SELECT state, count(*) FROM outbox GROUP BY state"):
            found[state] = number
        for state, number in self._run("SELECT state, number FROM outbox_ends"):
            found[f"ended {state}"] = number
        return found

    def prune(self, before: datetime, limit: int) -> int:
        """Delete dead mails that were promised before an instant, so many at most; how many there were."""
        return len(
            self._run(
                "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE state = 'dead' AND at < ? LIMIT ?)"
                " RETURNING 1",
                *(written(before), limit),
            )
        )

    def _count(self, state: str) -> None:
        self._run(
            "INSERT INTO outbox_ends (state, number) VALUES (?, 1)"
            " ON CONFLICT (state) DO UPDATE SET number = outbox_ends.number + 1",
            state,
        )


def _read(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
