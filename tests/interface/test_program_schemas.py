"""The schemas of a program are compiled once a process, and again when one of their files changes."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

from harness.content import program_schemas
from shopwindow.interface.declaring.collections import schemas_with
from shopwindow.shop import INTERFACE


def test_the_schemas_of_one_program_are_the_same_object() -> None:
    schemas = program_schemas(INTERFACE)
    assert program_schemas(INTERFACE) is schemas
    assert schemas_with(schemas, INTERFACE) is schemas_with(program_schemas(INTERFACE), INTERFACE)


def test_a_changed_file_of_an_interface_and_a_file_of_a_content_folder_count_at_once(tmp_path: Path) -> None:
    (tmp_path / "interface").mkdir()
    file, own = tmp_path / "interface" / "branch.json", tmp_path / "own"
    file.write_text(json.dumps({"type": "object"}))
    interface = replace(INTERFACE, schemas=file.parent)
    before = program_schemas(interface)
    file.write_text(json.dumps({"type": "object", "minProperties": 1}))
    after = program_schemas(interface)
    assert (before["branch.json"].get("minProperties"), after["branch.json"]["minProperties"]) == (None, 1)
    own.mkdir()
    assert after.under(own) is after
    (own / "flyer.json").write_text(json.dumps({"description": "Of this shop."}))
    upper = after.under(own)
    assert (after.under(own) is upper, upper.digest == after.digest) == (True, False)
    (own / "flyer.json").write_text(json.dumps({"description": "Of that shop."}))
    changed = after.under(own)
    assert (changed["flyer.json"]["description"], changed.digest == upper.digest) == ("Of that shop.", False)


def test_threads_that_ask_at_once_get_whole_schemas(tmp_path: Path) -> None:
    """A preview checks in several threads."""
    together = Barrier(4)

    def description(number: int) -> str:
        together.wait()
        return str(program_schemas(INTERFACE).under(tmp_path)["flyer.json"]["description"])

    with ThreadPoolExecutor(4) as threads:
        for number in range(10):
            (tmp_path / "flyer.json").write_text(json.dumps({"description": f"Of shop {number}."}))
            assert [*threads.map(description, range(4))] == [f"Of shop {number}."] * 4
