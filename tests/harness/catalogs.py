"""Catalogs of tests: one by hand, plain ones with plain answers, and one that is edited at random."""

import copy
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from hypothesis import strategies as st

from harness.content import app, site, small, store
from harness.content import write as write_documents
from harness.program import PHONE
from shopwindow.catalog.catalog_index import CATALOG
from shopwindow.catalog.feeds.rows import LIMITED_QUANTITY
from shopwindow.catalog.feeds.rules import check_digit
from shopwindow.catalog.index.lines import Feeds, Line
from shopwindow.catalog.index.sums import complete
from shopwindow.catalog.index.taking import take
from shopwindow.catalog.protocol import SORTS, Catalog, Facet, Page, ProductQuery, Reviews
from shopwindow.catalog.reading.explaining import explain, lacks
from shopwindow.catalog.reading.opened import OpenedCatalog
from shopwindow.content.documents.documents import Content

# The room's own doors, for what the command does not show.
__all__ = [
    "CATALOG",
    "Catalog",
    "Facet",
    "OpenedCatalog",
    "Page",
    "ProductQuery",
    "Reviews",
    "check_digit",
    "explain",
    "lacks",
]

# -- a small catalog by hand, as the files of a content folder; and the index that is made of it -----------------------


Json = Any

SETTINGS = {
    "image_url": "https://images.shop.example",
    "product_url": "https://www.shop.example/product/{id}",
    "brand_url": "https://www.shop.example/brand/{name}",
}
"""site.yaml's `catalog`."""

CATEGORIES = [
    {
        "id": 1,
        "name": "Women",
        "url": "https://www.shop.example/women",
        "categories": [
            {
                "id": 12,
                "name": "Shoes & Boots",
                "url": "https://www.shop.example/shoes",
                "brandFlyout": True,
                "pageType": "Dynamic",
                "pageId": "p12",
                "pageTitle": "Shoes",
                "metaDescription": "All shoes",
                "highlight": True,
                "clickable": True,
                "categories": [{"id": 121, "name": "Pumps", "url": "https://www.shop.example/pumps"}],
            },
            {
                "id": 11,
                "name": "Sale",
                "type": "GoTo",
                "url": "https://www.shop.example/sale",
                "overrideUrl": "https://www.shop.example/sale/shoes",
                "overrideCategoryId": 12,
                "mobilePublish": "N",
                "clickable": False,
            },
        ],
    },
    {"id": 2, "name": "Home", "type": "Splash", "url": "https://www.shop.example/home"},
]
BRANDS = [{"name": "Anne Field", "id": 500, "url": "https://www.shop.example/anne-field"}]

RED, BLACK, OLD = "036000291452", "012345678905", "4006381333931"
"""UPCs of the pump: the red one, a black one that is not available, and one that is sold no more."""
LAMP = "96385074"

