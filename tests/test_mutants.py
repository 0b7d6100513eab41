"""The list of mutants stays true: each text that a mutant changes stands once in its file, and each test exists."""

from harness.content import ROOT
from nightly.mutants import MUTANTS


def test_every_text_that_a_mutant_changes_stands_once_in_its_file() -> None:
    counts = {
        f"{mutant.path}: {mutant.before}": (ROOT / "src/shopwindow" / mutant.path).read_text().count(mutant.before)
        for mutant in MUTANTS
    }
    assert counts == dict.fromkeys(counts, 1)


def test_every_test_that_sees_a_mutant_exists() -> None:
    def exists(test: str) -> bool:
        file, _, name = test.partition("::")
        return (ROOT / file).is_file() and f"def {name}" in (ROOT / file).read_text()

    assert [mutant.test for mutant in MUTANTS if not exists(mutant.test)] == []
