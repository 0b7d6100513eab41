"""Shopping bags: what is in one, and its changes."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from shopwindow_client.connection import Connection

PATH = "order/v1/bags"


@dataclass(frozen=True)
class BagItem:
    """An item of a bag.

    Attributes:
        number: its sequenceNumber in this bag.
        upc_id: which article: the skuid of its UPC.
        quantity: how many pieces.
        price: of one piece; None: the service has no catalog.
        faults: such as ITEM_UNAVAILABLE; empty: it can be ordered.
    """

    number: int
    upc_id: int
    quantity: int
    price: float | None
    faults: tuple[str, ...]


@dataclass(frozen=True)
class Bag:
    """A bag as the service had it a moment ago.

    Attributes:
        guid: names it in requests.
        user: the number of its guest user.
        items: in the order in which they came in.
        total: what is to be paid; None: the service has no catalog.
        etag: identifies this state of it.
        value: the whole answer.
    """

    guid: str
    user: int
    items: tuple[BagItem, ...]
    total: float | None
    etag: str
    value: Mapping[str, Any]


class Bags:
    """The bags of one application.

    Each change may name the bag's state by `bag.etag` of an earlier answer: the service then refuses it (status 412)
    where somebody else has changed the bag since. Every method raises Refused or Unreachable.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, guid: str) -> Bag:
        """Return a bag."""
        return _bag(self._connection.send("GET", PATH, query={"bagGuid": guid}))

    def add(
        self,
        quantities: Mapping[int, int],
        guid: str | None = None,
        *,
        etag: str | None = None,
    ) -> Bag:
        """Add articles, and return the bag.

        It is safe to repeat: the request has an Idempotency-Key, so a lost answer never adds twice.

        Args:
            quantities: upc id → how many pieces to add.
            guid: the bag; None: a new bag of a new guest user.
        """
        items = [
            {"upcId": upc_id, "quantity": quantity}
            for upc_id, quantity in quantities.items()
        ]
        headers = {"Idempotency-Key": str(uuid.uuid4()), **_condition(etag)}
        query = {"bagGuid": guid} if guid else {}
        return _bag(
            self._connection.send(
                "POST", PATH, query=query, body={"item": items}, headers=headers
            )
        )

    def set_quantity(
        self, bag: Bag, item: BagItem, quantity: int, *, etag: str | None = None
    ) -> Bag:
        """Set how many pieces of an item are in a bag; 0 takes it out. Returns the bag."""
        change = {
            "sequenceNumber": item.number,
            "upcId": item.upc_id,
            "quantity": quantity,
        }
        path = f"{PATH}/{bag.guid}/items"
        return _bag(
            self._connection.send(
                "PATCH", path, body={"item": [change]}, headers=_condition(etag)
            )
        )

    def remove(self, bag: Bag, item: BagItem, *, etag: str | None = None) -> Bag:
        """Take an item out of a bag, and return the bag."""
        path = f"{PATH}/{bag.guid}/items/{item.number}"
        return _bag(self._connection.send("DELETE", path, headers=_condition(etag)))


def _condition(etag: str | None) -> dict[str, str]:
    return {"If-Match": etag} if etag else {}


def _bag(response: httpx.Response) -> Bag:
    value = response.json()
    bag = value["bag"]
    items = tuple(
        BagItem(
            number=item["sequenceNumber"],
            upc_id=item["upcId"],
            quantity=item["quantity"],
            price=item.get("retailPrice"),
            faults=tuple(fault["code"] for fault in item.get("errors", ())),
        )
        for item in bag.get("items", ())
    )
    return Bag(
        guid=bag["bagGUID"],
        user=bag["owner"]["userId"],
        items=items,
        total=bag["bagSummary"].get("grandTotal"),
        etag=response.headers.get("ETag", ""),
        value=value,
    )
