"""How much requests may write in a while, by network address and by application.

How this works. The database holds the count of each rate (service.database.rates), for
all processes and hosts, and an action takes what it costs in its own transaction. What
does without the database, such as the mobile log, each process counts for itself.

Who was refused is refused by the process itself until the wait is over, so a flood
costs no transactions.
"""

import threading
import time
from collections.abc import Iterable, Sequence
from typing import TypeVar

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.limits import origins
from shopwindow.interface.declaring.operation import Allowance, Call, Rate
from shopwindow.problems import Refusal
from shopwindow.service.database.rates import Charge

Remembered = TypeVar("Remembered")

MAX_RATE_NAMES = 20_000
"""Names that a process remembers, some 5 MiB. The rate of the application stops a
sender who uses more addresses than that.
"""


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
    by_address = _rate(settings, "address", allowance.address)
    rates = [
        (
            f"address {origin}",
            Rate(by_address.most * times, by_address.minutes),
            "from one address" if times == 1 else "from one network",
        )
        for origin, times in origins(address)
    ]
    by_application = _rate(settings, "application", allowance.application)
    name = f"application {call.application}"
    rates.append((name, by_application, "of one application"))
    return [
        Charge(
            f"{allowance.setting} {name}",
            rate,
            min(cost, rate.most),
            f"{allowance.words} {words}",
        )
        for name, rate, words in rates
    ]


def _rate(settings: dict[str, dict[str, int]], name: str, usual: Rate) -> Rate:
    """Return the rate that site.yaml sets, or the operation's own."""
    return Rate(**settings[name]) if name in settings else usual


class Allowances:
    """What one process counts by itself, and whom it has refused. All methods are safe
    in threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # by name: until when requests of at least that cost wait (time.monotonic)
        self._refused: dict[str, tuple[float, int]] = {}
        # by name: when all of its rate is available again, in microseconds
        self._full_at: dict[str, int] = {}

    def refuse_at_once(self, charges: Iterable[Charge]) -> None:
        """Raise the Refusal of who has been refused and has not waited since."""
        now = time.monotonic()
        for charge in charges:
            until, cost = self._refused.get(charge.name, (now, 0))
            if until > now and charge.cost >= cost:
                raise charge.refusal(max(1, round(until - now)))

    def refusal(self, charge: Charge, wait: int) -> Refusal:
        """Return the Refusal of a charge, and remember it for so many seconds."""
        with self._lock:
            refused = time.monotonic() + wait, charge.cost
            _remember(self._refused, charge.name, refused)
        return charge.refusal(wait)

    def take(self, charges: Sequence[Charge]) -> None:
        """Take charges from rates that this process counts by itself.

        Raises Refusal where one of them admits too little.
        """
        now = time.monotonic_ns() // 1000
        with self._lock:
            taken = {}
            for charge in charges:
                full_at = max(now, self._full_at.get(charge.name, 0))
                if wait := charge.wait(full_at, now):
                    raise charge.refusal(wait)
                taken[charge.name] = full_at + charge.price
            for name, full_at in taken.items():
                _remember(self._full_at, name, full_at)


def _remember(values: dict[str, Remembered], name: str, value: Remembered) -> None:
    """Store a value, and drop the oldest one above MAX_RATE_NAMES."""
    values[name] = value
    if len(values) > MAX_RATE_NAMES:
        del values[next(iter(values))]
