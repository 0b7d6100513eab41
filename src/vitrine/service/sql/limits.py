"""So many times in a while: counted exactly, whatever the number of processes."""

from datetime import UTC, datetime, timedelta
from math import ceil

from vitrine.service.sql.session import Session, written

KEPT = timedelta(days=31)
"""Longer than any window: site.yaml may set 43,200 minutes at most."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Limits:
    """The port Limits (interface.ports). A row holds the last times under one name: a window that slides."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def wait(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        rows = self._run("SELECT times FROM limits WHERE name = ?", name)
        return _wait(rows[0][0], limit, seconds, at)[0] if rows else 0

    def count(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        # the conflict's update changes nothing, and makes everybody else who counts under this name wait for us
        ((known,),) = self._run(
            "INSERT INTO limits (name, times, at) VALUES (?, '', ?)"
            " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING times",
            name,
            written(at),
        )
        wait, times = _wait(known, limit, seconds, at)
        if not wait:
            kept = " ".join(map(str, [*times, _milliseconds(at)][-limit:]))
            self._run("UPDATE limits SET times = ?, at = ? WHERE name = ?", kept, written(at), name)
        return wait

    def prune(self, now: datetime, limit: int) -> int:
        """Forget at most so many names under which nothing was counted of late; how many."""
        when = written(now - KEPT)
        gone = self._run(
            "DELETE FROM limits WHERE at < ? AND name IN"
            " (SELECT name FROM limits WHERE at < ? ORDER BY at LIMIT ?) RETURNING 1",
            *(when, when, limit),
        )
        return len(gone)


def _wait(known: str, limit: int, seconds: int, at: datetime) -> tuple[int, list[int]]:
    """Seconds until another one is admitted, 0 for now; and the times that still count."""
    now = _milliseconds(at)
    times = [time for time in map(int, known.split()) if time > now - seconds * 1000]
    if len(times) < limit:
        return 0, times
    return max(1, ceil((times[-limit] + seconds * 1000 - now) / 1000)), times


def _milliseconds(at: datetime) -> int:
    since = at - _EPOCH
    return (since.days * 86400 + since.seconds) * 1000 + since.microseconds // 1000
