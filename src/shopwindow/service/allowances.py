"""How much requests may write in a while, by network address and by application.

How this works. The database holds the count of each rate (service.database.rates), for
all processes and hosts, and an action takes what it costs in its own transaction. What
does without the database, such as the mobile log, each process counts for itself.

Of a rate that the database has refused, the process remembers when all of it is
available again. Until a request is admitted again the process itself refuses it, so a
flood costs no transactions.
"""

import threading
import time
from collections.abc import Iterable, Sequence

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.limits import origins
from shopwindow.interface.declaring.operation import Allowance, Call, Rate
from shopwindow.problems import Refusal
from shopwindow.service.database.rates import Charge

MAX_RATE_NAMES = 20_000
"""Names that a process remembers, some 4 MiB. The rate of the application stops a
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
    own = {name: Rate(**rate) for name, rate in settings.items()}
    by_address = own.get("address", allowance.address)
    rates = [
        (
            f"address {origin}",
            Rate(by_address.most * times, by_address.minutes),
            "from one address" if times == 1 else "from one network",
        )
        for origin, times in origins(address)
    ]
    by_application = own.get("application", allowance.application)
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


class Allowances:
    """What one process knows of rates: of those that it counts by itself, and of those
    that the database has refused. All methods are safe in threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # by name: when all of its rate is available again, in microseconds by `_now`;
        # the name that was stored last stands last
        self._full_at: dict[str, int] = {}

    def refuse_at_once(self, charges: Iterable[Charge]) -> None:
        """Raise the Refusal of the first charge that its rate does not admit."""
        now = _now()
        for charge in charges:
            left = self._full_at.get(charge.name, now) - now
            if wait := charge.wait(left):
                raise charge.refusal(wait)

    def refusal(self, charge: Charge, left: int) -> Refusal:
        """Return the Refusal of a charge whose rate is available again in ``left``
        microseconds, and remember that.
        """
        with self._lock:
            self._store(charge.name, _now() + left)
        return charge.refusal(charge.wait(left))

    def take(self, charges: Sequence[Charge]) -> None:
        """Take charges from rates that this process counts by itself.

        Raises Refusal where one of them admits too little.
        """
        with self._lock:
            self.refuse_at_once(charges)
            now = _now()
            for charge in charges:
                full_at = max(now, self._full_at.get(charge.name, now))
                self._store(charge.name, full_at + charge.price)

    def _store(self, name: str, full_at: int) -> None:
        """Store when a rate is available again, and drop above MAX_RATE_NAMES what was
        stored before all others.
        """
        self._full_at.pop(name, None)
        self._full_at[name] = full_at
        if len(self._full_at) > MAX_RATE_NAMES:
            del self._full_at[next(iter(self._full_at))]


def _now() -> int:
    """Return the time by a clock that nobody sets, in microseconds."""
    return time.monotonic_ns() // 1000
