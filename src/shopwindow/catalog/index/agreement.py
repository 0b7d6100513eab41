"""Whether the lines of all feeds agree with each other: asked of their rows, in SQL.

An id occurs once, and what a line refers to exists. The primary keys of the rows see to
most of the former; the rest are questions to which a sound catalog has no answer.
`catalog.index.large` finds where the lines are that do not agree.

Promotions are no lines, and name products and categories. What they name is looked up in
the same rows; where an id is unknown, `unknown_to_promotions` says so for both checks.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import orjson

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.feeds.rules import Referable
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
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
    "SELECT value FROM json_each(:named) WHERE value NOT IN (SELECT id FROM listed)",
    """
WITH lists AS (SELECT DISTINCT categories, promotions FROM listed)
SELECT value FROM lists, json_each(categories)
  WHERE value NOT IN (SELECT value FROM json_each(:category))
UNION ALL SELECT value FROM lists, json_each(promotions)
  WHERE value NOT IN (SELECT value FROM json_each(:promotion))
""",
)
"""Each yields what occurs twice, or does not exist."""


def agree(
    out: sqlite3.Connection, referable: Referable, named: Collection[int]
) -> bool:
    """Return whether all lines agree with each other, and with what is beside them.

    Args:
        out: the rows of all lines.
        referable: all ids that lines may refer to.
        named: the products that promotions name.
    """
    ids = {"named": named, **referable}
    beside = {
        name: orjson.dumps(list(part or ())).decode() for name, part in ids.items()
    }
    if any(out.execute(f"{query} LIMIT 1", beside).fetchone() for query in CROSSCHECKS):
        return False
    return not rings(out)


# -- promotions ------------------------------------------------------------------------


def named_by_promotions(case: Case) -> list[int]:
    """Return the ids of the products that promotions name, in order."""
    promotions = case.having("promotion", ("products",))
    return sorted({id for one in promotions for id in one.value.get("products", ())})


def unknown_to_promotions(
    case: Case, part: str, kind: str, existing: Collection[int]
) -> Iterator[tuple[Document, Finding]]:
    """Yield each promotion with what is wrong in its `products` or `categoryIds`: ids
    that are not among the ``existing`` ones of their ``kind``.
    """
    for promotion in case.having("promotion", (part,)):
        for index, id in enumerate(promotion.value.get(part, ())):
            if id not in existing:
                yield promotion, rules.unknown((part, index), kind, "id", id, ())


# -- collections within themselves -----------------------------------------------------

Membership = tuple[int, int]
"""A collection and one of its members, as ids."""

INNER = "SELECT collection, member FROM member WHERE member IN (SELECT collection FROM member)"
"""Collections with those of their members that are collections as well."""


def rings(database: sqlite3.Connection) -> set[Membership]:
    """Return the memberships by which a collection stands within itself.

    ``database`` has all memberships in a table ``member``.
    """
    members: dict[int, set[int]] = defaultdict(set)
    for collection, member in database.execute(INNER):
        members[collection].add(member)
    try:
        TopologicalSorter(members).prepare()
    except CycleError:
        return {
            (collection, member)
            for collection, held in members.items()
            for member in held
            if _leads(member, collection, members)
        }
    return set()


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
