"""One line of a feed, and the rows that follow from it alone.

Nothing here reads another line, so a line that an earlier build has read has the rows
that it had then. What depends on several lines, such as ratings, stock and names of
categories, is never stored beside a line: it is added when a document is read
(`opened`), or summed again by each build (`sums`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import Any

import orjson

from shopwindow.catalog.feeds.packing import Packing
from shopwindow.catalog.feeds.rules import ends
from shopwindow.catalog.feeds.words import indexed
from shopwindow.catalog.kinds import PRODUCT
from shopwindow.catalog.protocol import PRICE
from shopwindow.content.kinds import values_at
from shopwindow.content.reading.yaml import Json

DIGEST_BYTES = 16
"""Bytes of a digest: 128 bits tell apart all lines that there will be."""

LIMITED_QUANTITY = 3
"""Stock up to which a store's status is LIMITED, unless site.yaml says otherwise."""

IndexRow = tuple[Any, ...]
Rows = Iterator[tuple[str, IndexRow]]
"""The name of a table, and a row of it."""

BASIC = {"BRAND": "Brand", "COLOR": "Color", "SIZE": "Size"}
"""The facets that every catalog has, with the names that are shown."""

TABLES = """
CREATE TABLE product (id INTEGER PRIMARY KEY, document BLOB);
CREATE TABLE listed (id INTEGER PRIMARY KEY, line BLOB, digest BLOB, active INTEGER, best INTEGER, cents INTEGER,
                     high INTEGER, days INTEGER, updated INTEGER, featured INTEGER, pictured INTEGER, name TEXT,
                     brand TEXT, categories TEXT, colors TEXT, sizes TEXT, attributes TEXT, promotions TEXT);
CREATE TABLE words (id INTEGER PRIMARY KEY, name TEXT, brand TEXT, type TEXT, attributes TEXT, description TEXT,
                    categories TEXT);
CREATE TABLE upc (upc INTEGER PRIMARY KEY, product INTEGER, sku INTEGER, active INTEGER, handed_out INTEGER);
CREATE TABLE member (collection INTEGER, place INTEGER, member INTEGER, PRIMARY KEY (collection, place)) WITHOUT ROWID;
CREATE TABLE stock (upc INTEGER PRIMARY KEY, line BLOB, online INTEGER, stores BLOB);
CREATE TABLE review (id TEXT, line BLOB, product INTEGER, date TEXT, rating INTEGER, document BLOB);
CREATE TABLE recommendation (product INTEGER PRIMARY KEY, line BLOB, products BLOB);
"""
"""The rows of lines. A list is text in JSON, so that equal ones are equal texts. What
all products are compared and counted by stands apart from their documents, so that a
build need not read these.
"""

INDEXES = """
CREATE INDEX IF NOT EXISTS upc_of_product ON upc (product);
CREATE INDEX IF NOT EXISTS upc_of_sku ON upc (sku);
CREATE INDEX IF NOT EXISTS member_of ON member (member);
CREATE INDEX IF NOT EXISTS review_of_product ON review (product, date DESC, id);
"""
"""What finds rows otherwise than by their key. It is made once all rows are written."""

KINDS = {
    "product": "listed",
    "inventory": "stock",
    "review": "review",
    "recommendation": "recommendation",
}
"""The kinds whose documents are lines, each with the table that has a row for a line."""

BY_PRODUCT = {"product": "id", "listed": "id", "upc": "product", "member": "collection"}
"""The tables with rows of a product's line, and the column that has its id.

The table `words` is not among them: `wording` compares its rows before they go.
"""


