"""The folder as the preview sees it: after any edits, what it reports is what `check` reports."""

import gc
import os
import random
import shutil
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from harness.browser import browser, opened, preview
from harness.program import Checked
from shopwindow import library
from shopwindow.preview.workspace import Workspace
from shopwindow.shop import INTERFACE

SAMPLE = Path(__file__).parent.parent.parent / "content"
EDITS = 16
OLD_NS = 1_700_000_000_000_000_000
"""A time long past: of a file that changed just now nothing is remembered."""

Edit = Callable[[random.Random, list[str]], list[str]]


@pytest.fixture
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def without_a_line(chance: random.Random, lines: list[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return lines[:at] + lines[at + 1 :]


def a_line_twice(chance: random.Random, lines: list[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return lines[:at] + lines[at : at + 1] + lines[at:]


def another_digit(chance: random.Random, lines: list[str]) -> list[str]:
    with_digits = [at for at, line in enumerate(lines) if any(map(str.isdigit, line))]
    if with_digits:
        at = chance.choice(with_digits)
        old = chance.choice([char for char in lines[at] if char.isdigit()])
        lines[at] = lines[at].replace(old, str(chance.randrange(10)), 1)
    return lines


def an_unknown_name(chance: random.Random, lines: list[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return [*lines[:at], "nobodyKnows: 1", *lines[at:]]


def cut_off(chance: random.Random, lines: list[str]) -> list[str]:
    return lines[: chance.randrange(len(lines))]


INSIDE: tuple[Edit, ...] = (without_a_line, a_line_twice, another_digit, another_digit, an_unknown_name, cut_off)


def edit(chance: random.Random, folder: Path, moments: "count[int]") -> None:
    """Change one file in some way, take it away, copy it, or bring the first state of it back."""
    file = chance.choice(sorted(path for path in folder.rglob("*.yaml") if path.name != "collections.yaml"))
    original = SAMPLE / file.relative_to(folder)
    way = chance.randrange(10)
    if way == 0 and file.name != "site.yaml":
        file.unlink()
        return
    if way == 1:
        shutil.copyfile(file, target := file.with_name(f"copy-{next(moments) % 1000}.yaml"))
        file = target
    elif way < 4 and original.is_file():
        shutil.copyfile(original, file)
    else:
        lines = file.read_text(encoding="utf-8").split("\n")
        file.write_text("\n".join(chance.choice(INSIDE)(chance, lines)), encoding="utf-8")
    moment = OLD_NS + next(moments)
    os.utime(file, ns=(moment, moment))


def reported(checked: Checked) -> tuple[object, ...]:
    values = checked.documents and {
        kind.name: [document.value for document in checked.documents.of(kind.name)] for kind in INTERFACE.kinds
    }
    return checked.problems, checked.warnings, checked.more, checked.placeholders, values


@pytest.mark.parametrize("seed", range(3))
def test_after_any_edits_the_findings_are_those_of_a_full_check(tmp_path: Path, seed: int) -> None:
    folder, chance, moments = tmp_path / "content", random.Random(seed), count()
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("inventory", "products", "reviews.jsonl"))
    for file in folder.rglob("*.yaml"):
        os.utime(file, ns=(OLD_NS, OLD_NS))
    workspace = Workspace(INTERFACE, folder, tmp_path / "dist", tmp_path / "cache")
    for _ in range(EDITS):
        edit(chance, folder, moments)
        from_memory = workspace.refresh().checked
        assert reported(from_memory) == reported(library.check(INTERFACE, folder, jobs=1))


def test_a_folder_that_is_away_for_a_while_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder)
    workspace = Workspace(INTERFACE, folder, tmp_path / "dist", tmp_path / "cache")
    documents = workspace.snapshot.documents
    folder.rename(tmp_path / "elsewhere")
    away = workspace.refresh()
    assert (away.documents, "there is no such folder" in away.failure) == (documents, True)
    (tmp_path / "elsewhere").rename(folder)
    assert workspace.refresh().failure == ""


def test_what_cannot_be_read_is_one_sentence_until_it_can_be_read_again(tmp_path: Path, chromium: Browser) -> None:
    folder, away = tmp_path / "content", tmp_path / "elsewhere"
    shutil.copytree(SAMPLE, folder)
    with preview(folder) as shown, opened(chromium) as page:
        page.goto(f"{shown.address}/events")
        count = page.locator("#entries > p").inner_text()
        folder.rename(away)
        folder.write_text("a file where the folder was")
        expect(page.get_by_role("status").first).to_contain_text(f"{folder} is no folder, or none that can be read")
        expect(page.locator("#entries > p")).to_have_text(count)
        folder.unlink()
        away.rename(folder)
        expect(page.get_by_role("status").first).to_have_text("")
        assert shown.process.poll() is None


def test_a_snapshot_leaves_memory_with_the_next_check(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "content")
    workspace = Workspace(INTERFACE, tmp_path / "content", tmp_path / "dist", tmp_path / "cache")
    assert workspace.snapshot.content(datetime(2026, 11, 22, tzinfo=UTC)) is not None
    assert workspace.snapshot.fixes == {}
    first = weakref.ref(workspace.snapshot)
    gc.disable()
    try:
        workspace.refresh()
        assert first() is None
    finally:
        gc.enable()
