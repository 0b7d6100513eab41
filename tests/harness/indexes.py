"""A catalog that is edited: releases built each upon the one before, and what apps are answered from them.

What is compared is what a reader of a release gets: its id, which covers every file, and answers of the service.
"""

import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from urllib.parse import quote, urlencode

from facts.index_edits import EDITS, Edit
from harness.catalogs import COLORS, DRAWN_BRANDS, DRAWN_WORDS, LOCATIONS, NEW_LOCATIONS, TREE, EditedCatalog
from harness.content import AT
from harness.program import KEY, PHONE, Answer, Application, Request, answered, served
from shopwindow import library
from shopwindow.shop import INTERFACE

# -- requests about a catalog, drawn at random -------------------------------------------------------------------------


class RequestSource:
    """Draws targets: mostly about what a catalog has, and some about what it never had or has no longer."""

    def __init__(self, shop: EditedCatalog, seed: int) -> None:
        self.source = random.Random(seed)
        products = [*shop.products.values(), *shop.gone]
        entries = [entry for product in products for entry in product.get("upcs", ())]
        self.all_ids = [*(str(product["id"]) for product in products), str(10**9)]
        self.all_upcs: list[str] = [
            *(entry["upc"] for entry in entries),
            *(str(entry["sku"]) for entry in entries),
            "96385074",
        ]
        self.all_categories = [*(str(each["id"]) for each in shop.tree for _ in range(3)), "99"]
        self.names = [*(str(product["name"]) for product in products), "Nothing"]
        self.other_words = [*(str(each["name"]) for each in shop.tree), *OTHER_WORDS]

    def ids(self) -> str:
        return ",".join(self.source.choices(self.all_ids, k=4))

    def upcs(self) -> str:
        return ",".join(self.source.choices(self.all_upcs, k=4))

    def category(self) -> str:
        return self.source.choice(self.all_categories)

    def categories(self) -> str:
        return ",".join(self.source.choices(self.all_categories, k=2))

    def location(self) -> str:
        return str(self.source.choice((*LOCATIONS, *NEW_LOCATIONS, 99)))

    def since(self) -> str:
        return f"2026-11-{self.source.randrange(1, 28):02}T12:00:00.000Z"

    def number(self, most: int) -> str:
        return str(self.source.randrange(1, most + 1))

    def some(self, **parameters: str) -> str:
        """A query of some of these parameters."""
        chosen = {name: value for name, value in parameters.items() if self.source.random() < 0.5}
        return urlencode(chosen)

    def phrase(self) -> str:
        """Words that products have, misspelled ones, numbers, prices, or a product's whole name."""
        source = self.source
        drawn = source.random()
        if drawn < 0.1:
            return source.choice((*self.all_ids, *self.all_upcs))
        if drawn < 0.25:
            return source.choice(self.names)
        words = source.choices((*DRAWN_WORDS, *self.other_words), k=source.choice((1, 1, 2, 3)))
        words = [misspelled(word, source) if source.random() < 0.2 else word for word in words]
        limit = source.choice((" under $300", " over $50")) if source.random() < 0.15 else ""
        return " ".join(words) + limit

    def narrowed(self, **parameters: str) -> str:
        """A query of a list: perhaps filters, prices, a store, and some of these parameters."""
        source = self.source
        chosen = {
            name: f"[{','.join(source.choices(FILTERS[name], k=2))}]"
            for name in source.sample(list(FILTERS), source.choice((0, 0, 0, 1, 1, 2)))
        }
        if source.random() < 0.1:
            chosen["CATEGORY"] = source.choice((*self.all_categories, "Things"))
        if source.random() < 0.3:
            chosen["PRICE"] = source.choice(("[*TO300]", "[500TO*]", "[*TO300,500TO*]"))
        if source.random() < 0.2:
            chosen["UPC_BOPS_PURCHASABLE"] = self.location()
        return "&".join(filter(None, (urlencode(chosen), self.some(**parameters))))


OTHER_WORDS = (
    *COLORS,
    *DRAWN_BRANDS,
    "small",
    "slim",
    "rare3",
    "xylophone7",
    "gloss",
    "shade",
    "lamp",
    "set",
    "3",
    "woolly",
    "angstrom",
    "café",
)
"""Beside `DRAWN_WORDS`: what edits put into brands, attributes and types of products."""

