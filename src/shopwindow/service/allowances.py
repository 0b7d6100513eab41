"""How much requests may write in a while, by network address and by application.

How this works. The database holds the count of each rate (service.database.rates), for
all processes and hosts. To ask it at every request would cost a transaction each, so a
process takes a share of a rate at once, a 64th, and spends the share by itself.

A process may even spend one share before it has taken any, on credit. So a phone that
opts in once costs no look at the database. What was spent on credit is taken together
with the first share that is. With n processes, at most n shares more than the limit are
admitted, or n fewer. A rate below 64 has no shares, and is exact.

Who was refused is refused by the process itself until the wait is over, so a flood
costs no transactions.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from shopwindow.content.documents.documents import Content
from shopwindow.interface.call import Call
from shopwindow.interface.operation import Allowance, Rate
from shopwindow.interface.origins import origins
from shopwindow.problems import Fault, Refusal
from shopwindow.service.database.rates import Taken, take

Remembered = TypeVar("Remembered")

SHARES = 64
"""A share is this part of a rate: small against the limit, large against what it costs
to take (two statements).
"""

MAX_RATE_NAMES = 20_000
"""Names that a process remembers, some 5 MiB. The rate of the application stops a
sender who uses more addresses than that.
"""


class Charge(NamedTuple):
    """What a request costs under one name.

    ``words`` complete the sentence "at most N … in M minutes".
    """

    name: str
    rate: Rate
    cost: int
    words: str

    @property
    def seconds(self) -> int:
        """The time in which the rate admits ``rate.most``."""
        return self.rate.minutes * 60

    @property
    def share(self) -> int:
        """How many a process takes at once, and may spend on credit."""
        return self.rate.most // SHARES

    def refusal(self, wait: int) -> Refusal:
        """Return the Refusal of who has to wait so many seconds (RFC 6585 §4)."""
        words = f"at most {self.rate.most} {self.words} in {self.rate.minutes} minutes"
        return Refusal(
            "too_many", (Fault("rate", words),), (("Retry-After", str(wait)),)
        )


def charges_of(
    call: Call, content: Content, address: str, *, stores_response: bool
) -> Sequence[Charge]:
    """Return what a request costs: the charges of its address, then that of its
    application.

    In this order, a request that is refused for its address costs the application
    nothing.
    """
    allowance = call.operation.allowance
    if not isinstance(allowance, Allowance):
        return ()
    cost = allowance.cost(call, stores_response)
    if not cost:
        return ()

    settings = (content.setting("limits") or {}).get(allowance.setting, {})
    charges: list[Charge] = []
    by_address = _rate(settings, "address", allowance.address)
    for origin, times in origins(address):
        place = "one address" if times == 1 else "one network"
        rate = Rate(by_address.most * times, by_address.minutes)
        charges.append(
            Charge(
                f"{allowance.setting} address {origin}",
                rate,
                min(cost, rate.most),
                f"{allowance.words} from {place}",
            )
        )

    rate = _rate(settings, "application", allowance.application)
    charges.append(
        Charge(
            f"{allowance.setting} application {call.application}",
            rate,
            min(cost, rate.most),
            f"{allowance.words} of one application",
        )
    )
    return charges


def _rate(settings: dict[str, dict[str, int]], name: str, usual: Rate) -> Rate:
    """Return the rate that site.yaml sets, or the operation's own."""
    return Rate(**settings[name]) if name in settings else usual


@dataclass
class _Share:
    """What a process may spend under one name by itself."""

    left: int
    """How many it may spend; below zero, how many it has spent on credit."""
    until: float
    """When the share is worth nothing any longer (time.monotonic)."""
    refused_until: float = 0.0
    """Until when requests of at least ``refused_cost`` are refused (time.monotonic)."""
    refused_cost: int = 0


Take = Callable[[Charge, int, int], Taken]
"""Takes at least and at most so many from the rate of a charge, as `rates.take` does.
"""


