"""An index made with the help of the one before means the same, row by row, as one made without."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.catalogs import TREE, Document, category, product, products, review
from harness.content import examples
from harness.indexes import meaning
from shopwindow.catalog.index.indexing import write
from shopwindow.catalog.index.sources import Sources
from shopwindow.catalog.index.wording import Worded

SITE = {"catalog": {"image_url": "https://i.example.com", "product_url": "https://w.example.com/p/{id}"}}
Catalog = dict[str, Any]


def rows_of(folder: Path, name: str, catalog: Catalog, before: Path | None = None, jobs: int = 1) -> Any:
    """What an index means once it is written, and the digest of its rows."""
    path = folder / name
    digest = write(path, Sources(**{"site": SITE, **catalog}), jobs, previous=before)
    return meaning(path), digest


@st.composite
def two(draw: st.DrawFn) -> tuple[Catalog, Catalog]:
    """A catalog and a later one: of its products some are as they were, some are others, some are gone or new."""
    old, others = draw(products()), {each["id"]: each for each in draw(products())}
    kept = [draw(st.sampled_from((each, each | draw(CHANGES)))) for each in old if draw(st.integers(0, 4))]
    ids = {each["id"] for each in kept}
    new = draw(st.permutations([*kept, *(each for id, each in others.items() if id not in ids)]))
    tree = [draw(st.sampled_from((each, {**each, "name": "Else"}))) for each in TREE]
    return _around(draw, old, TREE), _around(draw, new, tree)


CHANGES: st.SearchStrategy[Document] = st.sampled_from(
    (
        {"price": {"regular": 3.5}},
        {"name": "Lacquered Stool"},
        {"active": False},
        {"active": True},
        {"bestSeller": 1},
        {"categories": [5]},
        {"members": [1]},
        {"description": "Nothing but linen.", "bullets": ["Linen", "Oak"]},
    )
)


def _around(draw: st.DrawFn, documents: list[Document], tree: list[Document]) -> Catalog:
    opinions = draw(st.lists(st.tuples(st.integers(0, 31), st.integers(1, 5)), max_size=6))
    reviews = [review(n, documents[of]["id"], stars) for n, (of, stars) in enumerate(opinions) if of < len(documents)]
    return {"categories": tree, "products": documents, "reviews": reviews}


@settings(max_examples=examples(40), deadline=None)
@given(two())
def test_the_help_of_any_other_catalog_changes_nothing(pair: tuple[Catalog, Catalog]) -> None:
    old, new = pair
    with TemporaryDirectory() as name:
        folder = Path(name)
        rows_of(folder, "old", old)
        assert rows_of(folder, "again", new, folder / "old") == rows_of(folder, "new", new)


WORDS = [f"{start}{end}" for start in ("wool", "oak", "linen", "silk", "brass", "pine") for end in ("en", "ish", "ful")]


def many() -> list[Document]:
    """Products enough for several runs of them, and for several pages of each table."""
    source = random.Random(7)
    return [
        product(
            id * 2,
            " ".join(source.choices(WORDS, k=3)),
            description=" ".join(f"{word}{source.randrange(40)}" for word in source.choices(WORDS, k=30)),
            categories=[source.randrange(1, 6)],
            upcs=[{"upc": f"{id:012}", "sku": id}],
            attributes={"Material": [source.choice(WORDS)]},
            **({"bestSeller": source.randrange(1, 500)} if id % 7 == 0 else {}),
        )
        for id in range(1, 1100)
    ]


MANY: Catalog = {
    "categories": TREE,
    "products": many(),
    "inventory": [{"upc": f"{id:012}", "site": id % 3, "stores": {str(id % 5): id % 9}} for id in range(1, 1100)],
    "reviews": [review(number, 2 * (number % 300 + 1), number % 5 + 1) for number in range(900)],
}


def changed(place: int, **more: Any) -> Catalog:
    documents = list(MANY["products"])
    documents[place] = documents[place] | more
    return MANY | {"products": documents}


def without(kind: str, place: int) -> Catalog:
    return MANY | {kind: [*MANY[kind][:place], *MANY[kind][place + 1 :]]}


LATER: dict[str, Catalog] = {
    "a price": changed(800, price={"regular": 12.5}),
    "a name": changed(800, name="Unheard Xylophone"),
    "a best seller": changed(1000, bestSeller=1),
    "no longer active": changed(800, active=False),
    "a product less": without("products", 800),
    "the first product less": without("products", 0),
    "a product more": MANY | {"products": [*MANY["products"][:700], product(1401), *MANY["products"][700:]]},
    "a category's name": MANY | {"categories": [TREE[0], category(2, "Renamed", parent=1), *TREE[2:]]},
    "another parent": MANY | {"categories": [*TREE[:3], category(4, parent=3), TREE[4]]},
    "a review less": without("reviews", 40),
    "less in stock": without("inventory", 2),
    "another brand": MANY | {"brands": [{"name": "Larkspur", "id": 9, "url": "https://l.example.com"}]},
    "most of it": MANY | {"products": [each | {"name": "Other Thing"} for each in MANY["products"]]},
}


@pytest.fixture(scope="module")
def index_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of ``MANY``, made once: each of these takes half a second."""
    folder = tmp_path_factory.mktemp("many")
    rows_of(folder, "old", MANY)
    return folder / "old"


@pytest.mark.parametrize("what", LATER)
def test_many_products_with_one_thing_changed(index_of_many: Path, tmp_path: Path, what: str) -> None:
    anew = rows_of(tmp_path, "new", LATER[what])
    again = {jobs: rows_of(tmp_path, f"again {jobs}", LATER[what], index_of_many, jobs) == anew for jobs in (1, 3)}
    assert (anew[0] == meaning(index_of_many), again) == (False, {1: True, 3: True})


def test_one_index_after_another(tmp_path: Path) -> None:
    """What was made with help helps as well."""
    rows_of(tmp_path, "0", MANY)
    for number, new in enumerate(list(LATER.values())[::3], 1):
        made = rows_of(tmp_path, str(number), new, tmp_path / str(number - 1), 2)
        assert made == rows_of(tmp_path, f"anew {number}", new, jobs=2)


def test_a_product_is_worded_alike_from_its_document_and_from_its_rows() -> None:
    from shopwindow.catalog.index.rows import Referred, categories

    shop = Referred(categories(TREE), {})
    made, taken = Worded(), Worded()
    made.make(shop, 1, MANY["products"][0] | {"name": "Women's T-Shirt Ångström", "bullets": ["Shirt", "shirts"]})
    taken.add(1, made.short[0][1], made.described[0][1])
    assert (taken.text, taken.short, taken.described) == (made.text, made.short, made.described)
