"""Answers kept for clients that repeat a request under an Idempotency-Key. The engine's own
table.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from shopwindow.content.yaml import Json
from shopwindow.interface.operation import Outcome
from shopwindow.interface.table import Aging, Column, Personal, Session, Step, Table, written
from shopwindow.problems import Fault, Refusal

ANSWERS_STORED_FOR = timedelta(hours=24)
"""Older than this a key is new again, whether or not its answer has been pruned."""


@dataclass(frozen=True)
class Retry:
    """A request that may be repeated: whose, what for, its key, and a digest of what it asks.

    ``device`` and ``user``: the person that the request names, so that the answer can be
    forgotten with them. ``sender``: a digest of whom the key holds for; the same key of anybody
    else is another. It stands before the key in its column: programs of before this digest
    share the table while a new one is brought in.
    """

    application: str
    method: str
    path: str
    key: str
    digest: str
    device: str | None = None
    user: str | None = None
    sender: str = ""

    @property
    def scope(self) -> tuple[str, str, str, str]:
        """What identifies the row: application, method, path and whose key it is."""
        key = f"{self.sender} {self.key}" if self.sender else self.key
        return self.application, self.method, self.path, key


class Retries:
    """The first answer to each key, kept in the transaction of the action that it answers."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def begin(self, retry: Retry, at: datetime) -> Outcome | None:
        """The first answer, or None where this is the first request; another one waits until it
        has been answered.

        Raises Refusal where the key was used for another request.
        """
        scope = retry.scope
        new = self._run(
            "INSERT INTO retries (application, method, path, idempotency_key, digest, outcome, device, user_id, at)"
            " VALUES (?, ?, ?, ?, ?, '', ?, ?, ?) ON CONFLICT (application, method, path, idempotency_key) DO UPDATE"
            " SET digest = excluded.digest, outcome = '', device = excluded.device, user_id = excluded.user_id,"
            " at = excluded.at WHERE retries.at <= ? RETURNING 1",
            *(
                *scope,
                retry.digest,
                retry.device,
                retry.user,
                written(at),
                written(at - ANSWERS_STORED_FOR),
            ),
        )
        if new:
            return None
        ((digest, outcome),) = self._run(
            "SELECT digest, outcome FROM retries"
            " WHERE application = ? AND method = ? AND path = ? AND idempotency_key = ?",
            *scope,
        )
        if digest != retry.digest:
            fault = Fault(
                "Idempotency-Key",
                "was used with another body; use a new key for another request",
            )
            raise Refusal("repeated_otherwise", (fault,))
        value: dict[str, Json] = orjson.loads(outcome)
        return Outcome(value["value"], value["etag"])

    def finish(self, retry: Retry, outcome: Outcome) -> None:
        """Keep the answer."""
        text = orjson.dumps({"value": outcome.value, "etag": outcome.etag}).decode()
        self._run(
            "UPDATE retries SET outcome = ? WHERE application = ? AND method = ? AND path = ? AND idempotency_key = ?",
            *(text, *retry.scope),
        )

    def remove_naming(self, text: str) -> int:
        """Remove the stored answers that hold a text, and return how many: they name a person,
        the request did not.
        """
        pattern = re.sub("([!%_])", r"!\1", text)
        return len(
            self._run(
                "DELETE FROM retries WHERE outcome LIKE ? ESCAPE '!' RETURNING 1",
                f"%{pattern}%",
            )
        )


RETRIES = Table(
    name="retries",
    steps=(
        Step(
            """
            -- First answers to requests with an Idempotency-Key, and whose requests they were.
            CREATE TABLE retries (
                application TEXT NOT NULL,
                method TEXT NOT NULL,
                path TEXT NOT NULL,
                idempotency_key TEXT NOT NULL,
                digest TEXT NOT NULL,
                outcome TEXT NOT NULL,
                device TEXT,
                user_id TEXT,
                at TEXT NOT NULL,
                PRIMARY KEY (application, method, path, idempotency_key)
            );
            CREATE INDEX retries_at ON retries (at);
            """,
            formerly=1,
        ),
    ),
    verbs=Retries,
    personal=(Personal("retries", Column("device"), Column("user_id"), called="kept answers"),),
    aging=(
        Aging(
            "retries",
            ("application", "method", "path", "idempotency_key"),
            "at",
            ANSWERS_STORED_FOR,
            called="kept answers",
        ),
    ),
)
