"""Facts about builds that are killed: at twenty points here, at hundreds by `python -m benchmarks.killed_builds`.

`INDEX_KILLS=100 pytest tests/slow/test_killed_builds.py -k index` kills a changed build of a catalog at so many points
of its index, and as often at any time.
"""

import os
import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.killed_builds import (
    Case,
    Summary,
    at_events,
    at_random,
    at_statements,
    cases,
    cases_of,
    events,
    spaced,
    statements,
)

from facts.index_edits import EDITS
from harness.catalogs import EditedCatalog

SAMPLE = Path(__file__).resolve().parents[2] / "content"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def both(work: Path) -> list[Case]:
    return cases(SAMPLE, work)


@pytest.mark.parametrize(("index", "points"), [(0, 6), (1, 10)], ids=["first build", "second build"])
def test_a_build_killed_at_any_step_leaves_a_whole_release_and_the_next_one_cleans_up(
    both: list[Case], work: Path, index: int, points: int
) -> None:
    case = both[index]
    count = events(case, work)
    assert count > 100
    summary = at_events(case, work, spaced(count, points))
    assert summary == Summary(case.name, summary.left, [])
    assert summary.left.total() == points


def test_a_build_killed_at_any_time_leaves_a_whole_release_and_the_next_one_cleans_up(
    both: list[Case], work: Path
) -> None:
    assert at_random(both[1], work, 4).wrong == []


INDEX_KILLS = int(os.environ.get("INDEX_KILLS", "4"))
SIZE = 300
EDITED = ("many_prices", "add_several", "remove_many", "best_sellers_again", "upc_moved", "category_moved", "reviewed")
"""Edits after which rows of all tables of an index are others."""


@pytest.fixture(scope="module")
def changed_catalog(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Path]:
    """A build of a catalog over one of what it was before."""
    work = tmp_path_factory.mktemp("changed")
    shop = EditedCatalog(1, SIZE)
    content = shop.as_content(work / "content")
    for name in EDITED:
        EDITS[name](shop)
    return cases_of(content, shop.as_content(work / "changed"), work)[1], work


def test_a_build_killed_at_any_statement_of_an_index_leaves_a_whole_release(
    changed_catalog: tuple[Case, Path],
) -> None:
    case, work = changed_catalog
    count = statements(case, work)
    assert count > SIZE
    summary = at_statements(case, work, random.Random(1).sample(range(1, count), INDEX_KILLS))
    assert summary == Summary(case.name, summary.left, [])
    assert summary.left.total() == INDEX_KILLS


def test_a_build_of_a_changed_index_killed_at_any_time_leaves_a_whole_release(
    changed_catalog: tuple[Case, Path],
) -> None:
    assert at_random(*changed_catalog, INDEX_KILLS).wrong == []