FILTERS: dict[str, tuple[str, ...]] = {
    "BRAND": DRAWN_BRANDS,
    "COLOR": (*COLORS, "red"),
    "SIZE": tuple("SMLX"),
    "MATERIAL": (*DRAWN_WORDS[:4], "Rare3", "Shade 7"),
    "FIT": ("Slim",),
    "FINISH": ("Matt", "Gloss", "Shade 7"),
    "NO_FACET": ("Nothing",),
}

SHOWN = "summary,price,attribute,promotion,image,category,availability,rebate,upc,review"
"""All that a product's answer may hold."""

BROWSED_BY = ("price", "customerrating", "name", "bestseller", "newarrival")
SEARCHED_BY = ("PRICE_ASCENDING", "PRICE_DESCENDING", "CUSTOMER_RATING", "NEWNESS", "BEST_SELLERS")


def browsed(drawn: RequestSource) -> str:
    query = drawn.narrowed(
        sortby=drawn.source.choice(BROWSED_BY),
        sortorder=drawn.source.choice(("asc", "desc")),
        currentpage=drawn.number(4),
        resultsperpage=drawn.source.choice(("1", "5", "24")),
    )
    return f"v3/catalog/category/{drawn.category()}/browseproducts?{query}"


def searched(drawn: RequestSource) -> str:
    query = drawn.narrowed(
        sortorderby=drawn.source.choice(SEARCHED_BY),
        page=drawn.number(4),
        perpage=drawn.source.choice(("1", "5", "24")),
        facetexpandall="true",
    )
    return f"v4/catalog/search?searchphrase={quote(drawn.phrase())}&{query}"


REQUESTS: dict[str, tuple[int, Callable[[RequestSource], str]]] = {
    "product_v3": (8, lambda drawn: f"v3/catalog/product/{drawn.ids()}?show={SHOWN}"),
    "product_v3_by_upc": (3, lambda drawn: f"v3/catalog/product?upc={drawn.upcs()}"),
    "product_v4": (6, lambda drawn: f"v4/catalog/product/{drawn.ids()}"),
    "product_v4_by_upc": (3, lambda drawn: f"v4/catalog/product/upc/{drawn.upcs()}"),
    "product_index": (
        5,
        lambda drawn: f"v3/catalog/product/index?{drawn.some(since=drawn.since(), category=drawn.category())}",
    ),
    "category": (3, lambda drawn: f"v3/catalog/category/{drawn.categories()}"),
    "category_index": (1, lambda drawn: "v3/catalog/category/index"),
    "brand_index": (
        3,
        lambda drawn: f"v4/catalog/category/brandindex/{drawn.categories()}?{drawn.some(refcatid=drawn.category())}",
    ),
    "brand_index_of_reference": (1, lambda drawn: f"v4/catalog/category/brandindex?refcatid={drawn.category()}"),
    "browse_products": (25, browsed),
    "search": (25, searched),
    "reviews": (
        5,
        lambda drawn: (
            f"v3/catalog/reviews?productId={drawn.source.choice(drawn.all_ids)}"
            f"&numOfReviews={drawn.number(4)}&pageNumber={drawn.number(3)}"
        ),
    ),
    "recommendations": (4, lambda drawn: f"v4/recommendations/product/{drawn.ids()}?maxprods={drawn.number(8)}"),
    "bops_by_product": (
        3,
        lambda drawn: f"v4/catalog/bops/product/{drawn.ids()}?locationNumber={drawn.location()}&zipCode=02116",
    ),
    "bops_by_upc": (
        3,
        lambda drawn: f"v4/catalog/bops/upc/{drawn.upcs()}?locationNumber={drawn.location()}&zipCode=02116",
    ),
}
"""Each operation of the catalog: how often it is drawn, and how its target is."""


def misspelled(word: str, source: random.Random) -> str:
    """A word without one letter, or with two in the wrong order."""
    place = source.randrange(max(1, len(word) - 1))
    if source.random() < 0.5:
        return word[:place] + word[place + 1 :]
    return word[:place] + word[place : place + 2][::-1] + word[place + 2 :]


