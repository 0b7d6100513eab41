"""Opting in and out: the current choices, and the history that proves them.

Each choice is written twice: as a row of the history, which is only ever added to, and
as the current choice of its application and device.
"""

from dataclasses import dataclass
from datetime import datetime

from shopwindow.interface.declaring.table import (
    Column,
    Personal,
    Session,
    Table,
    written,
)


@dataclass(frozen=True)
class Choice:
    """One choice of the history.

    ``at`` is text, UTC with milliseconds. ``id`` tells choices of one instant apart.
    """

    at: str
    application: str
    device: str
    choice: str
    user: str | None
    id: str


class Consents:
    """The current choice of each application and device, and every choice before it."""

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
        """Record a choice, IN or OUT.

        Args:
            application: the name of the application that the device runs.
            device: the device's identifier, as the application sends it.
            choice: IN or OUT.
            user: the retailer's id of the user, if there is one.
            at: when the choice arrived.
            key: unique and not guessable; the row's id in the history.
        """
        when = written(at)
        self._run(
            "INSERT INTO consent_history (id, application, device, choice, user_id, at) VALUES (?, ?, ?, ?, ?, ?)",
            *(
                f"{at.timestamp() * 1000:.0f}{key}",
                application,
                device,
                choice,
                user,
                when,
            ),
        )
        self._run(
            "INSERT INTO consents (application, device, choice, user_id, at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (application, device) DO UPDATE"
            " SET choice = excluded.choice, user_id = excluded.user_id, at = excluded.at"
            # Two requests may arrive at once. The later choice counts, whichever is
            # written last; of two at one instant, the one that is written last.
            " WHERE consents.at <= excluded.at",
            *(application, device, choice, user, when),
        )

    def current(self, application: str, device: str) -> str | None:
        """Return IN or OUT, or None if the device never chose."""
        rows = self._run(
            "SELECT choice FROM consents WHERE application = ? AND device = ?",
            application,
            device,
        )
        return rows[0][0] if rows else None

    def history(self, since: str, after: str = "", limit: int = 1000) -> list[Choice]:
        """Return a page of choices, the oldest first.

        Args:
            since: the instant of the first choice, as ``Choice.at`` has it.
            after: of the choices at ``since`` exactly, only those with a later id are returned.
            limit: the most choices that a page holds.
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
    ),
    verbs=Consents,
    personal=(
        Personal("consent_history", _DEVICE, _USER, called="choices"),
        Personal(
            "consents", _DEVICE, _USER
        ),  # each of these stands in the history as well
    ),
)
