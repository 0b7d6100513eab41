"""A database that may be out of reach when the service starts.

How this works. A service whose database is away still has most of its work to do: it
answers reads from its release. So it is handed a stand-in, which refuses what needs the
database. A thread of the stand-in tries again and again to open the database, and once
it has, the stand-in passes everything on. Only what waiting cannot repair ends the
service: a malformed address, or a database that is newer than this program.
"""

import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import chain, repeat
from typing import Any

from shopwindow.interface.table import Result, Table, Tables
from shopwindow.problems import Failure
from shopwindow.service import journal
from shopwindow.service.database.database import (
    Database,
    Load,
    Meter,
    unavailable,
)
from shopwindow.service.database.opening import open_database
from shopwindow.service.database.tables import TablesByName, declared

TRY_AGAIN_SECONDS = (1.0, 2.0, 5.0, 10.0)
"""Seconds before each try; the last value is repeated. A host that restarts its
database is back within a minute, so longer pauses would only make the outage longer.
"""


def late_database(
    url: str,
    tables: Iterable[Table[Any]],
    meter: Meter | None = None,
    *,
    migrate: bool = False,
) -> Database:
    """Return the database of a URL, opened now, or as soon as it can be reached.

    ``tables`` are what actions write there (Interface.tables). With
    ``migrate``, the database is migrated before it is used.

    Raises Failure for what waiting does not repair: a malformed URL, a newer database.
    """
    listed = tuple(tables)

    def opened() -> Database:
        database = open_database(url, listed, meter)
        try:
            if migrate:
                _migrate(database)
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
    """The database cannot be used now; the text says why."""


def _migrate(database: Database) -> None:
    """Bring the database to the form of its tables. Raises _OutOfReach or Failure."""
    try:
        database.migrate()
    except Failure as failure:
        if database.fault():
            raise _OutOfReach(str(failure)) from failure
        raise  # it can be reached, and does not fit this program


class Late:
    """The stand-in: a Database that refuses everything until its thread has opened the
    real one.

    ``open`` opens that one; ``reason`` is why it could not be opened so far.
    """

    def __init__(
        self, open: Callable[[], Database], tables: TablesByName, reason: str
    ) -> None:
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

    def write(
        self, work: Callable[[Tables], Result], *, repeatable: bool = False
    ) -> Result:
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
        began = time.monotonic()
        pauses = chain(TRY_AGAIN_SECONDS, repeat(TRY_AGAIN_SECONDS[-1]))
        while not self._closing.wait(next(pauses)):
            try:
                database = self._open()
            except (_OutOfReach, Failure, OSError) as error:
                if str(error) != self._reason:
                    self._reason = str(error)
                    journal.error("database", f"{error}; it is tried again")
                continue
            self._database = database
            seconds = time.monotonic() - began
            journal.info("database", f"the database can be used, after {seconds:.0f} s")
            if self._closing.is_set():
                database.close()
            return