class RowMaker:
    """Makes the rows of lines.

    Args:
        packing: packs the documents of products.
        places: of stores in the stock of a UPC, by location number.
        limited: stock up to which a store has few.
    """

    def __init__(
        self, packing: Packing, places: Mapping[str, int], limited: int
    ) -> None:
        self.packing, self.places, self.limited = packing, places, limited

    def rows(self, kind: str, digest: bytes, document: Json) -> Rows:
        """Yield the rows of a line, by its digest and the document in it."""
        of_kind: Mapping[str, Callable[[bytes, Json], Rows]] = {
            "product": self._product,
            "inventory": self._stock,
            "review": self._review,
            "recommendation": self._recommendation,
        }
        return of_kind[kind](digest, document)

    def _product(self, digest: bytes, product: Json) -> Rows:
        id, active = product["id"], product.get("active", True)
        document = orjson.dumps(product)
        packed = self.packing.pack(document)
        yield "product", (id, packed)
        own = document_digest(document)
        yield "listed", (id, digest, own, active, *_listed(product))

        eligible = product.get("storeEligible", True)
        for upc in product.get("upcs", ()):
            is_sold = upc.get("active", True)
            row = int(upc["upc"]), id, upc["sku"], is_sold, is_sold and eligible
            yield "upc", row
        for place, member in enumerate(product.get("members", ())):
            yield "member", (id, place, member)
        if active:
            texts = (" ".join(words) for words in words_of(product))
            yield "words", (id, *texts, _json(product["categories"]))

    def _stock(self, digest: bytes, document: Json) -> Rows:
        """A store has two bits at its place: 0 nothing, 1 limited, 2 more."""
        stores = bytearray()
        for number, quantity in document.get("stores", {}).items():
            if not quantity:
                continue
            byte, place = divmod(self.places[number], 4)
            if byte >= len(stores):
                stores.extend(bytes(byte + 1 - len(stores)))
            stores[byte] |= (1 if quantity <= self.limited else 2) << 2 * place
        upc, online = int(document["upc"]), document.get("site")
        yield "stock", (upc, digest, online, bytes(stores) or None)

    def _review(self, digest: bytes, review: Json) -> Rows:
        id, product = review["id"], review["product"]
        date, rating = review["date"], review["rating"]
        yield "review", (id, digest, product, date, rating, orjson.dumps(review))

    def _recommendation(self, digest: bytes, document: Json) -> Rows:
        products = orjson.dumps(document["products"])
        yield "recommendation", (document["product"], digest, products)


PROMOTIONS = [one.pointer for one in PRODUCT.references if one.kind == "promotion"]
"""Where a product names promotions."""


def document_digest(document: bytes) -> bytes:
    """Return the digest of a product's document as the index holds it."""
    return sha256(document).digest()[:DIGEST_BYTES]


def _listed(product: Json) -> IndexRow:
    """Return what lists order, count and narrow a product by."""
    price = product["price"]
    low, high = ends(price.get("sale", price["regular"]))
    brand = [product["brand"]] if "brand" in product else []
    normal = (
        sorted({one["normal"] for one in product.get(part, ())})
        for part in ("colors", "sizes")
    )
    attributes: dict[str, set[str]] = {}
    for name, values in product.get("attributes", {}).items():
        if name.upper() not in (*BASIC, PRICE):
            attributes.setdefault(name.upper(), set()).update(values)
    promotions = {
        id
        for pointer in PROMOTIONS
        if pointer[0] in product
        for _, id in values_at(product, pointer)
    }
    return (
        product.get("bestSeller"),
        round(low * 100),
        round(high * 100),
        product.get("startDays"),
        milliseconds(product.get("updated")),
        product.get("featured", False),
        bool(product.get("images", {}).get("primary")),
        product["name"].casefold(),
        _json(brand),
        _json(product["categories"]),
        *map(_json, normal),
        _json({name: sorted(values) for name, values in sorted(attributes.items())}),
        _json(sorted(promotions)),
    )


def words_of(product: Json) -> Iterator[Sequence[str]]:
    """Yield the words of a product's name, brand, type, attributes and description."""
    values = list(chain.from_iterable(product.get("attributes", {}).values()))
    for color in product.get("colors", ()):
        values += (color["name"], color["normal"])
    values += (size["name"] for size in product.get("sizes", ()))
    described = (product.get("description", ""), *product.get("bullets", ()))
    for text in (
        product["name"],
        product.get("brand", ""),
        product.get("typeName", ""),
        " ".join(dict.fromkeys(values)),
    ):
        yield indexed(text)
    yield list(dict.fromkeys(indexed(" ".join(described))))


def milliseconds(instant: str | None) -> int | None:
    """Return an instant as milliseconds since 1970; one without a zone is UTC."""
    if instant is None:
        return None
    moment = datetime.fromisoformat(instant)
    if not moment.tzinfo:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def _json(value: Json) -> str:
    return orjson.dumps(value).decode()
