"""How much of a rate is used up, for rates that many requests share. The engine's own
table.

How this works. This is the generic cell rate algorithm (ITU-T I.371, annex A). A rate
of 600 in 10 minutes admits 600 at once, and gives one back each second. Only one number
is stored a name, whatever the rate: the instant at which all of it will be available
again. So a row stays small and an update is cheap, unlike those of `interface.limits`,
which hold each time that counts.

What one request costs under all its names is taken by one statement, in the transaction
of its action. So a rate is exact, however many processes and hosts take from it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from shopwindow.interface.operation import Rate
from shopwindow.interface.table import Aging, Session, Step, Table, microseconds
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

    def latest(self, now: int) -> int:
        """Return the latest instant at which all of the rate may be available again, if
        the request is to be admitted. Instants are in microseconds.
        """
        return now + self.window - self.price

    def wait(self, full_at: int, now: int) -> int:
        """Return the seconds until the request is admitted, where all of the rate is
        available at ``full_at``; 0: it is now.
        """
        return max(0, -((self.latest(now) - full_at) // _SECOND))  # rounded up

    def refusal(self, wait: int) -> Refusal:
        """Return the Refusal of who has to wait so many seconds (RFC 6585 §4)."""
        words = f"at most {self.rate.most} {self.words} in {self.rate.minutes} minutes"
        return Refusal(
            "too_many", (Fault("rate", words),), (("Retry-After", str(wait)),)
        )


class Rates:
    """The table of rates within one transaction."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def take(
        self, charges: Mapping[str, Charge], at: datetime
    ) -> tuple[Charge, int] | None:
        """Take charges from the rates of their names, which are the keys here.

        Returns the first one that its rate does not admit, with the seconds to wait;
        None: all are taken. In the first case the caller rolls the others back.
        """
        if not charges:
            return None
        now = microseconds(at)
        rows, latest = [], []
        for name, charge in charges.items():
            rows += [name, now + charge.price]
            latest += [name, charge.latest(now)]
        places = ", ".join("(?, ?)" for _ in charges)
        cases = " ".join("WHEN ? THEN ?" for _ in charges)
        taken = self._run(
            f"INSERT INTO rates (name, full_at) VALUES {places}"
            " ON CONFLICT (name) DO UPDATE SET full_at = excluded.full_at +"
            " CASE WHEN rates.full_at > ? THEN rates.full_at - ? ELSE 0 END"
            f" WHERE rates.full_at <= CASE rates.name {cases} END RETURNING name",
            *(*rows, now, now, *latest),
        )
        for name, charge in charges.items():
            if (name,) not in taken:
                ((full_at,),) = self._run(
                    "SELECT full_at FROM rates WHERE name = ?", name
                )
                return charge, charge.wait(full_at, now)
        return None


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
