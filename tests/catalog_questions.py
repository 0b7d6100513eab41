"""Questions for a catalog, drawn at random: each is a verb of `catalog.protocol.Catalog` and its arguments."""

import random
from collections.abc import Callable
from typing import Any

from edited_catalog import BRANDS, COLORS, LOCATIONS, NEW_LOCATIONS, WORDS, EditedCatalog
from shopwindow.catalog.protocol import SORTS, Catalog, ProductQuery

Question = tuple[str, tuple[Any, ...]]


class QuestionSource:
    """Draws arguments: mostly of what a catalog has, and some of what it never had or has no longer."""

    def __init__(self, shop: EditedCatalog, seed: int) -> None:
        self.source = random.Random(seed)
        products = [*shop.products.values(), *shop.gone]
        entries = [entry for product in products for entry in product.get("upcs", ())]
        self.all_ids: list[int] = [*(product["id"] for product in products), 0, 10**9, 1 << 70]
        self.all_upcs: list[str] = [*(entry["upc"] for entry in entries), "00000000000000", "none"]
        self.all_skus: list[int] = [*(entry["sku"] for entry in entries), 0, 1 << 70]
        self.all_categories: list[int] = [*(each["id"] for each in shop.tree), 99]
        self.names = [str(product["name"]) for product in products]
        self.other_words = [*(str(each["name"]) for each in shop.tree), *OTHER_WORDS]

    def id(self) -> int:
        return self.source.choice(self.all_ids)

    def ids(self) -> list[int]:
        return self.source.choices(self.all_ids, k=6)

    def upcs(self) -> list[str]:
        return self.source.choices(self.all_upcs, k=6)

    def sku(self) -> int:
        return self.source.choice(self.all_skus)

    def category(self) -> int:
        return self.source.choice(self.all_categories)

    def categories(self) -> list[int]:
        return self.source.choices(self.all_categories, k=2)

    def locations(self) -> tuple[int, ...]:
        return tuple(self.source.choices((*LOCATIONS, *NEW_LOCATIONS, 99), k=2))

    def maybe(self, value: Any) -> Any:
        return value if self.source.random() < 0.5 else None

    def page_of_ids(self) -> tuple[Any, ...]:
        since = f"2026-11-{self.source.randrange(1, 28):02}T12:00:00.000Z"
        offset, limit = self.source.randrange(30), self.source.randrange(1, 40)
        return self.maybe(since), offset, self.maybe(limit), self.maybe(self.categories())

    def phrase(self) -> str:
        """Words that products have, misspelled ones, numbers, prices, or a product's whole name."""
        source = self.source
        drawn = source.random()
        if drawn < 0.1:
            return str(source.choice((self.id(), self.sku(), *self.upcs())))
        if drawn < 0.25:
            return source.choice(self.names)
        words = source.choices((*WORDS, *self.other_words), k=source.choice((1, 1, 2, 3)))
        words = [misspelled(word, source) if source.random() < 0.2 else word for word in words]
        limit = source.choice((" under $300", " over $50")) if source.random() < 0.15 else ""
        return " ".join(words) + limit

    def query(self) -> ProductQuery:
        source = self.source
        names = source.sample(list(FILTERS), source.choice((0, 0, 0, 1, 1, 2)))
        filters = {name: tuple(source.choices(FILTERS[name], k=source.choice((1, 1, 2)))) for name in names}
        if source.random() < 0.1:
            filters["CATEGORY"] = tuple(source.choice((str(id), f"0{id}", "Things")) for id in self.categories())
        return ProductQuery(
            filters,
            price=((None, 300.0), (500.0, None))[: source.choice((0, 0, 0, 1, 2))],
            pick_up=self.locations() if source.random() < 0.2 else None,
            sort=source.choice((None, *SORTS)),
            page=source.choice((1, 1, 2, 3, 6)),
            perpage=source.choice((1, 5, 12, 60)),
            facets=source.random() < 0.7,
            products=source.random() < 0.9,
        )


OTHER_WORDS = (
    *COLORS,
    *BRANDS,
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
"""Beside `WORDS`: what edits put into brands, attributes and types of products."""

FILTERS: dict[str, tuple[str, ...]] = {
    "BRAND": BRANDS,
    "COLOR": (*COLORS, "red"),
    "SIZE": tuple("SMLX"),
    "MATERIAL": (*WORDS[:4], "Rare3", "Shade 7"),
    "FIT": ("Slim",),
    "FINISH": ("Matt", "Gloss", "Shade 7"),
    "NO_FACET": ("Nothing",),
}

VERBS: dict[str, tuple[int, Callable[[QuestionSource], tuple[Any, ...]]]] = {
    "product": (4, lambda drawn: (drawn.id(),)),
    "products": (8, lambda drawn: (drawn.ids(),)),
    "product_of_upc": (4, lambda drawn: (drawn.upcs(),)),
    "product_of_sku": (4, lambda drawn: (drawn.sku(),)),
    "product_ids": (6, QuestionSource.page_of_ids),
    "featured": (1, lambda drawn: ()),
    "families": (4, lambda drawn: (drawn.ids(),)),
    "category": (2, lambda drawn: (drawn.category(),)),
    "roots": (1, lambda drawn: ()),
    "facet_names": (1, lambda drawn: ()),
    "browse": (25, lambda drawn: (drawn.category(), drawn.query())),
    "search": (25, lambda drawn: (drawn.phrase(), drawn.query())),
    "brands": (3, lambda drawn: (drawn.categories(), drawn.maybe(drawn.category()))),
    "reviews": (5, lambda drawn: (drawn.id(), drawn.source.randrange(1, 4), drawn.source.randrange(1, 5))),
    "recommended": (4, lambda drawn: (drawn.id(), drawn.source.randrange(1, 9))),
    "availability": (5, lambda drawn: (drawn.upcs(), drawn.locations())),
}
"""Each verb of the protocol: how often it is drawn, and how its arguments are."""


def misspelled(word: str, source: random.Random) -> str:
    """A word without one letter, or with two in the wrong order."""
    place = source.randrange(max(1, len(word) - 1))
    if source.random() < 0.5:
        return word[:place] + word[place + 1 :]
    return word[:place] + word[place : place + 2][::-1] + word[place + 2 :]


def questions(shop: EditedCatalog, seed: int, number: int) -> list[Question]:
    """So many questions about a catalog."""
    drawn = QuestionSource(shop, seed)
    weights = [weight for weight, _ in VERBS.values()]
    verbs = drawn.source.choices(list(VERBS), weights, k=number)
    return [(verb, VERBS[verb][1](drawn)) for verb in verbs]


def answer(catalog: Catalog, question: Question) -> Any:
    verb, arguments = question
    return getattr(catalog, verb)(*arguments)
