"""A catalog whose documents are changed at random, and are always such that the check has nothing to say."""

import copy
import random
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from plain_catalog import TREE, URL, Document, product, review
from releases import site, small, store
from releases import write as write_documents
from shopwindow.catalog.index.indexing import INDEX_FORMAT, write
from shopwindow.catalog.index.sources import Sources
from shopwindow.catalog.rules import check_digit

WORDS = [f"{start}{end}" for start in ("wool", "oak", "linen", "silk", "brass", "pine") for end in ("en", "ish", "ful")]
COLORS = ("RED", "BLUE", "GRAY", "TEAL")
BRANDS = ("Ash", "Birch", "Cedar", "Dogwood")
LOCATIONS = (1, 2, 3, 4, 5)
"""Location numbers of stores that have stock from the beginning."""
NEW_LOCATIONS = (3000, 300)
"""Those of stores that open later."""

SITES: tuple[Document, ...] = (
    {"catalog": {}},
    {"catalog": {"limited_quantity": 5}},
    {"catalog": {"brand_url": f"{URL}b/{{name}}"}},
)


class EditedCatalog:
    """The documents of a catalog. The edits of `index_edits` change them.

    Whatever `source` draws follows from ``seed``. ``size`` is how many products there are at first.
    Without ``with_digests`` a build has to compare documents, for it does not learn which files are as they were.
    """

    def __init__(self, seed: int, size: int, with_digests: bool = True) -> None:
        self.with_digests = with_digests
        self.source = random.Random(seed)
        self.size = size
        self.site = self.built_with = SITES[0]
        self.tree = copy.deepcopy(TREE)
        self.brands = [self.brand(number, name) for number, name in enumerate(BRANDS[:2], 1)]
        self.synonyms: list[list[str]] = [["woolen", "woolly"]]
        self.entries = 0
        self.products: dict[int, Document] = {}
        self.gone: list[Document] = []
        for id in range(2, 2 * size + 2, 2):
            self.products[id] = self.product(id)
        for id in list(self.products)[::20]:
            self.set_list(self.products[id], "members", self.others(id, 3, above=id))
        self.stock = {entry["upc"]: self.quantities() for _, entry in list(self.upcs())[::2]}
        self.reviews = [self.review(number) for number in range(size)]
        self.next_review = size
        self.recommendations = {id: self.others(id, 2) for id in list(self.products)[:3]}
        for id in self.others(0, 2):
            self.drop(id)

    # -- what is drawn

    def text(self, count: int) -> str:
        return " ".join(self.source.choices(WORDS, k=count))

    def price(self) -> Document:
        """Of a dollar and more, so that any sale price below that is one."""
        regular = self.source.randrange(200, 60_000) / 100
        if self.source.random() < 0.1:
            return {"regular": {"low": regular, "high": regular + 20}}
        return {"regular": regular}

    def product(self, id: int) -> Document:
        source = self.source
        drawn = product(
            id,
            f"{self.text(2)} {id % 7}",
            description=self.text(6),
            brand=source.choice(BRANDS[:3]),
            categories=self.some_categories(source.choice((1, 1, 2))),
            price=self.price(),
            colors=[{"id": n, "name": name, "normal": name} for n, name in enumerate(source.sample(COLORS, 2), 1)],
            sizes=[{"id": 1, "name": "Small", "normal": source.choice("SML")}],
            attributes={"Material": [source.choice(WORDS)], **({"Fit": ["Slim"]} if source.random() < 0.4 else {})},
        )
        entries = [self.entry() for _ in range(source.choice((0, 1, 1, 1, 2)))]
        if entries:
            drawn["upcs"] = entries
        if source.random() < 0.2:
            drawn["bestSeller"] = source.randrange(1, 99)
        if source.random() < 0.1:
            drawn["price"]["sale"] = 1.75
        if source.random() < 0.1:
            drawn["featured"] = True
        if source.random() < 0.1:
            drawn["active"] = False
        if source.random() < 0.3:
            drawn["updated"] = self.instant()
        return drawn

    def entry(self) -> Document:
        """A UPC that no product has had, with its sku."""
        self.entries += 1
        digits = f"{self.entries:011}"
        return {"upc": digits + check_digit(digits), "sku": 700 + self.entries}

    def instant(self) -> str:
        return f"2026-11-{self.source.randrange(1, 28):02}T12:00:00Z"

    def brand(self, id: int, name: str) -> Document:
        return {"name": name, "id": id, "url": f"{URL}brand/{id}"}

    def quantities(self) -> Document:
        stores = {str(location): self.source.randrange(9) for location in LOCATIONS}
        return {"site": self.source.randrange(3), "stores": stores}

    def review(self, number: int) -> Document:
        day = f"2013-06-{self.source.randrange(1, 28):02}"
        return review(number, self.some()["id"], self.source.randrange(1, 6), day)

    def some(self) -> Document:
        """One of the products, to be changed."""
        return self.products[self.source.choice(list(self.products))]

    def some_categories(self, most: int) -> list[int]:
        ids = [each["id"] for each in self.tree]
        return self.source.sample(ids, min(most, len(ids)))

    def others(self, id: int, most: int, above: int = 0) -> list[int]:
        """Products but this one, whose ids are greater than ``above``."""
        ids = [other for other in self.products if other != id and other > above]
        return self.source.sample(ids, min(most, len(ids)))

    def new_id(self) -> int:
        """An id that no product has or had, somewhere among those that there are or behind them."""
        used = {*self.products, *(each["id"] for each in self.gone)}
        end = max(used) + 9
        while (id := self.source.randrange(1, end)) in used:
            pass
        return id

    def upcs(self) -> Iterator[tuple[Document, Document]]:
        """Each product's UPCs: the product and the entry."""
        for each in self.products.values():
            for entry in each.get("upcs", ()):
                yield each, entry

    # -- what follows from a change

    def drop(self, id: int) -> None:
        """Remove a product, and whatever names it."""
        dropped = self.products.pop(id)
        self.gone.append(dropped)
        for entry in dropped.get("upcs", ()):
            self.stock.pop(entry["upc"], None)
        self.reviews = [each for each in self.reviews if each["product"] != id]
        self.recommendations.pop(id, None)
        for chosen in self.recommendations.values():
            if id in chosen:
                chosen.remove(id)
        self.recommendations = {other: chosen for other, chosen in self.recommendations.items() if chosen}
        for other in self.products.values():
            self.set_list(other, "members", [member for member in other.get("members", ()) if member != id])

    def bring_back(self) -> None:
        """A product that was removed, as it was, as far as what it names still exists."""
        if not self.gone:
            return
        again = self.gone.pop(self.source.randrange(len(self.gone)))
        taken = {entry["upc"] for _, entry in self.upcs()} | {entry["sku"] for _, entry in self.upcs()}
        entries = [entry for entry in again.get("upcs", ()) if taken.isdisjoint((entry["upc"], entry["sku"]))]
        self.set_list(again, "upcs", entries)
        self.set_list(again, "members", [id for id in again.get("members", ()) if id in self.products])
        ids = {each["id"] for each in self.tree}
        again["categories"] = [id for id in again["categories"] if id in ids] or self.some_categories(1)
        self.products[again["id"]] = again

    def set_list(self, document: Document, name: str, values: list[Any]) -> None:
        """Give a document a list; an empty one is left out."""
        if values:
            document[name] = values
        else:
            document.pop(name, None)

    def set_upcs(self, changed: Document, entries: list[Document]) -> None:
        """Give a product other UPCs. Stock of a UPC that nobody has any more is removed."""
        self.set_list(changed, "upcs", entries)
        left = {entry["upc"] for _, entry in self.upcs()}
        self.stock = {upc: quantities for upc, quantities in self.stock.items() if upc in left}

    def below(self, category: int) -> set[int]:
        """The ids of a category and of all below it."""
        ids = {category}
        while more := {each["id"] for each in self.tree if each.get("parent") in ids} - ids:
            ids |= more
        return ids

    # -- its index, and its files

    def feeds(self) -> Mapping[str, list[Any]]:
        """All documents, by kind."""
        return {
            "category": self.tree,
            "brand": self.brands,
            "product": list(self.products.values()),
            "inventory": [{"upc": upc, **quantities} for upc, quantities in self.stock.items()],
            "review": self.reviews,
            "recommendation": [{"product": id, "products": chosen} for id, chosen in self.recommendations.items()],
            "synonym": self.synonyms,
        }

    def sources(self) -> Sources:
        feeds = copy.deepcopy(self.feeds())
        digests = {kind: sha256(orjson.dumps(documents)).hexdigest() for kind, documents in feeds.items()}
        return Sources(
            self.site,
            feeds["category"],
            feeds["brand"],
            feeds["product"],
            feeds["inventory"],
            feeds["review"],
            feeds["recommendation"],
            feeds["synonym"],
            digests if self.with_digests else {},
        )

    def written(self, path: Path, previous: Path | None = None) -> str:
        """Write the index; return the digest of its rows.

        A build hands on the previous index only where the settings are as they were (`Index.beside`).
        """
        previous = previous if self.site == self.built_with else None
        return write(path, self.sources(), 1, previous=previous).removeprefix(f"{INDEX_FORMAT}:")

    def as_content(self, folder: Path) -> Path:
        """Write a content folder with these documents: a line each, as feeds have them."""
        settings = {"image_url": f"{URL}i", "product_url": f"{URL}p/{{id}}", **self.site["catalog"]}
        stores = {f"stores/of-feeds-{n}.yaml": store(100 + n, locationNumber=n) for n in (*LOCATIONS, *NEW_LOCATIONS)}
        write_documents(folder, {**small(), **stores, "site.yaml": site(catalog=settings)})
        for kind, name in FEED_FILES.items():
            lines = [orjson.dumps(document) + b"\n" for document in self.feeds()[kind]]
            path = folder / "catalog" / name
            path.parent.mkdir(exist_ok=True)
            if not path.exists() or path.read_bytes() != b"".join(lines):
                path.write_bytes(b"".join(lines))
        return folder


FEED_FILES = {
    "category": "categories.jsonl",
    "brand": "brands.jsonl",
    "product": "products.jsonl",
    "inventory": "inventory.jsonl",
    "review": "reviews.jsonl",
    "recommendation": "recommendations.jsonl",
    "synonym": "synonyms.jsonl",
}
"""Where a content folder has the documents of a kind."""
