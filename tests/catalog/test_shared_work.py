"""Who works on which part of the catalog, and how often, changes neither rows nor problems."""

import gzip
from pathlib import Path

import pytest

from elsewhere import Elsewhere, several_feeds
from shopwindow import library
from shopwindow.content.executor import Executor, Processes
from shopwindow.shop import INTERFACE
from trees import edit

MISTAKES = (
    ("products/1.jsonl", '"id": 500,', '"id": 499,'),
    ("products/2.jsonl", '"typeName"', '"typename"'),
    ("reviews/4.jsonl", '"product": 1901,', '"product": 7001,'),
    ("inventory/0.jsonl", '"site": 1', '"site": -1'),
)
"""An id that stands twice, a key that no product has, a product that does not exist, less than nothing in stock."""

AT = "2026-11-20T12:00:00Z"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return several_feeds(tmp_path / "content")


def built(shop: Path, out: Path, executor: Executor) -> tuple[str, bytes]:
    """Build; the release's id, and the bytes of its index."""
    done = library.build(INTERFACE, shop, out, at=AT, executor=executor)
    assert done.built is not None, done.checked.problems
    return done.built.id, (out / "current" / "catalog.sqlite").read_bytes()


def test_work_done_elsewhere_and_twice_gives_the_same_rows_and_release(shop: Path, tmp_path: Path) -> None:
    alone = built(shop, tmp_path / "alone", Processes(1))
    assert built(shop, tmp_path / "three", Processes(3)) == alone

    (tmp_path / "seen").mkdir()
    elsewhere = Elsewhere(tmp_path / "seen")
    assert built(shop, tmp_path / "elsewhere", elsewhere) == alone
    assert elsewhere.stages == ["feeds", "stores", "documents", "rows", "facets", "words"]
    assert list((tmp_path / "seen").iterdir()) == []  # nothing is left of what it wrote


def test_a_changed_build_elsewhere_gives_what_a_fresh_one_does(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    elsewhere = Elsewhere(tmp_path / "seen")
    built(shop, tmp_path / "out", elsewhere)
    edit(shop, ("catalog/products/1.jsonl", '"id": 800, "name": "Thing', '"id": 800, "name": "Another thing'))
    again, _ = built(shop, tmp_path / "out", elsewhere)
    fresh, _ = built(shop, tmp_path / "fresh", Processes(1))
    assert again == fresh


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_problems_found_elsewhere_are_those_found_here(shop: Path, tmp_path: Path, ending: str) -> None:
    for feed, old, new in MISTAKES:
        path = shop / "catalog" / feed
        path.write_text(path.read_text().replace(old, new))
    if ending:
        path = shop / "catalog" / "products" / "2.jsonl"
        path.with_name("2.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()

    here = library.check(INTERFACE, shop, at=AT, jobs=1)
    (tmp_path / "seen").mkdir()
    elsewhere = library.check(INTERFACE, shop, at=AT, executor=Elsewhere(tmp_path / "seen"))
    assert [problem.rule for problem in here.problems] != []
    assert elsewhere.problems == here.problems
    assert (elsewhere.more, elsewhere.at_least) == (here.more, here.at_least)
