"""A catalog that is edited in every way, and time and again: each release is that of a build from nothing.

`EDITED_SEEDS=8-27 pytest tests/nightly/test_catalog_edits.py` edits twenty catalogs, a hundred times each.
"""

import copy
import os
import random
from pathlib import Path

import pytest

from facts.index_edits import EDITS, TABLE
from harness.catalogs import EditedCatalog
from harness.indexes import drawn_steps, follow

FIRST, _, LAST = os.environ.get("EDITED_SEEDS", "7").partition("-")
SEEDS = range(int(FIRST), int(LAST or FIRST) + 1)
SIZE = 120


@pytest.mark.parametrize("name", TABLE)
def test_a_release_upon_a_previous_one_is_that_of_a_build_from_nothing(tmp_path: Path, name: str) -> None:
    follow(EditedCatalog(1, SIZE), tmp_path, [[edit] for edit in TABLE[name]], 100)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hundred_edits_in_a_row(tmp_path: Path, seed: int) -> None:
    steps = list(drawn_steps(random.Random(seed), 100))
    assert {edit.__name__ for edits in steps for edit in edits} == {*EDITS}
    follow(EditedCatalog(seed, SIZE), tmp_path, steps, 100)


def test_edits_change_documents() -> None:
    """One of five times at least, for what is drawn may be what there was."""
    changed = set()
    for name in EDITS:
        shop = EditedCatalog(1, SIZE)
        EDITS["attribute_of_many_values"](shop)
        for _ in range(5):
            before = copy.deepcopy((shop.feeds(), shop.site))
            EDITS[name](shop)
            if before != (shop.feeds(), shop.site):
                changed.add(name)
    assert set(EDITS) - changed == {"nothing"}
