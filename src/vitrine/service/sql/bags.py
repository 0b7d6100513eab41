"""Bags and their lines. A change takes the bag's row first, so changes of one bag follow one another."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from vitrine.interface.ports import Bag, Line
from vitrine.service.sql.session import Row, Session, written

_COLUMNS = "guid, bag_id, user_id, revision, last_sequence"
_FIND = {
    name: f"SELECT {_COLUMNS} FROM bags WHERE {column} = ? AND application = ?"
    for name, column in (("bagGuid", "guid"), ("bagId", "bag_id"), ("userId", "user_id"))
}


class Bags:
    """The port Bags (interface.ports)."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def make(self, application: str, guid: str, bag: int, user: int, at: datetime) -> Bag | None:
        made = self._run(
            f"INSERT INTO bags ({_COLUMNS}, application, made, changed) VALUES (?, ?, ?, 1, 0, ?, ?, ?)"
            f" ON CONFLICT DO NOTHING RETURNING {_COLUMNS}",
            *(guid, bag, user, application, written(at), written(at)),
        )
        return self._bag(made)

    def find(self, application: str, name: str, value: Any) -> Bag | None:
        return self._bag(self._run(_FIND[name], value, application))

    def take(self, bag: Bag, at: datetime) -> Bag | None:
        taken = self._run(
            f"UPDATE bags SET revision = revision + 1, changed = ? WHERE guid = ? RETURNING {_COLUMNS}",
            *(written(at), bag.guid),
        )
        return self._bag(taken)

    def put(self, bag: Bag, lines: Iterable[Line]) -> Bag:
        before = {line.sequence: line for line in bag.lines}
        after = {line.sequence: line for line in lines}
        for sequence in before.keys() - after.keys():
            self._run("DELETE FROM bag_lines WHERE bag = ? AND sequence = ?", bag.guid, sequence)
        for line in after.values():
            if line != before.get(line.sequence):
                self._run(
                    "INSERT INTO bag_lines (bag, sequence, upc_id, quantity) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (bag, sequence) DO UPDATE SET quantity = excluded.quantity",
                    *(bag.guid, line.sequence, line.upc, line.quantity),
                )
        last = max(bag.last, *after) if after else bag.last
        if last > bag.last:
            self._run("UPDATE bags SET last_sequence = ? WHERE guid = ?", last, bag.guid)
        return Bag(bag.guid, bag.id, bag.user, bag.revision, last, tuple(after[each] for each in sorted(after)))

    def prune(self, before: datetime, limit: int) -> int:
        """Forget at most so many bags that nobody has changed since; how many."""
        when = written(before)
        gone = self._run(
            "DELETE FROM bags WHERE changed < ? AND guid IN"
            " (SELECT guid FROM bags WHERE changed < ? ORDER BY changed LIMIT ?) RETURNING 1",
            *(when, when, limit),
        )
        return len(gone)

    def _bag(self, rows: list[Row]) -> Bag | None:
        if not rows:
            return None
        guid, id, user, revision, last = rows[0]
        lines = self._run("SELECT sequence, upc_id, quantity FROM bag_lines WHERE bag = ? ORDER BY sequence", guid)
        return Bag(guid, id, user, revision, last, tuple(Line(*line) for line in lines))
