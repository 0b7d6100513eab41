"""Bags and their lines. A change takes the bag's row first, so changes of one bag follow one
another.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from shopwindow.interface.table import (
    Aging,
    Column,
    Personal,
    Row,
    Session,
    Step,
    Table,
    written,
)

KEPT = timedelta(days=90)
"""How long a bag is kept that nobody changes: a season of the shop."""

_COLUMNS = "guid, bag_id, user_id, revision, last_sequence"
_FIND = {
    name: f"SELECT {_COLUMNS} FROM bags WHERE {column} = ? AND application = ?"
    for name, column in (("bagGuid", "guid"), ("bagId", "bag_id"), ("userId", "user_id"))
}


_NUMBER = re.compile("[0-9]{1,16}")


@dataclass(frozen=True)
class Line:
    """An item of a bag."""

    sequence: int
    upc: int
    quantity: int


@dataclass(frozen=True)
class Bag:
    """A bag. Its lines stand by sequence number; ``last`` is the highest that a line of it ever
    had.
    """

    guid: str
    id: int
    user: int
    revision: int
    last: int = 0
    lines: tuple[Line, ...] = ()


class Bags:
    """Shopping bags, each with its guest user, each of one application alone."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def make(
        self, application: str, guid: str, bag: int, user: int, at: datetime
    ) -> Bag | None:
        """Return a new bag, empty; None where one of its numbers is another's."""
        made = self._run(
            f"INSERT INTO bags ({_COLUMNS}, application, made, changed) VALUES (?, ?, ?, 1, 0, ?, ?, ?)"
            f" ON CONFLICT DO NOTHING RETURNING {_COLUMNS}",
            *(guid, bag, user, application, written(at), written(at)),
        )
        return self._bag(made)

    def find(self, application: str, name: str, value: Any) -> Bag | None:
        """Return the bag by `bagGuid`, `bagId` or `userId`, if it is the application's."""
        return self._bag(self._run(_FIND[name], value, application))

    def take(self, bag: Bag, at: datetime) -> Bag | None:
        """Return the bag as it is now, at its next revision; until the transaction ends nobody
        else changes it.
        """
        taken = self._run(
            f"UPDATE bags SET revision = revision + 1, changed = ? WHERE guid = ? RETURNING {_COLUMNS}",
            *(written(at), bag.guid),
        )
        return self._bag(taken)

    def put(self, bag: Bag, lines: Iterable[Line]) -> Bag:
        """Return a bag that was taken, now with these lines and no others."""
        before = {line.sequence: line for line in bag.lines}
        after = {line.sequence: line for line in lines}
        for sequence in before.keys() - after.keys():
            self._run(
                "DELETE FROM bag_lines WHERE bag = ? AND sequence = ?", bag.guid, sequence
            )
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
        return Bag(
            bag.guid,
            bag.id,
            bag.user,
            bag.revision,
            last,
            tuple(after[each] for each in sorted(after)),
        )

    def _bag(self, rows: list[Row]) -> Bag | None:
        if not rows:
            return None
        guid, id, user, revision, last = rows[0]
        lines = self._run(
            "SELECT sequence, upc_id, quantity FROM bag_lines WHERE bag = ? ORDER BY sequence",
            guid,
        )
        return Bag(guid, id, user, revision, last, tuple(Line(*line) for line in lines))


def guest_number(text: str) -> int | None:
    """Return the number of a guest user by its text, or None where that is no such number
    (interface 2.7).
    """
    return int(text) if _NUMBER.fullmatch(text) else None


BAGS = Table(
    name="bags",
    steps=(
        Step(
            """
            -- Bags, each with its guest user. last_sequence is the highest number that a line ever had: none is used
            -- again.
            CREATE TABLE bags (
                guid TEXT NOT NULL PRIMARY KEY,
                bag_id BIGINT NOT NULL UNIQUE,
                user_id BIGINT NOT NULL UNIQUE,
                application TEXT NOT NULL,
                revision BIGINT NOT NULL,
                last_sequence BIGINT NOT NULL,
                made TEXT NOT NULL,
                changed TEXT NOT NULL
            );
            CREATE INDEX bags_changed ON bags (changed);
            CREATE TABLE bag_lines (
                bag TEXT NOT NULL REFERENCES bags (guid) ON DELETE CASCADE,
                sequence BIGINT NOT NULL,
                upc_id BIGINT NOT NULL,
                quantity BIGINT NOT NULL,
                PRIMARY KEY (bag, sequence),
                UNIQUE (bag, upc_id)
            );
            """,
            formerly=3,
        ),
    ),
    verbs=Bags,
    # a request that makes a bag cannot name its guest user: the answer does (wire-shapes 5)
    personal=(
        Personal(
            "bags",
            user=Column("user_id", guest_number, quoted='"owner":{{"userId":{}}}'),
            called="bags",
        ),
    ),
    aging=(Aging("bags", ("guid",), "changed", KEPT, called="bags", option="bags"),),
)