class Allowances:
    """What one process may spend by itself, by name. All methods are safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shares: dict[str, _Share] = {}
        self._alone: dict[str, int] = {}

    def refuse_at_once(self, charges: Iterable[Charge]) -> None:
        """Raise the Refusal of who has been refused and has not waited since."""
        now = time.monotonic()
        for charge in charges:
            share = self._shares.get(charge.name)
            if share is None or share.refused_until <= now:
                continue
            if charge.cost >= share.refused_cost:
                raise charge.refusal(max(1, round(share.refused_until - now)))

    def begin(self, charges: Sequence[Charge]) -> "Spending":
        """Return the spending of one request, whose transaction may be tried more than
        once.
        """
        return Spending(self, charges)

    def spend(self, charge: Charge) -> bool:
        """Spend a charge from this process's share or on credit. Return whether that is
        done.
        """
        with self._lock:
            share = self._share(charge)
            if share.left - charge.cost < -charge.share:
                return False
            share.left -= charge.cost
            return True

    def owed(self, charge: Charge) -> int:
        """Return how many were spent on credit."""
        with self._lock:
            return max(0, -self._share(charge).left)

    def refuse(self, charge: Charge, wait: int) -> None:
        """Remember that a charge of this cost cannot be paid for so many seconds."""
        with self._lock:
            share = self._share(charge)
            share.refused_until, share.refused_cost = (
                time.monotonic() + wait,
                charge.cost,
            )

    def put(self, charge: Charge, number: int) -> None:
        """Add to a share what has been taken for it."""
        with self._lock:
            share = self._share(charge)
            share.left += number
            share.until = time.monotonic() + charge.seconds

    def take_alone(self, charge: Charge, least: int, wanted: int) -> Taken:
        """Take from a rate without the database, by what this process alone has
        admitted.
        """
        with self._lock:
            now = time.monotonic_ns() // 1000
            taken = take(
                self._alone.get(charge.name, 0),
                now,
                least,
                wanted,
                charge.rate.most,
                charge.seconds,
            )
            _remember(self._alone, charge.name, taken.full_at)
            return taken

    def _share(self, charge: Charge) -> _Share:
        now = time.monotonic()
        share = self._shares.get(charge.name)
        if share is None or share.until <= now:
            share = _Share(0, now + charge.seconds)
            _remember(self._shares, charge.name, share)
        return share


def _remember(values: dict[str, Remembered], name: str, value: Remembered) -> None:
    """Store a value, and drop the oldest one above MAX_RATE_NAMES."""
    values[name] = value
    if len(values) > MAX_RATE_NAMES:
        del values[next(iter(values))]


class Spending:
    """What one request spends: once, however often its transaction is tried.

    What a transaction takes beyond the request's cost becomes the process's share, but
    only in ``settle``, when the transaction is committed.
    """

    def __init__(self, allowances: Allowances, charges: Sequence[Charge]) -> None:
        self._allowances = allowances
        self._charges = charges
        self._spent: set[str] = set()
        self._taken: list[tuple[Charge, int]] = []

    def spend(self, take_from_rate: Take) -> None:
        """Spend each charge from the process's share, or take it from its rate.

        Raises Refusal where a rate admits too little.
        """
        self._taken.clear()
        for charge in self._charges:
            if charge.name in self._spent:
                continue
            if self._allowances.spend(charge):
                self._spent.add(charge.name)
                continue

            owed = self._allowances.owed(charge)
            least = min(charge.cost + owed, charge.rate.most)
            wanted = min(least + charge.share, charge.rate.most)
            taken = take_from_rate(charge, least, wanted)
            if taken.wait:
                self._allowances.refuse(charge, taken.wait)
                raise charge.refusal(taken.wait)
            self._taken.append((charge, taken.number - charge.cost))

    def settle(self) -> None:
        """Add what was taken beyond the cost to the process's shares, after the commit."""
        for charge, number in self._taken:
            self._allowances.put(charge, number)
        self._taken.clear()
