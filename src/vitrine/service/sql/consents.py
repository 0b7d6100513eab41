"""Opt in and out: the current choices, and the history that proves them."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from vitrine.service.sql.session import Session, written

Known = Literal["device", "user_id"]
"""By what a person is known: the column that says so."""


@dataclass(frozen=True)
class Choice:
    """One choice of the history. ``at`` is text, UTC with milliseconds; ``id`` tells choices of one instant apart."""

    at: str
    application: str
    device: str
    choice: str
    user: str | None
    id: str


@dataclass(frozen=True)
class Forgotten:
    """How much of a person was removed."""

    choices: int
    answers: int
    bags: int


_GUEST = re.compile("[0-9]{1,16}")


class Consents:
    """The port Consents (interface.ports), and what its keeper needs beside it."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def record(self, application: str, device: str, choice: str, user: str | None, at: datetime, key: str) -> None:
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
        """IN, OUT, or None where nobody ever chose."""
        rows = self._run("SELECT choice FROM consents WHERE application = ? AND device = ?", application, device)
        return rows[0][0] if rows else None

    def history(self, since: str, after: str = "", limit: int = 1000) -> list[Choice]:
        """Choices from an instant on, the oldest first; ``after``: of that very instant, only those of later ids."""
        rows = self._run(
            "SELECT at, application, device, choice, user_id, id FROM consent_history"
            " WHERE (at, id) > (?, ?) ORDER BY at, id LIMIT ?",
            *(since, after, limit),
        )
        return [Choice(*row) for row in rows]

    def forget(self, known_by: Known, value: str, at: datetime, key: str) -> Forgotten:
        """Remove a person's choices and bag, and the kept answers to their requests.

        What stays is that, and when, something was removed.
        """
        choices, _ = (
            len(self._run(f"DELETE FROM {table} WHERE {known_by} = ? RETURNING 1", value))
            for table in ("consent_history", "consents")
        )
        bags, of_bag = 0, None
        if known_by == "user_id" and _GUEST.fullmatch(value):  # a bag's user is a number
            bags = len(self._run("DELETE FROM bags WHERE user_id = ? RETURNING 1", int(value)))
            of_bag = f'%"owner":{{"userId":{int(value)}}}%'
        sql = f"DELETE FROM retries WHERE {known_by} = ? OR outcome LIKE ? RETURNING 1"
        answers = len(self._run(sql, value, of_bag))
        self._run(
            "INSERT INTO forgotten (id, known_by, choices, answers, at) VALUES (?, ?, ?, ?, ?)",
            *(key, "device" if known_by == "device" else "user", choices, answers, written(at)),
        )
        return Forgotten(choices, answers, bags)
