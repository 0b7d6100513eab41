"""Which URLs to purge, before anything is built: those that `diff` lists afterwards."""

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from harness.content import AT, SAMPLE, documents
from harness.content import live_documents as live
from harness.program import Releases, built, shopwindow
from shopwindow import library
from shopwindow.content.reading.listing import COLLECTIONS
from shopwindow.release.order import BuildOrder
from shopwindow.release.program import program_digest
from shopwindow.release.purging import ANSWERS_RENDERED, Purge, urls_to_purge
from shopwindow.shop import INTERFACE

EVENT = "events/windows-light-up.yaml"


def change(content: Path) -> None:
    file = content / EVENT
    file.write_text(file.read_text().replace("The Windows Light Up", "All the Windows Light Up"))


def add(content: Path) -> None:
    text = (content / EVENT).read_text()
    (content / "events/another.yaml").write_text(text.replace("510101", "599999"))


def remove(content: Path) -> None:
    (content / EVENT).unlink()


def add_a_store(content: Path) -> None:
    file = (content / "stores/rosewater-landing.yaml").read_text()
    for old, new in {"storeId: 405": "storeId: 965", "4330": "9633", "40155": "96155", "publish:": "notes: x"}.items():
        file = file.replace(old, new)
    (content / "stores/another.yaml").write_text(file.partition("notes: x")[0])


def foreseen(content: Path, out: Path, most: int = ANSWERS_RENDERED) -> Purge:
    """What the preview says of a content folder beside the current release."""
    prepared = library.declared(INTERFACE, content)
    checked, moment = documents(content), datetime.fromisoformat(AT)
    program = program_digest(prepared.interface, content / COLLECTIONS, without=(content, out))
    order = BuildOrder(prepared.interface, checked, prepared.schemas, moment, lambda live: "", program, {})
    published = live(checked, moment, prepared.interface.kinds, prepared.interface.clocks)
    return urls_to_purge(order, published, Releases(out), most)


@pytest.mark.parametrize("edit", [change, add, remove, add_a_store])
def test_before_a_build_are_listed_the_urls_that_differ_after_it(tmp_path: Path, edit: Callable[[Path], None]) -> None:
    content, out = Path(shutil.copytree(SAMPLE, tmp_path / "content")), tmp_path / "dist"
    old = built(content, out)
    edit(content)
    before = foreseen(content, out)
    bound = foreseen(content, out, 1)
    new = built(content, out)
    listed = shopwindow("diff", old, new, "--out", out, "--urls").out.splitlines()
    assert (list(before.urls), before.count, before.is_upper_bound, before.unknown) == (listed, len(listed), False, "")
    assert (bound.count >= len(listed), bound.is_upper_bound) == (True, True)


def test_where_nothing_is_known_of_the_release_no_url_is_left_out(tmp_path: Path) -> None:
    content, out = Path(shutil.copytree(SAMPLE, tmp_path / "content")), tmp_path / "dist"
    old = built(content, out)
    shutil.rmtree(out / ".cache")
    add(content)
    before = foreseen(content, out)
    listed = shopwindow("diff", old, built(content, out), "--out", out, "--urls").out.splitlines()
    assert list(before.urls) == listed