PUMP = {
    "id": 100,
    "name": "Patent Pump",
    "description": "A pump of patent leather <shiny>.",
    "typeName": "SHOE",
    "brand": "Anne Field",
    "categories": [121, 12],
    "images": {"primary": "pump.jpg", "additional": ["pump-side.jpg", "pump-top.jpg"]},
    "colors": [
        {
            "id": 7,
            "name": "Cherry",
            "normal": "RED",
            "swatch": "cherry.jpg",
            "image": "pump-red.jpg",
            "additional": ["pump-red-side.jpg"],
        },
        {"id": 8, "name": "Night", "normal": "BLACK"},
    ],
    "sizes": [{"id": 71, "name": "8 M", "normal": "8"}, {"id": 72, "name": "8½ M", "normal": "8.5"}],
    "price": {
        "regular": 100,
        "sale": 69.99,
        "type": "Clearance",
        "typeId": 4,
        "displayText": "Limited time",
        "finalPrice": {"value": 59.99, "display": "Always Show", "promotions": [7, 5]},
    },
    "upcs": [
        {"upc": RED, "sku": 9001, "color": 7, "size": 71, "attributes": {"WIDTH": ["M"]}},
        {"upc": BLACK, "sku": 9002, "color": 8, "size": 72, "price": {"regular": 110}, "orderMethod": "VENDOR DIRECT"},
        {"upc": OLD, "sku": 9003, "active": False},
    ],
    "attributes": {"HEEL_HEIGHT": ["High"], "MATERIAL": ["Leather", "Rubber"]},
    "bullets": ["Leather upper", "Made by hand"],
    "promotions": [11, 5],
    "rebates": [
        {"id": 2, "description": "$5 back", "url": "https://www.shop.example/rebate/2"},
        {"id": 1, "description": "$1 back"},
    ],
    "new": True,
    "giftWrappable": True,
    "giftMessageable": True,
    "shipping": {"methods": ["Ground"], "returnConstraint": ["30 days"], "notes": ["Ships boxed"]},
    "maxQuantity": 6,
    "productGroup": "Shoes",
    "startDays": 12,
    "bestSeller": 2,
    "corpclass": {"deptid": 31, "deptcode": "31A", "divisionid": 3, "division": "Footwear"},
    "updated": "2026-11-20T10:00:00-05:00",
    "featured": True,
    "badges": [{"badge": "Extra 10%", "selectColor": False, "promotionId": 7}],
}
FLAT = {
    "id": 101,
    "name": "Café Flat",
    "description": "A flat shoe.",
    "typeName": "SHOE",
    "brand": "Anne Field",
    "url": "https://www.shop.example/cafe-flat",
    "categories": [12],
    "images": {"primary": "flat.jpg"},
    "price": {"regular": {"low": 50, "high": 80}, "sale": {"low": 30, "high": 60}},
    "bestSeller": 1,
    "updated": "2026-11-22T00:00:00Z",
}
SET = {
    "id": 102,
    "name": "Evening Set",
    "description": "Shoes for an evening.",
    "typeName": "SET",
    "brand": "Zoë",
    "categories": [1],
    "images": {"primary": "set.jpg"},
    "price": {"regular": {"low": 30, "high": 110}},
    "members": [101, 100],
    "updated": "2026-11-01T00:00:00Z",
}
WITHDRAWN = {
    "id": 103,
    "name": "Withdrawn Pump",
    "description": "It was a pump.",
    "typeName": "SHOE",
    "brand": "Anne Field",
    "categories": [12],
    "images": {"primary": "gone.jpg"},
    "price": {"regular": 20},
    "active": False,
    "visible": False,
}
SOLD_OUT = {
    "id": 104,
    "name": "Desk Lamp",
    "description": "A lamp.",
    "typeName": "LAMP",
    "brand": "Lumen",
    "categories": [2],
    "images": {"primary": "lamp.jpg"},
    "price": {"regular": 25.5},
    "upcs": [{"upc": LAMP, "sku": 9004}],
    "storeEligible": False,
}
VASES = [
    {
        "id": 200 + number,
        "name": f"Vase {number}",
        "description": "A vase.",
        "typeName": "VASE",
        "brand": f"Maker {number:02}",
        "categories": [2],
        "images": {"primary": "vase.jpg"},
        "price": {"regular": 10 * number},
    }
    for number in range(1, 13)
]
"""Twelve brands: more than a facet tells at first."""
PRODUCTS = [PUMP, FLAT, SET, WITHDRAWN, SOLD_OUT, *VASES]

INVENTORY = [
    {"upc": RED, "site": 50, "stores": {"2001": 2, "2002": 10, "2003": 0}},
    {"upc": BLACK, "site": 0, "stores": {"2002": 4}},
    {"upc": LAMP, "site": 0, "stores": {"2001": 9}},
]
REVIEWS = [
    {
        "id": "r2",
        "product": 100,
        "rating": 5,
        "title": "Love them",
        "text": "Danced all night.",
        "date": "2026-10-02",
        "name": "Kim",
        "recommended": True,
        "location": "Hartford, CT",
        "ageRange": "35to44",
        "gender": "Female",
        "positive": 3,
        "negative": 0,
    },
    {
        "id": "r1",
        "product": 100,
        "rating": 4,
        "title": "Good",
        "text": "A little high.",
        "date": "2026-10-03",
        "name": "Sam",
        "recommended": False,
    },
]
RECOMMENDATIONS = [{"product": 100, "products": [102]}]

