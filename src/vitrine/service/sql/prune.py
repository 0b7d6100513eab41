"""What the store keeps for a while only: removed in small transactions, so that requests are not kept waiting."""

from collections.abc import Callable, Iterator
from datetime import datetime

from vitrine.service.sql.database import Database
from vitrine.service.sql.shop import Shop

STEP = 500
"""Rows removed in one transaction."""

Pruner = Callable[[Shop, datetime, int], int]
"""Removes at most so many rows that are too old at an instant; says how many."""

PRUNERS: dict[str, Pruner] = {
    "kept answers": lambda shop, now, limit: shop.retries.prune(now, limit),
}


def prune(database: Database, now: datetime) -> Iterator[tuple[str, int]]:
    """Remove all that is too old: what, and how many rows of it."""
    for what, pruner in PRUNERS.items():
        total = 0
        while removed := database.write(lambda shop, pruner=pruner: pruner(shop, now, STEP)):  # type: ignore[misc]
            total += removed
        yield what, total
