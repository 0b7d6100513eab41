"""Which URLs to purge, before anything is built: those that `diff` lists afterwards."""

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness.content import AT, Json, documents, write
from harness.content import live_documents as live
from harness.program import Releases, built, copied, shopwindow
from shopwindow import library
from shopwindow.release.order import BuildInputs
from shopwindow.release.program import program_digest
from shopwindow.release.purging import ANSWERS_RENDERED, Purge, urls_to_purge
from shopwindow.shop import INTERFACE

Edit = Callable[[Json], Any]
EDITS: dict[str, tuple[str, Edit]] = {
    "an event changes": ("events/first.yaml", lambda events: events[0].update(name="All the Windows Light Up")),
    "an event more": ("events/first.yaml", lambda events: events.append({**events[0], "id": 599999})),
    "an event less": ("events/first.yaml", lambda events: events.pop(0)),
    "a store more": (
        "stores/first.yaml",
        lambda stores: stores.append({**stores[0], "storeId": 965, "storeNumber": 9633, "locationNumber": 96155}),
    ),
    "caches may keep answers for longer": ("site.yaml", lambda site: site["lifetimes"]["default"].update(maxAge=61)),
}


def edited(each: Path, folder: Path, path: str, edit: Edit) -> None:
    """Copy a content folder, with an edit to the documents of a file."""
    content = copied(each, folder)
    documents = json.loads((content / path).read_text())
    edit(documents)
    write(content, {path: documents})


def foreseen(content: Path, out: Path, most: int = ANSWERS_RENDERED) -> Purge:
    """What the preview says of a content folder beside the current release."""
    prepared = library.declared(INTERFACE, content)
    checked, moment = documents(content), datetime.fromisoformat(AT)
    program = program_digest(prepared.interface, content, out)
    inputs = BuildInputs(prepared.interface, checked, prepared.schemas, program)
    published = live(checked, moment, prepared.interface.kinds, prepared.interface.clocks)
    return urls_to_purge(inputs, published, Releases(out), most)


@pytest.mark.parametrize("edit", EDITS)
def test_before_a_build_are_listed_the_urls_that_differ_after_it(each: Path, tmp_path: Path, edit: str) -> None:
    content, out = tmp_path / "content", tmp_path / "dist"
    old = built(each, out)
    edited(each, content, *EDITS[edit])
    before = foreseen(content, out)
    bound = foreseen(content, out, 1)
    new = built(content, out)
    listed = shopwindow("diff", old, new, "--out", out, "--urls").out.splitlines()
    assert listed
    assert (list(before.urls), before.count, before.is_upper_bound, before.unknown) == (listed, len(listed), False, "")
    assert (bound.count >= len(listed), bound.is_upper_bound) == (True, True)


def test_where_nothing_is_known_of_the_release_no_url_is_left_out(each: Path, tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "dist"
    old = built(each, out)
    shutil.rmtree(out / ".cache")
    edited(each, content, *EDITS["an event more"])
    before = foreseen(content, out)
    listed = shopwindow("diff", old, built(content, out), "--out", out, "--urls").out.splitlines()
    assert list(before.urls) == listed
