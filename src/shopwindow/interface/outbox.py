"""The outbox: mails in the transaction that promises them, and what senders do with them.

An Interface whose actions send mail lists OUTBOX among its tables. It stands here because both
need it: the family that promises a mail, and the service that sends it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from shopwindow.content.yaml import Json
from shopwindow.interface.table import Aging, Session, Step, Table, read_instant, written

CANDIDATES = 32
"""Mails of which a sender claims one at random: senders that ask at once seldom want the same.
"""

KEPT = timedelta(days=30)
"""How long a mail is kept that was given up: time enough to learn why, and to try again."""


@dataclass(frozen=True)
class Mail:
    """A mail that a sender has claimed. ``at``: when it was promised; ``deferred``: how often a
    server put it off.
    """

    id: str
    recipient: str
    document: Json
    at: datetime
    deferred: int


class Outbox:
    """Mail that is promised with a transaction and sent after it: for who promises it, and for
    its senders.
    """

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def add(self, id: str, recipient: str, document: Json, at: datetime) -> None:
        """Promise a mail to one recipient, made of a document when it is sent. ``id`` is
        unguessable and unique.
        """
        when, text = written(at), orjson.dumps(document).decode()
        self._run(
            "INSERT INTO outbox (id, recipient, document, state, due, deferred, at)"
            " VALUES (?, ?, ?, 'waiting', ?, 0, ?)",
            *(id, recipient, text, when, when),
        )

    def due(self, at: datetime) -> list[str]:
        """The ids of some mails that may be tried, those that wait longest."""
        rows = self._run(
            "SELECT id FROM outbox WHERE state = 'waiting' AND due <= ? ORDER BY due LIMIT ?",
            written(at),
            CANDIDATES,
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
            return Mail(id, recipient, orjson.loads(document), read_instant(promised), deferred)
        return None

    def sent(self, id: str) -> None:
        """A server has accepted it: nothing of it is kept. Whoever else may have claimed it
        finds it gone.
        """
        if self._run("DELETE FROM outbox WHERE id = ? RETURNING 1", id):
            self._count("sent")

    def postpone(
        self, id: str, lease: str, due: datetime, reason: str, *, deferred: bool
    ) -> None:
        """Try it again later. ``deferred``: a server has put off this mail, and not only been
        out of reach.
        """
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
        rows = self._run(
            f"SELECT {', '.join(names)} FROM outbox WHERE state = 'dead' ORDER BY at, id"
        )
        return [dict(zip(names, row, strict=True)) for row in rows]

    def retry(self, ids: Iterable[str] | None, at: datetime) -> int:
        """Try dead mails again: these, or all; how many there were."""
        when = written(at)
        sql = "UPDATE outbox SET state = 'waiting', due = ?, deferred = 0 WHERE state = 'dead'"
        if ids is None:
            return len(self._run(f"{sql} RETURNING 1", when))
        return sum(len(self._run(f"{sql} AND id = ? RETURNING 1", when, id)) for id in ids)

    def counts(self) -> dict[str, int]:
        """How many mails are waiting and dead now, and how many ended so since the database was
        made.
        """
        found = dict.fromkeys(("waiting", "dead", "ended sent", "ended dead"), 0)
        for state, number in self._run("SELECT state, count(*) FROM outbox GROUP BY state"):
            found[state] = number
        for state, number in self._run("SELECT state, number FROM outbox_ends"):
            found[f"ended {state}"] = number
        return found

    def oldest(self) -> datetime | None:
        """When the mail that has waited longest was promised; None where none waits."""
        ((at,),) = self._run("SELECT min(at) FROM outbox WHERE state = 'waiting'")
        return read_instant(at) if at else None

    def _count(self, state: str) -> None:
        self._run(
            "INSERT INTO outbox_ends (state, number) VALUES (?, 1)"
            " ON CONFLICT (state) DO UPDATE SET number = outbox_ends.number + 1",
            state,
        )


OUTBOX = Table(
    name="outbox",
    steps=(
        Step(
            """
            -- Mail that is to be sent: a row a recipient, deleted once a server has accepted it. `due`: when it may be
            -- tried, and while a sender has it, until when nobody else may. `lease` is that sender's. `deferred`: how
            -- often it was put off.
            CREATE TABLE outbox (
                id TEXT NOT NULL PRIMARY KEY,
                recipient TEXT NOT NULL,
                document TEXT NOT NULL,
                state TEXT NOT NULL,
                due TEXT NOT NULL,
                lease TEXT,
                deferred INTEGER NOT NULL,
                reason TEXT,
                at TEXT NOT NULL
            );
            CREATE INDEX outbox_due ON outbox (state, due);
            -- How many mails ended how: sent, dead.
            CREATE TABLE outbox_ends (
                state TEXT NOT NULL PRIMARY KEY,
                number BIGINT NOT NULL
            );
            """,
            formerly=4,
        ),
    ),
    verbs=Outbox,
    aging=(
        Aging(
            "outbox",
            ("id",),
            "at",
            KEPT,
            called="dead mails",
            option="mails",
            where="state = 'dead'",
        ),
    ),
)
