"""Opt in and out: the current choices, and the history that proves them."""

from dataclasses import dataclass
from datetime import datetime

from shopwindow.interface.table import Column, Personal, Session, Step, Table, written


@dataclass(frozen=True)
class Choice:
    """One choice of the history. ``at`` is text, UTC with milliseconds; ``id`` tells choices of
    one instant apart.
    """

    at: str
    application: str
    device: str
    choice: str
    user: str | None
    id: str


class Consents:
    """Who wants to be written to: the current choice of each application and device, and every
    choice before it.
    """

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def record(
        self,
        application: str,
        device: str,
        choice: str,
        user: str | None,
        at: datetime,
        key: str,
    ) -> None:
        """Record a choice, IN or OUT. ``key`` is unguessable and unique."""
        when = written(at)
        self._run(
            "INSERT INTO consent_history (id, application, device, choice, user_id, at) VALUES (?, ?, ?, ?, ?, ?)",
            *(f"{at.timestamp() * 1000:.0f}{key}", application, device, choice, user, when),
        )
        self._run(
            "INSERT INTO consents (application, device, choice, user_id, at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (application, device) DO UPDATE"
            " SET choice = excluded.choice, user_id = excluded.user_id, at = excluded.at"
            " WHERE consents.at <= excluded.at",  # of two at once, the later one counts, whichever is written last
            *(application, device, choice, user, when),
        )

    def current(self, application: str, device: str) -> str | None:
        """Return IN, OUT, or None where nobody ever chose."""
        rows = self._run(
            "SELECT choice FROM consents WHERE application = ? AND device = ?",
            application,
            device,
        )
        return rows[0][0] if rows else None

    def history(self, since: str, after: str = "", limit: int = 1000) -> list[Choice]:
        """Return choices from an instant on, the oldest first.

        ``after``: of that very instant, only those of later ids.
        """
        rows = self._run(
            "SELECT at, application, device, choice, user_id, id FROM consent_history"
            " WHERE (at, id) > (?, ?) ORDER BY at, id LIMIT ?",
            *(since, after, limit),
        )
        return [Choice(*row) for row in rows]


_DEVICE, _USER = Column("device"), Column("user_id")

CONSENTS = Table(
    name="consents",
    steps=(
        Step(
            """
            -- Who opted in or out: now, and every choice before. The columns of a primary key stand first: where they
            -- do not, SQLite 3.40's integrity_check takes other columns of a table WITHOUT ROWID for NULL.
            CREATE TABLE consents (
                application TEXT NOT NULL,
                device TEXT NOT NULL,
                choice TEXT NOT NULL,
                user_id TEXT,
                at TEXT NOT NULL,
                PRIMARY KEY (application, device)
            ) WITHOUT ROWID;
            CREATE TABLE consent_history (
                at TEXT NOT NULL,
                id TEXT NOT NULL,
                application TEXT NOT NULL,
                device TEXT NOT NULL,
                choice TEXT NOT NULL,
                user_id TEXT,
                PRIMARY KEY (at, id)
            ) WITHOUT ROWID;
            """,
            formerly=1,
        ),
    ),
    verbs=Consents,
    personal=(
        Personal("consent_history", _DEVICE, _USER, called="choices"),
        Personal("consents", _DEVICE, _USER),  # each of these stands in the history as well
    ),
)
