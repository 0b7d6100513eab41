"""A catalog that somebody edits at random, time and again, and how its index answers beside one built from nothing."""

import copy
import random
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from index_rows import meaning
from plain_catalog import TREE, Document, product, review
from shopwindow.catalog.index.indexing import INDEX_FORMAT, write
from shopwindow.catalog.index.opened import OpenedCatalog, open_index
from shopwindow.catalog.index.sources import Sources
from shopwindow.catalog.protocol import SORTS, ProductQuery

WORDS = [f"{start}{end}" for start in ("wool", "oak", "linen", "silk", "brass", "pine") for end in ("en", "ish", "ful")]
COLORS = ("RED", "BLUE", "GRAY", "TEAL")
SITES: tuple[Document, ...] = ({"catalog": {}}, {"catalog": {"limited_quantity": 5}})


class EditedCatalog:
    """The documents of a catalog. `edit` changes some of them, and says what it did."""

    def __init__(self, seed: int, size: int, with_digests: bool = True) -> None:
        self.with_digests = with_digests
        self.source = random.Random(seed)
        self.site = self.built_with = SITES[0]
        self.tree = copy.deepcopy(TREE)
        self.synonyms: list[list[str]] = [["woolen", "woolly"]]
        self.products = {id: self.product(id) for id in range(2, 2 * size + 2, 2)}
        self.stock = {number: self.quantities() for number in range(2, 2 * size + 2, 3)}
        self.reviews = [self.review(number) for number in range(size)]
        self.next_id = 2 * size + 3

    def text(self, count: int) -> str:
        return " ".join(self.source.choices(WORDS, k=count))

    def product(self, id: int) -> Document:
        source = self.source
        made = product(
            id,
            f"{self.text(2)} {id % 7}",
            description=self.text(6),
            brand=source.choice(("Ash", "Birch", "Cedar")),
            categories=source.sample(range(1, 6), source.choice((1, 1, 2))),
            price={"regular": source.randrange(100, 60_000) / 100},
            colors=[{"id": n, "name": name, "normal": name} for n, name in enumerate(source.sample(COLORS, 2), 1)],
            sizes=[{"id": 1, "name": "Small", "normal": source.choice("SML")}],
            attributes={"Material": [source.choice(WORDS)], **({"Fit": ["Slim"]} if source.random() < 0.4 else {})},
            upcs=[{"upc": f"{id:012}", "sku": id}],
        )
        if source.random() < 0.2:
            made |= {"bestSeller": source.randrange(1, 99)}
        if source.random() < 0.1:
            made |= {"featured": True}
        return made

    def quantities(self) -> Document:
        return {"site": self.source.randrange(3), "stores": {str(n): self.source.randrange(9) for n in range(1, 6)}}

    def review(self, number: int) -> Document:
        day = f"2013-06-{self.source.randrange(1, 28):02}"
        return review(number, self.source.choice(list(self.products)), self.source.randrange(1, 6), day)

    def some(self) -> Document:
        """One of the products, to be changed."""
        return self.products[self.source.choice(list(self.products))]

    # -- what may happen to a catalog

    def price(self) -> None:
        self.some()["price"] = {"regular": self.source.randrange(100, 60_000) / 100}

    def many_prices(self) -> None:
        for _ in range(20):
            self.price()

    def sale(self) -> None:
        self.some()["price"] |= {"sale": 1.5}

    def name(self) -> None:
        self.some()["name"] = self.text(3)

    def unheard_name(self) -> None:
        self.some()["name"] = f"Xylophone{self.source.randrange(50)} {self.text(1)}"

    def description(self) -> None:
        self.some()["description"] = self.text(9)

    def brand(self) -> None:
        self.some()["brand"] = self.source.choice(("Ash", "Birch", "Dogwood"))

    def categories(self) -> None:
        self.some()["categories"] = self.source.sample(range(1, 6), 2)

    def facet_values(self) -> None:
        edited = self.some()
        edited["colors"] = edited["colors"][:1]
        edited["attributes"] = {"Material": [f"Rare{self.source.randrange(9)}"]}

    def start_days(self) -> None:
        self.some()["startDays"] = self.source.randrange(9)

    def flags(self) -> None:
        self.some()["featured"] = self.source.random() < 0.5
        self.some()["storeEligible"] = self.source.random() < 0.5

    def best_seller(self) -> None:
        self.some()["bestSeller"] = self.source.randrange(1, 99)

    def active(self) -> None:
        self.some()["active"] = self.source.random() < 0.5

    def add(self) -> None:
        self.products[self.next_id] = self.product(self.next_id)
        self.next_id += 2

    def remove(self) -> None:
        id = self.source.choice(list(self.products))
        del self.products[id]
        self.reviews = [each for each in self.reviews if each["product"] != id]

    def upc(self) -> None:
        edited = self.some()
        edited["upcs"] = [{**edited["upcs"][0], "active": self.source.random() < 0.5}]

    def members(self) -> None:
        edited = self.some()
        edited["members"] = [id for id in self.source.sample(list(self.products), 3) if id != edited["id"]]

    def all_stock(self) -> None:
        self.stock = {number: self.quantities() for number in self.stock}

    def one_stock(self) -> None:
        self.stock[self.source.choice(list(self.stock))] = self.quantities()

    def stock_of_another_order(self) -> None:
        numbers = list(self.stock)
        self.source.shuffle(numbers)
        self.stock = {number: self.stock[number] for number in numbers}

    def no_stock(self) -> None:
        del self.stock[self.source.choice(list(self.stock))]

    def reviewed(self) -> None:
        self.reviews.append(self.review(10_000 + len(self.reviews)))

    def unreviewed(self) -> None:
        self.reviews.pop(self.source.randrange(len(self.reviews)))

    def category_name(self) -> None:
        self.source.choice(self.tree)["name"] = self.text(1)

    def category_moved(self) -> None:
        self.tree[3]["parent"] = self.source.choice((1, 2, 3, 5))

    def other_synonyms(self) -> None:
        self.synonyms = [[self.text(1), self.text(1)]]

    def settings(self) -> None:
        self.site = self.source.choice(SITES)

    def edit(self) -> str:
        """Do one of these. Return its name."""
        name = self.source.choice(EDITS)
        act: Callable[[], None] = getattr(self, name)
        act()
        return name

    # -- its index

    def sources(self) -> Sources:
        stock = [{"upc": f"{number:012}", **quantities} for number, quantities in self.stock.items()]
        recommendations = [{"product": id, "products": [2, 4]} for id in list(self.products)[:3]]
        products = list(copy.deepcopy(self.products).values())
        kinds = {"product": products, "inventory": stock, "review": self.reviews, "recommendation": recommendations}
        digests = {kind: sha256(orjson.dumps(documents)).hexdigest() for kind, documents in kinds.items()}
        return Sources(
            self.site,
            self.tree,
            (),
            products,
            stock,
            self.reviews,
            recommendations,
            self.synonyms,
            digests if self.with_digests else {},
        )

    def written(self, path: Path, previous: Path | None = None) -> str:
        """Write the index; return the digest of its rows.

        A build hands on the previous index only where the settings are as they were (`Index.beside`).
        """
        previous = previous if self.site == self.built_with else None
        return write(path, self.sources(), 1, previous=previous).removeprefix(f"{INDEX_FORMAT}:")


