"""An index that is changed row by row means what one built from nothing means."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from index_edits import EDITS, RANKS_KEPT, EditedCatalog, runs, same
from shopwindow.catalog.index.opened import open_index
from shopwindow.catalog.index.updating import change
from shopwindow.catalog.protocol import ProductQuery

SIZE = 120


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index before any edit: every test edits a catalog that begins alike."""
    path = tmp_path_factory.mktemp("edited") / "index"
    EditedCatalog(1, SIZE).written(path)
    return path


@pytest.mark.parametrize("name", EDITS)
def test_each_edit_gives_the_rows_of_a_build_from_nothing(built: Path, tmp_path: Path, name: str) -> None:
    edited = EditedCatalog(1, SIZE)
    getattr(edited, name)()
    same(edited, tmp_path, built, questions=40)


@pytest.mark.parametrize("name", RANKS_KEPT)
def test_feeds_without_digests_are_compared_by_their_documents(built: Path, tmp_path: Path, name: str) -> None:
    edited = EditedCatalog(1, SIZE, with_digests=False)
    getattr(edited, name)()
    same(edited, tmp_path, built, questions=5)


@pytest.mark.parametrize("name", RANKS_KEPT)
def test_an_edit_that_moves_no_product_changes_rows_of_a_copy(built: Path, tmp_path: Path, name: str) -> None:
    edited = EditedCatalog(1, SIZE)
    getattr(edited, name)()
    assert change(tmp_path / "again", tmp_path, edited.sources(), built, 1000)


@pytest.mark.parametrize(
    "name", ["add", "remove", "best_seller", "active", "members", "category_name", "category_moved"]
)
def test_an_edit_that_moves_products_leaves_the_copy(built: Path, tmp_path: Path, name: str) -> None:
    edited = EditedCatalog(1, SIZE)
    for _ in range(4):  # a product may by chance be what it was
        getattr(edited, name)()
    assert change(tmp_path / "again", tmp_path, edited.sources(), built, 1000) is None
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("seed", [2, 3])
def test_one_edit_upon_another(tmp_path: Path, seed: int) -> None:
    done = list(runs(EditedCatalog(seed, SIZE), tmp_path, edits=6, questions=30))
    assert len(done) == 6


def test_files_with_the_digests_of_before_are_not_read(built: Path, tmp_path: Path) -> None:
    edited = EditedCatalog(1, SIZE)
    edited.synonyms = [["oaken", "wooden"]]
    unreadable: Any = Unreadable()
    sources = replace(
        edited.sources(),
        products=unreadable,
        inventory=unreadable,
        reviews=unreadable,
        recommendations=unreadable,
    )
    assert change(tmp_path / "again", tmp_path, sources, built, 1000)


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "products": lambda catalog: [catalog.product(id) for id in (2, 4, 100, 999)],
    "several products": lambda catalog: catalog.products([6, 8, 10, 999]),
    "families": lambda catalog: catalog.families(list(range(2, 80, 2))),
    "categories": lambda catalog: [catalog.category(id) for id in (1, 4, 99)],
    "roots": lambda catalog: catalog.roots(),
    "featured": lambda catalog: catalog.featured(),
    "names of facets": lambda catalog: sorted(catalog.facet_names()),
    "brands": lambda catalog: [catalog.brands([id]) for id in range(1, 6)],
    "brands of two": lambda catalog: catalog.brands([1], 2),
    "lists": lambda catalog: [catalog.browse(id, ProductQuery()) for id in range(1, 6)],
    "a sorted list": lambda catalog: catalog.browse(1, ProductQuery(sort="price_ascending")),
    "a search": lambda catalog: catalog.search("woolen", ProductQuery()),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_is_another_only_where_a_part_that_it_read_is(built: Path, tmp_path: Path, what: str) -> None:
    """For each edit: equal parts, equal answers. A search has read the whole."""
    old, kept = open_index(built), 0
    parts: list[str] = []
    before = ANSWERS[what](old.following(parts.append))
    for name in EDITS:
        edited = EditedCatalog(1, SIZE)
        for _ in range(5):
            getattr(edited, name)()
        edited.written(tmp_path / name, built)
        new = open_index(tmp_path / name)
        if "" in parts:
            continue
        if all(old.part_digest(part) == new.part_digest(part) for part in parts):
            assert ANSWERS[what](new) == before
            kept += 1
    assert parts
    assert ("" in parts) == (what in ("a search", "a sorted list"))
    assert kept > 0 or "" in parts


def test_a_part_that_is_none_has_no_digest(built: Path) -> None:
    with pytest.raises(KeyError):
        open_index(built).part_digest("weather")


class Unreadable:
    """A feed that nobody may read."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("a feed was read that has not changed")
