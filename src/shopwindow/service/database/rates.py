"""How much of a rate is used up, for rates that many requests share. The engine's own
table.

How this works. This is the generic cell rate algorithm (ITU-T I.371, annex A). A rate
of 600 in 10 minutes admits 600 at once, and gives one back each second. Only one number
is stored a name, whatever the rate: the instant at which all of it will be available
again. So a row stays small and an update is cheap, unlike those of `interface.declaring.limits`,
which hold each time that counts.

Who leads a turn (database.database) reads once what all actions of the turn may take
from, decides for one after the other in memory, and stores what has changed once. The
rates are read and stored in the transaction of the actions, and one process at a time
has the database's turn. So a rate is exact, however many processes and hosts take from
it.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple

from shopwindow.interface.declaring.operation import Rate
from shopwindow.interface.declaring.table import (
    Aging,
    Session,
    Table,
    microseconds,
)
from shopwindow.problems import Fault, Refusal

_SECOND = 1_000_000


class Charge(NamedTuple):
    """What a request costs under one name: at most ``rate.most``.

    ``words`` complete the sentence "at most N … in M minutes".
    """

    name: str
    rate: Rate
    cost: int
    words: str

    @property
    def window(self) -> int:
        """The time in which the rate admits ``rate.most``, in microseconds."""
        return self.rate.minutes * 60 * _SECOND

    @property
    def price(self) -> int:
        """The time in which the rate gives back what the request costs, in
        microseconds.
        """
        return self.cost * self.window // self.rate.most

    def wait(self, left: int) -> int:
        """Return the seconds until the request is admitted, where all of the rate is
        available in ``left`` microseconds; 0: it is admitted now.
        """
        early = left + self.price - self.window
        return max(0, -(-early // _SECOND))  # rounded up

    def refusal(self, wait: int) -> Refusal:
        """Return the Refusal of who has to wait so many seconds (RFC 6585 §4)."""
        words = f"at most {self.rate.most} {self.words} in {self.rate.minutes} minutes"
        return Refusal(
            "too_many", Fault("rate", words), headers=(("Retry-After", str(wait)),)
        )


class Rates:
    """The rates within one turn.

    ``full_at``: by name, when all of a rate will be available again (microseconds since
    1970), as the actions until now have left it; 0: it was never used. No value is
    changed in place, so who keeps an earlier mapping can put it back.
    """

    def __init__(self, session: Session) -> None:
        self._run = session.run
        self._stored: Mapping[str, int] = {}
        self.full_at: Mapping[str, int] = {}

    def read(self, names: Collection[str]) -> None:
        """Read the rates from which the actions of this turn may take."""
        if names:
            places = ", ".join("?" for _ in names)
            rows = self._run(
                f"SELECT name, full_at FROM rates WHERE name IN ({places})", *names
            )
            self._stored = self.full_at = dict.fromkeys(names, 0) | dict(rows)

    def take(
        self, charges: Mapping[str, Charge], at: datetime
    ) -> tuple[Charge, int] | None:
        """Take charges from the rates of their names, which are the keys here.

        Returns the first one that its rate does not admit, with the microseconds until
        all of that rate is available; then none is taken. None: all are taken.
        """
        now = microseconds(at)
        taken = {}
        for name, charge in charges.items():
            left = max(0, self.full_at[name] - now)
            if charge.wait(left):
                return charge, left
            taken[name] = now + left + charge.price
        self.full_at = {**self.full_at, **taken}
        return None

    def store(self) -> None:
        """Store the rates that have changed."""
        changed = self.full_at.items() - self._stored.items()
        if changed:
            places = ", ".join("(?, ?)" for _ in changed)
            self._run(
                f"INSERT INTO rates (name, full_at) VALUES {places}"
                " ON CONFLICT (name) DO UPDATE SET full_at = excluded.full_at",
                *chain.from_iterable(changed),
            )


RATES = Table(
    name="rates",
    steps=(
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
    verbs=Rates,
    aging=(
        Aging(
            "rates",
            "full_at",
            timedelta(0),
            called="used-up rates",
            stored=microseconds,
        ),
    ),
)
