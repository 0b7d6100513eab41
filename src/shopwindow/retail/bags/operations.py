"""Shopping bags (interface 2.7 and 4.8, wire shapes §5): lines are kept, what they cost is the
catalog's to say.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import MAX_ID, Count, Guid, Words
from shopwindow.interface.operation import (
    Allowance,
    FromStore,
    Moment,
    OnlyOne,
    Operation,
    Outcome,
    Parameter,
    Rate,
)
from shopwindow.interface.table import Tables
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.articles import INDEX, most_of_one
from shopwindow.retail.bags.answers import answer_of
from shopwindow.retail.bags.table import BAGS, Bag, Line

MAX_ITEMS = 100
"""Of a bag, where site.yaml does not say otherwise."""

NAMES = ("userId", "bagId", "bagGuid")
PRODUCT_INFO = "INCLUDE_PRODUCTINFO"

# -- the four operations -----------------------------------------------------------------------


def read(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """A bag of the application's."""
    bag = _found(tables, call)
    _precondition(call, bag)
    return _told(bag, content, call)


def add(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Add items to the bag that is named, or to a new one of a new guest user."""
    if any(call[name] is not None for name in NAMES):
        bag = _taken(tables, call, moment)
    else:
        _precondition(call, None)
        bag = _made(tables, str(call.application), moment)
    return _changed(tables, content, call, bag, _raised(bag, call.body["item"]))


def update(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Set quantities of items that are in the bag; 0 takes an item out."""
    bag = _taken(tables, call, moment)
    lines, faults = {line.sequence: line for line in bag.lines}, []
    given = [item["sequenceNumber"] for item in call.body["item"]]
    for number, item in enumerate(call.body["item"]):
        sequence, line = item["sequenceNumber"], lines.get(item["sequenceNumber"])
        where = f"item/{number}/"
        if line is None:
            faults.append(
                Fault(
                    f"{where}sequenceNumber", f"{sequence} is not in the bag; {_holds(lines)}"
                )
            )
        elif line.upc != item["upcId"]:
            faults.append(
                Fault(
                    f"{where}upcId",
                    f"item {sequence} of the bag is {line.upc}, not {item['upcId']}",
                )
            )
        elif sequence in given[:number]:
            faults.append(
                Fault(f"{where}sequenceNumber", f"{sequence} stands in the request twice")
            )
        else:
            lines[sequence] = replace(line, quantity=item["quantity"])
    if faults:
        raise Refusal("invalid", tuple(faults))
    return _changed(tables, content, call, bag, lines.values())


def remove(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Take one item out of the bag."""
    bag = _taken(tables, call, moment)
    lines = {line.sequence: line for line in bag.lines}
    line = lines.pop(call["sequenceNumber"], None)
    if line is None:
        fault = f"{call['sequenceNumber']} is not in the bag; {_holds(lines)}"
        raise Refusal("not_found", (Fault("sequenceNumber", fault),))
    upc = call.body["deleteitemsrequest"]["upcid"] if call.body else line.upc
    if upc != line.upc:
        fault = f"item {line.sequence} of the bag is {line.upc}, not {upc}"
        raise Refusal("invalid", (Fault("deleteitemsrequest/upcid", fault),))
    return _changed(tables, content, call, bag, lines.values())


# -- which bag ---------------------------------------------------------------------------------


def _found(tables: Tables, call: Call) -> Bag:
    """The bag that a call names. Raises Refusal: another application's bag is as unknown as one
    that never was.
    """
    name, value = next((name, value) for name, value in call.arguments if name in NAMES)
    bag = tables[BAGS].find(str(call.application), name, value)
    if bag is None:
        raise _no_bag(name, value)
    return bag


def _taken(tables: Tables, call: Call, moment: Moment) -> Bag:
    """The bag that a call names, to be changed: nobody else does, and what the caller expects
    of it still holds.
    """
    found = _found(tables, call)
    bag = tables[BAGS].take(found, moment.now)
    if bag is None:  # forgotten since
        raise _no_bag("bagGuid", found.guid)
    _precondition(call, replace(bag, revision=bag.revision - 1))
    return bag


def _no_bag(name: str, value: Any) -> Refusal:
    return Refusal("not_found", (Fault(name, f"there is no bag {value} of this application"),))


def _made(tables: Tables, application: str, moment: Moment) -> Bag:
    """A new bag. Its GUID and both numbers are random: nobody can guess one. Numbers that are
    taken are drawn again.
    """
    while True:
        guid = str(UUID(bytes=moment.random(16), version=4))
        id, user = (int.from_bytes(moment.random(7)) % MAX_ID + 1 for _ in range(2))
        if bag := tables[BAGS].make(application, guid, id, user, moment.now):
            return bag


def etag(bag: Bag) -> str:
    """Of a bag's state, whichever the format and the options of the answer."""
    return f'"{bag.guid}-{bag.revision}"'


_TAGS = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')


def _precondition(call: Call, bag: Bag | None) -> None:
    """Raises Refusal unless If-Match holds of the bag, None where there is none yet (RFC 9110
    §13.1.1).

    Its tags are compared strongly: a weak one is never the bag's.
    """
    if call.if_match is None:
        return
    given = call.if_match.strip()
    if bag is not None and (given == "*" or etag(bag) in _TAGS.findall(given)):
        return
    found = f"the bag is at {etag(bag)}" if bag else "there is no bag yet"
    raise Refusal("precondition", (Fault("If-Match", f"is {given[:100]}, but {found}"),))


# -- what is in it -----------------------------------------------------------------------------


def _raised(bag: Bag, items: Iterable[Json]) -> list[Line]:
    """The bag's lines with more of what is there already, and what is new after them, in the
    order of the request.
    """
    lines, last = {line.upc: line for line in bag.lines}, bag.last
    for item in items:
        upc = item["upcId"]
        if upc not in lines:
            last += 1
            lines[upc] = Line(last, upc, 0)
        lines[upc] = replace(lines[upc], quantity=lines[upc].quantity + item["quantity"])
    return list(lines.values())


def _changed(
    tables: Tables, content: Content, call: Call, bag: Bag, lines: Iterable[Line]
) -> Outcome:
    """Keep the lines, all of them or, where one may not be, none. Raises Refusal."""
    kept = [line for line in lines if line.quantity]
    if faults := tuple(_faults(bag, kept, content)):
        raise Refusal("invalid", faults)
    return _told(tables[BAGS].put(bag, kept), content, call)


def _faults(bag: Bag, kept: Sequence[Line], content: Content) -> Iterator[Fault]:
    """What is wrong with lines that are new or changed; a bag that was filled under wider
    limits may be emptied.
    """
    catalog, (most, items) = content.index(INDEX), _limits(content)
    for line in kept:
        if line in bag.lines:
            continue
        entry = None if catalog is None else catalog.product_of_sku(line.upc)
        if catalog is not None and entry is None:
            yield Fault("item", f"upcId {line.upc} is not in the catalog")
        limit = min(most, entry[0].get("maxQuantity", most)) if entry else most
        if line.quantity > limit:
            yield Fault(
                "item",
                f"{line.quantity} pieces of upcId {line.upc}; allowed: at most {limit} in a bag",
            )
    if len(kept) > max(items, len(bag.lines)):
        yield Fault("item", f"{len(kept)} different items; allowed: at most {items} in a bag")


def _limits(content: Content) -> tuple[int, int]:
    """Pieces of an item, and items of a bag."""
    limits = content.setting("bags") or {}
    return most_of_one(content), limits.get("max_items", MAX_ITEMS)


def _holds(lines: Mapping[int, Line]) -> str:
    return f"it holds {', '.join(map(str, lines))}" if lines else "it is empty"


def _told(bag: Bag, content: Content, call: Call) -> Outcome:
    most, _ = _limits(content)
    return Outcome(
        answer_of(bag, content.index(INDEX), most, PRODUCT_INFO in (call["bagOptions"] or ())),
        etag(bag),
    )


# -- operations --------------------------------------------------------------------------------

_GUID = Parameter(
    "bagGuid",
    Guid(),
    "GUID of the bag: its bagGUID.",
    example="9f1c2e7a-5b0d-4c3e-8a6f-0d1e2f3a4b5c",
)
_NAMED = (
    Parameter("userId", Count(), "Number of the guest user whose bag it is."),
    Parameter("bagId", Count(), "Number of the bag."),
    _GUID,
)
_OPTIONS = Parameter(
    "bagOptions", Words((PRODUCT_INFO,)), "What to tell beside: of each item its product."
)


def _operation(
    name: str,
    path: str,
    source: FromStore,
    about: str,
    parameters: Sequence[Parameter],
    **more: Any,
) -> Operation:
    parameters = (*parameters, _OPTIONS)
    return Operation(
        name, path, source, "bag", about, parameters, by_application=True, tagged=True, **more
    )


def _cost(call: Call, keeps_answer: bool) -> int:
    """What stays: a new bag, for months; the answer that is stored under an Idempotency-Key,
    for a day.
    """
    is_new = all(call[name] is None for name in NAMES)
    return 1 if is_new or keeps_answer else 0


NEW_BAGS = Allowance(
    "newBags",
    "new bags",
    # one address may be a mobile carrier's: two or three from each of 120 customers
    Rate(300, 10),
    # 14 a second; a bag takes 250 bytes, and 100 an item, so that a full one takes 10 kB: at
    # most 500 MB an hour
    Rate(50_000, 60),
    _cost,
)
"""How many bags are made, where site.yaml says nothing else."""

OPERATIONS = (
    _operation(
        "bag",
        "order/v1/bags",
        FromStore(read, writes=False),
        "A shopping bag.",
        _NAMED,
        rules=(OnlyOne(NAMES),),
    ),
    _operation(
        "bag_add",
        "order/v1/bags",
        FromStore(add),
        "Add items to a shopping bag; without one, to a new bag of a new guest user.",
        _NAMED,
        rules=(OnlyOne(NAMES, required=False),),
        method="POST",
        body="bag_add",
        limited=True,
        allowance=NEW_BAGS,
    ),
    _operation(
        "bag_update",
        "order/v1/bags/{bagGuid}/items",
        FromStore(update),
        "Change quantities of items that are in a shopping bag; 0 takes an item out.",
        (_GUID,),
        method="PATCH",
        body="bag_update",
    ),
    _operation(
        "bag_remove",
        "order/v1/bags/{bagGuid}/items/{sequenceNumber}",
        FromStore(remove),
        "Take an item out of a shopping bag.",
        (_GUID, Parameter("sequenceNumber", Count(), "Number of the item in the bag.")),
        method="DELETE",
        body="bag_remove",
        body_optional=True,
    ),
)