def drawn_requests(shop: EditedCatalog, seed: int, number: int) -> list[tuple[str, str]]:
    """So many requests about a catalog: the operation and the target."""
    drawn = RequestSource(shop, seed)
    weights = [weight for weight, _ in REQUESTS.values()]
    operations = drawn.source.choices(list(REQUESTS), weights, k=number)
    return [(operation, REQUESTS[operation][1](drawn)) for operation in operations]


AT_ONCE = 90
"""Ids that one request asks for: a few less than it may."""


def whole(shop: EditedCatalog) -> Iterator[str]:
    """Targets that together show every document, every list in every order, and what every word finds."""
    for ids in batched(map(str, shop.products)):
        yield f"v3/catalog/product/{ids}?show={SHOWN}"
        yield f"v4/recommendations/product/{ids}?maxprods=8"
    for upcs in batched(entry["upc"] for _, entry in shop.upcs()):
        for location in (*LOCATIONS, *NEW_LOCATIONS):
            yield f"v4/catalog/bops/upc/{upcs}?locationNumber={location}&numberOfStores=1"
    for id in shop.products:
        yield f"v3/catalog/reviews?productId={id}"
    yield "v3/catalog/product/index"
    for category in shop.tree:
        yield f"v4/catalog/category/brandindex/{category['id']}"
        for order, direction in product(BROWSED_BY, ("asc", "desc")):
            path = f"v3/catalog/category/{category['id']}/browseproducts"
            yield f"{path}?resultsperpage=20&sortby={order}&sortorder={direction}"
    names = {str(each["name"]) for each in (*TREE, *shop.tree)}  # those that a category had at first, too
    for word in (*DRAWN_WORDS, *OTHER_WORDS, *sorted(names)):
        yield f"v4/catalog/search?searchphrase={quote(word)}&perpage=20&facetexpandall=true"


def batched(ids: Iterable[str]) -> Iterator[str]:
    """Ids, so many by comma."""
    every = list(ids)
    for start in range(0, len(every), AT_ONCE):
        yield ",".join(every[start : start + AT_ONCE])


def answer(service: Application, target: str) -> Answer:
    return answered(service, Request(f"/{target}", {KEY: PHONE}))


# -- releases upon each other, beside ones from nothing ----------------------------------------------------------------


def release(shop: EditedCatalog, folder: Path, out: str = "dist") -> str:
    """Build a release of a catalog, upon what ``out`` in a folder has; its id."""
    done = library.build(INTERFACE, shop.as_content(folder / "content"), folder / out, at=AT, jobs=1)
    assert done.built is not None, done.checked.problems
    return done.built.id


def same(shop: EditedCatalog, folder: Path, seed: int, number: int) -> None:
    """Build upon the release in a folder, and compare it with one from nothing: its id, what shows the whole catalog,
    and so many answers to requests that are drawn.
    """
    assert release(shop, folder) == release(shop, folder, "anew")
    again, anew = served(folder / "dist"), served(folder / "anew")
    for target in (*whole(shop), *(target for _, target in drawn_requests(shop, seed, number))):
        assert answer(again, target) == answer(anew, target), target
    shutil.rmtree(folder / "anew")


def follow(shop: EditedCatalog, folder: Path, steps: Iterable[Sequence[Edit]], number: int) -> None:
    """Edit a catalog step by step. Each release is built upon the one before, and compared with one from nothing.

    The first is in the folder, or is built now. ``number``: of the drawn answers that each step compares.
    """
    if not (folder / "dist").exists():
        release(shop, folder)
    for step, edits in enumerate(steps, 1):
        for edit in edits:
            edit(shop)
        try:
            same(shop, folder, step, number)
        except AssertionError as error:
            error.add_note(f"after step {step}: {', '.join(edit.__name__ for edit in edits)}")
            raise


MOST_AT_ONCE = 4
"""Edits that a drawn step makes at most."""


def drawn_steps(source: random.Random, number: int) -> Iterator[list[Edit]]:
    """So many steps, of one edit or several. All edits occur before any occurs again."""
    upcoming: list[Edit] = []
    for _ in range(number):
        if len(upcoming) < MOST_AT_ONCE:
            upcoming = [*source.sample(list(EDITS.values()), len(EDITS)), *upcoming]
        yield [upcoming.pop() for _ in range(source.choice((1, 1, 1, 2, MOST_AT_ONCE)))]
