"""The mobile log: entries are collected and sent in batches, each once."""

import uuid
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from shopwindow_client.connection import Connection
from shopwindow_client.refusals import Refused

Level = Literal["ERROR", "WARN", "INFO", "DEBUG"]

BATCH = 20
"""Entries in a request, unless the application's configuration admits fewer (loggingInfo's maxLogCount)."""

WAITING = 1000
"""Entries that wait for the service; beyond that the oldest are dropped, and counted in `dropped`."""

NEVER_TAKEN = frozenset({400, 413, 422})
"""Statuses after which the same entries would be refused again."""

LONGEST_MESSAGE = 4000
"""Characters of a message that the service takes; the rest is cut off."""


@dataclass(frozen=True)
class LogEntry:
    """One line of the log."""

    level: Level
    message: str


class Logger:
    """Collects entries of one phone.

    Attributes:
        dropped: entries that were lost: too many waited, or the service does not want them.
        batch: entries in a request.
    """

    def __init__(
        self, connection: Connection, device_id: str, platform: str, user: str = ""
    ) -> None:
        self._connection = connection
        self._about = {"deviceId": device_id, "platform": platform, "svcUid": user}
        self._waiting: list[LogEntry] = []
        self._lock = (
            Lock()
        )  # of what waits: nobody waits for the network to add an entry
        self._batch: tuple[str, list[LogEntry]] | None = None
        self._sending = Lock()  # of the batch
        self.dropped = 0
        self.batch = BATCH

    def log(self, level: Level, message: str) -> None:
        """Add an entry. It is sent by `flush`."""
        with self._lock:
            self._waiting.append(LogEntry(level, message[:LONGEST_MESSAGE] or " "))
            too_many = len(self._waiting) - WAITING
            if too_many > 0:
                del self._waiting[:too_many]
                self.dropped += too_many

    def flush(self) -> int:
        """Send what waits, and return how many entries the service has stored.

        A batch whose answer was lost is sent again under its key, so no entry is stored twice. Raises Refused or
        Unreachable; the entries then wait for the next call, unless they would be refused again.
        """
        stored = 0
        with self._sending:
            while batch := self._batch or self._next_batch():
                self._batch = batch
                stored += self._send(*batch)
                self._batch = None
        return stored

    def _next_batch(self) -> tuple[str, list[LogEntry]] | None:
        """Return the entries of the next request and its key; None: nothing waits."""
        with self._lock:
            entries, self._waiting = (
                self._waiting[: self.batch],
                self._waiting[self.batch :],
            )
        return (str(uuid.uuid4()), entries) if entries else None

    def _send(self, key: str, entries: list[LogEntry]) -> int:
        """Send a batch, and return how many entries of it are stored."""
        body = {
            "entry": [
                {**self._about, "logLevel": e.level, "logMessage": e.message}
                for e in entries
            ]
        }
        try:
            response = self._connection.send(
                "POST",
                "v2/utility/mobilelog",
                body=body,
                headers={"Idempotency-Key": key},
            )
        except Refused as refusal:
            if refusal.status in NEVER_TAKEN:
                self._batch = None
                self.dropped += len(entries)
            raise
        if response.json()["logPostResponse"]["success"]:
            return len(entries)
        self.dropped += len(entries)
        return 0