FILES = {
    "categories.yaml": CATEGORIES,
    "brands.yaml": BRANDS,
    "products.yaml": PRODUCTS,
    "inventory.yaml": INVENTORY,
    "reviews.yaml": REVIEWS,
    "recommendations.yaml": RECOMMENDATIONS,
}


def files() -> Iterator[tuple[str, Json]]:
    """The catalog's part of a content folder."""
    for name, documents in FILES.items():
        yield f"catalog/{name}", documents


def indexed(content: Content, folder: Path, **more: Json) -> Catalog:
    """The catalog as a release of ``content`` has it. ``more``: other documents than the ones above, by kind."""
    given: dict[str, Json] = {name.removesuffix(".yaml"): documents for name, documents in FILES.items()} | more
    path = folder / "catalog.sqlite"
    written(path, stores=_stores(given["inventory"]), settings=content.setting("catalog") or {}, **given)
    return OpenedCatalog(path)


class AsTheyAre:
    """Reads lists of documents, which nobody checks: a test may leave out what the schemas want."""

    def lines(self, part: list[Json]) -> Iterator[Line]:
        return (Line(orjson.dumps(document), document) for document in part)

    def documents(self, part: list[Json], lines: Sequence[Line]) -> Iterator[Json]:
        return (line.record for line in lines)


def _flat(categories: Iterable[Json], parent: int | None = None) -> Iterator[Json]:
    """Categories, each with its parent and without those within it."""
    for one in categories:
        yield {"parent": parent} | {name: part for name, part in one.items() if name != "categories"}
        yield from _flat(one.get("categories", ()), one["id"])


def written(path: Path, stores: Iterable[int] = (), settings: Json = None, **given: Iterable[Json]) -> None:
    """Write the index of some documents, by the names of their feeds."""
    names = {"product": "products", "inventory": "inventory", "review": "reviews", "recommendation": "recommendations"}
    parts = {kind: [list(given.get(name, ()))] for kind, name in names.items()}
    limited = (settings or {}).get("limited_quantity", LIMITED_QUANTITY)
    feeds = Feeds(
        parts,
        AsTheyAre(),
        list(_flat(given.get("categories", ()))),
        sorted(stores),
        limited,
        brands=list(given.get("brands", ())),
        synonyms=list(given.get("synonyms", ())),
    )
    take(path, feeds, jobs=1)
    complete(path, feeds, (settings or {}).get("brand_url"))


# -- small catalogs for tests, and what a plain program would answer about them ----------------------------------------


Document = dict[str, Any]
URL = "https://www.example.com/"
RANGES = ((0, 49.99), (50, 99.99), (100, 249.99), (250, 499.99), (500, None))
FACETS = {"BRAND": "Brand", "COLOR": "Color", "SIZE": "Size", "PRICE": "Price", "MATERIAL": "Material"}


def _stores(inventory: Iterable[Document]) -> set[int]:
    """The location numbers that documents about stock name."""
    return {int(number) for document in inventory for number in document.get("stores", {})}


def category(id: int, name: str = "Things", **more: Any) -> Document:
    return {"id": id, "name": name, "url": f"{URL}c/{id}", **more}


def product(id: int, name: str = "Plain Thing", **more: Any) -> Document:
    """A valid product with nothing that is optional."""
    return {
        "id": id,
        "name": name,
        "description": "Nothing to say.",
        "typeName": "THING",
        "brand": "Larkspur",
        "categories": [1],
        "images": {"primary": f"{id}.jpg"},
        "price": {"regular": 10.0},
        **more,
    }


def review(number: int, about: int, rating: int, day: str = "2013-06-21") -> Document:
    return {
        "id": f"r{number}",
        "product": about,
        "rating": rating,
        "title": "Well",
        "text": "It is what it is.",
        "date": day,
        "name": "Ada",
        "recommended": True,
    }


def index(folder: Path, *products: Document, **more: Any) -> OpenedCatalog:
    """The index of some products, in one category unless others are given."""
    path = folder / f"catalog-{len(list(folder.iterdir()))}.sqlite"
    stores = _stores(more.get("inventory", ()))
    given = {"categories": [category(1)], "products": products, "stores": stores, **more}
    written(path, **given)
    return OpenedCatalog(path)


