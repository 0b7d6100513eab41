"""Shopping bags: the database stores their lines, the catalog says what they cost.

How this works. Three of the four operations change a bag. Each takes the bag first
(`_take`), so that no other request changes it until the transaction ends, and checks
If-Match only then. It computes the new lines as a value, checks them against the limits
and the catalog, and writes them (`_store`). Any fault is a Refusal, which rolls the
transaction back: so a request is carried out as a whole or not at all (interface 2.7,
4.8, W5.2).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import MAX_ID, Count, Guid, Words
from shopwindow.interface.declaring.operation import (
    Allowance,
    AnyOf,
    Call,
    FromStore,
    Moment,
    Operation,
    Outcome,
    Parameter,
    Rate,
    Sender,
)
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.articles import CATALOG_INDEX, Articles, most_of_one, upcs
from shopwindow.retail.bags.answers import answer_of, with_catalog
from shopwindow.retail.bags.table import BAGS, Bag, Line

MAX_ITEMS = 100
"""Different items of a bag, unless site.yaml says otherwise. A full bag then takes 10
kB of the database, by which `NEW_BAG_ALLOWANCE` is reckoned.
"""

BAG_SELECTORS = ("userId", "bagId", "bagGuid")
"""The parameters that name a bag; a request has one of them at most."""

PRODUCT_INFO = "INCLUDE_PRODUCTINFO"
"""The value of `bagOptions` that adds each item's product (interface W5.2)."""

SAVED_BAG = "INCLUDE_SAVED_BAG"
"""Another value that clients send. Nobody has a saved bag here, so it adds nothing."""

# -- the four operations ---------------------------------------------------------------


