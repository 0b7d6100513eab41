"""Answers kept for clients that repeat a request under an Idempotency-Key."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from vitrine.content.yaml import Json
from vitrine.interface.operation import Outcome
from vitrine.problems import Fault, Refusal
from vitrine.service.sql.session import Session, written

KEPT = timedelta(hours=24)
"""Older than this a key is new again, whether or not its answer has been pruned."""


@dataclass(frozen=True)
class Retry:
    """A request that may be repeated: whose, what for, its key, and a digest of what it asks.

    ``device`` and ``user``: the person that the request names, so that the answer can be forgotten with them.
    """

    application: str
    method: str
    path: str
    key: str
    digest: str
    device: str | None = None
    user: str | None = None


class Retries:
    """The first answer to each key, kept in the transaction of the action that it answers."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def begin(self, retry: Retry, at: datetime) -> Outcome | None:
        """The first answer, or None where this is the first request; another one waits until it has been answered.

        Raises Refusal where the key was used for another request.
        """
        scope = (retry.application, retry.method, retry.path, retry.key)
        new = self._run(
            "INSERT INTO retries (application, method, path, idempotency_key, digest, outcome, device, user_id, at)"
            " VALUES (?, ?, ?, ?, ?, '', ?, ?, ?) ON CONFLICT (application, method, path, idempotency_key) DO UPDATE"
            " SET digest = excluded.digest, outcome = '', device = excluded.device, user_id = excluded.user_id,"
            " at = excluded.at WHERE retries.at <= ? RETURNING 1",
            *(*scope, retry.digest, retry.device, retry.user, written(at), written(at - KEPT)),
        )
        if new:
            return None
        ((digest, outcome),) = self._run(
            "SELECT digest, outcome FROM retries"
            " WHERE application = ? AND method = ? AND path = ? AND idempotency_key = ?",
            *scope,
        )
        if digest != retry.digest:
            fault = Fault("Idempotency-Key", "was used with another body; use a new key for another request")
            raise Refusal("repeated_otherwise", (fault,))
        value: dict[str, Json] = orjson.loads(outcome)
        return Outcome(value["value"], value["etag"])

    def finish(self, retry: Retry, outcome: Outcome) -> None:
        """Keep the answer."""
        text = orjson.dumps({"value": outcome.value, "etag": outcome.etag}).decode()
        self._run(
            "UPDATE retries SET outcome = ? WHERE application = ? AND method = ? AND path = ? AND idempotency_key = ?",
            *(text, retry.application, retry.method, retry.path, retry.key),
        )

    def prune(self, now: datetime, limit: int) -> int:
        """Remove answers whose key is new again, at most so many; how many."""
        key = "application, method, path, idempotency_key"
        removed = self._run(
            f"DELETE FROM retries WHERE ({key}) IN"
            f" (SELECT {key} FROM retries WHERE at <= ? ORDER BY at LIMIT ?) RETURNING 1",
            *(written(now - KEPT), limit),
        )
        return len(removed)
