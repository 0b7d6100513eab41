"""How much of a rate is used up, for rates that many requests share. The engine's own
table.

How this works. This is the generic cell rate algorithm (ITU-T I.371, annex A). A rate
of 600 in 10 minutes admits 600 at once, and gives one back each second. Only one number
is stored a name, whatever the rate: the instant at which all of it will be available
again. So a row stays small and an update is cheap, unlike those of `interface.limits`,
which hold each time that counts.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from shopwindow.interface.table import Aging, Session, Step, Table, microseconds

_SECOND = 1_000_000


class Taken(NamedTuple):
    """What a rate admitted.

    ``number`` is how many; 0 where too few were available, and then ``wait`` is the
    seconds until enough will be. ``full_at`` is when all are available again, in
    microseconds.
    """

    number: int
    wait: int
    full_at: int


def take(
    full_at: int, now: int, least: int, wanted: int, most: int, seconds: int
) -> Taken:
    """Return what a rate admits: as many of ``wanted`` as are available, or none where
    these are fewer than ``least``.

    The rate is ``most`` in ``seconds``; ``least`` and ``wanted`` are at most ``most``.
    All of it is available again at ``full_at``, which like ``now`` is in microseconds
    since 1970.
    """
    window = seconds * _SECOND
    used = max(0, full_at - now)
    free = (window - used) * most // window
    if free < least:
        enough = window - least * window // most  # to which `used` must fall
        missing = used - enough
        return Taken(0, max(1, -(-missing // _SECOND)), full_at)  # rounded up
    number = min(wanted, free)
    return Taken(number, 0, now + used + number * window // most)


class Rates:
    """The table of rates within one transaction."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def take(
        self, name: str, least: int, wanted: int, most: int, seconds: int, at: datetime
    ) -> Taken:
        """Take from the rate of a name as the function `take` does, and store what is
        left.

        This is exact, however many processes and hosts take from the rate.
        """
        now = microseconds(at)
        # the update in case of a conflict changes nothing, but locks the row: whoever
        # else takes under this name waits until this transaction has ended
        ((full_at,),) = self._run(
            "INSERT INTO rates (name, full_at) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING full_at",
            *(name, now),
        )
        taken = take(full_at, now, least, wanted, most, seconds)
        if taken.number:
            self._run(
                "UPDATE rates SET full_at = ? WHERE name = ?", taken.full_at, name
            )
        return taken


RATES = Table(
    name="rates",
    steps=(
        Step(
            """
            -- How much of a rate is used up: at `full_at` (microseconds since 1970) all of it is
            -- available again. A row whose time has come says nothing any more, and is pruned.
            -- `name` is a keyed digest.
            CREATE TABLE rates (
                name TEXT NOT NULL PRIMARY KEY,
                full_at BIGINT NOT NULL
            );
            CREATE INDEX rates_full_at ON rates (full_at);
            """,
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
