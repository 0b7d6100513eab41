"""Bags and their lines, as rows.

A change takes the bag's row first (`take`), which raises its revision and locks it. So
changes of one bag follow one another, on SQLite and on PostgreSQL alike.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from shopwindow.interface.declaring.table import (
    Aging,
    Column,
    Personal,
    Row,
    Session,
    Table,
    written,
)

BAG_LIFETIME = timedelta(days=90)
"""A bag that nobody changes is pruned after this: a season of the shop."""

_COLUMNS = "guid, bag_id, user_id, revision, last_sequence"
_FIND = {
    name: f"SELECT {_COLUMNS} FROM bags WHERE {column} = ? AND application = ?"
    for name, column in (
        ("bagGuid", "guid"),
        ("bagId", "bag_id"),
        ("userId", "user_id"),
    )
}

_GUEST_NUMBER = re.compile("[0-9]{1,16}")
"""At most as many digits as `interface.declaring.kinds.MAX_ID` has: a longer number is no
guest's, and might be too large for the column.
"""


@dataclass(frozen=True)
class Line:
    """An item of a bag."""

    sequence: int
    upc: int
    quantity: int


@dataclass(frozen=True)
class Bag:
    """A bag.

    Its lines stand by sequence number. ``last`` is the highest number that a line of it
    ever had: no number is used again. ``revision`` goes up by one with every change.
    """

    guid: str
    id: int
    user: int
    revision: int
    last: int = 0
    lines: tuple[Line, ...] = ()


class Bags:
    """What may be done with bags. Each belongs to one application and has one guest
    user.
    """

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def make(
        self, application: str, guid: str, bag: int, user: int, at: datetime
    ) -> Bag | None:
        """Create an empty bag and return it; None if another bag has one of its
        numbers.
        """
        rows = self._run(
            f"INSERT INTO bags ({_COLUMNS}, application, made, changed) VALUES (?, ?, ?, 1, 0, ?, ?, ?)"
            f" ON CONFLICT DO NOTHING RETURNING {_COLUMNS}",
            *(guid, bag, user, application, written(at), written(at)),
        )
        return self._bag(rows)

    def find(self, application: str, name: str, value: Any) -> Bag | None:
        """Return the application's bag by ``name``: `bagGuid`, `bagId` or `userId`; or
        None.
        """
        return self._bag(self._run(_FIND[name], value, application))

    def take(self, bag: Bag, at: datetime) -> Bag | None:
        """Raise the bag's revision and return it as it is now; None if it was pruned.

        Until the transaction ends, nobody else changes it.
        """
        rows = self._run(
            f"UPDATE bags SET revision = revision + 1, changed = ? WHERE guid = ? RETURNING {_COLUMNS}",
            *(written(at), bag.guid),
        )
        return self._bag(rows)

    def put(self, bag: Bag, lines: Iterable[Line]) -> Bag:
        """Write the lines of a bag that was taken, and return it with them and no
        others.

        Only rows that differ are written. Removed lines go first, because a bag holds a
        UPC once.
        """
        before = {line.sequence: line for line in bag.lines}
        after = {line.sequence: line for line in lines}

        for sequence in before.keys() - after.keys():
            self._run(
                "DELETE FROM bag_lines WHERE bag = ? AND sequence = ?",
                bag.guid,
                sequence,
            )
        for line in after.values():
            if line != before.get(line.sequence):
                self._run(
                    "INSERT INTO bag_lines (bag, sequence, upc_id, quantity) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (bag, sequence) DO UPDATE SET quantity = excluded.quantity",
                    *(bag.guid, line.sequence, line.upc, line.quantity),
                )

        last = max([bag.last, *after])
        if last > bag.last:
            self._run(
                "UPDATE bags SET last_sequence = ? WHERE guid = ?", last, bag.guid
            )
        in_order = tuple(after[sequence] for sequence in sorted(after))
        return replace(bag, last=last, lines=in_order)

    def _bag(self, rows: list[Row]) -> Bag | None:
        """Return the bag of the one row that a statement returned, with its lines; or
        None.
        """
        if not rows:
            return None
        guid, id, user, revision, last = rows[0]
        lines = self._run(
            "SELECT sequence, upc_id, quantity FROM bag_lines WHERE bag = ? ORDER BY sequence",
            guid,
        )
        return Bag(guid, id, user, revision, last, tuple(Line(*line) for line in lines))


def guest_number(text: str) -> int | None:
    """Return the number of a guest user from its text; None for any other text
    (interface 2.7).
    """
    return int(text) if _GUEST_NUMBER.fullmatch(text) else None


BAGS = Table(
    name="bags",
    steps=(
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
    ),
    verbs=Bags,
    # a request that makes a bag cannot name its guest user: the answer does
    # (interface W5.2)
    personal=(
        Personal(
            "bags",
            user=Column("user_id", guest_number, quoted='"owner":{{"userId":{}}}'),
            called="bags",
        ),
    ),
    aging=(Aging("bags", "changed", BAG_LIFETIME, called="bags", option="bags"),),
)
