"""The tables of a database: the engine's own, and those of the Interface that it is
opened for.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from shopwindow.interface.declaring.limits import LIMITS
from shopwindow.interface.declaring.table import Table, by_name
from shopwindow.service.database.rates import RATES
from shopwindow.service.database.removals import REMOVALS
from shopwindow.service.database.retries import STORED_RESPONSES

ENGINE_TABLES = (STORED_RESPONSES, LIMITS, RATES, REMOVALS)
"""What the engine writes, whatever Interface it serves. `optins forget` and
`prune-database` report these tables first, in this order.
"""

TablesByName = Mapping[str, Table[Any]]


def declared(tables: Iterable[Table[Any]]) -> TablesByName:
    """Return the engine's tables and an Interface's, by their names.

    Raises ValueError where two have the same name.
    """
    return by_name((*ENGINE_TABLES, *tables))
