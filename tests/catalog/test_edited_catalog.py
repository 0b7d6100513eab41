"""A catalog that was edited: a release upon the previous one is that of a build from nothing.

Here it is eight times; every edit alone, and long rows of them, are nightly (tests/nightly/test_catalog_edits.py).
"""

import shutil
from pathlib import Path

import pytest

from facts.index_edits import EDITS
from harness.catalogs import EditedCatalog
from harness.content import store, write
from harness.indexes import REQUESTS, answer, drawn_requests, follow, release, same
from harness.program import served
from shopwindow.shop import INTERFACE

SIZE = 120
EVERY_RUN: dict[str, tuple[str, ...]] = {
    "prices and words": ("price", "sale", "start_days", "unheard_name", "other_synonyms"),
    "brands, and a category that goes": ("id_of_brand", "brand_document", "facet_values", "category_removed"),
    "products that come": ("add_in_one_place", "best_of_all", "flags"),
    "products that go": ("remove_best", "remove_many", "active"),
    "UPCs and stock": ("upc_moved", "upc_removed", "store_opened", "one_stock"),
    "names of categories, and reviews that go": (*["category_name"] * 4, "unreviewed"),
    "what belongs to products": ("members", "member_added", "reviewed_otherwise", "recommended"),
    "other facets": ("attribute_becomes_common",),
}
"""Edits that are made at once. Where reviews only go, and no product changes, nothing but their rows can be wrong."""


@pytest.fixture(scope="module")
def unedited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the release that each edit follows upon."""
    folder = tmp_path_factory.mktemp("unedited")
    release(EditedCatalog(1, SIZE), folder)
    return folder


@pytest.mark.parametrize("name", EVERY_RUN)
def test_a_release_upon_a_previous_one_is_that_of_a_build_from_nothing(
    unedited: Path, tmp_path: Path, name: str
) -> None:
    folder = Path(shutil.copytree(unedited, tmp_path / "edited", symlinks=True))
    follow(EditedCatalog(1, SIZE), folder, [[EDITS[edit] for edit in EVERY_RUN[name]]], 40)


def test_a_store_that_opens_between_others_makes_the_rows_of_all_stock_again(unedited: Path, tmp_path: Path) -> None:
    """The place of each store in a row follows from the numbers of all."""
    folder = Path(shutil.copytree(unedited, tmp_path / "edited", symlinks=True))
    shop = EditedCatalog(1, SIZE)
    EDITS["store_opened"](shop)
    release(shop, folder)
    write(folder / "content", {"stores/between.yaml": store(142, locationNumber=42)})
    same(shop, folder, 1, 40)


# -- the comparison itself ---------------------------------------------------------------------------------------


def test_every_operation_of_the_catalog_is_asked() -> None:
    words = {"catalog", "recommendations"}
    operations = {each.name for each in INTERFACE.operations if words.intersection(each.path.split("/"))}
    assert operations == set(REQUESTS)


def test_requests_have_answers(unedited: Path) -> None:
    """Of every operation one at least that is no error; and lists that differ much."""
    service = served(unedited / "dist")
    answers = [(name, answer(service, target)) for name, target in drawn_requests(EditedCatalog(1, SIZE), 1, 400)]
    assert {name for name, came in answers if came.status == 200} == set(REQUESTS)
    lists = [came.body for name, came in answers if name in ("search", "browse_products") and came.status == 200]
    assert len(set(lists)) > len(lists) * 3 / 4
    assert len([body for body in lists if b"didyoumean" in body]) > 3
