"""What compares a changed index with one from nothing would see a difference: in any row, and in any verb's answer."""

import copy
import inspect
import shutil
import sqlite3
from pathlib import Path

import pytest

from facts.index_edits import EDITS
from harness.catalogs import EditedCatalog
from harness.content import problems
from harness.indexes import VERBS, answer, meaning, questions
from harness.program import Schemas
from shopwindow.catalog.index.opened import open_index
from shopwindow.catalog.protocol import Catalog, Page

SIZE = 120


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("edited") / "index"
    EditedCatalog(1, SIZE).written(path)
    return path


ALTERED = [
    "UPDATE meta SET value = value + 1 WHERE name = 'products'",
    "UPDATE meta SET value = '[1]' WHERE name = 'roots'",
    "UPDATE number SET updated = 7 WHERE id = 10",
    "UPDATE number SET digest = x'00' WHERE id = 10",
    "UPDATE document SET data = (SELECT data FROM document AS other WHERE other.rank = 1) WHERE rank = 2",
    "DELETE FROM document WHERE rank = 2",
    "UPDATE upc SET stores = x'02' WHERE upc = (SELECT max(upc) FROM upc)",
    "UPDATE upc SET handed_out = 1 - handed_out WHERE upc = (SELECT max(upc) FROM upc)",
    "UPDATE sku SET product = 1 WHERE sku = (SELECT max(sku) FROM sku)",
    "UPDATE category SET products = substr(products, 5) WHERE id = 1",
    "UPDATE category SET facets = '[]' WHERE id = 1",
    "UPDATE brand SET url = ''",
    "UPDATE bucket SET digest = x'00' WHERE first = 0",
    "UPDATE facet SET displayname = 'Size' WHERE name = 'COLOR'",
    "UPDATE facet SET number = -number",
    "UPDATE facet SET vals = replace(vals, 'TEAL', 'LIME') WHERE name = 'COLOR'",
    "UPDATE listed SET name = 'z' WHERE rank = 3",
    "UPDATE rating SET five = five - 1, four = four + 1 WHERE five > 0",
    "UPDATE review SET document = '{}' WHERE number = 3",
    "INSERT INTO review VALUES (9999, '{}')",
    "UPDATE recommendation SET products = '[]'",
    "DELETE FROM family WHERE id = (SELECT max(id) FROM family)",
    "UPDATE short SET text = 'woolen' WHERE rank = 3",
    "DELETE FROM described WHERE rank = 3",
    "UPDATE word SET products = products + 1",
    "DELETE FROM stem WHERE stem = (SELECT max(stem) FROM stem)",
    "DELETE FROM form WHERE form = (SELECT max(form) FROM form)",
    "INSERT INTO text (rowid, name) VALUES (3, 'xylophone')",
    *(
        f"UPDATE col SET data = CAST(substr(data, 1, {4 * width}) || zeroblob({width}) || substr(data, {1 + 5 * width})"
        f" AS BLOB) WHERE name = '{name}'"
        for name, width in (("id", 8), ("price", 4), ("band", 1), ("facet BRAND", 4), ("name_ascending", 4))
    ),
    "UPDATE col SET data = CAST(data || x'00' AS BLOB) WHERE name = 'band'",
]


@pytest.mark.parametrize("statement", ALTERED)
def test_rows_that_differ_mean_something_else_or_nothing(built: Path, tmp_path: Path, statement: str) -> None:
    path = Path(shutil.copy(built, tmp_path / "altered"))
    with sqlite3.connect(path) as index:
        index.execute(statement)
    try:
        altered = meaning(path)
    except (AssertionError, KeyError):
        return
    assert altered != meaning(built)


def test_each_table_is_altered_in_one_of_these(built: Path) -> None:
    with sqlite3.connect(built) as index:
        names = {name for (name,) in index.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    tables = {name for name in names if not name.startswith("text_")}
    assert {name for name in tables if not any(f" {name} " in statement for statement in ALTERED)} == set()


def test_every_verb_of_the_protocol_is_asked() -> None:
    verbs = {name for name, _ in inspect.getmembers(Catalog, inspect.isfunction) if not name.startswith("_")}
    assert verbs == set(VERBS)


def test_questions_have_answers(built: Path) -> None:
    """Of every verb, at least one that is not the answer for what does not exist; and of searches many kinds."""
    catalog = open_index(built)
    answered = [(question, answer(catalog, question)) for question in questions(EditedCatalog(1, SIZE), 1, 1000)]
    pages = [value for _, value in answered if isinstance(value, Page)]
    something = {question[0] for question, value in answered if value != Page(0) and value}
    assert something == set(VERBS)
    assert len([page for page in pages if page.corrected]) > 10
    assert len([page for page in pages if page.ids]) > len(pages) / 3
    assert {facet.name for page in pages for facet in page.facets} >= {
        "BRAND",
        "COLOR",
        "SIZE",
        "PRICE",
        "MATERIAL",
        "FIT",
    }


def test_the_check_has_nothing_to_say_about_an_edited_catalog(tmp_path: Path, schemas: Schemas) -> None:
    shop = EditedCatalog(4, SIZE)
    found = {}
    for name in [*EDITS, "everything", "everything"]:
        EDITS[name](shop)
        found[name] = problems(shop.as_content(tmp_path), schemas)
    assert {name: each for name, each in found.items() if each} == {}


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
