"""Opt in and out: the current choices, and the history that proves them."""

from datetime import datetime

from vitrine.service.sql.session import Session, written


class Consents:
    """The port Consents (interface.ports)."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def record(self, application: str, device: str, choice: str, user: str | None, at: datetime, key: str) -> None:
        when = written(at)
        self._run(
            "INSERT INTO consent_history (id, application, device, choice, user_id, at) VALUES (?, ?, ?, ?, ?, ?)",
            *(key, application, device, choice, user, when),
        )
        self._run(
            "INSERT INTO consents (application, device, choice, user_id, at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (application, device) DO UPDATE"
            " SET choice = excluded.choice, user_id = excluded.user_id, at = excluded.at",
            *(application, device, choice, user, when),
        )
