"""A database that may be out of reach when the service starts: reads from content do not wait
for it.
"""

import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from shopwindow.interface.table import Result, Table, Tables
from shopwindow.problems import Failure
from shopwindow.service import journal
from shopwindow.service.database.database import (
    MAX_CONNECTIONS,
    Database,
    Load,
    Meter,
    open_database,
    unavailable,
)
from shopwindow.service.database.tables import TablesByName, declared

TRY_AGAIN_SECONDS = (1.0, 2.0, 5.0, 10.0)
"""Seconds between tries, the last again and again: a host that restarts its database is back
within a minute.
"""


def late_database(
    url: str,
    tables: Iterable[Table[Any]],
    meter: Meter | None = None,
    connections: int = MAX_CONNECTIONS,
    *,
    migrate: bool = False,
) -> Database:
    """The database that ``url`` names, opened now or, while it is out of reach, as soon as it
    can be.

    ``tables``: what actions write there (Interface.tables). ``migrate``: it is brought to their
    form before it is used. Raises Failure for what waiting does not mend: a wrong URL, a newer
    database.
    """

    listed = tuple(tables)

    def opened() -> Database:
        database = open_database(url, listed, meter, connections)
        try:
            if migrate:
                _migrated(database)
        except BaseException:
            database.close()
            raise
        return database

    try:
        return opened()
    except _OutOfReach as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return Late(opened, declared(listed), reason)


class _OutOfReach(Exception):
    """The database cannot be used now; why, in words."""


def _migrated(database: Database) -> None:
    try:
        database.migrate()
    except Failure as failure:
        if (
            database.fault()
        ):  # it cannot be reached; otherwise it is there, and not fit for this program
            raise _OutOfReach(str(failure)) from failure
        raise


class Late:
    """The port Database, on one that a thread tries to open. Until it has, all that is asked is
    refused.
    """

    def __init__(self, open: Callable[[], Database], tables: TablesByName, reason: str) -> None:
        self.tables = tables
        self._open = open
        self._reason = reason
        self._database: Database | None = None
        self._closing = threading.Event()
        journal.error(
            "database",
            f"{reason}; reads are answered, writes are refused, and it is tried again",
        )
        threading.Thread(target=self._run, name="late-database", daemon=True).start()

    def write(self, work: Callable[[Tables], Result], *, repeatable: bool = False) -> Result:
        return self._ready().write(work, repeatable=repeatable)

    def read(self, work: Callable[[Tables], Result]) -> Result:
        return self._ready().read(work)

    def migrate(self) -> list[str]:
        return self._ready().migrate()

    def now(self) -> datetime:
        return self._database.now() if self._database else datetime.now(UTC)

    def fault(self) -> str:
        return self._database.fault() if self._database else self._reason

    def load(self) -> Load:
        return self._database.load() if self._database else Load()

    def close(self) -> None:
        self._closing.set()
        if self._database:
            self._database.close()

    def _ready(self) -> Database:
        if self._database is None:
            raise unavailable("the database cannot be reached now")
        return self._database

    def _run(self) -> None:
        tries, began = 0, time.monotonic()
        while not self._closing.wait(TRY_AGAIN_SECONDS[min(tries, len(TRY_AGAIN_SECONDS) - 1)]):
            tries += 1
            try:
                database = self._open()
            except (_OutOfReach, Failure, OSError) as error:
                if str(error) != self._reason:
                    self._reason = str(error)
                    journal.error("database", f"{error}; it is tried again")
                continue
            self._database = database
            journal.info(
                "database", f"the database can be used, after {time.monotonic() - began:.0f} s"
            )
            if self._closing.is_set():
                database.close()
            return
