"""Rows that are stored for a while only: removed once they are too old.

They are removed in small transactions, so that requests do not wait for long.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from shopwindow.interface.declaring.table import Aging, Tables
from shopwindow.problems import Failure
from shopwindow.service.database.database import Database
from shopwindow.service.database.tables import TablesByName

BATCH_ROWS = 500
"""Rows that one transaction removes. That takes some milliseconds, and a request that
waits for it does not notice.
"""


def prune(
    database: Database, now: datetime, chosen: Mapping[str, timedelta] | None = None
) -> Iterator[tuple[str, int]]:
    """Remove all rows of all tables that are too old at an instant.

    ``chosen`` says for how long rows stay, by the option of their Aging, where an
    operator wants another time than their table has (`lifetimes`).

    Yields what was removed, as the table calls it, and how many rows of it.
    """
    for table in database.tables.values():
        for aging in table.aging:
            before = now - (chosen or {}).get(aging.option, aging.lifetime)
            total = 0
            while removed := _remove_batch(database, aging, before):
                total += removed
            yield aging.called, total


def lifetimes(
    declared: TablesByName, chosen: Mapping[str, timedelta]
) -> dict[str, timedelta]:
    """Return for how long rows stay, by the option of their Aging: as ``chosen`` says,
    or else as their table does.

    Raises Failure where no rows go by a name in ``chosen``.
    """
    agings = [aging for table in declared.values() for aging in table.aging]
    usual = {aging.option: aging.lifetime for aging in agings if aging.option}
    for name in chosen:
        if name not in usual:
            allowed = (
                ", ".join(sorted(usual))
                or "none; all rows of this interface have a fixed time"
            )
            raise Failure(
                f"--rows {name}=…: no rows go by that name; allowed: {allowed}"
            )
    return {**usual, **chosen}


def _remove_batch(database: Database, aging: Aging, before: datetime) -> int:
    """Remove the oldest rows, BATCH_ROWS and those of the same instant as the last of
    them; return how many.
    """
    old = f"{aging.column} <= ?" + (f" AND {aging.where}" if aging.where else "")
    sql = (
        f"DELETE FROM {aging.rows} WHERE {old} AND {aging.column} <="
        f" (SELECT max({aging.column}) FROM (SELECT {aging.column} FROM {aging.rows}"
        f" WHERE {old} ORDER BY {aging.column} LIMIT ?) AS oldest) RETURNING 1"
    )
    instant = aging.stored(before)

    def work(tables: Tables) -> int:
        return len(tables.session.run(sql, instant, instant, BATCH_ROWS))

    return database.write(work)
