"""Two indexes of one catalog, compared: what their rows mean, and what they answer."""

import random
import sqlite3
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from facts.index_edits import EDITS
from harness.catalogs import COLORS, DRAWN_BRANDS, DRAWN_WORDS, LOCATIONS, NEW_LOCATIONS, EditedCatalog
from shopwindow.catalog.index.facets import Combinations
from shopwindow.catalog.index.opened import open_index
from shopwindow.catalog.index.packing import Packing
from shopwindow.catalog.index.ranks import INACTIVE
from shopwindow.catalog.index.sources import RANK_ORDERS
from shopwindow.catalog.protocol import SORTS, Catalog, ProductQuery

# -- questions for a catalog, drawn at random: each is a verb of `catalog.protocol.Catalog` and its arguments ----------


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
        words = source.choices((*DRAWN_WORDS, *self.other_words), k=source.choice((1, 1, 2, 3)))
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
"""Beside `WORDS`: what edits put into brands, attributes and types of products."""

FILTERS: dict[str, tuple[str, ...]] = {
    "BRAND": DRAWN_BRANDS,
    "COLOR": (*COLORS, "red"),
    "SIZE": tuple("SMLX"),
    "MATERIAL": (*DRAWN_WORDS[:4], "Rare3", "Shade 7"),
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


# -- what the rows of catalog.sqlite mean, so that two indexes can be compared that were made in different ways --------
#
# A rank, which is a product's number within the file, means nothing but an order. So ranks do not occur here: a product
# stands for itself by its id, and an order of products is a list of ids. Between the ranks of active products there may
# be numbers that no product has; what columns have there must count for nothing, which is checked.


MEANINGLESS = ("dictionary", "locations", "fed", "last")
"""Rows of `meta` by which others are read, by which a build sees what has changed, or that say how long columns are."""

NO_BAND = 255
"""What the column of price ranges has for a number that no product has: no range."""

TEXT_COLUMNS = ("name", "brand", "kind", "attributes", "description")


def meaning(path: Path) -> dict[str, Any]:
    """Every row of an index, whatever its products' ranks, its dictionary and its places of stores are."""
    with closing(sqlite3.connect(path)) as index:
        assert index.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return _Rows(index).meaning()


class _Rows:
    """The rows of one index, and what they are read by."""

    def __init__(self, index: sqlite3.Connection) -> None:
        self.index = index
        self.meta: dict[str, Any] = dict(self.rows("SELECT name, value FROM meta"))
        self.packing = Packing(self.meta["dictionary"])
        self.columns: dict[str, bytes] = dict(self.rows("SELECT name, data FROM col"))
        self.id_of: dict[int, int] = dict(self.rows("SELECT rank, id FROM number"))
        self.documents = {
            self.id_of[rank]: self.packing.load(data) for rank, data in self.rows("SELECT rank, data FROM document")
        }
        """Documents by id."""
        ranks = sorted(self.id_of)
        self.active = [rank for rank in ranks if self.documents[self.id_of[rank]].get("active", True)]
        """The ranks of active products, in order."""
        assert self.active == [rank for rank in ranks if rank < INACTIVE]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.index.execute(statement).fetchall()

    def meaning(self) -> dict[str, Any]:
        self._check_unused_numbers()
        kept = {name: value for name, value in self.meta.items() if name not in MEANINGLESS}
        return {
            "meta": kept,
            "order": [self.id_of[rank] for rank in self.active],
            "number": self.rows("SELECT id, updated, digest, fed FROM number ORDER BY id"),
            "document": self.documents,
            "upc": self._stock(),
            "category": [
                (id, orjson.loads(document), self.ids(products), orjson.loads(counts))
                for id, document, products, counts in self.rows(
                    "SELECT id, document, products, facets FROM category ORDER BY id"
                )
            ],
            "facets": list(self._facets()),
            "listed": self._by_product("SELECT rank, id, low, rating, name, days, best FROM listed"),
            "sorts": {name: self._sorted(name) for name in RANK_ORDERS},
            "columns": sorted(self.columns),
            "id": self._column("id"),
            "price": self._column("price"),
            "band": self._column("band"),
            "review": self._reviews(),
            "short": self._by_product("SELECT rank, text FROM short"),
            "described": self._by_product("SELECT rank, stems FROM described"),
            "text": self._text(),
        } | {
            table: self.rows(f"SELECT * FROM {table} ORDER BY 1, 2")
            for table in ("sku", "brand", "recommendation", "family", "bucket", "word", "stem", "form")
        }

    # -- by rank

    def ids(self, data: bytes) -> list[int]:
        """The products of an array of ranks."""
        return [self.id_of[rank] for rank in array("I", data)]

    def _by_product(self, statement: str) -> dict[int, tuple[Any, ...]]:
        """Rows whose first value is a rank, by product."""
        return {self.id_of[rank]: tuple(row) for rank, *row in self.rows(statement)}

    def _values(self, name: str) -> "array[int]":
        """A column by rank, as the file has it."""
        type = {"id": "Q", "band": "B"}.get(name, "I")
        return array(type, self.columns[name])

    def _column(self, name: str) -> dict[int, int]:
        """A column by product."""
        values = self._values(name)
        return {self.id_of[rank]: values[rank] for rank in self.active}

    def _sorted(self, name: str) -> list[int]:
        places = self._column(name)
        return sorted(places, key=places.__getitem__)

    def _check_unused_numbers(self) -> None:
        """All columns are of one length, and numbers that no product has count for nothing."""
        values = {name: self._values(name) for name in self.columns}
        length = len(values["id"])
        assert {name for name, column in values.items() if len(column) != length} == set()
        assert length > max(self.active, default=0)
        used = {0, *self.active}
        unused = [rank for rank in range(length) if rank not in used]
        entries = {
            name: {column[rank] for rank in unused} for name, column in values.items() if name not in RANK_ORDERS
        }
        expected = {name: {NO_BAND if name == "band" else 0} if unused else set() for name in entries}
        assert entries == expected

    # -- what is not stored as it is meant

    def _facets(self) -> Iterator[Any]:
        """Each facet: its names, and the values of each active product."""
        for row in self.rows("SELECT name, displayname, vals, starts, codes FROM facet ORDER BY number"):
            facet = Combinations.decoded(row, self._values(f"facet {row[0]}"))
            values = {}
            for rank in self.active:
                start, end = facet.starts[facet.column[rank] :][:2]
                values[self.id_of[rank]] = sorted(facet.values[code] for code in facet.codes[start:end])
            yield facet.name, facet.displayname, values

    def _stock(self) -> list[tuple[Any, ...]]:
        """UPCs, with the status at each store that has any."""
        locations = orjson.loads(self.meta["locations"])

        def statuses(data: bytes | None) -> dict[int, int]:
            by_place = [byte >> shift & 3 for byte in data or b"" for shift in (0, 2, 4, 6)]
            return {locations[place]: status for place, status in enumerate(by_place) if status}

        return [(*row, statuses(data)) for *row, data in self.rows("SELECT * FROM upc ORDER BY upc")]

    def _reviews(self) -> dict[int, Any]:
        """The stars and the reviews of each product that has any. No review belongs to none."""
        documents = dict(self.rows("SELECT number, document FROM review"))
        ratings = self.rows("SELECT * FROM rating")
        reviews = {
            product: (stars, [orjson.loads(documents.pop(number)) for number in range(first, first + sum(stars))])
            for product, first, *stars in ratings
        }
        assert documents == {}
        return reviews

    def _text(self) -> dict[tuple[str, str], set[int]]:
        """Which products FTS5 finds, by column and stem; and it finds them by no other stem."""
        self.index.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, text, instance)")
        listed: dict[tuple[str, str], set[int]] = {}
        for term, rank, column, _ in self.rows("SELECT * FROM temp.terms"):
            listed.setdefault((column, term), set()).add(self.id_of[rank])
        matching = "SELECT rowid FROM text WHERE text MATCH ?"
        found = {
            (column, term): {self.id_of[rank] for (rank,) in self.index.execute(matching, (f'{column} : "{term}"',))}
            for column, term in listed
        }
        assert found == listed
        return found


