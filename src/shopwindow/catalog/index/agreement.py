"""Whether the lines of all feeds agree with each other: asked of their rows, in SQL.

An id occurs once, and what a line refers to exists. The primary keys of the rows see to
most of the former; the rest are questions to which a sound catalog has no answer.
`catalog.index.large` finds where the lines are that do not agree.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from shopwindow.catalog.feeds.rules import Referable
from shopwindow.content.rules.case import Case

CROSSCHECKS = (
    "SELECT sku FROM upc GROUP BY sku HAVING count(*) > 1",
    "SELECT id FROM review GROUP BY id HAVING count(*) > 1",
    "SELECT member FROM member WHERE member NOT IN (SELECT id FROM listed)",
    "SELECT product FROM review WHERE product NOT IN (SELECT id FROM listed)",
    "SELECT product FROM recommendation WHERE product NOT IN (SELECT id FROM listed)",
    "SELECT other.value FROM recommendation, json_each(CAST(products AS TEXT)) AS other"
    " WHERE other.value NOT IN (SELECT id FROM listed)",
    "SELECT upc FROM stock WHERE upc NOT IN (SELECT upc FROM upc)",
)
"""Each yields what occurs twice, or does not exist."""


def agree(out: sqlite3.Connection, referable: Referable, case: Case) -> bool:
    """Return whether all lines agree with each other, and with what is beside them.

    Args:
        out: the rows of all lines.
        referable: all ids that lines may refer to.
        case: the other documents; promotions name products and categories.
    """
    if any(out.execute(f"{query} LIMIT 1").fetchone() for query in CROSSCHECKS):
        return False
    categories, promotions = named_by_promotions(case, "categoryIds"), set()
    for lists in out.execute("SELECT DISTINCT categories, promotions FROM listed"):
        categories.update(orjson.loads(lists[0]))
        promotions.update(orjson.loads(lists[1]))
    if not categories <= (referable["category"] or frozenset()):
        return False
    if not promotions <= (referable["promotion"] or frozenset()):
        return False
    product = "SELECT id FROM listed WHERE id = ?"
    for id in named_by_promotions(case, "products"):
        if out.execute(product, (id,)).fetchone() is None:
            return False
    inner = "SELECT collection, member FROM member WHERE member IN (SELECT collection FROM member)"
    return not rings(out.execute(inner))


def named_by_promotions(case: Case, part: str) -> set[int]:
    """Return the ids in a part of all promotions: `products` or `categoryIds`."""
    promotions = case.having("promotion", (part,))
    return {id for promotion in promotions for id in promotion.value.get(part, ())}


# -- collections within themselves -----------------------------------------------------

Membership = tuple[int, int]
"""A collection and one of its members, as ids."""


def rings(memberships: Iterable[Any]) -> set[Membership]:
    """Return the memberships by which a collection stands within itself.

    ``memberships``: those of which the member is a collection as well.
    """
    members: dict[int, set[int]] = defaultdict(set)
    for collection, member in memberships:
        members[collection].add(member)
    _drop_leaves(members)
    return {
        (collection, member)
        for collection, held in members.items()
        for member in held
        if _leads(member, collection, members)
    }


def _drop_leaves(members: dict[int, set[int]]) -> None:
    """Remove collections that hold no other ones, again and again.

    What is left is in a ring, or holds something that is. In most catalogs that is
    nothing, and no way needs to be followed.
    """
    while True:
        held_somewhere = {member for held in members.values() for member in held}
        leaves = held_somewhere - members.keys()
        if not leaves:
            return
        for collection in [key for key, held in members.items() if held & leaves]:
            members[collection] -= leaves
            if not members[collection]:
                del members[collection]


def _leads(start: int, end: int, members: Mapping[int, set[int]]) -> bool:
    """Return whether a collection is, or holds at any depth, the collection ``end``."""
    seen, left = {start}, [start]
    while left:
        collection = left.pop()
        if collection == end:
            return True
        held = members.get(collection, set())
        left += held - seen
        seen |= held
    return False
