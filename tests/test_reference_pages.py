"""The tables of properties and options are those of the schemas and commands."""

import os
import re
from collections.abc import Callable

import pytest

from facts.reference_pages import ROOT, SCHEMAS, load, page_of_commands, page_of_properties, properties

PAGES = {"docs/reference/properties.md": page_of_properties, "docs/reference/commands.md": page_of_commands}
WRITES = os.environ.get("SHOPWINDOW_PAGES") == "write"


@pytest.mark.parametrize(("name", "page"), PAGES.items(), ids=PAGES)
def test_a_page_says_what_the_program_does(name: str, page: Callable[[], str]) -> None:
    path, text = ROOT / name, page()
    if WRITES:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "SHOPWINDOW_PAGES=write writes it"


def test_properties_within_properties_and_references_are_listed() -> None:
    path = SCHEMAS / "event.json"
    rows = {entry.name: entry for entry in properties(load(path), path)}
    assert {"id", "stores/storeId", "links[]/href", "publish/from"} <= rows.keys()
    assert (rows["id"].required, rows["links"].required) == (True, False)
    assert rows["start"].example == "`2027-05-01 10:00`"


def test_objects_with_the_same_properties_are_listed_once() -> None:
    path = SCHEMAS / "store.json"
    rows = {entry.name: entry for entry in properties(load(path), path)}
    assert (rows["hours/monday"].type, rows["hours/sunday"].type) == ("object", "as `monday`")
    assert ("hours/monday/open" in rows, "hours/sunday/open" in rows) == (True, False)


def test_a_default_stands_in_the_place_of_its_sentence() -> None:
    path = SCHEMAS / "site/bags.json"
    rows = {entry.name: entry for entry in properties(load(path), path)}
    about = "How many of one item a bag may hold, where its product allows no fewer."
    assert (rows["bags/max_quantity"].default, rows["bags/max_quantity"].description) == ("`99`", about)
    assert (rows["limits/newBags/address/most"].default, rows["bags"].default) == ("", "")


def test_at_most_twenty_variables_set_the_program_up_and_each_is_documented() -> None:
    """Without those of keys, which sign and are no settings."""
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "deploy/systemd").iterdir(), ROOT / "docs/reference/commands.md"]
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    named = {name for name in re.findall("SHOPWINDOW_[A-Z]+(?:_[A-Z]+)*", text) if "_KEY" not in name}
    page = (ROOT / "docs/operate/configure.md").read_text(encoding="utf-8")
    assert [name for name in sorted(named) if f"`{name}`" not in page] == []
    assert len(named) <= 20