# -- arbitrary catalogs, and plain answers -----------------------------------------------------------------------

TREE = [category(1), category(2, parent=1), category(3, parent=1), category(4, "lights", parent=2), category(5)]
ABOVE = {1: {1}, 2: {1, 2}, 3: {1, 3}, 4: {1, 2, 4}, 5: {5}}
WORDS = ("wool", "linen", "shirt", "scarf", "lamp", "oak", "table")
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
CENTS = st.integers(0, 60_000)
PRICES = CENTS.map(lambda cents: cents / 100)


MATERIAL: Document = {"attributes": {"Material": ["Teak"]}, "colors": [], "sizes": [], "active": False}
HIDDEN = [product(id, **MATERIAL) for id in (10**9 + 1, 10**9 + 2)]
"""What two products carry is a facet."""


@st.composite
def products(draw: st.DrawFn) -> list[Document]:
    """Up to thirty products that differ in all that lists look at, and two that nobody sees."""
    ids = draw(st.lists(st.integers(1, 10**9), unique=True, max_size=30))
    return [*(draw(_product(id)) for id in ids), *HIDDEN]


@st.composite
def _product(draw: st.DrawFn, id: int) -> Document:
    regular = draw(PRICES)
    found = product(
        id,
        draw(NAMES),
        description=draw(NAMES),
        brand=draw(st.sampled_from(("Ash", "Birch", "Cedar"))),
        categories=draw(st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True)),
        price={"regular": regular, **({"sale": regular / 2} if draw(st.booleans()) else {})},
        active=draw(st.sampled_from((True, True, True, False))),
        attributes={"Material": draw(st.lists(st.sampled_from(("Teak", "Silk")), min_size=1, unique=True))},
    )
    colors = draw(st.lists(st.sampled_from(("RED", "BLUE", "GRAY")), max_size=3))
    found["colors"] = [{"id": number, "name": color, "normal": color} for number, color in enumerate(colors, 1)]
    sizes = draw(st.lists(st.sampled_from(("S", "M")), max_size=2))
    found["sizes"] = [{"id": number, "name": size, "normal": size} for number, size in enumerate(sizes, 1)]
    for name in ("startDays", "bestSeller"):
        if draw(st.booleans()):
            found[name] = draw(st.integers(1, 4))
    return found


FILTERS = st.dictionaries(
    st.sampled_from(("BRAND", "COLOR", "SIZE", "MATERIAL", "CATEGORY")),
    st.lists(
        st.sampled_from(("Ash", "Birch", "RED", "BLUE", "S", "Teak", "Nothing", "3", "04", "Lights")), min_size=1
    ).map(tuple),
    max_size=3,
)
ENDS = st.one_of(st.none(), PRICES)
QUESTIONS = st.builds(
    ProductQuery,
    filters=FILTERS,
    price=st.lists(st.tuples(ENDS, ENDS), max_size=2).map(tuple),
    sort=st.sampled_from((None, *SORTS)),
    page=st.integers(1, 3),
    perpage=st.integers(1, 12),
)


def cost(document: Document) -> float:
    price = document["price"]
    amount = price.get("sale", price["regular"])
    return float(amount["low"] if isinstance(amount, dict) else amount)


def values(document: Document, facet: str) -> set[str]:
    """What a product has of a facet."""
    if facet == "BRAND":
        return {document["brand"]}
    if facet == "CATEGORY":
        above = set().union(*(ABOVE[id] for id in document["categories"]))
        return {*map(str, above), *(["04", "Lights"] if 4 in above else [])}
    if facet in ("COLOR", "SIZE"):
        return {each["normal"] for each in document["colors" if facet == "COLOR" else "sizes"]}
    return set(document["attributes"]["Material"])


