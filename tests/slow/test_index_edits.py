"""A hundred edits of a catalog, each index upon the one before: always the rows and answers of one from nothing.

`EDITED_SEEDS=8-27 pytest tests/slow/test_index_edits.py` edits twenty other catalogs, a hundred times each. Each takes
half a minute on a machine that has nothing else to do.
"""

import os
from pathlib import Path

import pytest

from facts.index_edits import EDITS
from harness.catalogs import EditedCatalog
from harness.indexes import runs

FIRST, _, LAST = os.environ.get("EDITED_SEEDS", "7").partition("-")
SIZE = 120
"""Products at first: a few more than an index with a dictionary has at least, so it gets one and loses it again."""
SEEDS = range(int(FIRST), int(LAST or FIRST) + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hundred_edits_in_a_row(tmp_path: Path, seed: int) -> None:
    done = list(runs(EditedCatalog(seed, SIZE), tmp_path, 100, 1000))
    assert len(done) == 100
    assert {name for names in done for name in names} == {*EDITS}
