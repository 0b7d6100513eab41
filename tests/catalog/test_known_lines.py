"""What a line is known by: where anything that its check and its rows read beside it has changed, no line is known."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from catalog.test_catalog_content import CASES, FILES, INVENTORY, SMALL
from harness.content import AT, STORE, edit, write_files
from shopwindow import library
from shopwindow.catalog.index.known_lines import FILE, NOTE
from shopwindow.catalog.index.lines import digest_of
from shopwindow.content.check.memory import Memory
from shopwindow.problems import Problem
from shopwindow.shop import INTERFACE

FAULTY = INVENTORY.replace('"site":3', '"site":-3')


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """Content of which a line is at fault, beside a memory in which it is known all the same."""
    folder = write_files(tmp_path / "content", SMALL)
    assert problems(folder) == []
    write_files(folder, {FILES["inventory"]: FAULTY})
    rows = tmp_path / "memory" / FILE
    with closing(sqlite3.connect(rows)) as database, database:
        database.execute("UPDATE stock SET line = ?", (digest_of(FAULTY.strip().encode()),))
    rows.with_name(NOTE).write_text(f" {sha256(rows.read_bytes()).hexdigest()}")
    return folder


def problems(content: Path, program: str = "") -> list[Problem]:
    memory = Memory(content.parent / "memory", program)
    return library.check(INTERFACE, content, at=AT, jobs=1, memory=memory).problems


NOTES = "note: {folder: notes, schema: note.json, id: noteId, path: v1/notes}\n"
NOTE_SCHEMA = """{"$schema": "https://json-schema.org/draft/2020-12/schema", "description": "A note.", "type": "object",
"properties": {"noteId": {"description": "Its number.", "type": "integer", "examples": [1]}}, "required": ["noteId"],
"additionalProperties": false}"""
ANOTHER = STORE.replace(
    "storeId: 1\nstoreNumber: 10\nlocationNumber: 100", "storeId: 2\nstoreNumber: 20\nlocationNumber: 200"
)

Files = dict[str, Any]
BESIDE: dict[str, Files] = {
    "schemas": {"collections.yaml": NOTES, "schemas/note.json": NOTE_SCHEMA},
    "names of expressions": {"site.yaml": SMALL["site.yaml"].replace("names:\n", "names:\n  other: x\n")},
    "numbers of stores": {"stores/two.yaml": ANOTHER},
    "settings": {"site.yaml": SMALL["site.yaml"].replace("catalog: {", "catalog: {limited_quantity: 7, ")},
}
"""What the check of a line and its rows read beside it, and files that change it."""


def test_a_known_line_is_not_checked_again(content: Path) -> None:
    assert problems(content) == []


@pytest.mark.parametrize("files", BESIDE.values(), ids=BESIDE.keys())
def test_lines_are_checked_again_where_what_their_check_reads_has_changed(content: Path, files: Files) -> None:
    write_files(content, files)
    assert [each.rule for each in problems(content)] == ["schema.minimum"]


def test_lines_are_checked_again_by_another_program(content: Path) -> None:
    assert [each.rule for each in problems(content, program="another")] == ["schema.minimum"]


def test_lines_are_checked_again_where_their_rows_are_damaged(content: Path) -> None:
    rows = content.parent / "memory" / FILE
    rows.write_bytes(rows.read_bytes().replace(b"Cobbold", b"Lootfox"))
    assert [each.rule for each in problems(content)] == ["schema.minimum"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("{id: 3, name: Loafers", "{id: 33, name: Loafers"), ("name: Boots", "name: High Boots")],
    ids=["an id", "a name"],
)
def test_categories_leave_lines_known(content: Path, old: str, new: str) -> None:
    edit(content, (FILES["categories"], old, new))
    assert problems(content) == []


AMONG_LINES = ("reference", "unique", "product.ring")
EDITS = [(*case[:3],) for case in CASES if any(each.startswith(AMONG_LINES) for each in case[3])]
EDITS += [("products", "sku: 9002", "sku: 9001"), ("promotion", "promoId: 8", "promoId: 88")]


@pytest.mark.parametrize(("kind", "old", "new"), EDITS, ids=[f"{kind}-{new[:40]}" for kind, _, new in EDITS])
def test_known_lines_are_compared_with_all_that_is_there_now(tmp_path: Path, kind: str, old: str, new: str) -> None:
    folder = write_files(tmp_path / "content", SMALL)
    assert problems(folder) == []
    edit(folder, (FILES[kind], old, new))
    assert problems(folder) == library.check(INTERFACE, folder, at=AT, jobs=1).problems != []


def test_of_many_equal_lines_all_but_one_are_too_many(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "content", SMALL)
    assert problems(folder) == []
    write_files(folder, {FILES["inventory"]: INVENTORY * 256})
    (problem,) = problems(folder)
    assert "the same in 255 lines" in problem.found
