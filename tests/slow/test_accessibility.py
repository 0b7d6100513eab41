"""Pages of the preview for those who do not see them, or not as others do: axe-core finds nothing serious on any."""

import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser, Page

from harness.browser import PATHS, Preview, browser, npm_installed, opened, preview, save
from harness.program import shopwindow

SAMPLE = Path(__file__).parent.parent.parent / "content"
PACKAGE = "axe-core@4.14.1"
"""From npm: the release that the pages were written with."""

RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => `${one.id}: ${one.nodes[0].html.slice(0, 200)} ${one.nodes[0].failureSummary}`)"""


@cache
def axe() -> str:
    """The source of axe-core. Skips the test where it cannot be had."""
    named = os.environ.get("SHOPWINDOW_AXE_CORE")
    if named:
        return Path(named).read_text(encoding="utf-8")
    with TemporaryDirectory(prefix="shopwindow-axe-") as folder:
        return (npm_installed(Path(folder), PACKAGE) / "axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """A preview of a copy of the sample, which has been released and changed since."""
    folder, out = tmp_path_factory.mktemp("axe") / "content", tmp_path_factory.mktemp("axe") / "dist"
    shutil.copytree(SAMPLE, folder)
    assert shopwindow("build", "--content", folder, "--out", out, "--at", "2026-11-22 09:00").status == 0
    save(folder / "events/windows-light-up.yaml", "The Windows Light Up", "All the Windows Light Up")
    with preview(folder, "--out", str(out)) as started:
        yield started


def serious(page: Page, address: str) -> list[str]:
    page.goto(address)
    page.evaluate(axe())
    found: list[str] = page.evaluate(RUN)
    return found


@pytest.mark.parametrize(("size", "dark"), [("phone", True), ("desktop", False)], ids=["phone, dark", "desktop, light"])
def test_axe_finds_nothing_serious_on_any_page(shown: Preview, chromium: Browser, size: str, dark: bool) -> None:
    with opened(chromium, size, dark=dark) as page:
        found = {path: serious(page, shown.address + path) for path in PATHS}
    assert {path: problems for path, problems in found.items() if problems} == {}


@pytest.mark.parametrize("dark", [True, False], ids=["dark", "light"])
def test_axe_finds_nothing_serious_where_the_content_has_problems(
    tmp_path: Path, chromium: Browser, dark: bool
) -> None:
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder)
    save(folder / "events/windows-light-up.yaml", "2026-11-23 19:00", "2026-11-23 7pm")
    with preview(folder) as broken, opened(chromium, dark=dark) as page:
        assert [serious(page, broken.address + path) for path in ("/problems", "/events", "/releases")] == [[]] * 3
