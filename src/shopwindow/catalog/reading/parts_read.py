"""Which parts of a catalog an answer has read, so that a build knows which answers stay.

While a build renders an answer, `PartsRead` stands for the opened catalog and reports
the documents and lists that it returns (`interface.index.OpenedByParts`). `part_digest`
returns what such a part was, in this catalog or in a later one. A new price of one
product so leaves the answers about categories and brands as they are. Whatever is not
told apart here, such as a search, has read the whole catalog.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from shopwindow.catalog.protocol import Page, ProductQuery
from shopwindow.content.reading.yaml import Json

BRANDS = (
    "SELECT value FROM meta WHERE name IN ('brand_url', 'active')",
    "SELECT name, url FROM brand ORDER BY name",
    "SELECT combinations FROM facet WHERE name = 'BRAND'",
    "SELECT data FROM col WHERE name = 'facet BRAND'",
    "SELECT id, products FROM category ORDER BY id",
)
"""What lists of brands are computed from."""

PRODUCT_PARTS = (
    "SELECT id, digest, one, two, three, four, five,"
    " (SELECT brand.id FROM brand WHERE brand.name = json_extract(listed.brand, '$[0]')),"
    " (SELECT group_concat(ifnull(online, 1) = 0) FROM upc LEFT JOIN stock USING (upc)"
    " WHERE upc.product = listed.id)"
    " FROM listed JOIN product USING (id) LEFT JOIN rating ON rating.product = listed.id"
)
"""What a product's document is computed from: its line, and what others say of it."""

QUERIES: Mapping[str, tuple[str, ...]] = {
    "product": (f"{PRODUCT_PARTS} WHERE id = ?",),
    "category": ("SELECT document FROM category WHERE id = ?",),
    "family": (
        "SELECT member FROM member WHERE collection = ? ORDER BY place",
        "SELECT collection FROM member WHERE member = ? ORDER BY collection",
    ),
    "roots": ("SELECT value FROM meta WHERE name = 'roots'",),
    "featured": ("SELECT value FROM meta WHERE name = 'featured'",),
    "facets": ("SELECT name FROM facet ORDER BY name",),
    "brands": BRANDS,
}
"""The statements of a part's rows, by the first word of its name. One with a ``?`` is
about the document whose id is the second word.
"""

Rows = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]
"""Returns the rows of a statement with values."""


def part_digest(rows: Rows, part: str) -> str:
    """Return a digest of a part of a catalog. Raises KeyError where there is no such
    part.
    """
    name, _, id = part.partition(" ")
    digest = sha256()
    for statement in QUERIES[name]:
        for row in rows(statement, (int(id),) if id else ()):
            digest.update(repr(row).encode())
        digest.update(b"\n")
    return digest.hexdigest()


class PartsRead:
    """An opened catalog that reports which of its parts it returns.

    ``report`` is called with a part's name, or with an empty text for the whole.
    """

    def __init__(self, opened: Any, report: Callable[[str], None]) -> None:
        self._opened, self._report = opened, report

    def __getattr__(self, verb: str) -> Any:
        self._report("")
        return getattr(self._opened, verb)

    def product(self, id: int) -> Json | None:
        return self.products((id,)).get(id)

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        self._each("product", ids)
        products: Mapping[int, Json] = self._opened.products(ids)
        return products

    def families(
        self, ids: Sequence[int]
    ) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        self._each("family", ids)
        families: Mapping[int, tuple[Sequence[int], Sequence[int]]]
        families = self._opened.families(ids)
        return families

    def category(self, id: int) -> Json | None:
        self._each("category", (id,))
        return self._opened.category(id)

    def roots(self) -> Sequence[int]:
        self._report("roots")
        ids: Sequence[int] = self._opened.roots()
        return ids

    def featured(self) -> Sequence[int]:
        self._report("featured")
        ids: Sequence[int] = self._opened.featured()
        return ids

    def facet_names(self) -> Iterable[str]:
        self._report("facets")
        names: Iterable[str] = self._opened.facet_names()
        return names

    def browse(self, category: int, query: ProductQuery) -> Page:
        narrowed = query.filters or query.price or query.pick_up is not None
        self._report("" if narrowed or query.sort else f"listed {category}")
        page: Page = self._opened.browse(category, query)
        return page

    def brands(
        self, categories: Sequence[int], reference: int | None = None
    ) -> Sequence[tuple[str, str]]:
        self._report("brands")
        brands: Sequence[tuple[str, str]] = self._opened.brands(categories, reference)
        return brands

    def _each(self, part: str, ids: Iterable[int]) -> None:
        for id in ids:
            self._report(f"{part} {id}")