def passes(document: Document, question: ProductQuery, but: str = "") -> bool:
    """Whether a product passes all filters, or all but one."""
    cents = round(cost(document) * 100)
    within = [
        (low is None or cents >= round(low * 100)) and (high is None or cents <= round(high * 100))
        for low, high in question.price
    ]
    in_category = "CATEGORY" not in question.filters or values(document, "CATEGORY") & {*question.filters["CATEGORY"]}
    return (
        bool(in_category)
        and all(bool(values(document, name) & set(wanted)) for name, wanted in question.filters.items() if name != but)
        and (but == "PRICE" or not within or any(within))
    )


def facets(documents: Sequence[Document], question: ProductQuery) -> tuple[Facet, ...]:
    """All facets of some products, each without its own filter."""
    found = []
    for name, shown in FACETS.items():
        counted = [document for document in documents if passes(document, question, name)]
        if name == "PRICE":
            cents = [round(cost(document) * 100) / 100 for document in counted]
            ranges = [
                (low, high, sum(low <= each and (high is None or each <= high) for each in cents))
                for low, high in RANGES
            ]
            found.append(Facet(name, shown, (), tuple(each for each in ranges if each[2])))
        else:
            counts = Counter(value for document in counted for value in values(document, name))
            ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            found.append(Facet(name, shown, tuple(ordered)))
    return tuple(facet for facet in found if facet.values or facet.ranges)


def ordered(documents: Iterable[Document], sort: str | None, ratings: Mapping[int, float]) -> list[int]:
    """The ids of some products in an order; equals, and those without the value, by id."""
    key, _, direction = (sort or "bestseller_ascending").partition("_")

    def value(document: Document) -> Any:
        by = {"price": round(cost(document) * 100), "rating": ratings.get(document["id"]), "name": document["name"]}
        return {**by, "newness": document.get("startDays"), "bestseller": document.get("bestSeller")}[key]

    by_id = sorted(documents, key=lambda document: document["id"])
    having = [document for document in by_id if value(document) is not None]
    down = (direction == "descending") != (key == "newness")  # newer is fewer days
    having.sort(key=value, reverse=False)
    if down:
        having = [
            document
            for each in sorted({value(document) for document in having}, reverse=True)
            for document in having
            if value(document) == each
        ]
    return [document["id"] for document in [*having, *(each for each in by_id if value(each) is None)]]


# -- a catalog whose documents are changed at random, and are always such that the check has nothing to say ------------


DRAWN_WORDS = [
    f"{start}{end}" for start in ("wool", "oak", "linen", "silk", "brass", "pine") for end in ("en", "ish", "ful")
]
COLORS = ("RED", "BLUE", "GRAY", "TEAL")
DRAWN_BRANDS = ("Ash", "Birch", "Cedar", "Dogwood")
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
    """

    def __init__(self, seed: int, size: int) -> None:
        self.source = random.Random(seed)
        self.size = size
        self.site = SITES[0]
        self.tree = copy.deepcopy(TREE)
        self.brands = [self.brand(number, name) for number, name in enumerate(DRAWN_BRANDS[:2], 1)]
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
        return " ".join(self.source.choices(DRAWN_WORDS, k=count))

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
            brand=source.choice(DRAWN_BRANDS[:3]),
            categories=self.some_categories(source.choice((1, 1, 2))),
            price=self.price(),
            colors=[{"id": n, "name": name, "normal": name} for n, name in enumerate(source.sample(COLORS, 2), 1)],
            sizes=[{"id": 1, "name": "Small", "normal": source.choice("SML")}],
            attributes={
                "Material": [source.choice(DRAWN_WORDS)],
                **({"Fit": ["Slim"]} if source.random() < 0.4 else {}),
            },
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

    # -- its files

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

    def as_content(self, folder: Path) -> Path:
        """Write a content folder with these documents, a line each, as feeds have them; the phone application reads."""
        settings = {"image_url": f"{URL}i", "product_url": f"{URL}p/{{id}}", **self.site["catalog"]}
        stores = {f"stores/of-feeds-{n}.yaml": store(100 + n, locationNumber=n) for n in (*LOCATIONS, *NEW_LOCATIONS)}
        phone = {**app("phone"), "apiKeys": [sha256(PHONE.encode()).hexdigest()]}
        write_documents(folder, {**small(), **stores, "apps/phone.yaml": phone, "site.yaml": site(catalog=settings)})
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
