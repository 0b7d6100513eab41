"""So many times in a while: counted exactly, whatever the number of processes. The engine's own
table.

Actions count by it what they admit, such as wrong codes and mails.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from math import ceil

from shopwindow.interface.table import Aging, Session, Step, Table, microseconds, written

COUNTED_FOR = timedelta(days=31)
"""Longer than any window: site.yaml may set 43,200 minutes at most."""


class Limits:
    """So many times in a while, by name. A row holds the last times under one name: a window
    that slides.
    """

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def key(self, random: Callable[[int], bytes]) -> bytes:
        """Return the database's own key of digests, for services that were given no secret.

        It is drawn from ``random`` when it is first needed.
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
        """Return how many were counted in the last seconds."""
        rows = self._run("SELECT times FROM limits WHERE name = ?", name)
        return len(_within(rows[0][0], seconds, at)) if rows else 0

    def wait(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        """Return the seconds until another one is admitted; 0: it is now."""
        rows = self._run("SELECT times FROM limits WHERE name = ?", name)
        return _wait(rows[0][0], limit, seconds, at)[0] if rows else 0

    def count(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        """Count one and return 0, or count none and return the seconds until another one is
        admitted.
        """
        # the conflict's update changes nothing, and makes everybody else who counts under this
        # name wait for us
        ((known,),) = self._run(
            "INSERT INTO limits (name, times, at) VALUES (?, '', ?)"
            " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING times",
            name,
            written(at),
        )
        wait, times = _wait(known, limit, seconds, at)
        if not wait:
            kept = " ".join(map(str, [*times, _milliseconds(at)][-limit:]))
            self._run(
                "UPDATE limits SET times = ?, at = ? WHERE name = ?", kept, written(at), name
            )
        return wait


def _wait(known: str, limit: int, seconds: int, at: datetime) -> tuple[int, list[int]]:
    """Seconds until another one is admitted, 0 for now; and the times that still count."""
    now = _milliseconds(at)
    times = _within(known, seconds, at)
    if len(times) < limit:
        return 0, times
    return max(1, ceil((times[-limit] + seconds * 1000 - now) / 1000)), times


def _within(known: str, seconds: int, at: datetime) -> list[int]:
    """The times of the last seconds."""
    since = _milliseconds(at) - seconds * 1000
    return [time for time in map(int, known.split()) if time > since]


def _milliseconds(at: datetime) -> int:
    return microseconds(at) // 1000


LIMITS = Table(
    name="limits",
    steps=(
        Step(
            """
            -- What is admitted so many times in a while: when it was of late, as milliseconds since 1970.
            CREATE TABLE limits (
                name TEXT NOT NULL PRIMARY KEY,
                times TEXT NOT NULL,
                at TEXT NOT NULL
            );
            CREATE INDEX limits_at ON limits (at);
            """,
            formerly=2,
        ),
        Step(
            """
            -- The key of digests for services that have no secret of their own: there is one row at most.
            CREATE TABLE digest_keys (
                id INTEGER NOT NULL PRIMARY KEY,
                value TEXT NOT NULL
            );
            -- Until here attempts were counted under digests of mail addresses that nobody needed a key to try
            -- addresses on, and under network addresses as they are. Counting begins again. What an older program
            -- still adds is pruned in 31 days.
            DELETE FROM limits;
            """,
            formerly=5,
        ),
    ),
    verbs=Limits,
    aging=(Aging("limits", ("name",), "at", COUNTED_FOR, called="counted attempts"),),
)
