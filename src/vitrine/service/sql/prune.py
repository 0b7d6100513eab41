"""What the store keeps for a while only: removed in small transactions, so that requests are not kept waiting."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from vitrine.service.sql.database import Database
from vitrine.service.sql.shop import Shop

STEP = 500
"""Rows removed in one transaction."""

Pruner = Callable[[Shop, datetime, int], int]
"""Removes at most so many rows that are too old at an instant; says how many."""

PRUNERS: dict[str, Pruner] = {
    "kept answers": lambda shop, now, limit: shop.retries.prune(now, limit),
    "counted attempts": lambda shop, now, limit: shop.limits.prune(now, limit),
}
BAGS_KEPT = timedelta(days=90)
"""How long a bag is kept that nobody changes, unless told otherwise."""

MAILS_KEPT = timedelta(days=30)
"""How long a mail is kept that was given up, unless told otherwise."""


def prune(
    database: Database, now: datetime, bags: timedelta = BAGS_KEPT, mails: timedelta = MAILS_KEPT
) -> Iterator[tuple[str, int]]:
    """Remove all that is too old: what, and how many rows of it.

    ``bags``: how long one is kept that nobody changes; ``mails``: how long one that was given up.
    """

    def mails_of(shop: Shop, now: datetime, limit: int) -> int:
        return shop.outbox.prune(now - mails, limit)

    def bags_of(shop: Shop, now: datetime, limit: int) -> int:
        return shop.bags.prune(now - bags, limit)

    for what, pruner in {**PRUNERS, "bags": bags_of, "dead mails": mails_of}.items():
        total = 0
        while removed := database.write(lambda shop, pruner=pruner: pruner(shop, now, STEP)):  # type: ignore[misc]
            total += removed
        yield what, total
