"""Small catalogs for tests, and what a plain program would answer about them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from shopwindow.catalog.index.indexing import write
from shopwindow.catalog.index.opened import OpenedCatalog, open_index
from shopwindow.catalog.index.sources import Sources
from shopwindow.catalog.protocol import SORTS, Facet, ProductQuery

Document = dict[str, Any]
URL = "https://www.example.com/"
RANGES = ((0, 49.99), (50, 99.99), (100, 249.99), (250, 499.99), (500, None))
FACETS = {"BRAND": "Brand", "COLOR": "Color", "SIZE": "Size", "PRICE": "Price", "MATERIAL": "Material"}


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
    write(path, Sources(**{"categories": [category(1)], "products": products, **more}), jobs=1)
    return open_index(path)


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
