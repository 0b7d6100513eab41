"""An index that is changed row by row means what one built from nothing means."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from facts.index_edits import EDITS, Edit
from harness.catalogs import EditedCatalog
from harness.indexes import meaning, runs, same
from shopwindow.catalog.index.opened import OpenedCatalog, open_index
from shopwindow.catalog.index.sources import Sources
from shopwindow.catalog.index.staging import stage
from shopwindow.catalog.index.updating import FEW_CHANGED, change
from shopwindow.catalog.protocol import ProductQuery

SIZE = 120


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index before any edit: every test edits a catalog that begins alike."""
    path = tmp_path_factory.mktemp("edited") / "index"
    EditedCatalog(1, SIZE).written(path)
    return path


def changed(folder: Path, sources: Sources, previous: Path) -> str | None:
    (folder / "seen").mkdir()
    read = partial(stage, folder / "seen", jobs=1)
    return change(folder / "again", folder, sources, previous, 1000, read)


COMPARED = ("nothing", "price", "add", "remove", "products_in_another_order", "one_stock", "reviewed", "recommended")


@pytest.mark.parametrize("name", COMPARED)
def test_feeds_without_digests_are_compared_by_their_documents(built: Path, tmp_path: Path, name: str) -> None:
    edited = EditedCatalog(1, SIZE, with_digests=False)
    EDITS[name](edited)
    same(edited, tmp_path, built, 10)


OTHER_FACETS = ("attribute_becomes_common", "attribute_becomes_rare", "attribute_of_many_values", "everything")
"""Edits after which other attributes are facets, so that the index is written from nothing."""


BY_ROWS = [name for name in EDITS if name not in (*OTHER_FACETS, "settings")]
"""The others but one: where settings differ, no build hands on the index before."""


@pytest.mark.parametrize("name", BY_ROWS)
def test_each_edit_changes_rows_of_a_copy_to_those_from_nothing(built: Path, tmp_path: Path, name: str) -> None:
    edited = EditedCatalog(1, SIZE)
    EDITS[name](edited)
    digest = changed(tmp_path, edited.sources(), built)
    assert digest == edited.written(tmp_path / "anew")
    again, anew = meaning(tmp_path / "again"), meaning(tmp_path / "anew")
    assert {name: value for name, value in again.items() if value != anew[name]} == {}


def many_products(edited: EditedCatalog) -> None:
    """More than a few, and more than half."""
    for _ in range(FEW_CHANGED + 1):
        EDITS["add"](edited)


@pytest.mark.parametrize("made", [*map(EDITS.__getitem__, OTHER_FACETS), many_products])
def test_what_costs_more_by_rows_leaves_no_copy(built: Path, tmp_path: Path, made: Edit) -> None:
    edited = EditedCatalog(1, SIZE)
    made(edited)
    assert changed(tmp_path, edited.sources(), built) is None
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("seed", [2, 3])
def test_one_edit_upon_another(tmp_path: Path, seed: int) -> None:
    done = list(runs(EditedCatalog(seed, SIZE), tmp_path, 6, 200))
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
    assert changed(tmp_path, sources, built)


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


@pytest.fixture(scope="module")
def later(built: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, OpenedCatalog]:
    """The index after each edit, made a few times."""
    folder = tmp_path_factory.mktemp("later")
    for name in EDITS:
        edited = EditedCatalog(1, SIZE)
        for _ in range(5):
            EDITS[name](edited)
        edited.written(folder / name, built)
    return {name: open_index(folder / name) for name in EDITS}


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_is_another_only_where_a_part_that_it_read_is(
    built: Path, later: dict[str, OpenedCatalog], what: str
) -> None:
    """For each edit: equal parts, equal answers. A search has read the whole."""
    old = open_index(built)
    parts: list[str] = []
    before = ANSWERS[what](old.following(parts.append))
    assert parts
    assert ("" in parts) == (what in ("a search", "a sorted list"))
    if "" in parts:
        return
    kept = [
        name for name, new in later.items() if all(old.part_digest(part) == new.part_digest(part) for part in parts)
    ]
    assert "nothing" in kept
    assert {name: ANSWERS[what](later[name]) for name in kept} == dict.fromkeys(kept, before)


def test_a_part_that_is_none_has_no_digest(built: Path) -> None:
    with pytest.raises(KeyError):
        open_index(built).part_digest("weather")


class Unreadable:
    """A feed that nobody may read."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("a feed was read that has not changed")