# -- indexes of a catalog that is edited time and again, each upon the one before, beside ones from nothing ------------


MOST_AT_ONCE = 4
"""Edits that one step makes at most."""


def same(shop: EditedCatalog, folder: Path, previous: Path, number: int, seed: int = 1) -> Path:
    """Write the index upon the previous one, and compare rows, digest and answers with one from nothing.

    So many questions are asked, which follow from the seed. Return the path of the index upon the previous one.
    """
    again, anew = folder / "again", folder / "anew"
    digests = shop.written(again, previous), shop.written(anew)
    rows = meaning(again), meaning(anew)
    assert {name: value for name, value in rows[0].items() if value != rows[1][name]} == {}
    assert digests[0] == digests[1]
    one, other = open_index(again), open_index(anew)
    for question in questions(shop, seed, number):
        assert answer(one, question) == answer(other, question), question
    anew.unlink()
    shop.built_with = shop.site
    return again


def runs(shop: EditedCatalog, folder: Path, steps: int, number: int) -> Iterator[tuple[str, ...]]:
    """Edit a catalog so often, each index upon the one before. Yield which edits each step made.

    A step makes one edit, or several at once. All edits occur before any occurs again. ``number`` questions are asked
    after each step.
    """
    previous = folder / "0"
    shop.written(previous)
    upcoming: list[str] = []
    for step in range(1, steps + 1):
        if len(upcoming) < MOST_AT_ONCE:
            upcoming = [*shop.source.sample(list(EDITS), len(EDITS)), *upcoming]
        names = tuple(upcoming.pop() for _ in range(shop.source.choice((1, 1, 1, 2, MOST_AT_ONCE))))
        for name in names:
            EDITS[name](shop)
        try:
            path = same(shop, folder, previous, number, step)
        except Exception as error:
            error.add_note(f"after step {step}: {', '.join(names)}")
            raise
        previous.unlink()
        previous = path.rename(folder / str(step))
        yield names
