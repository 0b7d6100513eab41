"""Indexes of a catalog that is edited time and again, each upon the one before, beside ones from nothing."""

from collections.abc import Iterator
from pathlib import Path

from catalog_questions import answer, questions
from edited_catalog import EditedCatalog
from index_edits import EDITS
from index_rows import meaning
from shopwindow.catalog.index.opened import open_index

MOST_AT_ONCE = 4
"""Edits that one step makes at most."""


def same(shop: EditedCatalog, folder: Path, previous: Path, number: int, seed: int = 1) -> Path:
    """Write the index upon the previous one, and compare rows, digest and answers with one from nothing.

    So many questions are asked, which follow from the seed. Return the path of the index upon the previous one.
    """
    again, anew = folder / "again", folder / "anew"
    digests = shop.written(again, previous), shop.written(anew)
    rows = meaning(again), meaning(anew)
    assert {name: value for name, value in rows[0].items() if value != rows[1][name]} == {}
    assert digests[0] == digests[1]
    one, other = open_index(again), open_index(anew)
    for question in questions(shop, seed, number):
        assert answer(one, question) == answer(other, question), question
    anew.unlink()
    shop.built_with = shop.site
    return again


def runs(shop: EditedCatalog, folder: Path, steps: int, number: int) -> Iterator[tuple[str, ...]]:
    """Edit a catalog so often, each index upon the one before. Yield which edits each step made.

    A step makes one edit, or several at once. All edits occur before any occurs again. ``number`` questions are asked
    after each step.
    """
    previous = folder / "0"
    shop.written(previous)
    upcoming: list[str] = []
    for step in range(1, steps + 1):
        if len(upcoming) < MOST_AT_ONCE:
            upcoming = [*shop.source.sample(list(EDITS), len(EDITS)), *upcoming]
        names = tuple(upcoming.pop() for _ in range(shop.source.choice((1, 1, 1, 2, MOST_AT_ONCE))))
        for name in names:
            EDITS[name](shop)
        try:
            path = same(shop, folder, previous, number, step)
        except Exception as error:
            error.add_note(f"after step {step}: {', '.join(names)}")
            raise
        previous.unlink()
        previous = path.rename(folder / str(step))
        yield names
