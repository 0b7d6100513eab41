"""Limits of so many times in so many seconds. The engine's own table.

How this works. Actions count what they admit, such as wrong codes and mails, under a
name. A row holds the times that were counted last under one name, as many as the limit:
a window that slides. So counting is exact, in whatever process and on whatever host the
action runs. A rate of which thousands are admitted would make long rows;
`service.database.rates` is for those.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from math import ceil

from shopwindow.interface.declaring.table import (
    Aging,
    Session,
    Table,
    microseconds,
    written,
)

COUNTED_FOR = timedelta(days=31)
"""After so long a row is pruned. That is longer than any window: site.yaml sets 43,200
minutes (30 days) at most.
"""


class Limits:
    """The limits within one transaction.

    A ``name`` is a keyed digest of what is counted (interface.declaring.digests), ``limit`` is
    how many are admitted in so many ``seconds``, and ``at`` is now.
    """

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def key(self, random: Callable[[int], bytes]) -> bytes:
        """Return the database's own key of digests, for services that have no secret.

        It is drawn from ``random``, a source of so many bytes, when it is first needed.
        """
        rows = self._run("SELECT value FROM digest_keys WHERE id = 1")
        if not rows:
            value = random(32).hex()
            self._run(
                "INSERT INTO digest_keys (id, value) VALUES (1, ?) ON CONFLICT (id) DO NOTHING",
                value,
            )
            rows = self._run("SELECT value FROM digest_keys WHERE id = 1")
        return bytes.fromhex(rows[0][0])

    def number(self, name: str, seconds: int, at: datetime) -> int:
        """Return how many were counted under a name in the last seconds."""
        rows = self._run("SELECT times FROM limits WHERE name = ?", name)
        return len(_within(rows[0][0], seconds, at)) if rows else 0

    def wait(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        """Return in how many seconds another one is admitted; 0 where it is now. Count
        nothing.
        """
        rows = self._run("SELECT times FROM limits WHERE name = ?", name)
        return _wait(rows[0][0], limit, seconds, at)[0] if rows else 0

    def count(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        """Count one and return 0; or count none, and return in how many seconds another
        one is admitted.
        """
        # the update in case of a conflict changes nothing, but locks the row: whoever
        # else counts under this name waits until this transaction has ended
        ((stored,),) = self._run(
            "INSERT INTO limits (name, times, at) VALUES (?, '', ?)"
            " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING times",
            name,
            written(at),
        )
        wait, times = _wait(stored, limit, seconds, at)
        if wait:
            return wait
        last = [*times, _milliseconds(at)][-limit:]
        text = " ".join(map(str, last))
        self._run(
            "UPDATE limits SET times = ?, at = ? WHERE name = ?",
            text,
            written(at),
            name,
        )
        return 0


def _wait(stored: str, limit: int, seconds: int, at: datetime) -> tuple[int, list[int]]:
    """In how many seconds another one is admitted, 0 for now; and the times that still
    count.
    """
    times = _within(stored, seconds, at)
    if len(times) < limit:
        return 0, times
    admitted_at = times[-limit] + seconds * 1000
    wait = ceil((admitted_at - _milliseconds(at)) / 1000)
    return max(1, wait), times


def _within(stored: str, seconds: int, at: datetime) -> list[int]:
    """Those of a row's times (milliseconds) that lie in the last seconds."""
    since = _milliseconds(at) - seconds * 1000
    return [time for time in map(int, stored.split()) if time > since]


def _milliseconds(at: datetime) -> int:
    return microseconds(at) // 1000


LIMITS = Table(
    name="limits",
    steps=(
        """
        -- What is admitted so many times in so many seconds. `times`: when it was admitted
        -- last, as milliseconds since 1970.
        CREATE TABLE limits (
            name TEXT NOT NULL PRIMARY KEY,
            times TEXT NOT NULL,
            at TEXT NOT NULL
        );
        CREATE INDEX limits_at ON limits (at);
        """,
        """
        -- The key of digests for services that have no secret of their own: one row at most.
        CREATE TABLE digest_keys (
            id INTEGER NOT NULL PRIMARY KEY,
            value TEXT NOT NULL
        );
        -- Before this step attempts were counted under digests without a key, on which
        -- anybody could try mail addresses, and under network addresses as they are. Counting
        -- begins again.
        DELETE FROM limits;
        """,
    ),
    verbs=Limits,
    aging=(Aging("limits", ("name",), "at", COUNTED_FOR, called="counted attempts"),),
)
