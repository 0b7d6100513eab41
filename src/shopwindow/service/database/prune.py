"""What a database keeps for a while only: removed in small transactions, so that requests are
not kept waiting.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from shopwindow.interface.table import Aging, Tables
from shopwindow.problems import Failure
from shopwindow.service.database.database import Database
from shopwindow.service.database.tables import TablesByName

BATCH_ROWS = 500
"""Rows removed in one transaction, which takes some milliseconds: a request that waits for it
does not notice.
"""


def prune(
    database: Database, now: datetime, kept: Mapping[str, timedelta] | None = None
) -> Iterator[tuple[str, int]]:
    """Remove all rows of all tables that are too old at an instant.

    Args:
        kept: how long rows are kept, by the option of an Aging, where that is not what their table says.

    Yields:
        What was removed, and how many rows of it.

    Raises:
        Failure: no rows of this database go by a name in ``kept``. Nothing is removed then.
    """
    by_option = lifetimes(database.tables, kept or {})
    for table in database.tables.values():
        for aging in table.aging:
            before = now - by_option.get(aging.option, aging.kept)
            total = 0
            while removed := _remove_batch(database, aging, before):
                total += removed
            yield aging.called, total


def lifetimes(declared: TablesByName, kept: Mapping[str, timedelta]) -> dict[str, timedelta]:
    """Return how long rows are kept, by the option of their Aging: as ``kept`` says, else as
    their table does.

    Raises:
        Failure: no rows go by a name in ``kept``.
    """
    agings = [aging for table in declared.values() for aging in table.aging]
    usual = {aging.option: aging.kept for aging in agings if aging.option}
    for name in kept:
        if name not in usual:
            allowed = (
                ", ".join(sorted(usual)) or "none; all rows of this interface have a fixed time"
            )
            raise Failure(f"--keep {name}=…: no rows go by that name; allowed: {allowed}")
    return {**usual, **kept}


def _remove_batch(database: Database, aging: Aging, before: datetime) -> int:
    key = ", ".join(aging.key)
    old = f"{aging.column} <= ?" + (f" AND {aging.where}" if aging.where else "")
    sql = (
        f"DELETE FROM {aging.rows} WHERE {old} AND ({key}) IN"
        f" (SELECT {key} FROM {aging.rows} WHERE {old} ORDER BY {aging.column} LIMIT ?) RETURNING 1"
    )
    instant = aging.stored(before)

    def work(tables: Tables) -> int:
        return len(tables.session.run(sql, instant, instant, BATCH_ROWS))

    return database.write(work)
