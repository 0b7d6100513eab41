"""The buttons of the page Problems, in a real browser: a fix is shown, written, and its problem is gone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from harness.browser import Preview, browser, fits, opened, preview, save

SAMPLE = Path(__file__).parent.parent.parent / "content"
EVENT = "events/windows-light-up.yaml"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Preview]:
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder)
    save(folder / EVENT, "start: 2026-11-23 16:30", "start: 23/11/2026 16:30  # dusk")
    save(folder / "apps/_shared.yaml", 'maxLogCount: "500"', "maxLogCount: 500")
    with preview(folder) as started:
        yield started


@pytest.mark.parametrize("size", ["phone", "desktop"])
@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_a_fix_is_shown_and_written(shown: Preview, chromium: Browser, script: bool, size: str) -> None:
    meant = (SAMPLE / EVENT).read_text().replace("2026-11-23 16:30", "2026-11-23 16:30  # dusk")
    with opened(chromium, size, script=script) as page:
        page.goto(f"{shown.address}/problems?zone=UTC")
        page.get_by_role("button", name="Fix: write 2026-11-23 16:30").click()
        expect(page.locator("pre del")).to_have_text("- start: 23/11/2026 16:30  # dusk")
        expect(page.locator("pre ins")).to_have_text("+ start: 2026-11-23 16:30  # dusk")
        assert fits(page)
        assert (shown.folder / EVENT).read_text() != meant

        page.get_by_role("button", name="Write into the file").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Problems")
        expect(page.locator(".problems h2")).to_have_count(1)
        assert (shown.folder / EVENT).read_text() == meant
        assert page.url == f"{shown.address}/problems?zone=UTC"


def test_a_change_that_is_shown_follows_the_file(shown: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/problems")
        page.get_by_role("button", name="Fix all that is certain").click()
        expect(page.locator("pre ins")).to_have_count(2)
        save(shown.folder / EVENT, "23/11/2026 16:30", "23/11/2026 17:00")
        expect(page.locator("pre ins").last).to_have_text("+ start: 2026-11-23 17:00  # dusk")
        page.get_by_role("button", name="Write into the files").click()
        expect(page.locator(".notice.good")).to_be_visible()
    assert "\nstart: 2026-11-23 17:00  # dusk\n" in (shown.folder / EVENT).read_text()
