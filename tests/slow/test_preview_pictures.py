"""The pictures in the documents are pages of the preview. With SHOPWINDOW_PICTURES=1 they are taken again."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from harness.browser import Preview, browser, decoded, is_blank, preview, reduced, save
from harness.program import shopwindow

SAMPLE = Path(__file__).parent.parent.parent / "content"
DOCS = SAMPLE.parent / "docs"
PICTURES = DOCS / "editors" / "images"
INSTANT, AT = "2026-11-22 09:00", "2026-11-22T09:00"
EVENT = "events/windows-light-up.yaml"
WIDTH, HEIGHT = 1184, 760
MAX_BYTES = 80_000
"""Of one picture: eight of them are fetched with a page in a second, on a phone as well."""


def to_heading(page: Page) -> None:
    page.get_by_role("heading", level=1).evaluate("heading => heading.scrollIntoView()")


def problem(page: Page, shown: Preview) -> None:
    page.goto(f"{shown.address}/problems?at={AT}")
    save(shown.folder / EVENT, "start: 2026-11-23 16:30", "start: 11/23/2026 4:30pm")
    expect(page.get_by_role("button", name="Fix").first).to_be_visible()


def applications(page: Page, shown: Preview) -> None:
    page.goto(f"{shown.address}/applications?at={AT}")
    for phone in ("android", "iphone"):
        page.get_by_role("region", name=phone).locator("summary", has_text="stores.png").click()
    to_heading(page)


def stores(page: Page, shown: Preview) -> None:
    page.goto(f"{shown.address}/stores?at={AT}&near=4001&miles=200")
    to_heading(page)


def catalog(page: Page, shown: Preview) -> None:
    page.goto(f"{shown.address}/catalog?at={AT}&q=coat")
    expect(page.get_by_text("is being built")).to_have_count(0)
    to_heading(page)


def calendar(page: Page, shown: Preview) -> None:
    page.goto(f"{shown.address}/calendar?at={AT}&month=2026-11")


def compare(page: Page, shown: Preview) -> None:
    page.goto(f"{shown.address}/compare?at={AT}")
    page.locator(".purge summary").click()
    to_heading(page)


def ask(page: Page, shown: Preview) -> None:
    page.goto(f"{shown.address}/ask?operation=events_v2&p.storeId=101&send=1&at={AT}")
    page.get_by_role("heading", name="Answer: 200").evaluate("heading => heading.scrollIntoView()")


TAKEN: dict[str, Callable[[Page, Preview], None]] = {
    "applications.png": applications,
    "stores.png": stores,
    "catalog.png": catalog,
    "calendar.png": calendar,
    "compare.png": compare,
    "ask.png": ask,
    "problems.png": problem,  # the last one: with a problem, the other pages say so
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def test_pages_are_pictures_of_the_size_that_documents_have(chromium: Browser, tmp_path: Path) -> None:
    folder, out = tmp_path / "content", tmp_path / "dist"
    target = PICTURES if os.environ.get("SHOPWINDOW_PICTURES") else tmp_path / "images"
    shutil.copytree(SAMPLE, folder)
    assert shopwindow("build", "--content", folder, "--out", out, "--at", INSTANT).status == 0
    save(folder / EVENT, "The Windows Light Up", "All the Windows Light Up")
    save(folder / "apps/iphone.yaml", "larkspur://stores/nearby?radius=M50", "larkspur://stores/all")
    target.mkdir(parents=True, exist_ok=True)
    context = chromium.new_context(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
    with preview(folder, "--out", str(out)) as shown:
        for name, act in TAKEN.items():
            page = context.new_page()
            act(page, shown)
            (target / name).write_bytes(reduced(decoded(page.screenshot())))
            page.close()
    context.close()
    assert faults(target) == []


def test_every_picture_that_documents_show_is_there_with_a_text_beside_it() -> None:
    shown = {
        (document.parent / path).resolve(): alt
        for document in DOCS.rglob("*.md")
        for alt, path in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", document.read_text(encoding="utf-8"))
    }
    taken = {path.name for path in shown if path.parent == PICTURES.resolve()}
    assert taken == set(TAKEN) == {path.name for path in PICTURES.iterdir()}
    assert [path for path in shown if not path.is_file()] == []
    assert [path for path, alt in shown.items() if len(alt.split()) < 5] == []
    assert faults(PICTURES) == []


def faults(folder: Path) -> list[str]:
    """What is wrong with the pictures of a folder."""
    wrong = []
    for file in sorted(folder.glob("*.png")):
        picture = decoded(file.read_bytes())
        if (picture.width, picture.height) != (WIDTH, HEIGHT):
            wrong.append(f"{file.name}: {picture.width} by {picture.height} pixels")
        if is_blank(file):
            wrong.append(f"{file.name}: blank")
        if file.stat().st_size > MAX_BYTES:
            wrong.append(f"{file.name}: {file.stat().st_size:,} bytes")
    return wrong
