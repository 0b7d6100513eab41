"""Limits of what many requests may write, by address and application, that cost the honest
nothing.

The database holds the count (service.database.rates), for all processes and hosts. A process
does not ask it for every request: it takes a share of a rate at once, a 64th, and spends that
by itself. It even spends one share before it takes any: a phone that opts in is never looked
up. That share is paid with the first that is taken. So with n processes at most n shares more
than the limit are admitted, or n fewer; a rate of fewer than 64 is kept exactly. Who was
refused is refused by the process itself until it is worth asking again: a flood costs no
transactions.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from shopwindow.content.documents import Content
from shopwindow.interface.call import Call
from shopwindow.interface.operation import Rate
from shopwindow.interface.origins import origins
from shopwindow.problems import Fault, Refusal
from shopwindow.service.database.rates import Taken, take

Value = TypeVar("Value")

SHARES = 64
"""A share is this part of a rate: small against the limit, large against what a share costs
(two statements).
"""

MOST_NAMES = 20_000
"""Names that a process remembers, some 5 MiB. Who turns through more addresses is held by the
application's rate.
"""


class Counted(NamedTuple):
    """What a request costs under one name. ``words`` complete "at most so many … in so many
    minutes".
    """

    name: str
    rate: Rate
    cost: int
    words: str

    @property
    def seconds(self) -> int:
        return self.rate.minutes * 60

    @property
    def share(self) -> int:
        return self.rate.most // SHARES

    def refusal(self, wait: int) -> Refusal:
        """The refusal of who has to wait so many seconds (RFC 6585 §4)."""
        words = f"at most {self.rate.most} {self.words} in {self.rate.minutes} minutes"
        return Refusal("too_many", (Fault("", words),), (("Retry-After", str(wait)),))


def counted(
    call: Call, content: Content, address: str, *, keeps_answer: bool
) -> Sequence[Counted]:
    """What a request counts as, the address first: what one address is refused costs the
    application nothing.
    """
    allowance = call.operation.allowance
    cost = allowance.cost(call, keeps_answer) if allowance else 0
    if allowance is None or not cost:
        return ()
    settings = (content.setting("limits") or {}).get(allowance.setting, {})
    by_address = _rate(settings, "address", allowance.address)
    by_application = _rate(settings, "application", allowance.application)
    names: list[tuple[str, Rate, str]] = []
    for origin, times in origins(address):
        rate = Rate(by_address.most * times, by_address.minutes)
        place = "one address" if times == 1 else "one network"
        names.append(
            (f"{allowance.setting} address {origin}", rate, f"{allowance.words} from {place}")
        )
    application = f"{allowance.setting} application {call.application}"
    names.append((application, by_application, f"{allowance.words} of one application"))
    return [Counted(name, rate, min(cost, rate.most), words) for name, rate, words in names]


def _rate(settings: dict[str, dict[str, int]], name: str, usual: Rate) -> Rate:
    return Rate(**settings[name]) if name in settings else usual


@dataclass
class _Share:
    """What a process may spend under a name by itself. ``left`` may be negative: so much is
    owed.
    """

    left: int
    until: float
    refused_until: float = 0.0
    refused_cost: int = 0


Taking = Callable[[Counted, int, int], Taken]
"""Takes under a name at least and at most so many, such as in the transaction of a request."""


class Allowances:
    """What one process may spend by itself, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shares: dict[str, _Share] = {}
        self._own: dict[str, int] = {}

    def refuse_at_once(self, names: Iterable[Counted]) -> None:
        """Raises Refusal for who was refused of late."""
        now = time.monotonic()
        for each in names:
            share = self._shares.get(each.name)
            if (
                share is not None
                and share.refused_until > now
                and each.cost >= share.refused_cost
            ):
                raise each.refusal(max(1, round(share.refused_until - now)))

    def begin(self, names: Sequence[Counted]) -> "Spending":
        """The spending of one request, which may be tried more than once."""
        return Spending(self, names)

    def spend(self, each: Counted) -> bool:
        """Whether this process may spend it by itself, and has."""
        with self._lock:
            share = self._share(each)
            if share.left - each.cost < -each.share:
                return False
            share.left -= each.cost
            return True

    def owed(self, each: Counted) -> int:
        """How many were spent that were never taken."""
        with self._lock:
            return max(0, -self._share(each).left)

    def refuse(self, each: Counted, wait: int) -> None:
        """Remember that there is nothing under a name for so many seconds."""
        with self._lock:
            share = self._share(each)
            share.refused_until, share.refused_cost = time.monotonic() + wait, each.cost

    def put(self, each: Counted, number: int) -> None:
        """Add to what may be spent, now that it is certain that it was taken."""
        with self._lock:
            share = self._share(each)
            share.left += number
            share.until = time.monotonic() + each.seconds

    def take_alone(self, each: Counted, least: int, wanted: int) -> Taken:
        """Take without a database: what this process alone has admitted counts."""
        with self._lock:
            now = time.monotonic_ns() // 1000
            taken = take(
                self._own.get(each.name, 0), now, least, wanted, each.rate.most, each.seconds
            )
            _keep(self._own, each.name, taken.full_at)
            return taken

    def _share(self, each: Counted) -> _Share:
        now = time.monotonic()
        share = self._shares.get(each.name)
        if share is None or share.until <= now:
            share = _Share(0, now + each.seconds)
            _keep(self._shares, each.name, share)
        return share


def _keep(names: dict[str, Value], name: str, value: Value) -> None:
    """Remember a value, and forget the oldest where there are too many."""
    names[name] = value
    if len(names) > MOST_NAMES:
        del names[next(iter(names))]


class Spending:
    """What one request spends: once, however often its transaction is tried."""

    def __init__(self, allowances: Allowances, names: Sequence[Counted]) -> None:
        self._allowances = allowances
        self._names = names
        self._spent: set[str] = set()
        self._taken: list[tuple[Counted, int]] = []

    def spend(self, taking: Taking) -> None:
        """Spend what the process has, and take what it lacks. Raises Refusal where there is too
        little.
        """
        self._taken.clear()
        for each in self._names:
            if each.name in self._spent:
                continue
            if self._allowances.spend(each):
                self._spent.add(each.name)
                continue
            owed = self._allowances.owed(each)
            least = min(each.cost + owed, each.rate.most)
            wanted = min(least + each.share, each.rate.most)
            taken = taking(each, least, wanted)
            if taken.wait:
                self._allowances.refuse(each, taken.wait)
                raise each.refusal(taken.wait)
            self._taken.append((each, taken.number - each.cost))

    def settle(self) -> None:
        """What was taken beyond what was spent may be spent from now on: the transaction is
        kept.
        """
        for each, number in self._taken:
            self._allowances.put(each, number)
        self._taken.clear()
