"""Opens the database that an address names: a SQLite file, or a PostgreSQL server."""

from collections.abc import Iterable
from typing import Any

from shopwindow.interface.table import Table
from shopwindow.problems import Failure
from shopwindow.service.database.address import server_address, sqlite_path
from shopwindow.service.database.database import (
    Database,
    Meter,
    Unmetered,
)
from shopwindow.service.database.sqlite import SQLite
from shopwindow.service.database.tables import declared


def open_database(
    url: str,
    tables: Iterable[Table[Any]],
    meter: Meter | None = None,
) -> Database:
    """Return the database of a URL: `sqlite:///path` or `postgresql://…`.

    ``tables`` are what actions write there (Interface.tables); the engine's own are
    added.

    Raises Failure where the address is malformed, or the database cannot be opened.
    """
    named = declared(tables)
    if path := sqlite_path(url):
        return SQLite(path, named, meter or Unmetered())
    try:
        from shopwindow.service.database.postgresql import PostgreSQL
    except ModuleNotFoundError as error:
        install = "install shopwindow with the extra postgresql, as the README says"
        raise Failure(
            f"{error.name} is not installed, and PostgreSQL needs it: {install}"
        ) from None
    return PostgreSQL(server_address(url), named, meter or Unmetered())
