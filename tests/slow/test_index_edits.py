"""A hundred edits of a catalog, each index upon the one before: always the rows and answers of one from nothing."""

from pathlib import Path

from index_edits import EditedCatalog, runs


def test_a_hundred_edits_in_a_row(tmp_path: Path) -> None:
    done = list(runs(EditedCatalog(7, 60), tmp_path, edits=100, questions=40))
    assert len(done) == 100
    assert len(set(done)) > 20