EDITS = [
    name
    for name, value in vars(EditedCatalog).items()
    if callable(value)
    and not name.startswith("_")
    and name not in ("text", "product", "quantities", "review", "some", "edit", "sources", "written")
]

RANKS_KEPT = [
    "price",
    "many_prices",
    "sale",
    "name",
    "unheard_name",
    "description",
    "brand",
    "categories",
    "facet_values",
    "start_days",
    "flags",
    "upc",
    "all_stock",
    "one_stock",
    "stock_of_another_order",
    "no_stock",
    "reviewed",
    "unreviewed",
    "other_synonyms",
]
"""The edits after which every product stands where it stood."""


def same(edited: EditedCatalog, folder: Path, previous: Path, questions: int) -> Path:
    """Write the index upon the previous one, and compare rows, digest and answers with one from nothing."""
    again, anew = folder / "again", folder / "anew"
    digests = edited.written(again, previous), edited.written(anew)
    assert digests[0] == digests[1]
    rows = meaning(again), meaning(anew)
    assert {name: value for name, value in rows[0].items() if value != rows[1][name]} == {}
    one, other = open_index(again), open_index(anew)
    for number in range(questions):
        source = random.Random(number)
        assert _answer(one, source) == _answer(other, random.Random(number))
    anew.unlink()
    edited.built_with = edited.site
    return again


def _answer(index: OpenedCatalog, source: random.Random) -> Any:
    """What an index answers to a question that is drawn."""
    query = ProductQuery(
        filters={"COLOR": (source.choice(COLORS),)} if source.random() < 0.3 else {},
        price=((None, 300.0),) if source.random() < 0.2 else (),
        pick_up=(source.randrange(1, 6),) if source.random() < 0.2 else None,
        sort=source.choice((None, *SORTS)),
        page=source.randrange(1, 4),
    )
    kind = source.randrange(4)
    if kind == 0:
        return index.browse(source.randrange(1, 6), query)
    if kind == 1:
        phrase = " ".join(source.choices((*WORDS, "wolen", "xylophone3", "slik", "small"), k=source.choice((1, 2, 3))))
        return index.search(phrase, query)
    if kind == 2:
        ids = [2 * source.randrange(1, 400) for _ in range(5)]
        return index.products(ids), [index.reviews(id, 1, 3) for id in ids], index.brands([1, 5])
    upcs = [f"{2 * source.randrange(1, 400):012}" for _ in range(5)]
    return index.availability(upcs, range(1, 6)), index.product_of_upc(upcs), index.recommended(2, 5)


def runs(edited: EditedCatalog, folder: Path, edits: int, questions: int) -> Iterator[str]:
    """Edit a catalog so often, each index upon the one before. Yield what was done."""
    previous = folder / "0"
    edited.written(previous)
    for number in range(1, edits + 1):
        name = edited.edit()
        path = same(edited, folder, previous, questions)
        previous.unlink()
        previous = path.rename(folder / str(number))
        yield name