def read(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Return a bag of the application."""
    bag = _find(tables, call)
    _check_precondition(call, bag)
    return _outcome(bag)


def add(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Add items to the bag that the call names, or to a new bag of a new guest user."""
    if any(call[name] is not None for name in BAG_SELECTORS):
        bag = _take(tables, call, moment)
    else:
        _check_precondition(call, None)
        bag = _new_bag(tables, str(call.application), moment)
    return _store(tables, content, call, bag, _with_items(bag, call.body["item"]))


def update(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Set quantities of items that are in the bag; 0 takes an item out."""
    bag = _take(tables, call, moment)
    lines = {line.sequence: line for line in bag.lines}
    faults = []
    items = call.body["item"]
    for number, item in enumerate(items):
        sequence = item["sequenceNumber"]
        line = lines.get(sequence)
        where = f"item/{number}"
        if line is None:
            message = f"{sequence} is not in the bag; {_holds(lines)}"
            faults.append(Fault(f"{where}/sequenceNumber", message))
        elif line.upc != item["upcId"]:
            message = f"item {sequence} of the bag is {line.upc}, not {item['upcId']}"
            faults.append(Fault(f"{where}/upcId", message))
        elif any(earlier["sequenceNumber"] == sequence for earlier in items[:number]):
            message = f"{sequence} stands in the request twice"
            faults.append(Fault(f"{where}/sequenceNumber", message))
        else:
            lines[sequence] = replace(line, quantity=item["quantity"])
    if faults:
        raise Refusal("invalid", *faults)
    return _store(tables, content, call, bag, lines.values())


def remove(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Take one item out of the bag."""
    bag = _take(tables, call, moment)
    lines = {line.sequence: line for line in bag.lines}
    line = lines.pop(call["sequenceNumber"], None)
    if line is None:
        message = f"{call['sequenceNumber']} is not in the bag; {_holds(lines)}"
        raise Refusal("no_data", Fault("sequenceNumber", message))
    upc = call.body["deleteitemsrequest"]["upcid"] if call.body else line.upc
    if upc != line.upc:
        message = f"item {line.sequence} of the bag is {line.upc}, not {upc}"
        raise Refusal("invalid", Fault("deleteitemsrequest/upcid", message))
    return _store(tables, content, call, bag, lines.values())


# -- which bag -------------------------------------------------------------------------


def _find(tables: Tables, call: Call) -> Bag:
    """Return the bag that a call names, of the application that calls.

    Raises Refusal where there is none. It is the same for another application's bag and
    for a bag that never was, so that nobody learns of other applications' bags.
    """
    name, value = next(
        (name, value) for name, value in call.arguments if name in BAG_SELECTORS
    )
    bag = tables[BAGS].find(str(call.application), name, value)
    if bag is None:
        raise _no_bag(name, value)
    return bag


def _take(tables: Tables, call: Call, moment: Moment) -> Bag:
    """Return the bag that a call names, locked until the transaction ends.

    It has its next revision already. The client's If-Match is about the revision before
    that. It is checked after the bag is taken, since another request could change the
    bag between an earlier check and the change.
    """
    present = _find(tables, call)
    bag = tables[BAGS].take(present, moment.now)
    if bag is None:  # pruned between the two statements
        raise _no_bag("bagGuid", present.guid)
    _check_precondition(call, replace(bag, revision=bag.revision - 1))
    return bag


def _no_bag(name: str, value: Any) -> Refusal:
    return Refusal(
        "no_data", Fault(name, f"there is no bag {value} of this application")
    )


def _new_bag(tables: Tables, application: str, moment: Moment) -> Bag:
    """Return a new bag of a new guest user.

    Its GUID and both numbers are random, so that nobody can guess one. They are drawn
    again where another bag has one of them.
    """
    while True:
        guid = str(UUID(bytes=moment.random(16), version=4))
        id, user = (int.from_bytes(moment.random(7)) % MAX_ID + 1 for _ in range(2))
        bag = tables[BAGS].make(application, guid, id, user, moment.now)
        if bag:
            return bag


def etag(bag: Bag) -> str:
    """Return the ETag of a bag's state, whatever the response's format and options."""
    return f'"{bag.guid}-{bag.revision}"'


_TAGS = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
"""An entity tag (RFC 9110 §8.8.3)."""


def _check_precondition(call: Call, bag: Bag | None) -> None:
    """Raise Refusal unless the request's If-Match holds (RFC 9110 §13.1.1).

    ``bag``: its state before the request; None where the request asks for a new one.
    Tags are compared strongly, so a weak one never matches.
    """
    if call.if_match is None:
        return
    condition = call.if_match.strip()
    if bag is not None and (condition == "*" or etag(bag) in _TAGS.findall(condition)):
        return
    state = f"the bag is at {etag(bag)}" if bag else "there is no bag yet"
    raise Refusal(
        "precondition", Fault("If-Match", f"is {condition[:100]}, but {state}")
    )


# -- what is in it ---------------------------------------------------------------------


def _with_items(bag: Bag, items: Iterable[Json]) -> list[Line]:
    """Return the bag's lines with items of a request added to them.

    An item that the bag holds already raises its line's quantity. New items follow
    after the others, in the order of the request.
    """
    lines = {line.upc: line for line in bag.lines}
    last = bag.last
    for item in items:
        upc = item["upcId"]
        if upc not in lines:
            last += 1
            lines[upc] = Line(last, upc, 0)
        lines[upc] = replace(
            lines[upc], quantity=lines[upc].quantity + item["quantity"]
        )
    return list(lines.values())


def _store(
    tables: Tables, content: Content, call: Call, bag: Bag, lines: Iterable[Line]
) -> Outcome:
    """Write the lines of a bag that was taken, and return the outcome.

    Lines of quantity 0 are removed. Raises Refusal for lines that are not allowed.
    """
    lines = [line for line in lines if line.quantity]
    faults = tuple(_faults(bag, lines, content))
    if faults:
        raise Refusal("invalid", *faults)
    return _outcome(tables[BAGS].put(bag, lines))


def _faults(bag: Bag, lines: Sequence[Line], content: Content) -> Iterator[Fault]:
    """Yield what is wrong with the lines of a bag that are new or changed.

    Other lines are not checked, and the bag may stay as long as it is. So a bag that
    was filled under wider limits can still be emptied, line by line.
    """
    catalog = content.index(CATALOG_INDEX)
    most_pieces = most_of_one(content)
    most_items = (content.setting("bags") or {}).get("max_items", MAX_ITEMS)
    for line in lines:
        if line in bag.lines:
            continue
        entry = None if catalog is None else catalog.product_of_sku(line.upc)
        if catalog is not None and entry is None:
            yield Fault("item", _no_article(line.upc, catalog))
        limit = most_pieces
        if entry:
            product, _ = entry
            limit = min(most_pieces, product.get("maxQuantity", most_pieces))
        if line.quantity > limit:
            pieces = f"{line.quantity} pieces of upcId {line.upc}"
            yield Fault("item", f"{pieces}; allowed: at most {limit} in a bag")
    if len(lines) > max(most_items, len(bag.lines)):
        different = f"{len(lines)} different items"
        yield Fault("item", f"{different}; allowed: at most {most_items} in a bag")


def _no_article(number: int, catalog: Articles) -> str:
    """Return why a number is no item's, in words.

    It is often a UPC, since `product/upc` and `bops/upc` take one for the same item.
    """
    for id in catalog.product_of_upc(list(upcs([number]))).values():
        product = catalog.product(id) or {"upcs": ()}
        for entry in product["upcs"]:
            if int(entry["upc"]) == number:
                return f"upcId {number} is a UPC; bags take its skuid, {entry['sku']}"
    return f"upcId {number} is not in the catalog"


def _holds(lines: Mapping[int, Line]) -> str:
    """Return, for a message, the numbers of the items that a bag holds."""
    return f"it holds {', '.join(map(str, lines))}" if lines else "it is empty"


def _outcome(bag: Bag) -> Outcome:
    """Return what the database knows of a bag, with its ETag."""
    return Outcome(answer_of(bag), etag(bag))


def _complete(value: Json, content: Content, call: Call) -> Json:
    """Return the response's value for a bag: with what the catalog says of its items."""
    with_info = PRODUCT_INFO in (call["bagOptions"] or ())
    most_pieces = most_of_one(content) if with_info else None
    return with_catalog(value, content.index(CATALOG_INDEX), most_pieces)


# -- operations ------------------------------------------------------------------------

_BAG_GUID = Parameter(
    "bagGuid",
    Guid(),
    "GUID of the bag: its bagGUID.",
    example="9f1c2e7a-5b0d-4c3e-8a6f-0d1e2f3a4b5c",
)
_SELECTOR_PARAMETERS = (
    Parameter(
        "userId",
        Count(),
        "Number of the guest user whose bag it is.",
        example="3389257899014801",
    ),
    Parameter("bagId", Count(), "Number of the bag."),
    _BAG_GUID,
)
_OPTIONS = Parameter(
    "bagOptions",
    Words((PRODUCT_INFO, SAVED_BAG)),
    "What to tell beside: of each item its product. There are no saved bags to include.",
)


def _operation(
    name: str,
    path: str,
    source: FromStore,
    about: str,
    parameters: Sequence[Parameter],
    **more: Any,
) -> Operation:
    """Return an operation with what all four share."""
    return Operation(
        name,
        path,
        source,
        "bag",
        about,
        (*parameters, _OPTIONS),
        by_application=True,
        missing=_no_bag("bagGuid", _BAG_GUID.example).faults[0],
        tagged=True,
        **more,
    )


def _cost(call: Call, keeps_answer: bool) -> int:
    """Return 1 for a request that leaves something in the database, else 0.

    A new bag stays for months, the answer under an Idempotency-Key for a day.
    """
    is_new = all(call[name] is None for name in BAG_SELECTORS)
    return 1 if is_new or keeps_answer else 0


NEW_BAG_ALLOWANCE = Allowance(
    "newBags",
    "new bags",
    # One address may be a mobile carrier's. This is two or three from each of 120
    # customers.
    address=Rate(300, 10),
    # 14 a second. A bag takes 250 bytes and each item 100, so a full bag takes 10 kB,
    # and one key fills at most 500 MB an hour.
    application=Rate(50_000, 60),
    cost=_cost,
)
"""How many bags may be created, unless site.yaml sets other rates."""


def guest(call: Call) -> Sender:
    """Return who sent a request: the guest whose bag it names.

    A request for a new bag names none; its sender is its network address then.
    """
    for name, value in call.arguments:
        if name in BAG_SELECTORS:
            return Sender(name=f"{name} {value}")
    return Sender()


OPERATIONS = (
    _operation(
        "bag",
        "order/v1/bags",
        FromStore(read, writes=False, complete=_complete),
        "A shopping bag.",
        _SELECTOR_PARAMETERS,
        rules=(AnyOf(BAG_SELECTORS, several=False),),
    ),
    _operation(
        "bag_add",
        "order/v1/bags",
        FromStore(add, complete=_complete),
        "Add items to a shopping bag; without one, to a new bag of a new guest user.",
        _SELECTOR_PARAMETERS,
        rules=(AnyOf(BAG_SELECTORS, required=False, several=False),),
        method="POST",
        body="bag_add",
        allowance=NEW_BAG_ALLOWANCE,
        sender=guest,
    ),
    _operation(
        "bag_update",
        "order/v1/bags/{bagGuid}/items",
        FromStore(update, complete=_complete),
        "Change quantities of items that are in a shopping bag; 0 takes an item out.",
        (_BAG_GUID,),
        method="PATCH",
        body="bag_update",
        unlimited="It changes a bag that exists, and adds no row.",
    ),
    _operation(
        "bag_remove",
        "order/v1/bags/{bagGuid}/items/{sequenceNumber}",
        FromStore(remove, complete=_complete),
        "Take an item out of a shopping bag.",
        (
            _BAG_GUID,
            Parameter("sequenceNumber", Count(), "Number of the item in the bag."),
        ),
        method="DELETE",
        body="bag_remove",
        body_optional=True,
        unlimited="It takes rows away.",
    ),
)
