"""The tables of a database: the engine's own, and those of the Interface that it is opened for."""

from collections.abc import Iterable, Mapping
from typing import Any

from shopwindow.interface.limits import LIMITS
from shopwindow.interface.table import Table, by_name
from shopwindow.service.database.rates import RATES
from shopwindow.service.database.removals import REMOVALS
from shopwindow.service.database.retries import RETRIES

ENGINE_TABLES = (RETRIES, LIMITS, RATES, REMOVALS)
"""What the engine writes whatever it serves. `optins forget` and `prune-database` report them
first.
"""

TablesByName = Mapping[str, Table[Any]]
"""The tables of a database by their names."""


def declared(tables: Iterable[Table[Any]]) -> TablesByName:
    """Return the engine's tables and these, by their names. Raises ValueError where two have
    one name.
    """
    return by_name((*ENGINE_TABLES, *tables))
