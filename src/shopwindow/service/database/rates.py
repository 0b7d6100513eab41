"""How much of a rate is used up, for rates that many requests share: one number a name,
whatever the rate.

This is the generic cell rate algorithm (ITU-T I.371, annex A). A rate of 600 in 10 minutes
admits 600 at once, and gives one back each second. What is stored is the instant at which all
of it will be there again.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from shopwindow.interface.table import Aging, Session, Step, Table, microseconds

_SECOND = 1_000_000


class Taken(NamedTuple):
    """How many were admitted; or none, the seconds until they will be, and when all are there
    again (µs).
    """

    number: int
    wait: int
    full_at: int


def take(full_at: int, now: int, least: int, wanted: int, most: int, seconds: int) -> Taken:
    """Take as many of ``wanted`` as there are, unless these are fewer than ``least``.

    Args:
        full_at: when all are there again, in microseconds, as now.
        least, wanted: at most ``most``.
        most, seconds: the rate.
    """
    window = seconds * _SECOND
    used = max(0, full_at - now)
    free = (window - used) * most // window
    if free < least:
        missing = used - (window - least * window // most)
        return Taken(0, max(1, -(-missing // _SECOND)), full_at)
    number = min(wanted, free)
    return Taken(number, 0, now + used + number * window // most)


class Rates:
    """The table of rates."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def take(
        self, name: str, least: int, wanted: int, most: int, seconds: int, at: datetime
    ) -> Taken:
        """The same under a name, exactly, however many processes and hosts take."""
        now = microseconds(at)
        # the conflict's update changes nothing, and makes everybody else who takes under this
        # name wait for us
        ((full_at,),) = self._run(
            "INSERT INTO rates (name, full_at) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING full_at",
            *(name, now),
        )
        taken = take(full_at, now, least, wanted, most, seconds)
        if taken.number:
            self._run("UPDATE rates SET full_at = ? WHERE name = ?", taken.full_at, name)
        return taken


RATES = Table(
    name="rates",
    steps=(
        Step(
            """
            -- How much of a rate is used up: at `full_at` (microseconds since 1970) all of it is there again. A row
            -- whose time has come says nothing any more, and is pruned. `name` is a keyed digest.
            CREATE TABLE rates (
                name TEXT NOT NULL PRIMARY KEY,
                full_at BIGINT NOT NULL
            );
            CREATE INDEX rates_full_at ON rates (full_at);
            """,
            formerly=5,
        ),
    ),
    verbs=Rates,
    aging=(
        Aging(
            "rates",
            ("name",),
            "full_at",
            timedelta(0),
            called="used-up rates",
            stored=microseconds,
        ),
    ),
)
